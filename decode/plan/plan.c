/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a plan. The geometry stays open behind steps that do not mind: a flip
 * after colour jitter is still done by the resampler for nothing, while after a
 * rotation, or a crop after a change of contrast (whose mean is of the whole
 * image), it has to be done where it stands.
 */
#include "decode/plan/plan.h"

#include "base/compiler.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

static void clear_norm(struct fdl_plan *plan)
{
    plan->norm = (struct fdl_norm){0};
    for (size_t c = 0; c < FDL_COUNT_OF(plan->norm.std); c++)
        plan->norm.std[c] = 1;
}

void fdl_plan_init(struct fdl_plan *plan, int32_t width, int32_t height)
{
    memset(plan, 0, offsetof(struct fdl_plan, steps));
    clear_norm(plan);
    plan->view = FDL_EVERY_VIEW;
    plan->n_views = 1;
    fdl_geometry_init(&plan->geometry, width, height);
}

void fdl_plan_end_mask(struct fdl_plan *plan)
{
    clear_norm(plan);
    plan->geometry.filter = FDL_FILTER_NEAREST;
    plan->geometry.nearest = plan->mask.nearest;
}

int32_t fdl_plan_width(const struct fdl_plan *plan)
{
    if (plan->n_pixel_steps > 0)
        return plan->width;
    return fdl_geometry_width(&plan->geometry);
}

int32_t fdl_plan_height(const struct fdl_plan *plan)
{
    if (plan->n_pixel_steps > 0)
        return plan->height;
    return fdl_geometry_height(&plan->geometry);
}

/* Whether something that the first n steps let pass can go before them all. */
static bool passes(const struct fdl_plan *plan, uint32_t n, uint32_t what)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!(plan->steps[i].kind->commutes & what))
            return false;
    }
    return true;
}

void fdl_plan_add(struct fdl_plan *plan, const struct fdl_step_kind *kind,
                  const void *values, size_t bytes)
{
    fdl_assert(bytes <= FDL_STEP_BYTES && plan->n_steps < FDL_PLAN_STEPS);
    if (plan->mask.on && !kind->moves)
        return;
    plan->width = fdl_plan_width(plan);
    plan->height = fdl_plan_height(plan);
    struct fdl_step *step = &plan->steps[plan->n_steps++];
    step->kind = kind;
    if (bytes > 0)
        memcpy(step->values, values, bytes);
    if (kind->run || kind->rows) {
        fdl_assert(plan->n_pixel_steps + 1 == plan->n_steps);
        plan->n_pixel_steps++;
    }
}

void fdl_plan_views(struct fdl_plan *plan, uint32_t n, int32_t width,
                    int32_t height, const struct fdl_step_kind *kind,
                    const void *values, size_t bytes)
{
    fdl_assert(plan->view == FDL_EVERY_VIEW && plan->n_views == 1);
    fdl_assert(!kind->commutes);
    plan->n_views = n;
    plan->view_step = plan->n_pixel_steps;
    fdl_plan_add(plan, kind, values, bytes);
    plan->width = width;
    plan->height = height;
}

static void add_frame(struct fdl_plan *plan, const struct fdl_frame_step *w)
{
    fdl_plan_add(plan, &fdl_frame_kind, w, sizeof(*w));
    plan->width = w->box.width;
    plan->height = w->box.height;
}

static enum fdl_nearest nearest_of(const struct fdl_plan *plan)
{
    return plan->tensor ? FDL_NEAREST_TORCH : FDL_NEAREST_PILLOW;
}

static void add_resize(struct fdl_plan *plan, struct fdl_resize_step *s)
{
    if (plan->mask.on) {
        s->filter = FDL_FILTER_NEAREST;
        s->nearest = plan->mask.nearest;
    }
    fdl_plan_add(plan, &fdl_resize_kind, s, sizeof(*s));
    plan->width = s->width;
    plan->height = s->height;
}

void fdl_plan_resize(struct fdl_plan *plan, int32_t width, int32_t height,
                     enum fdl_filter filter)
{
    struct fdl_geometry *g = &plan->geometry;
    int32_t w = fdl_plan_width(plan), h = fdl_plan_height(plan);
    if (width == w && height == h)
        return;
    if (plan->n_pixel_steps == 0 && !fdl_geometry_is_resampled(g)) {
        g->filter = filter;
        g->nearest = nearest_of(plan);
        g->tensor = plan->tensor;
        int32_t status = fdl_geometry_resize(g, width, height);
        fdl_assert(status == FEEDLINE_OK);
    } else {
        struct fdl_resize_step s = {.width = width,
                                    .height = height,
                                    .filter = filter,
                                    .nearest = nearest_of(plan),
                                    .tensor = plan->tensor};
        add_resize(plan, &s);
    }
    fdl_objects_resize(plan->objects, w, h, width, height);
}

void fdl_plan_resize_part(struct fdl_plan *plan, int32_t width, int32_t height,
                          enum fdl_filter filter, const struct fdl_span *x,
                          const struct fdl_span *y)
{
    struct fdl_geometry *g = &plan->geometry;
    if (plan->n_pixel_steps == 0 && !fdl_geometry_is_resampled(g) &&
        !plan->mask.on) {
        g->filter = filter;
        g->nearest = nearest_of(plan);
        g->tensor = plan->tensor;
        fdl_geometry_resize_part(g, width, height, x, y);
        return;
    }
    struct fdl_resize_step s = {.width = width,
                                .height = height,
                                .x = *x,
                                .y = *y,
                                .filter = filter,
                                .nearest = nearest_of(plan),
                                .tensor = plan->tensor};
    add_resize(plan, &s);
}

/* Makes less in the last step, of less, if all before it let a crop pass. */
static bool crop_last(struct fdl_plan *plan, struct fdl_box box)
{
    fdl_assert(plan->n_pixel_steps > 0);
    uint32_t last = plan->n_pixel_steps - 1;
    struct fdl_step *step = &plan->steps[last];
    if (!step->kind->crop || !passes(plan, last, FDL_WITH_CROP))
        return false;
    fdl_geometry_crop(&plan->geometry, step->kind->crop(step, box));
    plan->width = box.width;
    plan->height = box.height;
    return true;
}

static void crop(struct fdl_plan *plan, struct fdl_box box)
{
    if (passes(plan, plan->n_pixel_steps, FDL_WITH_CROP)) {
        fdl_geometry_crop(&plan->geometry, box);
        plan->width = box.width;
        plan->height = box.height;
    } else if (!crop_last(plan, box)) {
        add_frame(plan, &(struct fdl_frame_step){.box = box});
    }
}

void fdl_plan_crop(struct fdl_plan *plan, struct fdl_box box)
{
    fdl_objects_window(plan->objects, box);
    crop(plan, box);
}

void fdl_plan_flip(struct fdl_plan *plan)
{
    fdl_objects_flip(plan->objects, fdl_plan_width(plan));
    if (passes(plan, plan->n_pixel_steps, FDL_WITH_FLIP)) {
        fdl_geometry_flip(&plan->geometry);
        return;
    }
    fdl_plan_add(plan, &fdl_mirror_kind, NULL, 0);
}

void fdl_plan_flip_vertical(struct fdl_plan *plan)
{
    fdl_objects_flip_vertical(plan->objects, fdl_plan_height(plan));
    if (passes(plan, plan->n_pixel_steps, FDL_WITH_FLIP)) {
        fdl_geometry_flip_vertical(&plan->geometry);
        return;
    }
    struct fdl_box whole = {0, 0, plan->width, plan->height};
    add_frame(plan, &(struct fdl_frame_step){.box = whole, .mirror_y = true});
}

/* The part of [0, n) that [*at, *at + size) shares, at least one; *at becomes
 * relative to it. */
static int32_t shared(int32_t *at, int32_t size, int32_t n, int32_t *length)
{
    int32_t first = FDL_MIN(FDL_MAX(*at, 0), n - 1);
    int32_t end = FDL_MAX(FDL_MIN(*at + size, n), first + 1);
    *length = end - first;
    *at -= first;
    return first;
}

int32_t fdl_plan_window(struct fdl_plan *plan, struct fdl_box box,
                        enum fdl_padding padding, const uint8_t fill[4])
{
    int32_t width = fdl_plan_width(plan), height = fdl_plan_height(plan);
    if (FDL_MAX(box.width, box.height) > FDL_OP_SIDE_MAX)
        return fdl_fail(FEEDLINE_ERANGE,
                        "an image of %" PRId32 "x%" PRId32
                        " is above the limit of %d for a side",
                        box.width, box.height, FDL_OP_SIDE_MAX);
    fdl_objects_window(plan->objects, box);
    if (box.x >= 0 && box.y >= 0 && box.width <= width - box.x &&
        box.height <= height - box.y) {
        crop(plan, box);
        return FEEDLINE_OK;
    }
    /* Pixels that no one sees need not be made. A mirrored edge may show
     * pixels from behind the box. */
    if (padding == FDL_PAD_CONSTANT) {
        struct fdl_box part;
        part.x = shared(&box.x, box.width, width, &part.width);
        part.y = shared(&box.y, box.height, height, &part.height);
        if (passes(plan, plan->n_pixel_steps, FDL_WITH_CROP)) {
            crop(plan, part);
        } else {
            box.x += part.x;
            box.y += part.y;
        }
    }
    struct fdl_frame_step w = {.box = box, .padding = padding};
    memcpy(w.fill, fill, sizeof(w.fill));
    if (plan->mask.on)
        w.fill[0] = plan->mask.fill;
    add_frame(plan, &w);
    return FEEDLINE_OK;
}

/* ---- Notes -------------------------------------------------------------- */

void fdl_note_int(const struct fdl_plan *plan, const char *key, int64_t value)
{
    if (plan->notes)
        fdl_json_int(plan->notes, key, value);
}

void fdl_note_double(const struct fdl_plan *plan, const char *key, double value)
{
    if (plan->notes)
        fdl_json_double(plan->notes, key, value);
}

void fdl_note_bool(const struct fdl_plan *plan, const char *key, bool value)
{
    if (plan->notes)
        fdl_json_bool(plan->notes, key, value);
}

void fdl_note_string(const struct fdl_plan *plan, const char *key,
                     const char *value)
{
    if (plan->notes)
        fdl_json_string(plan->notes, key, value);
}

void fdl_note_list(const struct fdl_plan *plan, const char *key)
{
    if (plan->notes)
        fdl_json_begin_array(plan->notes, key);
}

void fdl_note_list_end(const struct fdl_plan *plan)
{
    if (plan->notes)
        fdl_json_end_array(plan->notes);
}

void fdl_note_op(const struct fdl_plan *plan, const char *name)
{
    if (!plan->notes)
        return;
    fdl_json_begin_object(plan->notes, NULL);
    fdl_json_string(plan->notes, "op", name);
}

void fdl_note_op_end(const struct fdl_plan *plan)
{
    if (plan->notes)
        fdl_json_end_object(plan->notes);
}

void fdl_note_box(const struct fdl_plan *plan, const struct fdl_box *box)
{
    fdl_note_int(plan, "x", box->x);
    fdl_note_int(plan, "y", box->y);
    fdl_note_int(plan, "width", box->width);
    fdl_note_int(plan, "height", box->height);
}
