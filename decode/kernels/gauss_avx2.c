/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blurring with AVX2. A box's sums are 16-bit lanes beside each other, so one
 * multiplication weighs and adds both; a weight has 24 bits, and goes in two
 * halves of 12. As in blend_avx2.c the target is without FMA on purpose.
 */
#include "base/compiler.h"
#include "decode/kernels/gauss.h"

#include <immintrin.h>
#include <string.h>

#define AVX2  FDL_TARGET("avx2")
#define BLOCK 32 /* pixels of a box pass */
#define TAPS  16 /* of a convolution */
#define HALF  12 /* bits */

/* ---- Boxes -------------------------------------------------------------- */

struct halves {
    __m256i high, low;
};

AVX2 static struct halves split(const struct fdl_box_weights *box)
{
    uint32_t mask = (1U << HALF) - 1;
    uint32_t high = box->part >> HALF << 16 | box->whole >> HALF;
    uint32_t low = (box->part & mask) << 16 | (box->whole & mask);
    return (struct halves){_mm256_set1_epi32((int32_t)high),
                           _mm256_set1_epi32((int32_t)low)};
}

AVX2 FDL_INLINE __m256i load_32(const uint8_t *x)
{
    return _mm256_loadu_si256((const __m256i *)x);
}

/* Eight pixels as int32: pairs of sum and beyond, weighed. */
AVX2 FDL_INLINE __m256i weigh_8(__m256i pairs, const struct halves *w)
{
    __m256i high = _mm256_madd_epi16(pairs, w->high);
    __m256i low = _mm256_madd_epi16(pairs, w->low);
    low = _mm256_add_epi32(low, _mm256_set1_epi32(1 << 23));
    __m256i all = _mm256_add_epi32(_mm256_slli_epi32(high, HALF), low);
    return _mm256_srli_epi32(all, 24);
}

/* 16 pixels as words, in the order in which unpacking left them. */
AVX2 FDL_INLINE __m256i weigh_16(__m256i sum, __m256i beyond,
                                 const struct halves *w)
{
    __m256i a = weigh_8(_mm256_unpacklo_epi16(sum, beyond), w);
    __m256i b = weigh_8(_mm256_unpackhi_epi16(sum, beyond), w);
    return _mm256_packus_epi32(a, b);
}

/* `far`: radius 1. Pairs of bytes are added as they are unpacked. */
AVX2 FDL_INLINE __m256i near_block(const uint8_t *const in[FDL_BOX_LINES],
                                   size_t i, const struct halves *w, int far)
{
    const __m256i one = _mm256_set1_epi8(1), zero = _mm256_setzero_si256();
    __m256i a = load_32(in[1] + i), b = load_32(in[3] + i);
    __m256i middle = load_32(in[2] + i);
    __m256i low = _mm256_unpacklo_epi8(middle, zero);
    __m256i high = _mm256_unpackhi_epi8(middle, zero);
    __m256i low_2 = _mm256_maddubs_epi16(_mm256_unpacklo_epi8(a, b), one);
    __m256i high_2 = _mm256_maddubs_epi16(_mm256_unpackhi_epi8(a, b), one);
    if (far) {
        low = _mm256_add_epi16(low, low_2);
        high = _mm256_add_epi16(high, high_2);
        a = load_32(in[0] + i);
        b = load_32(in[4] + i);
        low_2 = _mm256_maddubs_epi16(_mm256_unpacklo_epi8(a, b), one);
        high_2 = _mm256_maddubs_epi16(_mm256_unpackhi_epi8(a, b), one);
    }
    return _mm256_packus_epi16(weigh_16(low, low_2, w),
                               weigh_16(high, high_2, w));
}

AVX2 FDL_INLINE void near_line(const uint8_t *const in[FDL_BOX_LINES], size_t n,
                               const struct halves *w, int far, uint8_t *out)
{
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        _mm256_storeu_si256((__m256i *)(out + i), near_block(in, i, w, far));
    if (i < n) {
        uint8_t rest[BLOCK];
        _mm256_storeu_si256((__m256i *)rest, near_block(in, i, w, far));
        memcpy(out + i, rest, n - i);
    }
}

AVX2 static void near(const uint8_t *const in[FDL_BOX_LINES], size_t n,
                      const struct fdl_box_weights *box, uint8_t *out)
{
    struct halves w = split(box);
    if (box->radius == 0)
        near_line(in, n, &w, 0, out);
    else
        near_line(in, n, &w, 1, out);
}

/* ---- Taps --------------------------------------------------------------- */

AVX2 FDL_INLINE __m256i words_of(const uint8_t *x)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)x));
}

AVX2 FDL_INLINE __m256 weighed_half(__m128i words, __m256 weight)
{
    return _mm256_mul_ps(weight,
                         _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(words)));
}

AVX2 static void columns(const uint8_t *const *rows, const struct fdl_taps *t,
                         size_t n, float *out)
{
    const uint8_t *const *middle = rows + t->n - 1;
    for (size_t i = 0; i < n; i += TAPS) {
        __m256i words = words_of(middle[0] + i);
        __m256 weight = _mm256_set1_ps(t->weight[0]);
        __m256 low = weighed_half(_mm256_castsi256_si128(words), weight);
        __m256 high = weighed_half(_mm256_extracti128_si256(words, 1), weight);
        for (int32_t d = 1; d < t->n; d++) {
            words = _mm256_add_epi16(words_of(middle[-d] + i),
                                     words_of(middle[d] + i));
            weight = _mm256_set1_ps(t->weight[d]);
            __m128i part = _mm256_castsi256_si128(words);
            low = _mm256_add_ps(low, weighed_half(part, weight));
            part = _mm256_extracti128_si256(words, 1);
            high = _mm256_add_ps(high, weighed_half(part, weight));
        }
        _mm256_storeu_ps(out + i, low);
        _mm256_storeu_ps(out + i + TAPS / 2, high);
    }
}

AVX2 FDL_INLINE __m256 weighed_sides(const float *at, int32_t d, __m256 weight)
{
    __m256 both =
        _mm256_add_ps(_mm256_loadu_ps(at - d), _mm256_loadu_ps(at + d));
    return _mm256_mul_ps(weight, both);
}

AVX2 FDL_INLINE __m128i row_block(const float *at, const struct fdl_taps *t)
{
    const float *next = at + TAPS / 2;
    __m256 weight = _mm256_set1_ps(t->weight[0]);
    __m256 low = _mm256_mul_ps(weight, _mm256_loadu_ps(at));
    __m256 high = _mm256_mul_ps(weight, _mm256_loadu_ps(next));
    for (int32_t d = 1; d < t->n; d++) {
        weight = _mm256_set1_ps(t->weight[d]);
        low = _mm256_add_ps(low, weighed_sides(at, d, weight));
        high = _mm256_add_ps(high, weighed_sides(next, d, weight));
    }
    __m256i words =
        _mm256_packus_epi32(_mm256_cvtps_epi32(low), _mm256_cvtps_epi32(high));
    words = _mm256_permute4x64_epi64(words, 0xd8);
    return _mm_packus_epi16(_mm256_castsi256_si128(words),
                            _mm256_extracti128_si256(words, 1));
}

AVX2 static void row(const float *in, const struct fdl_taps *t, size_t n,
                     uint8_t *out)
{
    size_t i = 0;
    for (; i + TAPS <= n; i += TAPS)
        _mm_storeu_si128((__m128i *)(out + i), row_block(in + i, t));
    if (i < n) {
        uint8_t rest[TAPS];
        _mm_storeu_si128((__m128i *)rest, row_block(in + i, t));
        memcpy(out + i, rest, n - i);
    }
}

const struct fdl_gauss_kernels fdl_gauss_avx2 = {
    .near = near,
    .columns = columns,
    .row = row,
};
