/* SPDX-License-Identifier: Apache-2.0 */
/* The last pass in plain C, and the choice between families. */
#include "decode/finish.h"

#include "base/status.h"
#include "decode/half.h"
#include "decode/levels.h"

#include <math.h>
#include <string.h>

void fdl_affine_numbers(const struct fdl_plan *plan,
                        float scale[FDL_CHANNELS_MAX],
                        float bias[FDL_CHANNELS_MAX])
{
    for (size_t c = 0; c < FDL_CHANNELS_MAX; c++) {
        double mean = plan->normalize ? (double)plan->mean[c] : 0.0;
        double std = plan->normalize ? (double)plan->std[c] : 1.0;
        scale[c] = (float)(1.0 / (255.0 * std));
        bias[c] = (float)(-mean / std);
    }
}

void fdl_affine_init(struct fdl_affine *affine, const struct fdl_plan *plan)
{
    fdl_affine_numbers(plan, affine->scale, affine->bias);
    for (size_t c = 0; c < FDL_CHANNELS_MAX; c++) {
        float scale = affine->scale[c], bias = affine->bias[c];
        for (int x = 0; x < 256; x++)
            affine->table[c][x] = fmaf((float)x, scale, bias);
        for (int x = 0; x < 256; x++) {
            affine->f16[c][x] = fdl_f16_of(affine->table[c][x]);
            affine->bf16[c][x] = fdl_bf16_of(affine->table[c][x]);
        }
    }
}

/* First element of plane c of a row in NCHW. */
static size_t planar_place(const struct fdl_output_format *f, int32_t c,
                           int32_t row)
{
    return ((size_t)c * (size_t)f->height + (size_t)row) * (size_t)f->width;
}

static size_t packed_place(const struct fdl_output_format *f, int32_t row)
{
    return (size_t)row * (size_t)f->width * (size_t)f->channels;
}

static void u8_nchw(const uint8_t *const planes[],
                    const struct fdl_affine *affine,
                    const struct fdl_output_format *f, int32_t row, void *dst)
{
    (void)affine;
    for (int32_t c = 0; c < f->channels; c++)
        memcpy((uint8_t *)dst + planar_place(f, c, row), planes[c],
               (size_t)f->width);
}

static void u8_nhwc(const uint8_t *const planes[],
                    const struct fdl_affine *affine,
                    const struct fdl_output_format *f, int32_t row, void *dst)
{
    (void)affine;
    uint8_t *to = (uint8_t *)dst + packed_place(f, row);
    for (int32_t x = 0; x < f->width; x++) {
        for (int32_t c = 0; c < f->channels; c++)
            *to++ = planes[c][x];
    }
}

static void f32_nchw(const uint8_t *const planes[],
                     const struct fdl_affine *affine,
                     const struct fdl_output_format *f, int32_t row, void *dst)
{
    for (int32_t c = 0; c < f->channels; c++) {
        float *to = (float *)dst + planar_place(f, c, row);
        for (int32_t x = 0; x < f->width; x++)
            to[x] = affine->table[c][planes[c][x]];
    }
}

static void f32_nhwc(const uint8_t *const planes[],
                     const struct fdl_affine *affine,
                     const struct fdl_output_format *f, int32_t row, void *dst)
{
    float *to = (float *)dst + packed_place(f, row);
    for (int32_t x = 0; x < f->width; x++) {
        for (int32_t c = 0; c < f->channels; c++)
            *to++ = affine->table[c][planes[c][x]];
    }
}

/* Either type of 16 bits. */
static void half_nchw(const uint8_t *const planes[],
                      const uint16_t table[][256],
                      const struct fdl_output_format *f, int32_t row,
                      uint16_t *dst)
{
    for (int32_t c = 0; c < f->channels; c++) {
        uint16_t *to = dst + planar_place(f, c, row);
        for (int32_t x = 0; x < f->width; x++)
            to[x] = table[c][planes[c][x]];
    }
}

static void half_nhwc(const uint8_t *const planes[],
                      const uint16_t table[][256],
                      const struct fdl_output_format *f, int32_t row,
                      uint16_t *dst)
{
    uint16_t *to = dst + packed_place(f, row);
    for (int32_t x = 0; x < f->width; x++) {
        for (int32_t c = 0; c < f->channels; c++)
            *to++ = table[c][planes[c][x]];
    }
}

static void f16_nchw(const uint8_t *const planes[],
                     const struct fdl_affine *affine,
                     const struct fdl_output_format *f, int32_t row, void *dst)
{
    half_nchw(planes, affine->f16, f, row, dst);
}

static void f16_nhwc(const uint8_t *const planes[],
                     const struct fdl_affine *affine,
                     const struct fdl_output_format *f, int32_t row, void *dst)
{
    half_nhwc(planes, affine->f16, f, row, dst);
}

static void bf16_nchw(const uint8_t *const planes[],
                      const struct fdl_affine *affine,
                      const struct fdl_output_format *f, int32_t row, void *dst)
{
    half_nchw(planes, affine->bf16, f, row, dst);
}

static void bf16_nhwc(const uint8_t *const planes[],
                      const struct fdl_affine *affine,
                      const struct fdl_output_format *f, int32_t row, void *dst)
{
    half_nhwc(planes, affine->bf16, f, row, dst);
}

static const struct fdl_finish_kernels kernels_c = {
    .u8_nchw = u8_nchw,
    .u8_nhwc = u8_nhwc,
    .f16_nchw = f16_nchw,
    .f16_nhwc = f16_nhwc,
    .bf16_nchw = bf16_nchw,
    .bf16_nhwc = bf16_nhwc,
    .f32_nchw = f32_nchw,
    .f32_nhwc = f32_nhwc,
};

const struct fdl_finish_kernels *fdl_finish_kernels(enum fdl_cpu_level level)
{
    for (int i = (int)level; i > FDL_CPU_C; i--) {
        if (fdl_finish_levels[i])
            return fdl_finish_levels[i];
    }
    return &kernels_c;
}

fdl_finish_fn fdl_finish_choose(const struct fdl_finish_kernels *k,
                                const struct fdl_output_format *f)
{
    bool packed = f->nhwc && f->channels > 1; /* else the same thing */
    switch (f->dtype) {
    case FEEDLINE_U8:
        return packed ? k->u8_nhwc : k->u8_nchw;
    case FEEDLINE_F16:
        return packed ? k->f16_nhwc : k->f16_nchw;
    case FEEDLINE_BF16:
        return packed ? k->bf16_nhwc : k->bf16_nchw;
    default:
        fdl_assert(f->dtype == FEEDLINE_F32);
        return packed ? k->f32_nhwc : k->f32_nchw;
    }
}
