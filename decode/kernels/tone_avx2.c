/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of single bytes with AVX2, 32 at a time. */
#include "base/compiler.h"
#include "decode/kernels/tone.h"

#include <immintrin.h>

#define AVX2  FDL_TARGET("avx2")
#define BLOCK 32

AVX2 void fdl_cut_line_avx2(uint8_t *x, size_t n, const struct fdl_cut *cut)
{
    const __m256i at = _mm256_set1_epi8((char)cut->at);
    const __m256i add = _mm256_set1_epi8((char)cut->add);
    const __m256i flip = _mm256_set1_epi8((char)cut->flip);
    const __m256i mask = _mm256_set1_epi8((char)cut->mask);
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        __m256i in = _mm256_loadu_si256((const __m256i *)(x + i));
        __m256i high = _mm256_cmpeq_epi8(_mm256_max_epu8(in, at), in);
        __m256i y = _mm256_blendv_epi8(_mm256_adds_epu8(in, add),
                                       _mm256_xor_si256(in, flip), high);
        _mm256_storeu_si256((__m256i *)(x + i), _mm256_and_si256(y, mask));
    }
    fdl_cut_line(x + i, n - i, cut);
}

/* Of the byte that each of 16 rows of the table has for the low four bits of x,
 * the high four choose one: bit by bit, as in a knock-out. */
AVX2 FDL_INLINE __m256i lookup_block(__m256i x, const __m256i rows[16])
{
    __m256i column = _mm256_and_si256(x, _mm256_set1_epi8(15)), y[8];
    __m256i bit4 = _mm256_slli_epi16(x, 3), bit5 = _mm256_slli_epi16(x, 2);
    __m256i bit6 = _mm256_slli_epi16(x, 1);
    for (size_t i = 0; i < 8; i++)
        y[i] = _mm256_blendv_epi8(_mm256_shuffle_epi8(rows[2 * i], column),
                                  _mm256_shuffle_epi8(rows[2 * i + 1], column),
                                  bit4);
    for (size_t i = 0; i < 4; i++)
        y[i] = _mm256_blendv_epi8(y[2 * i], y[2 * i + 1], bit5);
    __m256i low = _mm256_blendv_epi8(y[0], y[1], bit6);
    __m256i high = _mm256_blendv_epi8(y[2], y[3], bit6);
    return _mm256_blendv_epi8(low, high, x);
}

AVX2 void fdl_lookup_avx2(uint8_t *x, size_t n, const uint8_t table[256])
{
    __m256i rows[16];
    for (size_t i = 0; i < 16; i++)
        rows[i] = _mm256_broadcastsi128_si256(
            _mm_loadu_si128((const __m128i *)(table + 16 * i)));
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        __m256i in = _mm256_loadu_si256((const __m256i *)(x + i));
        _mm256_storeu_si256((__m256i *)(x + i), lookup_block(in, rows));
    }
    fdl_lookup(x + i, n - i, table);
}

AVX2 void fdl_range_avx2(const uint8_t *x, size_t n, uint8_t *low,
                         uint8_t *high)
{
    uint8_t ends[2 * BLOCK], other;
    __m256i least = _mm256_set1_epi8(-1), most = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        __m256i in = _mm256_loadu_si256((const __m256i *)(x + i));
        least = _mm256_min_epu8(least, in);
        most = _mm256_max_epu8(most, in);
    }
    _mm256_storeu_si256((__m256i *)ends, least);
    _mm256_storeu_si256((__m256i *)(ends + BLOCK), most);
    for (size_t k = 0; i + k < n; k++) {
        ends[k] = FDL_MIN(ends[k], x[i + k]);
        ends[BLOCK + k] = FDL_MAX(ends[BLOCK + k], x[i + k]);
    }
    fdl_range(ends, BLOCK, low, &other);
    fdl_range(ends + BLOCK, BLOCK, &other, high);
}
