/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading segments with AVX2. All of it rests on one step: bytes go to the
 * places of eight that a byte of bits names, by a shuffle from a table. (BMI2's
 * pdep does the same, and takes 250 cycles on a Zen 2.)
 */
#include "decode/packed/segment_parts.h"

#if defined(__x86_64__)
#  include <immintrin.h>

#  define AVX2 FDL_TARGET("avx2,bmi,bmi2,popcnt")

/* Where each of eight bytes comes from, or 0x80: a zero. The same in words of
 * 16 bits. */
#  define BIT(m, i) ((m) >> (i)&1)
#  define BELOW(m, i)                                                          \
    (BIT(m, 0) * ((i) > 0) + BIT(m, 1) * ((i) > 1) + BIT(m, 2) * ((i) > 2) +   \
     BIT(m, 3) * ((i) > 3) + BIT(m, 4) * ((i) > 4) + BIT(m, 5) * ((i) > 5) +   \
     BIT(m, 6) * ((i) > 6))
#  define BYTE_FROM(m, i) (BIT(m, i) ? BELOW(m, i) : 0x80)
#  define WORD_FROM(m, i) (BIT(m, i) ? BELOW(m, i) * 0x202 + 0x100 : 0x8080)
#  define ROW(from, m)                                                         \
    {                                                                          \
      from(m, 0), from(m, 1), from(m, 2), from(m, 3), from(m, 4), from(m, 5),  \
          from(m, 6), from(m, 7)                                               \
    }
#  define ROWS4(from, m)                                                       \
    ROW(from, m), ROW(from, (m) + 1), ROW(from, (m) + 2), ROW(from, (m) + 3)
#  define ROWS16(from, m)                                                      \
    ROWS4(from, m), ROWS4(from, (m) + 4), ROWS4(from, (m) + 8),                \
        ROWS4(from, (m) + 12)
#  define ROWS64(from, m)                                                      \
    ROWS16(from, m), ROWS16(from, (m) + 16), ROWS16(from, (m) + 32),           \
        ROWS16(from, (m) + 48)
#  define ROWS256(from)                                                        \
    ROWS64(from, 0), ROWS64(from, 64), ROWS64(from, 128), ROWS64(from, 192)

static const uint8_t spread_bytes[256][8] = {ROWS256(BYTE_FROM)};
static const uint16_t spread_words[256][8] = {ROWS256(WORD_FROM)};

AVX2 FDL_INLINE __m128i load_8(const void *p)
{
    return _mm_loadl_epi64((const __m128i *)p);
}

/* Bytes from *from on to where `bits` has a one. */
AVX2 FDL_INLINE __m128i spread_8(const uint8_t **from, unsigned bits)
{
    __m128i x = _mm_shuffle_epi8(load_8(*from), load_8(spread_bytes[bits]));
    *from += fdl_segment_count(bits);
    return x;
}

AVX2 FDL_INLINE __m128i spread_16(const uint8_t **from, unsigned bits)
{
    __m128i low = spread_8(from, bits & 255);
    return _mm_unpacklo_epi64(low, spread_8(from, bits >> 8));
}

/* ---- Places ------------------------------------------------------------- */

/* For each natural place, the byte and the bit of its place in zigzag order. */
static const uint8_t zigzag_byte[64] = {
    0, 0, 0, 0, 1, 1, 3, 3, 0, 0, 0, 1, 2, 3, 3, 5, 0, 1, 1, 2, 3, 3,
    5, 5, 1, 1, 2, 3, 3, 5, 5, 6, 1, 2, 2, 4, 4, 5, 6, 6, 2, 2, 4, 4,
    5, 6, 6, 7, 2, 4, 4, 5, 6, 7, 7, 7, 4, 4, 6, 6, 7, 7, 7, 7};
static const uint8_t zigzag_bit[64] = {
    1,  2, 32,  64,  64,  128, 8,  16, 4,  16, 128, 32, 1,   4, 32,  4,
    8,  1, 16,  2,   2,   64,  2,  8,  2,  8,  4,   1,  128, 1, 16,  32,
    4,  8, 128, 1,   128, 32,  16, 64, 16, 64, 2,   64, 64,  8, 128, 16,
    32, 4, 32,  128, 4,   1,   8,  32, 8,  16, 1,   2,  2,   4, 64,  128};

AVX2 FDL_INLINE uint64_t order(uint64_t zigzag)
{
    __m256i x = _mm256_set1_epi64x((long long)zigzag);
    uint64_t natural = 0;
    for (int i = 1; i >= 0; i--) {
        __m256i byte = _mm256_loadu_si256(
            (const __m256i *)(const void *)(zigzag_byte + 32 * i));
        __m256i bit = _mm256_loadu_si256(
            (const __m256i *)(const void *)(zigzag_bit + 32 * i));
        byte = _mm256_and_si256(_mm256_shuffle_epi8(x, byte), bit);
        byte = _mm256_cmpeq_epi8(byte, bit);
        natural = natural << 32 | (uint32_t)_mm256_movemask_epi8(byte);
    }
    return natural;
}

AVX2 static unsigned places(struct fdl_segment *s, const uint8_t *from,
                            unsigned n)
{
    return fdl_segment_read_places(s, from, n, order);
}

AVX2 static size_t lasts(struct fdl_segment *s, const uint8_t *from, unsigned n)
{
    return fdl_segment_read_lasts(s, from, n);
}

AVX2 static void dc(struct fdl_segment *s, const uint8_t *from, unsigned bits,
                    unsigned n)
{
    fdl_segment_read_dc(s, from, bits, n);
}

AVX2 static unsigned count(const uint8_t *bits, unsigned n)
{
    return fdl_segment_count_bits(bits, n);
}

/* ---- Values ------------------------------------------------------------- */

/* 32 nibbles as bytes. */
AVX2 FDL_INLINE __m256i nibbles_32(const uint8_t *from)
{
    const __m128i four = _mm_set1_epi8(15);
    __m128i x = _mm_loadu_si128((const __m128i *)from);
    __m128i low = _mm_and_si128(x, four);
    __m128i high = _mm_and_si128(_mm_srli_epi16(x, 4), four);
    return _mm256_set_m128i(_mm_unpackhi_epi8(low, high),
                            _mm_unpacklo_epi8(low, high));
}

AVX2 static bool excess(const struct fdl_segment_streams *in, uint8_t *to,
                        size_t *bytes, unsigned *words)
{
    const uint8_t *byte = in->bytes;
    const __m256i full = _mm256_set1_epi8(NIBBLE_FULL);
    const __m256i all = _mm256_set1_epi8((char)0xff);
    *words = 0;
    for (unsigned i = 0; i < in->n_large; i += 32) {
        unsigned left = in->n_large - i;
        uint32_t keep = left < 32 ? ((uint32_t)1 << left) - 1 : UINT32_MAX;
        __m256i x = nibbles_32(in->nibbles + i / 2);
        uint32_t more =
            keep & (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, full));
        if (fdl_segment_count(more) > (size_t)(in->end - byte))
            return false;
        __m128i low = spread_16(&byte, more & 0xffff);
        __m256i sum = _mm256_add_epi8(
            x, _mm256_set_m128i(spread_16(&byte, more >> 16), low));
        /* A byte that is too large wraps to less than the nibble. */
        if (_mm256_movemask_epi8(
                _mm256_cmpeq_epi8(_mm256_max_epu8(sum, x), sum)) != -1)
            return false;
        *words += fdl_segment_count(
            keep & (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(sum, all)));
        _mm256_storeu_si256((__m256i *)(void *)(to + i), sum);
    }
    *bytes = (size_t)(byte - in->bytes);
    return true;
}

/* Of 16 bits, all ones where the bit is set. */
AVX2 FDL_INLINE __m256i words_of_bits(unsigned bits)
{
    const __m256i each =
        _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048,
                          4096, 8192, 16384, (short)0x8000);
    __m256i x = _mm256_and_si256(_mm256_set1_epi16((short)bits), each);
    return _mm256_cmpeq_epi16(x, each);
}

/* Magnitudes of 16 bits, in place of what marks them in `to`. Two bits of
 * `marked` are one value. */
static const uint8_t *put_words(const uint8_t *from, uint32_t marked,
                                unsigned sign, unsigned n, int16_t *to)
{
    for (unsigned i = 0; i < n; i++) {
        if (!(marked >> (2 * i) & 1))
            continue;
        unsigned m = fdl_segment_word(from);
        to[i] = (int16_t)(uint16_t)(sign >> i & 1 ? 0 - m : m);
        from += 2;
    }
    return from;
}

AVX2 static void values(const struct fdl_segment_streams *in,
                        const uint8_t *from, int16_t *to)
{
    const __m256i one = _mm256_set1_epi16(1), mark = _mm256_set1_epi16(MARKED);
    const uint8_t *word = in->words;
    for (unsigned i = 0; i < in->values; i += 16) {
        unsigned large = in->large[i / 8] | (unsigned)in->large[i / 8 + 1] << 8;
        unsigned sign = in->signs[i / 8] | (unsigned)in->signs[i / 8 + 1] << 8;
        __m256i m = _mm256_cvtepu8_epi16(spread_16(&from, large));
        m = _mm256_add_epi16(m, one);
        m = _mm256_sub_epi16(m, words_of_bits(large)); /* plus one more */
        uint32_t marked =
            (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi16(m, mark));
        __m256i negative = words_of_bits(sign);
        m = _mm256_sub_epi16(_mm256_xor_si256(m, negative), negative);
        _mm256_storeu_si256((__m256i *)(void *)(to + i), m);
        if (FDL_UNLIKELY(marked))
            word = put_words(word, marked, sign, FDL_MIN(in->values - i, 16),
                             to + i);
    }
}

/* ---- Blocks ------------------------------------------------------------- */

AVX2 static void block(uint64_t where, const int16_t *from, int16_t *to,
                       size_t stride)
{
    for (int y = 0; y < 8; y++, where >>= 8, to += stride) {
        unsigned row = where & 255;
        __m128i control =
            _mm_loadu_si128((const __m128i *)(const void *)spread_words[row]);
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)from);
        _mm_store_si128((__m128i *)(void *)to, _mm_shuffle_epi8(x, control));
        from += fdl_segment_count(row);
    }
}

const struct fdl_segment_kernels fdl_segment_avx2 = {
    lasts, dc, places, count, excess, values, block};
#endif
