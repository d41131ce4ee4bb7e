/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One or two taps with AVX2. Four neighbours of the result have their pairs of
 * pixels within 16 bytes, up to a scale of about a quarter: one shuffle spreads
 * them, one multiplication weighs and adds. So do eight with one pixel each, up
 * to a half. Wider axes, and rows of eight taps, are plain C.
 */
#include "base/compiler.h"

#define TARGET FDL_TARGET("avx2")
#define AVX2   TARGET

#include "decode/kernels/cv_resize_loops.h"

#include <immintrin.h>

AVX2 FDL_INLINE __m256i load(const void *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

AVX2 static void pick_avx2(const uint8_t *in, const struct fdl_cv_axis *x,
                           uint8_t *out)
{
    const struct fdl_cv_quad *quad = x->quads;
    if (!quad) {
        fdl_cv_resize_c.pick(in, x, out);
        return;
    }
    int32_t i = 0;
    for (; i + 8 <= x->count; i += 8, quad++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(in + quad->at));
        __m128i order = _mm_loadu_si128((const __m128i *)quad->order);
        _mm_storel_epi64((__m128i *)(void *)(out + i),
                         _mm_shuffle_epi8(bytes, order));
    }
    for (; i < x->count; i++)
        out[i] = in[x->at[i]];
}

AVX2 static void across_2(const uint8_t *in, const struct fdl_cv_axis *x,
                          int32_t *out)
{
    const struct fdl_cv_quad *quad = x->quads;
    for (int32_t i = 0; i < x->count; i += 8, quad += 2) {
        __m128i first = _mm_loadu_si128((const __m128i *)(in + quad[0].at));
        __m128i second = _mm_loadu_si128((const __m128i *)(in + quad[1].at));
        __m256i bytes =
            _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
        __m256i order = _mm256_inserti128_si256(
            _mm256_castsi128_si256(
                _mm_loadu_si128((const __m128i *)quad[0].order)),
            _mm_loadu_si128((const __m128i *)quad[1].order), 1);
        __m256i pairs = _mm256_shuffle_epi8(bytes, order);
        __m256i sums = _mm256_madd_epi16(pairs, load(x->weight + 2 * i));
        _mm256_storeu_si256((__m256i *)(void *)(out + i), sums);
    }
}

AVX2 static void across_avx2(const uint8_t *in, const struct fdl_cv_axis *x,
                             int32_t *out)
{
    if (x->quads)
        across_2(in, x, out);
    else
        fdl_cv_resize_c.across(in, x, out);
}

/* 16 sums without their lowest four bits, times w, >> 16; as words, of which
 * the middle quarters are exchanged. */
AVX2 FDL_INLINE __m256i weigh(const int32_t *sums, __m256i w)
{
    __m256i low = _mm256_srai_epi32(load(sums), 4);
    __m256i high = _mm256_srai_epi32(load(sums + 8), 4);
    return _mm256_mulhi_epi16(_mm256_packs_epi32(low, high), w);
}

AVX2 static void down_2(const int32_t *const *rows, const int16_t *weight,
                        size_t n, uint8_t *out)
{
    __m256i w0 = _mm256_set1_epi16(weight[0]);
    __m256i w1 = _mm256_set1_epi16(weight[1]);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m256i sum =
            _mm256_add_epi16(weigh(rows[0] + i, w0), weigh(rows[1] + i, w1));
        sum = _mm256_srai_epi16(_mm256_add_epi16(sum, _mm256_set1_epi16(2)), 2);
        sum = _mm256_permute4x64_epi64(sum, 0xd8);
        __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(sum),
                                         _mm256_extracti128_si256(sum, 1));
        _mm_storeu_si128((__m128i *)(void *)(out + i), bytes);
    }
    const int32_t *rest[2] = {rows[0] + i, rows[1] + i};
    fdl_cv_resize_c.down(rest, weight, 2, n - i, out + i);
}

AVX2 static void down_avx2(const int32_t *const *rows, const int16_t *weight,
                           int32_t taps, size_t n, uint8_t *out)
{
    if (taps == 2)
        down_2(rows, weight, n, out);
    else
        down_8(rows, weight, n, out);
}

/* Sums of neighbours, of 32 pixels. */
AVX2 FDL_INLINE __m256i pairs(const uint8_t *from)
{
    return _mm256_maddubs_epi16(load(from), _mm256_set1_epi8(1));
}

AVX2 static void halve_avx2(const uint8_t *above, const uint8_t *below,
                            size_t n, uint8_t *out)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m256i sum =
            _mm256_add_epi16(pairs(above + 2 * i), pairs(below + 2 * i));
        sum = _mm256_srli_epi16(_mm256_add_epi16(sum, _mm256_set1_epi16(2)), 2);
        _mm_storeu_si128((__m128i *)(void *)(out + i),
                         _mm_packus_epi16(_mm256_castsi256_si128(sum),
                                          _mm256_extracti128_si256(sum, 1)));
    }
    fdl_cv_resize_c.halve(above + 2 * i, below + 2 * i, n - i, out + i);
}

const struct fdl_cv_resize_kernels fdl_cv_resize_avx2 = {
    .pick = pick_avx2,
    .across = across_avx2,
    .down = down_avx2,
    .halve = halve_avx2,
    CV_COVER_LOOPS,
};
