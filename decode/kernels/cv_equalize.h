/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenCV's equalizeHist and CLAHE of one plane, to the bit. CLAHE equalizes
 * tiles with clipped histograms, and mixes the tables of the four around each
 * pixel. An image that is not whole tiles is counted as if it were reflected
 * until it is.
 */
#ifndef FDL_DECODE_CV_EQUALIZE_H
#define FDL_DECODE_CV_EQUALIZE_H

#include <stddef.h>
#include <stdint.h>

#define FDL_CV_TILES_MAX 64 /* along one side */

struct fdl_cv_clahe {
    double clip; /* of a histogram; 0: not at all */
    int32_t tiles_x, tiles_y;
};

/* In place. */
void fdl_cv_equalize(uint8_t *plane, size_t n);

/* Bytes of scratch memory for images of that width. */
size_t fdl_cv_clahe_scratch(const struct fdl_cv_clahe *s, int32_t width);

/* In place; scratch: aligned to 64. */
void fdl_cv_clahe(const struct fdl_cv_clahe *s, uint8_t *plane, int32_t width,
                  int32_t height, uint8_t *scratch);

#endif
