/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row through Pillow's SMOOTH: the weighted mean of 3 x 3 pixels, of which
 * the centre counts five times, the others once. Pillow sums in float from 0.5
 * and truncates; a sum is never near enough to a whole number for that to
 * differ from (sum + 6) / 13 in integers. The first and the last pixel stay.
 *
 * The kernel of each level; they are chosen with those of blend.h.
 */
#ifndef FDL_DECODE_SMOOTH_H
#define FDL_DECODE_SMOOTH_H

#include <stddef.h>
#include <stdint.h>

/* n is 3 or more. `out` is apart from the rows. All of them are in whole
 * vectors, FDL_PLANE_ALIGN (pixels/image.h). */
void fdl_smooth_row(const uint8_t *above, const uint8_t *row,
                    const uint8_t *below, size_t n, uint8_t *out);
void fdl_smooth_row_avx2(const uint8_t *above, const uint8_t *row,
                         const uint8_t *below, size_t n, uint8_t *out);

#endif
