/* SPDX-License-Identifier: Apache-2.0 */
/* In place. Each number is rounded before the next step sees it. */
#include "decode/plan/float_step.h"

#include "base/compiler.h"
#include "decode/kernels/levels.h"

/* ---- Colours ------------------------------------------------------------ */

struct hsv {
    bool to_hsv, bgr;
};

/* Elements from pixel to pixel. */
static size_t step_of(const struct fdl_output_format *format)
{
    return format->nhwc ? (size_t)format->channels : 1;
}

static void convert(const struct fdl_step *step,
                    const struct fdl_output_format *format, int32_t x,
                    int32_t y, void *dst)
{
    const struct fdl_cv_colour_kernels *k =
        fdl_kernels[fdl_cpu_level()].cv_colour;
    struct hsv s;
    struct fdl_cv_float_rows f = {.step = step_of(format),
                                  .width = (size_t)format->width,
                                  .height = (size_t)format->height};
    (void)x;
    (void)y;
    fdl_step_values(step, &s, sizeof(s));
    for (int32_t i = 0; i < 3; i++) {
        int32_t turned = s.bgr ? 2 - i : i;
        int32_t in = s.to_hsv ? turned : i, out = s.to_hsv ? i : turned;
        f.in[i] = (float *)dst + fdl_output_place(format, in, 0, 0);
        f.out[i] = (float *)dst + fdl_output_place(format, out, 0, 0);
    }
    if (s.to_hsv)
        k->floats_to_hsv(&f);
    else
        k->floats_from_hsv(&f);
}

static const struct fdl_step_kind hsv_kind = {.finish = convert};

void fdl_plan_float_hsv(struct fdl_plan *plan, bool to_hsv, bool bgr)
{
    struct hsv s = {to_hsv, bgr};
    fdl_plan_add(plan, &hsv_kind, &s, sizeof(s));
}

/* ---- Values ------------------------------------------------------------- */

static float value_of(const struct fdl_float_values *v, float x)
{
    switch (v->how) {
    case FDL_FLOAT_ADD:
        return x + v->a;
    case FDL_FLOAT_MULTIPLY:
        return x * v->a;
    case FDL_FLOAT_CLIP:
        x = x > v->a ? x : v->a;
        return x < v->b ? x : v->b;
    case FDL_FLOAT_ADD_ABOVE:
        return x > v->a ? x + v->b : x;
    default:
        return x < v->a ? x + v->b : x;
    }
}

static void change(const struct fdl_step *step,
                   const struct fdl_output_format *format, int32_t x, int32_t y,
                   void *dst)
{
    struct fdl_float_values v;
    size_t n = (size_t)format->width * (size_t)format->height;
    size_t at = 0, apart = 1;
    (void)x;
    (void)y;
    fdl_step_values(step, &v, sizeof(v));
    if (v.channel == FDL_FLOAT_EVERY) {
        n *= (size_t)format->channels;
    } else {
        at = fdl_output_place(format, v.channel, 0, 0);
        apart = step_of(format);
    }
    for (float *p = (float *)dst + at; n > 0; n--, p += apart)
        *p = value_of(&v, *p);
}

static const struct fdl_step_kind values_kind = {.finish = change};

void fdl_plan_float_values(struct fdl_plan *plan,
                           const struct fdl_float_values *values)
{
    fdl_plan_add(plan, &values_kind, values, sizeof(*values));
}

/* ---- Channels ----------------------------------------------------------- */

static void reorder(const struct fdl_step *step,
                    const struct fdl_output_format *format, int32_t x,
                    int32_t y, void *dst)
{
    uint8_t from[FDL_CHANNELS_MAX];
    size_t n = (size_t)format->width * (size_t)format->height;
    size_t apart = step_of(format);
    float *plane[FDL_CHANNELS_MAX], pixel[FDL_CHANNELS_MAX] = {0};
    (void)x;
    (void)y;
    fdl_step_values(step, from, sizeof(from));
    for (int32_t c = 0; c < format->channels; c++)
        plane[c] = (float *)dst + fdl_output_place(format, c, 0, 0);
    for (size_t i = 0; i < n * apart; i += apart) {
        for (int32_t c = 0; c < format->channels; c++)
            pixel[c] = plane[from[c]][i];
        for (int32_t c = 0; c < format->channels; c++)
            plane[c][i] = pixel[c];
    }
}

static const struct fdl_step_kind channels_kind = {.finish = reorder};

void fdl_plan_float_channels(struct fdl_plan *plan,
                             const uint8_t from[FDL_CHANNELS_MAX])
{
    fdl_plan_add(plan, &channels_kind, from, FDL_CHANNELS_MAX);
}
