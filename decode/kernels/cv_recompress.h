/* SPDX-License-Identifier: Apache-2.0 */
/* What is left of an image that was written as JPEG and read again, as OpenCV
 * does both: chroma at half the size, the accurate transform, and chroma
 * interpolated. */
#ifndef FDL_DECODE_CV_RECOMPRESS_H
#define FDL_DECODE_CV_RECOMPRESS_H

#include "decode/pixels/image.h"

#include <stddef.h>
#include <stdint.h>

/* libjpeg has no greater images. */
#define FDL_CV_JPEG_SIDE_MAX 65500

/* Bytes that a file of that size has at most, and its rows beside it; 0: that
 * does not fit a size_t. */
size_t fdl_cv_recompress_scratch(const struct fdl_image *image);

/* In place: of one channel, or of blue, green and red. quality: 0 to 100.
 * EINVAL: libjpeg does not do it; ENOMEM. */
int32_t fdl_cv_recompress(const struct fdl_image *image, int32_t quality,
                          uint8_t *scratch);

#endif
