/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's conversion of bytes between sRGB and Lab, to the bit, in place. */
#ifndef FDL_DECODE_CV_LAB_H
#define FDL_DECODE_CV_LAB_H

#include <stddef.h>
#include <stdint.h>

/* Planes of n bytes: red, green, blue, or L, a, b. */
void fdl_cv_to_lab(uint8_t *const plane[3], size_t n);
void fdl_cv_from_lab(uint8_t *const plane[3], size_t n);

#endif
