/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warps with AVX2 and FMA: eight pixels of a row at a time. If none of them
 * needs a border, a gather brings a pixel and its neighbour to the right; else
 * each of the four that are mixed has a gather of its own, which leaves the
 * border's value where there is none. Lines of maps without rotation have a
 * border of their own, so a gather brings both pixels.
 */
#include "base/compiler.h"

#define TARGET FDL_TARGET("avx2,fma")

#include "decode/kernels/cv_warp_points.h"
#include "decode/kernels/cv_warp_straight.h"

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

/* What corner t of pixels i to i + 7 is. */
TARGET FDL_INLINE __m256i corner(const struct fdl_cv_warp_job *j, int32_t c,
                                 int32_t t, int32_t i)
{
    __m256i at = load(j->p.corners[t] + i);
    __m256i there = _mm256_cmpgt_epi32(at, _mm256_set1_epi32(-1));
    __m256i v = _mm256_mask_i32gather_epi32(
        _mm256_set1_epi32(j->w->fill[c]),
        (const int *)(const void *)fdl_image_row(j->in, c, 0), at, there, 1);
    return _mm256_and_si256(v, _mm256_set1_epi32(255));
}

TARGET static void pick_avx2(const struct fdl_cv_warp_job *j, int32_t c,
                             uint8_t *to)
{
    const uint8_t *plane = fdl_image_row(j->in, c, 0);
    int32_t i = 0, n = j->w->width;
    for (; i + LANES <= n; i += LANES) {
        __m256i at = load(j->p.at + i);
        __m256i v = all_inside(at) ? gather(plane, at) : corner(j, c, 0, i);
        store_8(to + i, _mm256_and_si256(v, _mm256_set1_epi32(255)));
    }
    for (; i < n; i++)
        to[i] = j->p.at[i] < 0 ? fdl_cv_pick_edge(j, c, i) : plane[j->p.at[i]];
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

/* Of two that were mixed along x; y: as pairs. */
TARGET FDL_INLINE __m256i down_fixed(__m256i above, __m256i below, __m256i y)
{
    __m256i both = _mm256_or_si256(above, _mm256_slli_epi32(below, 16));
    __m256i sum = _mm256_madd_epi16(both, y);
    sum = _mm256_add_epi32(sum,
                           _mm256_set1_epi32(1 << (2 * FDL_CV_PART_BITS - 1)));
    return _mm256_srli_epi32(sum, 2 * FDL_CV_PART_BITS);
}

TARGET FDL_INLINE __m256i mix_fixed(__m256i above, __m256i below, __m256i x,
                                    __m256i y)
{
    __m256i pair = pair_of(x);
    return down_fixed(_mm256_madd_epi16(words_of(above), pair),
                      _mm256_madd_epi16(words_of(below), pair), pair_of(y));
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

TARGET FDL_INLINE __m256i down_floats(__m256 above, __m256 below, __m256 y)
{
    return _mm256_cvtps_epi32(
        _mm256_fmadd_ps(_mm256_sub_ps(below, above), y, above));
}

TARGET FDL_INLINE __m256i mix_floats(__m256i above, __m256i below, __m256 x,
                                     __m256 y)
{
    return down_floats(between(above, x), between(below, x), y);
}

/* The pixels above, or below: two in the low bytes of each. */
TARGET FDL_INLINE __m256i corners(const struct fdl_cv_warp_job *j, int32_t c,
                                  int32_t t, int32_t i)
{
    return _mm256_or_si256(corner(j, c, t, i),
                           _mm256_slli_epi32(corner(j, c, t + 1, i), 8));
}

/* Whether a constant border has all of them. */
TARGET FDL_INLINE bool all_outside(const struct fdl_cv_warp_job *j, int32_t i)
{
    __m256i each = load(j->p.corners[0] + i);
    for (int32_t t = 1; t < 4; t++)
        each = _mm256_and_si256(each, load(j->p.corners[t] + i));
    return _mm256_movemask_ps(_mm256_castsi256_ps(each)) == 255;
}

TARGET static void mix_avx2(const struct fdl_cv_warp_job *j, int32_t c,
                            uint8_t *to)
{
    const struct fdl_cv_points *p = &j->p;
    const uint8_t *plane = fdl_image_row(j->in, c, 0);
    int32_t n = j->w->width / LANES * LANES;
    for (int32_t i = 0; i < n; i += LANES) {
        __m256i at = load(p->at + i);
        __m256i above, below;
        if (all_inside(at)) {
            above = gather(plane, at);
            below = gather(plane + j->in->width, at);
        } else if (all_outside(j, i)) {
            memset(to + i, j->w->fill[c], LANES);
            continue;
        } else {
            above = corners(j, c, 0, i);
            below = corners(j, c, 2, i);
        }
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

/* ---- Without rotation --------------------------------------------------- */

TARGET static void across_avx2(const struct fdl_cv_columns *x,
                               const uint8_t *line, union fdl_cv_number *out)
{
    for (int32_t i = 0; i < x->n; i += LANES) {
        __m256i pixels = gather(line, load(x->at + i));
        if (x->floats)
            _mm256_storeu_ps(
                &out[i].real,
                between(pixels, _mm256_loadu_ps(&x->part[i].real)));
        else
            _mm256_storeu_si256(
                (__m256i *)(void *)(out + i),
                _mm256_madd_epi16(words_of(pixels), load(x->part + i)));
    }
}

TARGET static void down_avx2(const struct fdl_cv_columns *x,
                             const union fdl_cv_number *above,
                             const union fdl_cv_number *below,
                             union fdl_cv_number part, uint8_t *to)
{
    __m256i pair = pair_of(_mm256_set1_epi32(part.whole));
    __m256 real = _mm256_set1_ps(part.real);
    for (int32_t i = 0; i < x->n; i += LANES) {
        uint8_t end[LANES];
        int32_t n = FDL_MIN(x->n - i, LANES);
        uint8_t *at = n < LANES ? end : to + i;
        if (x->floats)
            store_8(at, down_floats(_mm256_loadu_ps(&above[i].real),
                                    _mm256_loadu_ps(&below[i].real), real));
        else
            store_8(at, down_fixed(load(above + i), load(below + i), pair));
        if (n < LANES)
            memcpy(to + i, end, (size_t)n);
    }
}

const struct fdl_cv_warp_kernels fdl_cv_warp_avx2 = {
    .find = find_points,
    .pick = pick_avx2,
    .mix = mix_avx2,
};

const struct fdl_cv_straight_kernels fdl_cv_straight_avx2 = {
    .across = across_avx2,
    .down = down_avx2,
};
