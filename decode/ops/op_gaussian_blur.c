/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gaussian blurs by a standard deviation that is drawn evenly: torchvision's
 * GaussianBlur, and Pillow's, which self-supervised recipes apply to a part of
 * the samples.
 */
#include "base/status.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"
#include "decode/plan/blur.h"

enum { ROW_KERNEL_SIZE, ROW_SIGMA, ROWS };
enum { ROW_RADIUS, ROW_P, PIL_ROWS };

#define SIGMA_MIN 0.01 /* a kernel of one pixel long before */

static int32_t check_kernel(const struct fdl_options *o, uint32_t row)
{
    const struct fdl_option_value *v = fdl_option_value(o, row);
    bool odd = v->n_doubles <= 2;
    for (uint32_t i = 0; i < v->n_doubles && odd; i++) {
        int32_t whole = (int32_t)v->doubles[i];
        odd = whole % 2 == 1 && (double)whole == v->doubles[i];
    }
    if (odd)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "gaussian_blur: kernel_size takes one or two odd numbers");
}

/* One number, or a range. */
static int32_t check_deviation(const struct fdl_options *o, uint32_t row)
{
    if (fdl_option_value(o, row)->n_doubles == 1)
        return FEEDLINE_OK;
    return fdl_op_check_range(o, row);
}

#define DEVIATION(key, least)                                                  \
  FDL_OP_DOUBLES(key, least, FDL_BLUR_SIGMA_MAX, "0.1,2", "pixels",            \
                 "standard deviation, or the range it is drawn from",          \
                 check_deviation)

static const struct fdl_option options[ROWS] = {
    [ROW_KERNEL_SIZE] =
        FDL_OP_DOUBLES("kernel_size", 1, FDL_BLUR_SIZE_MAX, "9", "pixels",
                       "side of the kernel, odd; or width and "
                       "height",
                       check_kernel),
    [ROW_SIGMA] = DEVIATION("sigma", SIGMA_MIN),
};

static const struct fdl_option pil_options[PIL_ROWS] = {
    [ROW_RADIUS] = DEVIATION("radius", 0),
    [ROW_P] = FDL_OP_PROBABILITY("1", "the image is blurred"),
};

static double draw_deviation(const struct fdl_options *o, uint32_t row,
                             struct fdl_rng *rng)
{
    const struct fdl_option_value *v = fdl_option_value(o, row);
    if (v->n_doubles == 1)
        return v->doubles[0];
    return fdl_op_draw(rng, v->doubles[0], v->doubles[1]);
}

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    double sigma = draw_deviation(o, ROW_SIGMA, rng);
    fdl_note_double(plan, "sigma", sigma);
    return fdl_plan_blur_gauss(
        plan, (int32_t)fdl_op_number(o, ROW_KERNEL_SIZE, 0),
        (int32_t)fdl_op_number(o, ROW_KERNEL_SIZE, 1), sigma, sigma);
}

static int32_t plan_pil(const struct fdl_options *o, struct fdl_rng *rng,
                        struct fdl_plan *plan)
{
    bool blurs = fdl_rng_uniform(rng) < fdl_option_double(o, ROW_P);
    fdl_note_bool(plan, "blurs", blurs);
    if (!blurs)
        return FEEDLINE_OK;
    double radius = draw_deviation(o, ROW_RADIUS, rng);
    fdl_note_double(plan, "radius", radius);
    fdl_plan_blur_box(plan, radius, radius);
    return FEEDLINE_OK;
}

const struct fdl_op fdl_op_gaussian_blur = {
    .name = "gaussian_blur",
    .help = "Gaussian blur as in torchvision",
    .pixels = true,
    .options = options,
    .n_options = ROWS,
    .plan = plan,
};

const struct fdl_op fdl_op_pil_gaussian_blur = {
    .name = "pil_gaussian_blur",
    .help = "Gaussian blur as in Pillow",
    .pixels = true,
    .options = pil_options,
    .n_options = PIL_ROWS,
    .plan = plan_pil,
};
