/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's conversion of bytes between sRGB and Lab, to the bit. */
#ifndef FDL_DECODE_CV_LAB_H
#define FDL_DECODE_CV_LAB_H

#include "decode/kernels/cv_colour.h"

void fdl_cv_to_lab(const struct fdl_cv_planes *p);
void fdl_cv_from_lab(const struct fdl_cv_planes *p);

#endif
