/* SPDX-License-Identifier: Apache-2.0 */
/* SMOOTH with AVX2, 16 pixels at a time; blocks reach past the row. */
#include "base/compiler.h"
#include "decode/kernels/smooth.h"

#include <immintrin.h>

#define AVX2  FDL_TARGET("avx2")
#define BLOCK 16

AVX2 FDL_INLINE __m256i words_of(const uint8_t *x)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)x));
}

AVX2 FDL_INLINE __m256i column(const uint8_t *above, const uint8_t *row,
                               const uint8_t *below)
{
    return _mm256_add_epi16(_mm256_add_epi16(words_of(above), words_of(below)),
                            words_of(row));
}

/* 5042 / 65536 is a little more than 1 / 13, and exact for all sums. */
AVX2 void fdl_smooth_row_avx2(const uint8_t *above, const uint8_t *row,
                              const uint8_t *below, size_t n, uint8_t *out)
{
    const __m256i six = _mm256_set1_epi16(6), part = _mm256_set1_epi16(5042);
    for (size_t i = 1; i + 1 < n; i += BLOCK) {
        __m256i left = column(above + i - 1, row + i - 1, below + i - 1);
        __m256i right = column(above + i + 1, row + i + 1, below + i + 1);
        __m256i centre = column(above + i, row + i, below + i);
        __m256i more = _mm256_slli_epi16(words_of(row + i), 2);
        __m256i sum = _mm256_add_epi16(_mm256_add_epi16(left, right),
                                       _mm256_add_epi16(centre, more));
        __m256i mean = _mm256_mulhi_epu16(_mm256_add_epi16(sum, six), part);
        __m256i bytes =
            _mm256_permute4x64_epi64(_mm256_packus_epi16(mean, mean), 0x08);
        _mm_storeu_si128((__m128i *)(out + i), _mm256_castsi256_si128(bytes));
    }
    out[0] = row[0];
    out[n - 1] = row[n - 1];
}
