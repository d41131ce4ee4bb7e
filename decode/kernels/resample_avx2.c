/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resampling with AVX2, exact. A weight of 22 bits does not fit the 16-bit
 * multiplier, so it is split, w = high * 2^11 + low, and both parts go through
 * pmaddwd, two taps at a time; sums wrap modulo 2^32 and come out right, since
 * the true sum fits. The high part of a negative weight is negative, the low
 * part never is. Sums are clipped to bytes by the saturation of the packs.
 *
 * Horizontal: one 16-byte load covers four interleaved pixels. A shuffle makes
 * 16-bit pairs of them, [r0 r1 g0 g1 b0 b1 . .], another the same of pixels 2
 * and 3, so a 128-bit lane works on one output pixel, a 256-bit register on
 * two, and eight outputs are packed and transposed into planes together. Lane 0
 * holds outputs 0 to 3 of the eight, lane 1 outputs 4 to 7: so the packed bytes
 * come out in order.
 *
 * Vertical: the bytes of two rows are interleaved and widened, 32 columns at a
 * time.
 */
#include "base/compiler.h"
#include "decode/kernels/resample.h"

#include <immintrin.h>

#define AVX2    FDL_TARGET("avx2,fma")
#define GROUP   8  /* outputs that are packed together */
#define SPLIT   11 /* bits of the low part of a weight */
#define HALF    (1 << (FDL_WEIGHT_BITS - 1))
#define COLUMNS 32

/* ---- Packed weights ----------------------------------------------------- */

/* Pairs of taps per output. Four taps come from one load: beyond two pairs
 * they are whole loads. */
static int32_t pair_count(const struct fdl_axis *axis)
{
    int32_t pairs = (axis->taps + 1) / 2;
    return pairs <= 2 ? pairs : (pairs + 1) & ~1;
}

static size_t group_count(const struct fdl_axis *axis)
{
    return ((size_t)axis->key.count + GROUP - 1) / GROUP;
}

/* [group][GROUP] first taps, then [group][GROUP / 2][pair][high, low] vectors
 * of a weight pair for the lower and one for the upper output. */
static size_t horizontal_bytes(const struct fdl_axis *axis, int32_t channels)
{
    (void)channels;
    size_t outputs = group_count(axis) * GROUP;
    return outputs * sizeof(int32_t) +
           outputs / 2 * (size_t)pair_count(axis) * 2 * sizeof(__m256i);
}

/* Two 16-bit numbers as one of 32. */
static int32_t join(int32_t a, int32_t b)
{
    return (int32_t)(((uint32_t)a & 0xffff) | (uint32_t)b << 16);
}

static void split_pair(int32_t a, int32_t b, int32_t *high, int32_t *low)
{
    const int32_t mask = (1 << SPLIT) - 1;
    *high = join(a >> SPLIT, b >> SPLIT);
    *low = join(a & mask, b & mask);
}

AVX2 static __m256i *pack_pair(__m256i *to, const struct fdl_axis *axis,
                               int32_t lower, int32_t upper, int32_t tap)
{
    int32_t high0, low0, high1, low1;
    split_pair(fdl_axis_weight(axis, lower, tap),
               fdl_axis_weight(axis, lower, tap + 1), &high0, &low0);
    split_pair(fdl_axis_weight(axis, upper, tap),
               fdl_axis_weight(axis, upper, tap + 1), &high1, &low1);
    to[0] = _mm256_set_m128i(_mm_set1_epi32(high1), _mm_set1_epi32(high0));
    to[1] = _mm256_set_m128i(_mm_set1_epi32(low1), _mm_set1_epi32(low0));
    return to + 2;
}

AVX2 static int32_t horizontal_pack(const struct fdl_axis *axis,
                                    int32_t channels, void *packed)
{
    (void)channels;
    int32_t outputs = (int32_t)(group_count(axis) * GROUP);
    int32_t pairs = pair_count(axis);
    int32_t *start = packed;
    __m256i *to = (__m256i *)(start + outputs);
    for (int32_t i = 0; i < outputs; i++)
        start[i] = i < axis->key.count ? axis->start[i] : 0;
    for (int32_t i = 0; i < outputs; i += GROUP) {
        for (int32_t k = i; k < i + GROUP / 2; k++) {
            for (int32_t p = 0; p < pairs; p++)
                to = pack_pair(to, axis, k, k + GROUP / 2, 2 * p);
        }
    }
    return 0;
}

/* ---- Horizontal --------------------------------------------------------- */

/* Shuffles of four interleaved pixels; -1 gives 0. */
#define Z -1
static const int8_t pairs_of_3[2][16] FDL_ALIGNED(16) = {
    {0, Z, 3, Z, 1, Z, 4, Z, 2, Z, 5, Z, Z, Z, Z, Z},
    {6, Z, 9, Z, 7, Z, 10, Z, 8, Z, 11, Z, Z, Z, Z, Z},
};
static const int8_t pairs_of_1[2][16] FDL_ALIGNED(16) = {
    {0, Z, 1, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},
    {2, Z, 3, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},
};
#undef Z

struct shuffles {
    __m256i first, second;
};

AVX2 FDL_INLINE __m256i load_two(const uint8_t *a, const uint8_t *b)
{
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)a)),
        _mm_loadu_si128((const __m128i *)b), 1);
}

AVX2 FDL_INLINE __m256i add_pair(__m256i sum, __m256i pixels, __m256i weights)
{
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pixels, weights));
}

/* high * 2^11 + low, rounded, in 32-bit places: not yet clipped to bytes. */
AVX2 FDL_INLINE __m256i join_sums(__m256i high, __m256i low)
{
    __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(high, SPLIT), low);
    return _mm256_srai_epi32(sum, FDL_WEIGHT_BITS);
}

/* Two outputs, of which a and b are the first taps. */
AVX2 FDL_INLINE __m256i two_outputs(const uint8_t *a, const uint8_t *b,
                                    const __m256i *w, int32_t pairs,
                                    size_t step, const struct shuffles *s)
{
    __m256i high = _mm256_setzero_si256();
    __m256i low = _mm256_set1_epi32(HALF);
    for (int32_t p = 0; p < pairs; p += 2, w += 4) {
        size_t at = (size_t)p * 2 * step;
        __m256i pixels = load_two(a + at, b + at);
        __m256i pair = _mm256_shuffle_epi8(pixels, s->first);
        high = add_pair(high, pair, w[0]);
        low = add_pair(low, pair, w[1]);
        if (pairs > 1) {
            pair = _mm256_shuffle_epi8(pixels, s->second);
            high = add_pair(high, pair, w[2]);
            low = add_pair(low, pair, w[3]);
        }
    }
    return join_sums(high, low);
}

/* Eight outputs of rgb. in 32-bit places, as four registers, to planes. */
AVX2 FDL_INLINE void store_group(__m256i q0, __m256i q1, __m256i q2, __m256i q3,
                                 int32_t channels, uint8_t *to, size_t plane)
{
    const __m256i transpose =
        _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,
                         0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i bytes = _mm256_packus_epi16(_mm256_packus_epi32(q0, q1),
                                        _mm256_packus_epi32(q2, q3));
    bytes = _mm256_shuffle_epi8(bytes, transpose);
    bytes = _mm256_permutevar8x32_epi32(bytes, order);
    __m128i two = _mm256_castsi256_si128(bytes);
    _mm_storel_epi64((__m128i *)to, two);
    if (channels == 3) {
        _mm_storeh_pd((double *)(to + plane), _mm_castsi128_pd(two));
        _mm_storel_epi64((__m128i *)(to + 2 * plane),
                         _mm256_extracti128_si256(bytes, 1));
    }
}

AVX2 FDL_INLINE void whole_row(const struct fdl_axis *axis, const uint8_t *row,
                               int32_t pairs, int32_t channels, uint8_t *to,
                               size_t plane)
{
    const int8_t(*table)[16] = channels == 3 ? pairs_of_3 : pairs_of_1;
    struct shuffles s = {
        _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)table[0])),
        _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)table[1])),
    };
    size_t groups = group_count(axis), step = (size_t)channels;
    size_t block = (size_t)pairs * 2; /* vectors for two outputs */
    const int32_t *start = axis->packed;
    const __m256i *w = (const __m256i *)(start + groups * GROUP);
    for (size_t g = 0; g < groups; g++, start += GROUP, to += GROUP) {
        __m256i q[GROUP / 2];
        for (size_t k = 0; k < GROUP / 2; k++, w += block)
            q[k] = two_outputs(row + (size_t)start[k] * step,
                               row + (size_t)start[k + 4] * step, w, pairs,
                               step, &s);
        store_group(q[0], q[1], q[2], q[3], channels, to, plane);
    }
}

AVX2 static void horizontal(const struct fdl_axis *axis, const uint8_t *row,
                            int32_t channels, uint8_t *planes, size_t plane)
{
    int32_t pairs = pair_count(axis);
    if (channels == 1)
        whole_row(axis, row, pairs, 1, planes, plane);
    else if (pairs == 1)
        whole_row(axis, row, 1, 3, planes, plane);
    else if (pairs == 2)
        whole_row(axis, row, 2, 3, planes, plane);
    else
        whole_row(axis, row, pairs, 3, planes, plane);
}

/* ---- Vertical ----------------------------------------------------------- */

/* [output][pair][high, low], pairs of 16 bits. */
static size_t vertical_bytes(const struct fdl_axis *axis, int32_t channels)
{
    (void)channels;
    return (size_t)axis->key.count * (size_t)((axis->taps + 1) / 2) * 2 *
           sizeof(int32_t);
}

static int32_t vertical_pack(const struct fdl_axis *axis, int32_t channels,
                             void *packed)
{
    (void)channels;
    int32_t *to = packed;
    for (int32_t i = 0; i < axis->key.count; i++) {
        for (int32_t t = 0; t < axis->taps; t += 2, to += 2)
            split_pair(fdl_axis_weight(axis, i, t),
                       fdl_axis_weight(axis, i, t + 1), to, to + 1);
    }
    return 0;
}

/* Adds two rows, each times its weight, to 8 columns. */
#define ADD_ROWS(high_sum, low_sum, bytes, half)                               \
  do {                                                                         \
    __m256i pair = _mm256_unpack##half##_epi8(bytes, zero);                    \
    high_sum = add_pair(high_sum, pair, high);                                 \
    low_sum = add_pair(low_sum, pair, low);                                    \
  } while (0)

/* 32 columns. `pairs` is a constant where that pays. */
AVX2 FDL_INLINE void columns(const uint8_t *const *rows, const int32_t *w,
                             int32_t length, int32_t pairs, uint8_t *out,
                             size_t x)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i high0 = zero, high1 = zero, high2 = zero, high3 = zero;
    __m256i low0 = _mm256_set1_epi32(HALF), low1 = low0, low2 = low0;
    __m256i low3 = low0;
    for (int32_t p = 0; p < pairs; p++, w += 2) {
        const uint8_t *a = rows[2 * p];
        const uint8_t *b = rows[FDL_MIN(2 * p + 1, length - 1)];
        __m256i ab = _mm256_loadu_si256((const __m256i *)(a + x));
        __m256i cd = _mm256_loadu_si256((const __m256i *)(b + x));
        __m256i first = _mm256_unpacklo_epi8(ab, cd);
        __m256i second = _mm256_unpackhi_epi8(ab, cd);
        __m256i high = _mm256_set1_epi32(w[0]);
        __m256i low = _mm256_set1_epi32(w[1]);
        ADD_ROWS(high0, low0, first, lo);
        ADD_ROWS(high1, low1, first, hi);
        ADD_ROWS(high2, low2, second, lo);
        ADD_ROWS(high3, low3, second, hi);
    }
    __m256i front =
        _mm256_packus_epi32(join_sums(high0, low0), join_sums(high1, low1));
    __m256i back =
        _mm256_packus_epi32(join_sums(high2, low2), join_sums(high3, low3));
    _mm256_storeu_si256((__m256i *)(out + x), _mm256_packus_epi16(front, back));
}

AVX2 static void vertical(const struct fdl_axis *axis, int32_t i,
                          const uint8_t *const *rows, uint8_t *out, size_t n)
{
    size_t room = (size_t)((axis->taps + 1) / 2) * 2;
    const int32_t *w = (const int32_t *)axis->packed + (size_t)i * room;
    int32_t length = axis->length[i], pairs = (length + 1) / 2;
    if (pairs == 1) {
        for (size_t x = 0; x < n; x += COLUMNS)
            columns(rows, w, length, 1, out, x);
    } else if (pairs == 2) {
        for (size_t x = 0; x < n; x += COLUMNS)
            columns(rows, w, length, 2, out, x);
    } else {
        for (size_t x = 0; x < n; x += COLUMNS)
            columns(rows, w, length, pairs, out, x);
    }
}

const struct fdl_resample_kernels fdl_resample_avx2 = {
    .horizontal_packing = {horizontal_bytes, horizontal_pack},
    .vertical_packing = {vertical_bytes, vertical_pack},
    .horizontal = horizontal,
    .vertical = vertical,
};
