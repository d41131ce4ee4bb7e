/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the record of a sample, image by image. */
#include "loader/stream/worker_recorded.h"

#include "base/compiler.h"
#include "base/status.h"
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

/* ---- Canvases ------------------------------------------------------------ */

/* What has no place of its own gets one in the worker's memory. */
static int32_t give_places(struct fdl_recorded_memory *memory,
                           struct fdl_record *record)
{
    int32_t status = fdl_scratch_grow(&memory->parts, record->part_bytes,
                                      "the parts of canvases");
    if (!status)
        status =
            fdl_scratch_grow(&memory->canvas, record->canvas_bytes, "a canvas");
    for (uint32_t i = 0; i < record->n && !status; i++) {
        struct fdl_record_image *image = &record->images[i];
        if (image->inside)
            image->image.out = memory->parts.data + image->at;
    }
    return status;
}

/* Pixels that another sample has made are this one's as well; those that this
 * one makes are made in their place. */
static void take_kept(const struct fdl_recorded_tools *tools,
                      struct fdl_record *record)
{
    struct fdl_stored_pixels **taken = tools->memory->taken;
    for (uint32_t i = 0; i < record->n; i++) {
        struct feedline_recorded_image *image = &record->images[i].image;
        tools->memory->is_made[i] = false;
        taken[i] = NULL;
        if (image->kept == 0)
            continue;
        taken[i] =
            fdl_pixel_store_take(tools->store, image->kept, image->out_bytes);
        tools->memory->is_made[i] = taken[i] != NULL;
        if (!taken[i])
            taken[i] = fdl_pixel_store_begin(tools->store, image->kept,
                                             image->out_bytes);
        if (taken[i])
            image->out = fdl_stored_pixels(taken[i]);
    }
}

static void give_back(const struct fdl_recorded_tools *tools, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (tools->memory->taken[i])
            fdl_pixel_store_give_back(tools->store, tools->memory->taken[i]);
    }
}

/* Images [first, first + n), as soon as they are made. */
static void keep(const struct fdl_recorded_tools *tools, uint32_t first,
                 uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++) {
        if (tools->memory->taken[i])
            fdl_pixel_store_add(tools->store, tools->memory->taken[i]);
    }
}

static struct fdl_canvas_source source_of(
    const struct feedline_canvas_part *part,
    const struct feedline_recorded_image *image)
{
    size_t pixel = (size_t)image->channels;
    size_t stride = (size_t)image->width * pixel;
    const uint8_t *pixels = image->out;
    return (struct fdl_canvas_source){
        .pixels = pixels + (size_t)part->y * stride + (size_t)part->x * pixel,
        .stride = stride,
        .width = part->width ? part->width : image->width,
        .height = part->height ? part->height : image->height};
}

static int32_t render_canvas(const struct fdl_recorded_tools *tools,
                             const struct fdl_record *record, uint32_t i,
                             struct fdl_render_cost *cost,
                             struct fdl_recorded_made *made)
{
    const struct feedline_recorded_image *image = &record->images[i].image;
    const struct feedline_canvas *canvas = image->canvas;
    struct fdl_canvas_source parts[FEEDLINE_CANVAS_PARTS_MAX];
    struct fdl_image_info info;
    struct fdl_render_cost one = {0};
    for (uint32_t k = 0; k < canvas->n_parts; k++) {
        const struct feedline_canvas_part *part = &canvas->parts[k];
        parts[k] = source_of(part, &record->images[part->image].image);
    }
    int32_t status = fdl_recorded_render_canvas(
        tools->decoder, image, parts, tools->memory->canvas.data, &info, &one);
    if (status < 0)
        return status;
    add_cost(cost, &one);
    add_made(made, &info, image);
    return FEEDLINE_OK;
}

void fdl_recorded_memory_fini(struct fdl_recorded_memory *memory)
{
    fdl_scratch_fini(&memory->parts);
    fdl_scratch_fini(&memory->canvas);
}

uint64_t fdl_recorded_memory_bytes(const struct fdl_recorded_memory *memory)
{
    return memory->parts.bytes + memory->canvas.bytes;
}

/* ---- All of it ----------------------------------------------------------- */

/* How many images from the i-th on have the same bytes. */
static uint32_t of_one_file(const struct fdl_recorded_tools *tools,
                            const struct fdl_record *record, uint32_t i)
{
    uint32_t n = 1;
    while (i + n < record->n && !tools->memory->is_made[i + n] &&
           record->images[i + n].bytes == record->images[i].bytes)
        n++;
    return n;
}

static bool is_jpeg(const struct fdl_record_image *from)
{
    return from->n_bytes > 1 && from->bytes[0] == 0xff &&
           from->bytes[1] == 0xd8;
}

/* Those that the JPEG index is of: of what is to be decoded the most, as a
 * small image beside a large one has little to gain. NULL: none. */
static const uint8_t *indexed_bytes(const struct fdl_recorded_tools *tools,
                                    const struct fdl_record *record)
{
    const struct fdl_record_image *most = NULL;
    for (uint32_t i = 0; i < record->n; i++) {
        const struct fdl_record_image *from = &record->images[i];
        if (tools->memory->is_made[i] || from->image.canvas || !is_jpeg(from))
            continue;
        if (!most || from->n_bytes > most->n_bytes)
            most = from;
    }
    return most ? most->bytes : NULL;
}

static int32_t render_all(const struct fdl_recorded_tools *tools,
                          const struct fdl_read *r,
                          struct fdl_render_cost *cost,
                          struct fdl_recorded_made *made)
{
    const struct fdl_record *record = r->record;
    struct fdl_recorded_tools others = *tools;
    char buf[FDL_RECORD_NAME_BYTES];
    uint32_t apart = 0; /* images up to here are made one by one */
    const uint8_t *indexed = indexed_bytes(tools, record);
    others.notes = NULL;
    for (uint32_t i = 0; i < record->n; i++) {
        const struct fdl_record_image *from = &record->images[i];
        if (tools->memory->is_made[i])
            continue;
        bool noted = from->bytes == indexed;
        const struct fdl_recorded_tools *own = noted ? tools : &others;
        bool canvas = from->image.canvas;
        uint32_t n = i < apart || canvas ? 1 : of_one_file(tools, record, i);
        apart = FDL_MAX(apart, i + n);
        if (n > 1 && render_shared(own, from, n, r->index, cost, made)) {
            keep(tools, i, n);
            i += n - 1;
            continue;
        }
        int32_t status = canvas ? render_canvas(tools, record, i, cost, made)
                                : render_one(own, from, r->index, cost, made);
        if (status < 0)
            return fdl_fail(status, "%s: %s",
                            fdl_record_name(&from->image, i, buf),
                            fdl_last_error());
        keep(tools, i, 1);
    }
    return FEEDLINE_OK;
}

int32_t fdl_worker_render_recorded(const struct fdl_recorded_tools *tools,
                                   const struct fdl_read *r,
                                   struct fdl_render_cost *cost,
                                   struct fdl_recorded_made *made)
{
    int32_t status = give_places(tools->memory, r->record);
    if (status < 0)
        return status;
    take_kept(tools, r->record);
    status = render_all(tools, r, cost, made);
    give_back(tools, r->record->n);
    return status;
}
