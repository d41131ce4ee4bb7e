/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File names lie (ImageNet has a PNG that is called .JPEG, downloads leave HTML
 * behind, full disks leave zeros), so the content decides which format a file
 * is. Names only decide what is listed.
 */
#include "decode/formats/format.h"

#include "base/compiler.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>

#define ROW(name) &fdl_format_##name,
const struct fdl_format *const fdl_formats[FDL_FORMAT_COUNT] = {
    FDL_FORMATS(ROW)};

uint32_t fdl_format_number(const struct fdl_format *f)
{
    uint32_t i = 0;
    while (fdl_formats[i] != f)
        i++;
    return i;
}

/* torchvision lists these too. They are not decoded, but an error that names
 * the file is better than a data set that lacks it. */
static const struct fdl_ending foreign[] = {
    {".ppm", true}, {".bmp", true},  {".pgm", true},
    {".tif", true}, {".tiff", true}, {NULL, false},
};

/* ---- Names -------------------------------------------------------------- */

/* The endings of format i; those of no format follow the last one. */
static const struct fdl_ending *endings_of(size_t i)
{
    return i < FDL_FORMAT_COUNT ? fdl_formats[i]->endings : foreign;
}

const struct fdl_ending *fdl_format_ending(uint32_t index, bool *decoded)
{
    for (size_t i = 0; i <= FDL_FORMAT_COUNT; i++) {
        const struct fdl_ending *e = endings_of(i);
        for (; e->text; e++) {
            if (index-- > 0)
                continue;
            *decoded = i < FDL_FORMAT_COUNT && fdl_formats[i]->create;
            return e;
        }
    }
    return NULL;
}

/* strcasecmp asks the locale, and a Turkish one finds no 'i' in "TIF". */
static bool equal_lowered(const char *text, const char *lower)
{
    for (; *text && *lower; text++, lower++) {
        int c = *text >= 'A' && *text <= 'Z' ? *text - 'A' + 'a' : *text;
        if (c != *lower)
            return false;
    }
    return *text == *lower;
}

bool fdl_format_lists(const char *file_name)
{
    const char *dot = strrchr(file_name, '.');
    for (size_t i = 0; dot && i <= FDL_FORMAT_COUNT; i++) {
        for (const struct fdl_ending *e = endings_of(i); e->text; e++) {
            if (e->listed && equal_lowered(dot, e->text))
                return true;
        }
    }
    return false;
}

/* ---- Other content ------------------------------------------------------ */

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

/* "a GIF image", "an empty file": bytes that no format matches. */
static const char *foreign_name(const uint8_t *data, uint64_t size)
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

/* ---- Content ------------------------------------------------------------ */

static bool is_decoded(const struct fdl_format *f)
{
    return f->matches && f->create;
}

/* "JPEG, PNG and WebP" */
static void write_decoded(char *buf, size_t size)
{
    size_t left = 0, at = 0;
    for (size_t i = 0; i < FDL_FORMAT_COUNT; i++)
        left += is_decoded(fdl_formats[i]);
    for (size_t i = 0; i < FDL_FORMAT_COUNT && at < size; i++) {
        if (!is_decoded(fdl_formats[i]))
            continue;
        left--;
        const char *behind = left > 1 ? ", " : left == 1 ? " and " : "";
        at += (size_t)snprintf(buf + at, size - at, "%s%s",
                               fdl_formats[i]->name, behind);
    }
}

static int32_t fail_foreign(const uint8_t *data, uint64_t size)
{
    char decoded[128];
    write_decoded(decoded, sizeof(decoded));
    return fdl_fail(FEEDLINE_EDECODE, "offset 0: this is %s; supported are %s",
                    foreign_name(data, size), decoded);
}

int32_t fdl_format_find(const uint8_t *data, uint64_t size,
                        const struct fdl_format **out)
{
    for (size_t i = 0; i < FDL_FORMAT_COUNT; i++) {
        const struct fdl_format *f = fdl_formats[i];
        if (!f->matches || !f->matches(data, size))
            continue;
        if (!f->create)
            return fdl_fail(FEEDLINE_EDECODE,
                            "offset 0: this is a %s image, and this feedline "
                            "was built without %s",
                            f->name, f->missing);
        *out = f;
        return FEEDLINE_OK;
    }
    return fail_foreign(data, size);
}

int32_t fdl_format_verify(const uint8_t *data, uint64_t size)
{
    for (size_t i = 0; i < FDL_FORMAT_COUNT; i++) {
        const struct fdl_format *f = fdl_formats[i];
        if (f->verify && f->matches(data, size))
            return f->verify(data, size);
    }
    return FEEDLINE_OK;
}
