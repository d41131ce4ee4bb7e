/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Positions are computed in double and rounded to float where OpenCV has a
 * float, for the last bit of one moves a weight: this file is compiled without
 * contraction.
 */
#include "decode/kernels/cv_axis.h"

#include "base/compiler.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ALIGN     64
#define PI        3.14159265358979323846
#define LANCZOS_N 8

static int32_t taps_of(const struct fdl_cv_axis_key *key)
{
    switch (key->filter) {
    case FDL_CV_NEAREST:
        return 1;
    case FDL_CV_LANCZOS4:
        return LANCZOS_N;
    default:
        return key->covers ? 0 : 2;
    }
}

/* A step of the result in pixels of the image. */
static double step_of(const struct fdl_cv_axis_key *key)
{
    return 1.0 / key->scale;
}

/* ---- Few pixels --------------------------------------------------------- */

/* Sines of eight points a quarter turn of pi apart come from those of the
 * first one. */
static void weigh_lanczos(float x, float w[LANCZOS_N])
{
    static const double half = 0.70710678118654752440;
    static const double turn[LANCZOS_N][2] = {
        {1, 0},  {-half, -half}, {0, 1},  {half, -half},
        {-1, 0}, {half, half},   {0, -1}, {-half, half}};
    double angle = -(x + 3) * PI * 0.25;
    double sine = sin(angle), cosine = cos(angle);
    float sum = 0;
    for (int32_t i = 0; i < LANCZOS_N; i++) {
        float away = x + 3 - (float)i;
        double y = -away * PI * 0.25;
        /* At a pixel nothing else counts. */
        w[i] =
            fabsf(away) < 1e-6F
                ? 1e30F
                : (float)((turn[i][0] * sine + turn[i][1] * cosine) / (y * y));
        sum += w[i];
    }
    sum = 1.0F / sum;
    for (int32_t i = 0; i < LANCZOS_N; i++)
        w[i] *= sum;
}

static void weigh(const struct fdl_cv_axis_key *key, float part, float *w)
{
    if (key->filter == FDL_CV_LANCZOS4) {
        weigh_lanczos(part, w);
    } else {
        w[0] = 1.0F - part;
        w[1] = part;
    }
}

/* The pixel at or before point i, and how far behind it that is. */
static int32_t place_of(const struct fdl_cv_axis_key *key, int32_t i,
                        float *part)
{
    double step = step_of(key);
    if (key->filter == FDL_CV_AREA) {
        int32_t at = (int32_t)floor(i * step);
        float v = (float)((i + 1) - (at + 1) * key->scale);
        *part = v <= 0 ? 0.0F : v - floorf(v);
        return at;
    }
    float v = (float)((i + 0.5) * step - 0.5);
    int32_t at = (int32_t)floorf(v);
    *part = v - (float)at;
    return at;
}

/* Two pixels of a row: beyond its ends the last one alone counts. */
static int32_t stay_inside(const struct fdl_cv_axis_key *key, int32_t at,
                           float *part)
{
    if (at >= 0 && at < key->in - 1)
        return at;
    *part = 0;
    return at < 0 ? 0 : key->in - 1;
}

static int32_t clamp(int32_t at, int32_t n)
{
    return FDL_MAX(FDL_MIN(at, n - 1), 0);
}

/* The first pixel that point i takes, before any is moved inside. */
static int32_t first_of(const struct fdl_cv_axis_key *key, int32_t i)
{
    float part;
    if (key->filter == FDL_CV_NEAREST)
        return (int32_t)floor(i * step_of(key));
    return place_of(key, i, &part) - taps_of(key) / 2 + 1;
}

/* Pixels, and with them taps. */
static size_t whole_eights(int32_t count)
{
    return ((size_t)count + 7) & ~(size_t)7;
}

static void make_taps(struct fdl_cv_axis *axis,
                      const struct fdl_cv_axis_key *key)
{
    for (int32_t i = 0; i < axis->count; i++) {
        size_t to = (size_t)i * (size_t)axis->taps;
        float part = 0, w[FDL_CV_TAPS_MAX] = {1};
        int32_t at = first_of(key, key->first + i);
        if (axis->taps > 1) {
            at = place_of(key, key->first + i, &part);
            if (key->across && axis->taps == 2)
                at = stay_inside(key, at, &part);
            at -= axis->taps / 2 - 1;
            weigh(key, part, w);
        }
        for (int32_t t = 0; t < axis->taps; t++) {
            axis->at[to + (size_t)t] = clamp(at + t, key->in) - key->origin;
            axis->weight[to + (size_t)t] =
                (int16_t)lrintf(w[t] * (float)FDL_CV_ONE);
        }
    }
}

/* ---- Quads -------------------------------------------------------------- */

#define EIGHT 8

/* Byte `at` of those that it reads is for place `to`. False: it is not among
 * them. */
static bool set_order(struct fdl_cv_quad *quad, size_t to, int32_t at)
{
    int32_t from = at - quad->at;
    if (from >= (int32_t)sizeof(quad->order))
        return false;
    quad->order[to] = (uint8_t)from;
    return true;
}

static bool make_quad(const struct fdl_cv_axis *axis, size_t first,
                      struct fdl_cv_quad *quad)
{
    size_t taps = (size_t)axis->taps, bytes = taps > 1 ? 2 : 1;
    size_t end = FDL_MIN(first + EIGHT / taps, (size_t)axis->count);
    const int32_t *at = axis->at + taps * first;
    memset(quad->order, 0x80, sizeof(quad->order)); /* zeros */
    quad->at = at[0];
    for (size_t t = 0; t < taps * (end - first); t++) {
        if (!set_order(quad, bytes * t, at[t]))
            return false;
    }
    return true;
}

static void make_quads(struct fdl_cv_axis *axis, struct fdl_cv_quad *quads)
{
    size_t count = (size_t)axis->count, all = whole_eights(axis->count);
    size_t taps = (size_t)axis->taps, step = EIGHT / taps;
    memset(axis->weight + taps * count, 0,
           taps * (all - count) * sizeof(*axis->weight));
    memset(quads, 0, all / step * sizeof(*quads));
    for (size_t i = 0; i < count; i += step) {
        if (!make_quad(axis, i, &quads[i / step]))
            return;
    }
    axis->quads = quads;
}

/* ---- Areas -------------------------------------------------------------- */

/* Parts of a pixel below this are nothing. */
#define PART_MIN 1e-3

/* What pixel i of the result covers: whole pixels [from, end), parts of the
 * ones before and behind them, and its length. */
struct cover {
    int32_t from, end;
    double before, behind, length;
};

static struct cover cover_of(const struct fdl_cv_axis_key *key, int32_t i)
{
    double step = step_of(key), start = i * step, stop = start + step;
    struct cover c = {.length = FDL_MIN(step, key->in - start)};
    int32_t end = FDL_MIN((int32_t)floor(stop), key->in - 1);
    c.end = end;
    c.from = FDL_MIN((int32_t)ceil(start), end);
    if (c.from - start > PART_MIN)
        c.before = c.from - start;
    if (stop - end > PART_MIN)
        c.behind = FDL_MIN(FDL_MIN(stop - end, 1.0), c.length);
    return c;
}

/* Pixels that one covers, at most, in whole fours. */
static size_t most_of(const struct fdl_cv_axis_key *key)
{
    return ((size_t)ceil(step_of(key)) + 2 + 3) & ~(size_t)3;
}

static size_t pitch_of(int32_t count)
{
    return ((size_t)count + FDL_CV_AREA_BLOCK - 1) &
           ~(size_t)(FDL_CV_AREA_BLOCK - 1);
}

/* How many pixels of the image one of the result is, where that is whole. */
static int32_t whole_of(const struct fdl_cv_axis_key *key)
{
    double step = step_of(key), whole = rint(step);
    return fabs(step - whole) < DBL_EPSILON ? (int32_t)whole : 0;
}

static void make_areas(struct fdl_cv_axis *axis,
                       const struct fdl_cv_axis_key *key)
{
    size_t pitch = axis->pitch;
    memset(axis->area, 0, most_of(key) * pitch * sizeof(*axis->area));
    axis->most = 0;
    axis->whole = whole_of(key);
    for (int32_t i = 0; i < axis->count; i++) {
        struct cover c = cover_of(key, key->first + i);
        float *w = axis->area + i;
        size_t n = 0;
        axis->at[i] = (c.before > 0 ? c.from - 1 : c.from) - key->origin;
        if (c.before > 0)
            w[n++ * pitch] = (float)(c.before / c.length);
        for (int32_t at = c.from; at < c.end; at++)
            w[n++ * pitch] = (float)(1.0 / c.length);
        if (c.behind > 0)
            w[n++ * pitch] = (float)(c.behind / c.length);
        axis->n[i] = (int32_t)n;
        axis->most = FDL_MAX(axis->most, axis->n[i]);
    }
}

/* ---- All of it ---------------------------------------------------------- */

size_t fdl_cv_axis_bytes(const struct fdl_cv_axis_key *key)
{
    size_t taps = (size_t)taps_of(key), each, bytes;
    size_t count = taps > 0 ? whole_eights(key->count) : pitch_of(key->count);
    each = taps > 0 ? taps * (sizeof(int32_t) + sizeof(int16_t))
                    : 2 * sizeof(int32_t) + most_of(key) * sizeof(float);
    if (taps > 0 && taps <= 2)
        each += sizeof(struct fdl_cv_quad) / 4;
    if (!fdl_mul_size(count, each, &bytes) ||
        !fdl_add_size(bytes, ALIGN, &bytes))
        return 0;
    return bytes & ~(size_t)(ALIGN - 1);
}

void fdl_cv_axis_make(struct fdl_cv_axis *axis,
                      const struct fdl_cv_axis_key *key, uint8_t *memory)
{
    size_t count = (size_t)key->count;
    *axis = (struct fdl_cv_axis){.count = key->count,
                                 .taps = taps_of(key),
                                 .at = (int32_t *)(void *)memory};
    if (axis->taps > 0) {
        size_t n = count * (size_t)axis->taps;
        size_t all = whole_eights(key->count) * (size_t)axis->taps;
        axis->weight = (int16_t *)(void *)(axis->at + n);
        make_taps(axis, key);
        if (key->across && axis->taps <= 2)
            make_quads(axis, (void *)(axis->weight + all));
    } else {
        axis->pitch = pitch_of(key->count);
        axis->n = axis->at + count;
        axis->area = (float *)(void *)(axis->n + count);
        make_areas(axis, key);
    }
}

void fdl_cv_axis_touches(const struct fdl_cv_axis_key *key, int32_t *from,
                         int32_t *end)
{
    int32_t last = key->first + key->count - 1;
    if (taps_of(key) > 0) {
        *from = clamp(first_of(key, key->first), key->in);
        *end = clamp(first_of(key, last) + taps_of(key) - 1, key->in) + 1;
        return;
    }
    struct cover a = cover_of(key, key->first), b = cover_of(key, last);
    *from = a.before > 0 ? a.from - 1 : a.from;
    *end = FDL_MIN(b.behind > 0 ? b.end + 1 : b.end, key->in);
    *end = FDL_MAX(*end, *from + 1);
}
