/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading segments with AVX-512. What AVX2 does by tables of eight are single
 * instructions here: vpexpand moves values to the places of a mask, and
 * vpshufbitqmb picks 64 bits of a number in any order.
 */
#include "decode/packed/segment_parts.h"

#if defined(__x86_64__)
#  include <immintrin.h>

#  define AVX512                                                               \
    FDL_TARGET("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,"             \
               "avx512bitalg,bmi,bmi2,popcnt")

/* ---- Places ------------------------------------------------------------- */

/* For each natural place, its place in zigzag order; the first, which says
 * nothing here, is a bit that is never set. */
static const uint8_t zigzag_place[64] = {
    0,  1,  5,  6,  14, 15, 27, 28, 2,  4,  7,  13, 16, 26, 29, 42,
    3,  8,  12, 17, 25, 30, 41, 43, 9,  11, 18, 24, 31, 40, 44, 53,
    10, 19, 23, 32, 39, 45, 52, 54, 20, 22, 33, 38, 46, 51, 55, 60,
    21, 34, 37, 47, 50, 56, 59, 61, 35, 36, 48, 49, 57, 58, 62, 63};

AVX512 FDL_INLINE uint64_t order(uint64_t zigzag)
{
    return _mm512_bitshuffle_epi64_mask(_mm512_set1_epi64((long long)zigzag),
                                        _mm512_loadu_si512(zigzag_place));
}

AVX512 static unsigned places(struct fdl_segment *s, const uint8_t *from,
                              unsigned n)
{
    return fdl_segment_read_places(s, from, n, order);
}

AVX512 static size_t lasts(struct fdl_segment *s, const uint8_t *from,
                           unsigned n)
{
    /* 48 bits of each 64: eight numbers of LAST_BITS. */
    const __m256i six = _mm256_setr_epi8(
        0, 1, 2, 3, 4, 5, -1, -1, 6, 7, 8, 9, 10, 11, -1, -1, 12, 13, 14, 15,
        16, 17, -1, -1, 18, 19, 20, 21, 22, 23, -1, -1);
    const __m256i shifts = _mm256_set1_epi64x(0x2a241e18120c0600);
    __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)from);
    x = _mm256_permutexvar_epi8(six, x);
    x = _mm256_multishift_epi64_epi8(shifts, x);
    x = _mm256_and_si256(x, _mm256_set1_epi8((1 << LAST_BITS) - 1));
    x = _mm256_maskz_mov_epi8((__mmask32)_bzhi_u64(UINT32_MAX, n), x);
    _mm256_storeu_si256((__m256i *)(void *)s->last, x);
    const __m256i nothing = _mm256_setzero_si256();
    __m256i sums =
        _mm256_sad_epu8(_mm256_subs_epu8(x, _mm256_set1_epi8(1)), nothing);
    __m128i sum = _mm_add_epi64(_mm256_castsi256_si128(sums),
                                _mm256_extracti128_si256(sums, 1));
    sum = _mm_add_epi64(sum, _mm_unpackhi_epi64(sum, sum));
    return (size_t)_mm_cvtsi128_si64(sum);
}

/* ---- DC ----------------------------------------------------------------- */

/* Each number and all before it. */
AVX512 FDL_INLINE __m512i running_sums(__m512i x)
{
    const __m512i nothing = _mm512_setzero_si512();
    x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, nothing, 15));
    x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, nothing, 14));
    x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, nothing, 12));
    return _mm512_add_epi32(x, _mm512_alignr_epi32(x, nothing, 8));
}

/* Sixteen numbers begin on a byte again. */
AVX512 static void dc(struct fdl_segment *s, const uint8_t *from, unsigned bits,
                      unsigned n)
{
    const __m512i count =
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i one = _mm512_set1_epi32(1);
    __m512i at = _mm512_mullo_epi32(count, _mm512_set1_epi32((int)bits));
    __m512i shift = _mm512_and_si512(at, _mm512_set1_epi32(7));
    __m512i bytes = _mm512_mullo_epi32(_mm512_srli_epi32(at, 3),
                                       _mm512_set1_epi32(0x01010101));
    bytes = _mm512_add_epi32(bytes, _mm512_set1_epi32(0x03020100));
    __m512i mask = _mm512_set1_epi32((1 << bits) - 1);
    __m512i before = _mm512_set1_epi32(s->dc[0]);
    for (unsigned i = 1; i < n; i += 16, from += (size_t)2 * bits) {
        __m512i x = _mm512_permutexvar_epi8(bytes, _mm512_loadu_si512(from));
        x = _mm512_and_si512(_mm512_srlv_epi32(x, shift), mask);
        __m512i negative =
            _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_and_si512(x, one));
        x = _mm512_xor_si512(_mm512_srli_epi32(x, 1), negative);
        x = _mm512_add_epi32(running_sums(x), before);
        _mm256_mask_storeu_epi16(s->dc + i, (__mmask16)_bzhi_u32(0xffff, n - i),
                                 _mm512_cvtepi32_epi16(x));
        before = _mm512_permutexvar_epi32(_mm512_set1_epi32(15), x);
    }
}

/* ---- Values ------------------------------------------------------------- */

AVX512 static unsigned count(const uint8_t *bits, unsigned n)
{
    return fdl_segment_count_bits(bits, n);
}

/* 64 nibbles as bytes. */
AVX512 FDL_INLINE __m512i nibbles_64(const uint8_t *from)
{
    __m512i x = _mm512_cvtepu8_epi16(
        _mm256_loadu_si256((const __m256i *)(const void *)from));
    return _mm512_and_si512(_mm512_or_si512(x, _mm512_slli_epi16(x, 4)),
                            _mm512_set1_epi8(15));
}

AVX512 static bool excess(const struct fdl_segment_streams *in, uint8_t *to,
                          size_t *bytes, unsigned *words)
{
    const uint8_t *byte = in->bytes;
    const __m512i full = _mm512_set1_epi8(NIBBLE_FULL);
    const __m512i all = _mm512_set1_epi8((char)0xff);
    *words = 0;
    for (unsigned i = 0; i < in->n_large; i += 64) {
        __m512i x = nibbles_64(in->nibbles + i / 2);
        uint64_t more = _bzhi_u64(_mm512_cmpeq_epi8_mask(x, full),
                                  FDL_MIN(in->n_large - i, 64));
        if (fdl_segment_count(more) > (size_t)(in->end - byte))
            return false;
        __m512i sum = _mm512_add_epi8(
            x, _mm512_maskz_expand_epi8(more, _mm512_loadu_si512(byte)));
        byte += fdl_segment_count(more);
        /* A byte that is too large wraps to less than the nibble. */
        if (_mm512_cmplt_epu8_mask(sum, x))
            return false;
        *words += fdl_segment_count(more & _mm512_cmpeq_epi8_mask(sum, all));
        _mm512_storeu_si512(to + i, sum);
    }
    *bytes = (size_t)(byte - in->bytes);
    return true;
}

FDL_INLINE uint32_t load_32(const uint8_t *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof(x));
    return x;
}

AVX512 static void values(const struct fdl_segment_streams *in,
                          const uint8_t *from, int16_t *to)
{
    const __m512i one = _mm512_set1_epi16(1), mark = _mm512_set1_epi16(MARKED);
    const uint8_t *word = in->words;
    for (unsigned i = 0; i < in->values; i += 32) {
        uint32_t large = load_32(in->large + i / 8);
        uint32_t sign = load_32(in->signs + i / 8);
        __m256i bytes = _mm256_maskz_expand_epi8(
            large, _mm256_loadu_si256((const __m256i *)(const void *)from));
        from += fdl_segment_count(large);
        __m512i m = _mm512_add_epi16(_mm512_cvtepu8_epi16(bytes), one);
        m = _mm512_mask_add_epi16(m, large, m, one);
        uint32_t marked = _mm512_cmpeq_epi16_mask(m, mark);
        if (FDL_UNLIKELY(marked)) {
            m = _mm512_mask_expand_epi16(m, marked, _mm512_loadu_si512(word));
            word += (size_t)2 * fdl_segment_count(marked);
        }
        m = _mm512_mask_sub_epi16(m, sign, _mm512_setzero_si512(), m);
        _mm512_storeu_si512(to + i, m);
    }
}

/* ---- Blocks ------------------------------------------------------------- */

AVX512 FDL_INLINE void store_rows(__m512i x, int16_t *to, size_t stride)
{
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
    uint32_t top = (uint32_t)where, bottom = (uint32_t)(where >> 32);
    __m512i x = _mm512_loadu_si512(from);
    store_rows(_mm512_maskz_expand_epi16(top, x), to, stride);
    x = _mm512_loadu_si512(from + fdl_segment_count(top));
    store_rows(_mm512_maskz_expand_epi16(bottom, x), to + 4 * stride, stride);
}

const struct fdl_segment_kernels fdl_segment_avx512 = {
    lasts, dc, places, count, excess, values, block};
#endif
