/* SPDX-License-Identifier: Apache-2.0 */
/* Tables with AVX-512 VBMI, 64 bytes at a time: vpermi2b has 128 places. */
#include "base/compiler.h"
#include "decode/kernels/tone.h"

#include <immintrin.h>

#define AVX512 FDL_TARGET("avx512f,avx512bw,avx512vl,avx512vbmi")
#define BLOCK  64

struct table {
    __m512i quarters[4];
};

AVX512 FDL_INLINE __m512i lookup_block(__m512i x, const struct table *t)
{
    const __m512i *q = t->quarters;
    __m512i low = _mm512_permutex2var_epi8(q[0], x, q[1]);
    __m512i high = _mm512_permutex2var_epi8(q[2], x, q[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high);
}

AVX512 void fdl_lookup_avx512(uint8_t *x, size_t n, const uint8_t table[256])
{
    struct table t;
    size_t i = 0;
    for (size_t k = 0; k < 4; k++)
        t.quarters[k] = _mm512_loadu_si512(table + BLOCK * k);
    for (; i + BLOCK <= n; i += BLOCK)
        _mm512_storeu_si512(x + i, lookup_block(_mm512_loadu_si512(x + i), &t));
    if (i == n)
        return;
    __mmask64 rest = (UINT64_C(1) << (n - i)) - 1;
    __m512i in = _mm512_maskz_loadu_epi8(rest, x + i);
    _mm512_mask_storeu_epi8(x + i, rest, lookup_block(in, &t));
}
