/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image as it was and the sum lie side by side in scratch memory. As with
 * numpy, a product is rounded before it is added, and the sum is truncated.
 */
#include "decode/plan/branches.h"

#include "base/status.h"

#include <string.h>

static int32_t memory(struct fdl_canvas *c, size_t *n, float **sum,
                      uint8_t **image)
{
    uint8_t *found;
    *n = c->image.plane * (size_t)c->image.channels;
    size_t sums = *n * sizeof(float);
    int32_t status = fdl_canvas_scratch(c, FDL_SCRATCH_BRANCHES,
                                        sums + *n + FDL_PLANE_ALIGN, &found);
    if (status)
        return status;
    *sum = (float *)(void *)found;
    *image = found + sums;
    return FEEDLINE_OK;
}

static int32_t begin(const struct fdl_step *step, struct fdl_canvas *c)
{
    size_t n;
    float *sum;
    uint8_t *image;
    (void)step;
    int32_t status = memory(c, &n, &sum, &image);
    if (!status)
        memcpy(image, c->image.data, n);
    return status;
}

static void add(float *sum, const uint8_t *x, size_t n, float weight,
                bool first)
{
    for (size_t i = 0; i < n; i++) {
        float product = weight * x[i];
        sum[i] = first ? product : sum[i] + product;
    }
}

static int32_t end(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct fdl_branch_end e;
    size_t n;
    float *sum;
    uint8_t *image, *out = c->image.data;
    int32_t status = memory(c, &n, &sum, &image);
    if (status)
        return status;
    fdl_step_values(step, &e, sizeof(e));
    add(sum, out, n, e.weight, e.first);
    if (!e.last) {
        memcpy(out, image, n);
        return FEEDLINE_OK;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = sum[i] >= 255 ? 255 : (uint8_t)sum[i];
    c->kernels->line(out, image, n, e.share);
    return FEEDLINE_OK;
}

/* A branch's begin and end commute with no step, so crops and flips come after
 * the last of them. */
static const struct fdl_step_kind begins = {.run = begin};
static const struct fdl_step_kind ends = {.run = end};

void fdl_plan_branch(struct fdl_plan *plan)
{
    fdl_plan_add(plan, &begins, NULL, 0);
}

void fdl_plan_branch_end(struct fdl_plan *plan, const struct fdl_branch_end *e)
{
    fdl_plan_add(plan, &ends, e, sizeof(*e));
}
