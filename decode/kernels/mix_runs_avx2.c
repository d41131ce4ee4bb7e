/* SPDX-License-Identifier: Apache-2.0 */
/* MixUp with AVX2, without FMA: it would round once less. */
#include "base/compiler.h"
#include "decode/kernels/mix_runs.h"

#include <immintrin.h>

#define AVX2 FDL_TARGET("avx2")

AVX2 FDL_INLINE __m256 mix(__m256 x, __m256 y, __m256 own, __m256 other)
{
    return _mm256_add_ps(_mm256_mul_ps(x, own), _mm256_mul_ps(y, other));
}

AVX2 static void floats(float *to, const float *x, const float *y, size_t n,
                        float own, float other)
{
    const __m256 a = _mm256_set1_ps(own), b = _mm256_set1_ps(other);
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(
            to + i, mix(_mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i), a, b));
    fdl_mix_c.floats(to + i, x + i, y + i, n - i, own, other);
}

AVX2 FDL_INLINE __m256 eight(const uint8_t *from)
{
    return _mm256_cvtepi32_ps(
        _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)from)));
}

AVX2 static void bytes(uint8_t *to, const uint8_t *x, const uint8_t *y,
                       size_t n, float own, float other)
{
    const __m256 a = _mm256_set1_ps(own), b = _mm256_set1_ps(other);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256i sum = _mm256_cvtps_epi32(mix(eight(x + i), eight(y + i), a, b));
        __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(sum),
                                        _mm256_extracti128_si256(sum, 1));
        _mm_storel_epi64((__m128i *)(to + i), _mm_packus_epi16(words, words));
    }
    fdl_mix_c.bytes(to + i, x + i, y + i, n - i, own, other);
}

const struct fdl_mix_kernels fdl_mix_avx2 = {.floats = floats, .bytes = bytes};
