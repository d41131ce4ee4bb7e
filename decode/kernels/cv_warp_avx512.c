/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps without rotation with AVX-512 VBMI: sixteen columns of a line that is
 * not shrunk to less than a quarter come from 64 bytes of it, and vpermb brings
 * each to its place. Other maps are AVX2's: a gather of sixteen takes as long
 * as two of eight.
 */
#include "base/compiler.h"
#include "decode/kernels/cv_warp_job.h"
#include "decode/kernels/cv_warp_straight.h"

#include <immintrin.h>

#define AVX512 FDL_TARGET("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,fma")
#define SPAN   64 /* bytes */

#define BYTES 0x1111111111111111u /* the lowest of each 32 bits */
#define WORDS 0x5555555555555555u

AVX512 FDL_INLINE void store_16(uint8_t *to, __m512i v, int32_t n)
{
    __m128i bytes = _mm512_cvtusepi32_epi8(v);
    if (n < FDL_CV_GROUP)
        _mm_mask_storeu_epi8(to, (__mmask16)((1u << n) - 1), bytes);
    else
        _mm_storeu_si128((__m128i *)(void *)to, bytes);
}

AVX512 FDL_INLINE __m512 floats_at(__m512i places, __m512i line)
{
    return _mm512_cvtepi32_ps(
        _mm512_maskz_permutexvar_epi8(BYTES, places, line));
}

AVX512 static void across_avx512(const struct fdl_cv_columns *x,
                                 const uint8_t *line, union fdl_cv_number *out)
{
    const __m512i one = _mm512_set1_epi32(1);
    if (x->reach > SPAN) {
        fdl_cv_straight_avx2.across(x, line, out);
        return;
    }
    for (int32_t i = 0; i < x->n; i += FDL_CV_GROUP) {
        int32_t base = FDL_MIN(x->at[i], x->at[i + FDL_CV_GROUP - 1]);
        __m512i at = _mm512_loadu_si512(x->at + i);
        __m512i bytes = _mm512_loadu_si512(line + base);
        at = _mm512_sub_epi32(at, _mm512_set1_epi32(base));
        __m512i next = _mm512_add_epi32(at, one);
        if (x->floats) {
            __m512 first = floats_at(at, bytes),
                   second = floats_at(next, bytes);
            __m512 part = _mm512_loadu_ps(&x->part[i].real);
            _mm512_storeu_ps(
                &out[i].real,
                _mm512_fmadd_ps(_mm512_sub_ps(second, first), part, first));
        } else {
            at = _mm512_or_si512(at, _mm512_slli_epi32(next, 16));
            __m512i both = _mm512_maskz_permutexvar_epi8(WORDS, at, bytes);
            _mm512_storeu_si512(
                out + i,
                _mm512_madd_epi16(both, _mm512_loadu_si512(x->part + i)));
        }
    }
}

AVX512 FDL_INLINE __m512i down_fixed(const union fdl_cv_number *above,
                                     const union fdl_cv_number *below,
                                     __m512i pair)
{
    __m512i low = _mm512_slli_epi32(_mm512_loadu_si512(below), 16);
    __m512i both = _mm512_or_si512(_mm512_loadu_si512(above), low);
    __m512i sum = _mm512_madd_epi16(both, pair);
    sum = _mm512_add_epi32(sum,
                           _mm512_set1_epi32(1 << (2 * FDL_CV_PART_BITS - 1)));
    return _mm512_srli_epi32(sum, 2 * FDL_CV_PART_BITS);
}

AVX512 FDL_INLINE __m512i down_floats(const union fdl_cv_number *above,
                                      const union fdl_cv_number *below,
                                      __m512 part)
{
    __m512 high = _mm512_loadu_ps(&above->real);
    __m512 low = _mm512_loadu_ps(&below->real);
    return _mm512_cvtps_epi32(
        _mm512_fmadd_ps(_mm512_sub_ps(low, high), part, high));
}

AVX512 static void down_avx512(const struct fdl_cv_columns *x,
                               const union fdl_cv_number *above,
                               const union fdl_cv_number *below,
                               union fdl_cv_number part, uint8_t *to)
{
    uint32_t second = (uint32_t)part.whole << 16;
    __m512i pair = _mm512_set1_epi32(
        (int32_t)(second | (uint32_t)(FDL_CV_PARTS - part.whole)));
    __m512 real = _mm512_set1_ps(part.real);
    for (int32_t i = 0; i < x->n; i += FDL_CV_GROUP) {
        __m512i v = x->floats ? down_floats(above + i, below + i, real)
                              : down_fixed(above + i, below + i, pair);
        store_16(to + i, v, x->n - i);
    }
}

const struct fdl_cv_straight_kernels fdl_cv_straight_avx512 = {
    .across = across_avx512,
    .down = down_avx512,
};
