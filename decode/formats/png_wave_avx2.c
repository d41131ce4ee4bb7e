/* SPDX-License-Identifier: Apache-2.0 */
/* Filters of PNG with AVX2: vectors of 32 bytes are of the same steps, half of
 * rows, half of those that are 16 rows on. */
#include "base/compiler.h"
#include "decode/formats/png_wave.h"

#include <immintrin.h>

#define TARGET  FDL_TARGET("avx2")
#define LANES   FDL_PNG_WIDE_ROWS
#define LINE    __m128i
#define VECTOR  __m256i
#define V(name) _mm256_##name

TARGET FDL_INLINE VECTOR pair(__m128i low, __m128i high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

TARGET FDL_INLINE VECTOR load_pair(const uint8_t *p, ptrdiff_t apart)
{
    return pair(_mm_loadu_si128((const __m128i *)p),
                _mm_loadu_si128((const __m128i *)(p + apart)));
}

TARGET FDL_INLINE void store_pair(uint8_t *p, ptrdiff_t apart, VECTOR v)
{
    _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(v));
    _mm_storeu_si128((__m128i *)(p + apart), _mm256_extracti128_si256(v, 1));
}

TARGET FDL_INLINE VECTOR shifted(VECTOR v, int first)
{
    VECTOR before = _mm256_permute2x128_si256(v, v, 8); /* zeros, the lower */
    return _mm256_alignr_epi8(v, before, 15) |
           _mm256_zextsi128_si256(_mm_cvtsi32_si128(first));
}

TARGET FDL_INLINE VECTOR choose(VECTOR mask, VECTOR yes, VECTOR no)
{
    return _mm256_blendv_epi8(no, yes, mask);
}

#include "decode/formats/png_wave_loops.h"

TARGET void fdl_png_wave_wide(const struct fdl_png_rows *rows, size_t y)
{
    unfilter_wave(rows, y);
}
