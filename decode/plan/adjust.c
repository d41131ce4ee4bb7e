/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pillow blends an image with a degenerate one: black, its mean gray, or its
 * own gray. The degenerate image is never made; a constant or one plane of luma
 * stands for it.
 */
#include "decode/plan/adjust.h"

#include "base/status.h"
#include "decode/kernels/alpha.h"
#include "decode/plan/point.h"

static const char *const adjust_names[FDL_ADJUSTS] = {
    [FDL_ADJUST_BRIGHTNESS] = "brightness",
    [FDL_ADJUST_CONTRAST] = "contrast",
    [FDL_ADJUST_SATURATION] = "saturation",
    [FDL_ADJUST_HUE] = "hue",
};

/* Planes that are colours: alpha stays as it is. */
static size_t colours_of(const struct fdl_image *image)
{
    return FDL_COLOURS(image->channels);
}

/* The luma of the image; of a gray one, itself. */
static int32_t luma_of(struct fdl_canvas *c, bool tensor, const uint8_t **out)
{
    const struct fdl_image *image = &c->image;
    uint8_t *luma;
    *out = image->data;
    if (colours_of(image) == 1)
        return FEEDLINE_OK;
    int32_t status =
        fdl_canvas_scratch(c, FDL_SCRATCH_STEP, image->plane, &luma);
    if (status)
        return status;
    fdl_canvas_luma(c, tensor, luma);
    *out = luma;
    return FEEDLINE_OK;
}

static void blend_constant(struct fdl_canvas *c, uint8_t base, float factor)
{
    struct fdl_image *image = &c->image;
    c->kernels->constant(image->data, colours_of(image) * image->plane, base,
                         factor);
}

static struct fdl_torch_blend torch_blend(double factor)
{
    return (struct fdl_torch_blend){.scale = (float)factor,
                                    .alpha = (float)(1.0 - factor)};
}

/* torch's mean is not rounded to a byte; its sum is a float, too, but which
 * one above 2^24 depends on its threads. */
static void blend_mean(struct fdl_canvas *c, uint64_t sum, double factor)
{
    struct fdl_image *image = &c->image;
    struct fdl_torch_blend blend = torch_blend(factor);
    uint8_t table[256];
    fdl_torch_table((float)sum / (float)image->plane, &blend, table);
    c->kernels->lookup(image->data, colours_of(image) * image->plane, table);
}

static int32_t contrast(struct fdl_canvas *c, bool tensor, double factor)
{
    const uint8_t *luma;
    int32_t status = luma_of(c, tensor, &luma);
    if (status)
        return status;
    size_t n = c->image.plane;
    uint64_t sum = c->kernels->sum(luma, n);
    if (tensor)
        blend_mean(c, sum, factor);
    else
        blend_constant(c, (uint8_t)((double)sum / (double)n + 0.5),
                       (float)factor);
    return FEEDLINE_OK;
}

static int32_t saturation(struct fdl_canvas *c, bool tensor, double factor)
{
    struct fdl_torch_blend blend = torch_blend(factor);
    const uint8_t *luma;
    if (colours_of(&c->image) == 1)
        return FEEDLINE_OK; /* gray is its own gray */
    int32_t status = luma_of(c, tensor, &luma);
    if (status)
        return status;
    size_t plane = c->image.plane;
    for (size_t i = 0; i < colours_of(&c->image); i++) {
        uint8_t *x = c->image.data + i * plane;
        if (tensor)
            c->kernels->torch_line(x, luma, plane, &blend);
        else
            c->kernels->line(x, luma, plane, (float)factor);
    }
    return FEEDLINE_OK;
}

static void hue(struct fdl_canvas *c, bool tensor, double factor)
{
    const struct fdl_image *image = &c->image;
    size_t plane = image->plane;
    uint8_t *r = image->data, *g = r + plane, *b = g + plane;
    if (image->channels == 1)
        return;
    if (tensor)
        c->kernels->torch_hue(r, g, b, plane, (float)factor);
    else
        c->kernels->hue(r, g, b, plane, (uint8_t)(int32_t)(factor * 255));
}

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct fdl_adjust_step a;
    int32_t status = FEEDLINE_OK;
    fdl_step_values(step, &a, sizeof(a));
    for (uint32_t i = 0; i < a.n && !status; i++) {
        double factor = a.factor[a.order[i]];
        switch (a.order[i]) {
        case FDL_ADJUST_BRIGHTNESS:
            blend_constant(c, 0, (float)factor);
            break;
        case FDL_ADJUST_CONTRAST:
            status = contrast(c, a.tensor, factor);
            break;
        case FDL_ADJUST_SATURATION:
            status = saturation(c, a.tensor, factor);
            break;
        default:
            hue(c, a.tensor, factor);
            break;
        }
    }
    return status;
}

static const struct fdl_step_kind pointwise = {
    .commutes = FDL_WITH_FLIP | FDL_WITH_CROP,
    .run = run,
};

/* The mean is of the whole image, whichever way round. */
static const struct fdl_step_kind with_contrast = {
    .commutes = FDL_WITH_FLIP,
    .run = run,
};

void fdl_plan_adjust(struct fdl_plan *plan, const struct fdl_adjust_step *a)
{
    const struct fdl_step_kind *kind = &pointwise;
    if (a->n == 1 && a->order[0] == FDL_ADJUST_BRIGHTNESS) {
        fdl_plan_point(plan, FDL_POINT_BRIGHTNESS, a->factor[a->order[0]]);
        return;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->order[i] == FDL_ADJUST_CONTRAST)
            kind = &with_contrast;
    }
    if (a->n > 0)
        fdl_plan_add(plan, kind, a, sizeof(*a));
}

void fdl_note_adjust(const struct fdl_plan *plan,
                     const struct fdl_adjust_step *a)
{
    fdl_note_list(plan, "order");
    for (uint32_t i = 0; i < a->n; i++)
        fdl_note_string(plan, NULL, adjust_names[a->order[i]]);
    fdl_note_list_end(plan);
    for (uint32_t i = 0; i < a->n; i++)
        fdl_note_double(plan, adjust_names[a->order[i]],
                        a->factor[a->order[i]]);
}
