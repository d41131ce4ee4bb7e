/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of images; see shape.h. */
#include "base/crc32.h"
#include "tests/fuzz/shape.h"

#include <string.h>

/* ---- PNG: a part is a chunk's name and content --------------------------- */

enum { PNG_SIGNATURE = 8, PNG_AROUND = 12, PNG_NAME = 4 };
static const char png_signature[] = "\x89PNG\r\n\x1a\n";

static bool split_png(const uint8_t *data, size_t size,
                      struct fuzz_parts *parts)
{
    const struct fuzz_part file = {data, size};
    size_t at = PNG_SIGNATURE;
    if (size < at || memcmp(data, png_signature, at) != 0)
        return false;
    while (size - at >= PNG_AROUND) {
        size_t n = (size_t)fuzz_be(&file, at, 4);
        if (n > size - at - PNG_AROUND ||
            !fuzz_add(parts, data + at + 4, PNG_NAME + n))
            break;
        at += PNG_AROUND + n;
    }
    return parts->n > 0;
}

static void join_png(const struct fuzz_parts *parts, struct fuzz_out *out)
{
    fuzz_put(out, png_signature, PNG_SIGNATURE);
    for (size_t i = 0; i < parts->n; i++) {
        const struct fuzz_part *p = &parts->at[i];
        if (p->size < PNG_NAME)
            continue;
        fuzz_put_be(out, p->size - PNG_NAME, 4);
        fuzz_put(out, p->data, p->size);
        fuzz_put_be(out, fdl_crc32(0, p->data, p->size), 4);
    }
}

/* Of pixels, and of what is packed behind a name. */
static size_t png_packed_from(const struct fuzz_part *part)
{
    if (part->size > PNG_NAME && memcmp(part->data, "IDAT", PNG_NAME) == 0)
        return PNG_NAME;
    return 0;
}

const struct fuzz_shape fuzz_shape_png = {
    .split = split_png, .join = join_png, .packed_from = png_packed_from};

/* ---- WebP: a part is a chunk's name and content -------------------------- */

enum { RIFF_HEAD = 12, RIFF_NAME = 4, RIFF_CHUNK = 8 };

static bool split_webp(const uint8_t *data, size_t size,
                       struct fuzz_parts *parts)
{
    const struct fuzz_part file = {data, size};
    if (size < RIFF_HEAD || memcmp(data, "RIFF", 4) != 0 ||
        memcmp(data + 8, "WEBP", 4) != 0)
        return false;
    for (size_t at = RIFF_HEAD; size - at >= RIFF_CHUNK;) {
        size_t n = (size_t)fuzz_le(&file, at + RIFF_NAME, 4);
        if (n > size - at - RIFF_CHUNK)
            break;
        /* Name and content do not lie side by side: the size is in the part,
         * and made anew. */
        if (!fuzz_add(parts, data + at, RIFF_CHUNK + n))
            break;
        at += RIFF_CHUNK + n;
        at += n % 2 && at < size;
    }
    return parts->n > 0;
}

static void join_webp(const struct fuzz_parts *parts, struct fuzz_out *out)
{
    size_t n = 4;
    for (size_t i = 0; i < parts->n; i++)
        if (parts->at[i].size >= RIFF_CHUNK)
            n += (parts->at[i].size + 1) / 2 * 2;
    fuzz_put(out, "RIFF", 4);
    fuzz_put_le(out, n, 4);
    fuzz_put(out, "WEBP", 4);
    for (size_t i = 0; i < parts->n; i++) {
        struct fuzz_part p = parts->at[i];
        struct fuzz_part content = fuzz_rest(&p, RIFF_CHUNK);
        if (p.size < RIFF_CHUNK)
            continue;
        fuzz_put(out, p.data, RIFF_NAME);
        fuzz_put_le(out, content.size, 4);
        fuzz_put(out, content.data, content.size);
        fuzz_put_zeros(out, content.size % 2);
    }
}

const struct fuzz_shape fuzz_shape_webp = {.split = split_webp,
                                           .join = join_webp};

/* ---- JPEG: a part is a segment, with its length; or what is between two -- */

enum { JPEG_MARKER = 2, JPEG_HEAD = 4, SOS = 0xda };

/* Markers with a length; those of a scan's data have none. */
static bool is_segment(const struct fuzz_part *p)
{
    return p->size >= JPEG_HEAD && p->data[0] == 0xff && p->data[1] >= 0xc0 &&
           p->data[1] != 0xff && (p->data[1] < 0xd0 || p->data[1] > 0xd9);
}

static size_t next_segment(const uint8_t *data, size_t size, size_t at)
{
    struct fuzz_part p = {data + at, size - at};
    while (p.size > 0 && !is_segment(&p))
        p = fuzz_rest(&p, 1);
    return size - p.size;
}

static bool split_jpeg(const uint8_t *data, size_t size,
                       struct fuzz_parts *parts)
{
    const struct fuzz_part file = {data, size};
    if (size < JPEG_HEAD || memcmp(data, "\xff\xd8\xff", 3) != 0)
        return false;
    for (size_t at = 2; at < size;) {
        size_t n = next_segment(data, size, at) - at;
        if (n == 0) {
            n = JPEG_MARKER + (size_t)fuzz_be(&file, at + JPEG_MARKER, 2);
            if (n < JPEG_HEAD || n > size - at)
                n = size - at;
        }
        if (parts->n + 1 == FUZZ_PARTS)
            n = size - at;
        fuzz_add(parts, data + at, n);
        at += n;
    }
    return true;
}

static void join_jpeg(const struct fuzz_parts *parts, struct fuzz_out *out)
{
    fuzz_put(out, "\xff\xd8", 2);
    for (size_t i = 0; i < parts->n; i++) {
        struct fuzz_part p = parts->at[i];
        /* The last one has all the rest where there are too many. */
        if (is_segment(&p) && p.size - JPEG_MARKER <= UINT16_MAX &&
            i + 1 < FUZZ_PARTS) {
            fuzz_put(out, p.data, JPEG_MARKER);
            fuzz_put_be(out, p.size - JPEG_MARKER, 2);
            p = fuzz_rest(&p, JPEG_HEAD);
        }
        fuzz_put(out, p.data, p.size);
    }
}

const struct fuzz_shape fuzz_shape_jpeg = {.split = split_jpeg,
                                           .join = join_jpeg};
