/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libjpeg-turbo transforms one block at a time, all 64 coefficients of it. Here
 * a register holds rows of two blocks, and the entropy decoder tells how far a
 * block goes: if to its tenth coefficient at most, half of the work is left
 * out, and almost all of it if there is but the first.
 *
 * The arithmetic is that of Loeffler, Ligtenberg and Moschytz with 11
 * multiplications, in its vector form: sums of two products of 16 bits.
 */
#include "decode/formats/jpeg_transform.h"

#include "base/compiler.h"
#include "base/cpu.h"
#include "decode/formats/jpeg_factors.h"
#include "decode/formats/jpeg_pair.h"
#include "decode/formats/jpeg_transform_avx512.h"

#include <stdbool.h>
#include <string.h>

const uint8_t fdl_jpeg_pair_order[64] = {
    0,   1,   16,  32,  17,  2,  3,  18, 33,  48,  64,  49,  34, 19,  4,   5,
    20,  35,  50,  65,  80,  96, 81, 66, 51,  36,  21,  6,   7,  22,  37,  52,
    67,  82,  97,  112, 113, 98, 83, 68, 53,  38,  23,  39,  54, 69,  84,  99,
    114, 115, 100, 85,  70,  55, 71, 86, 101, 116, 117, 102, 87, 103, 118, 119,
};

/* libjpeg has no vectors for this one: products have 32 bits, and what is left
 * of them is cut to 10 bits before it is limited to a byte. */
void fdl_jpeg_pair_of_1(int16_t *coefficients, const uint16_t *quant,
                        unsigned last, uint8_t zero, uint8_t *to, size_t stride)
{
    (void)stride;
    for (int i = 0; i < 2; i++) {
        int32_t x = (coefficients[8 * i] * (int16_t)quant[0] + 4) >> 3;
        x = (int32_t)((uint32_t)x << 22) >> 22;
        to[i] = (uint8_t)(FDL_MIN(FDL_MAX(x, -128), 127) + zero);
    }
    size_t values = last == 0 ? 16 : FDL_PAIR_COEFFICIENTS;
    memset(coefficients, 0, values * sizeof(*coefficients));
}

#if defined(__x86_64__)
/* ---- The transform ------------------------------------------------------ */

/* a * p + b * q of mixed(p, q). */
AVX2 FDL_INLINE __m256i products(__m256i x, int a, int b)
{
    int both = (int)((uint32_t)b << 16 | (uint16_t)a);
    return _mm256_madd_epi16(x, _mm256_set1_epi32(both));
}

AVX2 FDL_INLINE __m256i plus(__m256i a, __m256i b)
{
    return _mm256_add_epi32(a, b);
}

/* Half of what `shift` drops. */
AVX2 FDL_INLINE __m256i rounded(__m256i x, int shift)
{
    return plus(x, _mm256_set1_epi32(1 << (shift - 1)));
}

/* Times 2^CONST_BITS. */
AVX2 FDL_INLINE __m256i scaled(__m256i x, enum half half)
{
    return _mm256_srai_epi32(mixed(_mm256_setzero_si256(), x, half),
                             16 - CONST_BITS);
}

AVX2 FDL_INLINE void butterfly(__m256i *out, int i, __m256i even, __m256i odd,
                               int shift)
{
    out[i] = _mm256_srai_epi32(plus(even, odd), shift);
    out[7 - i] = _mm256_srai_epi32(_mm256_sub_epi32(even, odd), shift);
}

AVX2 FDL_INLINE void half_pass(const __m256i *v, __m256i *out, int shift,
                               enum half h)
{
    __m256i z =
        mixed(_mm256_add_epi16(v[7], v[3]), _mm256_add_epi16(v[5], v[1]), h);
    __m256i z3 = products(z, F_1_175 - F_1_961, F_1_175);
    __m256i z4 = products(z, F_1_175, F_1_175 - F_0_390);
    __m256i b = mixed(v[7], v[1], h), c = mixed(v[5], v[3], h);
    __m256i odd3 = plus(products(b, F_0_298 - F_0_899, -F_0_899), z3);
    __m256i odd0 = plus(products(b, -F_0_899, F_1_501 - F_0_899), z4);
    __m256i odd2 = plus(products(c, F_2_053 - F_2_562, -F_2_562), z4);
    __m256i odd1 = plus(products(c, -F_2_562, F_3_072 - F_2_562), z3);

    __m256i a = mixed(v[2], v[6], h);
    __m256i t3 = products(a, F_0_541 + F_0_765, F_0_541);
    __m256i t0 = rounded(scaled(_mm256_add_epi16(v[0], v[4]), h), shift);
    butterfly(out, 0, plus(t0, t3), odd0, shift);
    butterfly(out, 3, _mm256_sub_epi32(t0, t3), odd3, shift);
    __m256i t2 = products(a, F_0_541, F_0_541 - F_1_847);
    __m256i t1 = rounded(scaled(_mm256_sub_epi16(v[0], v[4]), h), shift);
    butterfly(out, 1, plus(t1, t2), odd1, shift);
    butterfly(out, 2, _mm256_sub_epi32(t1, t2), odd2, shift);
}

/* half_pass where v[4] to v[7] are zero: nothing is added before it has 32
 * bits. */
AVX2 FDL_INLINE void half_corner_pass(const __m256i *v, __m256i *out, int shift,
                                      enum half h)
{
    const int one = 1 << CONST_BITS, c2 = F_0_541 + F_0_765, c6 = F_0_541;
    const int z4 = F_1_175 - F_0_390, z3 = F_1_175 - F_1_961;
    __m256i e = mixed(v[0], v[2], h), o = mixed(v[1], v[3], h);
    butterfly(out, 0, rounded(products(e, one, c2), shift),
              products(o, F_1_501 - F_0_899 + z4, F_1_175), shift);
    butterfly(out, 1, rounded(products(e, one, c6), shift),
              products(o, F_1_175, F_3_072 - F_2_562 + z3), shift);
    butterfly(out, 2, rounded(products(e, one, -c6), shift),
              products(o, z4, F_1_175 - F_2_562), shift);
    butterfly(out, 3, rounded(products(e, one, -c2), shift),
              products(o, F_1_175 - F_0_899, z3), shift);
}

AVX2 FDL_INLINE void pack_halves(__m256i *v, const __m256i *low,
                                 const __m256i *high)
{
    for (int i = 0; i < 8; i++)
        v[i] = _mm256_packs_epi32(low[i], high[i]);
}

/* One pass across the registers. The sums of 16 bits wrap around. */
AVX2 FDL_INLINE void pass(__m256i *v, int shift)
{
    __m256i low[8], high[8];
    half_pass(v, high, shift, HIGH);
    half_pass(v, low, shift, LOW);
    pack_halves(v, low, high);
}

/* Without `all`, only of the first four columns; the rest is a copy. */
AVX2 FDL_INLINE void corner_pass(__m256i *v, int shift, bool all)
{
    __m256i low[8], high[8];
    half_corner_pass(v, high, shift, all ? HIGH : LOW);
    half_corner_pass(v, low, shift, LOW);
    pack_halves(v, low, all ? high : low);
}

AVX2 FDL_INLINE void store_rows(__m256i rows, uint8_t *to, size_t stride)
{
    __m256i sorted = _mm256_permute4x64_epi64(rows, 0xd8);
    _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128(sorted));
    _mm_storeu_si128((__m128i *)(to + stride),
                     _mm256_extracti128_si256(sorted, 1));
}

/* v: columns; both blocks are written as rows. */
AVX2 FDL_INLINE void store_columns(const __m256i *v, uint8_t zero, uint8_t *to,
                                   size_t stride)
{
    const __m256i bias = _mm256_set1_epi8((char)zero);
    __m256i a[4], b[4], half[2][2];
    for (int i = 0; i < 4; i++)
        a[i] = _mm256_add_epi8(_mm256_packs_epi16(v[i], v[i + 4]), bias);
    for (int i = 0; i < 2; i++) {
        b[2 * i] = _mm256_unpacklo_epi8(a[2 * i], a[2 * i + 1]);
        b[2 * i + 1] = _mm256_unpackhi_epi8(a[2 * i], a[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        half[i][0] = _mm256_unpacklo_epi16(b[i], b[i + 2]);
        half[i][1] = _mm256_unpackhi_epi16(b[i], b[i + 2]);
    }
    for (int i = 0; i < 2; i++) {
        __m256i low = _mm256_unpacklo_epi32(half[0][i], half[1][i]);
        __m256i high = _mm256_unpackhi_epi32(half[0][i], half[1][i]);
        store_rows(low, to + (size_t)(4 * i) * stride, stride);
        store_rows(high, to + (size_t)(4 * i + 2) * stride, stride);
    }
}

AVX2 FDL_INLINE __m256i stored_row(const int16_t *coefficients, int i)
{
    const void *at = coefficients + (size_t)i * 16;
    return _mm256_load_si256(at);
}

AVX2 FDL_INLINE __m256i row_of(const int16_t *coefficients,
                               const uint16_t *quant, int i)
{
    const void *q = quant + (size_t)i * 8;
    return _mm256_mullo_epi16(stored_row(coefficients, i),
                              _mm256_broadcastsi128_si256(_mm_loadu_si128(q)));
}

AVX2 FDL_INLINE void load_rows(__m256i *v, int16_t *coefficients,
                               const uint16_t *quant, int rows)
{
    for (int i = 0; i < rows; i++) {
        v[i] = row_of(coefficients, quant, i);
        _mm256_store_si256((__m256i *)(void *)(coefficients + (size_t)i * 16),
                           _mm256_setzero_si256());
    }
}

/* libjpeg-turbo leaves out the first pass where rows 1 to 7 of a block are
 * zero. That is the same as long as row 0 times 2^PASS1_BITS has 16 bits. */
AVX2 FDL_INLINE bool is_large(const int16_t *coefficients,
                              const uint16_t *quant)
{
    __m256i row = row_of(coefficients, quant, 0);
    __m256i up = _mm256_slli_epi16(row, PASS1_BITS);
    __m256i same = _mm256_cmpeq_epi16(_mm256_srai_epi16(up, PASS1_BITS), row);
    return _mm256_movemask_epi8(same) != -1;
}

/* The blocks whose rows 1 to 7 are zero, before they are multiplied: a factor
 * of a damaged table may be zero. Without `row4`, that one does not count. */
AVX2 static __m256i flat_blocks(const int16_t *coefficients, bool row4)
{
    const __m256i nothing = _mm256_setzero_si256();
    __m256i any = nothing;
    for (int i = 1; i < 8; i++)
        if (i != 4 || row4)
            any = _mm256_or_si256(any, stored_row(coefficients, i));
    __m256i zero = _mm256_cmpeq_epi64(any, nothing);
    return _mm256_and_si256(zero, _mm256_shuffle_epi32(zero, 0x4e));
}

/* In flat blocks n rows become row 0. */
AVX2 FDL_INLINE void keep_flat(__m256i *rows, int n, __m256i row0, __m256i flat)
{
    row0 = _mm256_slli_epi16(row0, PASS1_BITS);
    for (int i = 0; i < n; i++)
        rows[i] = _mm256_blendv_epi8(rows[i], row0, flat);
}

AVX2 static void first_pass_of_large(__m256i *v, int16_t *coefficients,
                                     const uint16_t *quant)
{
    __m256i flat = flat_blocks(coefficients, true);
    load_rows(v, coefficients, quant, 8);
    __m256i row0 = v[0];
    pass(v, CONST_BITS - PASS1_BITS);
    keep_flat(v, 8, row0, flat);
}

/* 8 samples of each block. */
AVX2 static __m128i flat_row(int16_t *coefficients, uint16_t quant,
                             uint8_t zero)
{
    const __m256i bias = _mm256_set1_epi8((char)zero);
    __m256i *at = (__m256i *)(void *)coefficients;
    __m256i v = _mm256_mullo_epi16(_mm256_load_si256(at),
                                   _mm256_set1_epi16((int16_t)quant));
    const int drop = 16 + PASS1_BITS + 3;
    _mm256_store_si256(at, _mm256_setzero_si256());
    v = _mm256_slli_epi32(v, 16 + PASS1_BITS);
    v = _mm256_srai_epi32(v, 16);
    v = _mm256_add_epi32(v, _mm256_set1_epi32(1 << (drop - 17)));
    v = _mm256_srai_epi32(v, drop - 16);
    v = _mm256_packs_epi32(v, v);
    v = _mm256_add_epi8(_mm256_packs_epi16(v, v), bias);
    v = _mm256_shuffle_epi8(v, _mm256_setzero_si256());
    return _mm_unpacklo_epi64(_mm256_castsi256_si128(v),
                              _mm256_extracti128_si256(v, 1));
}

AVX2 static void pair(int16_t *coefficients, const uint16_t *quant,
                      unsigned last, uint8_t zero, uint8_t *to, size_t stride)
{
    const int first = CONST_BITS - PASS1_BITS;
    const int second = CONST_BITS + PASS1_BITS + 3;
    __m256i v[8];
    if (last == 0) {
        __m128i row = flat_row(coefficients, quant[0], zero);
        for (int i = 0; i < 8; i++)
            _mm_storeu_si128((__m128i *)(to + (size_t)i * stride), row);
        return;
    }
    if (FDL_UNLIKELY(is_large(coefficients, quant))) {
        first_pass_of_large(v, coefficients, quant);
        transpose(v);
        pass(v, second);
    } else if (last <= CORNER_LAST) {
        load_rows(v, coefficients, quant, 4);
        corner_pass(v, first, false);
        transpose_corner(v);
        corner_pass(v, second, true);
    } else {
        load_rows(v, coefficients, quant, 8);
        pass(v, first);
        transpose(v);
        pass(v, second);
    }
    store_columns(v, zero, to, stride);
}

/* ---- Transforms to smaller blocks --------------------------------------- */

/* To four values: `first` is eight of no. 0 and zeros, the others are mixed. */
AVX2 FDL_INLINE void four_of(__m256i first, __m256i v26, __m256i v13,
                             __m256i v57, int shift, __m256i out[4])
{
    __m256i t = rounded(_mm256_srai_epi32(first, 16 - CONST_BITS - 1), shift);
    __m256i even = products(v26, F_1_847, -F_0_765);
    __m256i outer = plus(products(v13, F_2_562, F_0_899),
                         products(v57, -F_0_601, -F_0_509));
    __m256i inner = plus(products(v13, F_1_061, -F_2_172),
                         products(v57, F_1_451, -F_0_211));
    __m256i sum = plus(t, even), rest = _mm256_sub_epi32(t, even);
    out[0] = _mm256_srai_epi32(plus(sum, outer), shift);
    out[1] = _mm256_srai_epi32(plus(rest, inner), shift);
    out[2] = _mm256_srai_epi32(_mm256_sub_epi32(rest, inner), shift);
    out[3] = _mm256_srai_epi32(_mm256_sub_epi32(sum, outer), shift);
}

AVX2 static void pair_of_4(int16_t *coefficients, const uint16_t *quant,
                           unsigned last, uint8_t zero, uint8_t *to,
                           size_t stride)
{
    const __m256i none = _mm256_setzero_si256();
    const int first = CONST_BITS - PASS1_BITS + 1;
    const int second = CONST_BITS + PASS1_BITS + 3 + 1;
    __m256i v[8], low[4], high[4], rows[4];
    if (last == 0) {
        __m128i row = flat_row(coefficients, quant[0], zero);
        row = _mm_shuffle_epi32(row, 0x08);
        for (int i = 0; i < 4; i++)
            _mm_storel_epi64((__m128i *)(to + (size_t)i * stride), row);
        return;
    }
    bool large = is_large(coefficients, quant);
    __m256i flat = large ? flat_blocks(coefficients, false) : none;
    load_rows(v, coefficients, quant, 8);
    four_of(mixed(none, v[0], LOW), mixed(v[2], v[6], LOW),
            mixed(v[1], v[3], LOW), mixed(v[5], v[7], LOW), first, low);
    four_of(mixed(none, v[0], HIGH), mixed(v[2], v[6], HIGH),
            mixed(v[1], v[3], HIGH), mixed(v[5], v[7], HIGH), first, high);
    for (int i = 0; i < 4; i++)
        rows[i] = _mm256_packs_epi32(low[i], high[i]);
    if (FDL_UNLIKELY(large))
        keep_flat(rows, 4, v[0], flat);

    /* Columns 0 and 1, 2 and 3, ... of 4 values each. */
    __m256i a = _mm256_unpacklo_epi16(rows[0], rows[1]);
    __m256i b = _mm256_unpacklo_epi16(rows[2], rows[3]);
    __m256i c = _mm256_unpackhi_epi16(rows[0], rows[1]);
    __m256i d = _mm256_unpackhi_epi16(rows[2], rows[3]);
    __m256i c01 = _mm256_unpacklo_epi32(a, b),
            c23 = _mm256_unpackhi_epi32(a, b);
    __m256i c45 = _mm256_unpacklo_epi32(c, d),
            c67 = _mm256_unpackhi_epi32(c, d);
    four_of(mixed(none, c01, LOW), mixed(c23, c67, LOW), mixed(c01, c23, HIGH),
            mixed(c45, c67, HIGH), second, v);

    /* Of each block the columns of bytes, then its rows. */
    a = _mm256_packs_epi32(v[0], v[1]);
    b = _mm256_packs_epi32(v[2], v[3]);
    a = _mm256_add_epi8(_mm256_packs_epi16(a, b), _mm256_set1_epi8((char)zero));
    a = _mm256_shuffle_epi8(
        a, _mm256_broadcastsi128_si256(_mm_setr_epi8(
               0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)));
    __m128i left = _mm256_castsi256_si128(a);
    __m128i right = _mm256_extracti128_si256(a, 1);
    __m128i two[2] = {_mm_unpacklo_epi32(left, right),
                      _mm_unpackhi_epi32(left, right)};
    for (size_t i = 0; i < 2; i++) {
        _mm_storel_epi64((__m128i *)(to + 2 * i * stride), two[i]);
        _mm_storel_epi64((__m128i *)(to + (2 * i + 1) * stride),
                         _mm_unpackhi_epi64(two[i], two[i]));
    }
}

/* Sums and differences of the first value, times 2^(CONST_BITS + 2), and odd
 * ones. */
AVX2 static void pair_of_2(int16_t *coefficients, const uint16_t *quant,
                           unsigned last, uint8_t zero, uint8_t *to,
                           size_t stride)
{
    const __m256i none = _mm256_setzero_si256();
    const __m256i odd_columns = _mm256_broadcastsi128_si256(
        _mm_setr_epi16(0, F_3_624, 0, -F_1_272, 0, F_0_850, 0, -F_0_720));
    const int first = CONST_BITS - PASS1_BITS + 2;
    const int second = CONST_BITS + PASS1_BITS + 3 + 2;
    __m256i v[8], sum[2], rest[2];
    (void)last;
    load_rows(v, coefficients, quant, 8);
    for (int h = LOW; h <= HIGH; h++) {
        enum half half = h ? HIGH : LOW;
        __m256i t =
            _mm256_srai_epi32(mixed(none, v[0], half), 16 - CONST_BITS - 2);
        __m256i odd =
            plus(products(mixed(v[1], v[3], half), F_3_624, -F_1_272),
                 products(mixed(v[5], v[7], half), F_0_850, -F_0_720));
        t = rounded(t, first);
        sum[h] = _mm256_srai_epi32(plus(t, odd), first);
        rest[h] = _mm256_srai_epi32(_mm256_sub_epi32(t, odd), first);
    }
    __m256i a =
        _mm256_madd_epi16(_mm256_packs_epi32(sum[0], sum[1]), odd_columns);
    __m256i b =
        _mm256_madd_epi16(_mm256_packs_epi32(rest[0], rest[1]), odd_columns);
    __m256i odd = _mm256_hadd_epi32(a, b);
    odd = _mm256_hadd_epi32(odd, odd);
    __m256i t = _mm256_slli_epi32(_mm256_unpacklo_epi32(sum[0], rest[0]),
                                  CONST_BITS + 2);
    t = rounded(t, second);
    t = _mm256_unpacklo_epi32(plus(t, odd), _mm256_sub_epi32(t, odd));
    t = _mm256_srai_epi32(t, second);
    t = _mm256_packs_epi32(t, t);
    t = _mm256_add_epi8(_mm256_packs_epi16(t, t), _mm256_set1_epi8((char)zero));
    __m128i both = _mm_unpacklo_epi16(_mm256_castsi256_si128(t),
                                      _mm256_extracti128_si256(t, 1));
    uint64_t rows = (uint64_t)_mm_cvtsi128_si64(both);
    memcpy(to, &rows, 4);
    rows >>= 32;
    memcpy(to + stride, &rows, 4);
}

/* ---- Upsampling and colour ---------------------------------------------- */

AVX2 FDL_INLINE __m256i words_of(const int8_t *x)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)x));
}

AVX2 FDL_INLINE __m256i times_3(__m256i x)
{
    return _mm256_add_epi16(_mm256_add_epi16(x, x), x);
}

/* Each sample becomes two: three quarters of it, and one of the sample to its
 * left, or to its right. */
AVX2 FDL_INLINE void double_columns(__m256i left, __m256i x, __m256i right,
                                    int round_left, int round_right, int shift,
                                    int8_t *to)
{
    const __m256i low_byte = _mm256_set1_epi16(0xff);
    __m256i most = times_3(x);
    left = _mm256_add_epi16(left, _mm256_set1_epi16((int16_t)round_left));
    right = _mm256_add_epi16(right, _mm256_set1_epi16((int16_t)round_right));
    left = _mm256_srai_epi16(_mm256_add_epi16(most, left), shift);
    right = _mm256_srai_epi16(_mm256_add_epi16(most, right), shift);
    _mm256_storeu_si256((__m256i *)(void *)to,
                        _mm256_or_si256(_mm256_and_si256(left, low_byte),
                                        _mm256_slli_epi16(right, 8)));
}

AVX2 static void upsample_h2v1(const int8_t *near, const int8_t *far, int below,
                               size_t n, int8_t *to)
{
    (void)far;
    (void)below;
    for (size_t i = 0; i < n; i += 16)
        double_columns(words_of(near + i - 1), words_of(near + i),
                       words_of(near + i + 1), 1, 2, 2, to + 2 * i);
}

AVX2 FDL_INLINE __m256i between(const int8_t *near, const int8_t *far)
{
    return _mm256_add_epi16(times_3(words_of(near)), words_of(far));
}

AVX2 static void upsample_h2v2(const int8_t *near, const int8_t *far, int below,
                               size_t n, int8_t *to)
{
    (void)below;
    for (size_t i = 0; i < n; i += 16)
        double_columns(between(near + i - 1, far + i - 1),
                       between(near + i, far + i),
                       between(near + i + 1, far + i + 1), 8, 7, 4, to + 2 * i);
}

AVX2 static void upsample_h1v2(const int8_t *near, const int8_t *far, int below,
                               size_t n, int8_t *to)
{
    const __m256i round = _mm256_set1_epi16(below ? 2 : 1);
    for (size_t i = 0; i < n; i += 16) {
        __m256i x = _mm256_add_epi16(between(near + i, far + i), round);
        x = _mm256_srai_epi16(x, 2);
        x = _mm256_permute4x64_epi64(_mm256_packs_epi16(x, x), 0x08);
        _mm_storeu_si128((__m128i *)(to + i), _mm256_castsi256_si128(x));
    }
}

AVX2 FDL_INLINE __m256i green_of(__m256i cb, __m256i cr, enum half half)
{
    __m256i x = products(mixed(cb, cr, half), -11277, -23401);
    return _mm256_srai_epi32(rounded(x, 15), 15);
}

/* libjpeg's sums of products with 16 bits of fraction, rounded, with 15. All
 * factors but 26345 are even, and that may be rounded up for samples of a byte.
 */
AVX2 FDL_INLINE void rgb_16(const uint8_t *y_from, const int8_t *cb_from,
                            const int8_t *cr_from, uint8_t *to)
{
    __m256i y = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)y_from));
    __m256i cb = words_of(cb_from), cr = words_of(cr_from);
    __m256i red = _mm256_mulhrs_epi16(cr, _mm256_set1_epi16(13173));
    __m256i blue = _mm256_mulhrs_epi16(cb, _mm256_set1_epi16(-7471));
    red = _mm256_add_epi16(_mm256_add_epi16(y, cr), red);
    blue =
        _mm256_add_epi16(_mm256_add_epi16(y, _mm256_add_epi16(cb, cb)), blue);
    __m256i green =
        _mm256_packs_epi32(green_of(cb, cr, LOW), green_of(cb, cr, HIGH));
    green = _mm256_add_epi16(y, green);

    __m256i rg = _mm256_packus_epi16(red, green);
    __m256i b = _mm256_packus_epi16(blue, blue);
    const __m256i rg_first = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 8, -1, 1, 9, -1, 2, 10, -1, 3, 11, -1, 4, 12, -1, 5));
    const __m256i b_first = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        -1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1));
    const __m256i rg_rest = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        13, -1, 6, 14, -1, 7, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1));
    const __m256i b_rest = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        -1, 5, -1, -1, 6, -1, -1, 7, -1, -1, -1, -1, -1, -1, -1, -1));
    __m256i first = _mm256_or_si256(_mm256_shuffle_epi8(rg, rg_first),
                                    _mm256_shuffle_epi8(b, b_first));
    __m256i rest = _mm256_or_si256(_mm256_shuffle_epi8(rg, rg_rest),
                                   _mm256_shuffle_epi8(b, b_rest));
    _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128(first));
    _mm_storel_epi64((__m128i *)(to + 16), _mm256_castsi256_si128(rest));
    _mm_storeu_si128((__m128i *)(to + 24), _mm256_extracti128_si256(first, 1));
    _mm_storel_epi64((__m128i *)(to + 40), _mm256_extracti128_si256(rest, 1));
}

AVX2 static void rgb(const uint8_t *y, const int8_t *cb, const int8_t *cr,
                     size_t n, uint8_t *to)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        rgb_16(y + i, cb + i, cr + i, to + 3 * i);
    if (i < n) {
        uint8_t rest[48];
        rgb_16(y + i, cb + i, cr + i, rest);
        memcpy(to + 3 * i, rest, 3 * (n - i));
    }
}

static const struct fdl_jpeg_transform avx2 = {
    .pair = {fdl_jpeg_pair_of_1, pair_of_2, pair_of_4, pair},
    .upsample = {{NULL, upsample_h1v2}, {upsample_h2v1, upsample_h2v2}},
    .rgb = rgb,
};

#  define BOTH(a, b) (int32_t)((uint32_t)(b) << 16 | (uint16_t)(a))
const int32_t fdl_jpeg_avx512_factors[FDL_JPEG_AVX512_FACTORS] = {
    BOTH(1 << CONST_BITS, 1 << CONST_BITS),
    BOTH(1 << CONST_BITS, -(1 << CONST_BITS)),
    BOTH(F_0_541 + F_0_765, F_0_541),
    BOTH(F_0_541, F_0_541 - F_1_847),
    BOTH(-F_0_541, F_1_847 - F_0_541),
    BOTH(-F_0_541 - F_0_765, -F_0_541),
    /* Of rows 1 and 3, for each odd sum, and of rows 5 and 7. */
    BOTH(F_1_501 - F_0_899 + F_1_175 - F_0_390, F_1_175),
    BOTH(F_1_175, F_3_072 - F_2_562 + F_1_175 - F_1_961),
    BOTH(F_1_175 - F_0_390, F_1_175 - F_2_562),
    BOTH(F_1_175 - F_0_899, F_1_175 - F_1_961),
    BOTH(F_1_175 - F_0_390, F_1_175 - F_0_899),
    BOTH(F_1_175 - F_2_562, F_1_175 - F_1_961),
    BOTH(F_2_053 - F_2_562 + F_1_175 - F_0_390, F_1_175),
    BOTH(F_1_175, F_0_298 - F_0_899 + F_1_175 - F_1_961),
};

static void pair_avx512(int16_t *coefficients, const uint16_t *quant,
                        unsigned last, uint8_t zero, uint8_t *to, size_t stride)
{
    if (last == 0 ||
        !fdl_jpeg_pair_avx512(coefficients, quant, last, zero, to, stride))
        pair(coefficients, quant, last, zero, to, stride);
}

static const struct fdl_jpeg_transform avx512 = {
    .pair = {fdl_jpeg_pair_of_1, pair_of_2, pair_of_4, pair_avx512},
    .upsample = {{NULL, upsample_h1v2}, {upsample_h2v1, upsample_h2v2}},
    .rgb = fdl_jpeg_rgb_avx512,
};

const struct fdl_jpeg_transform *fdl_jpeg_transform(void)
{
    if (fdl_cpu_level() >= FDL_CPU_AVX512)
        return &avx512;
    return fdl_cpu_level() >= FDL_CPU_AVX2 ? &avx2 : NULL;
}
#else
const struct fdl_jpeg_transform *fdl_jpeg_transform(void)
{
#  if defined(__aarch64__)
    if (fdl_cpu_level() >= FDL_CPU_NEON)
        return &fdl_jpeg_transform_neon;
#  endif
    return NULL;
}
#endif
