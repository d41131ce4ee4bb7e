/* SPDX-License-Identifier: Apache-2.0 */
/* Each plane of the result is a plane of the image, its luma, or constant. */
#include "decode/plan/channels.h"

#include "base/status.h"
#include "decode/kernels/alpha.h"
#include "decode/kernels/colour.h"

#include <string.h>

struct convert {
    int32_t channels;
    const struct fdl_palette *palette;
};

/* Colours of the image, one or three, as one or three. */
static void put_colours(const struct fdl_canvas *c, const struct fdl_image *out)
{
    const struct fdl_image *in = &c->image;
    int32_t have = FDL_COLOURS(in->channels), want = FDL_COLOURS(out->channels);
    if (have > want) {
        fdl_canvas_luma(c, false, out->data);
        return;
    }
    for (int32_t i = 0; i < want; i++)
        memcpy(fdl_image_row(out, i, 0),
               fdl_image_row(in, have == want ? i : 0, 0), in->plane);
}

static void put_alpha(const struct fdl_image *in, const struct fdl_image *out)
{
    if (!FDL_HAS_ALPHA(out->channels))
        return;
    uint8_t *to = fdl_image_row(out, out->channels - 1, 0);
    if (FDL_HAS_ALPHA(in->channels))
        memcpy(to, fdl_image_row(in, in->channels - 1, 0), in->plane);
    else
        memset(to, 255, out->plane);
}

/* What each index becomes in channel c of the result. */
static void palette_table(const struct convert *s, int32_t c,
                          uint8_t table[256])
{
    bool alpha = FDL_HAS_ALPHA(s->channels) && c == s->channels - 1;
    for (size_t i = 0; i < 256; i++) {
        uint8_t colour[3];
        memcpy(colour, s->palette->colour[i], sizeof(colour));
        if (FDL_COLOURS(s->channels) == 1)
            fdl_rgb_to_gray(colour, 1);
        table[i] = alpha ? s->palette->colour[i][3] : colour[c];
    }
}

static void look_up(const struct convert *s, const struct fdl_canvas *c,
                    const struct fdl_image *out)
{
    uint8_t table[256];
    for (int32_t i = 0; i < s->channels; i++) {
        uint8_t *to = fdl_image_row(out, i, 0);
        palette_table(s, i, table);
        memcpy(to, c->image.data, out->plane);
        c->kernels->lookup(to, out->plane, table);
    }
}

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct convert s;
    struct fdl_image out;
    fdl_step_values(step, &s, sizeof(s));
    int32_t status = fdl_canvas_spare_of(c, c->image.width, c->image.height,
                                         s.channels, &out);
    if (status)
        return status;
    if (s.palette) {
        look_up(&s, c, &out);
    } else {
        put_colours(c, &out);
        put_alpha(&c->image, &out);
    }
    fdl_canvas_swap(c, &out);
    return FEEDLINE_OK;
}

static const struct fdl_step_kind convert_kind = {
    .commutes = FDL_WITH_FLIP | FDL_WITH_CROP,
    .run = run,
};

void fdl_plan_convert(struct fdl_plan *plan, int32_t channels,
                      const struct fdl_palette *palette)
{
    struct convert s = {.channels = channels, .palette = palette};
    fdl_plan_add(plan, &convert_kind, &s, sizeof(s));
}

/* ---- YCbCr -------------------------------------------------------------- */

static int32_t gray_to_ycbcr(struct fdl_canvas *c)
{
    struct fdl_image *in = &c->image, out;
    int32_t status = fdl_canvas_spare_of(c, in->width, in->height, 3, &out);
    if (status)
        return status;
    memcpy(out.data, in->data, in->plane);
    memset(out.data + out.plane, 128, 2 * out.plane);
    fdl_canvas_swap(c, &out);
    return FEEDLINE_OK;
}

static int32_t run_ycbcr(const struct fdl_step *step, struct fdl_canvas *c)
{
    (void)step;
    uint8_t *data = c->image.data;
    size_t plane = c->image.plane;
    uint8_t *const planes[3] = {data, data + plane, data + 2 * plane};
    if (c->image.channels == 1)
        return gray_to_ycbcr(c);
    fdl_rgb_to_ycbcr(planes, plane);
    return FEEDLINE_OK;
}

static const struct fdl_step_kind ycbcr_kind = {
    .commutes = FDL_WITH_FLIP | FDL_WITH_CROP,
    .run = run_ycbcr,
};

void fdl_plan_ycbcr(struct fdl_plan *plan)
{
    fdl_plan_add(plan, &ycbcr_kind, NULL, 0);
}

/* ---- Any order ---------------------------------------------------------- */

struct order {
    int32_t have, n;
    uint8_t from[FDL_CHANNELS_MAX];
};

static int32_t run_order(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct order s;
    struct fdl_image *in = &c->image, out;
    fdl_step_values(step, &s, sizeof(s));
    int32_t status = fdl_canvas_spare_of(c, in->width, in->height, s.n, &out);
    if (status)
        return status;
    for (int32_t i = 0; i < s.n; i++) {
        fdl_assert(s.from[i] < in->channels);
        memcpy(fdl_image_row(&out, i, 0), fdl_image_row(in, s.from[i], 0),
               in->plane);
    }
    fdl_canvas_swap(c, &out);
    return FEEDLINE_OK;
}

static const struct fdl_step_kind order_kind = {
    .commutes = FDL_WITH_FLIP | FDL_WITH_CROP,
    .run = run_order,
};

void fdl_plan_channels(struct fdl_plan *plan, int32_t have, int32_t n,
                       const uint8_t *from)
{
    struct order s = {.have = have, .n = n};
    memcpy(s.from, from, (size_t)n);
    fdl_plan_add(plan, &order_kind, &s, sizeof(s));
}

bool fdl_plan_ends_in_order(const struct fdl_plan *plan, uint8_t from[3])
{
    struct order s;
    if (plan->n_pixel_steps == 0)
        return false;
    const struct fdl_step *last = &plan->steps[plan->n_pixel_steps - 1];
    if (last->kind != &order_kind)
        return false;
    fdl_step_values(last, &s, sizeof(s));
    memcpy(from, s.from, 3);
    return s.have == 3 && s.n == 3;
}

/* ---- Gray --------------------------------------------------------------- */

static int32_t run_gray(const struct fdl_step *step, struct fdl_canvas *c)
{
    bool tensor;
    fdl_step_values(step, &tensor, sizeof(tensor));
    struct fdl_image *image = &c->image;
    size_t plane = image->plane;
    if (image->channels == 1)
        return FEEDLINE_OK;
    uint8_t *r = image->data, *g = r + plane, *b = g + plane;
    fdl_canvas_luma(c, tensor, r);
    memcpy(g, r, plane);
    memcpy(b, r, plane);
    return FEEDLINE_OK;
}

static const struct fdl_step_kind gray_kind = {
    .commutes = FDL_WITH_FLIP | FDL_WITH_CROP,
    .run = run_gray,
};

void fdl_plan_gray(struct fdl_plan *plan, bool tensor)
{
    fdl_plan_add(plan, &gray_kind, &tensor, sizeof(tensor));
}
