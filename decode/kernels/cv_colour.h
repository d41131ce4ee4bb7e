/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenCV's cvtColor of bytes, to the bit, from three planes to three, or from
 * three to the first. Planes are red, green and blue, or hue, saturation and
 * value, or luma, red and blue difference, or L, a and b.
 *
 * HSV_TO_RGB is computed by OpenCV, where it has AVX2, in vectors of 32 pixels
 * that truncate, while the rest of each row is rounded: so pixels come in rows.
 */
#ifndef FDL_DECODE_CV_COLOUR_H
#define FDL_DECODE_CV_COLOUR_H

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
    FDL_CV_LAB_TO_RGB
};

/* In place. plane[i]: width * height bytes. */
void fdl_cv_colour(enum fdl_cv_colour how, uint8_t *const plane[3],
                   size_t width, size_t height);

#endif
