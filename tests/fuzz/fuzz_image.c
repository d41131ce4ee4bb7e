/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as an image. Which decoder they get is told by
 * content, so each format that is built in is reached from here.
 *
 *     16 bytes   what to make of it: crop, resize, window, flip, output
 *     the rest   the file
 *
 * Besides memory errors, this looks for pixels that depend on something they
 * must not depend on:
 *
 *     - the level of instructions, the zeros that a reader leaves behind a
 *       file, whose Huffman decoder it was, and what a decoder did before
 *     - the crop: what is cut out of the whole image is what a crop decodes
 */
#include "base/cpu.h"
#include "base/status.h"
#include "decode/decoder.h"
#include "decode/formats/format.h"
#include "decode/packed/container.h"
#include "fuzz.h"
#include "shape.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 16
#define MAX_RESIZE 96

struct request {
    uint32_t x, y, width, height; /* of the crop, modulo what there is */
    uint32_t resize_width, resize_height; /* 0: as it is */
    uint32_t window_x, window_y;
    bool whole; /* no crop */
    bool flip, flip_vertical, flip_first, normalize, padded;
    enum fdl_filter filter;
    struct fdl_decode_limits limits;
    enum fdl_cpu_level level;
    struct fdl_output_format format;
};

static const struct fuzz_shape *find_shape(const uint8_t *data, size_t size)
{
    data += HEAD_BYTES;
    size -= HEAD_BYTES;
    if (fdl_format_png.matches(data, size))
        return &fuzz_shape_png;
    if (fdl_format_jpeg.matches(data, size))
        return &fuzz_shape_jpeg;
    if (fdl_packed_matches(data, size))
        return &fuzz_shape_packed;
    return size > 0 && data[0] == 'R' ? &fuzz_shape_webp : NULL;
}

const struct fuzz_input_shape fuzz_input_shape = {HEAD_BYTES, find_shape};

/* One way to decode a file. */
struct picture {
    int32_t status;
    uint64_t bytes;
    uint8_t *pixels;
    struct fdl_image_info info;
};

#define MAX_PIXELS 65536u

static struct request read_request(struct fuzz_input *in)
{
    struct request q = {0};
    q.x = fuzz_word(in);
    q.y = fuzz_word(in);
    q.width = fuzz_word(in);
    q.height = fuzz_word(in);
    q.resize_width = fuzz_byte(in);
    q.resize_height = fuzz_byte(in);
    q.window_x = fuzz_byte(in);
    q.window_y = fuzz_byte(in);
    uint32_t flags = fuzz_word(in);
    q.flip = flags & 1;
    q.padded = flags & 2;
    q.format.nhwc = flags & 4;
    q.format.channels = flags & 8 ? 1 : 3;
    uint32_t more = fuzz_word(in);
    q.format.channels += more & 2048 ? 1 : 0; /* alpha */
    q.level = (enum fdl_cpu_level)((more & 255) % FDL_CPU_LEVELS);
    q.format.dtype = flags & 16 ? FEEDLINE_F32 : FEEDLINE_U8;
    if (more & 256)
        q.format.dtype = flags & 16 ? FEEDLINE_BF16 : FEEDLINE_F16;
    q.normalize = (flags & 32) && q.format.dtype != FEEDLINE_U8;
    q.flip_vertical = flags & 64;
    q.flip_first = more & 8192;
    q.filter = (enum fdl_filter)((flags >> 8) % FDL_FILTERS);
    q.limits = (struct fdl_decode_limits){
        .max_pixels = MAX_PIXELS,
        .max_scans = 20,
        .apply_exif = flags & 128,
        .accept_truncated = flags & 0x8000 ? 0.25 : 0,
        .fast = more & 512,
        .libjpeg_huffman = more & 1024,
        .columns_first = more & 4096,
        .masks = more & 16384,
    };
    return q;
}

static struct fdl_box crop_of(const struct request *q, int32_t width,
                              int32_t height)
{
    if (q->whole)
        return (struct fdl_box){0, 0, width, height};
    struct fdl_box box = {.x = (int32_t)q->x % width,
                          .y = (int32_t)q->y % height};
    box.width = 1 + (int32_t)q->width % (width - box.x);
    box.height = 1 + (int32_t)q->height % (height - box.y);
    return box;
}

static void flip(const struct request *q, struct fdl_geometry *g)
{
    if (q->flip)
        fdl_geometry_flip(g);
    if (q->flip_vertical)
        fdl_geometry_flip_vertical(g);
}

static struct fdl_plan plan_of(const struct request *q,
                               const struct fdl_image_info *info)
{
    struct fdl_plan plan = {
        .norm = {.on = q->normalize,
                 .mean = {0.485f, 0.456f, 0.406f},
                 .std = {0.229f, 0.224f, 0.225f, 1}},
    };
    struct fdl_geometry *g = &plan.geometry;
    fdl_geometry_init(g, info->width, info->height);
    fdl_geometry_crop(g, crop_of(q, info->width, info->height));
    g->filter = q->filter;
    if (q->flip_first)
        flip(q, g);
    uint32_t width = q->resize_width, height = q->resize_height;
    if (width > 0 && height > 0)
        fuzz_check(fdl_geometry_resize(g, 1 + (int32_t)(width % MAX_RESIZE),
                                       1 + (int32_t)(height % MAX_RESIZE)) ==
                   FEEDLINE_OK);
    struct fdl_box window = {
        .x = (int32_t)q->window_x % fdl_geometry_width(g),
        .y = (int32_t)q->window_y % fdl_geometry_height(g),
    };
    window.width = fdl_geometry_width(g) - window.x;
    window.height = fdl_geometry_height(g) - window.y;
    fdl_geometry_crop(g, window);
    if (!q->flip_first)
        flip(q, g);
    return plan;
}

/* The file in memory that ends where it may no longer be read. */
static uint8_t *copy_file(const struct fuzz_input *file, bool padded,
                          struct fdl_encoded *out)
{
    size_t readable = file->size + (padded ? FDL_ENCODED_PADDING : 0);
    uint8_t *copy = calloc(1, readable);
    fuzz_check(copy || readable == 0);
    if (file->size > 0)
        memcpy(copy, file->data, file->size);
    *out = (struct fdl_encoded){
        .data = copy, .size = file->size, .readable = readable};
    return copy;
}

static void check_status(int32_t status)
{
    if (status == FEEDLINE_OK)
        return;
    fuzz_check_error(status);
    fuzz_check(status == FEEDLINE_EDECODE || status == FEEDLINE_ERANGE ||
               status == FEEDLINE_ENOMEM);
}

static int32_t render(struct fdl_decoder *d, const struct fdl_plan *plan,
                      struct fdl_output_format *format, struct picture *out)
{
    struct fdl_render_cost cost;
    format->width = fdl_geometry_width(&plan->geometry);
    format->height = fdl_geometry_height(&plan->geometry);
    out->bytes = fdl_output_bytes(format);
    out->pixels = malloc(out->bytes);
    fuzz_check(out->pixels);
    return fdl_decoder_render(d, plan, format, out->pixels, &cost);
}

static struct picture decode(struct fdl_decoder *d,
                             const struct fuzz_input *file,
                             const struct request *q)
{
    struct fdl_encoded bytes;
    struct picture out = {0};
    uint8_t *copy = copy_file(file, q->padded, &bytes);
    fdl_cpu_set_level(q->level);
    fdl_clear_error();
    out.status = fdl_decoder_open(d, &bytes, &out.info);
    if (out.status == FEEDLINE_OK) {
        fuzz_check(out.info.width > 0 && out.info.height > 0);
        fuzz_check((uint64_t)out.info.width * (uint64_t)out.info.height <=
                   MAX_PIXELS);
        struct fdl_plan plan = plan_of(q, &out.info);
        struct fdl_output_format format = q->format;
        out.status = render(d, &plan, &format, &out);
    }
    check_status(out.status);
    free(copy);
    return out;
}

/* Another way to make `expected` gives its pixels, or its refusal. */
static void check_other_way(struct fdl_decoder *d,
                            const struct fuzz_input *file,
                            const struct request *other,
                            const struct picture *expected)
{
    struct picture p = decode(d, file, other);
    fuzz_check(p.status == expected->status);
    fuzz_check(p.bytes == expected->bytes);
    if (p.status == FEEDLINE_OK && expected->status == FEEDLINE_OK)
        fuzz_check(memcmp(p.pixels, expected->pixels, p.bytes) == 0);
    free(p.pixels);
}

/* By the same decoder, then by another. */
static void check_other_ways(struct fdl_decoder *d,
                             const struct fuzz_input *file,
                             const struct request *q,
                             const struct picture *expected)
{
    struct request other = *q;
    other.padded = !q->padded;
    other.level = FDL_CPU_C;
    check_other_way(d, file, &other, expected);

    struct fdl_decoder *second;
    other.limits.libjpeg_huffman = !q->limits.libjpeg_huffman;
    other.level = FDL_CPU_LEVELS - 1;
    fuzz_check(fdl_decoder_create(&other.limits, &second) == FEEDLINE_OK);
    check_other_way(second, file, &other, expected);
    fdl_decoder_destroy(second);
}

/* The crop is a part of the whole image. */
static void check_crop(struct fdl_decoder *d, const struct fuzz_input *file,
                       const struct request *q)
{
    struct request part = {
        .x = q->x,
        .y = q->y,
        .width = q->width,
        .height = q->height,
        .padded = q->padded,
        .level = q->level,
        .format = {.channels = q->format.channels,
                   .dtype = FEEDLINE_U8,
                   .nhwc = true},
    };
    struct request all = part;
    all.whole = true;
    struct picture whole = decode(d, file, &all);
    struct picture crop = decode(d, file, &part);
    if (crop.info.format == &fdl_format_jpeg) /* the verdict is on the file */
        fuzz_check(crop.status == whole.status);
    if (whole.status == FEEDLINE_OK) {
        /* Of the file, the whole image takes all that the crop takes. */
        fuzz_check(crop.status == FEEDLINE_OK);
        struct fdl_box box = crop_of(&part, crop.info.width, crop.info.height);
        size_t channels = (size_t)part.format.channels;
        size_t bytes = (size_t)box.width * channels;
        for (int32_t y = 0; y < box.height; y++) {
            size_t row = (size_t)(box.y + y) * (size_t)whole.info.width;
            size_t at = (row + (size_t)box.x) * channels;
            fuzz_check(memcmp(crop.pixels + (size_t)y * bytes,
                              whole.pixels + at, bytes) == 0);
        }
    }
    free(whole.pixels);
    free(crop.pixels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fdl_decoder *d;
    if (size < HEAD_BYTES)
        return 0;
    struct request q = read_request(&in);
    fuzz_check(fdl_decoder_create(&q.limits, &d) == FEEDLINE_OK);
    struct picture p = decode(d, &in, &q);
    check_other_ways(d, &in, &q, &p);
    if (p.status == FEEDLINE_OK)
        check_crop(d, &in, &q);
    free(p.pixels);
    fdl_decoder_destroy(d);
    return 0;
}
