/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the image, plans, and renders. */
#include "decode/recorded_image.h"

#include "base/status.h"
#include "decode/decoder_state.h"

#include <inttypes.h>

/* Image.open does not turn an image, whatever an option says of others. */
static void keep_as_stored(struct fdl_decoder *d, struct fdl_image_info *info)
{
    d->info.orientation = 1;
    d->turn = fdl_turn_of(1);
    *info = d->info;
}

static int32_t check_size(const struct feedline_recorded_image *image,
                          const struct fdl_plan *plan)
{
    int32_t width = fdl_plan_width(plan), height = fdl_plan_height(plan);
    if (width == image->width && height == image->height)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "the steps make this image %" PRId32 "x%" PRId32
                    ", but its output is %" PRId32 "x%" PRId32,
                    width, height, image->width, image->height);
}

int32_t fdl_recorded_render(struct fdl_decoder *d,
                            const struct fdl_encoded *bytes,
                            const struct feedline_recorded_image *image,
                            struct fdl_image_info *info,
                            struct fdl_render_cost *cost)
{
    struct fdl_plan plan;
    int32_t status = fdl_recorded_check(image);
    if (!status)
        status = fdl_decoder_open(d, bytes, info);
    if (status)
        return status;
    keep_as_stored(d, info);
    status = fdl_recorded_plan(d, image, &plan);
    if (!status)
        status = check_size(image, &plan);
    if (status) {
        fdl_decoder_abort(d);
        return status;
    }
    struct fdl_output_format format = {.width = image->width,
                                       .height = image->height,
                                       .channels = image->channels,
                                       .dtype = image->dtype,
                                       .nhwc = image->nhwc != 0};
    return fdl_decoder_render(d, &plan, &format, image->out, cost);
}
