/* SPDX-License-Identifier: Apache-2.0 */
/* Tables with AVX-512 VBMI, 64 bytes at a time. */
#include "decode/kernels/tables_avx512.h"
#include "decode/kernels/tone.h"

#define BLOCK FDL_TABLE_BLOCK

AVX512 void fdl_lookup_avx512(uint8_t *x, size_t n, const uint8_t table[256])
{
    struct fdl_table_512 t = fdl_table_load(table);
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        _mm512_storeu_si512(x + i,
                            fdl_table_lookup(_mm512_loadu_si512(x + i), &t));
    if (i == n)
        return;
    __mmask64 rest = (UINT64_C(1) << (n - i)) - 1;
    __m512i in = _mm512_maskz_loadu_epi8(rest, x + i);
    _mm512_mask_storeu_epi8(x + i, rest, fdl_table_lookup(in, &t));
}
