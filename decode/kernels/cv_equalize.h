/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenCV's equalizeHist and CLAHE of one plane, to the bit. CLAHE equalizes
 * tiles with clipped histograms, and mixes the tables of the four around each
 * pixel. An image that is not whole tiles is counted as if it were reflected
 * until it is.
 *
 * All levels give the same bytes.
 */
#ifndef FDL_DECODE_CV_EQUALIZE_H
#define FDL_DECODE_CV_EQUALIZE_H

#include <stddef.h>
#include <stdint.h>

#define FDL_CV_TILES_MAX 64 /* along one side */
#define FDL_CV_VALUES    256

struct fdl_cv_clahe {
    double clip; /* of a histogram; 0: not at all */
    int32_t tiles_x, tiles_y;
};

/* In place. */
void fdl_cv_equalize(uint8_t *plane, size_t n);

/* Bytes of scratch memory for images of that width. */
size_t fdl_cv_clahe_scratch(const struct fdl_cv_clahe *s, int32_t width);

struct fdl_cv_equalize_kernels {
    /* Tables of bytes above left and right, below left and right, as one. */
    void (*join)(const uint8_t *const table[4], uint32_t joined[FDL_CV_VALUES]);
    /* n pixels in place, between those four: how far to the right each is, and
     * how far below. */
    void (*mix)(const uint32_t joined[FDL_CV_VALUES], const float *part_x,
                float part_y, size_t n, uint8_t *on);
};

/* In place; scratch: aligned to 64. */
void fdl_cv_clahe(const struct fdl_cv_equalize_kernels *k,
                  const struct fdl_cv_clahe *s, uint8_t *plane, int32_t width,
                  int32_t height, uint8_t *scratch);

/* Of each level; levels.h has them all. */
extern const struct fdl_cv_equalize_kernels fdl_cv_equalize_c,
    fdl_cv_equalize_avx2, fdl_cv_equalize_avx512;

#endif
