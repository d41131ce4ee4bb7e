/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the record of a sample, image by image. */
#include "loader/stream/worker_recorded.h"

#include "base/compiler.h"
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
    sum->mcus += one->mcus;
    sum->mcus_jumped += one->mcus_jumped;
    sum->clock_reads += one->clock_reads;
    sum->truncated |= one->truncated;
}

static uint64_t pixels(int32_t width, int32_t height)
{
    return (uint64_t)width * (uint64_t)height;
}

static void add_made(struct fdl_recorded_made *sum,
                     const struct fdl_image_info *info,
                     const struct feedline_recorded_image *image)
{
    if (sum->width == 0) {
        sum->width = (uint32_t)info->width;
        sum->height = (uint32_t)info->height;
    }
    sum->source += pixels(info->width, info->height);
    sum->output += pixels(image->width, image->height);
    sum->bytes += image->out_bytes;
}

static struct fdl_encoded encoded(const struct fdl_record_image *from)
{
    return (struct fdl_encoded){
        .data = from->bytes,
        .size = from->n_bytes,
        .readable = from->n_bytes + FDL_ENCODED_PADDING,
    };
}

/* index: of the sample in the JPEG index, or no notes. */
static int32_t render_one(const struct fdl_recorded_tools *tools,
                          const struct fdl_record_image *from, uint64_t index,
                          struct fdl_render_cost *cost,
                          struct fdl_recorded_made *made)
{
    struct fdl_encoded bytes = encoded(from);
    struct fdl_image_info info;
    struct fdl_render_cost one = {0};
    fdl_entry_store_begin(tools->entries, index, tools->notes, &bytes);
    int32_t status =
        fdl_recorded_render(tools->decoder, &bytes, &from->image, &info, &one);
    if (status < 0)
        return status;
    fdl_entry_store_end(tools->entries, index, tools->notes, &one);
    add_cost(cost, &one);
    add_made(made, &info, &from->image);
    return FEEDLINE_OK;
}

/* n images of one file, as views of it are; false: none of them is made. */
static bool render_shared(const struct fdl_recorded_tools *tools,
                          const struct fdl_record_image *from, uint32_t n,
                          uint64_t index, struct fdl_render_cost *cost,
                          struct fdl_recorded_made *made)
{
    const struct feedline_recorded_image *images[FEEDLINE_RECORDED_IMAGES_MAX];
    struct fdl_encoded bytes = encoded(from);
    struct fdl_image_info info;
    struct fdl_render_cost one = {0};
    for (uint32_t i = 0; i < n; i++)
        images[i] = &from[i].image;
    fdl_entry_store_begin(tools->entries, index, tools->notes, &bytes);
    if (!fdl_recorded_render_shared(tools->decoder, &bytes, images, n, &info,
                                    &one))
        return false;
    fdl_entry_store_end(tools->entries, index, tools->notes, &one);
    add_cost(cost, &one);
    for (uint32_t i = 0; i < n; i++)
        add_made(made, &info, images[i]);
    return true;
}

/* How many images from the i-th on have the same bytes. */
static uint32_t of_one_file(const struct fdl_record *record, uint32_t i)
{
    uint32_t n = 1;
    while (i + n < record->n &&
           record->images[i + n].bytes == record->images[i].bytes)
        n++;
    return n;
}

int32_t fdl_worker_render_recorded(const struct fdl_recorded_tools *tools,
                                   const struct fdl_read *r,
                                   struct fdl_render_cost *cost,
                                   struct fdl_recorded_made *made)
{
    const struct fdl_record *record = r->record;
    struct fdl_recorded_tools others = *tools;
    char buf[FDL_RECORD_NAME_BYTES];
    uint32_t apart = 0; /* images up to here are made one by one */
    others.notes = NULL;
    for (uint32_t i = 0; i < record->n; i++) {
        const struct fdl_record_image *from = &record->images[i];
        bool noted = from->bytes == record->images[0].bytes;
        const struct fdl_recorded_tools *own = noted ? tools : &others;
        uint32_t n = i < apart ? 1 : of_one_file(record, i);
        apart = FDL_MAX(apart, i + n);
        if (n > 1 && render_shared(own, from, n, r->index, cost, made)) {
            i += n - 1;
            continue;
        }
        int32_t status = render_one(own, from, r->index, cost, made);
        if (status < 0)
            return fdl_fail(status, "%s: %s",
                            fdl_record_name(&from->image, i, buf),
                            fdl_last_error());
    }
    return FEEDLINE_OK;
}
