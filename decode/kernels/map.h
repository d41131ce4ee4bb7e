/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An image seen through an affine or perspective map, as Pillow's transform
 * shows it: each pixel of the result is looked up in the image, by the nearest
 * pixel or by interpolating between 4 or 16 of them in double, where every
 * operation is rounded separately and the value truncated. All levels give the
 * same bytes.
 */
#ifndef FDL_DECODE_MAP_H
#define FDL_DECODE_MAP_H

#include "base/cpu.h"
#include "decode/pixels/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fdl_map_job {
    const struct fdl_image *in;
    struct fdl_image *out;
    /* From the middle of a pixel of out to a point of in, Pillow's order:
     * (a0 x + a1 y + a2, a3 x + a4 y + a5), over a6 x + a7 y + 1 if
     * perspective. */
    double a[8];
    bool perspective;
    uint8_t fill[4]; /* of pixels that come from outside */
    uint8_t *scratch;
};

/* A coordinate along a row, in fixed point of 16 bits. */
struct fdl_map_walk {
    int64_t start, step;
};

struct fdl_map_kernels {
    /* NULL: none. 0: sizes overflow. */
    size_t (*scratch_bytes)(const struct fdl_image *in);
    void (*bilinear)(const struct fdl_map_job *job);
    void (*bicubic)(const struct fdl_map_job *job);

    /* What fdl_map_nearest is made of. To be called before walk and pick;
     * NULL: nothing to do. */
    void (*prepare)(const struct fdl_map_job *job);
    /* n pixels at `to`, all from inside the image. */
    void (*walk)(const struct fdl_map_job *job, struct fdl_map_walk x,
                 struct fdl_map_walk y, uint8_t *to, int64_t n);
    /* From columns `from` of row y. */
    void (*pick)(const struct fdl_map_job *job, int32_t y, const int32_t *from,
                 uint8_t *to, int64_t n);
    void (*perspective)(const struct fdl_map_job *job);
};

void fdl_map_nearest(const struct fdl_map_kernels *k,
                     const struct fdl_map_job *job);

/* Of each level; levels.h has them all. */
extern const struct fdl_map_kernels fdl_map_c, fdl_map_avx2;

#endif
