/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weights of usual bilinear tables, four outputs at a time: for each the
 * steps of resample.c in their order, so the bits are the same. A random crop
 * has two tables of its own, which took a tenth of what is done on it behind
 * its Huffman codes, and a third of what the host does for a device.
 */
#ifndef FDL_DECODE_RESAMPLE_WEIGHTS_H
#define FDL_DECODE_RESAMPLE_WEIGHTS_H

#include "decode/kernels/resample.h"

/* Tables of more taps are not made so. */
#define FDL_TRIANGLE_TAPS 8

struct fdl_triangles {
    double from, scale, support;
    double step;  /* 1 / how far the filter is stretched */
    int32_t bits; /* of a weight, behind the point */
};

/* Fills start, length and weight of axis, whose stride is 4 or 8, for its key
 * without `reverse`. */
void fdl_triangles_fill_avx2(struct fdl_axis *axis,
                             const struct fdl_triangles *t);

#endif
