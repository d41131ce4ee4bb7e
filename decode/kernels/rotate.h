/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An image seen through an affine map, each pixel of the result interpolated
 * from the four around the source point, as Pillow does it: in double, every
 * operation rounded separately, the value truncated. All levels give the same
 * bytes.
 */
#ifndef FDL_DECODE_ROTATE_H
#define FDL_DECODE_ROTATE_H

#include "base/cpu.h"
#include "decode/pixels/image.h"

#include <stddef.h>
#include <stdint.h>

struct fdl_rotate_job {
    const struct fdl_image *in;
    struct fdl_image *out;
    double matrix[6]; /* from the middle of a pixel of out to a point of in */
    uint8_t fill[4];  /* of pixels that come from outside */
    uint8_t *scratch;
};

struct fdl_rotate_kernels {
    /* NULL: none. 0: sizes overflow. */
    size_t (*scratch_bytes)(const struct fdl_image *in);
    void (*bilinear)(const struct fdl_rotate_job *job);
};

/* Of each level; levels.h has them all. */
extern const struct fdl_rotate_kernels fdl_rotate_c, fdl_rotate_avx2;

#endif
