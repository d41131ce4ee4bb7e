/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A crop behind the step becomes part of it, and then a crop before it: of the
 * pixels that the rest still needs. Where these lie in the whole image and the
 * whole result is what the step remembers.
 */
#include "decode/plan/cv_resize_step.h"

#include "base/compiler.h"
#include "base/memory.h"
#include "base/status.h"
#include "decode/kernels/levels.h"

#include <string.h>

/* One side. */
struct side {
    int32_t in, out; /* the whole ones */
    double scale;
    int32_t origin;       /* of the canvas, in the whole image */
    int32_t first, count; /* of the result */
};

struct cv_resize {
    enum fdl_cv_filter filter;
    bool covers;
    struct side x, y;
};

static struct fdl_cv_axis_key key_of(const struct cv_resize *s, bool across)
{
    const struct side *side = across ? &s->x : &s->y;
    return (struct fdl_cv_axis_key){.in = side->in,
                                    .out = side->out,
                                    .scale = side->scale,
                                    .filter = s->filter,
                                    .covers = s->covers,
                                    .across = across,
                                    .first = side->first,
                                    .count = side->count,
                                    .origin = side->origin};
}

/* Both axes, and what lies between the passes. */
static int32_t prepare(const struct cv_resize *s, struct fdl_canvas *c,
                       struct fdl_cv_axis axes[2],
                       struct fdl_cv_resize_job *job)
{
    struct fdl_cv_axis_key x = key_of(s, true), y = key_of(s, false);
    size_t x_bytes = fdl_cv_axis_bytes(&x), y_bytes = fdl_cv_axis_bytes(&y);
    size_t rows = fdl_cv_resize_scratch(&x), bytes;
    uint8_t *memory;
    if (x_bytes == 0 || y_bytes == 0 || rows == 0 ||
        !fdl_add_size(x_bytes, y_bytes, &bytes) ||
        !fdl_add_size(bytes, rows, &bytes))
        return fdl_fail_memory(UINT64_MAX, "scratch of an operation");
    int32_t status = fdl_canvas_scratch(c, FDL_SCRATCH_STEP, bytes, &memory);
    if (status)
        return status;
    fdl_cv_axis_make(&axes[0], &x, memory);
    fdl_cv_axis_make(&axes[1], &y, memory + x_bytes);
    job->x = &axes[0];
    job->y = &axes[1];
    job->scratch = memory + x_bytes + y_bytes;
    return FEEDLINE_OK;
}

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct cv_resize s;
    struct fdl_cv_axis axes[2];
    struct fdl_image out;
    fdl_step_values(step, &s, sizeof(s));
    struct fdl_cv_resize_job job = {.in = &c->image, .out = &out};
    int32_t status = prepare(&s, c, axes, &job);
    if (!status)
        status = fdl_canvas_spare(c, s.x.count, s.y.count, &out);
    if (status)
        return status;
    fdl_cv_resize(fdl_kernels[fdl_cpu_level()].cv_resize, &job);
    fdl_canvas_swap(c, &out);
    return FEEDLINE_OK;
}

/* *from and *size: of the canvas, what is touched. */
static void narrow(const struct cv_resize *s, bool across, int32_t *from,
                   int32_t *size)
{
    struct fdl_cv_axis_key key = key_of(s, across);
    int32_t first, end;
    fdl_cv_axis_touches(&key, &first, &end);
    *from = first - key.origin;
    *size = end - first;
}

static struct fdl_box crop(struct fdl_step *step, struct fdl_box box)
{
    struct cv_resize s;
    struct fdl_box needed;
    fdl_step_values(step, &s, sizeof(s));
    s.x.first += box.x;
    s.y.first += box.y;
    s.x.count = box.width;
    s.y.count = box.height;
    narrow(&s, true, &needed.x, &needed.width);
    narrow(&s, false, &needed.y, &needed.height);
    s.x.origin += needed.x;
    s.y.origin += needed.y;
    memcpy(step->values, &s, sizeof(s));
    return needed;
}

static const struct fdl_step_kind kind = {
    .moves = true, .run = run, .crop = crop};

static struct side side_of(int32_t in, int32_t out, double scale)
{
    return (struct side){.in = in,
                         .out = out,
                         .scale = scale > 0 ? scale : (double)out / in,
                         .count = out};
}

void fdl_plan_cv_resize(struct fdl_plan *plan, int32_t width, int32_t height,
                        enum fdl_cv_filter filter, const double scale[2])
{
    int32_t w = fdl_plan_width(plan), h = fdl_plan_height(plan);
    if (width == w && height == h)
        return;
    struct cv_resize s = {.filter = filter,
                          .x = side_of(w, width, scale[0]),
                          .y = side_of(h, height, scale[1])};
    double step_x = 1.0 / s.x.scale, step_y = 1.0 / s.y.scale;
    if (filter == FDL_CV_LINEAR && step_x == 2 && step_y == 2)
        s.filter = FDL_CV_AREA; /* so does OpenCV */
    s.covers = s.filter == FDL_CV_AREA && step_x >= 1 && step_y >= 1;
    fdl_plan_add(plan, &kind, &s, sizeof(s));
    plan->width = width;
    plan->height = height;
    fdl_objects_resize(plan->objects, w, h, width, height);
}
