/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/pack/pack_encode.h"

#include "tools/loaderbench/tool.h"

/* clang-format off */
#include <stdio.h> /* jpeglib.h needs FILE before it */
#include <stdlib.h>
#include <jpeglib.h>
/* clang-format on */

#include <png.h>
#include <string.h>
#include <unistd.h>

#define FIRST 2 /* where the segments of a JPEG begin */

/* ---- What encoded bytes say ---------------------------------------------- */

static bool begins(const uint8_t *data, uint64_t bytes, const char *with,
                   size_t n)
{
    return bytes >= n && memcmp(data, with, n) == 0;
}

const char *pack_content(const uint8_t *data, uint64_t bytes)
{
    if (begins(data, bytes, "\xff\xd8\xff", 3))
        return "jpg";
    if (begins(data, bytes, "\x89PNG\r\n\x1a\n", 8))
        return "png";
    if (begins(data, bytes, "RIFF", 4) && bytes >= 12 &&
        memcmp(data + 8, "WEBP", 4) == 0)
        return "webp";
    return NULL;
}

static bool is_jpeg(const uint8_t *data, uint64_t bytes)
{
    const char *content = data ? pack_content(data, bytes) : NULL;
    return content && strcmp(content, "jpg") == 0;
}

static uint32_t big16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

/* The first segment of a JPEG from `at` on and before its pixels that is meant:
 * its marker at the result, its length behind that. NULL: none. */
static const uint8_t *find_segment(const uint8_t *data, uint64_t bytes,
                                   uint64_t at,
                                   bool (*is)(const uint8_t *at, uint32_t n))
{
    while (at + 4 <= bytes && data[at] == 0xff && data[at + 1] != 0xda) {
        uint32_t n = big16(data + at + 2);
        if (data[at + 1] == 0xff) { /* a fill byte */
            at++;
            continue;
        }
        if (n < 2 || n > bytes - at - 2)
            break;
        if (is(data + at, n))
            return data + at;
        at += 2 + n;
    }
    return NULL;
}

static bool is_exif(const uint8_t *at, uint32_t n)
{
    return at[1] == 0xe1 && n >= 8 && memcmp(at + 4, "Exif\0", 6) == 0;
}

/* EXIF data or XMP, which both may say how the image lies. */
static bool is_profile(const uint8_t *at, uint32_t n)
{
    static const char xmp[] = "http://ns.adobe.com/xap/1.0/";
    return is_exif(at, n) || (at[1] == 0xe1 && n >= 2 + sizeof(xmp) &&
                              memcmp(at + 4, xmp, sizeof(xmp)) == 0);
}

static bool is_oriented(const uint8_t *at, uint32_t n)
{
    static const char name[] = "tiff:Orientation";
    return is_exif(at, n) ||
           (is_profile(at, n) && memmem(at, n + 2, name, sizeof(name) - 1));
}

static bool is_frame(const uint8_t *at, uint32_t n)
{
    uint8_t m = at[1];
    return m >= 0xc0 && m <= 0xcf && m != 0xc4 && m != 0xc8 && m != 0xcc &&
           n >= 8;
}

/* 0: not known without decoding it. */
static uint32_t longest_side(const uint8_t *data, uint64_t bytes)
{
    const char *content = pack_content(data, bytes);
    if (is_jpeg(data, bytes)) {
        const uint8_t *frame = find_segment(data, bytes, FIRST, is_frame);
        uint32_t h = frame ? big16(frame + 5) : 0;
        uint32_t w = frame ? big16(frame + 7) : 0;
        return h == 0 || w == 0 ? 0 : w > h ? w : h;
    }
    if (content && strcmp(content, "png") == 0 && bytes >= 24) {
        uint32_t w = big16(data + 16) << 16 | big16(data + 18);
        uint32_t h = big16(data + 20) << 16 | big16(data + 22);
        return w > h ? w : h;
    }
    return 0;
}

bool pack_changes(const struct pack_recipe *r, const uint8_t *data,
                  uint64_t bytes)
{
    uint32_t side = longest_side(data, bytes);
    bool turned = r->upright && is_jpeg(data, bytes) &&
                  find_segment(data, bytes, FIRST, is_oriented);
    return r->jpeg || turned ||
           (r->longest_side > 0 &&
            (side == 0 || side > (uint32_t)r->longest_side));
}

/* ---- JPEG ---------------------------------------------------------------- */

/* What its input can cause is a lack of memory alone; a run that ends so goes
 * on when it is started again. */
static void encoder_fails(j_common_ptr info)
{
    char text[JMSG_LENGTH_MAX];
    info->err->format_message(info, text);
    fprintf(stderr, "loaderbench: JPEG encoder: %s\n", text);
    _exit(TOOL_ENVIRONMENT);
}

static bool is_gray(const struct feedline_image *image)
{
    for (int32_t y = 0; y < image->height; y++) {
        const uint8_t *p = image->data + y * image->row_bytes;
        for (int32_t x = 0; x < image->width; x++, p += 3)
            if (p[0] != p[1] || p[0] != p[2])
                return false;
    }
    return true;
}

/* The first of the three channels of a row. */
static const uint8_t *gray_row(const struct feedline_image *image, int32_t y,
                               uint8_t *row)
{
    const uint8_t *p = image->data + y * image->row_bytes;
    for (int32_t x = 0; x < image->width; x++)
        row[x] = p[3 * x];
    return row;
}

static void set_up(struct jpeg_compress_struct *c,
                   const struct feedline_image *image, int quality, bool gray)
{
    c->image_width = (JDIMENSION)image->width;
    c->image_height = (JDIMENSION)image->height;
    c->input_components = gray ? 1 : 3;
    c->in_color_space = gray ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(c);
    jpeg_set_quality(c, quality, TRUE);
    c->dct_method = JDCT_ISLOW; /* the same in C and in every SIMD variant */
    c->optimize_coding = TRUE;
}

/* All of them, as EXIF data may be spread over several. */
static void copy_profiles(struct jpeg_compress_struct *c, const uint8_t *of,
                          uint64_t bytes)
{
    const uint8_t *at = of + FIRST;
    while ((at = find_segment(of, bytes, (uint64_t)(at - of), is_profile))) {
        jpeg_write_marker(c, at[1], at + 4, big16(at + 2) - 2);
        at += 2 + big16(at + 2);
    }
}

int32_t pack_encode_jpeg(const struct pack_recipe *r,
                         const struct feedline_image *image, const uint8_t *of,
                         uint64_t of_bytes, uint8_t **out, uint64_t *bytes)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *data = NULL;
    unsigned long size = 0;
    bool gray = is_gray(image);
    uint8_t *row = malloc((size_t)image->width);
    if (!row)
        return FEEDLINE_ENOMEM;
    c.err = jpeg_std_error(&errors);
    errors.error_exit = encoder_fails;
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &data, &size);
    set_up(&c, image, r->quality, gray);
    jpeg_start_compress(&c, TRUE);
    if (!r->upright && is_jpeg(of, of_bytes))
        copy_profiles(&c, of, of_bytes);
    while (c.next_scanline < c.image_height) {
        int32_t y = (int32_t)c.next_scanline;
        const uint8_t *from =
            gray ? gray_row(image, y, row) : image->data + y * image->row_bytes;
        JSAMPROW line;
        memcpy(&line, &from, sizeof(line)); /* it is only read */
        jpeg_write_scanlines(&c, &line, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    free(row);
    *out = data;
    *bytes = size;
    return FEEDLINE_OK;
}

/* ---- PNG ----------------------------------------------------------------- */

int32_t pack_encode_png(const struct feedline_image *image, uint8_t **out,
                        uint64_t *bytes)
{
    bool gray = is_gray(image);
    png_image png = {
        .version = PNG_IMAGE_VERSION,
        .width = (png_uint_32)image->width,
        .height = (png_uint_32)image->height,
        .format = gray ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB,
    };
    size_t channels = gray ? 1 : 3, row = (size_t)image->width * channels;
    uint8_t *dense = malloc(row * (size_t)image->height);
    png_alloc_size_t size = 0;
    for (int32_t y = 0; dense && y < image->height; y++) {
        uint8_t *to = dense + (size_t)y * row;
        if (gray)
            gray_row(image, y, to);
        else
            memcpy(to, image->data + y * image->row_bytes, row);
    }
    *out = NULL;
    if (dense && png_image_write_get_memory_size(png, size, 0, dense, 0, NULL))
        *out = malloc(size);
    if (*out &&
        !png_image_write_to_memory(&png, *out, &size, 0, dense, 0, NULL)) {
        free(*out);
        *out = NULL;
    }
    free(dense);
    *bytes = size;
    return *out ? FEEDLINE_OK : FEEDLINE_ENOMEM;
}
