/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the record of a sample; see record.h. */
#include "loader/read/record.h"

#include "base/compiler.h"
#include "base/status.h"
#include "decode/decoder.h"
#include "decode/recorded_image.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the first version of an image. */
#define LEAST_BYTES offsetof(struct feedline_recorded_image, pipeline)

/* Programs that know another version have structs of another size: what is not
 * in LEAST_BYTES may not be there. */
static const struct feedline_recorded_image *image_at(
    const struct feedline_recorded_image *images, uint32_t i)
{
    const uint8_t *at = (const uint8_t *)images;
    return (const void *)(at + (size_t)i * images->struct_size);
}

/* As this version knows it. */
static struct feedline_recorded_image known(
    const struct feedline_recorded_image *images, uint32_t i)
{
    struct feedline_recorded_image image = {0};
    uint32_t bytes = FDL_MIN(images->struct_size, (uint32_t)sizeof(image));
    memcpy(&image, image_at(images, i), bytes);
    image.struct_size = sizeof(image);
    return image;
}

const char *fdl_record_name(const struct feedline_recorded_image *image,
                            uint32_t i, char buf[FDL_RECORD_NAME_BYTES])
{
    if (!image->path) {
        snprintf(buf, FDL_RECORD_NAME_BYTES, "image %" PRIu32, i + 1);
        return buf;
    }
    size_t n = strlen(image->path), most = FDL_RECORD_NAME_BYTES - 4;
    if (n < FDL_RECORD_NAME_BYTES)
        return image->path;
    snprintf(buf, FDL_RECORD_NAME_BYTES, "...%s", image->path + n - most);
    return buf;
}

/* ---- Checks -------------------------------------------------------------- */

static int32_t check_bytes(const struct feedline_recorded_image *image)
{
    if (image->canvas && (image->path || image->data))
        return fdl_fail(FEEDLINE_EINVAL,
                        "it has a canvas, and a path or data as well");
    if (image->canvas)
        return FEEDLINE_OK;
    if (!image->path && !image->data)
        return fdl_fail(FEEDLINE_EINVAL, "path and data are NULL");
    if (!image->path && image->length < 0)
        return fdl_fail(FEEDLINE_EINVAL, "length of data is %" PRId64,
                        image->length);
    if (image->length < -1)
        return fdl_fail(FEEDLINE_EINVAL,
                        "length is %" PRId64 "; -1 is to the end of the file",
                        image->length);
    uint64_t length = image->length < 0 ? 0 : (uint64_t)image->length;
    if (image->path &&
        (image->offset > INT64_MAX || length > INT64_MAX - image->offset))
        return fdl_fail(FEEDLINE_ERANGE,
                        "offset %" PRIu64 " and length %" PRId64
                        " are beyond the end of any file",
                        image->offset, image->length);
    return FEEDLINE_OK;
}

static int32_t check_image(const struct feedline_recorded_image *images,
                           uint32_t i)
{
    const struct feedline_recorded_image *image = image_at(images, i);
    if (image->struct_size != images->struct_size)
        return fdl_fail(FEEDLINE_EINVAL,
                        "struct_size is %" PRIu32 ", but %" PRIu32
                        " in the first image",
                        image->struct_size, images->struct_size);
    struct feedline_recorded_image whole = known(images, i);
    int32_t status = fdl_recorded_check(&whole);
    return status < 0 ? status : check_bytes(&whole);
}

static int32_t check(const struct feedline_recorded_image *images, uint32_t n)
{
    char buf[FDL_RECORD_NAME_BYTES];
    if (n > FEEDLINE_RECORDED_IMAGES_MAX)
        return fdl_fail(FEEDLINE_ERANGE,
                        "%" PRIu32 " images; a sample has %d at most", n,
                        FEEDLINE_RECORDED_IMAGES_MAX);
    if (n > 0 && !images)
        return fdl_fail(FEEDLINE_EINVAL, "images is NULL");
    if (n > 0 && (images->struct_size < LEAST_BYTES ||
                  images->struct_size % _Alignof(struct fdl_record_image)))
        return fdl_fail(FEEDLINE_EINVAL,
                        "struct_size of the first image is %" PRIu32
                        "; set it to sizeof in each of them",
                        images->struct_size);
    for (uint32_t i = 0; i < n; i++) {
        int32_t status = check_image(images, i);
        if (status < 0)
            return fdl_fail(status, "%s: %s",
                            fdl_record_name(image_at(images, i), i, buf),
                            fdl_last_error());
    }
    return FEEDLINE_OK;
}

/* ---- Copies -------------------------------------------------------------- */

static bool stays(const struct feedline_recorded_image *image)
{
    bool known = image->struct_size >
                 offsetof(struct feedline_recorded_image, data_stays);
    return known && image->data_stays;
}

static bool have_the_same(const struct feedline_recorded_image *a,
                          const struct feedline_recorded_image *b)
{
    if (a->length != b->length || !a->path != !b->path || !(a->path || a->data))
        return false; /* a canvas has no bytes */
    if (!a->path)
        return a->data == b->data && stays(a) == stays(b);
    return a->offset == b->offset && a->seen_inode == b->seen_inode &&
           a->seen_bytes == b->seen_bytes &&
           a->seen_ctime_ns == b->seen_ctime_ns &&
           (a->path == b->path || strcmp(a->path, b->path) == 0);
}

/* Of checked images. */
static uint32_t first_with_the_same(
    const struct feedline_recorded_image *images, uint32_t i)
{
    uint32_t first = 0;
    while (first < i &&
           !have_the_same(image_at(images, first), image_at(images, i)))
        first++;
    return first;
}

static uint64_t path_bytes(const struct feedline_recorded_image *image)
{
    return image->path ? strlen(image->path) + 1 : 0;
}

/* Bytes that image i brings along; none if one before it has the same. */
static uint64_t data_bytes(const struct feedline_recorded_image *images,
                           uint32_t i)
{
    const struct feedline_recorded_image *image = image_at(images, i);
    bool own = image->data && !image->path && !stays(image) &&
               first_with_the_same(images, i) == i;
    return own ? (uint64_t)image->length + FDL_ENCODED_PADDING : 0;
}

/* Of the whole record; ERANGE. */
static int32_t measure(const struct feedline_recorded_image *images, uint32_t n,
                       uint64_t most, uint64_t *out)
{
    uint64_t sum = 0;
    *out = sizeof(struct fdl_record) +
           n * (uint64_t)sizeof(struct fdl_record_image);
    for (uint32_t i = 0; i < n; i++) {
        const struct feedline_recorded_image *image = image_at(images, i);
        uint64_t own = data_bytes(images, i);
        uint64_t bytes = own ? (uint64_t)image->length : 0;
        if (bytes > most - sum)
            return fdl_fail(FEEDLINE_ERANGE,
                            "images in memory have more bytes together than "
                            "max_file_bytes=%" PRIu64 " allows",
                            most);
        sum += bytes;
        struct feedline_recorded_image whole = known(images, i);
        *out += image->n_steps * (uint64_t)sizeof(*image->steps) + own +
                path_bytes(image) + fdl_record_canvas_bytes(&whole);
    }
    return FEEDLINE_OK;
}

static void *put(uint8_t **at, const void *from, size_t bytes)
{
    void *to = *at;
    memcpy(to, from, bytes);
    *at += bytes;
    return to;
}

/* The first image that has them brings them along. */
static void copy_data(struct fdl_record *record, uint32_t i, uint8_t **at)
{
    struct fdl_record_image *to = &record->images[i];
    const struct fdl_record_image *first = &record->images[to->same];
    if (to->image.path || to->image.canvas || to->image.data_stays)
        return;
    to->n_bytes = (uint64_t)to->image.length;
    to->bytes = first->bytes;
    if (to != first)
        return;
    to->bytes = put(at, to->image.data, to->n_bytes);
    memset(*at, 0, FDL_ENCODED_PADDING);
    *at += FDL_ENCODED_PADDING;
}

/* What needs no alignment comes last. */
static void fill(struct fdl_record *record,
                 const struct feedline_recorded_image *images, uint32_t n)
{
    uint8_t *at = (uint8_t *)&record->images[n];
    record->n = n;
    record->part_bytes = record->canvas_bytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct fdl_record_image *to = &record->images[i];
        *to = (struct fdl_record_image){.image = known(images, i),
                                        .same = first_with_the_same(images, i)};
        if (to->image.n_steps > 0)
            to->image.steps = put(&at, to->image.steps,
                                  to->image.n_steps * sizeof(*to->image.steps));
        fdl_record_copy_canvas(&to->image, &at);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct feedline_recorded_image *image = &record->images[i].image;
        copy_data(record, i, &at);
        if (image->path)
            image->path = put(&at, image->path, path_bytes(image));
    }
}

int32_t fdl_record_make(const struct feedline_recorded_image *images,
                        uint32_t n, uint64_t most, struct fdl_record **out)
{
    uint64_t bytes = 0;
    int32_t status = check(images, n);
    if (status >= 0)
        status = measure(images, n, most, &bytes);
    if (status < 0)
        return status;
    struct fdl_record *record = bytes <= SIZE_MAX ? malloc(bytes) : NULL;
    if (!record)
        return fdl_fail_memory(bytes, "the record of a sample");
    fill(record, images, n);
    status = fdl_record_place_parts(record);
    if (status < 0)
        free(record);
    else
        *out = record;
    return status;
}
