/* SPDX-License-Identifier: Apache-2.0 */
/* What OpenCV's conversions of colours are, and the planes that they read and
 * write (cv_colour.h). */
#ifndef FDL_DECODE_CV_PLANES_H
#define FDL_DECODE_CV_PLANES_H

#include <stddef.h>
#include <stdint.h>

enum fdl_cv_colour {
    FDL_CV_RGB_TO_GRAY,
    FDL_CV_RGB_TO_YCRCB,
    FDL_CV_YCRCB_TO_RGB,
    FDL_CV_RGB_TO_HSV,      /* hue below 180 */
    FDL_CV_RGB_TO_HSV_FULL, /* below 256 */
    FDL_CV_HSV_TO_RGB,      /* from below 180 */
    FDL_CV_RGB_TO_LAB,
    FDL_CV_LAB_TO_RGB,
    FDL_CV_RGB_TO_HLS, /* hue below 180 */
    FDL_CV_HLS_TO_RGB, /* from below 180 */
    FDL_CV_COLOURS
};

/* Planes of width * height bytes, which may be the same ones, in any order; of
 * gray there is out[0] alone. */
struct fdl_cv_planes {
    const uint8_t *in[3];
    uint8_t *out[3];
    size_t width, height;
};

/* The same of floats: each channel's first one, of rows without gaps. */
struct fdl_cv_float_rows {
    const float *in[3];
    float *out[3];
    size_t step; /* elements from pixel to pixel of a channel */
    size_t width, height;
};

#endif
