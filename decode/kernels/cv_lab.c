/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Integers with tables, which are made for each image: less than a tenth of the
 * time that a small one takes. Roots are rounded to float where OpenCV has
 * floats, so this file is compiled without contraction.
 */
#include "decode/kernels/cv_lab.h"

#include "base/compiler.h"

#include <math.h>

#define GAMMA_BITS  3 /* of linear light, more than a byte */
#define MATRIX_BITS 12
#define ROOT_BITS   15
#define BASE_BITS   14 /* of what Lab becomes on its way back */
#define BASE        (1 << BASE_BITS)
#define ROOTS       (256 * 3 / 2 << GAMMA_BITS)
#define LIGHTS      4096

static const double white[3] = {0.950456, 1, 1.088754};
static const double to_xyz[3][3] = {{0.412453, 0.357580, 0.180423},
                                    {0.212671, 0.715160, 0.072169},
                                    {0.019334, 0.119193, 0.950227}};
static const double from_xyz[3][3] = {{3.240479, -1.53715, -0.498535},
                                      {-0.969256, 1.875991, 0.041556},
                                      {0.055648, -0.204043, 1.057311}};

/* Rounded half up. */
static int32_t down(int32_t v, int32_t bits)
{
    return (v + (1 << (bits - 1))) >> bits;
}

static uint8_t to_byte(int32_t v)
{
    return (uint8_t)FDL_MAX(FDL_MIN(v, 255), 0);
}

/* ---- To Lab ------------------------------------------------------------- */

struct to_lab {
    int32_t light[256]; /* linear, of a colour's byte */
    int32_t root[ROOTS];
    int32_t matrix[3][3];
};

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

static void make_to_lab(struct to_lab *t)
{
    for (int32_t i = 0; i < 256; i++)
        t->light[i] =
            (int32_t)lrint(linear_light(i / 255.0) * (255 << GAMMA_BITS));
    for (int32_t i = 0; i < ROOTS; i++)
        t->root[i] = cube_root(i);
    for (int32_t k = 0; k < 9; k++)
        t->matrix[k / 3][k % 3] = (int32_t)lrint(
            to_xyz[k / 3][k % 3] / white[k / 3] * (1 << MATRIX_BITS));
}

void fdl_cv_to_lab(const struct fdl_cv_planes *p)
{
    const int32_t scale = (116 * 255 + 50) / 100;
    const int32_t black = (16 * 255 * (1 << ROOT_BITS) + 50) / 100;
    const int32_t middle = 128 << ROOT_BITS;
    struct to_lab t;
    make_to_lab(&t);
    for (size_t i = 0; i < p->width * p->height; i++) {
        int32_t r = t.light[p->in[0][i]], g = t.light[p->in[1][i]];
        int32_t b = t.light[p->in[2][i]], f[3];
        for (int32_t k = 0; k < 3; k++) {
            const int32_t *m = t.matrix[k];
            f[k] = t.root[down(r * m[0] + g * m[1] + b * m[2], MATRIX_BITS)];
        }
        p->out[0][i] = to_byte(down(scale * f[1] - black, ROOT_BITS));
        p->out[1][i] = to_byte(down(500 * (f[0] - f[1]) + middle, ROOT_BITS));
        p->out[2][i] = to_byte(down(200 * (f[1] - f[2]) + middle, ROOT_BITS));
    }
}

/* ---- And back ----------------------------------------------------------- */

struct from_lab {
    int32_t y[256], root[256]; /* of L: luminance, and its cube root */
    uint8_t byte[LIGHTS];      /* of linear light */
    int32_t matrix[3][3];
};

#define DARK 20 /* the last L in the straight part */

static void make_luminance(struct from_lab *t)
{
    for (int32_t i = 0; i < 256; i++) {
        double root = BASE * (i * 100 / 255.0 + 16) / 116;
        double y = root * root / BASE * root / BASE;
        if (i <= DARK) {
            root = BASE * (16 / 116.0 + i * 5 / 3.0 / 17 / 29);
            y = i * (BASE * 180.0) / 17 / 29 / 29 / 29;
        }
        t->y[i] = (int32_t)lrint(y);
        t->root[i] = (int32_t)lrint(root);
    }
}

/* Where bytes begin is found, for there are fewer of them. */
static void make_bytes(struct from_lab *t)
{
    int32_t at = 0;
    for (int32_t v = 0; v < 256; v++) {
        double end = v < 255 ? linear_light((v + 0.5) / 255) * LIGHTS : LIGHTS;
        for (; at < LIGHTS && at < end; at++)
            t->byte[at] = (uint8_t)v;
    }
}

static void make_from_lab(struct from_lab *t)
{
    make_luminance(t);
    make_bytes(t);
    for (int32_t k = 0; k < 9; k++)
        t->matrix[k / 3][k % 3] = (int32_t)lrint(
            from_xyz[k / 3][k % 3] * white[k % 3] * (1 << MATRIX_BITS));
}

/* Of x or z, the root of which this is. */
static int32_t cube(int32_t root)
{
    const int32_t straight = 3390; /* and below */
    if (root <= straight)
        return root * 108 / 841 - BASE * 16 / 116 * 108 / 841;
    return root * root / BASE * root / BASE;
}

void fdl_cv_from_lab(const struct fdl_cv_planes *p)
{
    struct from_lab t;
    make_from_lab(&t);
    for (size_t i = 0; i < p->width * p->height; i++) {
        int32_t l = p->in[0][i], a = p->in[1][i], b = p->in[2][i];
        int32_t to_x = ((5 * a * 53687 + 128) >> 13) - 128 * BASE / 500;
        int32_t to_z = ((b * 41943 + 16) >> 9) - 128 * BASE / 200 + 1;
        int32_t x = cube(t.root[l] + to_x), z = cube(t.root[l] - to_z);
        for (int32_t k = 0; k < 3; k++) {
            const int32_t *m = t.matrix[k];
            int32_t v = down(m[0] * x + m[1] * t.y[l] + m[2] * z,
                             MATRIX_BITS + BASE_BITS - 12);
            p->out[k][i] = t.byte[FDL_MAX(FDL_MIN(v, LIGHTS - 1), 0)];
        }
    }
}
