/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transforms of jpeg_transform.c with NEON, where a register holds a row of
 * one block: so the two of a pair go one after the other. What wraps around or
 * saturates there does so here, and so the bits are the same also for files
 * that overflow, for which libjpeg-turbo's own NEON code has others.
 *
 * Shifts are by registers: the compiler has to know the number otherwise, and
 * without optimization it does not.
 */
#include "base/compiler.h"
#include "decode/formats/jpeg_factors.h"
#include "decode/formats/jpeg_transform.h"

#include <arm_neon.h>
#include <stdbool.h>
#include <string.h>

#define LEFT_TO_RIGHT 8  /* from a block's row to the other block's */
#define ROW           16 /* of both */

/* ---- Sums --------------------------------------------------------------- */

/* Sums have 32 bits for each 16 of the input: half a row. */
enum half { LOW, HIGH };

FDL_INLINE int16x4_t part(int16x8_t x, enum half half)
{
    return half == LOW ? vget_low_s16(x) : vget_high_s16(x);
}

/* x * a + y * b; a sum wraps around. */
FDL_INLINE int32x4_t products(int16x4_t x, int16x4_t y, int a, int b)
{
    return vmlal_n_s16(vmull_n_s16(x, (int16_t)a), y, (int16_t)b);
}

FDL_INLINE int32x4_t shifted_right(int32x4_t x, int shift)
{
    return vshlq_s32(x, vdupq_n_s32(-shift));
}

/* Half of what `shift` drops. */
FDL_INLINE int32x4_t rounded(int32x4_t x, int shift)
{
    return vaddq_s32(x, vdupq_n_s32(1 << (shift - 1)));
}

FDL_INLINE int32x4_t scaled(int16x4_t x, int bits)
{
    return vshlq_s32(vmovl_s16(x), vdupq_n_s32(bits));
}

FDL_INLINE void butterfly(int32x4_t *out, int i, int32x4_t even, int32x4_t odd,
                          int shift)
{
    out[i] = shifted_right(vaddq_s32(even, odd), shift);
    out[7 - i] = shifted_right(vsubq_s32(even, odd), shift);
}

FDL_INLINE int16x8_t saturated(int32x4_t low, int32x4_t high)
{
    return vcombine_s16(vqmovn_s32(low), vqmovn_s32(high));
}

/* ---- Blocks of 8 x 8 ---------------------------------------------------- */

FDL_INLINE void half_pass(const int16x8_t *v, int32x4_t *out, int shift,
                          enum half h)
{
    int16x4_t v1 = part(v[1], h), v3 = part(v[3], h);
    int16x4_t v5 = part(v[5], h), v7 = part(v[7], h);
    int16x4_t p = vadd_s16(v7, v3), q = vadd_s16(v5, v1);
    int32x4_t z3 = products(p, q, F_1_175 - F_1_961, F_1_175);
    int32x4_t z4 = products(p, q, F_1_175, F_1_175 - F_0_390);
    int32x4_t odd3 =
        vaddq_s32(products(v7, v1, F_0_298 - F_0_899, -F_0_899), z3);
    int32x4_t odd0 =
        vaddq_s32(products(v7, v1, -F_0_899, F_1_501 - F_0_899), z4);
    int32x4_t odd2 =
        vaddq_s32(products(v5, v3, F_2_053 - F_2_562, -F_2_562), z4);
    int32x4_t odd1 =
        vaddq_s32(products(v5, v3, -F_2_562, F_3_072 - F_2_562), z3);

    int16x4_t v0 = part(v[0], h), v4 = part(v[4], h);
    int16x4_t v2 = part(v[2], h), v6 = part(v[6], h);
    int32x4_t t3 = products(v2, v6, F_0_541 + F_0_765, F_0_541);
    int32x4_t t0 = rounded(scaled(vadd_s16(v0, v4), CONST_BITS), shift);
    butterfly(out, 0, vaddq_s32(t0, t3), odd0, shift);
    butterfly(out, 3, vsubq_s32(t0, t3), odd3, shift);
    int32x4_t t2 = products(v2, v6, F_0_541, F_0_541 - F_1_847);
    int32x4_t t1 = rounded(scaled(vsub_s16(v0, v4), CONST_BITS), shift);
    butterfly(out, 1, vaddq_s32(t1, t2), odd1, shift);
    butterfly(out, 2, vsubq_s32(t1, t2), odd2, shift);
}

/* half_pass where v[4] to v[7] are zero. */
FDL_INLINE void half_corner_pass(const int16x8_t *v, int32x4_t *out, int shift,
                                 enum half h)
{
    const int one = 1 << CONST_BITS, c2 = F_0_541 + F_0_765, c6 = F_0_541;
    const int z4 = F_1_175 - F_0_390, z3 = F_1_175 - F_1_961;
    int16x4_t v0 = part(v[0], h), v1 = part(v[1], h);
    int16x4_t v2 = part(v[2], h), v3 = part(v[3], h);
    butterfly(out, 0, rounded(products(v0, v2, one, c2), shift),
              products(v1, v3, F_1_501 - F_0_899 + z4, F_1_175), shift);
    butterfly(out, 1, rounded(products(v0, v2, one, c6), shift),
              products(v1, v3, F_1_175, F_3_072 - F_2_562 + z3), shift);
    butterfly(out, 2, rounded(products(v0, v2, one, -c6), shift),
              products(v1, v3, z4, F_1_175 - F_2_562), shift);
    butterfly(out, 3, rounded(products(v0, v2, one, -c2), shift),
              products(v1, v3, F_1_175 - F_0_899, z3), shift);
}

FDL_INLINE void pass(int16x8_t *v, int shift)
{
    int32x4_t low[8], high[8];
    half_pass(v, low, shift, LOW);
    half_pass(v, high, shift, HIGH);
    for (int i = 0; i < 8; i++)
        v[i] = saturated(low[i], high[i]);
}

/* Without `all`, only of the first four columns; the rest is a copy. */
FDL_INLINE void corner_pass(int16x8_t *v, int shift, bool all)
{
    int32x4_t low[8], high[8];
    half_corner_pass(v, low, shift, LOW);
    if (all)
        half_corner_pass(v, high, shift, HIGH);
    for (int i = 0; i < 8; i++)
        v[i] = saturated(low[i], all ? high[i] : low[i]);
}

#define AS_32(x) vreinterpretq_s32_s16(x)
#define AS_64(x) vreinterpretq_s64_s32(x)

FDL_INLINE void transpose(int16x8_t *v)
{
    int32x4_t a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[2 * i] = AS_32(vzip1q_s16(v[2 * i], v[2 * i + 1]));
        a[2 * i + 1] = AS_32(vzip2q_s16(v[2 * i], v[2 * i + 1]));
    }
    for (int i = 0; i < 8; i += 4) {
        for (int k = 0; k < 2; k++) {
            b[i + 2 * k] = vzip1q_s32(a[i + k], a[i + 2 + k]);
            b[i + 2 * k + 1] = vzip2q_s32(a[i + k], a[i + 2 + k]);
        }
    }
    for (int i = 0; i < 4; i++) {
        v[2 * i] =
            vreinterpretq_s16_s64(vzip1q_s64(AS_64(b[i]), AS_64(b[i + 4])));
        v[2 * i + 1] =
            vreinterpretq_s16_s64(vzip2q_s64(AS_64(b[i]), AS_64(b[i + 4])));
    }
}

/* Columns to rows of bytes. */
FDL_INLINE void store_columns(const int16x8_t *v, uint8_t zero, uint8_t *to,
                              size_t stride)
{
    uint8x16_t a[4];
    uint16x8_t b[4];
    uint32x4_t half[2][2];
    for (int i = 0; i < 4; i++) {
        int8x16_t x = vcombine_s8(vqmovn_s16(v[i]), vqmovn_s16(v[i + 4]));
        a[i] = vaddq_u8(vreinterpretq_u8_s8(x), vdupq_n_u8(zero));
    }
    for (int i = 0; i < 2; i++) {
        b[2 * i] = vreinterpretq_u16_u8(vzip1q_u8(a[2 * i], a[2 * i + 1]));
        b[2 * i + 1] = vreinterpretq_u16_u8(vzip2q_u8(a[2 * i], a[2 * i + 1]));
    }
    for (int i = 0; i < 2; i++) {
        half[i][0] = vreinterpretq_u32_u16(vzip1q_u16(b[i], b[i + 2]));
        half[i][1] = vreinterpretq_u32_u16(vzip2q_u16(b[i], b[i + 2]));
    }
    for (int i = 0; i < 2; i++) {
        uint8x16_t low =
            vreinterpretq_u8_u32(vzip1q_u32(half[0][i], half[1][i]));
        uint8x16_t high =
            vreinterpretq_u8_u32(vzip2q_u32(half[0][i], half[1][i]));
        uint8_t *row = to + (size_t)(4 * i) * stride;
        vst1_u8(row, vget_low_u8(low));
        vst1_u8(row + stride, vget_high_u8(low));
        vst1_u8(row + 2 * stride, vget_low_u8(high));
        vst1_u8(row + 3 * stride, vget_high_u8(high));
    }
}

FDL_INLINE int16x8_t row_of(const int16_t *coefficients, const uint16_t *quant,
                            int i)
{
    int16x8_t q = vreinterpretq_s16_u16(vld1q_u16(quant + (size_t)i * 8));
    return vmulq_s16(vld1q_s16(coefficients + (size_t)i * ROW), q);
}

FDL_INLINE void load_rows(int16x8_t *v, int16_t *coefficients,
                          const uint16_t *quant, int rows)
{
    for (int i = 0; i < rows; i++) {
        v[i] = row_of(coefficients, quant, i);
        vst1q_s16(coefficients + (size_t)i * ROW, vdupq_n_s16(0));
    }
}

/* See jpeg_transform.c, also for what is flat. */
FDL_INLINE bool is_large(const int16_t *coefficients, const uint16_t *quant)
{
    int16x8_t row = row_of(coefficients, quant, 0);
    int16x8_t up = vshlq_n_s16(row, PASS1_BITS);
    uint16x8_t same = vceqq_s16(vshrq_n_s16(up, PASS1_BITS), row);
    return vminvq_u16(same) == 0;
}

static bool is_flat(const int16_t *coefficients, bool row4)
{
    int16x8_t any = vdupq_n_s16(0);
    for (int i = 1; i < 8; i++)
        if (i != 4 || row4)
            any = vorrq_s16(any, vld1q_s16(coefficients + (size_t)i * ROW));
    return vmaxvq_u16(vreinterpretq_u16_s16(any)) == 0;
}

static void first_pass_of_large(int16x8_t *v, int16_t *coefficients,
                                const uint16_t *quant)
{
    bool flat = is_flat(coefficients, true);
    load_rows(v, coefficients, quant, 8);
    int16x8_t row0 = vshlq_n_s16(v[0], PASS1_BITS);
    if (!flat)
        pass(v, CONST_BITS - PASS1_BITS);
    for (int i = 0; i < 8 && flat; i++)
        v[i] = row0;
}

/* The sample that a block has where there is but its first coefficient, which
 * becomes zero with those beside it. */
static uint8_t flat_of(int16_t *coefficients, uint16_t quant, uint8_t zero)
{
    uint32_t product = (uint32_t)coefficients[0] * quant;
    int32_t x = (int16_t)(uint16_t)(product << PASS1_BITS);
    x = (x + (1 << (PASS1_BITS + 2))) >> (PASS1_BITS + 3);
    vst1q_s16(coefficients, vdupq_n_s16(0));
    return (uint8_t)(FDL_MIN(FDL_MAX(x, -128), 127) + zero);
}

FDL_INLINE void block(int16_t *coefficients, const uint16_t *quant, bool corner,
                      uint8_t zero, uint8_t *to, size_t stride)
{
    const int first = CONST_BITS - PASS1_BITS;
    const int second = CONST_BITS + PASS1_BITS + 3;
    int16x8_t v[8];
    if (FDL_UNLIKELY(is_large(coefficients, quant))) {
        first_pass_of_large(v, coefficients, quant);
        transpose(v);
        pass(v, second);
    } else if (corner) {
        load_rows(v, coefficients, quant, 4);
        for (int i = 4; i < 8; i++)
            v[i] = vdupq_n_s16(0);
        corner_pass(v, first, false);
        transpose(v);
        corner_pass(v, second, true);
    } else {
        load_rows(v, coefficients, quant, 8);
        pass(v, first);
        transpose(v);
        pass(v, second);
    }
    store_columns(v, zero, to, stride);
}

static void pair(int16_t *coefficients, const uint16_t *quant, unsigned last,
                 uint8_t zero, uint8_t *to, size_t stride)
{
    for (size_t k = 0; k < 2; k++) {
        int16_t *from = coefficients + k * LEFT_TO_RIGHT;
        if (last == 0) {
            uint8x8_t row = vdup_n_u8(flat_of(from, quant[0], zero));
            for (size_t i = 0; i < 8; i++)
                vst1_u8(to + i * stride + 8 * k, row);
        } else if (last <= CORNER_LAST) {
            block(from, quant, true, zero, to + 8 * k, stride);
        } else {
            block(from, quant, false, zero, to + 8 * k, stride);
        }
    }
}

/* ---- Smaller blocks ----------------------------------------------------- */

/* Four of a half, by their numbers: v[4] counts for nothing. */
FDL_INLINE void four_of(const int16x4_t v[8], int shift, int32x4_t out[4])
{
    int32x4_t t = rounded(scaled(v[0], CONST_BITS + 1), shift);
    int32x4_t even = products(v[2], v[6], F_1_847, -F_0_765);
    int32x4_t outer = vaddq_s32(products(v[1], v[3], F_2_562, F_0_899),
                                products(v[5], v[7], -F_0_601, -F_0_509));
    int32x4_t inner = vaddq_s32(products(v[1], v[3], F_1_061, -F_2_172),
                                products(v[5], v[7], F_1_451, -F_0_211));
    int32x4_t sum = vaddq_s32(t, even), rest = vsubq_s32(t, even);
    out[0] = shifted_right(vaddq_s32(sum, outer), shift);
    out[1] = shifted_right(vaddq_s32(rest, inner), shift);
    out[2] = shifted_right(vsubq_s32(rest, inner), shift);
    out[3] = shifted_right(vsubq_s32(sum, outer), shift);
}

FDL_INLINE void first_four(const int16x8_t v[8], int16x8_t rows[4])
{
    const int shift = CONST_BITS - PASS1_BITS + 1;
    int32x4_t low[4], high[4];
    int16x4_t part_of[2][8];
    for (int i = 0; i < 8; i++) {
        part_of[0][i] = vget_low_s16(v[i]);
        part_of[1][i] = vget_high_s16(v[i]);
    }
    four_of(part_of[0], shift, low);
    four_of(part_of[1], shift, high);
    for (int i = 0; i < 4; i++)
        rows[i] = saturated(low[i], high[i]);
}

static void block_of_4(int16_t *coefficients, const uint16_t *quant,
                       uint8_t zero, uint8_t *to, size_t stride)
{
    static const uint8_t turn[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                     2, 6, 10, 14, 3, 7, 11, 15};
    int16x8_t v[8], rows[8];
    int16x4_t columns[8];
    int32x4_t out[4];
    bool flat = FDL_UNLIKELY(is_large(coefficients, quant)) &&
                is_flat(coefficients, false);
    load_rows(v, coefficients, quant, 8);
    first_four(v, rows);
    for (int i = 0; i < 4 && flat; i++)
        rows[i] = vshlq_n_s16(v[0], PASS1_BITS);
    for (int i = 4; i < 8; i++)
        rows[i] = vdupq_n_s16(0);
    transpose(rows);
    for (int i = 0; i < 8; i++)
        columns[i] = vget_low_s16(rows[i]);
    four_of(columns, CONST_BITS + PASS1_BITS + 3 + 1, out);
    int8x16_t bytes = vcombine_s8(vqmovn_s16(saturated(out[0], out[1])),
                                  vqmovn_s16(saturated(out[2], out[3])));
    uint8_t all[16];
    vst1q_u8(all,
             vaddq_u8(vqtbl1q_u8(vreinterpretq_u8_s8(bytes), vld1q_u8(turn)),
                      vdupq_n_u8(zero)));
    for (size_t i = 0; i < 4; i++)
        memcpy(to + i * stride, all + 4 * i, 4);
}

static void pair_of_4(int16_t *coefficients, const uint16_t *quant,
                      unsigned last, uint8_t zero, uint8_t *to, size_t stride)
{
    for (size_t k = 0; k < 2; k++) {
        int16_t *from = coefficients + k * LEFT_TO_RIGHT;
        if (last > 0) {
            block_of_4(from, quant, zero, to + 4 * k, stride);
            continue;
        }
        uint8_t sample = flat_of(from, quant[0], zero);
        for (size_t i = 0; i < 4; i++)
            memset(to + i * stride + 4 * k, sample, 4);
    }
}

/* t + odd and t - odd of eight columns. */
FDL_INLINE void first_two(const int16x8_t v[8], int32x4_t sum[2],
                          int32x4_t rest[2])
{
    const int shift = CONST_BITS - PASS1_BITS + 2;
    for (int h = LOW; h <= HIGH; h++) {
        enum half half = h ? HIGH : LOW;
        int32x4_t t = rounded(scaled(part(v[0], half), CONST_BITS + 2), shift);
        int32x4_t odd = vaddq_s32(
            products(part(v[1], half), part(v[3], half), F_3_624, -F_1_272),
            products(part(v[5], half), part(v[7], half), F_0_850, -F_0_720));
        sum[h] = shifted_right(vaddq_s32(t, odd), shift);
        rest[h] = shifted_right(vsubq_s32(t, odd), shift);
    }
}

/* A row's two samples from its eight columns. */
FDL_INLINE void second_two(const int32x4_t row[2], uint8_t zero, uint8_t *to)
{
    static const int16_t odd_columns[8] = {0, F_3_624, 0, -F_1_272,
                                           0, F_0_850, 0, -F_0_720};
    const int shift = CONST_BITS + PASS1_BITS + 3 + 2;
    int16x8_t x = saturated(row[0], row[1]), f = vld1q_s16(odd_columns);
    int32x4_t all = vmull_s16(vget_low_s16(x), vget_low_s16(f));
    all = vmlal_s16(all, vget_high_s16(x), vget_high_s16(f));
    uint32_t odd = (uint32_t)vaddvq_s32(all);
    uint32_t t = (uint32_t)vgetq_lane_s32(row[0], 0) << (CONST_BITS + 2);
    t += 1U << (shift - 1);
    for (int i = 0; i < 2; i++) {
        int32_t value = (int32_t)(i ? t - odd : t + odd) >> shift;
        to[i] = (uint8_t)(FDL_MIN(FDL_MAX(value, -128), 127) + zero);
    }
}

static void pair_of_2(int16_t *coefficients, const uint16_t *quant,
                      unsigned last, uint8_t zero, uint8_t *to, size_t stride)
{
    (void)last;
    for (size_t k = 0; k < 2; k++) {
        int16x8_t v[8];
        int32x4_t sum[2], rest[2];
        load_rows(v, coefficients + k * LEFT_TO_RIGHT, quant, 8);
        first_two(v, sum, rest);
        second_two(sum, zero, to + 2 * k);
        second_two(rest, zero, to + stride + 2 * k);
    }
}

/* ---- Upsampling and colour ---------------------------------------------- */

FDL_INLINE int16x8_t words_of(const int8_t *x)
{
    return vmovl_s8(vld1_s8(x));
}

FDL_INLINE int16x8_t times_3(int16x8_t x)
{
    return vaddq_s16(vaddq_s16(x, x), x);
}

/* Each sample becomes two: three quarters of it, and one of the sample to its
 * left, or to its right. */
FDL_INLINE void double_columns(int16x8_t left, int16x8_t x, int16x8_t right,
                               int round_left, int round_right, int shift,
                               int8_t *to)
{
    int16x8_t most = times_3(x), by = vdupq_n_s16((int16_t)-shift);
    left = vaddq_s16(left, vdupq_n_s16((int16_t)round_left));
    right = vaddq_s16(right, vdupq_n_s16((int16_t)round_right));
    left = vshlq_s16(vaddq_s16(most, left), by);
    right = vshlq_s16(vaddq_s16(most, right), by);
    vst2_s8(to, ((int8x8x2_t){{vmovn_s16(left), vmovn_s16(right)}}));
}

static void upsample_h2v1(const int8_t *near, const int8_t *far, int below,
                          size_t n, int8_t *to)
{
    (void)far;
    (void)below;
    for (size_t i = 0; i < n; i += 8)
        double_columns(words_of(near + i - 1), words_of(near + i),
                       words_of(near + i + 1), 1, 2, 2, to + 2 * i);
}

FDL_INLINE int16x8_t between(const int8_t *near, const int8_t *far)
{
    return vaddq_s16(times_3(words_of(near)), words_of(far));
}

static void upsample_h2v2(const int8_t *near, const int8_t *far, int below,
                          size_t n, int8_t *to)
{
    (void)below;
    for (size_t i = 0; i < n; i += 8)
        double_columns(between(near + i - 1, far + i - 1),
                       between(near + i, far + i),
                       between(near + i + 1, far + i + 1), 8, 7, 4, to + 2 * i);
}

static void upsample_h1v2(const int8_t *near, const int8_t *far, int below,
                          size_t n, int8_t *to)
{
    const int16x8_t round = vdupq_n_s16(below ? 2 : 1);
    for (size_t i = 0; i < n; i += 8) {
        int16x8_t x = vaddq_s16(between(near + i, far + i), round);
        vst1_s8(to + i, vqmovn_s16(vshrq_n_s16(x, 2)));
    }
}

FDL_INLINE int16x4_t green_of(int16x8_t cb, int16x8_t cr, enum half half)
{
    int32x4_t x = products(part(cb, half), part(cr, half), -11277, -23401);
    return vqmovn_s32(shifted_right(rounded(x, 15), 15));
}

/* See jpeg_transform.c. */
FDL_INLINE void rgb_8(const uint8_t *y_from, const int8_t *cb_from,
                      const int8_t *cr_from, uint8_t *to)
{
    int16x8_t y = vreinterpretq_s16_u16(vmovl_u8(vld1_u8(y_from)));
    int16x8_t cb = words_of(cb_from), cr = words_of(cr_from);
    int16x8_t red = vaddq_s16(vaddq_s16(y, cr), vqrdmulhq_n_s16(cr, 13173));
    int16x8_t blue =
        vaddq_s16(vaddq_s16(y, vaddq_s16(cb, cb)), vqrdmulhq_n_s16(cb, -7471));
    int16x8_t green =
        vcombine_s16(green_of(cb, cr, LOW), green_of(cb, cr, HIGH));
    green = vaddq_s16(y, green);
    vst3_u8(to, ((uint8x8x3_t){{vqmovun_s16(red), vqmovun_s16(green),
                                vqmovun_s16(blue)}}));
}

static void rgb(const uint8_t *y, const int8_t *cb, const int8_t *cr, size_t n,
                uint8_t *to)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        rgb_8(y + i, cb + i, cr + i, to + 3 * i);
    if (i < n) {
        uint8_t rest[24];
        rgb_8(y + i, cb + i, cr + i, rest);
        memcpy(to + 3 * i, rest, 3 * (n - i));
    }
}

const struct fdl_jpeg_transform fdl_jpeg_transform_neon = {
    .pair = {fdl_jpeg_pair_of_1, pair_of_2, pair_of_4, pair},
    .upsample = {{NULL, upsample_h1v2}, {upsample_h2v1, upsample_h2v2}},
    .rgb = rgb,
};
