/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables in the last pass with AVX-512 VBMI: each byte of the elements is
 * looked up by itself, of 64 pixels at once, and the bytes are laid together. A
 * load for each pixel, as in plain C, takes three times as long.
 *
 * Planes are readable in whole vectors, so the end of a row is computed like
 * the rest and only stored with care.
 */
#include "decode/kernels/finish_lookup.h"
#include "decode/kernels/tables_avx512.h"

#define BLOCK FDL_TABLE_BLOCK
#define LANES 16 /* elements of four bytes in a vector */
#define PARTS 4  /* vectors of them, of a block */

/* Rows of elements. */
struct row {
    uint32_t *to;
    size_t n;  /* elements that are left, of four bytes */
    bool past; /* the caches; see finish_avx2.c */
};

AVX512 FDL_INLINE void put(struct row *row, __m512i v)
{
    if (row->n >= LANES) {
        if (row->past)
            _mm512_stream_si512((__m512i *)(void *)row->to, v);
        else
            _mm512_storeu_si512(row->to, v);
        row->to += LANES;
        row->n -= LANES;
    } else {
        __mmask16 rest = (__mmask16)((1u << row->n) - 1);
        _mm512_mask_storeu_epi32(row->to, rest, v);
        row->n = 0;
    }
}

static struct row row_at(const struct fdl_output_format *f, void *to, size_t n)
{
    bool whole = (uintptr_t)to % sizeof(__m512i) == 0;
    return (struct row){
        .to = to, .n = n, .past = whole && fdl_finish_is_large(f)};
}

struct element {
    struct fdl_table_512 byte[4];
};

AVX512 FDL_INLINE struct element load_element(const uint8_t (*split)[256])
{
    struct element e;
    for (size_t b = 0; b < 4; b++)
        e.byte[b] = fdl_table_load(split[b]);
    return e;
}

/* Of 64 pixels, in their order. Bytes are laid together in each quarter of a
 * vector, so the pixels of a vector to come are spread over these before. */
AVX512 FDL_INLINE void look_up(const uint8_t *from, const struct element *e,
                               __m512i out[PARTS])
{
    const __m512i spread =
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i x = _mm512_permutexvar_epi32(spread, _mm512_loadu_si512(from));
    __m512i a = fdl_table_lookup(x, &e->byte[0]);
    __m512i b = fdl_table_lookup(x, &e->byte[1]);
    __m512i c = fdl_table_lookup(x, &e->byte[2]);
    __m512i d = fdl_table_lookup(x, &e->byte[3]);
    __m512i ab = _mm512_unpacklo_epi8(a, b), cd = _mm512_unpacklo_epi8(c, d);
    __m512i ab_2 = _mm512_unpackhi_epi8(a, b),
            cd_2 = _mm512_unpackhi_epi8(c, d);
    out[0] = _mm512_unpacklo_epi16(ab, cd);
    out[1] = _mm512_unpackhi_epi16(ab, cd);
    out[2] = _mm512_unpacklo_epi16(ab_2, cd_2);
    out[3] = _mm512_unpackhi_epi16(ab_2, cd_2);
}

AVX512 static void nchw_4(const uint8_t *const planes[],
                          const struct fdl_affine *affine,
                          const struct fdl_output_format *f, int32_t row,
                          void *dst)
{
    for (int32_t c = 0; c < f->channels; c++) {
        uint32_t *to = (uint32_t *)dst + fdl_planar_place(f, c, row);
        struct row r = row_at(f, to, (size_t)f->width);
        struct element e = load_element(affine->split[c]);
        for (int32_t x = 0; x < f->width; x += BLOCK) {
            __m512i out[PARTS];
            look_up(planes[c] + x, &e, out);
            for (size_t i = 0; i < PARTS; i++)
                put(&r, out[i]);
        }
    }
}

/* ---- Pixels of three ---------------------------------------------------- */

/* Element i of output vector v is of pixel (16 v + i) / 3, channel (16 v + i) %
 * 3: where it is in the first two channels, and in the third. */
struct merge {
    __m512i two[3], third[3];
    __mmask16 is_third[3];
};

AVX512 static void make_merge(struct merge *m)
{
    uint32_t two[LANES], third[LANES];
    for (uint32_t v = 0; v < 3; v++) {
        uint32_t mask = 0;
        for (uint32_t i = 0; i < LANES; i++) {
            uint32_t pixel = (LANES * v + i) / 3, c = (LANES * v + i) % 3;
            two[i] = pixel + (c == 1 ? LANES : 0);
            third[i] = pixel;
            mask |= (uint32_t)(c == 2) << i;
        }
        m->two[v] = _mm512_loadu_si512(two);
        m->third[v] = _mm512_loadu_si512(third);
        m->is_third[v] = (__mmask16)mask;
    }
}

AVX512 static void nhwc_4(const uint8_t *const planes[],
                          const struct fdl_affine *affine,
                          const struct fdl_output_format *f, int32_t row,
                          void *dst)
{
    uint32_t *to = (uint32_t *)dst + fdl_output_place(f, 0, row, 0);
    struct row r = row_at(f, to, (size_t)f->width * 3);
    struct element e[3];
    struct merge m;
    make_merge(&m);
    for (int32_t c = 0; c < 3; c++)
        e[c] = load_element(affine->split[c]);
    for (int32_t x = 0; x < f->width; x += BLOCK) {
        __m512i out[3][PARTS];
        for (int32_t c = 0; c < 3; c++)
            look_up(planes[c] + x, &e[c], out[c]);
        for (size_t i = 0; i < PARTS; i++) {
            for (size_t v = 0; v < 3; v++) {
                __m512i both =
                    _mm512_permutex2var_epi32(out[0][i], m.two[v], out[1][i]);
                put(&r, _mm512_mask_permutexvar_epi32(both, m.is_third[v],
                                                      m.third[v], out[2][i]));
            }
        }
    }
}

/* ---- Eight bytes -------------------------------------------------------- */

AVX512 static void nchw_8(const uint8_t *const planes[],
                          const struct fdl_affine *affine,
                          const struct fdl_output_format *f, int32_t row,
                          void *dst)
{
    const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                            5, 21, 6, 22, 7, 23);
    const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
    for (int32_t c = 0; c < f->channels; c++) {
        uint64_t *to = (uint64_t *)dst + fdl_planar_place(f, c, row);
        struct row r = row_at(f, to, (size_t)f->width * 2);
        struct element low = load_element(affine->split[c]);
        struct element high = load_element(affine->split[c] + 4);
        for (int32_t x = 0; x < f->width; x += BLOCK) {
            __m512i lower[PARTS], upper[PARTS];
            look_up(planes[c] + x, &low, lower);
            look_up(planes[c] + x, &high, upper);
            for (size_t i = 0; i < PARTS; i++) {
                put(&r, _mm512_permutex2var_epi32(lower[i], first, upper[i]));
                put(&r, _mm512_permutex2var_epi32(lower[i], second, upper[i]));
            }
        }
    }
}

const struct fdl_lookup_kernels fdl_lookup_512 = {
    .nchw_4 = nchw_4,
    .nhwc_4 = nhwc_4,
    .nchw_8 = nchw_8,
};
