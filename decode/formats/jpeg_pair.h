/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the transforms of two blocks have in common, with AVX2 and with AVX-512:
 * a register holds a row, or a column, of both.
 */
#ifndef FDL_DECODE_JPEG_PAIR_H
#define FDL_DECODE_JPEG_PAIR_H

#include "base/compiler.h"
#include "decode/formats/jpeg_factors.h"

#if defined(__x86_64__)
#  include <immintrin.h>

#  define AVX2 FDL_TARGET("avx2")

/* Sums have 32 bits for each 16 of the input, so there are two halves: the
 * first four columns of both blocks, and the others. One after the other they
 * nearly fit into the registers. */
enum half { LOW, HIGH };

AVX2 FDL_INLINE __m256i mixed(__m256i a, __m256i b, enum half half)
{
    return half == LOW ? _mm256_unpacklo_epi16(a, b)
                       : _mm256_unpackhi_epi16(a, b);
}

AVX2 FDL_INLINE void transpose(__m256i *v)
{
    __m256i a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[2 * i] = _mm256_unpacklo_epi16(v[2 * i], v[2 * i + 1]);
        a[2 * i + 1] = _mm256_unpackhi_epi16(v[2 * i], v[2 * i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        for (int k = 0; k < 2; k++) {
            b[i + 2 * k] = _mm256_unpacklo_epi32(a[i + k], a[i + 2 + k]);
            b[i + 2 * k + 1] = _mm256_unpackhi_epi32(a[i + k], a[i + 2 + k]);
        }
    }
    for (int i = 0; i < 4; i++) {
        v[2 * i] = _mm256_unpacklo_epi64(b[i], b[i + 4]);
        v[2 * i + 1] = _mm256_unpackhi_epi64(b[i], b[i + 4]);
    }
}

/* Only v[0] to v[3] of the result: the other columns are zero. */
AVX2 FDL_INLINE void transpose_corner(__m256i *v)
{
    __m256i c[4];
    for (int i = 0; i < 2; i++) {
        __m256i a = _mm256_unpacklo_epi16(v[4 * i], v[4 * i + 1]);
        __m256i b = _mm256_unpacklo_epi16(v[4 * i + 2], v[4 * i + 3]);
        c[2 * i] = _mm256_unpacklo_epi32(a, b);
        c[2 * i + 1] = _mm256_unpackhi_epi32(a, b);
    }
    for (int i = 0; i < 2; i++) {
        v[2 * i] = _mm256_unpacklo_epi64(c[i], c[i + 2]);
        v[2 * i + 1] = _mm256_unpackhi_epi64(c[i], c[i + 2]);
    }
}

#endif
#endif
