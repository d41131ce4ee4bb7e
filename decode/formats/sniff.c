/* SPDX-License-Identifier: Apache-2.0 */
/* The error for a file that is not decoded says what it is instead. */
#include "decode/formats/sniff.h"

#include "base/compiler.h"

#include <stdbool.h>
#include <string.h>

struct magic {
    const char *bytes;
    uint32_t n, at;
    const char *name;
};

static const struct magic magics[] = {
    {"GIF8", 4, 0, "a GIF image"},
    {"BM", 2, 0, "a BMP image"},
    {"II*\0", 4, 0, "a TIFF image"},
    {"MM\0*", 4, 0, "a TIFF image"},
    {"ftypavif", 8, 4, "an AVIF image"},
    {"ftypheic", 8, 4, "a HEIC image"},
    {"\0\0\0\x0cjP  ", 8, 0, "a JPEG 2000 image"},
    {"\xff\x0a", 2, 0, "a JPEG XL image"},
    {"8BPS", 4, 0, "a Photoshop image"},
    {"%PDF", 4, 0, "a PDF document"},
    {"\x1f\x8b", 2, 0, "gzip data"},
    {"PK\x03\x04", 4, 0, "a zip archive"},
    {"ustar", 5, 257, "a tar archive"},
    {"\x93NUMPY", 6, 0, "a NumPy array"},
    {"version https://git-lfs", 23, 0, "a Git LFS pointer, not the file"},
};

#define LOOK_BYTES 512 /* enough to tell text and zeros */

static bool is_magic(const struct magic *m, const uint8_t *data, uint64_t size)
{
    return size >= m->at + m->n && memcmp(data + m->at, m->bytes, m->n) == 0;
}

static bool all_zero(const uint8_t *data, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        if (data[i] != 0)
            return false;
    }
    return true;
}

/* Printable ASCII and white space; UTF-8 beyond it counts as printable. */
static bool is_text(const uint8_t *data, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        if ((data[i] < 0x20 || data[i] == 0x7f) &&
            !(data[i] >= '\t' && data[i] <= '\r'))
            return false;
    }
    return true;
}

const char *fdl_sniff_name(const uint8_t *data, uint64_t size)
{
    if (size == 0)
        return "an empty file";
    for (size_t i = 0; i < FDL_COUNT_OF(magics); i++) {
        if (is_magic(&magics[i], data, size))
            return magics[i].name;
    }
    uint64_t n = FDL_MIN(size, LOOK_BYTES);
    if (all_zero(data, n))
        return "a file of zeros";
    if (!is_text(data, n))
        return "of unknown content";
    return memchr(data, '<', (size_t)FDL_MIN(n, 64u)) ? "HTML or XML text"
                                                      : "text";
}
