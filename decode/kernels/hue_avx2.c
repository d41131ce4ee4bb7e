/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hue with AVX2: hue.c, step for step, for eight pixels at a time, every
 * choice a mask. Gray pixels divide 0 by 0, which does no harm: what comes of
 * it is multiplied by a saturation of 0. As in blend_avx2.c the target is
 * without FMA on purpose.
 */
#include "base/compiler.h"
#include "decode/kernels/hue.h"

#include <immintrin.h>
#include <string.h>

#define AVX2  FDL_TARGET("avx2")
#define BLOCK 8

/* Three channels of eight pixels. */
struct pixels {
    __m256i r, g, b;
};

AVX2 FDL_INLINE __m256i ints_of(const uint8_t *x)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)x));
}

AVX2 FDL_INLINE void store_bytes(uint8_t *to, __m256i x)
{
    __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(x),
                                     _mm256_extracti128_si256(x, 1));
    _mm_storel_epi64((__m128i *)to, _mm_packus_epi16(words, words));
}

AVX2 FDL_INLINE __m256 choose(__m256 no, __m256 yes, __m256i mask)
{
    return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(mask));
}

AVX2 FDL_INLINE __m256i choose_ints(__m256i no, __m256i yes, __m256i mask)
{
    return _mm256_blendv_epi8(no, yes, mask);
}

/* The byte of hue, from 0 to 255. */
AVX2 FDL_INLINE __m256i hue_of(const struct pixels *p, __m256i high,
                               __m256i low, __m256 spread)
{
    const __m256 one = _mm256_set1_ps(1.0F);
    const __m256 minus = _mm256_set1_ps(-0.0F);
    __m256i sum = _mm256_add_epi32(_mm256_add_epi32(p->r, p->g), p->b);
    __m256i middle = _mm256_sub_epi32(_mm256_sub_epi32(sum, high), low);
    __m256 part = _mm256_div_ps(
        _mm256_cvtepi32_ps(_mm256_sub_epi32(high, middle)), spread);

    __m256i red = _mm256_cmpeq_epi32(p->r, high);
    __m256i green = _mm256_cmpeq_epi32(p->g, high);
    __m256i next = choose_ints(p->g, p->r, green); /* low of those before */
    next = choose_ints(next, p->b, red);
    __m256 before = _mm256_castsi256_ps(_mm256_cmpeq_epi32(next, low));
    __m256 corner = choose(_mm256_set1_ps(4.0F), _mm256_set1_ps(2.0F), green);
    corner = choose(corner, _mm256_setzero_ps(), red);

    /* corner + 1 - part, or corner - 1 + part */
    __m256 sign = _mm256_and_ps(before, minus);
    __m256 unit = _mm256_xor_ps(_mm256_or_ps(one, minus), sign);
    __m256 h =
        _mm256_add_ps(_mm256_add_ps(corner, unit), _mm256_xor_ps(part, sign));
    h = _mm256_div_ps(h, _mm256_set1_ps(6.0F));
    __m256 below = _mm256_cmp_ps(h, _mm256_setzero_ps(), _CMP_LT_OQ);
    h = _mm256_add_ps(h, _mm256_and_ps(below, one));
    return _mm256_cvttps_epi32(_mm256_mul_ps(h, _mm256_set1_ps(255.0F)));
}

/* value * (1 - share), rounded. */
AVX2 FDL_INLINE __m256i fade(__m256 value, __m256 share)
{
    __m256 whole = _mm256_add_ps(value, _mm256_set1_ps(0.5F));
    return _mm256_cvttps_epi32(
        _mm256_sub_ps(whole, _mm256_mul_ps(value, share)));
}

/* One channel of the result, of which two tables say at which corners it is
 * the highest and the lowest. */
AVX2 FDL_INLINE __m256i turned(__m256i corner, __m256i top, __m256i m,
                               __m256i p, __m256i is_top, __m256i is_low)
{
    __m256i x =
        choose_ints(m, top, _mm256_permutevar8x32_epi32(is_top, corner));
    return choose_ints(x, p, _mm256_permutevar8x32_epi32(is_low, corner));
}

AVX2 FDL_INLINE void shift_block(uint8_t *red, uint8_t *green, uint8_t *blue,
                                 __m256i shift)
{
    const __m256 full = _mm256_set1_ps(255.0F), one = _mm256_set1_ps(1.0F);
    const __m256i byte = _mm256_set1_epi32(255);
    struct pixels px = {ints_of(red), ints_of(green), ints_of(blue)};
    __m256i high = _mm256_max_epi32(px.r, _mm256_max_epi32(px.g, px.b));
    __m256i low = _mm256_min_epi32(px.r, _mm256_min_epi32(px.g, px.b));
    __m256 value = _mm256_cvtepi32_ps(high);
    __m256 spread = _mm256_cvtepi32_ps(_mm256_sub_epi32(high, low));
    __m256i saturation =
        _mm256_cvttps_epi32(_mm256_mul_ps(_mm256_div_ps(spread, value), full));
    __m256 share = _mm256_div_ps(_mm256_cvtepi32_ps(saturation), full);

    __m256i hue = _mm256_add_epi32(hue_of(&px, high, low, spread), shift);
    hue = _mm256_and_si256(hue, byte);
    __m256i turns = _mm256_mullo_epi16(hue, _mm256_set1_epi32(6));

    /* turns / 255, of numbers below 2^16 */
    __m256i corner = _mm256_add_epi32(turns, _mm256_set1_epi32(1));
    corner = _mm256_srli_epi32(
        _mm256_add_epi32(corner, _mm256_slli_epi32(corner, 8)), 16);
    __m256i rest = _mm256_sub_epi32(turns, _mm256_mullo_epi16(corner, byte));
    __m256 fraction = _mm256_div_ps(_mm256_cvtepi32_ps(rest), full);
    __m256i odd = _mm256_slli_epi32(corner, 31);
    fraction = choose(_mm256_sub_ps(one, fraction), fraction, odd);

    __m256i p = fade(value, share);
    __m256i m = fade(value, _mm256_mul_ps(share, fraction));
    const __m256i top_r = _mm256_setr_epi32(-1, 0, 0, 0, 0, -1, -1, 0);
    const __m256i low_r = _mm256_setr_epi32(0, 0, -1, -1, 0, 0, 0, 0);
    const __m256i top_g = _mm256_setr_epi32(0, -1, -1, 0, 0, 0, 0, 0);
    const __m256i low_g = _mm256_setr_epi32(0, 0, 0, 0, -1, -1, 0, 0);
    const __m256i top_b = _mm256_setr_epi32(0, 0, 0, -1, -1, 0, 0, 0);
    const __m256i low_b = _mm256_setr_epi32(-1, -1, 0, 0, 0, 0, -1, 0);
    store_bytes(red, turned(corner, high, m, p, top_r, low_r));
    store_bytes(green, turned(corner, high, m, p, top_g, low_g));
    store_bytes(blue, turned(corner, high, m, p, top_b, low_b));
}

AVX2 void fdl_hue_shift_avx2(uint8_t *red, uint8_t *green, uint8_t *blue,
                             size_t n, uint8_t shift)
{
    __m256i shifts = _mm256_set1_epi32(shift);
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        shift_block(red + i, green + i, blue + i, shifts);
    if (i < n) {
        uint8_t rest[3][BLOCK] = {{0}};
        memcpy(rest[0], red + i, n - i);
        memcpy(rest[1], green + i, n - i);
        memcpy(rest[2], blue + i, n - i);
        shift_block(rest[0], rest[1], rest[2], shifts);
        memcpy(red + i, rest[0], n - i);
        memcpy(green + i, rest[1], n - i);
        memcpy(blue + i, rest[2], n - i);
    }
}
