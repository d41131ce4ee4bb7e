/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resampling with NEON, exact: it multiplies 32 bits by 32, so weights stay as
 * they are, and sums wrap modulo 2^32 as in plain C.
 *
 * Horizontal: a table look-up makes the 32-bit places [r g b 0] of a pixel, so
 * a register is an output; four of them are packed and turned into planes.
 */
#include "base/compiler.h"
#include "decode/kernels/resample.h"

#include <arm_neon.h>
#include <string.h>

#define GROUP   4  /* outputs that are packed together */
#define COLUMNS 16 /* of a vertical pass */
#define HALF    (1 << (FDL_WEIGHT_BITS - 1))

/* Four sums, clipped to 16 bits: the next step clips to bytes. */
FDL_INLINE int16x4_t clipped(int32x4_t sum)
{
    return vqmovn_s32(vshrq_n_s32(sum, FDL_WEIGHT_BITS));
}

FDL_INLINE uint8x8_t to_bytes(int32x4_t low, int32x4_t high)
{
    return vqmovun_s16(vcombine_s16(clipped(low), clipped(high)));
}

/* ---- Horizontal --------------------------------------------------------- */

/* Places of the four pixels of a load; 255 gives 0. */
#define Z 255
static const uint8_t places[4][16] FDL_ALIGNED(16) = {
    {0, Z, Z, Z, 1, Z, Z, Z, 2, Z, Z, Z, Z, Z, Z, Z},
    {3, Z, Z, Z, 4, Z, Z, Z, 5, Z, Z, Z, Z, Z, Z, Z},
    {6, Z, Z, Z, 7, Z, Z, Z, 8, Z, Z, Z, Z, Z, Z, Z},
    {9, Z, Z, Z, 10, Z, Z, Z, 11, Z, Z, Z, Z, Z, Z, Z},
};
#undef Z

FDL_INLINE int32x4_t pixel(uint8x16_t four, size_t k)
{
    return vreinterpretq_s32_u8(vqtbl1q_u8(four, vld1q_u8(places[k])));
}

static const int32_t *weights_of(const struct fdl_axis *axis, int32_t i)
{
    return axis->weight + (size_t)i * (size_t)axis->stride;
}

/* [r g b 0], not yet clipped. Weights are 0 behind the last tap, and rows
 * readable. */
FDL_INLINE int32x4_t output_of_3(const struct fdl_axis *axis, int32_t i,
                                 const uint8_t *row)
{
    const int32_t *w = weights_of(axis, i);
    const uint8_t *from = row + (size_t)axis->start[i] * 3;
    int32x4_t sum = vdupq_n_s32(HALF);
    for (int32_t t = 0; t < axis->length[i]; t += 4, from += 12) {
        uint8x16_t four = vld1q_u8(from);
        int32x4_t weight = vld1q_s32(w + t);
        sum = vmlaq_laneq_s32(sum, pixel(four, 0), weight, 0);
        sum = vmlaq_laneq_s32(sum, pixel(four, 1), weight, 1);
        sum = vmlaq_laneq_s32(sum, pixel(four, 2), weight, 2);
        sum = vmlaq_laneq_s32(sum, pixel(four, 3), weight, 3);
    }
    return sum;
}

static void horizontal_3(const struct fdl_axis *axis, const uint8_t *row,
                         uint8_t *planes, size_t plane)
{
    static const uint8_t turn[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                     2, 6, 10, 14, 3, 7, 11, 15};
    int32_t i = 0, count = axis->key.count;
    for (; i + GROUP <= count; i += GROUP) {
        uint8x8_t low =
            to_bytes(output_of_3(axis, i, row), output_of_3(axis, i + 1, row));
        uint8x8_t high = to_bytes(output_of_3(axis, i + 2, row),
                                  output_of_3(axis, i + 3, row));
        uint8x16_t bytes = vqtbl1q_u8(vcombine_u8(low, high), vld1q_u8(turn));
        uint8_t four[16];
        vst1q_u8(four, bytes);
        for (size_t c = 0; c < 3; c++)
            memcpy(planes + c * plane + (size_t)i, four + 4 * c, GROUP);
    }
    for (; i < count; i++) {
        int32x4_t sum = output_of_3(axis, i, row);
        uint8_t one[8];
        vst1_u8(one, to_bytes(sum, sum));
        for (size_t c = 0; c < 3; c++)
            planes[c * plane + (size_t)i] = one[c];
    }
}

static void horizontal_1(const struct fdl_axis *axis, const uint8_t *row,
                         uint8_t *to)
{
    for (int32_t i = 0; i < axis->key.count; i++) {
        const int32_t *w = weights_of(axis, i);
        const uint8_t *from = row + axis->start[i];
        int32x4_t sums = vdupq_n_s32(0);
        for (int32_t t = 0; t < axis->length[i]; t += 4) {
            uint32_t four;
            memcpy(&four, from + t, sizeof(four));
            uint16x8_t wide = vmovl_u8(vcreate_u8(four));
            int32x4_t x = vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(wide)));
            sums = vmlaq_s32(sums, x, vld1q_s32(w + t));
        }
        int32x4_t sum =
            vaddq_s32(vdupq_n_s32(vaddvq_s32(sums)), vdupq_n_s32(HALF));
        to[i] = vget_lane_u8(to_bytes(sum, sum), 0);
    }
}

static void horizontal(const struct fdl_axis *axis, const uint8_t *row,
                       int32_t channels, uint8_t *planes, size_t plane)
{
    if (channels == 3)
        horizontal_3(axis, row, planes, plane);
    else
        horizontal_1(axis, row, planes);
}

/* ---- Vertical ----------------------------------------------------------- */

FDL_INLINE int32x4_t words(uint16x4_t x)
{
    return vreinterpretq_s32_u32(vmovl_u16(x));
}

static void vertical(const struct fdl_axis *axis, int32_t i,
                     const uint8_t *const *rows, uint8_t *out, size_t n)
{
    const int32_t *w = weights_of(axis, i);
    int32_t length = axis->length[i];
    for (size_t x = 0; x < n; x += COLUMNS) {
        int32x4_t a = vdupq_n_s32(HALF), b = a, c = a, d = a;
        for (int32_t t = 0; t < length; t++) {
            uint8x16_t bytes = vld1q_u8(rows[t] + x);
            uint16x8_t low = vmovl_u8(vget_low_u8(bytes));
            uint16x8_t high = vmovl_u8(vget_high_u8(bytes));
            a = vmlaq_n_s32(a, words(vget_low_u16(low)), w[t]);
            b = vmlaq_n_s32(b, words(vget_high_u16(low)), w[t]);
            c = vmlaq_n_s32(c, words(vget_low_u16(high)), w[t]);
            d = vmlaq_n_s32(d, words(vget_high_u16(high)), w[t]);
        }
        vst1q_u8(out + x, vcombine_u8(to_bytes(a, b), to_bytes(c, d)));
    }
}

const struct fdl_resample_kernels fdl_resample_neon = {
    .horizontal = horizontal,
    .vertical = vertical,
};
