/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic of Pillow's colour enhancements, on lines of bytes:
 *
 *     blend    base + factor * (x - base), in float, clipped, truncated
 *     luma     (19595 r + 38470 g + 7471 b + 32768) / 65536
 *     hue      see hue.h
 *     cut, lookup, range   see tone.h
 *     smooth   Pillow's SMOOTH, one row: the weighted mean of 3 x 3 pixels, of
 *              which the centre counts five times, the others once. Pillow sums
 *              in float from 0.5 and truncates; a sum is never near enough to a
 *              whole number for that to differ from (sum + 6) / 13 in integers
 *     torch_*  see torch.h
 *
 * Every level of kernels gives the same bytes: each float operation is rounded
 * by itself, so nothing here may be contracted to a fused multiply-add.
 */
#ifndef FDL_DECODE_BLEND_H
#define FDL_DECODE_BLEND_H

#include "base/cpu.h"
#include "decode/kernels/tone.h"
#include "decode/kernels/torch.h"

#include <stddef.h>
#include <stdint.h>

struct fdl_blend_kernels {
    /* x becomes the blend of base and x. */
    void (*constant)(uint8_t *x, size_t n, uint8_t base, float factor);
    void (*line)(uint8_t *x, const uint8_t *base, size_t n, float factor);

    void (*luma)(const uint8_t *r, const uint8_t *g, const uint8_t *b, size_t n,
                 uint8_t *out);
    uint64_t (*sum)(const uint8_t *x, size_t n);

    /* Of pixels in place; modulo 256. */
    void (*hue)(uint8_t *r, uint8_t *g, uint8_t *b, size_t n, uint8_t shift);

    void (*cut)(uint8_t *x, size_t n, const struct fdl_cut *cut);
    void (*lookup)(uint8_t *x, size_t n, const uint8_t table[256]);
    void (*range)(const uint8_t *x, size_t n, uint8_t *low, uint8_t *high);

    /* The first and the last pixel stay. n is 3 or more; `out` is apart from
     * the rows, and all are in whole vectors, FDL_PLANE_ALIGN
     * (pixels/image.h). */
    void (*smooth)(const uint8_t *above, const uint8_t *row,
                   const uint8_t *below, size_t n, uint8_t *out);

    void (*torch_luma)(const uint8_t *r, const uint8_t *g, const uint8_t *b,
                       size_t n, uint8_t *out);
    void (*torch_line)(uint8_t *x, const uint8_t *base, size_t n,
                       const struct fdl_torch_blend *blend);
    void (*torch_hue)(uint8_t *r, uint8_t *g, uint8_t *b, size_t n,
                      float shift);
};

/* Of each level; levels.h has them all. */
extern const struct fdl_blend_kernels fdl_blend_c, fdl_blend_avx2,
    fdl_blend_avx512;

#endif
