/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that OpenCV has: FEEDLINE_STEP_CV_*. */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/plan/cv_blur_step.h"
#include "decode/plan/cv_colour_step.h"
#include "decode/plan/cv_equalize_step.h"
#include "decode/plan/cv_filter_step.h"
#include "decode/plan/cv_recompress_step.h"
#include "decode/plan/cv_resize_step.h"
#include "decode/plan/cv_sep_step.h"
#include "decode/plan/cv_sum_step.h"
#include "decode/plan/cv_warp_step.h"
#include "decode/recorded_image.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define WARP_INVERSE_MAP 16
#define WARP_VALUES      5 /* of each, before a matrix and fill */

/* As OpenCV rounds it. */
static bool fits(int32_t in, double scale, double out)
{
    return scale == 0 || rint(in * scale) == out;
}

static int32_t plan_resize(struct fdl_plan *plan,
                           const struct feedline_recorded_step *s)
{
    const double *v = s->value, by_size[2] = {0, 0};
    const double *scale = s->n > 3 ? v + 3 : by_size;
    if (!fits(fdl_plan_width(plan), scale[0], v[0]) ||
        !fits(fdl_plan_height(plan), scale[1], v[1]))
        return fdl_fail(FEEDLINE_EINVAL,
                        "an image of %" PRId32 "x%" PRId32
                        " scaled by %g, %g is not of %gx%g",
                        fdl_plan_width(plan), fdl_plan_height(plan), scale[0],
                        scale[1], v[0], v[1]);
    fdl_plan_cv_resize(plan, (int32_t)v[0], (int32_t)v[1],
                       (enum fdl_cv_filter)v[2], scale);
    return FEEDLINE_OK;
}

/* cvtColor's numbers, those of one conversion side by side: from or to BGR, and
 * RGB. */
static const struct {
    int32_t bgr_code;
    enum fdl_cv_colour how;
} colours[] = {{6, FDL_CV_RGB_TO_GRAY},   {36, FDL_CV_RGB_TO_YCRCB},
               {38, FDL_CV_YCRCB_TO_RGB}, {40, FDL_CV_RGB_TO_HSV},
               {54, FDL_CV_HSV_TO_RGB},   {66, FDL_CV_RGB_TO_HSV_FULL},
               {44, FDL_CV_RGB_TO_LAB},   {56, FDL_CV_LAB_TO_RGB},
               {52, FDL_CV_RGB_TO_HLS},   {60, FDL_CV_HLS_TO_RGB}};

static int32_t plan_colour(struct fdl_plan *plan,
                           const struct feedline_recorded_step *s,
                           int32_t *channels)
{
    int32_t code = (int32_t)s->value[0];
    if (*channels != 3)
        return fdl_fail(FEEDLINE_EINVAL,
                        "it is for 3 channels, the image has %" PRId32,
                        *channels);
    for (size_t i = 0; i < FDL_COUNT_OF(colours); i++) {
        bool bgr = code == colours[i].bgr_code;
        if (!bgr && code != colours[i].bgr_code + 1)
            continue;
        fdl_plan_cv_colour(plan, colours[i].how, bgr);
        *channels = colours[i].how == FDL_CV_RGB_TO_GRAY ? 1 : 3;
        return FEEDLINE_OK;
    }
    return fdl_fail(FEEDLINE_ERANGE,
                    "code is %" PRId32 "; it is OpenCV's of BGR or RGB to gray "
                    "(6, 7), to HSV_FULL (66, 67), or to and from YCrCb (36 to "
                    "39), HSV (40, 41, 54, 55), Lab (44, 45, 56, 57) or HLS "
                    "(52, 53, 60, 61)",
                    code);
}

/* Value i, or the one that is usual. */
static enum fdl_cv_border border_of(const struct feedline_recorded_step *s,
                                    uint32_t i)
{
    return s->n > i ? (enum fdl_cv_border)s->value[i] : FDL_CV_REFLECT_101;
}

/* A side of 0 is left to sigma, and of both sigmas the second to the first. */
static int32_t plan_gauss(struct fdl_plan *plan,
                          const struct feedline_recorded_step *s)
{
    const double *v = s->value;
    double sigma[2] = {v[2], v[3] > 0 ? v[3] : v[2]};
    int32_t side[2];
    for (int32_t i = 0; i < 2; i++) {
        side[i] = (int32_t)v[i];
        if (side[i] == 0)
            side[i] =
                (int32_t)rint(fmin(sigma[i], FDL_CV_KERNEL_MAX) * 6 + 1) | 1;
        if (side[i] > FDL_CV_KERNEL_MAX)
            return fdl_fail(FEEDLINE_ERANGE,
                            "a kernel for sigma %g has a side above %d",
                            sigma[i], FDL_CV_KERNEL_MAX);
        if (v[i] == 0 && sigma[i] <= 0)
            return fdl_fail(FEEDLINE_EINVAL, "neither a side nor sigma");
    }
    fdl_plan_cv_gauss(plan, side, sigma, border_of(s, 4));
    return FEEDLINE_OK;
}

static int32_t plan_box(struct fdl_plan *plan,
                        const struct feedline_recorded_step *s)
{
    int32_t side[2] = {(int32_t)s->value[0], (int32_t)s->value[1]};
    fdl_plan_cv_box(plan, side, border_of(s, 2));
    return FEEDLINE_OK;
}

/* Of a plane: what counts its pixels, or where one is, has 32 bits. */
static int32_t check_plane(const struct fdl_plan *plan)
{
    int64_t pixels = (int64_t)fdl_plan_width(plan) * fdl_plan_height(plan);
    if (pixels <= INT32_MAX / 4)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ERANGE,
                    "it is for images up to %d pixels, this one has %" PRId64,
                    INT32_MAX / 4, pixels);
}

/* Values from `first` on: one for each channel, or none. */
static int32_t fill_of(const struct feedline_recorded_step *s, uint32_t first,
                       int32_t channels, uint8_t fill[FDL_CHANNELS_MAX])
{
    uint32_t n = s->n - first;
    memset(fill, 0, FDL_CHANNELS_MAX);
    if (n != 0 && n != (uint32_t)channels)
        return fdl_fail(FEEDLINE_EINVAL,
                        "fill has %" PRIu32 " numbers, the image %" PRId32
                        " channels",
                        n, channels);
    for (uint32_t c = 0; c < n; c++)
        fill[c] = (uint8_t)s->value[first + c];
    return FEEDLINE_OK;
}

/* Of six numbers behind the values that warps share, or of nine in data. */
static void set_matrix(const struct feedline_recorded_step *s,
                       struct fdl_cv_warp *w)
{
    bool affine = w->kind == FDL_CV_AFFINE;
    bool inverse = (int32_t)s->value[2] & WARP_INVERSE_MAP;
    if (affine)
        memcpy(w->m, s->value + WARP_VALUES, 6 * sizeof(*w->m));
    else
        memcpy(w->m, s->data, sizeof(w->m));
    if (affine && !inverse)
        fdl_cv_invert_affine(w->m);
    else if (!inverse)
        fdl_cv_invert_perspective(w->m);
}

static int32_t plan_warp(struct fdl_plan *plan,
                         const struct feedline_recorded_step *s,
                         int32_t channels, enum fdl_cv_warp_kind kind)
{
    const double *v = s->value;
    uint32_t first = kind == FDL_CV_AFFINE ? WARP_VALUES + 6 : WARP_VALUES;
    struct fdl_cv_warp w = {.kind = kind,
                            .width = (int32_t)v[0],
                            .height = (int32_t)v[1],
                            .between = (enum fdl_cv_between)((int32_t)v[2] & 3),
                            .border = (enum fdl_cv_border)v[3],
                            .floats = v[4] == 5};
    int32_t status = check_plane(plan);
    if (!status)
        status = fill_of(s, first, channels, w.fill);
    if (status)
        return status;
    if (kind == FDL_CV_REMAP)
        w.maps = s->data;
    else
        set_matrix(s, &w);
    for (size_t i = 0; i < FDL_COUNT_OF(w.m); i++) {
        if (!isfinite(w.m[i]))
            return fdl_fail(FEEDLINE_EINVAL,
                            "a number of the matrix is %g, or of its inverse",
                            w.m[i]);
    }
    fdl_plan_cv_warp(plan, &w);
    return FEEDLINE_OK;
}

static int32_t plan_equalize(struct fdl_plan *plan,
                             const struct feedline_recorded_step *s,
                             int32_t channels)
{
    bool tiles = s->op == FEEDLINE_STEP_CV_CLAHE;
    const double *v = s->value;
    int32_t channel = (int32_t)v[0], status = check_plane(plan);
    if (status)
        return status;
    if (channel >= channels)
        return fdl_fail(FEEDLINE_EINVAL,
                        "channel %" PRId32 " of an image of %" PRId32, channel,
                        channels);
    struct fdl_cv_clahe clahe = {0};
    if (tiles)
        clahe = (struct fdl_cv_clahe){v[1], (int32_t)v[2], (int32_t)v[3]};
    fdl_plan_cv_equalize(plan, channel, tiles ? &clahe : NULL);
    return FEEDLINE_OK;
}

static void plan_sep(struct fdl_plan *plan,
                     const struct feedline_recorded_step *s)
{
    struct fdl_cv_sep sep = {.kernel = s->data,
                             .width = (int32_t)s->value[0],
                             .height = (int32_t)s->value[1],
                             .border = (enum fdl_cv_border)s->value[2],
                             .rest = s->value[3] == 5};
    fdl_plan_cv_sep(plan, &sep);
}

static int32_t plan_add(struct fdl_plan *plan,
                        const struct feedline_recorded_step *s)
{
    const double *v = s->value;
    struct fdl_cv_added added = {
        .data = s->data, .depth = (enum fdl_cv_depth)v[2], .cut = v[3] == 1};
    int32_t width = fdl_plan_width(plan), height = fdl_plan_height(plan);
    if (v[0] != width || v[1] != height)
        return fdl_fail(FEEDLINE_EINVAL,
                        "an array of %gx%g is added to an image of %" PRId32
                        "x%" PRId32,
                        v[0], v[1], width, height);
    fdl_plan_cv_add(plan, &added);
    return FEEDLINE_OK;
}

static int32_t plan_add_gray(struct fdl_plan *plan,
                             const struct feedline_recorded_step *s,
                             int32_t channels)
{
    if (channels != 3)
        return fdl_fail(FEEDLINE_EINVAL,
                        "it is for 3 channels, the image has %" PRId32,
                        channels);
    fdl_plan_cv_add_gray(plan, s->value[0], s->value[1]);
    return FEEDLINE_OK;
}

static int32_t plan_recompress(struct fdl_plan *plan,
                               const struct feedline_recorded_step *s)
{
    int32_t width = fdl_plan_width(plan), height = fdl_plan_height(plan);
    if (FDL_MAX(width, height) > FDL_CV_JPEG_SIDE_MAX)
        return fdl_fail(FEEDLINE_ERANGE,
                        "JPEG has sides up to %d, the image is of %" PRId32
                        "x%" PRId32,
                        FDL_CV_JPEG_SIDE_MAX, width, height);
    fdl_plan_cv_recompress(plan, (int32_t)s->value[0]);
    return FEEDLINE_OK;
}

int32_t fdl_recorded_plan_cv(struct fdl_plan *plan,
                             const struct feedline_recorded_step *s,
                             int32_t *channels)
{
    switch (s->op) {
    case FEEDLINE_STEP_CV_COLOUR:
        return plan_colour(plan, s, channels);
    case FEEDLINE_STEP_CV_GAUSSIAN_BLUR:
        return plan_gauss(plan, s);
    case FEEDLINE_STEP_CV_BOX_BLUR:
        return plan_box(plan, s);
    case FEEDLINE_STEP_CV_EQUALIZE:
    case FEEDLINE_STEP_CV_CLAHE:
        return plan_equalize(plan, s, *channels);
    case FEEDLINE_STEP_CV_FILTER2D:
        fdl_plan_cv_filter(plan, s->data, (int32_t)s->value[0],
                           (int32_t)s->value[1], border_of(s, 3),
                           s->value[2] == 5);
        return FEEDLINE_OK;
    case FEEDLINE_STEP_CV_WARP_AFFINE:
        return plan_warp(plan, s, *channels, FDL_CV_AFFINE);
    case FEEDLINE_STEP_CV_WARP_PERSPECTIVE:
        return plan_warp(plan, s, *channels, FDL_CV_PERSPECTIVE);
    case FEEDLINE_STEP_CV_REMAP:
        return plan_warp(plan, s, *channels, FDL_CV_REMAP);
    case FEEDLINE_STEP_CV_SEP_FILTER2D:
        plan_sep(plan, s);
        return FEEDLINE_OK;
    case FEEDLINE_STEP_CV_ADD:
        return plan_add(plan, s);
    case FEEDLINE_STEP_CV_ADD_GRAY:
        return plan_add_gray(plan, s, *channels);
    case FEEDLINE_STEP_CV_CONTRAST:
        fdl_plan_cv_contrast(plan, s->value[0], s->n > 1 && s->value[1] == 1);
        return FEEDLINE_OK;
    case FEEDLINE_STEP_CV_RECOMPRESS:
        return plan_recompress(plan, s);
    case FEEDLINE_STEP_CV_MEDIAN_BLUR:
        fdl_plan_cv_median(plan, (int32_t)s->value[0]);
        return FEEDLINE_OK;
    default:
        return plan_resize(plan, s);
    }
}
