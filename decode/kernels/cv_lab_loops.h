/* SPDX-License-Identifier: Apache-2.0 */
/* Lab in cv_colour_loops.h. What looks up tables is apart, for no vectors
 * are made of it. */
#ifndef FDL_DECODE_CV_LAB_LOOPS_H
#define FDL_DECODE_CV_LAB_LOOPS_H

#include "decode/kernels/cv_colour_loops.h"
#include "decode/kernels/cv_lab.h"

/* ---- To Lab ------------------------------------------------------------- */

struct lab_light {
    uint16_t of[3][BLOCK];
};

/* One of X, Y and Z, of which the root is looked up. */
TARGET FDL_INLINE void find_root(const struct fdl_to_lab *t,
                                 const struct lab_light *light, int32_t which,
                                 uint16_t root[BLOCK])
{
    const int32_t *m = t->matrix[which];
    int32_t x = m[0], y = m[1], z = m[2];
    uint16_t at[BLOCK];
    for (size_t i = 0; i < BLOCK; i++)
        at[i] = (uint16_t)down(light->of[0][i] * x + light->of[1][i] * y +
                                   light->of[2][i] * z,
                               FDL_LAB_MATRIX_BITS);
    for (size_t i = 0; i < BLOCK; i++)
        root[i] = t->root[at[i]];
}

TARGET static void lab_block(struct block *b)
{
    const int32_t scale = (116 * 255 + 50) / 100;
    const int32_t black = (16 * 255 * (1 << FDL_LAB_ROOT_BITS) + 50) / 100;
    const int32_t middle = 128 << FDL_LAB_ROOT_BITS;
    const struct fdl_to_lab *t = &fdl_lab()->to;
    struct lab_light light;
    uint16_t root[3][BLOCK];
    for (size_t c = 0; c < 3; c++) {
        for (size_t i = 0; i < BLOCK; i++)
            light.of[c][i] = t->light[b->p[c][i]];
    }
    for (int32_t c = 0; c < 3; c++)
        find_root(t, &light, c, root[c]);
    for (size_t i = 0; i < BLOCK; i++) {
        int32_t x = root[0][i], y = root[1][i], z = root[2][i];
        b->p[0][i] = to_byte(down(scale * y - black, FDL_LAB_ROOT_BITS));
        b->p[1][i] = to_byte(down(500 * (x - y) + middle, FDL_LAB_ROOT_BITS));
        b->p[2][i] = to_byte(down(200 * (y - z) + middle, FDL_LAB_ROOT_BITS));
    }
}

TARGET static void to_lab(const struct fdl_cv_planes *p)
{
    in_blocks(p, 3, lab_block, 0, p->width * p->height);
}

/* ---- And back ----------------------------------------------------------- */

#define LAB_BASE (1 << FDL_LAB_BASE_BITS)

/* Of x or z, the root of which this is. */
TARGET FDL_INLINE int32_t cube(int32_t root)
{
    const int32_t end = 3390; /* of the straight part */
    int32_t straight = root * 108 / 841 - LAB_BASE * 16 / 116 * 108 / 841;
    int32_t curved = root * root / LAB_BASE * root / LAB_BASE;
    return choose(root <= end, straight, curved);
}

/* One colour, of which the byte is looked up. */
TARGET FDL_INLINE void find_byte(const struct fdl_from_lab *t,
                                 const int32_t xyz[3][BLOCK], int32_t which,
                                 uint8_t to[BLOCK])
{
    const int32_t *m = t->matrix[which];
    int32_t x = m[0], y = m[1], z = m[2];
    const int32_t bits = FDL_LAB_MATRIX_BITS + FDL_LAB_BASE_BITS - 12;
    uint16_t at[BLOCK];
    for (size_t i = 0; i < BLOCK; i++) {
        int32_t v = down(x * xyz[0][i] + y * xyz[1][i] + z * xyz[2][i], bits);
        v = FDL_MAX(v, 0);
        at[i] = (uint16_t)FDL_MIN(v, FDL_LAB_LIGHTS - 1);
    }
    for (size_t i = 0; i < BLOCK; i++)
        to[i] = t->byte[at[i]];
}

TARGET static void from_lab_block(struct block *b)
{
    const struct fdl_from_lab *t = &fdl_lab()->from;
    uint16_t root[BLOCK];
    int32_t xyz[3][BLOCK];
    for (size_t i = 0; i < BLOCK; i++) {
        root[i] = t->root[b->p[0][i]];
        xyz[1][i] = t->y[b->p[0][i]];
    }
    for (size_t i = 0; i < BLOCK; i++) {
        int32_t to_x =
            ((5 * b->p[1][i] * 53687 + 128) >> 13) - 128 * LAB_BASE / 500;
        int32_t to_z =
            ((b->p[2][i] * 41943 + 16) >> 9) - 128 * LAB_BASE / 200 + 1;
        xyz[0][i] = cube(root[i] + to_x);
        xyz[2][i] = cube(root[i] - to_z);
    }
    for (int32_t c = 0; c < 3; c++)
        find_byte(t, (const int32_t(*)[BLOCK])xyz, c, b->p[c]);
}

TARGET static void from_lab(const struct fdl_cv_planes *p)
{
    in_blocks(p, 3, from_lab_block, 0, p->width * p->height);
}

#endif
