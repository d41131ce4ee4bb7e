/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenCV's warpAffine, warpPerspective and remap of bytes, to the bit, in two
 * ways. Version 4 has points in 32nds of a pixel. Version 5 has floats: where
 * there is AVX2, in vectors of 16 pixels, and in another order for those left
 * of a row.
 */
#ifndef FDL_DECODE_CV_WARP_H
#define FDL_DECODE_CV_WARP_H

#include "decode/kernels/cv_border.h"
#include "decode/pixels/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* OpenCV's numbers; cubic: in version 4 alone. */
enum fdl_cv_between { FDL_CV_PICK, FDL_CV_MIX_4, FDL_CV_MIX_16 };

enum fdl_cv_warp_kind { FDL_CV_AFFINE, FDL_CV_PERSPECTIVE, FDL_CV_REMAP };

struct fdl_cv_warp {
    enum fdl_cv_warp_kind kind;
    int32_t width, height; /* of the result */
    enum fdl_cv_between between;
    bool floats; /* version 5 */
    enum fdl_cv_border border;
    uint8_t fill[FDL_CHANNELS_MAX];
    /* Pixel (x, y) of the result is from (m0 x + m1 y + m2, m3 x + m4 y + m5)
     * of the image, over m6 x + m7 y + m8 in perspective. */
    double m[9];
    const float *maps; /* REMAP: of each pixel its x, then of each its y */
};

struct fdl_cv_warp_job; /* cv_warp_job.h */

struct fdl_cv_warp_kernels {
    /* The points of row y. */
    void (*find)(const struct fdl_cv_warp_job *j, int32_t y);
    /* A row of channel c: nearest, linear. */
    void (*pick)(const struct fdl_cv_warp_job *j, int32_t c, uint8_t *to);
    void (*mix)(const struct fdl_cv_warp_job *j, int32_t c, uint8_t *to);
};

#define FDL_CV_LAID       3  /* channels of an image that is laid */
#define FDL_CV_LAID_GROUP 16 /* pixels that rows have at least */

/* Of an image whose planes were laid together, a pixel in four bytes. */
struct fdl_cv_laid_kernels {
    /* NULL: planes stay what they are. */
    void (*lay)(const struct fdl_image *in, uint32_t *to);
    /* As above; of all channels at once. */
    void (*find)(const struct fdl_cv_warp_job *j, int32_t y);
    void (*pick)(const struct fdl_cv_warp_job *j,
                 uint8_t *const to[FDL_CV_LAID]);
    void (*mix)(const struct fdl_cv_warp_job *j,
                uint8_t *const to[FDL_CV_LAID]);
};

/* Bytes; 0: they do not fit a size_t. */
size_t fdl_cv_warp_scratch(const struct fdl_cv_laid_kernels *laid,
                           const struct fdl_cv_warp *w,
                           const struct fdl_image *in);

/* in: planes below 2^31 bytes. out: as large as w says; scratch: aligned to 64.
 */
void fdl_cv_warp(const struct fdl_cv_warp_kernels *k,
                 const struct fdl_cv_laid_kernels *laid,
                 const struct fdl_cv_warp *w, const struct fdl_image *in,
                 const struct fdl_image *out, uint8_t *scratch);

/* The map from the result to the image, of one from the image to the result: of
 * six numbers, of nine. */
void fdl_cv_invert_affine(double m[6]);
void fdl_cv_invert_perspective(double m[9]);

/* Of each level; levels.h has them all. */
extern const struct fdl_cv_warp_kernels fdl_cv_warp_c, fdl_cv_warp_avx2;
extern const struct fdl_cv_laid_kernels fdl_cv_laid_none, fdl_cv_laid_avx512;

#endif
