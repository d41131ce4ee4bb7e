/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file is written to scratch memory, which is large enough for any of its
 * size. Both objects of libjpeg live for one image, and its errors leave it by
 * longjmp, as in formats/jpeg.c.
 */
#include "decode/kernels/cv_recompress.h"

#include "base/memory.h"
#include "base/status.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

/* jpeglib.h wants stdio.h before it. */
/* clang-format off */
#include <jpeglib.h>
#include <jerror.h>
/* clang-format on */

#define BLOCK      16 /* pixels that the sides of an image are rounded up to */
#define BLOCK_MOST 2560 /* bytes that so many pixels squared take at most */
#define HEADERS    4096

struct recompress {
    struct jpeg_compress_struct to;
    struct jpeg_decompress_struct from;
    struct jpeg_error_mgr error;
    struct jpeg_destination_mgr destination;
    jmp_buf escape;
    int32_t status; /* of the error that escaped */
    const struct fdl_image *image;
    uint8_t *row, *file;
    size_t capacity;
};

/* ---- What libjpeg calls ------------------------------------------------- */

static void fail(j_common_ptr c)
{
    struct recompress *r = c->client_data;
    char text[JMSG_LENGTH_MAX];
    c->err->format_message(c, text);
    bool memory = c->err->msg_code == JERR_OUT_OF_MEMORY;
    r->status = fdl_fail(memory ? FEEDLINE_ENOMEM : FEEDLINE_EINVAL,
                         "libjpeg does not write or read it: %s", text);
    longjmp(r->escape, 1);
}

static void say_nothing(j_common_ptr c)
{
    (void)c;
}

static void begin_file(j_compress_ptr c)
{
    struct recompress *r = c->client_data;
    r->destination.next_output_byte = r->file;
    r->destination.free_in_buffer = r->capacity;
}

static boolean flush_file(j_compress_ptr c)
{
    ERREXIT(c, JERR_BUFFER_SIZE);
    return FALSE;
}

static void end_file(j_compress_ptr c)
{
    (void)c;
}

/* ---- Both ways ---------------------------------------------------------- */

static void take_row(const struct recompress *r, int32_t y)
{
    const struct fdl_image *image = r->image;
    size_t channels = (size_t)image->channels;
    for (int32_t c = 0; c < image->channels; c++) {
        const uint8_t *from = fdl_image_row(image, c, y);
        for (int32_t x = 0; x < image->width; x++)
            r->row[(size_t)x * channels + (size_t)c] = from[x];
    }
}

static void put_row(const struct recompress *r, int32_t y)
{
    const struct fdl_image *image = r->image;
    size_t channels = (size_t)image->channels;
    for (int32_t c = 0; c < image->channels; c++) {
        uint8_t *to = fdl_image_row(image, c, y);
        for (int32_t x = 0; x < image->width; x++)
            to[x] = r->row[(size_t)x * channels + (size_t)c];
    }
}

static void write_file(struct recompress *r, int32_t quality)
{
    struct jpeg_compress_struct *c = &r->to;
    JSAMPROW row = r->row;
    jpeg_create_compress(c);
    c->dest = &r->destination;
    c->image_width = (JDIMENSION)r->image->width;
    c->image_height = (JDIMENSION)r->image->height;
    c->input_components = r->image->channels;
    c->in_color_space = r->image->channels == 1 ? JCS_GRAYSCALE : JCS_EXT_BGR;
    jpeg_set_defaults(c);
    jpeg_set_quality(c, quality, TRUE);
    jpeg_start_compress(c, TRUE);
    for (int32_t y = 0; y < r->image->height; y++) {
        take_row(r, y);
        (void)jpeg_write_scanlines(c, &row, 1);
    }
    jpeg_finish_compress(c);
}

static void read_file(struct recompress *r)
{
    struct jpeg_decompress_struct *c = &r->from;
    JSAMPROW row = r->row;
    jpeg_create_decompress(c);
    jpeg_mem_src(c, r->file, r->capacity - r->destination.free_in_buffer);
    (void)jpeg_read_header(c, TRUE);
    c->out_color_space = r->to.in_color_space;
    (void)jpeg_start_decompress(c);
    for (int32_t y = 0; y < r->image->height; y++) {
        (void)jpeg_read_scanlines(c, &row, 1);
        put_row(r, y);
    }
    (void)jpeg_finish_decompress(c);
}

static void guarded(struct recompress *r, int32_t quality)
{
    if (setjmp(r->escape) != 0)
        return;
    write_file(r, quality);
    read_file(r);
}

static size_t row_bytes(const struct fdl_image *image)
{
    return fdl_plane_bytes(image->width) * (size_t)image->channels;
}

size_t fdl_cv_recompress_scratch(const struct fdl_image *image)
{
    size_t across = ((size_t)image->width + BLOCK - 1) / BLOCK, bytes;
    size_t down = ((size_t)image->height + BLOCK - 1) / BLOCK;
    if (!fdl_mul_size(across * BLOCK_MOST, down, &bytes) ||
        !fdl_add_size(bytes, HEADERS + row_bytes(image), &bytes))
        return 0;
    return bytes;
}

int32_t fdl_cv_recompress(const struct fdl_image *image, int32_t quality,
                          uint8_t *scratch)
{
    struct recompress r = {.image = image, .row = scratch};
    r.file = scratch + row_bytes(image);
    r.capacity = fdl_cv_recompress_scratch(image) - row_bytes(image);
    r.destination =
        (struct jpeg_destination_mgr){.init_destination = begin_file,
                                      .empty_output_buffer = flush_file,
                                      .term_destination = end_file};
    r.to.err = r.from.err = jpeg_std_error(&r.error);
    r.error.error_exit = fail;
    r.error.output_message = say_nothing;
    r.to.client_data = r.from.client_data = &r;
    guarded(&r, quality);
    jpeg_destroy_compress(&r.to); /* nothing, where it is all zeros */
    jpeg_destroy_decompress(&r.from);
    return r.status;
}
