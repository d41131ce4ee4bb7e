/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of images, for tests of formats: which, and their pixels. */
#ifndef FDL_TESTS_DECODE_PARTS_H
#define FDL_TESTS_DECODE_PARTS_H

#include "tests/decode/make_jpeg.h"
#include "tests/decode/rig.h"

/* Often all of a side, or one pixel of it. */
static inline void part_span(uint64_t *state, int32_t n, int32_t *at,
                             int32_t *size)
{
    int32_t kind = make_within(state, 0, 4);
    *size = kind == 0 ? n : kind == 1 ? 1 : make_within(state, 1, n);
    *at = make_within(state, 0, n - *size);
}

static inline struct fdl_box part_of(uint64_t *state, int32_t width,
                                     int32_t height)
{
    struct fdl_box box;
    part_span(state, width, &box.x, &box.width);
    part_span(state, height, &box.y, &box.height);
    return box;
}

/* Of an image that is open, the part by `divisor` times smaller, as RGB. */
static inline int32_t part_render(struct fdl_decoder *d,
                                  const struct fdl_image_info *info,
                                  const struct fdl_box *box, int32_t divisor,
                                  uint8_t *out)
{
    struct fdl_plan plan;
    fdl_plan_init(&plan, info->width, info->height);
    fdl_plan_crop(&plan, *box);
    struct fdl_output_format f = {(box->width + divisor - 1) / divisor,
                                  (box->height + divisor - 1) / divisor, 3,
                                  FEEDLINE_U8, true};
    struct fdl_render_cost cost;
    if (divisor > 1)
        assert_false(fdl_geometry_resize(&plan.geometry, f.width, f.height));
    return fdl_decoder_render(d, &plan, &f, out, &cost);
}

#endif
