/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts with AVX2, 32 bytes at a time. */
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
