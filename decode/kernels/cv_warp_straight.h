/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linear maps that neither turn nor shear, of version 4 or 5: rows stay rows.
 * Where the pixels of a row come from is found once, a row of the image is
 * mixed along x once, and nothing of the image is needed but a row at a time:
 * it need not exist.
 */
#ifndef FDL_DECODE_CV_WARP_STRAIGHT_H
#define FDL_DECODE_CV_WARP_STRAIGHT_H

#include "decode/kernels/cv_warp.h"

#define FDL_CV_GROUP 16 /* columns that kernels work on together */

/* A part of a pixel, or what is between two of them: in 32nds in version 4. */
union fdl_cv_number {
    int32_t whole;
    float real;
};

/* An image, row by row. */
struct fdl_cv_lines {
    /* Pixels [x, x + n) of row y, of each channel to its place. */
    void (*get)(const struct fdl_cv_lines *lines, int32_t y, int32_t x,
                int32_t n, uint8_t *const to[]);
    int32_t width, height, channels;
    const void *arg;
};

/* Where they come from, n and what fills the last group: the first of two
 * pixels of a line, and how far behind it; in version 4 as weights of both,
 * (32 - part, part) in words. */
struct fdl_cv_columns {
    const int32_t *at;
    const union fdl_cv_number *part;
    int32_t n;
    int32_t reach; /* pixels of a line that a group touches, at most */
    bool floats;
};

struct fdl_cv_straight_kernels {
    /* A line of bytes between its pixels, as numbers; NULL: maps without
     * rotation are like all others. */
    void (*across)(const struct fdl_cv_columns *x, const uint8_t *line,
                   union fdl_cv_number *out);
    /* Two lines of these, and what is between them, as one of bytes. */
    void (*down)(const struct fdl_cv_columns *x,
                 const union fdl_cv_number *above,
                 const union fdl_cv_number *below, union fdl_cv_number part,
                 uint8_t *to);
};

/* Whether a map is one of these, and there are kernels. */
bool fdl_cv_warp_is_straight(const struct fdl_cv_straight_kernels *k,
                             const struct fdl_cv_warp *w);

/* Bytes; 0: they do not fit a size_t. */
size_t fdl_cv_straight_scratch(const struct fdl_cv_warp *w,
                               const struct fdl_cv_lines *lines);

/* out: as large as w says; scratch: aligned to 64. */
void fdl_cv_warp_straight(const struct fdl_cv_straight_kernels *k,
                          const struct fdl_cv_warp_kernels *all,
                          const struct fdl_cv_warp *w,
                          const struct fdl_cv_lines *lines,
                          const struct fdl_image *out, uint8_t *scratch);

/* Those of an image that there is. */
struct fdl_cv_lines fdl_cv_lines_of(const struct fdl_image *image);

/* Of each level; levels.h has them all. */
extern const struct fdl_cv_straight_kernels fdl_cv_straight_c,
    fdl_cv_straight_avx2, fdl_cv_straight_avx512;

#endif
