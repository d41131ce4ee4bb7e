/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenCV's cvtColor of bytes, to the bit, from three planes to three, or from
 * three to one. Planes are red, green and blue, or hue, saturation and value,
 * or hue, lightness and saturation, or luma, red and blue difference, or L, a
 * and b.
 *
 * HSV_TO_RGB is computed by OpenCV, where it has AVX2, in vectors of 32 pixels
 * that truncate, while the rest of each row is rounded: so pixels come in rows.
 * For RGB_TO_HLS and both conversions of floats vectors have 8, and some
 * roundings differ.
 *
 * All levels give the same bytes.
 */
#ifndef FDL_DECODE_CV_COLOUR_H
#define FDL_DECODE_CV_COLOUR_H

#include "decode/kernels/cv_planes.h"

struct fdl_cv_colour_kernels {
    void (*convert[FDL_CV_COLOURS])(const struct fdl_cv_planes *p);

    /* Of floats, with the hue in degrees. */
    void (*floats_to_hsv)(const struct fdl_cv_float_rows *f);
    void (*floats_from_hsv)(const struct fdl_cv_float_rows *f);
};

/* Of each level; levels.h has them all. */
extern const struct fdl_cv_colour_kernels fdl_cv_colour_c, fdl_cv_colour_avx2,
    fdl_cv_colour_avx512;

#endif
