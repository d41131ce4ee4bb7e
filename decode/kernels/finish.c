/* SPDX-License-Identifier: Apache-2.0 */
/* The last pass in plain C. */
#include "decode/kernels/finish.h"

#include "base/status.h"
#include "decode/pixels/half.h"

#include <math.h>
#include <string.h>

/* As many as a large sample of f32 has (fdl_finish_is_large). */
#define LARGE_BYTES ((size_t)1 << 18)

/* From mean and std, or to 0..1 where norm is not on. */
static void numbers(const struct fdl_norm *norm, float scale[FDL_CHANNELS_MAX],
                    float bias[FDL_CHANNELS_MAX])
{
    for (size_t c = 0; c < FDL_CHANNELS_MAX; c++) {
        double mean = norm->on ? (double)norm->mean[c] : 0.0;
        double std = norm->on ? (double)norm->std[c] : 1.0;
        scale[c] = (float)(1.0 / (255.0 * std));
        bias[c] = (float)(-mean / std);
    }
}

/* What torchvision's operations make of x, one after the other. */
static float in_steps(const struct fdl_norm *norm, enum fdl_rounding rounding,
                      size_t c, float x)
{
    const float scale = (float)(1.0 / 255.0);
    float unit = rounding == FDL_ROUNDING_DIVIDE ? x / 255.0f : x * scale;
    if (!norm->on)
        return unit;
    float centred = unit - norm->mean[c];
    return centred / norm->std[c];
}

/* The result of in_steps as vectors compute it: a quotient is a product,
 * corrected by its exact remainder. */
static float by_remainder(const struct fdl_affine *a, size_t c, float x)
{
    float low = x * a->rest;
    float centred = fmaf(x, a->scale[c], low) - a->mean[c];
    float near = centred * a->inverse[c];
    return fmaf(fmaf(-near, a->std[c], centred), a->inverse[c], near);
}

static void init_steps(struct fdl_affine *affine, const struct fdl_norm *norm,
                       enum fdl_rounding rounding)
{
    const float scale = (float)(1.0 / 255.0);
    affine->way = FDL_AFFINE_STEPS;
    affine->rest = rounding == FDL_ROUNDING_DIVIDE
                       ? (float)(1.0 / 255.0 - (double)scale)
                       : 0.0f;
    for (size_t c = 0; c < FDL_CHANNELS_MAX; c++) {
        affine->scale[c] = scale;
        affine->bias[c] = 0.0f;
        affine->mean[c] = norm->on ? norm->mean[c] : 0.0f;
        affine->std[c] = norm->on ? norm->std[c] : 1.0f;
        affine->inverse[c] = 1.0f / affine->std[c];
        for (int x = 0; x < 256; x++) {
            float want = in_steps(norm, rounding, c, (float)x);
            float got = by_remainder(affine, c, (float)x);
            if (memcmp(&want, &got, sizeof(want)) != 0)
                affine->way = FDL_AFFINE_TABLE;
            affine->table[c][x] = want;
        }
    }
}

static void init_once(struct fdl_affine *affine, const struct fdl_norm *norm)
{
    affine->way = FDL_AFFINE_ONCE;
    numbers(norm, affine->scale, affine->bias);
    for (size_t c = 0; c < FDL_CHANNELS_MAX; c++) {
        float scale = affine->scale[c], bias = affine->bias[c];
        for (int x = 0; x < 256; x++)
            affine->table[c][x] = fmaf((float)x, scale, bias);
    }
}

void fdl_affine_init(struct fdl_affine *affine, const struct fdl_norm *norm,
                     enum fdl_rounding rounding)
{
    memset(affine, 0, sizeof(*affine));
    bool product = rounding == FDL_ROUNDING_MULTIPLY && !norm->on;
    if (rounding == FDL_ROUNDING_ONCE || product) /* of one step */
        init_once(affine, norm);
    else
        init_steps(affine, norm, rounding);
    for (size_t c = 0; c < FDL_CHANNELS_MAX; c++) {
        for (int x = 0; x < 256; x++) {
            affine->f16[c][x] = fdl_f16_of(affine->table[c][x]);
            affine->bf16[c][x] = fdl_bf16_of(affine->table[c][x]);
        }
    }
}

void fdl_affine_bits(const struct fdl_affine *affine, int32_t dtype,
                     uint32_t bits[FDL_CHANNELS_MAX][256])
{
    const uint16_t(*half)[256] =
        dtype == FEEDLINE_F16 ? affine->f16 : affine->bf16;
    if (dtype == FEEDLINE_F32) {
        memcpy(bits, affine->table, sizeof(affine->table));
        return;
    }
    for (size_t c = 0; c < FDL_CHANNELS_MAX; c++)
        for (size_t x = 0; x < 256; x++)
            bits[c][x] = half[c][x];
}

static size_t packed_place(const struct fdl_output_format *f, int32_t row)
{
    return (size_t)row * (size_t)f->width * (size_t)f->channels;
}

void fdl_finish_planes(const uint8_t *const planes[],
                       const struct fdl_affine *affine,
                       const struct fdl_output_format *f, int32_t row,
                       void *dst)
{
    (void)affine;
    for (int32_t c = 0; c < f->channels; c++)
        memcpy((uint8_t *)dst + fdl_planar_place(f, c, row), planes[c],
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

/* Both layouts of one type, from the table of each channel. Four numbers of a
 * plane are looked up before one is stored, as that may be any byte of it. */
#define NUMBERS(name, type, table_of)                                          \
  static void name##_nchw(                                                     \
      const uint8_t *const planes[], const struct fdl_affine *affine,          \
      const struct fdl_output_format *f, int32_t row, void *dst)               \
  {                                                                            \
    for (int32_t c = 0; c < f->channels; c++) {                                \
      type *to = (type *)dst + fdl_planar_place(f, c, row);                    \
      const type *table = table_of(affine, type, c);                           \
      const uint8_t *from = planes[c];                                         \
      int32_t x = 0, width = f->width;                                         \
      for (; x + 4 <= width; x += 4) {                                         \
        type v0 = table[from[x]], v1 = table[from[x + 1]];                     \
        type v2 = table[from[x + 2]], v3 = table[from[x + 3]];                 \
        to[x] = v0;                                                            \
        to[x + 1] = v1;                                                        \
        to[x + 2] = v2;                                                        \
        to[x + 3] = v3;                                                        \
      }                                                                        \
      for (; x < width; x++)                                                   \
        to[x] = table[from[x]];                                                \
    }                                                                          \
  }                                                                            \
  static void name##_nhwc(                                                     \
      const uint8_t *const planes[], const struct fdl_affine *affine,          \
      const struct fdl_output_format *f, int32_t row, void *dst)               \
  {                                                                            \
    type *to = (type *)dst + packed_place(f, row);                             \
    for (int32_t x = 0; x < f->width; x++) {                                   \
      for (int32_t c = 0; c < f->channels; c++)                                \
        *to++ = table_of(affine, type, c)[planes[c][x]];                       \
    }                                                                          \
  }
#define F32_OF(affine, type, c)    (affine)->table[c]
#define F16_OF(affine, type, c)    (affine)->f16[c]
#define BF16_OF(affine, type, c)   (affine)->bf16[c]
#define LOOKUP_OF(affine, type, c) ((const type *)(affine)->lookup + 256 * (c))
NUMBERS(f32, float, F32_OF)
NUMBERS(f16, uint16_t, F16_OF)
NUMBERS(bf16, uint16_t, BF16_OF)
NUMBERS(lookup_1, uint8_t, LOOKUP_OF)
NUMBERS(lookup_2, uint16_t, LOOKUP_OF)
NUMBERS(lookup_4, uint32_t, LOOKUP_OF)
NUMBERS(lookup_8, uint64_t, LOOKUP_OF)

fdl_finish_fn fdl_finish_lookup_c(uint32_t element_bytes, bool nhwc)
{
    switch (element_bytes) {
    case 1:
        return nhwc ? lookup_1_nhwc : lookup_1_nchw;
    case 2:
        return nhwc ? lookup_2_nhwc : lookup_2_nchw;
    case 4:
        return nhwc ? lookup_4_nhwc : lookup_4_nchw;
    default:
        fdl_assert(element_bytes == 8);
        return nhwc ? lookup_8_nhwc : lookup_8_nchw;
    }
}

static void mix(const uint8_t *const x[], const struct fdl_finish_mix *m,
                const struct fdl_affine *affine,
                const struct fdl_output_format *f, int32_t row, float *dst)
{
    size_t step = f->nhwc ? (size_t)f->channels : 1;
    for (int32_t c = 0; c < f->channels; c++) {
        float *to = dst + (f->nhwc ? packed_place(f, row) + (size_t)c
                                   : fdl_planar_place(f, c, row));
        const float *table = affine->table[c];
        for (int32_t i = 0; i < f->width; i++)
            to[(size_t)i * step] =
                table[x[c][i]] * m->own + table[m->y[c][i]] * m->other;
    }
}

void fdl_finish_split(const uint8_t *pixels, size_t n, uint8_t *const planes[3])
{
    uint8_t *restrict r = planes[0], *restrict g = planes[1];
    uint8_t *restrict b = planes[2];
    for (size_t x = 0; x < n; x++, pixels += 3) {
        r[x] = pixels[0];
        g[x] = pixels[1];
        b[x] = pixels[2];
    }
}

void fdl_finish_end(void)
{
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}

const struct fdl_finish_kernels fdl_finish_c = {
    .u8_nchw = fdl_finish_planes,
    .u8_nchw_past = fdl_finish_planes,
    .u8_nhwc = u8_nhwc,
    .f16_nchw = f16_nchw,
    .f16_nhwc = f16_nhwc,
    .bf16_nchw = bf16_nchw,
    .bf16_nhwc = bf16_nhwc,
    .f32_nchw = f32_nchw,
    .f32_nhwc = f32_nhwc,
    .mix = mix,
    .split = fdl_finish_split,
};

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

fdl_finish_fn fdl_finish_choose_last(const struct fdl_finish_kernels *k,
                                     const struct fdl_output_format *f)
{
    size_t pixels = (size_t)f->width * (size_t)f->height;
    bool planar = f->dtype == FEEDLINE_U8 && (!f->nhwc || f->channels == 1);
    if (planar && pixels * (size_t)f->channels >= LARGE_BYTES)
        return k->u8_nchw_past;
    return fdl_finish_choose(k, f);
}
