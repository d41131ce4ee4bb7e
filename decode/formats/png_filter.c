/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A byte waits for the one before it, so a row alone takes as many cycles a
 * byte as the longest filter has steps. With SSE2, 16 rows go at once: each a
 * pixel behind the one above it, which has by then what the lower one needs.
 *
 *     step        0  1  2  3  4         of pixels of one byte
 *     lane 0      x0 x1 x2 x3 x4 ..     row 0
 *     lane 1         x0 x1 x2 x3 ..     row 1
 *     lane 2            x0 x1 x2 ..     row 2
 *
 * Whatever their filters: each lane takes the prediction of its own. A lane
 * reads zeros in front of its row, of which every filter makes zeros.
 */
#include "decode/formats/png_filter.h"

#include "base/compiler.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- One row ------------------------------------------------------------ */

static inline uint8_t paeth(int32_t a, int32_t b, int32_t c)
{
    int32_t of_a = abs(b - c), of_b = abs(a - c), of_c = abs(a + b - 2 * c);
    int32_t other = of_b <= of_c ? b : c;
    return (uint8_t)(of_a <= FDL_MIN(of_b, of_c) ? a : other);
}

/* a: what is before a byte; c: what is above that. */
static inline void unfilter(enum fdl_png_filter filter, uint8_t *row,
                            const uint8_t *above, size_t n, size_t pixel)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t a = i < pixel ? 0 : row[i - pixel];
        uint8_t c = i < pixel ? 0 : above[i - pixel];
        uint8_t predicted = 0;
        if (filter == FDL_PNG_SUB)
            predicted = a;
        else if (filter == FDL_PNG_UP)
            predicted = above[i];
        else if (filter == FDL_PNG_AVERAGE)
            predicted = (uint8_t)((a + above[i]) / 2);
        else if (filter == FDL_PNG_PAETH)
            predicted = paeth(a, above[i], c);
        row[i] = (uint8_t)(row[i] + predicted);
    }
}

/* A loop for each filter. */
static void unfilter_row(const struct fdl_png_rows *rows, size_t y)
{
    size_t n = rows->row_bytes, pixel = rows->pixel;
    uint8_t *row = rows->first + y * (n + 1);
    const uint8_t *above = row - (n + 1);
    switch (row[-1]) {
    case FDL_PNG_SUB:
        unfilter(FDL_PNG_SUB, row, above, n, pixel);
        break;
    case FDL_PNG_UP:
        unfilter(FDL_PNG_UP, row, above, n, pixel);
        break;
    case FDL_PNG_AVERAGE:
        unfilter(FDL_PNG_AVERAGE, row, above, n, pixel);
        break;
    case FDL_PNG_PAETH:
        unfilter(FDL_PNG_PAETH, row, above, n, pixel);
        break;
    default:
        break;
    }
}

/* ---- 16 rows ------------------------------------------------------------ */

#if defined(__SSE2__)

#  include <emmintrin.h>

#  define LANES      16u
#  define PIXEL_MOST 4u

/* What a lane's filter is, as masks of bytes. */
struct masks {
    __m128i sub, up, average, paeth;
};

struct wave {
    const struct fdl_png_rows *rows;
    uint8_t *top; /* the first of the rows */
    struct masks masks;
    /* Of the last steps, as many as a pixel has bytes, and behind them those of
     * 16 more: what came out, and what was above that. */
    __m128i made[PIXEL_MOST + LANES], above[PIXEL_MOST + LANES];
};

static inline __m128i apart(__m128i a, __m128i b)
{
    return _mm_or_si128(_mm_subs_epu8(a, b), _mm_subs_epu8(b, a));
}

static inline __m128i choose(__m128i mask, __m128i yes, __m128i no)
{
    return _mm_or_si128(_mm_and_si128(mask, yes), _mm_andnot_si128(mask, no));
}

/* |a + b - 2c| is the sum or the difference of |b - c| and |a - c|; a sum that
 * is too large for a byte still is no less than either. */
static inline __m128i predict_paeth(__m128i a, __m128i b, __m128i c)
{
    __m128i zero = _mm_setzero_si128();
    __m128i of_a = apart(b, c), of_b = apart(a, c);
    __m128i b_less = _mm_cmpeq_epi8(_mm_subs_epu8(c, b), zero);
    __m128i a_less = _mm_cmpeq_epi8(_mm_subs_epu8(c, a), zero);
    __m128i alike = _mm_cmpeq_epi8(b_less, a_less);
    __m128i of_c = choose(alike, _mm_adds_epu8(of_a, of_b), apart(of_a, of_b));
    __m128i least = _mm_min_epu8(of_a, _mm_min_epu8(of_b, of_c));
    __m128i other = choose(_mm_cmpeq_epi8(of_b, least), b, c);
    return choose(_mm_cmpeq_epi8(of_a, least), a, other);
}

static inline __m128i predict(const struct masks *m, __m128i a, __m128i b,
                              __m128i c)
{
    __m128i odd = _mm_and_si128(_mm_xor_si128(a, b), _mm_set1_epi8(1));
    __m128i average = _mm_sub_epi8(_mm_avg_epu8(a, b), odd);
    __m128i low =
        _mm_or_si128(_mm_and_si128(m->sub, a), _mm_and_si128(m->up, b));
    __m128i high =
        _mm_or_si128(_mm_and_si128(m->average, average),
                     _mm_and_si128(m->paeth, predict_paeth(a, b, c)));
    return _mm_or_si128(low, high);
}

/* Of 16 vectors: byte j of vector i becomes byte i of vector j. Four times, the
 * vectors of the upper half go between those of the lower. */
FDL_INLINE void turn(__m128i v[LANES])
{
    __m128i t[LANES];
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < LANES / 2; i++) {
            t[2 * i] = _mm_unpacklo_epi8(v[i], v[i + LANES / 2]);
            t[2 * i + 1] = _mm_unpackhi_epi8(v[i], v[i + LANES / 2]);
        }
        memcpy(v, t, sizeof(t));
    }
}

/* Where lane k is at a step: below 0, or behind its row, it is nowhere. */
static inline ptrdiff_t place_of(const struct wave *w, size_t step, size_t k)
{
    return (ptrdiff_t)step - (ptrdiff_t)(k * w->rows->pixel);
}

static inline uint8_t *row_of(const struct wave *w, size_t k)
{
    return w->top + k * (w->rows->row_bytes + 1);
}

/* Whether all lanes are in their rows for 16 steps. */
static inline bool is_inside(const struct wave *w, size_t step)
{
    return place_of(w, step, LANES - 1) >= 0 &&
           step + LANES <= w->rows->row_bytes;
}

/* Which of 16 steps have lane k in its row. */
static inline __m128i inside(const struct wave *w, size_t step, size_t k)
{
    const __m128i index =
        _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    ptrdiff_t at = place_of(w, step, k), most = (ptrdiff_t)LANES;
    ptrdiff_t end = (ptrdiff_t)w->rows->row_bytes - at;
    char before = (char)FDL_MIN(FDL_MAX(-at, 0), most);
    char behind = (char)FDL_MIN(FDL_MAX(end, 0), most);
    return _mm_andnot_si128(_mm_cmplt_epi8(index, _mm_set1_epi8(before)),
                            _mm_cmplt_epi8(index, _mm_set1_epi8(behind)));
}

/* v[k]: the bytes of lane k. */
static inline void load(const struct wave *w, size_t step, __m128i v[LANES])
{
    for (size_t k = 0; k < LANES; k++)
        memcpy(&v[k], row_of(w, k) + place_of(w, step, k), LANES);
    if (is_inside(w, step))
        return;
    for (size_t k = 0; k < LANES; k++)
        v[k] = _mm_and_si128(v[k], inside(w, step, k));
}

static inline void store(const struct wave *w, size_t step,
                         const __m128i v[LANES])
{
    bool all = is_inside(w, step);
    for (size_t k = 0; k < LANES; k++) {
        uint8_t *to = row_of(w, k) + place_of(w, step, k);
        __m128i bytes = v[k];
        if (!all) {
            memcpy(&bytes, to, LANES);
            bytes = choose(inside(w, step, k), v[k], bytes);
        }
        memcpy(to, &bytes, LANES);
    }
}

/* 16 steps. */
FDL_INLINE void go_on(struct wave *w, size_t step, size_t pixel)
{
    const uint8_t *above = w->top - (w->rows->row_bytes + 1);
    __m128i v[LANES];
    load(w, step, v);
    turn(v);
    for (size_t j = 0; j < LANES; j++) {
        int top = step + j < w->rows->row_bytes ? above[step + j] : 0;
        __m128i a = w->made[j];
        __m128i b = _mm_or_si128(_mm_slli_si128(a, 1), _mm_cvtsi32_si128(top));
        v[j] = _mm_add_epi8(v[j], predict(&w->masks, a, b, w->above[j]));
        w->made[pixel + j] = v[j];
        w->above[pixel + j] = b;
    }
    turn(v);
    store(w, step, v);
    memmove(w->made, w->made + LANES, pixel * sizeof(w->made[0]));
    memmove(w->above, w->above + LANES, pixel * sizeof(w->above[0]));
}

FDL_INLINE void go(struct wave *w, size_t pixel)
{
    size_t steps = w->rows->row_bytes + (LANES - 1) * pixel;
    for (size_t step = 0; step < steps; step += LANES)
        go_on(w, step, pixel);
}

static void unfilter_16(const struct fdl_png_rows *rows, size_t y)
{
    struct wave w = {.rows = rows,
                     .top = rows->first + y * (rows->row_bytes + 1)};
    uint8_t filters[LANES];
    for (size_t k = 0; k < LANES; k++)
        filters[k] = row_of(&w, k)[-1];
    __m128i f;
    memcpy(&f, filters, sizeof(f));
    w.masks = (struct masks){
        .sub = _mm_cmpeq_epi8(f, _mm_set1_epi8(FDL_PNG_SUB)),
        .up = _mm_cmpeq_epi8(f, _mm_set1_epi8(FDL_PNG_UP)),
        .average = _mm_cmpeq_epi8(f, _mm_set1_epi8(FDL_PNG_AVERAGE)),
        .paeth = _mm_cmpeq_epi8(f, _mm_set1_epi8(FDL_PNG_PAETH))};
    switch (rows->pixel) { /* a loop for each */
    case 1:
        go(&w, 1);
        break;
    case 2:
        go(&w, 2);
        break;
    case 3:
        go(&w, 3);
        break;
    default:
        go(&w, 4);
        break;
    }
}

/* How many of them go 16 at once, where that is worth it. */
static size_t in_waves(const struct fdl_png_rows *rows, size_t n)
{
    return rows->row_bytes < 4 * LANES ? 0 : n - n % LANES;
}

#else

#  define LANES 1u

static void unfilter_16(const struct fdl_png_rows *rows, size_t y)
{
    unfilter_row(rows, y);
}

static size_t in_waves(const struct fdl_png_rows *rows, size_t n)
{
    (void)rows;
    (void)n;
    return 0;
}

#endif

/* Whether no byte of 16 rows waits for the one before it, as in palettes'
 * images mostly: then a row alone is a loop of vectors. */
static bool are_simple(const struct fdl_png_rows *rows, size_t y)
{
    const uint8_t *row = rows->first + y * (rows->row_bytes + 1);
    bool simple = true;
    for (size_t k = 0; k < LANES; k++, row += rows->row_bytes + 1)
        simple &= row[-1] == FDL_PNG_NONE || row[-1] == FDL_PNG_UP;
    return simple;
}

static void unfilter_rows(const struct fdl_png_rows *rows, size_t y, size_t end)
{
    for (; y < end; y++)
        unfilter_row(rows, y);
}

void fdl_png_unfilter(const struct fdl_png_rows *rows, size_t n)
{
    size_t waves = in_waves(rows, n);
    for (size_t y = 0; y < waves; y += LANES) {
        if (are_simple(rows, y))
            unfilter_rows(rows, y, y + LANES);
        else
            unfilter_16(rows, y);
    }
    unfilter_rows(rows, waves, n);
}
