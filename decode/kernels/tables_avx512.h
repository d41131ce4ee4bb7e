/* SPDX-License-Identifier: Apache-2.0 */
/* A table of bytes in registers of AVX-512 VBMI: vpermi2b has 128 places. */
#ifndef FDL_DECODE_TABLES_AVX512_H
#define FDL_DECODE_TABLES_AVX512_H

#include "base/compiler.h"

#include <immintrin.h>
#include <stdint.h>

#define AVX512 FDL_TARGET("avx512f,avx512bw,avx512vl,avx512vbmi")

#define FDL_TABLE_BLOCK 64 /* bytes that are looked up at once */

struct fdl_table_512 {
    __m512i quarters[4];
};

AVX512 FDL_INLINE struct fdl_table_512 fdl_table_load(const uint8_t table[256])
{
    struct fdl_table_512 t;
    for (size_t k = 0; k < 4; k++)
        t.quarters[k] = _mm512_loadu_si512(table + FDL_TABLE_BLOCK * k);
    return t;
}

AVX512 FDL_INLINE __m512i fdl_table_lookup(__m512i x,
                                           const struct fdl_table_512 *t)
{
    const __m512i *q = t->quarters;
    __m512i low = _mm512_permutex2var_epi8(q[0], x, q[1]);
    __m512i high = _mm512_permutex2var_epi8(q[2], x, q[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high);
}

#endif
