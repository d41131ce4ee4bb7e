/* SPDX-License-Identifier: Apache-2.0 */
/* A lane of a vector is an output; a vector, its tap number x. */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/kernels/resample_weights.h"

#include <immintrin.h>

#define AVX2 FDL_TARGET("avx2")

#define OUTPUTS 4

/* Zeros behind the taps are read with them, from the first that is not 0 on. */
#define ROOM (FDL_TRIANGLE_TAPS + OUTPUTS)

struct outputs {
    int32_t low[OUTPUTS];        /* first samples */
    int32_t taps[OUTPUTS][ROOM]; /* weights */
};

AVX2 static int32_t greatest(__m128i x)
{
    x = _mm_max_epi32(x, _mm_shuffle_epi32(x, _MM_SHUFFLE(1, 0, 3, 2)));
    x = _mm_max_epi32(x, _mm_shuffle_epi32(x, _MM_SHUFFLE(2, 3, 0, 1)));
    return _mm_cvtsi128_si32(x);
}

/* Before the division by their sum; 0 from tap n on. */
AVX2 static __m256d triangle(const struct fdl_triangles *t, __m256d center,
                             __m128i low, __m128i n, int32_t x)
{
    const __m256d one = _mm256_set1_pd(1.0);
    const __m256d sign = _mm256_set1_pd(-0.0);
    __m256d at = _mm256_cvtepi32_pd(_mm_add_epi32(low, _mm_set1_epi32(x)));
    at = _mm256_add_pd(_mm256_sub_pd(at, center), _mm256_set1_pd(0.5));
    at = _mm256_andnot_pd(sign, _mm256_mul_pd(at, _mm256_set1_pd(t->step)));
    __m256i there =
        _mm256_cvtepi32_epi64(_mm_cmpgt_epi32(n, _mm_set1_epi32(x)));
    __m256d is_inside = _mm256_and_pd(_mm256_cmp_pd(at, one, _CMP_LT_OQ),
                                      _mm256_castsi256_pd(there));
    return _mm256_and_pd(_mm256_sub_pd(one, at), is_inside);
}

/* Halves go up: no weight is negative. */
AVX2 static __m128i rounded(const struct fdl_triangles *t, __m256d weight)
{
    weight = _mm256_mul_pd(weight, _mm256_set1_pd(1 << t->bits));
    weight = _mm256_add_pd(weight, _mm256_set1_pd(0.5));
    return _mm_slli_epi32(_mm256_cvttpd_epi32(weight),
                          FDL_WEIGHT_BITS - t->bits);
}

AVX2 static void store_transposed(const __m128i *x, int32_t at,
                                  struct outputs *to)
{
    __m128i a = _mm_unpacklo_epi32(x[0], x[1]);
    __m128i b = _mm_unpacklo_epi32(x[2], x[3]);
    __m128i c = _mm_unpackhi_epi32(x[0], x[1]);
    __m128i d = _mm_unpackhi_epi32(x[2], x[3]);
    _mm_storeu_si128((void *)&to->taps[0][at], _mm_unpacklo_epi64(a, b));
    _mm_storeu_si128((void *)&to->taps[1][at], _mm_unpackhi_epi64(a, b));
    _mm_storeu_si128((void *)&to->taps[2][at], _mm_unpacklo_epi64(c, d));
    _mm_storeu_si128((void *)&to->taps[3][at], _mm_unpackhi_epi64(c, d));
}

/* Outputs from number i on, of `in` samples. */
AVX2 static void weigh(const struct fdl_triangles *t, int32_t in, int32_t i,
                       struct outputs *to)
{
    const __m256d half = _mm256_set1_pd(0.5);
    const __m256d support = _mm256_set1_pd(t->support);
    __m128i number =
        _mm_add_epi32(_mm_set1_epi32(i), _mm_setr_epi32(0, 1, 2, 3));
    __m256d center = _mm256_add_pd(_mm256_cvtepi32_pd(number), half);
    center = _mm256_add_pd(_mm256_set1_pd(t->from),
                           _mm256_mul_pd(center, _mm256_set1_pd(t->scale)));
    __m256d left = _mm256_add_pd(_mm256_sub_pd(center, support), half);
    __m256d right = _mm256_add_pd(_mm256_add_pd(center, support), half);
    __m128i low = _mm_max_epi32(_mm256_cvttpd_epi32(left), _mm_setzero_si128());
    __m128i high =
        _mm_min_epi32(_mm256_cvttpd_epi32(right), _mm_set1_epi32(in));
    __m128i n = _mm_sub_epi32(high, low);
    int32_t most = greatest(n);
    fdl_assert(most <= FDL_TRIANGLE_TAPS);

    __m256d weights[FDL_TRIANGLE_TAPS], sum = _mm256_setzero_pd();
    __m128i taps[FDL_TRIANGLE_TAPS];
    for (int32_t x = 0; x < most; x++) {
        weights[x] = triangle(t, center, low, n, x);
        sum = _mm256_add_pd(sum, weights[x]);
    }
    for (int32_t x = 0; x < FDL_TRIANGLE_TAPS; x++)
        taps[x] = x < most ? rounded(t, _mm256_div_pd(weights[x], sum))
                           : _mm_setzero_si128();
    for (int32_t x = 0; x < FDL_TRIANGLE_TAPS; x += OUTPUTS)
        store_transposed(taps + x, x, to);
    _mm_storeu_si128((void *)to->low, low);
}

/* Output `lane` becomes entry `at`, without zeros at either end. */
AVX2 static void put(struct fdl_axis *axis, const struct outputs *from,
                     int32_t lane, int32_t at)
{
    const int32_t *taps = from->taps[lane];
    int32_t *weight = axis->weight + (size_t)at * (size_t)axis->stride;
    __m256i all = _mm256_loadu_si256((const void *)taps);
    __m256i some = _mm256_cmpgt_epi32(all, _mm256_setzero_si256());
    unsigned seen = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(some));
    fdl_assert(seen != 0);
    int32_t first = __builtin_ctz(seen), last = 31 - __builtin_clz(seen);
    fdl_assert(first <= OUTPUTS);
    all = _mm256_loadu_si256((const void *)(taps + first));
    if (axis->stride == FDL_TRIANGLE_TAPS)
        _mm256_storeu_si256((void *)weight, all);
    else
        _mm_storeu_si128((void *)weight, _mm256_castsi256_si128(all));
    axis->start[at] = from->low[lane] + first;
    axis->length[at] = last + 1 - first;
}

AVX2 void fdl_triangles_fill_avx2(struct fdl_axis *axis,
                                  const struct fdl_triangles *t)
{
    const struct fdl_axis_key *key = &axis->key;
    struct outputs four = {0};
    for (int32_t k = 0; k < key->count; k += OUTPUTS) {
        weigh(t, key->in, key->first + k, &four);
        for (int32_t i = k; i < FDL_MIN(k + OUTPUTS, key->count); i++)
            put(axis, &four, i - k, key->mirror ? key->count - 1 - i : i);
    }
}
