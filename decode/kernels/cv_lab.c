/* SPDX-License-Identifier: Apache-2.0 */
/* Roots are rounded to float where OpenCV has floats: this file is compiled
 * without contraction. */
#include "decode/kernels/cv_lab.h"

#include <math.h>
#include <pthread.h>

#define GAMMA_BITS  FDL_LAB_GAMMA_BITS
#define MATRIX_BITS FDL_LAB_MATRIX_BITS
#define ROOT_BITS   FDL_LAB_ROOT_BITS
#define BASE        (1 << FDL_LAB_BASE_BITS)
#define LIGHTS      FDL_LAB_LIGHTS

static struct fdl_lab lab;
static pthread_once_t lab_once = PTHREAD_ONCE_INIT;

static const double white[3] = {0.950456, 1, 1.088754};
static const double to_xyz[3][3] = {{0.412453, 0.357580, 0.180423},
                                    {0.212671, 0.715160, 0.072169},
                                    {0.019334, 0.119193, 0.950227}};
static const double from_xyz[3][3] = {{3.240479, -1.53715, -0.498535},
                                      {-0.969256, 1.875991, 0.041556},
                                      {0.055648, -0.204043, 1.057311}};

/* ---- To Lab ------------------------------------------------------------- */

static double linear_light(double v)
{
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

/* Two roots are a half as floats, and less in truth: they go down. */
static int32_t cube_root(int32_t i)
{
    float v = (float)i / (255.0F * (1 << GAMMA_BITS));
    if (v < 0.008856F)
        return (int32_t)lrintf((v * 7.787F + (float)(16.0 / 116)) *
                               (1 << ROOT_BITS));
    double exact = cbrt((double)v), root = (double)(float)exact;
    double less = root > exact ? 1e-9 : 0;
    return (int32_t)lrint(root * (1 << ROOT_BITS) - less);
}

static void make_to_lab(struct fdl_to_lab *t)
{
    for (int32_t i = 0; i < 256; i++)
        t->light[i] =
            (uint16_t)lrint(linear_light(i / 255.0) * (255 << GAMMA_BITS));
    for (int32_t i = 0; i < FDL_LAB_ROOTS; i++)
        t->root[i] = (uint16_t)cube_root(i);
    for (int32_t k = 0; k < 9; k++)
        t->matrix[k / 3][k % 3] = (int32_t)lrint(
            to_xyz[k / 3][k % 3] / white[k / 3] * (1 << MATRIX_BITS));
}

/* ---- And back ----------------------------------------------------------- */

#define DARK 20 /* the last L in the straight part */

static void make_luminance(struct fdl_from_lab *t)
{
    for (int32_t i = 0; i < 256; i++) {
        double root = BASE * (i * 100 / 255.0 + 16) / 116;
        double y = root * root / BASE * root / BASE;
        if (i <= DARK) {
            root = BASE * (16 / 116.0 + i * 5 / 3.0 / 17 / 29);
            y = i * (BASE * 180.0) / 17 / 29 / 29 / 29;
        }
        t->y[i] = (uint16_t)lrint(y);
        t->root[i] = (uint16_t)lrint(root);
    }
}

/* Where bytes begin is found, for there are fewer of them. */
static void make_bytes(struct fdl_from_lab *t)
{
    int32_t at = 0;
    for (int32_t v = 0; v < 256; v++) {
        double end = v < 255 ? linear_light((v + 0.5) / 255) * LIGHTS : LIGHTS;
        for (; at < LIGHTS && at < end; at++)
            t->byte[at] = (uint8_t)v;
    }
}

static void make_from_lab(struct fdl_from_lab *t)
{
    make_luminance(t);
    make_bytes(t);
    for (int32_t k = 0; k < 9; k++)
        t->matrix[k / 3][k % 3] = (int32_t)lrint(
            from_xyz[k / 3][k % 3] * white[k % 3] * (1 << MATRIX_BITS));
}

/* ---- Both --------------------------------------------------------------- */

static void make(void)
{
    make_to_lab(&lab.to);
    make_from_lab(&lab.from);
}

const struct fdl_lab *fdl_lab(void)
{
    pthread_once(&lab_once, make);
    return &lab;
}
