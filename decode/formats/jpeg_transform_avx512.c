/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transform of whole blocks, and colour, with AVX-512. VNNI multiplies two
 * numbers of 16 bits each and adds, so a sum of four products takes two
 * instructions. The form with 11 multiplications takes more, and adds some of
 * its numbers before, in 16 bits that wrap around; nothing does here. So blocks
 * in which that could happen are left to it.
 */
#include "decode/formats/jpeg_transform_avx512.h"

#include "base/compiler.h"
#include "decode/formats/jpeg_pair.h"

#if defined(__x86_64__)
#  define AVX512                                                               \
    FDL_TARGET("avx2,avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")

/* Most of a column's sum of magnitudes: the first pass takes it 4 times 1.387,
 * and two of those are to fit into 16 bits. */
#  define SUM_MOST 2952

/* Two factors: those of libjpeg, times 2^13 and rounded, and added up. */
enum factors {
    PLUS,
    MINUS,
    EVEN0,
    EVEN1,
    EVEN2,
    EVEN3,
    ODD0,
    ODD1,
    ODD2,
    ODD3,
    ODD0_FAR,
    ODD1_FAR,
    ODD2_FAR,
    ODD3_FAR
};

/* ---- The transform ------------------------------------------------------ */

/* sum + a * p + b * q of mixed(p, q), where `factors` are a and b. */
AVX512 FDL_INLINE __m256i add(__m256i sum, __m256i x, enum factors factors)
{
    return _mm256_dpwssd_epi32(
        sum, x, _mm256_set1_epi32(fdl_jpeg_avx512_factors[factors]));
}

AVX512 FDL_INLINE void butterfly(__m256i *out, int i, __m256i even, __m256i odd,
                                 int shift)
{
    out[i] = _mm256_srai_epi32(_mm256_add_epi32(even, odd), shift);
    out[7 - i] = _mm256_srai_epi32(_mm256_sub_epi32(even, odd), shift);
}

/* `corner`: v[4] to v[7] are zero. */
AVX512 FDL_INLINE void half_pass(const __m256i *v, __m256i *out, int shift,
                                 enum half h, bool corner)
{
    const __m256i nothing = _mm256_setzero_si256();
    const __m256i round = _mm256_set1_epi32(1 << (shift - 1));
    __m256i v04 = mixed(v[0], corner ? nothing : v[4], h);
    __m256i v26 = mixed(v[2], corner ? nothing : v[6], h);
    __m256i v13 = mixed(v[1], v[3], h);
    __m256i plus = add(round, v04, PLUS);
    __m256i minus = corner ? plus : add(round, v04, MINUS);
    __m256i odd0 = add(nothing, v13, ODD0), odd1 = add(nothing, v13, ODD1);
    __m256i odd2 = add(nothing, v13, ODD2), odd3 = add(nothing, v13, ODD3);
    if (!corner) {
        __m256i v57 = mixed(v[5], v[7], h);
        odd0 = add(odd0, v57, ODD0_FAR);
        odd1 = add(odd1, v57, ODD1_FAR);
        odd2 = add(odd2, v57, ODD2_FAR);
        odd3 = add(odd3, v57, ODD3_FAR);
    }
    butterfly(out, 0, add(plus, v26, EVEN0), odd0, shift);
    butterfly(out, 1, add(minus, v26, EVEN1), odd1, shift);
    butterfly(out, 2, add(minus, v26, EVEN2), odd2, shift);
    butterfly(out, 3, add(plus, v26, EVEN3), odd3, shift);
}

/* One pass across the registers. Without `both`, only of the first four
 * columns; the rest is a copy. */
AVX512 FDL_INLINE void pass(__m256i *v, int shift, bool corner, bool both)
{
    __m256i low[8], high[8];
    half_pass(v, high, shift, both ? HIGH : LOW, corner);
    half_pass(v, low, shift, LOW, corner);
    for (int i = 0; i < 8; i++)
        v[i] = _mm256_packs_epi32(low[i], both ? high[i] : low[i]);
}

/* v: columns; both blocks are written as rows. Rows of four bytes of each are
 * brought together by one permutation. */
AVX512 FDL_INLINE void store_columns(const __m256i *v, uint8_t zero,
                                     uint8_t *to, size_t stride)
{
    const __m256i bias = _mm256_set1_epi8((char)zero);
    /* Dwords: of the left block, rows 0 to 3, and after it the right one. */
    const __m256i order = _mm256_setr_epi32(0, 8, 4, 12, 1, 9, 5, 13);
    const __m256i order2 = _mm256_setr_epi32(2, 10, 6, 14, 3, 11, 7, 15);
    __m256i a[4], b[4];
    for (int i = 0; i < 4; i++)
        a[i] = _mm256_add_epi8(_mm256_packs_epi16(v[i], v[i + 4]), bias);
    for (int i = 0; i < 2; i++) {
        b[2 * i] = _mm256_unpacklo_epi8(a[2 * i], a[2 * i + 1]);
        b[2 * i + 1] = _mm256_unpackhi_epi8(a[2 * i], a[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        /* Columns 0 to 3 of each row, and 4 to 7. */
        __m256i low[2] = {_mm256_unpacklo_epi16(b[0], b[2]),
                          _mm256_unpackhi_epi16(b[0], b[2])};
        __m256i high[2] = {_mm256_unpacklo_epi16(b[1], b[3]),
                           _mm256_unpackhi_epi16(b[1], b[3])};
        uint8_t *row = to + (size_t)(4 * i) * stride;
        __m256i x = _mm256_permutex2var_epi32(low[i], order, high[i]);
        __m256i y = _mm256_permutex2var_epi32(low[i], order2, high[i]);
        _mm_storeu_si128((__m128i *)row, _mm256_castsi256_si128(x));
        _mm_storeu_si128((__m128i *)(row + stride),
                         _mm256_extracti128_si256(x, 1));
        _mm_storeu_si128((__m128i *)(row + 2 * stride),
                         _mm256_castsi256_si128(y));
        _mm_storeu_si128((__m128i *)(row + 3 * stride),
                         _mm256_extracti128_si256(y, 1));
    }
}

AVX512 FDL_INLINE void load_rows(__m256i *v, const int16_t *coefficients,
                                 const uint16_t *quant, int rows)
{
    for (int i = 0; i < rows; i++) {
        const int16_t *at = coefficients + (size_t)i * 16;
        const __m128i *q = (const __m128i *)(const void *)(quant + i * 8);
        v[i] = _mm256_mullo_epi16(
            _mm256_load_si256((const __m256i *)(const void *)at),
            _mm256_broadcastsi128_si256(_mm_loadu_si128(q)));
    }
}

AVX512 FDL_INLINE bool is_small(const __m256i *v, int rows)
{
    __m256i sum = _mm256_abs_epi16(v[0]);
    for (int i = 1; i < rows; i++)
        sum = _mm256_adds_epu16(sum, _mm256_abs_epi16(v[i]));
    return !_mm256_cmpgt_epu16_mask(sum, _mm256_set1_epi16(SUM_MOST));
}

AVX512 FDL_INLINE void clear_four_rows(int16_t *coefficients)
{
    _mm512_storeu_si512(coefficients, _mm512_setzero_si512());
    _mm512_storeu_si512(coefficients + 32, _mm512_setzero_si512());
}

enum { FIRST = CONST_BITS - PASS1_BITS, SECOND = CONST_BITS + PASS1_BITS + 3 };

AVX512 static bool corner(int16_t *coefficients, const uint16_t *quant,
                          uint8_t zero, uint8_t *to, size_t stride)
{
    __m256i v[8];
    load_rows(v, coefficients, quant, 4);
    if (FDL_UNLIKELY(!is_small(v, 4)))
        return false;
    clear_four_rows(coefficients);
    pass(v, FIRST, true, false);
    transpose_corner(v);
    pass(v, SECOND, true, true);
    store_columns(v, zero, to, stride);
    return true;
}

AVX512 bool fdl_jpeg_pair_avx512(int16_t *coefficients, const uint16_t *quant,
                                 unsigned last, uint8_t zero, uint8_t *to,
                                 size_t stride)
{
    if (last <= CORNER_LAST)
        return corner(coefficients, quant, zero, to, stride);
    __m256i v[8];
    load_rows(v, coefficients, quant, 8);
    if (FDL_UNLIKELY(!is_small(v, 8)))
        return false;
    clear_four_rows(coefficients);
    clear_four_rows(coefficients + 64);
    pass(v, FIRST, false, true);
    transpose(v);
    pass(v, SECOND, false, true);
    store_columns(v, zero, to, stride);
    return true;
}

/* ---- Colour ------------------------------------------------------------- */

/* Byte k of 96 is colour k % 3 of pixel k / 3. Of each 16 bytes of the first
 * operand, 8 are red and 8 green; of the second one, words are blue. */
#  define RED(i)     ((i) / 8 * 16 + (i) % 8)
#  define GREEN(i)   (RED(i) + 8)
#  define BLUE(i)    (64 + 2 * (i))
#  define PIXEL(i)   RED(i), GREEN(i), BLUE(i)
#  define PIXELS4(i) PIXEL(i), PIXEL((i) + 1), PIXEL((i) + 2), PIXEL((i) + 3)
#  define PIXELS16(i)                                                          \
    PIXELS4(i), PIXELS4((i) + 4), PIXELS4((i) + 8), PIXELS4((i) + 12)
static const uint8_t interleave[128] = {PIXELS16(0), PIXELS16(16)};

AVX512 FDL_INLINE __m512i words_of(const int8_t *x)
{
    return _mm512_cvtepi8_epi16(
        _mm256_loadu_si256((const __m256i *)(const void *)x));
}

AVX512 FDL_INLINE __m512i green_of(__m512i mixed)
{
    const __m512i factors =
        _mm512_set1_epi32((int)((uint32_t)-23401 << 16 | (uint16_t)-11277));
    const __m512i round = _mm512_set1_epi32(1 << 14);
    return _mm512_srai_epi32(_mm512_dpwssd_epi32(round, mixed, factors), 15);
}

/* 32 pixels, of which n are written. See jpeg_transform.c for the factors. */
AVX512 FDL_INLINE void rgb_32(const uint8_t *y_from, const int8_t *cb_from,
                              const int8_t *cr_from, size_t n, uint8_t *to)
{
    __m512i y = _mm512_cvtepu8_epi16(
        _mm256_loadu_si256((const __m256i *)(const void *)y_from));
    __m512i cb = words_of(cb_from), cr = words_of(cr_from);
    __m512i red = _mm512_mulhrs_epi16(cr, _mm512_set1_epi16(13173));
    __m512i blue = _mm512_mulhrs_epi16(cb, _mm512_set1_epi16(-7471));
    red = _mm512_add_epi16(_mm512_add_epi16(y, cr), red);
    blue =
        _mm512_add_epi16(_mm512_add_epi16(y, _mm512_add_epi16(cb, cb)), blue);
    __m512i green = _mm512_packs_epi32(green_of(_mm512_unpacklo_epi16(cb, cr)),
                                       green_of(_mm512_unpackhi_epi16(cb, cr)));
    green = _mm512_add_epi16(y, green);
    blue = _mm512_max_epi16(blue, _mm512_setzero_si512());
    blue = _mm512_min_epi16(blue, _mm512_set1_epi16(255));
    __m512i rg = _mm512_packus_epi16(red, green);
    __m512i front =
        _mm512_permutex2var_epi8(rg, _mm512_loadu_si512(interleave), blue);
    __m512i rest =
        _mm512_permutex2var_epi8(rg, _mm512_loadu_si512(interleave + 64), blue);
    if (FDL_LIKELY(n == 32)) {
        _mm512_storeu_si512(to, front);
        _mm256_storeu_si256((__m256i *)(void *)(to + 64),
                            _mm512_castsi512_si256(rest));
        return;
    }
    size_t bytes = 3 * n, more = bytes > 64 ? bytes - 64 : 0;
    _mm512_mask_storeu_epi8(
        to, bytes < 64 ? (UINT64_C(1) << bytes) - 1 : UINT64_MAX, front);
    _mm512_mask_storeu_epi8(to + 64, (UINT64_C(1) << more) - 1, rest);
}

AVX512 void fdl_jpeg_rgb_avx512(const uint8_t *y, const int8_t *cb,
                                const int8_t *cr, size_t n, uint8_t *to)
{
    for (size_t i = 0; i < n; i += 32)
        rgb_32(y + i, cb + i, cr + i, FDL_MIN(n - i, 32), to + 3 * i);
}
#endif
