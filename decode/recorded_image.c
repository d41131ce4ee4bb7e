/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the image, plans, and renders; one program, or several of one file. */
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

static int32_t render_open(struct fdl_decoder *d,
                           const struct feedline_recorded_image *image,
                           struct fdl_render_cost *cost)
{
    struct fdl_plan plan;
    int32_t status = fdl_recorded_plan(d, image, &plan);
    return status ? status : fdl_recorded_render_plan(d, image, &plan, cost);
}

int32_t fdl_recorded_render_plan(struct fdl_decoder *d,
                                 const struct feedline_recorded_image *image,
                                 const struct fdl_plan *plan,
                                 struct fdl_render_cost *cost)
{
    int32_t status = check_size(image, plan);
    if (status)
        return status;
    struct fdl_output_format format = {.width = image->width,
                                       .height = image->height,
                                       .channels = image->channels,
                                       .dtype = image->dtype,
                                       .nhwc = image->nhwc != 0};
    return fdl_decoder_render(d, plan, &format, image->out, cost);
}

int32_t fdl_recorded_open(struct fdl_decoder *d,
                          const struct fdl_encoded *bytes,
                          const struct feedline_recorded_image *image,
                          struct fdl_image_info *info)
{
    int32_t status = fdl_recorded_check(image);
    if (!status && !image->out)
        status = fdl_fail(FEEDLINE_EINVAL, "out is NULL");
    if (!status)
        status = fdl_decoder_open(d, bytes, info);
    if (!status)
        keep_as_stored(d, info);
    return status;
}

int32_t fdl_recorded_render(struct fdl_decoder *d,
                            const struct fdl_encoded *bytes,
                            const struct feedline_recorded_image *image,
                            struct fdl_image_info *info,
                            struct fdl_render_cost *cost)
{
    int32_t status = fdl_recorded_open(d, bytes, image, info);
    if (status)
        return status;
    status = render_open(d, image, cost);
    fdl_decoder_abort(d);
    return status;
}

/* ---- Several of one file ------------------------------------------------ */

static uint64_t area(const struct fdl_box *box)
{
    return (uint64_t)box->width * (uint64_t)box->height;
}

/* What all of them need, as rows of so many channels. false: they need it in
 * different forms, or together more than apart. */
static bool find_shared(struct fdl_decoder *d,
                        const struct feedline_recorded_image *const *images,
                        uint32_t n, struct fdl_box *box, int32_t *channels)
{
    int32_t stored = d->info.channels;
    uint64_t apart = 0;
    struct fdl_plan plan;
    for (uint32_t i = 0; i < n; i++) {
        if (fdl_recorded_check(images[i]) ||
            fdl_recorded_plan(d, images[i], &plan))
            return false;
        struct fdl_box need = fdl_geometry_reach(&plan.geometry);
        if (i == 0) {
            *channels = plan.channels;
            *box = need;
        }
        if (plan.channels != *channels || d->info.channels != stored ||
            d->info.orientation != 1)
            return false;
        fdl_box_join(box, &need);
        apart += area(&need);
    }
    return area(box) < apart;
}

bool fdl_recorded_render_shared(
    struct fdl_decoder *d, const struct fdl_encoded *bytes,
    const struct feedline_recorded_image *const *images, uint32_t n,
    struct fdl_image_info *info, struct fdl_render_cost *cost)
{
    struct fdl_render_cost sum = {0};
    struct fdl_box box;
    int32_t channels;
    if (d->limits.fast || fdl_decoder_open(d, bytes, info))
        return false;
    keep_as_stored(d, info);
    bool good = find_shared(d, images, n, &box, &channels) &&
                fdl_decoder_keep(d, &box, channels, &sum) == FEEDLINE_OK;
    for (uint32_t i = 0; i < n && good; i++) {
        struct fdl_render_cost one = {0};
        good = render_open(d, images[i], &one) == FEEDLINE_OK;
        sum.augment_ns += one.decode_ns + one.augment_ns;
        sum.clock_reads += one.clock_reads;
        sum.truncated |= one.truncated;
    }
    fdl_decoder_abort(d);
    if (good)
        *cost = sum;
    return good;
}
