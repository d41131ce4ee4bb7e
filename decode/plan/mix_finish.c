/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MixUp of f32 has a kernel of its own. Else both images are finished to a
 * buffer of a few KiB, a piece of a row at a time, and go from there to the
 * batch, which takes any format and steps on what is finished.
 */
#include "decode/plan/mix_finish.h"

#include "base/compiler.h"
#include "decode/kernels/levels.h"

#include <string.h>

#define PIECE 256 /* pixels */

struct pass {
    const struct feedline_image_mix *mix;
    const struct fdl_output_format *format;
    const struct fdl_affine *affine;
    fdl_finish_fn finish;
    uint8_t *dst;
};

/* Room for a piece of any format. */
struct piece {
    float at[PIECE * FDL_CHANNELS_MAX];
};

static void planes_of(const struct pass *p, const struct fdl_mix_source *from,
                      int32_t x, int32_t y,
                      const uint8_t *planes[FDL_CHANNELS_MAX])
{
    for (int32_t c = 0; c < FDL_CHANNELS_MAX; c++)
        planes[c] = from->planes +
                    fdl_planar_place(p->format,
                                     FDL_MIN(c, p->format->channels - 1), y) +
                    x;
}

/* n pixels from (x, y) on. */
static void finish_piece(const struct pass *p,
                         const struct fdl_mix_source *from, int32_t x,
                         int32_t y, int32_t n, struct piece *out)
{
    struct fdl_output_format f = *p->format;
    const uint8_t *planes[FDL_CHANNELS_MAX];
    f.width = n;
    f.height = 1;
    if (from->blank) {
        memset(out->at, 0, fdl_output_bytes(&f));
        return;
    }
    planes_of(p, from, x, y, planes);
    p->finish(planes, p->affine, &f, 0, out->at);
    for (uint32_t i = 0; i < from->n_steps; i++)
        from->steps[i].kind->finish(&from->steps[i], &f, x, y, out->at);
}

static void finish_whole(const struct pass *p,
                         const struct fdl_mix_source *from)
{
    const uint8_t *planes[FDL_CHANNELS_MAX];
    if (from->blank) {
        memset(p->dst, 0, fdl_output_bytes(p->format));
        return;
    }
    for (int32_t y = 0; y < p->format->height; y++) {
        planes_of(p, from, 0, y, planes);
        p->finish(planes, p->affine, p->format, y, p->dst);
    }
    for (uint32_t i = 0; i < from->n_steps; i++)
        from->steps[i].kind->finish(&from->steps[i], p->format, 0, 0, p->dst);
}

/* A run of elements from `at` on: the mix of x and y, or y. */
static void put(const struct pass *p, size_t at, size_t n,
                const struct piece *x, const struct piece *y, size_t from)
{
    const struct fdl_mix_kernels *k = fdl_kernels[fdl_cpu_level()].mix;
    size_t size = fdl_dtype_bytes(p->format->dtype);
    float own = (float)p->mix->share, other = (float)(1 - p->mix->share);
    const uint8_t *bytes = (const uint8_t *)y->at + from * size;
    if (!x)
        memcpy(p->dst + at * size, bytes, n * size);
    else if (p->format->dtype == FEEDLINE_U8)
        k->bytes(p->dst + at, (const uint8_t *)x->at + from, bytes, n, own,
                 other);
    else
        k->floats((float *)(void *)p->dst + at, x->at + from, y->at + from, n,
                  own, other);
}

static void put_piece(const struct pass *p, int32_t at_x, int32_t at_y,
                      int32_t pixels, const struct piece *x,
                      const struct piece *y)
{
    const struct fdl_output_format *f = p->format;
    size_t n = (size_t)pixels, channels = (size_t)f->channels;
    if (f->nhwc) {
        size_t at = (size_t)at_y * (size_t)f->width + (size_t)at_x;
        put(p, at * channels, n * channels, x, y, 0);
        return;
    }
    for (int32_t c = 0; c < f->channels; c++)
        put(p, fdl_planar_place(f, c, at_y) + (size_t)at_x, n, x, y,
            (size_t)c * n);
}

static bool is_plain(const struct fdl_mix_source *from)
{
    return !from->blank && from->n_steps == 0;
}

/* f32, or u8 in planes, without a buffer. */
static void mix_rows(const struct pass *p, const struct fdl_mix_source *own,
                     const struct fdl_mix_source *other)
{
    const struct fdl_kernels *k = &fdl_kernels[fdl_cpu_level()];
    const struct fdl_output_format *f = p->format;
    const uint8_t *x[FDL_CHANNELS_MAX], *y[FDL_CHANNELS_MAX];
    struct fdl_finish_mix m = {.y = y,
                               .own = (float)p->mix->share,
                               .other = (float)(1 - p->mix->share)};
    for (int32_t row = 0; row < f->height; row++) {
        planes_of(p, own, 0, row, x);
        planes_of(p, other, 0, row, y);
        if (f->dtype == FEEDLINE_F32)
            k->finish->mix(x, &m, p->affine, f, row, (float *)(void *)p->dst);
        for (int32_t c = 0; c < f->channels && f->dtype == FEEDLINE_U8; c++)
            k->mix->bytes(p->dst + fdl_planar_place(f, c, row), x[c], y[c],
                          (size_t)f->width, m.own, m.other);
    }
}

static void mix_all(const struct pass *p, const struct fdl_mix_source *own,
                    const struct fdl_mix_source *other)
{
    struct piece a, b;
    for (int32_t y = 0; y < p->format->height; y++)
        for (int32_t x = 0; x < p->format->width; x += PIECE) {
            int32_t n = FDL_MIN(p->format->width - x, PIECE);
            finish_piece(p, own, x, y, n, &a);
            finish_piece(p, other, x, y, n, &b);
            put_piece(p, x, y, n, &a, &b);
        }
}

static void cut(const struct pass *p, const struct fdl_mix_source *other)
{
    const int32_t *box = p->mix->box;
    struct piece b;
    for (int32_t y = box[1]; y < box[3]; y++)
        for (int32_t x = box[0]; x < box[2]; x += PIECE) {
            int32_t n = FDL_MIN(box[2] - x, PIECE);
            finish_piece(p, other, x, y, n, &b);
            put_piece(p, x, y, n, NULL, &b);
        }
}

void fdl_mix_finish(const struct feedline_image_mix *mix,
                    const struct fdl_output_format *format,
                    const struct fdl_affine *affine,
                    const struct fdl_mix_source *own,
                    const struct fdl_mix_source *other, void *dst)
{
    struct pass p = {
        .mix = mix,
        .format = format,
        .affine = affine,
        .finish =
            fdl_finish_choose(fdl_kernels[fdl_cpu_level()].finish, format),
        .dst = dst,
    };
    bool rows = format->dtype == FEEDLINE_F32 || !format->nhwc;
    if (mix->kind == FEEDLINE_MIXUP && rows && is_plain(own) && is_plain(other))
        mix_rows(&p, own, other);
    else if (mix->kind == FEEDLINE_MIXUP)
        mix_all(&p, own, other);
    else
        finish_whole(&p, own);
    if (mix->kind == FEEDLINE_CUTMIX)
        cut(&p, other);
    fdl_finish_end();
}
