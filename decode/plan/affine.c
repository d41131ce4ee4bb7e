/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices are computed in the very order of operations of Pillow and
 * torchvision, for a last bit moves pixels: this file is compiled without
 * contraction.
 */
#include "decode/plan/affine.h"

#include "base/compiler.h"
#include "base/status.h"
#include "decode/kernels/alpha.h"
#include "decode/kernels/levels.h"
#include "decode/kernels/map.h"
#include "decode/plan/turn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

struct map_step {
    double a[8];
    int32_t width, height; /* of the result */
    enum fdl_map_filter filter;
    bool perspective;
    uint8_t fill[4];
};

/* ---- Running ------------------------------------------------------------ */

/* The fill, too, is of multiplied colours in Pillow. */
static void interpolate(const struct fdl_map_kernels *k,
                        const struct fdl_map_job *job,
                        enum fdl_map_filter filter)
{
    if (FDL_HAS_ALPHA(job->in->channels))
        fdl_canvas_multiply(job->in);
    if (filter == FDL_MAP_BILINEAR)
        k->bilinear(job);
    else
        k->bicubic(job);
    if (FDL_HAS_ALPHA(job->in->channels))
        fdl_canvas_divide(job->out);
}

static int32_t map(struct fdl_map_job *job, enum fdl_map_filter filter,
                   struct fdl_canvas *canvas)
{
    const struct fdl_map_kernels *k = fdl_kernels[fdl_cpu_level()].map;
    if (k->scratch_bytes) {
        size_t bytes = k->scratch_bytes(job->in);
        if (bytes == 0)
            return fdl_fail_memory(UINT64_MAX, "scratch of an operation");
        int32_t status =
            fdl_canvas_scratch(canvas, FDL_SCRATCH_STEP, bytes, &job->scratch);
        if (status)
            return status;
    }
    if (filter == FDL_MAP_NEAREST)
        fdl_map_nearest(k, job);
    else
        interpolate(k, job, filter);
    return FEEDLINE_OK;
}

static int32_t run(const struct fdl_step *step, struct fdl_canvas *canvas)
{
    struct map_step s;
    struct fdl_image *in = &canvas->image, out;
    fdl_step_values(step, &s, sizeof(s));
    int32_t status = fdl_canvas_spare(canvas, s.width, s.height, &out);
    if (status)
        return status;
    struct fdl_map_job job = {
        .in = in, .out = &out, .perspective = s.perspective};
    memcpy(job.a, s.a, sizeof(job.a));
    memcpy(job.fill, s.fill, sizeof(job.fill));
    status = map(&job, s.filter, canvas);
    if (!status)
        fdl_canvas_swap(canvas, &out);
    return status;
}

static const struct fdl_step_kind kind = {.moves = true, .run = run};

/* ---- Planning ----------------------------------------------------------- */

/* A result of that size. */
static void add(struct fdl_plan *plan, struct map_step *s, int32_t width,
                int32_t height, const uint8_t fill[4])
{
    s->width = width;
    s->height = height;
    memcpy(s->fill, fill, sizeof(s->fill));
    if (plan->mask.on) {
        s->filter = FDL_MAP_NEAREST;
        s->fill[0] = plan->mask.fill;
    }
    fdl_plan_add(plan, &kind, s, sizeof(*s));
    plan->width = width;
    plan->height = height;
}

static bool moves_whole_pixels(const double a[6])
{
    return a[0] == 1 && a[1] == 0 && a[3] == 0 && a[4] == 1 &&
           a[2] == floor(a[2]) && a[5] == floor(a[5]);
}

/* How far, but not further than out of sight of a result of `shown`. */
static int32_t shift(double by, int32_t size, int32_t shown)
{
    return (int32_t)FDL_MAX(FDL_MIN(by, size), -shown);
}

int32_t fdl_plan_affine_to(struct fdl_plan *plan, const double a[6],
                           enum fdl_map_filter filter, int32_t width,
                           int32_t height, const uint8_t fill[4])
{
    int32_t w = fdl_plan_width(plan), h = fdl_plan_height(plan);
    /* Interpolating rounds colours that have alpha, moved or not. */
    bool exact = filter == FDL_MAP_NEAREST || !plan->alpha;
    if (exact && moves_whole_pixels(a)) {
        struct fdl_box box = {shift(a[2], w, width), shift(a[5], h, height),
                              width, height};
        if (box.x == 0 && box.y == 0 && width == w && height == h) {
            fdl_objects_window(plan->objects, box); /* which keeps them in it */
            return FEEDLINE_OK;
        }
        return fdl_plan_window(plan, box, FDL_PAD_CONSTANT, fill);
    }
    fdl_objects_affine(plan->objects, a, width, height);
    struct map_step s = {.filter = filter};
    memcpy(s.a, a, 6 * sizeof(a[0]));
    add(plan, &s, width, height, fill);
    return FEEDLINE_OK;
}

int32_t fdl_plan_affine(struct fdl_plan *plan, const double a[6],
                        enum fdl_map_filter filter, const uint8_t fill[4])
{
    return fdl_plan_affine_to(plan, a, filter, fdl_plan_width(plan),
                              fdl_plan_height(plan), fill);
}

void fdl_plan_perspective_to(struct fdl_plan *plan, const double a[8],
                             enum fdl_map_filter filter, int32_t width,
                             int32_t height, const uint8_t fill[4])
{
    fdl_objects_perspective(plan->objects, a, width, height);
    struct map_step s = {.filter = filter, .perspective = true};
    memcpy(s.a, a, sizeof(s.a));
    add(plan, &s, width, height, fill);
}

void fdl_plan_perspective(struct fdl_plan *plan, const double a[8],
                          enum fdl_map_filter filter, const uint8_t fill[4])
{
    fdl_plan_perspective_to(plan, a, filter, fdl_plan_width(plan),
                            fdl_plan_height(plan), fill);
}

/* To 15 decimals, half to even of the exact value, as Python's round does. */
static double round_15(double x)
{
    char text[32];
    snprintf(text, sizeof(text), "%.15f", x);
    return strtod(text, NULL);
}

/* Python's modulo. */
static double within_turn(double degrees)
{
    double angle = fmod(degrees, 360.0);
    return angle < 0 ? angle + 360.0 : angle;
}

static void rotation(double a[6], double degrees, const double point[2])
{
    double angle = -(within_turn(degrees) * (PI / 180.0));
    double x = point[0], y = point[1];
    a[0] = a[4] = round_15(cos(angle));
    a[1] = round_15(sin(angle));
    a[3] = round_15(-sin(angle));
    a[2] = a[0] * -x + a[1] * -y + 0.0 + x;
    a[5] = a[3] * -x + a[4] * -y + 0.0 + y;
}

int32_t fdl_plan_rotate_about(struct fdl_plan *plan, double degrees,
                              const double point[2], enum fdl_map_filter filter,
                              const uint8_t fill[4])
{
    double a[6];
    rotation(a, degrees, point);
    return fdl_plan_affine(plan, a, filter, fill);
}

int32_t fdl_plan_rotate(struct fdl_plan *plan, double degrees,
                        enum fdl_map_filter filter, const uint8_t fill[4])
{
    static const enum fdl_transpose turns_of[] = {
        [1] = FDL_ROTATE_90, [2] = FDL_ROTATE_180, [3] = FDL_ROTATE_270};
    int32_t width = fdl_plan_width(plan), height = fdl_plan_height(plan);
    double angle = within_turn(degrees);
    bool turns = angle == 180 || (width == height && fmod(angle, 90) == 0);
    double centre[2] = {width / 2.0, height / 2.0}, a[6];
    if (angle != 0 && !turns)
        return fdl_plan_rotate_about(plan, angle, centre, filter, fill);
    struct fdl_objects *objects = plan->objects;
    if (objects) {
        rotation(a, angle, centre);
        fdl_objects_affine(objects, a, width, height);
    }
    plan->objects = NULL; /* they have moved */
    if (angle > 0)
        fdl_plan_transpose(plan, turns_of[(int32_t)angle / 90]);
    plan->objects = objects;
    return FEEDLINE_OK;
}

static double radians(double degrees)
{
    return degrees * (PI / 180.0);
}

void fdl_affine_torchvision(double out[6], double angle,
                            const double translate[2], double scale,
                            const double shear[2], const double center[2])
{
    double rot = radians(angle), sx = radians(shear[0]), sy = radians(shear[1]);
    double a = cos(rot - sy) / cos(sy);
    double b = -cos(rot - sy) * tan(sx) / cos(sy) - sin(rot);
    double c = sin(rot - sy) / cos(sy);
    double d = -sin(rot - sy) * tan(sx) / cos(sy) + cos(rot);
    double x = -center[0] - translate[0], y = -center[1] - translate[1];
    out[0] = d / scale;
    out[1] = -b / scale;
    out[2] = 0.0 / scale;
    out[3] = -c / scale;
    out[4] = a / scale;
    out[5] = 0.0 / scale;
    out[2] += out[0] * x + out[1] * y;
    out[5] += out[3] * x + out[4] * y;
    out[2] += center[0];
    out[5] += center[1];
}
