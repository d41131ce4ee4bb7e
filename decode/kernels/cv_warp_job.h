/* SPDX-License-Identifier: Apache-2.0 */
/* A warp as its kernels see it: cv_warp.c prepares it, and does what is beyond
 * the edges. */
#ifndef FDL_DECODE_CV_WARP_JOB_H
#define FDL_DECODE_CV_WARP_JOB_H

#include "decode/kernels/cv_warp.h"

#define FDL_CV_POINT_BITS 10
#define FDL_CV_PART_BITS  5
#define FDL_CV_PARTS      (1 << FDL_CV_PART_BITS)

/* Of a row: the pixel at or before each point, and how far behind it that is
 * along x and y, in 32nds or as floats. `at`: that pixel in a plane, or -1 if
 * one of those that are mixed is outside; then `corners` has it, its neighbour,
 * and those below, each as a place in a plane, or -1 for the border's value. */
struct fdl_cv_points {
    int32_t *x, *y, *at, *corners[4];
    union {
        int32_t *whole;
        float *real;
    } part_x, part_y;
};

struct fdl_cv_warp_job {
    const struct fdl_cv_warp *w;
    const struct fdl_image *in, *out;
    struct fdl_cv_points p;
    int32_t *step_x, *step_y; /* of affine maps of version 4: of each column,
                                 in 1024ths */
    int16_t (*cubic)[16];     /* weights, of y * FDL_CV_PARTS + x */
    const uint32_t *laid;     /* NULL, or the image, a pixel in each */
};

/* Bytes of the arrays of a job, and laying them out; 0: they do not fit a
 * size_t. With w, `in` and `out` set. */
size_t fdl_cv_warp_job_bytes(const struct fdl_cv_warp *w);
void fdl_cv_warp_job_begin(struct fdl_cv_warp_job *j, uint8_t *memory);

/* As the processor rounds what does not fit. */
int32_t fdl_cv_round(double v);

/* Pixel i of a row of channel c, where `at` is -1; mixed, of any. */
uint8_t fdl_cv_pick_edge(const struct fdl_cv_warp_job *j, int32_t c, int32_t i);
uint8_t fdl_cv_mix_edge(const struct fdl_cv_warp_job *j, int32_t c, int32_t i);

#endif
