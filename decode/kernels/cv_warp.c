/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First the points of a row are found, with their weights, then each channel is
 * taken from there. The order of operations is OpenCV's, as the last bit of one
 * moves pixels: this file is compiled without contraction, and what OpenCV
 * fuses is fused by fmaf.
 */
#include "decode/kernels/cv_warp.h"

#include "base/compiler.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

/* Of a row: the pixel at or before each point, and how far behind it that is
 * along x and y, in 32nds or as floats. */
struct points {
    int32_t *x, *y;
    union {
        int32_t *whole;
        float *real;
    } part_x, part_y;
};

#define PART_BITS   5
#define PARTS       (1 << PART_BITS)
#define WEIGHT_BITS 15
#define TAPS        16 /* of a cubic */

struct job {
    const struct fdl_cv_warp *w;
    const struct fdl_image *in, *out;
    struct points p;
    int16_t (*cubic)[TAPS]; /* of y * PARTS + x */
};

#define CUBIC_BYTES ((size_t)PARTS * PARTS * TAPS * sizeof(int16_t))

size_t fdl_cv_warp_scratch(const struct fdl_cv_warp *w)
{
    size_t bytes;
    if (!fdl_mul_size((size_t)w->width, 4 * sizeof(int32_t), &bytes) ||
        !fdl_add_size(bytes, CUBIC_BYTES, &bytes))
        return 0;
    return bytes;
}

static struct points points_in(const struct fdl_cv_warp *w, uint8_t *memory)
{
    size_t n = (size_t)w->width;
    struct points p = {.x = (int32_t *)(void *)memory};
    p.y = p.x + n;
    p.part_x.whole = p.y + n;
    p.part_y.whole = p.y + 2 * n;
    if (w->floats) {
        p.part_x.real = (float *)(void *)(p.y + n);
        p.part_y.real = p.part_x.real + n;
    }
    return p;
}

/* ---- Matrices ----------------------------------------------------------- */

void fdl_cv_invert_affine(double m[6])
{
    double d = m[0] * m[4] - m[1] * m[3];
    d = d != 0 ? 1 / d : 0;
    double a = m[4] * d, e = m[0] * d, b = m[1] * -d, c = m[3] * -d;
    double x = -a * m[2] - b * m[5], y = -c * m[2] - e * m[5];
    m[0] = a;
    m[1] = b;
    m[2] = x;
    m[3] = c;
    m[4] = e;
    m[5] = y;
}

/* Two by two of m: a d - b c. */
static double minor_of(const double m[9], int a, int d, int b, int c)
{
    double ad = m[a] * m[d], bc = m[b] * m[c];
    return ad - bc;
}

void fdl_cv_invert_perspective(double m[9])
{
    double d = m[0] * minor_of(m, 4, 8, 5, 7) - m[1] * minor_of(m, 3, 8, 5, 6) +
               m[2] * minor_of(m, 3, 7, 4, 6);
    d = d != 0 ? 1 / d : 0;
    double inverse[9] = {minor_of(m, 4, 8, 5, 7), minor_of(m, 2, 7, 1, 8),
                         minor_of(m, 1, 5, 2, 4), minor_of(m, 5, 6, 3, 8),
                         minor_of(m, 0, 8, 2, 6), minor_of(m, 2, 3, 0, 5),
                         minor_of(m, 3, 7, 4, 6), minor_of(m, 1, 6, 0, 7),
                         minor_of(m, 0, 4, 1, 3)};
    for (int32_t i = 0; i < 9; i++)
        m[i] = inverse[i] * d;
}

/* ---- Points of version 4 ------------------------------------------------ */

#define POINT_BITS 10
#define BLOCK_SIDE 32

/* As the processor rounds what does not fit. */
static int32_t round_to_int(double v)
{
    double whole = rint(v);
    return whole >= INT32_MIN && whole <= INT32_MAX ? (int32_t)whole
                                                    : INT32_MIN;
}

static int32_t within_16_bits(int32_t v)
{
    return FDL_MAX(FDL_MIN(v, INT16_MAX), INT16_MIN);
}

/* Of coordinate v, with so many bits behind the point. */
static void put_fixed(int32_t v, int32_t bits, int32_t *at, int32_t *part)
{
    *at = within_16_bits(v >> bits);
    *part = bits >= PART_BITS ? (v >> (bits - PART_BITS)) & (PARTS - 1) : 0;
}

/* One coordinate of a row: `start`, and `step` for each pixel, in 1024ths. */
static void affine_fixed(const struct fdl_cv_warp *w, double step, double start,
                         int32_t *at, int32_t *part)
{
    const double unit = 1 << POINT_BITS;
    uint32_t half = w->between == FDL_CV_PICK
                        ? 1U << (POINT_BITS - 1)
                        : 1U << (POINT_BITS - PART_BITS - 1);
    uint32_t first = (uint32_t)round_to_int(start * unit) + half;
    for (int32_t i = 0; i < w->width; i++) {
        uint32_t more = (uint32_t)round_to_int(step * i * unit);
        put_fixed((int32_t)(first + more), POINT_BITS, &at[i], &part[i]);
    }
}

/* Columns that are counted from one of them, as OpenCV goes block by block. */
static int32_t block_width(const struct fdl_cv_warp *w)
{
    int32_t rows = FDL_MIN(BLOCK_SIDE / 2, w->height);
    return FDL_MIN(BLOCK_SIDE * BLOCK_SIDE / rows, w->width);
}

static int32_t over(double v, double part)
{
    double limited = FDL_MIN(FDL_MAX(v * part, INT32_MIN), INT32_MAX);
    return round_to_int(limited);
}

static void perspective_fixed(const struct fdl_cv_warp *w, int32_t y,
                              const struct points *p)
{
    const double *m = w->m;
    bool picks = w->between == FDL_CV_PICK;
    int32_t block = block_width(w), bits = picks ? 0 : PART_BITS;
    for (int32_t i = 0; i < w->width; i++) {
        int32_t first = i / block * block, more = i - first;
        double start[3];
        for (int32_t k = 0; k < 3; k++) {
            double there = m[3 * k] * first + m[3 * k + 1] * y + m[3 * k + 2];
            start[k] = there + m[3 * k] * more;
        }
        double part = start[2] != 0 ? (picks ? 1 : PARTS) / start[2] : 0;
        put_fixed(over(start[0], part), bits, &p->x[i], &p->part_x.whole[i]);
        put_fixed(over(start[1], part), bits, &p->y[i], &p->part_y.whole[i]);
    }
}

static void map_fixed(const struct fdl_cv_warp *w, const float *map,
                      int32_t *at, int32_t *part)
{
    bool picks = w->between == FDL_CV_PICK;
    float unit = picks ? 1.0F : (float)PARTS;
    for (int32_t i = 0; i < w->width; i++)
        put_fixed(round_to_int((double)(map[i] * unit)), picks ? 0 : PART_BITS,
                  &at[i], &part[i]);
}

/* ---- Points of version 5 ------------------------------------------------ */

#define VECTOR 16 /* pixels */

/* m0 x + m1 y + m2 of pixel i of a row. */
static float linear_at(const struct fdl_cv_warp *w, const double m[3],
                       int32_t i, int32_t y)
{
    float step = (float)m[0], row = (float)m[1] * (float)y;
    if (i < w->width / VECTOR * VECTOR)
        return fmaf(step, (float)i, row + (float)m[2]);
    return fmaf(step, (float)i, row) + (float)m[2];
}

static void put_float(const struct fdl_cv_warp *w, float v, int32_t *at,
                      float *part)
{
    const float far = 1e9F;
    v = v >= -far ? (v <= far ? v : far) : -far;
    float whole = w->between == FDL_CV_PICK ? rintf(v) : floorf(v);
    *at = (int32_t)whole;
    *part = v - whole;
}

static void find_float(const struct fdl_cv_warp *w, int32_t y,
                       const struct points *p)
{
    for (int32_t i = 0; i < w->width; i++) {
        float x_at = linear_at(w, w->m, i, y);
        float y_at = linear_at(w, w->m + 3, i, y);
        if (w->kind == FDL_CV_PERSPECTIVE) {
            float z = linear_at(w, w->m + 6, i, y);
            x_at /= z;
            y_at /= z;
        }
        put_float(w, x_at, &p->x[i], &p->part_x.real[i]);
        put_float(w, y_at, &p->y[i], &p->part_y.real[i]);
    }
}

static void map_float(const struct fdl_cv_warp *w, const float *map,
                      int32_t *at, float *part)
{
    for (int32_t i = 0; i < w->width; i++)
        put_float(w, map[i], &at[i], &part[i]);
}

/* ---- Points ------------------------------------------------------------- */

static void find_in_maps(const struct fdl_cv_warp *w, int32_t y,
                         const struct points *p)
{
    size_t plane = (size_t)w->width * (size_t)w->height;
    const float *x_map = w->maps + (size_t)y * (size_t)w->width;
    const float *y_map = x_map + plane;
    if (w->floats) {
        map_float(w, x_map, p->x, p->part_x.real);
        map_float(w, y_map, p->y, p->part_y.real);
    } else {
        map_fixed(w, x_map, p->x, p->part_x.whole);
        map_fixed(w, y_map, p->y, p->part_y.whole);
    }
}

static void find(const struct fdl_cv_warp *w, int32_t y, const struct points *p)
{
    const double *m = w->m;
    if (w->kind == FDL_CV_REMAP) {
        find_in_maps(w, y, p);
    } else if (w->floats) {
        find_float(w, y, p);
    } else if (w->kind == FDL_CV_PERSPECTIVE) {
        perspective_fixed(w, y, p);
    } else {
        affine_fixed(w, m[0], m[1] * y + m[2], p->x, p->part_x.whole);
        affine_fixed(w, m[3], m[4] * y + m[5], p->y, p->part_y.whole);
    }
}

/* ---- Cubic weights ------------------------------------------------------ */

static void weigh_cubic(float x, float w[4])
{
    const float a = -0.75F;
    float before = x + 1, behind = 1 - x;
    w[0] = ((a * before - 5 * a) * before + 8 * a) * before - 4 * a;
    w[1] = ((a + 2) * x - (a + 3)) * x * x + 1;
    w[2] = ((a + 2) * behind - (a + 3)) * behind * behind + 1;
    w[3] = 1.0F - w[0] - w[1] - w[2];
}

/* They add up: what rounding lost goes to the greatest of the last four in the
 * middle, or comes from the least. */
static void make_sum(int16_t w[TAPS], int32_t sum)
{
    static const uint8_t middle[] = {10, 11, 14, 15};
    int32_t off = sum - (1 << WEIGHT_BITS), least = 10, most = 10;
    for (size_t i = 0; i < FDL_COUNT_OF(middle); i++) {
        if (w[middle[i]] < w[least])
            least = middle[i];
        else if (w[middle[i]] > w[most])
            most = middle[i];
    }
    w[off < 0 ? most : least] = (int16_t)(w[off < 0 ? most : least] - off);
}

static void make_cubic(int16_t (*table)[TAPS])
{
    float line[PARTS][4];
    for (int32_t i = 0; i < PARTS; i++)
        weigh_cubic((float)i / PARTS, line[i]);
    for (int32_t i = 0; i < PARTS * PARTS; i++) {
        int32_t sum = 0;
        for (int32_t t = 0; t < TAPS; t++) {
            float v = line[i / PARTS][t / 4] * line[i % PARTS][t % 4];
            long whole = lrintf(v * (float)(1 << WEIGHT_BITS));
            table[i][t] = (int16_t)FDL_MIN(whole, INT16_MAX);
            sum += table[i][t];
        }
        make_sum(table[i], sum);
    }
}

/* ---- Pixels ------------------------------------------------------------- */

static uint8_t pixel(const struct job *j, int32_t c, int32_t x, int32_t y)
{
    int32_t from_x = fdl_cv_source(j->w->border, x, j->in->width);
    int32_t from_y = fdl_cv_source(j->w->border, y, j->in->height);
    if (from_x < 0 || from_y < 0)
        return j->w->fill[c];
    return fdl_image_row(j->in, c, from_y)[from_x];
}

/* side * side pixels from (x, y) on. */
FDL_INLINE void take(const struct job *j, int32_t c, int32_t x, int32_t y,
                     int32_t side, uint8_t *v)
{
    if (x < 0 || y < 0 || x > j->in->width - side || y > j->in->height - side) {
        for (int32_t i = 0; i < side * side; i++)
            v[i] = pixel(j, c, x + i % side, y + i / side);
        return;
    }
    const uint8_t *from = fdl_image_row(j->in, c, y) + x;
    for (int32_t b = 0; b < side; b++, from += j->in->width)
        memcpy(v + b * side, from, (size_t)side);
}

static uint8_t mix_4(const uint8_t v[4], int32_t x, int32_t y)
{
    int32_t above = v[0] * (PARTS - x) + v[1] * x;
    int32_t below = v[2] * (PARTS - x) + v[3] * x;
    int32_t sum = above * (PARTS - y) + below * y;
    return (uint8_t)((sum + (1 << (2 * PART_BITS - 1))) >> (2 * PART_BITS));
}

static uint8_t mix_4_floats(const uint8_t v[4], float x, float y)
{
    float above = fmaf((float)(v[1] - v[0]), x, (float)v[0]);
    float below = fmaf((float)(v[3] - v[2]), x, (float)v[2]);
    return (uint8_t)lrintf(fmaf(below - above, y, above));
}

static uint8_t mix_16(const uint8_t v[TAPS], const int16_t w[TAPS])
{
    int32_t sum = 1 << (WEIGHT_BITS - 1);
    for (int32_t t = 0; t < TAPS; t++)
        sum += v[t] * w[t];
    return (uint8_t)FDL_MAX(FDL_MIN(sum >> WEIGHT_BITS, 255), 0);
}

static void pick_row(const struct job *j, int32_t c, uint8_t *to)
{
    for (int32_t i = 0; i < j->w->width; i++)
        to[i] = pixel(j, c, j->p.x[i], j->p.y[i]);
}

static void mix_row(const struct job *j, int32_t c, uint8_t *to)
{
    const struct points *p = &j->p;
    for (int32_t i = 0; i < j->w->width; i++) {
        uint8_t v[4];
        take(j, c, p->x[i], p->y[i], 2, v);
        to[i] = j->w->floats
                    ? mix_4_floats(v, p->part_x.real[i], p->part_y.real[i])
                    : mix_4(v, p->part_x.whole[i], p->part_y.whole[i]);
    }
}

static void mix_row_of_16(const struct job *j, int32_t c, uint8_t *to)
{
    const struct points *p = &j->p;
    for (int32_t i = 0; i < j->w->width; i++) {
        uint8_t v[TAPS];
        int32_t which = p->part_y.whole[i] * PARTS + p->part_x.whole[i];
        take(j, c, p->x[i] - 1, p->y[i] - 1, 4, v);
        to[i] = mix_16(v, j->cubic[which]);
    }
}

void fdl_cv_warp(const struct fdl_cv_warp *w, const struct fdl_image *in,
                 const struct fdl_image *out, uint8_t *scratch)
{
    struct job j = {.w = w, .in = in, .out = out};
    j.cubic = (int16_t(*)[TAPS])(void *)scratch;
    j.p = points_in(w, scratch + CUBIC_BYTES);
    if (w->between == FDL_CV_MIX_16)
        make_cubic(j.cubic);
    for (int32_t y = 0; y < w->height; y++) {
        find(w, y, &j.p);
        for (int32_t c = 0; c < in->channels; c++) {
            uint8_t *to = fdl_image_row(out, c, y);
            if (w->between == FDL_CV_PICK)
                pick_row(&j, c, to);
            else if (w->between == FDL_CV_MIX_4)
                mix_row(&j, c, to);
            else
                mix_row_of_16(&j, c, to);
        }
    }
}
