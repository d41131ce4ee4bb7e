/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's Normalize on pixels of 0 to 1, done with the conversion to f32
 * in the last pass over a row. A second one is folded into the first.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"

enum { ROW_MEAN, ROW_STD, ROWS };

static const struct fdl_option options[ROWS] = {
    [ROW_MEAN] = FDL_OP_CHANNELS("mean", -1e6, 1e6, "0.485,0.456,0.406",
                                 "mean to subtract, per channel or one for all",
                                 fdl_op_check_count),
    [ROW_STD] = FDL_OP_CHANNELS(
        "std", 1e-6, 1e6, "0.229,0.224,0.225",
        "standard deviation to divide by, per channel or one for all",
        fdl_op_check_count),
};

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    (void)rng;
    for (uint32_t c = 0; c < FDL_COUNT_OF(plan->norm.mean); c++) {
        double mean = fdl_op_number(o, ROW_MEAN, c);
        double std = fdl_op_number(o, ROW_STD, c);
        if (plan->norm.on) { /* ((x - m) / s - mean) / std */
            mean = plan->norm.mean[c] + mean * plan->norm.std[c];
            std *= plan->norm.std[c];
        }
        plan->norm.mean[c] = (float)mean;
        plan->norm.std[c] = (float)std;
    }
    plan->norm.on = true;
    return FEEDLINE_OK;
}

const struct fdl_op fdl_op_normalize = {
    .name = "normalize",
    .help = "subtract a mean and divide by a standard deviation (f32 output)",
    .normalizes = true,
    .options = options,
    .n_options = ROWS,
    .plan = plan,
};
