/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenCV's RGB to HSV for AVX-512. Sixths of the circle and what is divided are
 * words; quotients are floats, from a reciprocal that one step of Newton's has
 * made good to 22 bits. That gives the same whole numbers as dividing: one of
 * them is never nearer to a half than 2^-21 of it, as numerators have no factor
 * 2^14.
 */
#ifndef FDL_DECODE_CV_HSV_AVX512_H
#define FDL_DECODE_CV_HSV_AVX512_H

#include "decode/kernels/cv_colour_loops.h"

#include <immintrin.h>

#define WHOLE_BITS (12 << 4) /* rounds to so many behind the point */

/* round(2^12 * by / v) / 2^12 */
TARGET FDL_INLINE __m512 quotient(float by, __m512 v)
{
    __m512 near = _mm512_rcp14_ps(v);
    __m512 off = _mm512_fnmadd_ps(v, near, _mm512_set1_ps(1.0F));
    near = _mm512_fmadd_ps(near, off, near);
    return _mm512_roundscale_ps(_mm512_mul_ps(near, _mm512_set1_ps(by)),
                                WHOLE_BITS | _MM_FROUND_TO_NEAREST_INT);
}

/* 16 bytes, from number `at` of a block. */
TARGET FDL_INLINE __m512 floats_of(const uint8_t *bytes)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(
        _mm_loadu_si128((const __m128i *)(const void *)bytes)));
}

/* The whole number at or below v + 1/2. */
TARGET FDL_INLINE __m512i half_up(__m512 a, __m512 b)
{
    return _mm512_cvt_roundps_epi32(_mm512_fmadd_ps(a, b, _mm512_set1_ps(0.5F)),
                                    _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

TARGET FDL_INLINE __m512i words_at(__m512i bytes, int half)
{
    return _mm512_cvtepu8_epi16(half ? _mm512_extracti64x4_epi64(bytes, 1)
                                     : _mm512_castsi512_si256(bytes));
}

/* What hue_of() is of 64 pixels. */
TARGET FDL_INLINE void sixths(__m512i r, __m512i g, __m512i b, __m512i v,
                              __m512i d, int16_t *out)
{
    __mmask64 red = _mm512_cmpeq_epi8_mask(v, r);
    __mmask64 green = _mm512_cmpeq_epi8_mask(v, g);
    __m512i plus = _mm512_mask_blend_epi8(green, r, b);
    __m512i minus = _mm512_mask_blend_epi8(green, g, r);
    __m512i times =
        _mm512_mask_blend_epi8(green, _mm512_set1_epi8(4), _mm512_set1_epi8(2));
    plus = _mm512_mask_blend_epi8(red, plus, g);
    minus = _mm512_mask_blend_epi8(red, minus, b);
    times = _mm512_maskz_mov_epi8(~red, times);
    for (int half = 0; half < 2; half++) {
        __m512i sum =
            _mm512_mullo_epi16(words_at(times, half), words_at(d, half));
        sum = _mm512_add_epi16(sum, words_at(plus, half));
        sum = _mm512_sub_epi16(sum, words_at(minus, half));
        _mm512_storeu_si512(out + 32 * half, sum);
    }
}

TARGET FDL_INLINE void hsv_pixels(struct block *p, int32_t circle)
{
    int16_t hue[BLOCK];
    uint8_t by_d[BLOCK], by_v[BLOCK];
    __m512i r = _mm512_loadu_si512(p->p[0]), g = _mm512_loadu_si512(p->p[1]);
    __m512i b = _mm512_loadu_si512(p->p[2]), one = _mm512_set1_epi8(1);
    __m512i v = _mm512_max_epu8(_mm512_max_epu8(r, g), b);
    __m512i least = _mm512_min_epu8(_mm512_min_epu8(r, g), b);
    __m512i d = _mm512_sub_epi8(v, least);
    sixths(r, g, b, v, d, hue);
    _mm512_storeu_si512(by_d, _mm512_max_epu8(d, one));
    _mm512_storeu_si512(by_v, _mm512_max_epu8(v, one));
    for (size_t i = 0; i < BLOCK; i += 16) {
        __m512 d_at = floats_of(by_d + i), v_at = floats_of(by_v + i);
        __m512 h_at = _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(
            _mm256_loadu_si256((const __m256i *)(const void *)(hue + i))));
        __m512i h = half_up(h_at, quotient((float)circle / 6, d_at));
        h = _mm512_min_epu32(h, _mm512_add_epi32(h, _mm512_set1_epi32(circle)));
        __m512i s = half_up(d_at, quotient(255, v_at));
        _mm_storeu_si128((__m128i *)(void *)(p->p[0] + i),
                         _mm512_cvtusepi32_epi8(h));
        _mm_storeu_si128((__m128i *)(void *)(p->p[1] + i),
                         _mm512_cvtepi32_epi8(s));
    }
    __m512i s = _mm512_loadu_si512(p->p[1]);
    s = _mm512_maskz_mov_epi8(_mm512_test_epi8_mask(d, d), s);
    _mm512_storeu_si512(p->p[1], s);
    _mm512_storeu_si512(p->p[2], v);
}

#endif
