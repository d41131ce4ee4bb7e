/* SPDX-License-Identifier: Apache-2.0 */
/* Canvases of a record, and the images that are their parts. */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/recorded_image.h"
#include "loader/read/record.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define PIXELS_ALIGN 64u /* of what a part begins at */

uint64_t fdl_record_canvas_bytes(const struct feedline_recorded_image *image)
{
    const struct feedline_canvas *canvas = image->canvas;
    if (!canvas)
        return 0;
    return sizeof(*canvas) + canvas->n_parts * sizeof(*canvas->parts);
}

void fdl_record_copy_canvas(struct feedline_recorded_image *image, uint8_t **at)
{
    const struct feedline_canvas *from = image->canvas;
    if (!from)
        return;
    struct feedline_canvas *to = (void *)*at;
    size_t bytes = from->n_parts * sizeof(*from->parts);
    *to = *from;
    *at += sizeof(*to);
    if (bytes > 0)
        to->parts = memcpy(*at, from->parts, bytes);
    *at += bytes;
    image->canvas = to;
}

/* ---- What fits ----------------------------------------------------------- */

/* The rectangle of the part, which is inside of its image. */
static int32_t check_rectangle(const struct feedline_canvas_part *part,
                               const struct feedline_recorded_image *image)
{
    if (part->width == 0 && part->height == 0 && part->x == 0 && part->y == 0)
        return FEEDLINE_OK;
    int64_t right = (int64_t)part->x + part->width;
    int64_t bottom = (int64_t)part->y + part->height;
    if (part->x >= 0 && part->y >= 0 && part->width > 0 && part->height > 0 &&
        right <= image->width && bottom <= image->height)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "its rectangle, %" PRId32 "x%" PRId32 " at %" PRId32
                    ", %" PRId32 ", is not inside of an image of %" PRId32
                    "x%" PRId32,
                    part->width, part->height, part->x, part->y, image->width,
                    image->height);
}

static int32_t check_place(const struct feedline_canvas *canvas,
                           const struct feedline_canvas_part *part,
                           const struct feedline_recorded_image *image)
{
    int32_t status = check_rectangle(part, image);
    if (status < 0)
        return status;
    int32_t width = part->width ? part->width : image->width;
    int32_t height = part->height ? part->height : image->height;
    int64_t right = (int64_t)part->left + width;
    int64_t bottom = (int64_t)part->top + height;
    if (part->left < 0 || part->top < 0 || right > canvas->width ||
        bottom > canvas->height)
        return fdl_fail(FEEDLINE_EINVAL,
                        "it is %" PRId32 "x%" PRId32 " at %" PRId32 ", %" PRId32
                        ", which is not inside of a canvas of %" PRId32
                        "x%" PRId32,
                        width, height, part->left, part->top, canvas->width,
                        canvas->height);
    bool whole =
        width == canvas->width && height == canvas->height && !part->mask;
    if (canvas->how != FEEDLINE_CANVAS_PASTE && !whole)
        return fdl_fail(FEEDLINE_EINVAL,
                        "parts of a sum are as large as the canvas, and have "
                        "no mask");
    return FEEDLINE_OK;
}

/* own: the number of the image that has the canvas. */
static int32_t check_part(const struct fdl_record *record, uint32_t own,
                          const struct feedline_canvas_part *part)
{
    const struct feedline_canvas *canvas = record->images[own].image.canvas;
    if (part->image >= own)
        return fdl_fail(FEEDLINE_EINVAL,
                        "image %" PRIu32 " of the sample is not before this "
                        "one, which is %" PRIu32,
                        part->image, own);
    const struct feedline_recorded_image *image =
        &record->images[part->image].image;
    if (!fdl_recorded_is_bytes(image) || image->channels != canvas->channels)
        return fdl_fail(FEEDLINE_EINVAL,
                        "image %" PRIu32 " of the sample is not of bytes in "
                        "the order height, width, %" PRId32 " channels",
                        part->image, canvas->channels);
    return check_place(canvas, part, image);
}

static int32_t check_parts(const struct fdl_record *record, uint32_t own,
                           bool *is_part)
{
    const struct feedline_canvas *canvas = record->images[own].image.canvas;
    for (uint32_t k = 0; k < canvas->n_parts; k++) {
        int32_t status = check_part(record, own, &canvas->parts[k]);
        if (status < 0)
            return fdl_fail(
                status, "image %" PRIu32 ": part %" PRIu32 " of the canvas: %s",
                own + 1, k + 1, fdl_last_error());
        is_part[canvas->parts[k].image] = true;
    }
    return FEEDLINE_OK;
}

/* ---- Places -------------------------------------------------------------- */

static void place(struct fdl_record *record, struct fdl_record_image *image)
{
    image->inside = true;
    image->at = record->part_bytes;
    record->part_bytes +=
        (image->image.out_bytes + PIXELS_ALIGN - 1) & ~(PIXELS_ALIGN - 1ull);
}

static int32_t add(struct fdl_record *record, uint32_t i, bool is_part)
{
    char buf[FDL_RECORD_NAME_BYTES];
    struct fdl_record_image *image = &record->images[i];
    const struct feedline_canvas *canvas = image->image.canvas;
    uint64_t most = FEEDLINE_CANVAS_BYTES_MAX;
    if (!image->image.out && !is_part)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: out is NULL, and it is no part of a canvas",
                        fdl_record_name(&image->image, i, buf));
    if (image->image.kept != 0 && (image->image.out || image->image.pipeline))
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: kept is not 0, but it has an out or a pipeline",
                        fdl_record_name(&image->image, i, buf));
    if (!image->image.out)
        place(record, image);
    if (canvas)
        record->canvas_bytes =
            FDL_MAX(record->canvas_bytes, (uint64_t)canvas->width *
                                              (uint64_t)canvas->height *
                                              (uint64_t)canvas->channels);
    if (record->part_bytes > most || record->canvas_bytes > most)
        return fdl_fail(FEEDLINE_ERANGE,
                        "the parts of canvases, or a canvas, have more than "
                        "%" PRIu64 " bytes in a sample",
                        most);
    return FEEDLINE_OK;
}

int32_t fdl_record_place_parts(struct fdl_record *record)
{
    bool is_part[FEEDLINE_RECORDED_IMAGES_MAX] = {false};
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; i < record->n && status >= 0; i++) {
        if (record->images[i].image.canvas)
            status = check_parts(record, i, is_part);
    }
    for (uint32_t i = 0; i < record->n && status >= 0; i++)
        status = add(record, i, is_part[i]);
    return status;
}
