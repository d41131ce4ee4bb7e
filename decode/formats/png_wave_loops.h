/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filters of LANES rows undone at once: each a pixel behind the one above
 * it, which has by then what the lower one needs.
 *
 *     step        0  1  2  3  4         of pixels of one byte
 *     lane 0      x0 x1 x2 x3 x4 ..     row 0
 *     lane 1         x0 x1 x2 x3 ..     row 1
 *     lane 2            x0 x1 x2 ..     row 2
 *
 * Whatever their filters: each lane takes the prediction of its own. A lane
 * reads zeros in front of its row, of which every filter makes zeros.
 *
 * TARGET, LANES, VECTOR and V() say for which processor, LINE is its vector of
 * 16 bytes, STEPS; and these functions, defined in front, how others are made
 * of such ones:
 * pair(), of lane k and lane k + 16; load_pair() and store_pair(), of memory
 * that is `apart`; shifted(), the lane above of each; and choose().
 */
#ifndef FDL_DECODE_PNG_WAVE_LOOPS_H
#define FDL_DECODE_PNG_WAVE_LOOPS_H

#ifndef TARGET
#  error "TARGET says for which processor these loops are compiled"
#endif

#include "base/compiler.h"
#include "decode/formats/png_filter.h"

#include <stdbool.h>
#include <string.h>

#define STEPS      16u
#define PIXEL_MOST 4u

/* What a lane's filter is, as masks of bytes. */
struct masks {
    VECTOR sub, up, average, paeth;
};

struct wave {
    const struct fdl_png_rows *rows;
    uint8_t *top; /* the first of the rows */
    ptrdiff_t apart;
    struct masks masks;
    /* Of the last steps, as many as a pixel has bytes, and behind them those of
     * 16 more: what came out, and what was above that. */
    VECTOR made[PIXEL_MOST + STEPS], above[PIXEL_MOST + STEPS];
};

TARGET FDL_INLINE VECTOR difference(VECTOR a, VECTOR b)
{
    return V(subs_epu8)(a, b) | V(subs_epu8)(b, a);
}

/* |a + b - 2c| is the sum or the difference of |b - c| and |a - c|; a sum that
 * is too large for a byte still is no less than either. */
TARGET FDL_INLINE VECTOR predict_paeth(VECTOR a, VECTOR b, VECTOR c)
{
    VECTOR zero = V(set1_epi8)(0);
    VECTOR of_a = difference(b, c), of_b = difference(a, c);
    VECTOR b_less = V(cmpeq_epi8)(V(subs_epu8)(c, b), zero);
    VECTOR a_less = V(cmpeq_epi8)(V(subs_epu8)(c, a), zero);
    VECTOR alike = V(cmpeq_epi8)(b_less, a_less);
    VECTOR of_c =
        choose(alike, V(adds_epu8)(of_a, of_b), difference(of_a, of_b));
    VECTOR least = V(min_epu8)(of_a, V(min_epu8)(of_b, of_c));
    VECTOR other = choose(V(cmpeq_epi8)(of_b, least), b, c);
    return choose(V(cmpeq_epi8)(of_a, least), a, other);
}

TARGET FDL_INLINE VECTOR predict(const struct masks *m, VECTOR a, VECTOR b,
                                 VECTOR c)
{
    VECTOR odd = (a ^ b) & V(set1_epi8)(1);
    VECTOR average = V(sub_epi8)(V(avg_epu8)(a, b), odd);
    return (m->sub & a) | (m->up & b) | (m->average & average) |
           (m->paeth & predict_paeth(a, b, c));
}

/* Of 16 vectors, and each 16 bytes of them: byte j of vector i becomes byte i
 * of vector j. Four times, the vectors of the upper half go between those of
 * the lower. */
TARGET FDL_INLINE void turn(VECTOR v[STEPS])
{
    VECTOR t[STEPS];
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < STEPS / 2; i++) {
            t[2 * i] = V(unpacklo_epi8)(v[i], v[i + STEPS / 2]);
            t[2 * i + 1] = V(unpackhi_epi8)(v[i], v[i + STEPS / 2]);
        }
        memcpy(v, t, sizeof(t));
    }
}

/* Where lane k is at a step: below 0, or behind its row, it is nowhere. */
TARGET FDL_INLINE ptrdiff_t place_of(const struct wave *w, size_t step,
                                     size_t k)
{
    return (ptrdiff_t)step - (ptrdiff_t)(k * w->rows->pixel);
}

TARGET FDL_INLINE uint8_t *row_of(const struct wave *w, size_t k)
{
    return w->top + k * (w->rows->row_bytes + 1);
}

/* Whether all lanes are in their rows for 16 steps. */
TARGET FDL_INLINE bool is_inside(const struct wave *w, size_t step)
{
    return place_of(w, step, LANES - 1) >= 0 &&
           step + STEPS <= w->rows->row_bytes;
}

/* Which of 16 steps have lane k in its row. */
TARGET FDL_INLINE LINE inside_row(const struct wave *w, size_t step, size_t k)
{
    static const int8_t from_16[2 * STEPS] = {[STEPS] = -1, -1, -1, -1, -1, -1,
                                              -1,           -1, -1, -1, -1, -1,
                                              -1,           -1, -1, -1};
    ptrdiff_t at = place_of(w, step, k), most = (ptrdiff_t)STEPS;
    ptrdiff_t end = (ptrdiff_t)w->rows->row_bytes - at;
    LINE in, out; /* in from its first byte on, out from behind its last */
    memcpy(&in, from_16 + STEPS - FDL_MIN(FDL_MAX(-at, 0), most), STEPS);
    memcpy(&out, from_16 + STEPS - FDL_MIN(FDL_MAX(end, 0), most), STEPS);
    return in & ~out;
}

TARGET FDL_INLINE VECTOR inside(const struct wave *w, size_t step, size_t k)
{
    return pair(inside_row(w, step, k), inside_row(w, step, k + LANES - STEPS));
}

/* v[k]: the bytes of lane k, and of the one that is STEPS on. */
TARGET FDL_INLINE void load(const struct wave *w, size_t step, VECTOR v[STEPS])
{
    for (size_t k = 0; k < STEPS; k++)
        v[k] = load_pair(row_of(w, k) + place_of(w, step, k), w->apart);
    if (is_inside(w, step))
        return;
    for (size_t k = 0; k < STEPS; k++)
        v[k] &= inside(w, step, k);
}

TARGET FDL_INLINE void store(const struct wave *w, size_t step,
                             const VECTOR v[STEPS])
{
    bool all = is_inside(w, step);
    for (size_t k = 0; k < STEPS; k++) {
        uint8_t *to = row_of(w, k) + place_of(w, step, k);
        VECTOR bytes = v[k];
        if (!all)
            bytes = choose(inside(w, step, k), bytes, load_pair(to, w->apart));
        store_pair(to, w->apart, bytes);
    }
}

/* 16 steps. */
TARGET FDL_INLINE void go_on(struct wave *w, size_t step, size_t pixel)
{
    const uint8_t *above = w->top - (w->rows->row_bytes + 1);
    VECTOR v[STEPS];
    load(w, step, v);
    turn(v);
    for (size_t j = 0; j < STEPS; j++) {
        int top = step + j < w->rows->row_bytes ? above[step + j] : 0;
        VECTOR a = w->made[j];
        VECTOR b = shifted(a, top);
        v[j] = V(add_epi8)(v[j], predict(&w->masks, a, b, w->above[j]));
        w->made[pixel + j] = v[j];
        w->above[pixel + j] = b;
    }
    turn(v);
    store(w, step, v);
    memmove(w->made, w->made + STEPS, pixel * sizeof(w->made[0]));
    memmove(w->above, w->above + STEPS, pixel * sizeof(w->above[0]));
}

TARGET FDL_INLINE void go(struct wave *w, size_t pixel)
{
    size_t steps = w->rows->row_bytes + (LANES - 1) * pixel;
    for (size_t step = 0; step < steps; step += STEPS)
        go_on(w, step, pixel);
}

TARGET static void unfilter_wave(const struct fdl_png_rows *rows, size_t y)
{
    size_t to_next = rows->row_bytes + 1;
    struct wave w = {.rows = rows, .top = rows->first + y * to_next};
    w.apart = (ptrdiff_t)(STEPS * (to_next - rows->pixel));
    uint8_t filters[LANES];
    for (size_t k = 0; k < LANES; k++)
        filters[k] = row_of(&w, k)[-1];
    VECTOR f;
    memcpy(&f, filters, sizeof(f));
    w.masks = (struct masks){
        .sub = V(cmpeq_epi8)(f, V(set1_epi8)(FDL_PNG_SUB)),
        .up = V(cmpeq_epi8)(f, V(set1_epi8)(FDL_PNG_UP)),
        .average = V(cmpeq_epi8)(f, V(set1_epi8)(FDL_PNG_AVERAGE)),
        .paeth = V(cmpeq_epi8)(f, V(set1_epi8)(FDL_PNG_PAETH))};
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

#endif
