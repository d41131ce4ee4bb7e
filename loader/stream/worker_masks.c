/* SPDX-License-Identifier: Apache-2.0 */
/* Masks of samples: the plan of the image, drawn once more for its mask. A plan
 * depends on nothing but the key, and so draws what it drew for the image. */
#include "loader/stream/engine_own.h"
#include "loader/stream/slot_fields.h"
#include "loader/stream/worker_fields.h"

#include <inttypes.h>

static int32_t open_mask(const struct fdl_worker *w,
                         const struct fdl_image_info *image)
{
    struct fdl_encoded bytes = {
        .data = w->mask, .size = w->mask_bytes, .readable = w->mask_bytes};
    struct fdl_image_info info;
    if (w->mask_bytes == 0)
        return fdl_fail(FEEDLINE_ENOENT, "the sample has none");
    int32_t status = fdl_decoder_open(w->masks, &bytes, &info);
    if (status < 0 ||
        (info.width == image->width && info.height == image->height))
        return status;
    fdl_decoder_abort(w->masks);
    return fdl_fail(FEEDLINE_EDECODE,
                    "%" PRId32 "x%" PRId32 " pixels for an image of %" PRId32
                    "x%" PRId32,
                    info.width, info.height, image->width, image->height);
}

static int32_t render(struct fdl_worker *w, const struct fdl_draw_key *key,
                      const struct fdl_image_info *image, feedline_batch *b,
                      uint32_t place, struct fdl_render_cost *cost)
{
    struct fdl_output_format format = {.channels = 1, .dtype = FEEDLINE_U8};
    struct fdl_plan plan;
    uint8_t *dst;
    int32_t status = fdl_pipeline_draw(w->engine->pipeline, key, image->width,
                                       image->height, &plan);
    if (status < 0)
        return status;
    format.width = fdl_plan_width(&plan);
    format.height = fdl_plan_height(&plan);
    status = fdl_slot_mask_claim(b, place, fdl_output_bytes(&format), &dst);
    return status < 0 ? status
                      : fdl_decoder_render(w->masks, &plan, &format, dst, cost);
}

int32_t fdl_worker_render_mask(struct fdl_worker *w,
                               const struct fdl_draw_key *key,
                               const struct fdl_image_info *image,
                               feedline_batch *b, uint32_t place,
                               struct fdl_render_cost *cost)
{
    const struct fdl_engine *e = w->engine;
    struct fdl_draw_key own = *key;
    struct fdl_render_cost one = {0};
    own.channels = 1;
    own.mask = e->mask;
    int32_t status = open_mask(w, image);
    if (status >= 0) {
        status = render(w, &own, image, b, place, &one);
        fdl_decoder_abort(w->masks);
    }
    if (status < 0)
        return fdl_fail(status, "mask '%s': %s",
                        fdl_field_set_name(&e->dataset->fields, e->mask_field),
                        fdl_last_error());
    cost->decode_ns += one.decode_ns;
    cost->augment_ns += one.augment_ns;
    cost->clock_reads += one.clock_reads;
    cost->truncated |= one.truncated;
    return FEEDLINE_OK;
}
