/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenCV's warpAffine of bytes, to the bit, in two ways. Version 4 has
 * points in 32nds of a pixel. Version 5 has floats: where there is AVX2, in
 * vectors of 16 pixels, and in another order for those left of a row.
 */
#ifndef FDL_DECODE_CV_WARP_H
#define FDL_DECODE_CV_WARP_H

#include "decode/kernels/cv_border.h"
#include "decode/pixels/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fdl_cv_warp_job {
    const struct fdl_image *in, *out;
    double m[6]; /* (m0 x + m1 y + m2, m3 x + m4 y + m5) of a pixel of out */
    bool linear; /* or the nearest pixel */
    bool floats; /* version 5 */
    enum fdl_cv_border border;
    uint8_t fill[FDL_CHANNELS_MAX];
    uint8_t *scratch; /* fdl_cv_warp_scratch(out->width), aligned to 64 */
};

size_t fdl_cv_warp_scratch(int32_t width);
void fdl_cv_warp(const struct fdl_cv_warp_job *job);

/* The map from the result to the image, of one from the image to the result. */
void fdl_cv_invert(double m[6]);

#endif
