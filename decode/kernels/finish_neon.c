/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last pass with NEON, which interleaves up to four planes by one
 * instruction. Planes are readable in whole vectors, so the end of a row is
 * computed like the rest and only stored with care. Compiled without
 * contraction: what is a product and a sum here is rounded twice.
 */
#include "base/compiler.h"
#include "decode/kernels/finish.h"

#include <arm_neon.h>
#include <string.h>

#define BLOCK 16 /* pixels that are interleaved at once */

/* ---- Bytes -------------------------------------------------------------- */

/* 16 pixels of 2, 3 or 4 channels, a constant. */
FDL_INLINE void interleave_block(const uint8_t *const planes[], size_t x,
                                 size_t channels, uint8_t *to)
{
    uint8x16x4_t v = {{vld1q_u8(planes[0] + x), vld1q_u8(planes[1] + x)}};
    if (channels == 2) {
        vst2q_u8(to, ((uint8x16x2_t){{v.val[0], v.val[1]}}));
        return;
    }
    v.val[2] = vld1q_u8(planes[2] + x);
    if (channels == 3) {
        vst3q_u8(to, ((uint8x16x3_t){{v.val[0], v.val[1], v.val[2]}}));
        return;
    }
    v.val[3] = vld1q_u8(planes[3] + x);
    vst4q_u8(to, v);
}

FDL_INLINE void bytes_row(const uint8_t *const planes[], size_t width,
                          size_t channels, uint8_t *to)
{
    size_t x = 0;
    for (; x + BLOCK <= width; x += BLOCK)
        interleave_block(planes, x, channels, to + x * channels);
    if (x < width) {
        uint8_t end[BLOCK * FDL_CHANNELS_MAX];
        interleave_block(planes, x, channels, end);
        memcpy(to + x * channels, end, (width - x) * channels);
    }
}

static void u8_nhwc(const uint8_t *const planes[],
                    const struct fdl_affine *affine,
                    const struct fdl_output_format *f, int32_t row, void *dst)
{
    (void)affine;
    size_t width = (size_t)f->width, channels = (size_t)f->channels;
    uint8_t *to = (uint8_t *)dst + (size_t)row * width * channels;
    if (channels == 3)
        bytes_row(planes, width, 3, to);
    else if (channels == 4)
        bytes_row(planes, width, 4, to);
    else
        bytes_row(planes, width, 2, to);
}

static void split(const uint8_t *pixels, size_t n, uint8_t *const planes[3])
{
    size_t x = 0;
    for (; x + BLOCK <= n; x += BLOCK) {
        uint8x16x3_t v = vld3q_u8(pixels + 3 * x);
        for (size_t c = 0; c < 3; c++)
            vst1q_u8(planes[c] + x, v.val[c]);
    }
    uint8_t *const rest[3] = {planes[0] + x, planes[1] + x, planes[2] + x};
    fdl_finish_split(pixels + 3 * x, n - x, rest);
}

/* ---- Numbers ------------------------------------------------------------ */

enum kind { F32, F16, BF16 };

FDL_INLINE size_t bytes_of(enum kind kind)
{
    return kind == F32 ? sizeof(float) : sizeof(uint16_t);
}

/* Of eight pixels of a channel. */
struct eight {
    float32x4_t low, high;
};

/* What those of channel c are computed with. */
struct numbers {
    float32x4_t scale, bias, rest, mean, std, inverse;
};

FDL_INLINE struct numbers numbers_of(const struct fdl_affine *a, size_t c)
{
    return (struct numbers){
        vdupq_n_f32(a->scale[c]), vdupq_n_f32(a->bias[c]),
        vdupq_n_f32(a->rest),     vdupq_n_f32(a->mean[c]),
        vdupq_n_f32(a->std[c]),   vdupq_n_f32(a->inverse[c])};
}

/* See by_remainder in finish.c. */
FDL_INLINE float32x4_t value_of(uint16x4_t bytes, const struct numbers *n,
                                bool steps)
{
    float32x4_t x = vcvtq_f32_u32(vmovl_u16(bytes));
    if (!steps)
        return vfmaq_f32(n->bias, x, n->scale);
    float32x4_t unit = vfmaq_f32(vmulq_f32(x, n->rest), x, n->scale);
    float32x4_t centred = vsubq_f32(unit, n->mean);
    float32x4_t near = vmulq_f32(centred, n->inverse);
    float32x4_t remainder = vfmsq_f32(centred, near, n->std);
    return vfmaq_f32(near, remainder, n->inverse);
}

FDL_INLINE struct eight eight_of(const uint8_t *from, const struct numbers *n,
                                 bool steps)
{
    uint16x8_t x = vmovl_u8(vld1_u8(from));
    return (struct eight){value_of(vget_low_u16(x), n, steps),
                          value_of(vget_high_u16(x), n, steps)};
}

FDL_INLINE float32x4_t sum_of(float32x4_t x, float32x4_t y,
                              const struct fdl_finish_mix *m)
{
    return vaddq_f32(vmulq_n_f32(x, m->own), vmulq_n_f32(y, m->other));
}

/* y: mixed with these by m; NULL: nothing is mixed. */
FDL_INLINE struct eight mixed(const uint8_t *from, const uint8_t *y,
                              const struct fdl_finish_mix *m,
                              const struct numbers *n, bool steps)
{
    struct eight a = eight_of(from, n, steps);
    if (!y)
        return a;
    struct eight b = eight_of(y, n, steps);
    return (struct eight){sum_of(a.low, b.low, m), sum_of(a.high, b.high, m)};
}

/* The upper half of a float, rounded as fdl_bf16_of does. */
FDL_INLINE uint16x4_t upper_halves(float32x4_t y)
{
    uint32x4_t bits = vreinterpretq_u32_f32(y);
    uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    bits = vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7fff)), odd);
    return vshrn_n_u32(bits, 16);
}

FDL_INLINE uint16x4_t half_of(float32x4_t y, enum kind kind)
{
    return kind == F16 ? vreinterpret_u16_f16(vcvt_f16_f32(y))
                       : upper_halves(y);
}

FDL_INLINE uint16x8_t halves_of(struct eight y, enum kind kind)
{
    return vcombine_u16(half_of(y.low, kind), half_of(y.high, kind));
}

FDL_INLINE void store_eight(uint8_t *to, struct eight y, enum kind kind)
{
    if (kind == F32) {
        vst1q_f32((float *)(void *)to, y.low);
        vst1q_f32((float *)(void *)to + 4, y.high);
        return;
    }
    vst1q_u16((uint16_t *)(void *)to, halves_of(y, kind));
}

/* ---- Planes of numbers -------------------------------------------------- */

FDL_INLINE void planar_row(const uint8_t *from, const uint8_t *y,
                           const struct fdl_finish_mix *m, size_t width,
                           const struct numbers *n, uint8_t *to, enum kind kind,
                           bool steps)
{
    size_t size = bytes_of(kind), x = 0;
    for (; x + 8 <= width; x += 8)
        store_eight(to + x * size,
                    mixed(from + x, y ? y + x : NULL, m, n, steps), kind);
    if (x < width) {
        uint8_t end[8 * sizeof(float)] FDL_ALIGNED(16);
        store_eight(end, mixed(from + x, y ? y + x : NULL, m, n, steps), kind);
        memcpy(to + x * size, end, (width - x) * size);
    }
}

FDL_INLINE void planar(const uint8_t *const planes[],
                       const struct fdl_finish_mix *m,
                       const struct fdl_affine *affine,
                       const struct fdl_output_format *f, int32_t row,
                       void *dst, enum kind kind)
{
    for (int32_t c = 0; c < f->channels; c++) {
        struct numbers n = numbers_of(affine, (size_t)c);
        uint8_t *to =
            (uint8_t *)dst + fdl_planar_place(f, c, row) * bytes_of(kind);
        const uint8_t *y = m ? m->y[c] : NULL;
        if (affine->way == FDL_AFFINE_STEPS)
            planar_row(planes[c], y, m, (size_t)f->width, &n, to, kind, true);
        else
            planar_row(planes[c], y, m, (size_t)f->width, &n, to, kind, false);
    }
}

/* ---- Interleaved numbers ------------------------------------------------ */

FDL_INLINE void store_floats(float *to, const struct eight *v, size_t channels,
                             bool high)
{
    float32x4_t of[FDL_CHANNELS_MAX];
    for (size_t c = 0; c < channels; c++)
        of[c] = high ? v[c].high : v[c].low;
    if (channels == 2)
        vst2q_f32(to, ((float32x4x2_t){{of[0], of[1]}}));
    else if (channels == 3)
        vst3q_f32(to, ((float32x4x3_t){{of[0], of[1], of[2]}}));
    else
        vst4q_f32(to, ((float32x4x4_t){{of[0], of[1], of[2], of[3]}}));
}

FDL_INLINE void store_halves(uint16_t *to, const struct eight *v,
                             size_t channels, enum kind kind)
{
    uint16x8_t of[FDL_CHANNELS_MAX];
    for (size_t c = 0; c < channels; c++)
        of[c] = halves_of(v[c], kind);
    if (channels == 2)
        vst2q_u16(to, ((uint16x8x2_t){{of[0], of[1]}}));
    else if (channels == 3)
        vst3q_u16(to, ((uint16x8x3_t){{of[0], of[1], of[2]}}));
    else
        vst4q_u16(to, ((uint16x8x4_t){{of[0], of[1], of[2], of[3]}}));
}

FDL_INLINE void packed_eight(const uint8_t *const planes[],
                             const struct fdl_finish_mix *m, size_t x,
                             size_t channels, const struct numbers *n,
                             uint8_t *to, enum kind kind, bool steps)
{
    struct eight v[FDL_CHANNELS_MAX];
    for (size_t c = 0; c < channels; c++)
        v[c] = mixed(planes[c] + x, m ? m->y[c] + x : NULL, m, &n[c], steps);
    if (kind == F32) {
        store_floats((float *)(void *)to, v, channels, false);
        store_floats((float *)(void *)to + 4 * channels, v, channels, true);
    } else {
        store_halves((uint16_t *)(void *)to, v, channels, kind);
    }
}

FDL_INLINE void packed_row(const uint8_t *const planes[],
                           const struct fdl_finish_mix *m, size_t width,
                           size_t channels, const struct numbers *n,
                           uint8_t *to, enum kind kind, bool steps)
{
    size_t pixel = channels * bytes_of(kind), x = 0;
    for (; x + 8 <= width; x += 8)
        packed_eight(planes, m, x, channels, n, to + x * pixel, kind, steps);
    if (x < width) {
        uint8_t end[8 * FDL_CHANNELS_MAX * sizeof(float)] FDL_ALIGNED(16);
        packed_eight(planes, m, x, channels, n, end, kind, steps);
        memcpy(to + x * pixel, end, (width - x) * pixel);
    }
}

FDL_INLINE void packed(const uint8_t *const planes[],
                       const struct fdl_finish_mix *m,
                       const struct fdl_affine *affine,
                       const struct fdl_output_format *f, int32_t row,
                       void *dst, enum kind kind, bool steps)
{
    size_t width = (size_t)f->width, channels = (size_t)f->channels;
    struct numbers n[FDL_CHANNELS_MAX];
    for (size_t c = 0; c < channels; c++)
        n[c] = numbers_of(affine, c);
    uint8_t *to =
        (uint8_t *)dst + (size_t)row * width * channels * bytes_of(kind);
    if (channels == 3)
        packed_row(planes, m, width, 3, n, to, kind, steps);
    else if (channels == 4)
        packed_row(planes, m, width, 4, n, to, kind, steps);
    else
        packed_row(planes, m, width, 2, n, to, kind, steps);
}

/* Both layouts of one type. */
#define NUMBERS(type, kind)                                                    \
  static void type##_nchw(                                                     \
      const uint8_t *const planes[], const struct fdl_affine *affine,          \
      const struct fdl_output_format *f, int32_t row, void *dst)               \
  {                                                                            \
    if (affine->way == FDL_AFFINE_TABLE)                                       \
      fdl_finish_c.type##_nchw(planes, affine, f, row, dst);                   \
    else                                                                       \
      planar(planes, NULL, affine, f, row, dst, kind);                         \
  }                                                                            \
  static void type##_nhwc(                                                     \
      const uint8_t *const planes[], const struct fdl_affine *affine,          \
      const struct fdl_output_format *f, int32_t row, void *dst)               \
  {                                                                            \
    if (affine->way == FDL_AFFINE_TABLE)                                       \
      fdl_finish_c.type##_nhwc(planes, affine, f, row, dst);                   \
    else if (affine->way == FDL_AFFINE_STEPS)                                  \
      packed(planes, NULL, affine, f, row, dst, kind, true);                   \
    else                                                                       \
      packed(planes, NULL, affine, f, row, dst, kind, false);                  \
  }
NUMBERS(f32, F32)
NUMBERS(f16, F16)
NUMBERS(bf16, BF16)

static void mix(const uint8_t *const x[], const struct fdl_finish_mix *m,
                const struct fdl_affine *affine,
                const struct fdl_output_format *f, int32_t row, float *dst)
{
    if (affine->way == FDL_AFFINE_TABLE)
        fdl_finish_c.mix(x, m, affine, f, row, dst);
    else if (!f->nhwc || f->channels == 1)
        planar(x, m, affine, f, row, dst, F32);
    else if (affine->way == FDL_AFFINE_STEPS)
        packed(x, m, affine, f, row, dst, F32, true);
    else
        packed(x, m, affine, f, row, dst, F32, false);
}

const struct fdl_finish_kernels fdl_finish_neon = {
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
    .split = split,
};
