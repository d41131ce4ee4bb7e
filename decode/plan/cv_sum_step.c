/* SPDX-License-Identifier: Apache-2.0 */
/* In place. Floats whose every rounding counts: this file is compiled without
 * contraction. */
#include "decode/plan/cv_sum_step.h"

#include "base/compiler.h"
#include "base/status.h"
#include "decode/kernels/levels.h"

#include <math.h>
#include <string.h>

#define VALUES 256

/* ---- An array ----------------------------------------------------------- */

static uint8_t to_byte(int32_t v)
{
    return (uint8_t)FDL_MAX(FDL_MIN(v, 255), 0);
}

static void add_bytes(const uint8_t *from, size_t channels, size_t n,
                      uint8_t *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = to_byte(to[i] + from[i * channels]);
}

static void add_shorts(const int16_t *from, size_t channels, size_t n,
                       uint8_t *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = to_byte(to[i] + from[i * channels]);
}

static int32_t limited(float v)
{
    return (int32_t)rintf(FDL_MAX(FDL_MIN(v, 256.0F), -256.0F));
}

/* OpenCV adds to bytes what it has rounded to 32 bits; what does not fit them
 * becomes the least number. */
static void add_rounded(const float *from, size_t channels, size_t n,
                        uint8_t *to)
{
    for (size_t i = 0; i < n; i++) {
        float v = from[i * channels];
        bool fits = v < 2147483648.0F;
        to[i] = to_byte(fits ? to[i] + limited(v) : 0);
    }
}

/* NumPy's sums, limited and cut off. */
static void add_doubles(const double *from, size_t channels, size_t n,
                        uint8_t *to)
{
    for (size_t i = 0; i < n; i++) {
        double sum = to[i] + from[i * channels];
        to[i] = (uint8_t)FDL_MAX(FDL_MIN(sum, 255.0), 0.0);
    }
}

static void add_cut(const float *from, size_t channels, size_t n, uint8_t *to)
{
    for (size_t i = 0; i < n; i++) {
        float sum = (float)to[i] + from[i * channels];
        to[i] = (uint8_t)FDL_MAX(FDL_MIN(sum, 255.0F), 0.0F);
    }
}

static int32_t run_add(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct fdl_cv_added s;
    const struct fdl_image *image = &c->image;
    size_t channels = (size_t)image->channels, n = image->plane;
    fdl_step_values(step, &s, sizeof(s));
    for (int32_t i = 0; i < image->channels; i++) {
        uint8_t *to = fdl_image_row(image, i, 0);
        if (s.depth == FDL_CV_U8)
            add_bytes((const uint8_t *)s.data + i, channels, n, to);
        else if (s.depth == FDL_CV_S16)
            add_shorts((const int16_t *)s.data + i, channels, n, to);
        else if (s.depth == FDL_CV_F64)
            add_doubles((const double *)s.data + i, channels, n, to);
        else if (s.cut)
            add_cut((const float *)s.data + i, channels, n, to);
        else
            add_rounded((const float *)s.data + i, channels, n, to);
    }
    return FEEDLINE_OK;
}

/* ---- Gray --------------------------------------------------------------- */

static int32_t gray_of(struct fdl_canvas *c, uint8_t **gray)
{
    const struct fdl_image *image = &c->image;
    size_t bytes = image->plane + FDL_CV_BLOCK;
    int32_t status = fdl_canvas_scratch(c, FDL_SCRATCH_STEP, bytes, gray);
    if (status)
        return status;
    if (image->channels < 3) {
        memcpy(*gray, image->data, image->plane);
        return FEEDLINE_OK;
    }
    struct fdl_cv_planes p = {.out = {*gray},
                              .width = (size_t)image->width,
                              .height = (size_t)image->height};
    for (int32_t i = 0; i < 3; i++)
        p.in[i] = fdl_image_row(image, i, 0);
    fdl_kernels[fdl_cpu_level()].cv_colour->convert[FDL_CV_RGB_TO_GRAY](&p);
    return FEEDLINE_OK;
}

struct weights {
    double image, other;
};

static int32_t run_add_gray(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct weights w;
    uint8_t *gray;
    fdl_step_values(step, &w, sizeof(w));
    int32_t status = gray_of(c, &gray);
    const struct fdl_cv_float_kernels *k =
        fdl_kernels[fdl_cpu_level()].cv_floats;
    for (int32_t i = 0; i < c->image.channels && !status; i++)
        k->weigh(fdl_image_row(&c->image, i, 0), gray, (float)w.image,
                 (float)w.other, c->image.plane);
    return status;
}

struct contrast {
    double factor;
    bool doubles;
};

static void contrast_table(const struct contrast *s, double mean,
                           uint8_t table[VALUES])
{
    double more = mean * (1 - s->factor);
    float by = (float)s->factor, added = (float)more;
    for (int32_t v = 0; v < VALUES; v++) {
        double sum =
            s->doubles ? v * s->factor + more : (double)((float)v * by + added);
        table[v] = (uint8_t)FDL_MAX(FDL_MIN(sum, 255.0), 0.0);
    }
}

static int32_t run_contrast(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct contrast s;
    uint8_t *gray, table[VALUES];
    uint64_t sum = 0;
    size_t n = c->image.plane;
    fdl_step_values(step, &s, sizeof(s));
    int32_t status = gray_of(c, &gray);
    if (status)
        return status;
    for (size_t i = 0; i < n; i++)
        sum += gray[i];
    contrast_table(&s, (double)sum / (double)n, table);
    uint8_t *data = c->image.data;
    for (size_t i = 0; i < n * (size_t)c->image.channels; i++)
        data[i] = table[data[i]];
    return FEEDLINE_OK;
}

/* ---- The steps ---------------------------------------------------------- */

static const struct fdl_step_kind add = {.run = run_add};
static const struct fdl_step_kind contrast = {.commutes = FDL_WITH_FLIP,
                                              .run = run_contrast};
static const struct fdl_step_kind add_gray = {
    .commutes = FDL_WITH_FLIP | FDL_WITH_CROP, .run = run_add_gray};

void fdl_plan_cv_add(struct fdl_plan *plan, const struct fdl_cv_added *added)
{
    fdl_plan_add(plan, &add, added, sizeof(*added));
}

void fdl_plan_cv_add_gray(struct fdl_plan *plan, double a, double b)
{
    struct weights w = {a, b};
    fdl_plan_add(plan, &add_gray, &w, sizeof(w));
}

void fdl_plan_cv_contrast(struct fdl_plan *plan, double factor, bool doubles)
{
    struct contrast s = {factor, doubles};
    fdl_plan_add(plan, &contrast, &s, sizeof(s));
}
