/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of a median, as those of cv_blur_loops.h. Pixels are put in order
 * by pairs. A column is shared by as many medians as it has pixels: it is
 * sorted once.
 */
#ifndef FDL_DECODE_CV_MEDIAN_LOOPS_H
#define FDL_DECODE_CV_MEDIAN_LOOPS_H

#ifndef TARGET
#  error "TARGET says for which processor these loops are compiled"
#endif

#include "base/compiler.h"
#include "decode/kernels/cv_blur_sizes.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LANES   FDL_CV_BLOCK
#define WIDE    (4 * LANES)    /* medians that are made together */
#define COLUMNS (WIDE + LANES) /* that they need */

/* a gets the smaller one. */
TARGET FDL_INLINE void order(uint8_t *a, uint8_t *b)
{
    uint8_t low = *a < *b ? *a : *b, high = *a < *b ? *b : *a;
    *a = low;
    *b = high;
}

/* ---- 3 x 3 -------------------------------------------------------------- */

TARGET FDL_INLINE void sort_3(uint8_t v[3])
{
    order(&v[0], &v[1]);
    order(&v[1], &v[2]);
    order(&v[0], &v[1]);
}

/* Of the least ones of three columns the greatest, of the greatest the least,
 * and of the middle ones the middle: the middle of these is that of all. */
TARGET FDL_INLINE uint8_t middle_of_9(const uint8_t *low, const uint8_t *middle,
                                      const uint8_t *high)
{
    uint8_t v[3] = {FDL_MAX(low[0], low[1]), 0, FDL_MIN(high[0], high[1])};
    uint8_t m[3] = {middle[0], middle[1], middle[2]};
    sort_3(m);
    v[0] = FDL_MAX(v[0], low[2]);
    v[1] = m[1];
    v[2] = FDL_MIN(v[2], high[2]);
    sort_3(v);
    return v[1];
}

TARGET static void median_of_9(const uint8_t *const *rows, size_t i,
                               uint8_t out[WIDE])
{
    uint8_t low[COLUMNS], middle[COLUMNS], high[COLUMNS];
    const uint8_t *a = rows[0] + i, *b = rows[1] + i, *c = rows[2] + i;
    for (size_t k = 0; k < COLUMNS; k++) {
        uint8_t v[3] = {a[k], b[k], c[k]};
        sort_3(v);
        low[k] = v[0];
        middle[k] = v[1];
        high[k] = v[2];
    }
    for (size_t k = 0; k < WIDE; k++)
        out[k] = middle_of_9(low + k, middle + k, high + k);
}

/* ---- 5 x 5 -------------------------------------------------------------- */

TARGET FDL_INLINE void sort_5(uint8_t v[5])
{
    order(&v[0], &v[1]);
    order(&v[3], &v[4]);
    order(&v[2], &v[4]);
    order(&v[2], &v[3]);
    order(&v[1], &v[4]);
    order(&v[0], &v[3]);
    order(&v[0], &v[2]);
    order(&v[1], &v[3]);
    order(&v[1], &v[2]);
}

TARGET FDL_INLINE void sort_row_of_5(const uint8_t *from, uint8_t v[5])
{
    memcpy(v, from, 5);
    sort_5(v);
}

/* Of five sorted columns: with their rows sorted, too, half a row's pixels are
 * too small or too great for their place. Of the 13 that are left these pairs
 * are put in order: found by trying many, each kept as long as some of the 252
 * such squares of 0 and 1 have it the other way round, and checked with all. */
TARGET FDL_INLINE uint8_t middle_of_25(const uint8_t (*sorted)[COLUMNS],
                                       size_t k)
{
    uint8_t a[5], b[5], c[5], d[5], e[5];
    sort_row_of_5(&sorted[0][k], a);
    sort_row_of_5(&sorted[1][k], b);
    sort_row_of_5(&sorted[2][k], c);
    sort_row_of_5(&sorted[3][k], d);
    sort_row_of_5(&sorted[4][k], e);
    order(&b[4], &e[1]);
    order(&a[3], &d[0]);
    order(&b[2], &c[1]);
    order(&c[3], &d[2]);
    order(&b[3], &d[1]);
    order(&b[3], &c[1]);
    order(&c[3], &d[1]);
    order(&a[4], &e[0]);
    order(&c[3], &e[0]);
    order(&a[4], &c[1]);
    order(&b[4], &c[2]);
    order(&c[2], &d[0]);
    order(&b[4], &c[2]);
    order(&c[2], &c[3]);
    order(&c[1], &c[2]);
    order(&c[2], &c[3]);
    return c[2];
}

TARGET static void median_of_25(const uint8_t *const *rows, size_t i,
                                uint8_t out[WIDE])
{
    uint8_t sorted[5][COLUMNS];
    const uint8_t *a = rows[0] + i, *b = rows[1] + i, *c = rows[2] + i;
    const uint8_t *d = rows[3] + i, *e = rows[4] + i;
    for (size_t k = 0; k < COLUMNS; k++) {
        uint8_t v[5] = {a[k], b[k], c[k], d[k], e[k]};
        sort_5(v);
        for (size_t t = 0; t < 5; t++)
            sorted[t][k] = v[t];
    }
    for (size_t k = 0; k < WIDE; k++)
        out[k] = middle_of_25(sorted, k);
}

/* ---- 7 x 7 -------------------------------------------------------------- */

TARGET FDL_INLINE void sort_7(uint8_t v[7])
{
    order(&v[0], &v[6]);
    order(&v[2], &v[3]);
    order(&v[4], &v[5]);
    order(&v[0], &v[2]);
    order(&v[1], &v[4]);
    order(&v[3], &v[6]);
    order(&v[0], &v[1]);
    order(&v[2], &v[5]);
    order(&v[3], &v[4]);
    order(&v[1], &v[2]);
    order(&v[4], &v[6]);
    order(&v[2], &v[3]);
    order(&v[4], &v[5]);
    order(&v[1], &v[2]);
    order(&v[3], &v[4]);
    order(&v[5], &v[6]);
}

TARGET FDL_INLINE void sort_row_of_7(const uint8_t *from, uint8_t v[7])
{
    memcpy(v, from, 7);
    sort_7(v);
}

/* Those of 49 pixels, found as the ones of 25. */
/* clang-format off */
#define PAIRS_OF_49(O)                                                         \
  O(d[5], g[2]) O(a[4], e[0]) O(c[6], f[3]) O(b[3], d[1]) O(a[5], c[2])        \
  O(b[6], e[4]) O(b[4], e[1]) O(c[5], f[2]) O(d[4], g[1]) O(c[3], f[0])        \
  O(b[5], d[2]) O(b[5], g[0]) O(d[2], e[3]) O(d[5], e[3]) O(c[4], f[1])        \
  O(c[4], d[1]) O(a[6], f[1]) O(c[6], f[1]) O(c[2], e[2]) O(c[2], e[0])        \
  O(a[6], c[2]) O(b[6], e[2]) O(c[6], e[2]) O(c[5], e[1]) O(c[5], d[4])        \
  O(c[5], f[0]) O(c[5], d[2]) O(b[6], c[5]) O(e[1], g[0]) O(d[3], g[0])        \
  O(c[5], g[0]) O(d[2], d[4]) O(c[2], d[2]) O(c[2], e[0]) O(d[4], d[5])        \
  O(d[5], e[1]) O(d[2], e[1]) O(d[3], d[5]) O(c[5], d[3]) O(c[5], f[0])        \
  O(d[1], e[0]) O(d[1], f[0]) O(d[1], d[3]) O(d[1], d[4]) O(e[0], f[0])        \
  O(d[2], f[0]) O(d[3], f[0]) O(d[2], e[0]) O(c[6], e[0]) O(d[3], e[0])        \
  O(c[6], d[4]) O(d[4], d[5]) O(d[2], d[4]) O(c[6], d[2]) O(d[2], d[4])        \
  O(d[3], d[4]) O(d[2], d[3])
/* clang-format on */
#define ORDER(one, other) order(&one, &other);

TARGET FDL_INLINE uint8_t middle_of_49(const uint8_t (*sorted)[COLUMNS],
                                       size_t k)
{
    uint8_t a[7], b[7], c[7], d[7], e[7], f[7], g[7];
    sort_row_of_7(&sorted[0][k], a);
    sort_row_of_7(&sorted[1][k], b);
    sort_row_of_7(&sorted[2][k], c);
    sort_row_of_7(&sorted[3][k], d);
    sort_row_of_7(&sorted[4][k], e);
    sort_row_of_7(&sorted[5][k], f);
    sort_row_of_7(&sorted[6][k], g);
    PAIRS_OF_49(ORDER)
    return d[3];
}

TARGET static void median_of_49(const uint8_t *const *rows, size_t i,
                                uint8_t out[WIDE])
{
    uint8_t sorted[7][COLUMNS];
    const uint8_t *a = rows[0] + i, *b = rows[1] + i, *c = rows[2] + i;
    const uint8_t *d = rows[3] + i, *e = rows[4] + i, *f = rows[5] + i;
    const uint8_t *g = rows[6] + i;
    for (size_t k = 0; k < COLUMNS; k++) {
        uint8_t v[7] = {a[k], b[k], c[k], d[k], e[k], f[k], g[k]};
        sort_7(v);
        for (size_t t = 0; t < 7; t++)
            sorted[t][k] = v[t];
    }
    for (size_t k = 0; k < WIDE; k++)
        out[k] = middle_of_49(sorted, k);
}

/* ---- All of them -------------------------------------------------------- */

TARGET static void median_loop(const uint8_t *const *rows, int32_t side,
                               size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i += WIDE) {
        uint8_t bytes[WIDE];
        if (side == 3)
            median_of_9(rows, i, bytes);
        else if (side == 5)
            median_of_25(rows, i, bytes);
        else
            median_of_49(rows, i, bytes);
        if (n - i >= WIDE)
            memcpy(out + i, bytes, WIDE);
        else
            memcpy(out + i, bytes, n - i);
    }
}

#endif
