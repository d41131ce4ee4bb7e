/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of single bytes, on lines of them. Those of Pillow's ImageOps that
 * depend on nothing else have one form with four constants, a `cut`, which is
 * far cheaper with vectors than a table; what depends on the histogram is a
 * table. The kernels of each level are chosen with those of blend.h.
 */
#ifndef FDL_DECODE_TONE_H
#define FDL_DECODE_TONE_H

#include <stddef.h>
#include <stdint.h>

/* x < at ? min(x + add, 255) : x ^ flip; of that, the bits of mask. */
struct fdl_cut {
    uint8_t at, add, flip, mask;
};

void fdl_cut_line(uint8_t *x, size_t n, const struct fdl_cut *cut);
void fdl_cut_line_avx2(uint8_t *x, size_t n, const struct fdl_cut *cut);

/* x becomes table[x]. */
void fdl_lookup(uint8_t *x, size_t n, const uint8_t table[256]);
void fdl_lookup_avx2(uint8_t *x, size_t n, const uint8_t table[256]);
void fdl_lookup_avx512(uint8_t *x, size_t n, const uint8_t table[256]);

/* The least and the greatest value; n is not 0. */
void fdl_range(const uint8_t *x, size_t n, uint8_t *low, uint8_t *high);
void fdl_range_avx2(const uint8_t *x, size_t n, uint8_t *low, uint8_t *high);

/* One for all levels: it is bound by its stores. */
void fdl_histogram(const uint8_t *x, size_t n, uint32_t out[256]);

#endif
