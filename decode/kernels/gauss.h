/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two blurs:
 *
 *     box     one of the passes that Pillow's GaussianBlur is made of: a mean
 *             of 2 * radius + 1 pixels and parts of the next two, in integers
 *     taps    a symmetric convolution in float, columns first and then rows,
 *             every product rounded before it is added
 *
 * All levels give the same bytes. Inputs are readable in whole vectors
 * (FDL_PLANE_ALIGN bytes).
 */
#ifndef FDL_DECODE_GAUSS_H
#define FDL_DECODE_GAUSS_H

#include "base/cpu.h"

#include <stddef.h>
#include <stdint.h>

/* (whole * the sum within radius + part * the two beyond it) >> 24, rounded. */
struct fdl_box_weights {
    uint32_t radius, whole, part;
};

/* Largest radius of `near`, and the lines that it takes. */
#define FDL_BOX_NEAR  1
#define FDL_BOX_LINES 5

/* weight[d] is of the two pixels at distance d; n weights. */
struct fdl_taps {
    const float *weight;
    int32_t n;
};

struct fdl_gauss_kernels {
    /* in[2] is the line, the others are the pixels two before to two after. */
    void (*near)(const uint8_t *const in[FDL_BOX_LINES], size_t n,
                 const struct fdl_box_weights *box, uint8_t *out);

    /* rows[t->n - 1] is the line; writes out in whole vectors. */
    void (*columns)(const uint8_t *const *rows, const struct fdl_taps *t,
                    size_t n, float *out);

    /* `in` has t->n - 1 pixels on either side; to bytes, half to even. */
    void (*row)(const float *in, const struct fdl_taps *t, size_t n,
                uint8_t *out);
};

/* One pass with any radius; `in` has radius + 1 pixels on either side. */
void fdl_box_line(const uint8_t *in, size_t n,
                  const struct fdl_box_weights *box, uint8_t *out);

/* Of each level; levels.h has them all. */
extern const struct fdl_gauss_kernels fdl_gauss_c, fdl_gauss_avx2;

#endif
