/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes parts of JPEG files of every sampling and coding, and compares them
 * with the same parts of the whole image as plain libjpeg gives it, at full
 * size and at each of the smaller sizes. This is what stands between us and the
 * traps of cropping and skipping: rounding to blocks, chroma beyond the edge of
 * the crop, rows that come in groups.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "checkdec.h"
#include "decode/formats/deadline.h"
#include "make_jpeg.h"
#include "tests/decode/inputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off: jpeglib.h wants stdio.h before it */
#include <jpeglib.h>
/* clang-format on */

/* At 1/2^shift of its size, RGB; width and height are of that. */
static uint8_t *decode_whole(const uint8_t *file, size_t size, int32_t shift,
                             int32_t *width, int32_t *height)
{
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr err;
    c.err = jpeg_std_error(&err);
    jpeg_create_decompress(&c);
    jpeg_mem_src(&c, file, size);
    jpeg_read_header(&c, TRUE);
    c.out_color_space = JCS_RGB;
    c.scale_num = 1;
    c.scale_denom = 1u << shift;
    jpeg_start_decompress(&c);
    *width = (int32_t)c.output_width;
    *height = (int32_t)c.output_height;
    size_t stride = (size_t)c.output_width * 3;
    uint8_t *pixels = must_alloc(stride * c.output_height);
    while (c.output_scanline < c.output_height) {
        JSAMPROW rows[1] = {pixels + stride * c.output_scanline};
        jpeg_read_scanlines(&c, rows, 1);
    }
    jpeg_finish_decompress(&c);
    jpeg_destroy_decompress(&c);
    return pixels;
}

static struct make_jpeg pick_kind(uint64_t *state, const char **name)
{
    const struct make_sampling *s =
        &make_samplings[pick(state, 0, MAKE_SAMPLINGS - 1)];
    struct make_jpeg m = {
        .width = pick(state, 1, pick(state, 0, 1) ? 40 : 300),
        .height = pick(state, 1, pick(state, 0, 1) ? 40 : 300),
        .components = pick(state, 0, 7) ? 3 : 1,
        .h = s->h,
        .v = s->v,
        .quality = pick(state, 30, 98),
        .restart = pick(state, 0, 3) ? 0 : pick(state, 1, 40),
        .seed = make_random(state),
    };
    int coding = pick(state, 0, 6);
    m.progressive = coding == 1;
    m.optimize = coding == 2;
    m.arithmetic = coding == 3;
    m.separate = coding == 4;
    *name = s->name;
    return m;
}

/* Of a size that decoders take other ways for: large, and many bytes. */
static struct make_jpeg pick_large(uint64_t *state, const char **name)
{
    struct make_jpeg m = pick_kind(state, name);
    m.width = pick(state, 900, 1000);
    m.height = pick(state, 900, 1000);
    m.components = 3;
    m.quality = 98;
    m.progressive = m.arithmetic = m.separate = false;
    return m;
}

static void pick_span(uint64_t *state, int32_t n, int32_t *at, int32_t *size)
{
    int kind = pick(state, 0, 4);
    *size = kind == 0 ? n : kind == 1 ? 1 : pick(state, 1, n);
    *at = pick(state, 0, n - *size);
}

static bool report(const struct make_jpeg *m, const char *name,
                   const struct fdl_box *box, const char *what)
{
    printf("JPEG %" PRId32 "x%" PRId32 " %s, components %" PRId32
           ", restart %" PRId32 ", progressive %d, arithmetic %d, "
           "separate %d, part %" PRId32 "x%" PRId32 " at %" PRId32 ",%" PRId32
           ": %s\n",
           m->width, m->height, name, m->components, m->restart, m->progressive,
           m->arithmetic, m->separate, box->width, box->height, box->x, box->y,
           what);
    return false;
}

static bool check_part(struct fdl_decoder *d, const struct make_jpeg *m,
                       const char *name, const struct fdl_encoded *bytes,
                       const uint8_t *whole, uint64_t *state)
{
    struct fdl_box box;
    pick_span(state, m->width, &box.x, &box.width);
    pick_span(state, m->height, &box.y, &box.height);
    struct fdl_image_info info;
    struct fdl_plan plan;
    fdl_plan_init(&plan, m->width, m->height);
    fdl_geometry_crop(&plan.geometry, box);
    struct fdl_output_format f = {box.width, box.height, 3, FEEDLINE_U8, true};
    struct fdl_render_cost cost;
    uint8_t *got = must_alloc(fdl_output_bytes(&f));
    bool same = fdl_decoder_open(d, bytes, &info) == FEEDLINE_OK &&
                fdl_decoder_render(d, &plan, &f, got, &cost) == FEEDLINE_OK;
    if (!same)
        report(m, name, &box, fdl_last_error());
    for (int32_t y = 0; same && y < box.height; y++) {
        size_t at = (size_t)(box.y + y) * (size_t)m->width + (size_t)box.x;
        size_t n = (size_t)box.width * 3;
        if (memcmp(whole + at * 3, got + (size_t)y * n, n) != 0)
            same = report(m, name, &box, "pixels differ");
    }
    free(got);
    return same;
}

/* Reads what the source gives for `need` and compares the needed part. */
static bool same_part(void *j, const struct fdl_box *need, int32_t channels,
                      const uint8_t *whole, int32_t width)
{
    struct fdl_box have;
    if (fdl_format_jpeg.begin(j, need, &have))
        return false;
    size_t pixel = (size_t)channels;
    size_t stride = (size_t)have.width * pixel + 1;
    uint8_t *rows = must_alloc(stride * (size_t)have.height);
    bool same = have.x <= need->x && have.y <= need->y &&
                have.x + have.width >= need->x + need->width &&
                have.y + have.height >= need->y + need->height &&
                !fdl_format_jpeg.read(j, rows, stride, have.height);
    for (int32_t y = need->y; same && y < need->y + need->height; y++) {
        for (int32_t x = need->x; x < need->x + need->width; x++) {
            const uint8_t *got = rows + (size_t)(y - have.y) * stride +
                                 (size_t)(x - have.x) * pixel;
            const uint8_t *want =
                whole + ((size_t)y * (size_t)width + (size_t)x) * 3;
            for (size_t c = 0; c < 3; c++)
                same = same && want[c] == got[channels == 3 ? c : 0];
        }
    }
    free(rows);
    return same;
}

/* Parts of the smaller image against the whole smaller image. */
static bool check_shrunk(void *j, const struct make_jpeg *m, const char *name,
                         const struct fdl_encoded *bytes, int32_t shift,
                         uint64_t *state)
{
    int32_t width, height;
    uint8_t *whole =
        decode_whole(bytes->data, (size_t)bytes->size, shift, &width, &height);
    bool same = true;
    for (int part = 0; same && part < 4; part++) {
        struct fdl_box need;
        struct fdl_image_info info;
        pick_span(state, width, &need.x, &need.width);
        pick_span(state, height, &need.y, &need.height);
        same = !fdl_format_jpeg.open(j, bytes, &info);
        if (same) {
            fdl_format_jpeg.shrink(j, shift);
            same = same_part(j, &need, info.channels, whole, width);
        }
        fdl_format_jpeg.abort(j);
        if (!same) {
            printf("at 1/%d: ", 1 << shift);
            report(m, name, &need, "pixels differ");
        }
    }
    free(whole);
    return same;
}

bool check_shrinking(uint64_t seed, int rounds)
{
    struct fdl_decode_limits limits = {.max_pixels = 1u << 20,
                                       .max_scans = 100};
    struct fdl_deadline deadline = {0};
    void *j;
    if (fdl_format_jpeg.create(&limits, &deadline, &j) != FEEDLINE_OK)
        return false;
    uint64_t state = seed ^ 0x51a11;
    bool same = true;
    for (int i = 0; same && i < rounds; i++) {
        const char *name;
        struct make_jpeg m =
            i % 100 ? pick_kind(&state, &name) : pick_large(&state, &name);
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        struct fdl_encoded bytes = file_of(file, size);
        bytes.readable += pick(&state, 0, 1) ? FDL_ENCODED_PADDING : 0;
        for (int32_t shift = 1; same && shift <= FDL_SHRINK_MAX; shift++)
            same = check_shrunk(j, &m, name, &bytes, shift, &state);
        free(file);
    }
    fdl_format_jpeg.destroy(j);
    return same;
}

bool check_regions(uint64_t seed, int rounds)
{
    struct fdl_decode_limits limits = {.max_pixels = 1u << 20,
                                       .max_scans = 100};
    struct fdl_decoder *d;
    if (fdl_decoder_create(&limits, &d) != FEEDLINE_OK)
        return false;
    uint64_t state = seed ^ 0x9e61;
    bool same = true;
    for (int i = 0; same && i < rounds; i++) {
        const char *name;
        struct make_jpeg m =
            i % 100 ? pick_kind(&state, &name) : pick_large(&state, &name);
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        int32_t width, height;
        uint8_t *whole = decode_whole(file, size, 0, &width, &height);
        struct fdl_encoded bytes = file_of(file, size);
        bytes.readable += pick(&state, 0, 1) ? FDL_ENCODED_PADDING : 0;
        for (int part = 0; same && part < 8; part++)
            same = check_part(d, &m, name, &bytes, whole, &state);
        free(whole);
        free(file);
    }
    fdl_decoder_destroy(d);
    return same;
}
