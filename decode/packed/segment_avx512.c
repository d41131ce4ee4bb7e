/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading segments with AVX-512, which has the step that AVX2 takes from a
 * table: values go to the places that a mask names (VBMI2), and a mask is
 * brought into another order (BITALG).
 */
#include "decode/packed/segment_parts.h"

#if defined(__x86_64__)
#  include <immintrin.h>

#  define AVX512                                                               \
    FDL_TARGET("avx512f,avx512bw,avx512vl,avx512vbmi2,avx512bitalg,"           \
               "bmi,bmi2,popcnt")

/* The zigzag place of each natural one. */
static const uint8_t zigzag[64] FDL_ALIGNED(64) = {
    0,  1,  5,  6,  14, 15, 27, 28, 2,  4,  7,  13, 16, 26, 29, 42,
    3,  8,  12, 17, 25, 30, 41, 43, 9,  11, 18, 24, 31, 40, 44, 53,
    10, 19, 23, 32, 39, 45, 52, 54, 20, 22, 33, 38, 46, 51, 55, 60,
    21, 34, 37, 47, 50, 56, 59, 61, 35, 36, 48, 49, 57, 58, 62, 63};

AVX512 FDL_INLINE uint64_t order(uint64_t bits)
{
    return _mm512_bitshuffle_epi64_mask(_mm512_set1_epi64((long long)bits),
                                        _mm512_load_si512(zigzag));
}

AVX512 static unsigned places(struct fdl_segment *s, const uint8_t *from,
                              unsigned n)
{
    return fdl_segment_read_places(s, from, n, order);
}

AVX512 static unsigned count(const uint8_t *bits, unsigned n)
{
    return fdl_segment_count_bits(bits, n);
}

AVX512 FDL_INLINE __m512i nibbles_64(const uint8_t *from)
{
    __m512i x = _mm512_cvtepu8_epi16(
        _mm256_loadu_si256((const __m256i *)(const void *)from));
    x = _mm512_or_si512(x, _mm512_slli_epi16(x, 4));
    return _mm512_and_si512(x, _mm512_set1_epi8(15));
}

AVX512 static bool excess(const struct fdl_segment_streams *in, uint8_t *to,
                          size_t *bytes, unsigned *words)
{
    const uint8_t *byte = in->bytes;
    *words = 0;
    for (unsigned i = 0; i < in->n_large; i += 64) {
        unsigned left = in->n_large - i;
        __mmask64 keep = left < 64 ? ((uint64_t)1 << left) - 1 : UINT64_MAX;
        __m512i x = nibbles_64(in->nibbles + i / 2);
        __mmask64 more =
            _mm512_mask_cmpeq_epi8_mask(keep, x, _mm512_set1_epi8(NIBBLE_FULL));
        size_t n = fdl_segment_count(more);
        if (n > (size_t)(in->end - byte))
            return false;
        __m512i y = _mm512_maskz_expand_epi8(more, _mm512_loadu_si512(byte));
        if (_mm512_cmpgt_epu8_mask(y, _mm512_set1_epi8((char)BYTE_FULL)))
            return false;
        *words += fdl_segment_count(
            _mm512_cmpeq_epi8_mask(y, _mm512_set1_epi8((char)BYTE_FULL)));
        _mm512_storeu_si512(to + i, _mm512_add_epi8(x, y));
        byte += n;
    }
    *bytes = (size_t)(byte - in->bytes);
    return true;
}

AVX512 static void values(const struct fdl_segment_streams *in,
                          const uint8_t *from, int16_t *to)
{
    const __m512i one = _mm512_set1_epi16(1);
    for (unsigned i = 0; i < in->values; i += 32) {
        __mmask32 large = (uint32_t)fdl_segment_load(in->large + i / 8);
        __mmask32 sign = (uint32_t)fdl_segment_load(in->signs + i / 8);
        __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)from);
        __m512i m = _mm512_cvtepu8_epi16(_mm256_maskz_expand_epi8(large, x));
        m = _mm512_add_epi16(m, one);
        m = _mm512_mask_add_epi16(m, large, m, one);
        m = _mm512_mask_sub_epi16(m, sign, _mm512_setzero_si512(), m);
        _mm512_storeu_si512(to + i, m);
        from += fdl_segment_count(large);
    }
}

/* Four rows. */
AVX512 FDL_INLINE void half_block(uint32_t where, const int16_t *from,
                                  int16_t *to, size_t stride)
{
    __m512i x = _mm512_maskz_expand_epi16(where, _mm512_loadu_si512(from));
    _mm_store_si128((__m128i *)(void *)to, _mm512_castsi512_si128(x));
    _mm_store_si128((__m128i *)(void *)(to + stride),
                    _mm512_extracti32x4_epi32(x, 1));
    _mm_store_si128((__m128i *)(void *)(to + 2 * stride),
                    _mm512_extracti32x4_epi32(x, 2));
    _mm_store_si128((__m128i *)(void *)(to + 3 * stride),
                    _mm512_extracti32x4_epi32(x, 3));
}

AVX512 static void block(uint64_t where, const int16_t *from, int16_t *to,
                         size_t stride)
{
    uint32_t low = (uint32_t)where, high = (uint32_t)(where >> 32);
    half_block(low, from, to, stride);
    half_block(high, from + fdl_segment_count(low), to + 4 * stride, stride);
}

const struct fdl_segment_kernels fdl_segment_avx512 = {places, count, excess,
                                                       values, block};
#endif
