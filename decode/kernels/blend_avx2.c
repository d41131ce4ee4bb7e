/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Colour enhancement with AVX2, 32 bytes at a time; what is left goes through a
 * buffer of that size. The target is AVX2 without FMA on purpose: products are
 * rounded before they are added.
 */
#include "base/compiler.h"
#include "decode/kernels/blend.h"
#include "decode/kernels/hue.h"

#include <immintrin.h>
#include <string.h>

#define AVX2  FDL_TARGET("avx2")
#define BLOCK 32

/* Eight bytes as floats. */
AVX2 FDL_INLINE __m256 floats_of(const uint8_t *x)
{
    __m128i bytes = _mm_loadl_epi64((const __m128i *)x);
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}

/* As int32; clipping is left to the packing, for the value is below 2^31: the
 * caller bounds the factor. */
AVX2 FDL_INLINE __m256i blend_8(__m256 base, __m256 x, __m256 factor)
{
    __m256 product = _mm256_mul_ps(factor, _mm256_sub_ps(x, base));
    return _mm256_cvttps_epi32(_mm256_add_ps(base, product));
}

/* Four groups of eight to bytes, in order, clipped. */
AVX2 FDL_INLINE __m256i pack_32(__m256i a, __m256i b, __m256i c, __m256i d)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i low = _mm256_packs_epi32(a, b), high = _mm256_packs_epi32(c, d);
    return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
}

AVX2 FDL_INLINE void constant_block(uint8_t *x, __m256 base, __m256 factor)
{
    __m256i a = blend_8(base, floats_of(x), factor);
    __m256i b = blend_8(base, floats_of(x + 8), factor);
    __m256i c = blend_8(base, floats_of(x + 16), factor);
    __m256i d = blend_8(base, floats_of(x + 24), factor);
    _mm256_storeu_si256((__m256i *)x, pack_32(a, b, c, d));
}

AVX2 static void constant(uint8_t *x, size_t n, uint8_t base, float factor)
{
    __m256 bases = _mm256_set1_ps(base), factors = _mm256_set1_ps(factor);
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        constant_block(x + i, bases, factors);
    if (i < n) {
        uint8_t rest[BLOCK] = {0};
        memcpy(rest, x + i, n - i);
        constant_block(rest, bases, factors);
        memcpy(x + i, rest, n - i);
    }
}

AVX2 FDL_INLINE void line_block(uint8_t *x, const uint8_t *base, __m256 factor)
{
    __m256i a = blend_8(floats_of(base), floats_of(x), factor);
    __m256i b = blend_8(floats_of(base + 8), floats_of(x + 8), factor);
    __m256i c = blend_8(floats_of(base + 16), floats_of(x + 16), factor);
    __m256i d = blend_8(floats_of(base + 24), floats_of(x + 24), factor);
    _mm256_storeu_si256((__m256i *)x, pack_32(a, b, c, d));
}

AVX2 static void line(uint8_t *x, const uint8_t *base, size_t n, float factor)
{
    __m256 factors = _mm256_set1_ps(factor);
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        line_block(x + i, base + i, factors);
    if (i < n) {
        uint8_t rest[BLOCK] = {0}, bases[BLOCK] = {0};
        memcpy(rest, x + i, n - i);
        memcpy(bases, base + i, n - i);
        line_block(rest, bases, factors);
        memcpy(x + i, rest, n - i);
    }
}

/* 16-bit lanes: r * 19595 + 2g * 19235 + b * 7471 + 2 * 16384; the weight of
 * green is too large for a signed lane, so green is doubled instead. */
AVX2 FDL_INLINE __m256i luma_half(__m256i r, __m256i g, __m256i b, int high)
{
    const __m256i two = _mm256_set1_epi16(2);
    const __m256i red_green = _mm256_set1_epi32(19235 << 16 | 19595);
    const __m256i blue_half = _mm256_set1_epi32(16384 << 16 | 7471);
    g = _mm256_add_epi16(g, g);
    __m256i rg =
        high ? _mm256_unpackhi_epi16(r, g) : _mm256_unpacklo_epi16(r, g);
    __m256i b2 =
        high ? _mm256_unpackhi_epi16(b, two) : _mm256_unpacklo_epi16(b, two);
    return _mm256_srli_epi32(_mm256_add_epi32(_mm256_madd_epi16(rg, red_green),
                                              _mm256_madd_epi16(b2, blue_half)),
                             16);
}

AVX2 FDL_INLINE __m256i words_of(const uint8_t *x)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)x));
}

/* 16 pixels. */
AVX2 FDL_INLINE __m256i luma_words(const uint8_t *r, const uint8_t *g,
                                   const uint8_t *b)
{
    __m256i red = words_of(r), green = words_of(g), blue = words_of(b);
    return _mm256_packus_epi32(luma_half(red, green, blue, 0),
                               luma_half(red, green, blue, 1));
}

AVX2 FDL_INLINE void luma_block(const uint8_t *r, const uint8_t *g,
                                const uint8_t *b, uint8_t *out)
{
    __m256i low = luma_words(r, g, b);
    __m256i high = luma_words(r + 16, g + 16, b + 16);
    __m256i bytes =
        _mm256_permute4x64_epi64(_mm256_packus_epi16(low, high), 0xd8);
    _mm256_storeu_si256((__m256i *)out, bytes);
}

AVX2 static void luma(const uint8_t *r, const uint8_t *g, const uint8_t *b,
                      size_t n, uint8_t *out)
{
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        luma_block(r + i, g + i, b + i, out + i);
    if (i < n) {
        uint8_t rest[3][BLOCK] = {{0}};
        memcpy(rest[0], r + i, n - i);
        memcpy(rest[1], g + i, n - i);
        memcpy(rest[2], b + i, n - i);
        luma_block(rest[0], rest[1], rest[2], rest[0]);
        memcpy(out + i, rest[0], n - i);
    }
}

AVX2 static uint64_t sum(const uint8_t *x, size_t n)
{
    __m256i total = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        total = _mm256_add_epi64(
            total, _mm256_sad_epu8(_mm256_loadu_si256((const void *)(x + i)),
                                   _mm256_setzero_si256()));
    uint64_t parts[4], rest = 0;
    _mm256_storeu_si256((__m256i *)parts, total);
    for (; i < n; i++)
        rest += x[i];
    return parts[0] + parts[1] + parts[2] + parts[3] + rest;
}

AVX2 FDL_INLINE __m256i column(const uint8_t *above, const uint8_t *row,
                               const uint8_t *below)
{
    return _mm256_add_epi16(_mm256_add_epi16(words_of(above), words_of(below)),
                            words_of(row));
}

/* 16 pixels at a time, and past the row. 5042 / 65536 is a little more than
 * 1 / 13, and exact for all sums. */
AVX2 static void smooth(const uint8_t *above, const uint8_t *row,
                        const uint8_t *below, size_t n, uint8_t *out)
{
    const __m256i six = _mm256_set1_epi16(6), part = _mm256_set1_epi16(5042);
    for (size_t i = 1; i + 1 < n; i += BLOCK / 2) {
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

/* All but what AVX-512 has of its own. */
#define KERNELS                                                                \
  .constant = constant, .line = line, .luma = luma, .sum = sum,                \
  .hue = fdl_hue_shift_avx2, .cut = fdl_cut_line_avx2,                         \
  .range = fdl_range_avx2, .smooth = smooth,                                   \
  .torch_luma = fdl_torch_luma_avx2, .torch_line = fdl_torch_line_avx2,        \
  .torch_hue = fdl_torch_hue_avx2

const struct fdl_blend_kernels fdl_blend_avx2 = {KERNELS,
                                                 .lookup = fdl_lookup_avx2};
const struct fdl_blend_kernels fdl_blend_avx512 = {KERNELS,
                                                   .lookup = fdl_lookup_avx512};
