/* SPDX-License-Identifier: Apache-2.0 */
/* The filters of PNG, undone: bytes are differences from what is before and
 * above them. */
#ifndef FDL_DECODE_PNG_FILTER_H
#define FDL_DECODE_PNG_FILTER_H

#include <stddef.h>
#include <stdint.h>

enum fdl_png_filter {
    FDL_PNG_NONE,
    FDL_PNG_SUB,
    FDL_PNG_UP,
    FDL_PNG_AVERAGE,
    FDL_PNG_PAETH,
    FDL_PNG_FILTERS
};

/* Rows that lie one behind the other, each behind a byte that names its filter,
 * which is one of these. */
struct fdl_png_rows {
    uint8_t *first;   /* row: its first byte, not its filter */
    size_t row_bytes; /* without the filter */
    size_t pixel;     /* bytes of one, at least 1: 1, 2, 3 or 4 */
};

/* Undoes the filters of n rows in place. Above the first one lies the row that
 * is above it in the image, or zeros; behind the last one so many bytes, which
 * are read and stay as they are. */
#define FDL_PNG_BEHIND_ROWS 32u
void fdl_png_unfilter(const struct fdl_png_rows *rows, size_t n);

#endif
