/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warps of three channels with AVX-512. A pixel of the laid image is in four
 * bytes, so one load brings a pixel and its neighbour in all channels, where
 * planes have a gather for each. Four pixels are mixed at once, in 16 numbers;
 * what is mixed with what else, and in which order, is as in cv_warp.c.
 */
#include "base/compiler.h"

#define TARGET FDL_TARGET("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")

#include "decode/kernels/cv_warp_points.h"

#include <immintrin.h>

#define LANES FDL_CV_LAID_GROUP
#define QUAD  4 /* pixels that are mixed at once */

/* Of four pixels: those at or before the points, and their neighbours. */
struct quad {
    __m128i left, right;
};

TARGET static void lay(const struct fdl_image *in, uint32_t *to)
{
    const uint8_t *a = fdl_image_row(in, 0, 0), *b = fdl_image_row(in, 1, 0);
    const uint8_t *c = fdl_image_row(in, 2, 0);
    for (size_t i = 0; i < in->plane; i++)
        to[i] = a[i] | (uint32_t)b[i] << 8 | (uint32_t)c[i] << 16;
}

/* ---- Beyond the edges --------------------------------------------------- */

TARGET FDL_INLINE __m512i fill_of(const struct fdl_cv_warp *w)
{
    uint32_t fill =
        w->fill[0] | (uint32_t)w->fill[1] << 8 | (uint32_t)w->fill[2] << 16;
    return _mm512_set1_epi32((int32_t)fill);
}

/* What corner t of pixels i to i + 15 is. */
TARGET FDL_INLINE __m512i corner(const struct fdl_cv_warp_job *j, int32_t t,
                                 int32_t i)
{
    __m512i at = _mm512_loadu_si512(j->p.corners[t] + i);
    __mmask16 there = (__mmask16)~_mm512_movepi32_mask(at);
    return _mm512_mask_i32gather_epi32(fill_of(j->w), there, at, j->laid, 4);
}

/* Whether a constant border has all of them. */
TARGET FDL_INLINE bool all_outside(const struct fdl_cv_warp_job *j, int32_t i)
{
    __m512i each = _mm512_loadu_si512(j->p.corners[0] + i);
    for (int32_t t = 1; t < 4; t++)
        each = _mm512_and_si512(each, _mm512_loadu_si512(j->p.corners[t] + i));
    return _mm512_movepi32_mask(each) == 0xffff;
}

TARGET FDL_INLINE bool all_inside(const struct fdl_cv_warp_job *j, int32_t i)
{
    return _mm512_movepi32_mask(_mm512_loadu_si512(j->p.at + i)) == 0;
}

/* ---- Nearest ------------------------------------------------------------ */

TARGET static void pick_laid(const struct fdl_cv_warp_job *j,
                             uint8_t *const to[FDL_CV_LAID])
{
    int32_t n = j->w->width;
    for (int32_t next = 0; next < n; next += LANES) {
        int32_t i = FDL_MIN(next, n - LANES);
        __m512i at = _mm512_loadu_si512(j->p.at + i);
        __m512i v = all_inside(j, i) ? _mm512_i32gather_epi32(at, j->laid, 4)
                                     : corner(j, 0, i);
        for (int32_t c = 0; c < FDL_CV_LAID; c++) {
            _mm_storeu_si128((__m128i *)(void *)(to[c] + i),
                             _mm512_cvtepi32_epi8(v));
            v = _mm512_srli_epi32(v, 8);
        }
    }
}

/* ---- Linear ------------------------------------------------------------- */

TARGET FDL_INLINE __m128 two(const uint32_t *one, const uint32_t *other)
{
    __m128 low =
        _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)one));
    return _mm_loadh_pi(low, (const __m64 *)(const void *)other);
}

TARGET FDL_INLINE struct quad quad_at(const uint32_t *laid, const int32_t *at)
{
    __m128 first = two(laid + at[0], laid + at[1]);
    __m128 second = two(laid + at[2], laid + at[3]);
    __m128 left = _mm_shuffle_ps(first, second, 0x88);
    __m128 right = _mm_shuffle_ps(first, second, 0xdd);
    return (struct quad){_mm_castps_si128(left), _mm_castps_si128(right)};
}

/* Each of four, for the four bytes of its pixel. */
TARGET FDL_INLINE __m512i for_bytes(const void *part)
{
    const __m512i which =
        _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    __m128i four = _mm_loadu_si128((const __m128i *)part);
    return _mm512_permutexvar_epi32(which, _mm512_castsi128_si512(four));
}

TARGET FDL_INLINE __m512 floats_of(__m128i bytes)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}

TARGET FDL_INLINE __m512 along_floats(struct quad q, __m512 x)
{
    __m512 left = floats_of(q.left), right = floats_of(q.right);
    return _mm512_fmadd_ps(_mm512_sub_ps(right, left), x, left);
}

TARGET FDL_INLINE __m512i mix_floats(struct quad above, struct quad below,
                                     __m512 x, __m512 y)
{
    __m512 high = along_floats(above, x), low = along_floats(below, x);
    return _mm512_cvtps_epi32(
        _mm512_fmadd_ps(_mm512_sub_ps(low, high), y, high));
}

/* (32 - part, part) as pairs of words. */
TARGET FDL_INLINE __m512i pair_of(__m512i part)
{
    __m512i rest = _mm512_sub_epi32(_mm512_set1_epi32(FDL_CV_PARTS), part);
    return _mm512_or_si512(rest, _mm512_slli_epi32(part, 16));
}

TARGET FDL_INLINE __m512i along_fixed(struct quad q, __m512i pair)
{
    __m256i bytes = _mm256_set_m128i(_mm_unpackhi_epi8(q.left, q.right),
                                     _mm_unpacklo_epi8(q.left, q.right));
    return _mm512_madd_epi16(_mm512_cvtepu8_epi16(bytes), pair);
}

TARGET FDL_INLINE __m512i mix_fixed(struct quad above, struct quad below,
                                    __m512i x, __m512i y)
{
    __m512i pair = pair_of(x);
    __m512i low = _mm512_slli_epi32(along_fixed(below, pair), 16);
    __m512i both = _mm512_or_si512(along_fixed(above, pair), low);
    __m512i sum =
        _mm512_add_epi32(_mm512_madd_epi16(both, pair_of(y)),
                         _mm512_set1_epi32(1 << (2 * FDL_CV_PART_BITS - 1)));
    return _mm512_srli_epi32(sum, 2 * FDL_CV_PART_BITS);
}

/* Pixels i to i + 3: the bytes of a channel, then those of the next. */
TARGET FDL_INLINE __m128i mix(const struct fdl_cv_warp_job *j,
                              struct quad above, struct quad below, int32_t i)
{
    const __m128i by_channel =
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i x, y, v;
    if (j->w->floats) {
        x = for_bytes(j->p.part_x.real + i);
        y = for_bytes(j->p.part_y.real + i);
        v = mix_floats(above, below, _mm512_castsi512_ps(x),
                       _mm512_castsi512_ps(y));
    } else {
        x = for_bytes(j->p.part_x.whole + i);
        y = for_bytes(j->p.part_y.whole + i);
        v = mix_fixed(above, below, x, y);
    }
    return _mm_shuffle_epi8(_mm512_cvtepi32_epi8(v), by_channel);
}

/* 16 pixels from i on, four in each of v. */
TARGET FDL_INLINE void store(const __m128i v[LANES / QUAD], int32_t i,
                             uint8_t *const to[FDL_CV_LAID])
{
    __m128i ab = _mm_unpacklo_epi32(v[0], v[1]);
    __m128i cd = _mm_unpacklo_epi32(v[2], v[3]);
    __m128i last = _mm_unpacklo_epi64(_mm_unpackhi_epi32(v[0], v[1]),
                                      _mm_unpackhi_epi32(v[2], v[3]));
    _mm_storeu_si128((__m128i *)(void *)(to[0] + i),
                     _mm_unpacklo_epi64(ab, cd));
    _mm_storeu_si128((__m128i *)(void *)(to[1] + i),
                     _mm_unpackhi_epi64(ab, cd));
    _mm_storeu_si128((__m128i *)(void *)(to[2] + i), last);
}

TARGET FDL_INLINE void mix_inside(const struct fdl_cv_warp_job *j, int32_t i,
                                  uint8_t *const to[FDL_CV_LAID])
{
    const uint32_t *below = j->laid + j->in->width;
    __m128i v[LANES / QUAD];
    for (int32_t q = 0; q < LANES / QUAD; q++) {
        const int32_t *at = j->p.at + i + q * QUAD;
        v[q] = mix(j, quad_at(j->laid, at), quad_at(below, at), i + q * QUAD);
    }
    store(v, i, to);
}

TARGET FDL_INLINE __m128i quarter(const uint32_t pixels[LANES], int32_t q)
{
    return _mm_load_si128((const __m128i *)(const void *)(pixels + q * QUAD));
}

TARGET static void mix_at_edges(const struct fdl_cv_warp_job *j, int32_t i,
                                uint8_t *const to[FDL_CV_LAID])
{
    _Alignas(64) uint32_t pixels[4][LANES];
    __m128i v[LANES / QUAD];
    for (int32_t t = 0; t < 4; t++)
        _mm512_store_si512(pixels[t], corner(j, t, i));
    for (int32_t q = 0; q < LANES / QUAD; q++) {
        struct quad above = {quarter(pixels[0], q), quarter(pixels[1], q)};
        struct quad below = {quarter(pixels[2], q), quarter(pixels[3], q)};
        v[q] = mix(j, above, below, i + q * QUAD);
    }
    store(v, i, to);
}

TARGET static void mix_laid(const struct fdl_cv_warp_job *j,
                            uint8_t *const to[FDL_CV_LAID])
{
    int32_t n = j->w->width;
    for (int32_t next = 0; next < n; next += LANES) {
        int32_t i = FDL_MIN(next, n - LANES);
        if (all_inside(j, i)) {
            mix_inside(j, i, to);
        } else if (all_outside(j, i)) {
            for (int32_t c = 0; c < FDL_CV_LAID; c++)
                memset(to[c] + i, j->w->fill[c], LANES);
        } else {
            mix_at_edges(j, i, to);
        }
    }
}

const struct fdl_cv_laid_kernels fdl_cv_laid_avx512 = {
    .lay = lay,
    .find = find_points,
    .pick = pick_laid,
    .mix = mix_laid,
};
