/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the record of a sample, image by image. */
#include "loader/stream/worker_recorded.h"

#include "decode/recorded_image.h"
#include "loader/read/record.h"

static void add_cost(struct fdl_render_cost *sum,
                     const struct fdl_render_cost *one)
{
    sum->decode_ns += one->decode_ns;
    sum->parts.unpack_ns += one->parts.unpack_ns;
    sum->parts.transform_ns += one->parts.transform_ns;
    sum->parts.huffman |= one->parts.huffman;
    sum->parts.clock_reads += one->parts.clock_reads;
    sum->augment_ns += one->augment_ns;
    sum->pixels += one->pixels;
    sum->clock_reads += one->clock_reads;
    sum->truncated |= one->truncated;
}

static int32_t render_one(struct fdl_decoder *d,
                          const struct fdl_record_image *from,
                          struct fdl_render_cost *cost)
{
    struct fdl_encoded bytes = {
        .data = from->bytes,
        .size = from->n_bytes,
        .readable = from->n_bytes + FDL_ENCODED_PADDING,
    };
    struct fdl_image_info info;
    struct fdl_render_cost one = {0};
    int32_t status = fdl_recorded_render(d, &bytes, &from->image, &info, &one);
    if (status >= 0)
        add_cost(cost, &one);
    return status;
}

int32_t fdl_worker_render_recorded(struct fdl_decoder *d,
                                   const struct fdl_read *r,
                                   struct fdl_render_cost *cost, uint64_t *made)
{
    const struct fdl_record *record = (const void *)r->data;
    char buf[FDL_RECORD_NAME_BYTES];
    for (uint32_t i = 0; i < record->n; i++) {
        const struct fdl_record_image *from = &record->images[i];
        int32_t status = render_one(d, from, cost);
        if (status < 0)
            return fdl_fail(status, "%s: %s",
                            fdl_record_name(&from->image, i, buf),
                            fdl_last_error());
        *made += from->image.out_bytes;
    }
    return FEEDLINE_OK;
}
