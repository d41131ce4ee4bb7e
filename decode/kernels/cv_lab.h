/* SPDX-License-Identifier: Apache-2.0 */
/* What OpenCV's conversions of bytes between sRGB and Lab are made of: integers
 * in tables. Loops are in cv_lab_loops.h. */
#ifndef FDL_DECODE_CV_LAB_H
#define FDL_DECODE_CV_LAB_H

#include <stdint.h>

#define FDL_LAB_GAMMA_BITS  3 /* of linear light, more than a byte */
#define FDL_LAB_MATRIX_BITS 12
#define FDL_LAB_ROOT_BITS   15
#define FDL_LAB_BASE_BITS   14 /* of what Lab becomes on its way back */
#define FDL_LAB_ROOTS       (256 * 3 / 2 << FDL_LAB_GAMMA_BITS)
#define FDL_LAB_LIGHTS      4096

struct fdl_to_lab {
    uint16_t light[256]; /* linear, of a colour's byte */
    uint16_t root[FDL_LAB_ROOTS];
    int32_t matrix[3][3];
};

struct fdl_from_lab {
    uint16_t y[256], root[256];   /* of L: luminance, and its cube root */
    uint8_t byte[FDL_LAB_LIGHTS]; /* of linear light */
    int32_t matrix[3][3];
};

struct fdl_lab {
    struct fdl_to_lab to;
    struct fdl_from_lab from;
};

/* Made by the first call. */
const struct fdl_lab *fdl_lab(void);

#endif
