/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warps with AVX2 and FMA: eight pixels of a row at a time, if none of them
 * needs a border. A gather brings a pixel and its neighbour to the right.
 */
#include "base/compiler.h"

#define TARGET FDL_TARGET("avx2,fma")

#include "decode/kernels/cv_warp_points.h"

#include <immintrin.h>

#define LANES 8

TARGET FDL_INLINE __m256i load(const void *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

TARGET FDL_INLINE __m256i gather(const uint8_t *from, __m256i at)
{
    return _mm256_i32gather_epi32((const int *)(const void *)from, at, 1);
}

/* Eight bytes of as many int32_t. */
TARGET FDL_INLINE void store_8(uint8_t *to, __m256i v)
{
    v = _mm256_packus_epi16(_mm256_packus_epi32(v, v), v);
    v = _mm256_permutevar8x32_epi32(v,
                                    _mm256_setr_epi32(0, 4, 0, 0, 0, 0, 0, 0));
    _mm_storel_epi64((__m128i *)(void *)to, _mm256_castsi256_si128(v));
}

TARGET FDL_INLINE bool all_inside(__m256i at)
{
    return _mm256_movemask_ps(_mm256_castsi256_ps(at)) == 0;
}

TARGET static void pick_avx2(const struct fdl_cv_warp_job *j, int32_t c,
                             uint8_t *to)
{
    const uint8_t *plane = fdl_image_row(j->in, c, 0);
    int32_t i = 0, n = j->w->width;
    while (i < n) {
        if (i + LANES <= n) {
            __m256i at = load(j->p.at + i);
            if (all_inside(at)) {
                store_8(to + i, _mm256_and_si256(gather(plane, at),
                                                 _mm256_set1_epi32(255)));
                i += LANES;
                continue;
            }
        }
        int32_t end = FDL_MIN(i + LANES, n);
        for (; i < end; i++)
            to[i] =
                j->p.at[i] < 0 ? fdl_cv_pick_edge(j, c, i) : plane[j->p.at[i]];
    }
}

/* (32 - part, part) as pairs of words. */
TARGET FDL_INLINE __m256i pair_of(__m256i part)
{
    __m256i rest = _mm256_sub_epi32(_mm256_set1_epi32(FDL_CV_PARTS), part);
    return _mm256_or_si256(rest, _mm256_slli_epi32(part, 16));
}

/* The two low bytes of each as words. */
TARGET FDL_INLINE __m256i words_of(__m256i v)
{
    __m256i first = _mm256_and_si256(v, _mm256_set1_epi32(0xff));
    __m256i second = _mm256_and_si256(v, _mm256_set1_epi32(0xff00));
    return _mm256_or_si256(first, _mm256_slli_epi32(second, 8));
}

TARGET FDL_INLINE __m256i mix_fixed(__m256i above, __m256i below, __m256i x,
                                    __m256i y)
{
    __m256i pair = pair_of(x);
    above = _mm256_madd_epi16(words_of(above), pair);
    below = _mm256_madd_epi16(words_of(below), pair);
    __m256i both = _mm256_or_si256(above, _mm256_slli_epi32(below, 16));
    __m256i sum = _mm256_madd_epi16(both, pair_of(y));
    sum = _mm256_add_epi32(sum,
                           _mm256_set1_epi32(1 << (2 * FDL_CV_PART_BITS - 1)));
    return _mm256_srli_epi32(sum, 2 * FDL_CV_PART_BITS);
}

/* Between the two low bytes of each. */
TARGET FDL_INLINE __m256 between(__m256i v, __m256 x)
{
    __m256i byte = _mm256_set1_epi32(0xff);
    __m256 first = _mm256_cvtepi32_ps(_mm256_and_si256(v, byte));
    __m256 second =
        _mm256_cvtepi32_ps(_mm256_and_si256(_mm256_srli_epi32(v, 8), byte));
    return _mm256_fmadd_ps(_mm256_sub_ps(second, first), x, first);
}

TARGET FDL_INLINE __m256i mix_floats(__m256i above, __m256i below, __m256 x,
                                     __m256 y)
{
    __m256 high = between(above, x), low = between(below, x);
    return _mm256_cvtps_epi32(
        _mm256_fmadd_ps(_mm256_sub_ps(low, high), y, high));
}

TARGET static void mix_avx2(const struct fdl_cv_warp_job *j, int32_t c,
                            uint8_t *to)
{
    const struct fdl_cv_points *p = &j->p;
    const uint8_t *plane = fdl_image_row(j->in, c, 0);
    int32_t n = j->w->width / LANES * LANES;
    for (int32_t i = 0; i < n; i += LANES) {
        __m256i at = load(p->at + i);
        if (!all_inside(at)) {
            for (int32_t k = i; k < i + LANES; k++)
                to[k] = fdl_cv_mix_edge(j, c, k);
            continue;
        }
        __m256i above = gather(plane, at);
        __m256i below = gather(plane + j->in->width, at);
        if (j->w->floats)
            store_8(to + i, mix_floats(above, below,
                                       _mm256_loadu_ps(p->part_x.real + i),
                                       _mm256_loadu_ps(p->part_y.real + i)));
        else
            store_8(to + i, mix_fixed(above, below, load(p->part_x.whole + i),
                                      load(p->part_y.whole + i)));
    }
    for (int32_t i = n; i < j->w->width; i++)
        to[i] = fdl_cv_mix_edge(j, c, i);
}

const struct fdl_cv_warp_kernels fdl_cv_warp_avx2 = {
    .find = find_points,
    .pick = pick_avx2,
    .mix = mix_avx2,
};
