/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a JPEG, packed; then damage to what was packed, under checksums
 * that are right.
 *
 *     16 bytes   a crop, and what is damaged
 *     the rest   the JPEG
 *
 * What packs comes back to the byte or with the same coefficients, and has the
 * pixels that the JPEG has, whoever makes them. What is damaged is refused or
 * decoded, and nothing is read that is not its own.
 */
#include "base/status.h"
#include "decode/decoder.h"
#include "decode/formats/jpeg_pack.h"
#include "decode/packed/container.h"
#include "fuzz.h"
#include "shape.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 16
#define MAX_PIXELS 65536u

struct head {
    uint16_t x, y, width, height;
    struct {
        uint16_t at;
        uint8_t part, change;
    } damage[2];
};

static const struct fuzz_shape *find_shape(const uint8_t *data, size_t size)
{
    (void)data;
    (void)size;
    return &fuzz_shape_jpeg;
}

const struct fuzz_input_shape fuzz_input_shape = {HEAD_BYTES, find_shape};

/* A part of it; NULL: refused. */
static uint8_t *decode(const uint8_t *data, uint64_t size, const struct head *h,
                       bool plain, size_t *bytes)
{
    struct fdl_decode_limits limits = {
        .max_pixels = MAX_PIXELS, .max_scans = 200, .libjpeg_huffman = plain};
    struct fdl_encoded file = {.data = data, .size = size, .readable = size};
    struct fdl_decoder *d;
    struct fdl_image_info info;
    uint8_t *pixels = NULL;
    fuzz_check(fdl_decoder_create(&limits, &d) == FEEDLINE_OK);
    if (fdl_decoder_open(d, &file, &info) == FEEDLINE_OK) {
        struct fdl_box box = {.x = h->x % info.width, .y = h->y % info.height};
        box.width = 1 + h->width % (info.width - box.x);
        box.height = 1 + h->height % (info.height - box.y);
        struct fdl_plan plan;
        fdl_plan_init(&plan, info.width, info.height);
        fdl_plan_crop(&plan, box);
        struct fdl_output_format f = {box.width, box.height, 3, FEEDLINE_U8,
                                      true};
        struct fdl_render_cost cost;
        *bytes = 3 * (size_t)box.width * (size_t)box.height;
        pixels = malloc(*bytes);
        fuzz_check(pixels != NULL);
        if (fdl_decoder_render(d, &plan, &f, pixels, &cost) != FEEDLINE_OK) {
            free(pixels);
            pixels = NULL;
        }
    }
    fdl_decoder_destroy(d);
    return pixels;
}

/* Of the same JPEG. */
static void check_pixels(const struct fuzz_input *jpeg, const uint8_t *packed,
                         uint64_t size, const struct head *h)
{
    size_t n, m;
    uint8_t *expected = decode(jpeg->data, jpeg->size, h, false, &n);
    for (int plain = 0; plain < 2; plain++) {
        uint8_t *is = decode(packed, size, h, plain, &m);
        fuzz_check(!expected == !is);
        fuzz_check(!is || (n == m && memcmp(is, expected, n) == 0));
        free(is);
    }
    free(expected);
}

static void check_unpack(const struct fuzz_input *jpeg, const uint8_t *packed,
                         uint64_t size, const struct head *h)
{
    uint8_t *back, *again;
    uint64_t n, m;
    bool same;
    fuzz_check(fdl_jpeg_unpack(packed, size, MAX_PIXELS, &back, &n, &same) ==
               FEEDLINE_OK);
    if (same) {
        fuzz_check(n == jpeg->size && memcmp(back, jpeg->data, n) == 0);
    } else {
        /* Blocks that only fill up MCUs may differ; no pixel has them. */
        fuzz_check(fdl_jpeg_pack(back, n, MAX_PIXELS, &again, &m) ==
                   FEEDLINE_OK);
        check_pixels(jpeg, again, m, h);
        free(again);
    }
    free(back);
}

/* Changes a byte of one of the parts, which all lie in `packed`. */
static void damage(const struct head *h, uint8_t *packed,
                   const struct fdl_packed *p)
{
    for (int i = 0; i < 2; i++) {
        const struct fdl_packed_plane *plane =
            &p->planes[h->damage[i].part / 4 % p->n_planes];
        uint64_t segments =
            (uint64_t)fdl_packed_segments(plane) * plane->blocks_high;
        const uint8_t *const parts[] = {p->prefix, p->tail, plane->data,
                                        plane->lengths};
        const uint64_t sizes[] = {p->prefix_bytes, p->tail_bytes, plane->bytes,
                                  2 * segments};
        int part = h->damage[i].part % 4;
        if (sizes[part] > 0)
            packed[(uint64_t)(parts[part] - packed) +
                   h->damage[i].at % sizes[part]] ^= h->damage[i].change;
    }
}

static void check_damaged(const struct head *h, uint8_t *packed, uint64_t size)
{
    struct fdl_packed p;
    uint8_t *data, *out;
    uint64_t n, m;
    size_t bytes;
    bool same;
    fuzz_check(fdl_packed_open(packed, size, &p) == FEEDLINE_OK);
    damage(h, packed, &p);
    fuzz_check(fdl_packed_write(&p, &data, &n) == FEEDLINE_OK);
    uint8_t *a = decode(data, n, h, false, &bytes);
    uint8_t *b = decode(data, n, h, true, &bytes);
    fuzz_check(!a || !b || memcmp(a, b, bytes) == 0);
    free(a);
    free(b);
    if (fdl_jpeg_unpack(data, n, MAX_PIXELS, &out, &m, &same) == FEEDLINE_OK)
        free(out);
    free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct head h;
    if (size < HEAD_BYTES)
        return 0;
    memcpy(&h, data, HEAD_BYTES);
    struct fuzz_input jpeg = {data + HEAD_BYTES, size - HEAD_BYTES};
    uint8_t *packed;
    uint64_t n;
    if (fdl_jpeg_pack(jpeg.data, jpeg.size, MAX_PIXELS, &packed, &n))
        return 0;
    check_pixels(&jpeg, packed, n, &h);
    check_unpack(&jpeg, packed, n, &h);
    check_damaged(&h, packed, n);
    free(packed);
    return 0;
}
