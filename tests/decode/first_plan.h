/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a sample's first copy, with every view. */
#ifndef FDL_TESTS_DECODE_FIRST_PLAN_H
#define FDL_TESTS_DECODE_FIRST_PLAN_H

#include "decode/pipeline.h"

static inline int32_t first_plan(const struct fdl_pipeline *p, uint64_t seed,
                                 uint64_t epoch, uint64_t sample, int32_t width,
                                 int32_t height, struct fdl_plan *out)
{
    struct fdl_draw_key key = {seed, epoch, sample, 0, FDL_EVERY_VIEW};
    return fdl_pipeline_draw(p, &key, width, height, out);
}

#endif
