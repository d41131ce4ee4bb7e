/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First the points of a row are found, with their weights, then each channel is
 * taken from there. The order of operations is OpenCV's, as the last bit of one
 * moves pixels: this file is compiled without contraction, and what OpenCV
 * fuses is fused by fmaf.
 */
#define TARGET

#include "base/memory.h"
#include "decode/kernels/cv_warp_points.h"

#define PARTS       FDL_CV_PARTS
#define PART_BITS   FDL_CV_PART_BITS
#define WEIGHT_BITS 15
#define TAPS        16 /* of a cubic */
#define ARRAYS      11 /* of a row */

#define CUBIC_BYTES ((size_t)PARTS * PARTS * TAPS * sizeof(int16_t))

size_t fdl_cv_warp_job_bytes(const struct fdl_cv_warp *w)
{
    size_t bytes;
    if (!fdl_mul_size((size_t)w->width, ARRAYS * sizeof(int32_t), &bytes))
        return 0;
    return bytes;
}

/* So many pixels of the image for one of the result are laid together in less
 * time than they save. */
#define MOST_LAID 4

static size_t laid_bytes(const struct fdl_cv_laid_kernels *laid,
                         const struct fdl_cv_warp *w,
                         const struct fdl_image *in)
{
    size_t made = (size_t)w->width * (size_t)w->height;
    bool pays = in->channels == FDL_CV_LAID && w->width >= FDL_CV_LAID_GROUP &&
                w->between != FDL_CV_MIX_16 && in->plane / MOST_LAID <= made;
    return laid->lay && pays ? in->plane * sizeof(uint32_t) : 0;
}

size_t fdl_cv_warp_scratch(const struct fdl_cv_laid_kernels *laid,
                           const struct fdl_cv_warp *w,
                           const struct fdl_image *in)
{
    size_t bytes = fdl_cv_warp_job_bytes(w);
    if (bytes == 0 || !fdl_add_size(bytes, CUBIC_BYTES, &bytes) ||
        !fdl_add_size(bytes, laid_bytes(laid, w, in), &bytes))
        return 0;
    return bytes;
}

int32_t fdl_cv_round(double v)
{
    double whole = rint(v);
    return whole >= INT32_MIN && whole <= INT32_MAX ? (int32_t)whole
                                                    : INT32_MIN;
}

static void set_arrays(struct fdl_cv_warp_job *j, uint8_t *memory)
{
    size_t n = (size_t)j->w->width;
    int32_t *at = (int32_t *)(void *)memory;
    j->p.x = at;
    j->p.y = at + n;
    j->p.at = at + 2 * n;
    j->step_x = at + 3 * n;
    j->step_y = at + 4 * n;
    j->p.part_x.whole = at + 5 * n;
    j->p.part_y.whole = at + 6 * n;
    for (size_t t = 0; t < FDL_COUNT_OF(j->p.corners); t++)
        j->p.corners[t] = at + (7 + t) * n;
    if (j->w->floats) {
        j->p.part_x.real = (float *)(void *)(at + 5 * n);
        j->p.part_y.real = j->p.part_x.real + n;
    }
}

static void set_steps(const struct fdl_cv_warp_job *j)
{
    const double unit = 1 << FDL_CV_POINT_BITS;
    for (int32_t i = 0; i < j->w->width; i++) {
        j->step_x[i] = fdl_cv_round(j->w->m[0] * i * unit);
        j->step_y[i] = fdl_cv_round(j->w->m[3] * i * unit);
    }
}

void fdl_cv_warp_job_begin(struct fdl_cv_warp_job *j, uint8_t *memory)
{
    set_arrays(j, memory);
    if (j->w->kind == FDL_CV_AFFINE && !j->w->floats)
        set_steps(j);
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

static uint8_t pixel(const struct fdl_cv_warp_job *j, int32_t c, int32_t x,
                     int32_t y)
{
    int32_t from_x = fdl_cv_source(j->w->border, x, j->in->width);
    int32_t from_y = fdl_cv_source(j->w->border, y, j->in->height);
    if (from_x < 0 || from_y < 0)
        return j->w->fill[c];
    return fdl_image_row(j->in, c, from_y)[from_x];
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

/* Of pixel i, of four. */
static uint8_t mix(const struct fdl_cv_points *p, bool floats, int32_t i,
                   const uint8_t v[4])
{
    return floats ? mix_4_floats(v, p->part_x.real[i], p->part_y.real[i])
                  : mix_4(v, p->part_x.whole[i], p->part_y.whole[i]);
}

uint8_t fdl_cv_pick_edge(const struct fdl_cv_warp_job *j, int32_t c, int32_t i)
{
    return pixel(j, c, j->p.x[i], j->p.y[i]);
}

uint8_t fdl_cv_mix_edge(const struct fdl_cv_warp_job *j, int32_t c, int32_t i)
{
    int32_t x = j->p.x[i], y = j->p.y[i];
    uint8_t v[4] = {pixel(j, c, x, y), pixel(j, c, x + 1, y),
                    pixel(j, c, x, y + 1), pixel(j, c, x + 1, y + 1)};
    return mix(&j->p, j->w->floats, i, v);
}

static void pick_row(const struct fdl_cv_warp_job *j, int32_t c, uint8_t *to)
{
    const uint8_t *plane = fdl_image_row(j->in, c, 0);
    for (int32_t i = 0; i < j->w->width; i++) {
        int32_t at = j->p.at[i];
        to[i] = at < 0 ? fdl_cv_pick_edge(j, c, i) : plane[at];
    }
}

static void mix_row(const struct fdl_cv_warp_job *j, int32_t c, uint8_t *to)
{
    const uint8_t *plane = fdl_image_row(j->in, c, 0);
    for (int32_t i = 0; i < j->w->width; i++) {
        if (j->p.at[i] < 0) {
            to[i] = fdl_cv_mix_edge(j, c, i);
            continue;
        }
        const uint8_t *above = plane + j->p.at[i];
        const uint8_t *below = above + j->in->width;
        uint8_t v[4] = {above[0], above[1], below[0], below[1]};
        to[i] = mix(&j->p, j->w->floats, i, v);
    }
}

static uint8_t mix_16(const uint8_t v[TAPS], const int16_t w[TAPS])
{
    int32_t sum = 1 << (WEIGHT_BITS - 1);
    for (int32_t t = 0; t < TAPS; t++)
        sum += v[t] * w[t];
    return (uint8_t)FDL_MAX(FDL_MIN(sum >> WEIGHT_BITS, 255), 0);
}

/* 4 x 4 pixels round a point, from (x, y) on. */
static void take_16(const struct fdl_cv_warp_job *j, int32_t c, int32_t x,
                    int32_t y, uint8_t v[TAPS])
{
    if (x < 0 || y < 0 || x > j->in->width - 4 || y > j->in->height - 4) {
        for (int32_t i = 0; i < TAPS; i++)
            v[i] = pixel(j, c, x + i % 4, y + i / 4);
        return;
    }
    const uint8_t *from = fdl_image_row(j->in, c, y) + x;
    for (int32_t b = 0; b < 4; b++, from += j->in->width)
        memcpy(v + b * 4, from, 4);
}

static void mix_row_of_16(const struct fdl_cv_warp_job *j, int32_t c,
                          uint8_t *to)
{
    const struct fdl_cv_points *p = &j->p;
    for (int32_t i = 0; i < j->w->width; i++) {
        uint8_t v[TAPS];
        int32_t which = p->part_y.whole[i] * PARTS + p->part_x.whole[i];
        take_16(j, c, p->x[i] - 1, p->y[i] - 1, v);
        to[i] = mix_16(v, j->cubic[which]);
    }
}

const struct fdl_cv_warp_kernels fdl_cv_warp_c = {
    .find = find_points,
    .pick = pick_row,
    .mix = mix_row,
};

const struct fdl_cv_laid_kernels fdl_cv_laid_none = {0};

static void warp_planes(const struct fdl_cv_warp_kernels *k,
                        const struct fdl_cv_warp_job *j)
{
    enum fdl_cv_between between = j->w->between;
    for (int32_t y = 0; y < j->w->height; y++) {
        k->find(j, y);
        for (int32_t c = 0; c < j->in->channels; c++) {
            uint8_t *to = fdl_image_row(j->out, c, y);
            if (between == FDL_CV_PICK)
                k->pick(j, c, to);
            else if (between == FDL_CV_MIX_4)
                k->mix(j, c, to);
            else
                mix_row_of_16(j, c, to);
        }
    }
}

static void warp_laid(const struct fdl_cv_laid_kernels *laid,
                      const struct fdl_cv_warp_job *j)
{
    for (int32_t y = 0; y < j->w->height; y++) {
        uint8_t *to[FDL_CV_LAID];
        for (int32_t c = 0; c < FDL_CV_LAID; c++)
            to[c] = fdl_image_row(j->out, c, y);
        laid->find(j, y);
        if (j->w->between == FDL_CV_PICK)
            laid->pick(j, to);
        else
            laid->mix(j, to);
    }
}

/* In scratch memory: cubic weights, pixels laid together, arrays. */
void fdl_cv_warp(const struct fdl_cv_warp_kernels *k,
                 const struct fdl_cv_laid_kernels *laid,
                 const struct fdl_cv_warp *w, const struct fdl_image *in,
                 const struct fdl_image *out, uint8_t *scratch)
{
    struct fdl_cv_warp_job j = {.w = w, .in = in, .out = out};
    size_t bytes = laid_bytes(laid, w, in);
    uint32_t *pixels = (uint32_t *)(void *)(scratch + CUBIC_BYTES);
    j.cubic = (int16_t(*)[TAPS])(void *)scratch;
    fdl_cv_warp_job_begin(&j, scratch + CUBIC_BYTES + bytes);
    if (w->between == FDL_CV_MIX_16)
        make_cubic(j.cubic);
    if (bytes > 0) {
        laid->lay(in, pixels);
        j.laid = pixels;
        warp_laid(laid, &j);
    } else {
        warp_planes(k, &j);
    }
}
