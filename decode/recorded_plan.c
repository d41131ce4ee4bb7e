/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a program, written into a plan by the functions that operations
 * of a pipeline use.
 *
 * What they mean depends on the mode of the image, which begins as that of the
 * file. As long as pixels were only picked, as by crops and flips, a
 * conversion may as well be the decoder's: then the file is `stored`, and
 * nothing is known of its pixels but where they are. A palette is looked up in
 * there as well, or by a step if something else came first.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/decoder_state.h"
#include "decode/kernels/alpha.h"
#include "decode/plan/channels.h"
#include "decode/plan/turn.h"
#include "decode/recorded_image.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Pillow's modes, as far as they matter. */
enum mode {
    MODE_1 = 0x1, /* a bit is 0 or 255 */
    MODE_L = 0x2,
    MODE_LA = 0x4,
    MODE_RGB = 0x8,
    MODE_RGBA = 0x10,
    MODE_P = 0x20,
    MODE_OTHER = 0x40, /* to be converted */

    MODES_PICKED = MODE_1 | MODE_P, /* resampled by nearest only */
};

struct program {
    struct fdl_decoder *d;
    const struct feedline_recorded_image *image;
    struct fdl_plan *plan;
    enum mode mode;
    bool stored;
    const struct fdl_palette *palette; /* of P that is not stored */
};

/* ---- Modes -------------------------------------------------------------- */

static enum mode mode_of(const char *name)
{
    static const struct {
        const char *name;
        enum mode mode;
    } modes[] = {{"1", MODE_1},     {"L", MODE_L},       {"LA", MODE_LA},
                 {"RGB", MODE_RGB}, {"RGBA", MODE_RGBA}, {"P", MODE_P}};
    for (size_t i = 0; i < FDL_COUNT_OF(modes); i++) {
        if (strcmp(modes[i].name, name) == 0)
            return modes[i].mode;
    }
    return MODE_OTHER;
}

static int32_t channels_of(enum mode mode)
{
    switch (mode) {
    case MODE_LA:
        return 2;
    case MODE_RGB:
        return 3;
    case MODE_RGBA:
        return 4;
    default:
        return 1;
    }
}

static void set_mode(struct program *p, enum mode mode)
{
    p->mode = mode;
    p->plan->alpha = FDL_HAS_ALPHA(channels_of(mode));
}

/* From here on there are pixels, in the mode of now. */
static int32_t leave_file(struct program *p)
{
    if (!p->stored)
        return FEEDLINE_OK;
    if (p->mode == MODE_OTHER)
        return fdl_fail(FEEDLINE_EINVAL,
                        "an image of Pillow's mode %s has to be converted "
                        "first",
                        p->d->info.mode);
    if (p->mode == MODE_P)
        p->palette = fdl_decoder_indices(p->d);
    p->plan->channels = channels_of(p->mode);
    p->stored = false;
    return FEEDLINE_OK;
}

/* Whether each pixel still is one of the file. */
static bool only_picks(const struct fdl_plan *plan)
{
    return plan->n_pixel_steps == 0 &&
           (!fdl_geometry_is_resampled(&plan->geometry) ||
            plan->geometry.filter == FDL_FILTER_NEAREST);
}

/* A colour that means transparent is compared when an image gets its alpha: in
 * the file, or nowhere. */
static int32_t check_key(const struct program *p, enum mode to)
{
    bool keyed = p->d->info.keyed && FDL_HAS_ALPHA(channels_of(to)) &&
                 (p->mode & (MODE_1 | MODE_L | MODE_RGB));
    if (!keyed)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "the transparent colour of this %s is not known any more; "
                    "convert it before other steps",
                    p->d->info.format->name);
}

static int32_t convert(struct program *p, int32_t channels)
{
    static const enum mode modes[] = {MODE_1, MODE_L, MODE_LA, MODE_RGB,
                                      MODE_RGBA};
    enum mode to = modes[channels];
    if (p->mode == to)
        return FEEDLINE_OK;
    if (p->stored) {
        p->plan->channels = channels;
        p->stored = false;
        set_mode(p, to);
        return FEEDLINE_OK;
    }
    int32_t status = check_key(p, to);
    if (status)
        return status;
    if (p->mode != MODE_1 || to != MODE_L) /* these have the same bytes */
        fdl_plan_convert(p->plan, channels,
                         p->mode == MODE_P ? p->palette : NULL);
    set_mode(p, to);
    return FEEDLINE_OK;
}

/* ---- Steps -------------------------------------------------------------- */

static int32_t plan_convert(struct program *p, const double *v, uint32_t n)
{
    (void)n;
    return convert(p, (int32_t)v[0]);
}

static int32_t plan_crop(struct program *p, const double *v, uint32_t n)
{
    static const uint8_t black[4];
    (void)n;
    struct fdl_box box = {(int32_t)v[0], (int32_t)v[1], (int32_t)(v[2] - v[0]),
                          (int32_t)(v[3] - v[1])};
    return fdl_plan_window(p->plan, box, FDL_PAD_CONSTANT, black);
}

static enum fdl_filter filter_of(const struct program *p, double number)
{
    static const enum fdl_filter filters[] = {
        FDL_FILTER_NEAREST, FDL_FILTER_LANCZOS, FDL_FILTER_BILINEAR,
        FDL_FILTER_BICUBIC, FDL_FILTER_BOX,     FDL_FILTER_HAMMING};
    if (p->mode & MODES_PICKED)
        return FDL_FILTER_NEAREST;
    return filters[(size_t)number];
}

/* Of a box, which is rounded to float as in Pillow. */
static int32_t resize_part(struct program *p, const double *v,
                           enum fdl_filter filter)
{
    struct fdl_plan *plan = p->plan;
    int32_t width = (int32_t)v[0], height = (int32_t)v[1];
    int32_t w = fdl_plan_width(plan), h = fdl_plan_height(plan);
    float left = (float)v[3], top = (float)v[4];
    float right = (float)v[5], bottom = (float)v[6];
    if (right > (float)w || bottom > (float)h)
        return fdl_fail(FEEDLINE_EINVAL,
                        "the box ends at %g, %g, outside of an image of "
                        "%" PRId32 "x%" PRId32,
                        v[5], v[6], w, h);
    struct fdl_span x = {left, right - left}, y = {top, bottom - top};
    bool whole = left == 0 && top == 0 && x.size == w && y.size == h;
    if (whole)
        fdl_plan_resize(plan, width, height, filter);
    else
        fdl_plan_resize_part(plan, width, height, filter, &x, &y);
    return FEEDLINE_OK;
}

static int32_t plan_resize(struct program *p, const double *v, uint32_t n)
{
    enum fdl_filter filter = filter_of(p, v[2]);
    if (n > 3)
        return resize_part(p, v, filter);
    fdl_plan_resize(p->plan, (int32_t)v[0], (int32_t)v[1], filter);
    return FEEDLINE_OK;
}

static int32_t plan_transpose(struct program *p, const double *v, uint32_t n)
{
    (void)n;
    fdl_plan_transpose(p->plan, (enum fdl_transpose)v[0]);
    return FEEDLINE_OK;
}

/* ---- The last pass ------------------------------------------------------ */

static void finish(struct program *p, const struct feedline_recorded_step *s)
{
    struct fdl_plan *plan = p->plan;
    uint32_t channels = (uint32_t)p->image->channels;
    if (s->op == FEEDLINE_STEP_SCALE) {
        plan->stepwise = true;
    } else if (s->op == FEEDLINE_STEP_LOOKUP) {
        plan->lookup = s->data;
        plan->lookup_bytes = fdl_recorded_element(p->image);
    } else {
        plan->norm.on = true;
        for (uint32_t c = 0; c < channels; c++) {
            plan->norm.mean[c] = (float)s->value[c];
            plan->norm.std[c] = (float)s->value[channels + c];
        }
    }
}

/* ---- All of it ---------------------------------------------------------- */

typedef int32_t (*plan_fn)(struct program *p, const double *value, uint32_t n);

static plan_fn pixel_step(uint32_t op)
{
    static const plan_fn functions[] = {
        [FEEDLINE_STEP_CONVERT] = plan_convert,
        [FEEDLINE_STEP_CROP] = plan_crop,
        [FEEDLINE_STEP_RESIZE] = plan_resize,
        [FEEDLINE_STEP_TRANSPOSE] = plan_transpose,
    };
    return op < FDL_COUNT_OF(functions) ? functions[op] : NULL;
}

/* A step of a program becomes this many of a plan at most. */
#define PLAN_STEPS_OF_ONE 2

static int32_t check_room(const struct program *p)
{
    if (p->plan->n_steps + PLAN_STEPS_OF_ONE <= FDL_PLAN_STEPS)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ERANGE,
                    "the steps before it take all the room for %d",
                    FDL_PLAN_STEPS);
}

static int32_t check_way(const struct program *p)
{
    int32_t width = fdl_plan_width(p->plan), height = fdl_plan_height(p->plan);
    uint64_t pixels = (uint64_t)width * (uint64_t)height;
    if (pixels <= p->d->limits.max_pixels)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ERANGE,
                    "an image of %" PRId32 "x%" PRId32
                    " is above the limit of %" PRIu64 " pixels",
                    width, height, p->d->limits.max_pixels);
}

static int32_t plan_step(struct program *p,
                         const struct feedline_recorded_step *s)
{
    plan_fn plan = pixel_step(s->op);
    int32_t status = check_room(p);
    if (status)
        return status;
    if (!plan) {
        finish(p, s);
        return FEEDLINE_OK;
    }
    status = plan(p, s->value, s->n);
    if (!status)
        status = check_way(p);
    if (!status && !only_picks(p->plan))
        status = leave_file(p);
    return status;
}

static int32_t check_channels(const struct program *p)
{
    int32_t channels = channels_of(p->mode);
    if (channels == p->image->channels)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "the steps make %" PRId32
                    " channels of this image, but its output has %" PRId32,
                    channels, p->image->channels);
}

int32_t fdl_recorded_plan(struct fdl_decoder *d,
                          const struct feedline_recorded_image *image,
                          struct fdl_plan *plan)
{
    struct program p = {.d = d, .image = image, .plan = plan, .stored = true};
    fdl_plan_init(plan, d->info.width, d->info.height);
    set_mode(&p, mode_of(d->info.mode));
    for (uint32_t i = 0; i < image->n_steps; i++) {
        const struct feedline_recorded_step *s = &image->steps[i];
        int32_t status = plan_step(&p, s);
        if (status)
            return fdl_fail(status, "step %" PRIu32 " (%s): %s", i + 1,
                            fdl_recorded_name(s->op), fdl_last_error());
    }
    int32_t status = leave_file(&p);
    return status ? status : check_channels(&p);
}
