/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a sample's images are made of; see recorded_read.h. */
#include "loader/read/recorded_read.h"

#include "base/status.h"
#include "decode/decoder.h"
#include "decode/recorded_image.h"
#include "loader/read/reader_file.h"
#include "loader/read/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Files of a sample that stay open until they are read: an image and its mask,
 * the images of a pair. With more, the rest is opened twice. */
#define KEPT_OPEN 4

#define BYTES_ALIGN 64u

/* The bytes of an image. */
struct piece {
    uint32_t same; /* the first image that has the same bytes; it is read */
    int32_t fd;    /* -1: it is not open */
    uint64_t at;   /* in the buffer */
    uint64_t bytes;
};

struct reading {
    struct fdl_window *window;
    struct fdl_read *read;
    const struct feedline_recorded_image *images;
    uint32_t n;
    uint32_t n_open;
    uint64_t end; /* of the record so far */
    uint64_t sum; /* of encoded bytes */
    struct piece pieces[FEEDLINE_RECORDED_IMAGES_MAX];
};

/* Programs that know a later version have larger structs. */
static const struct feedline_recorded_image *image_at(
    const struct feedline_recorded_image *images, uint32_t i)
{
    const uint8_t *at = (const uint8_t *)images;
    return (const void *)(at + (size_t)i * images->struct_size);
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

/* The error line becomes the read's reason. */
static int32_t fail_image(struct fdl_read *r,
                          const struct feedline_recorded_image *image,
                          uint32_t i, int32_t status, const char *reason)
{
    char buf[FDL_RECORD_NAME_BYTES], text[FDL_READ_REASON_BYTES];
    snprintf(text, sizeof(text), "%s", reason);
    return fdl_read_fail(r, status, "%s: %s", fdl_record_name(image, i, buf),
                         text);
}

/* ---- Checks -------------------------------------------------------------- */

static int32_t check_bytes(const struct feedline_recorded_image *image)
{
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
    int32_t status = fdl_recorded_check(image);
    return status < 0 ? status : check_bytes(image);
}

int32_t fdl_recorded_read_check(struct fdl_read *r,
                                const struct feedline_recorded_image *images,
                                uint32_t n)
{
    if (n > FEEDLINE_RECORDED_IMAGES_MAX)
        return fdl_read_fail(r, FEEDLINE_ERANGE,
                             "%" PRIu32 " images; a sample has %d at most", n,
                             FEEDLINE_RECORDED_IMAGES_MAX);
    if (n > 0 && !images)
        return fdl_read_fail(r, FEEDLINE_EINVAL, "images is NULL");
    if (n > 0 && (images->struct_size < sizeof(*images) ||
                  images->struct_size % _Alignof(struct fdl_record_image)))
        return fdl_read_fail(r, FEEDLINE_EINVAL,
                             "struct_size of the first image is %" PRIu32
                             "; set it to sizeof in each of them",
                             images->struct_size);
    for (uint32_t i = 0; i < n; i++) {
        int32_t status = check_image(images, i);
        if (status < 0) {
            fail_image(r, image_at(images, i), i, status, fdl_last_error());
            fdl_clear_error();
            return status;
        }
    }
    return FEEDLINE_OK;
}

/* ---- Files --------------------------------------------------------------- */

/* As a sample of its own, of which readers know how to read it. */
static struct fdl_read part_of(const struct feedline_recorded_image *image)
{
    return (struct fdl_read){.source = {.path = image->path,
                                        .file = FDL_OWN_FILE,
                                        .offset = image->offset,
                                        .length = image->length,
                                        .image_length = -1},
                             .plain = true};
}

static void close_piece(struct reading *rd, struct piece *p)
{
    if (p->fd < 0)
        return;
    close(p->fd);
    p->fd = -1;
    rd->n_open--;
    fdl_file_unuse(rd->window);
}

static void close_all(struct reading *rd)
{
    for (uint32_t i = 0; i < rd->n && rd->n_open > 0; i++)
        close_piece(rd, &rd->pieces[i]);
}

/* Opens the file and sets part->size. */
static int32_t open_piece(struct reading *rd, struct piece *p,
                          struct fdl_read *part)
{
    const char *path = part->source.path;
    int fd = fdl_file_open(rd->window, path);
    if (fd < 0 && fdl_file_is_limit(-fd)) {
        close_all(rd);
        fd = fdl_file_open_patiently(rd->window, path);
    }
    if (fd < 0) {
        fdl_file_fail(part, "open", -fd);
        return part->status;
    }
    fdl_file_use(rd->window);
    p->fd = fd;
    rd->n_open++;
    return fdl_file_measure(rd->window, part, fd, &part->size);
}

static int32_t fail_part(const struct reading *rd, uint32_t i,
                         const struct fdl_read *part)
{
    return fail_image(rd->read, image_at(rd->images, i), i, part->status,
                      part->reason);
}

/* ---- Sizes --------------------------------------------------------------- */

static bool have_the_same(const struct feedline_recorded_image *a,
                          const struct feedline_recorded_image *b)
{
    if (a->length != b->length || !a->path != !b->path)
        return false;
    if (!a->path)
        return a->data == b->data;
    return a->offset == b->offset &&
           (a->path == b->path || strcmp(a->path, b->path) == 0);
}

static uint32_t first_with_the_same(const struct reading *rd, uint32_t i)
{
    const struct feedline_recorded_image *image = image_at(rd->images, i);
    uint32_t first = 0;
    while (first < i && (rd->pieces[first].same != first ||
                         !have_the_same(image_at(rd->images, first), image)))
        first++;
    return first;
}

static int32_t measure_file(struct reading *rd, uint32_t i, struct piece *p)
{
    struct fdl_read part = part_of(image_at(rd->images, i));
    int32_t status = open_piece(rd, p, &part);
    if (status < 0)
        return fail_part(rd, i, &part);
    p->bytes = part.size;
    if (rd->n_open > KEPT_OPEN)
        close_piece(rd, p);
    return FEEDLINE_OK;
}

/* Places the bytes of image i behind those before. */
static int32_t place_bytes(struct reading *rd, uint32_t i, struct piece *p)
{
    uint64_t most = fdl_window_max_file_bytes(rd->window);
    char reason[FDL_READ_REASON_BYTES];
    if (p->bytes > most) {
        snprintf(reason, sizeof(reason),
                 "has %" PRIu64 " bytes; max_file_bytes allows %" PRIu64,
                 p->bytes, most);
        return fail_image(rd->read, image_at(rd->images, i), i, FEEDLINE_ERANGE,
                          reason);
    }
    if (p->bytes > most - rd->sum)
        return fdl_read_fail(rd->read, FEEDLINE_ERANGE,
                             "the images of the sample have more bytes "
                             "together than max_file_bytes=%" PRIu64 " allows",
                             most);
    rd->sum += p->bytes;
    p->at = (rd->end + BYTES_ALIGN - 1) / BYTES_ALIGN * BYTES_ALIGN;
    rd->end = p->at + p->bytes + FDL_ENCODED_PADDING;
    return FEEDLINE_OK;
}

static uint64_t path_bytes(const struct feedline_recorded_image *image)
{
    return image->path ? strlen(image->path) + 1 : 0;
}

static int32_t measure(struct reading *rd)
{
    int32_t status = FEEDLINE_OK;
    rd->end = sizeof(struct fdl_record) +
              rd->n * (uint64_t)sizeof(struct fdl_record_image);
    for (uint32_t i = 0; i < rd->n; i++) {
        const struct feedline_recorded_image *image = image_at(rd->images, i);
        rd->end += image->n_steps * (uint64_t)sizeof(*image->steps);
        rd->end += path_bytes(image);
        rd->pieces[i] = (struct piece){.same = i, .fd = -1};
    }
    for (uint32_t i = 0; i < rd->n && status >= 0; i++) {
        const struct feedline_recorded_image *image = image_at(rd->images, i);
        struct piece *p = &rd->pieces[i];
        p->same = first_with_the_same(rd, i);
        if (p->same < i)
            continue;
        if (image->path)
            status = measure_file(rd, i, p);
        else
            p->bytes = (uint64_t)image->length;
        if (status >= 0)
            status = place_bytes(rd, i, p);
    }
    return status;
}

/* ---- The record ---------------------------------------------------------- */

static void *put(uint8_t **at, const void *from, size_t bytes)
{
    void *to = *at;
    memcpy(to, from, bytes);
    *at += bytes;
    return to;
}

/* All but the encoded bytes. Paths are last, as they need no alignment. */
static void write_record(const struct reading *rd)
{
    uint8_t *buffer = rd->read->buffer;
    struct fdl_record *record = (void *)buffer;
    uint8_t *at = (uint8_t *)&record->images[rd->n];
    record->n = rd->n;
    for (uint32_t i = 0; i < rd->n; i++) {
        const struct piece *p = &rd->pieces[rd->pieces[i].same];
        struct fdl_record_image *to = &record->images[i];
        to->image = *image_at(rd->images, i);
        to->image.struct_size = sizeof(to->image);
        to->bytes = buffer + p->at;
        to->n_bytes = p->bytes;
        if (to->image.n_steps > 0)
            to->image.steps = put(&at, to->image.steps,
                                  to->image.n_steps * sizeof(*to->image.steps));
    }
    for (uint32_t i = 0; i < rd->n; i++) {
        struct feedline_recorded_image *image = &record->images[i].image;
        if (image->path)
            image->path = put(&at, image->path, path_bytes(image));
    }
}

/* ---- Bytes --------------------------------------------------------------- */

static int32_t open_again(struct reading *rd, struct piece *p,
                          struct fdl_read *part)
{
    int32_t status = open_piece(rd, p, part);
    if (status < 0 || part->size == p->bytes)
        return status;
    return fdl_read_fail(part, FEEDLINE_EIO,
                         "changed while it was read: %" PRIu64
                         " bytes, and then %" PRIu64,
                         p->bytes, part->size);
}

static int32_t fill_from_file(struct reading *rd, uint32_t i, struct piece *p)
{
    struct fdl_read part = part_of(image_at(rd->images, i));
    int32_t status = FEEDLINE_OK;
    if (p->fd < 0)
        status = open_again(rd, p, &part);
    if (status >= 0 && p->bytes > 0) {
        part.buffer = rd->read->buffer + p->at;
        part.size = p->bytes;
        uint64_t done = fdl_file_fill_cached(rd->window, &part, p->fd);
        if (!fdl_file_fill(rd->window, &part, p->fd, done))
            status = part.status;
        rd->read->cold |= part.cold;
    }
    close_piece(rd, p);
    return status < 0 ? fail_part(rd, i, &part) : FEEDLINE_OK;
}

static int32_t fill(struct reading *rd)
{
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; i < rd->n && status >= 0; i++) {
        const struct feedline_recorded_image *image = image_at(rd->images, i);
        struct piece *p = &rd->pieces[i];
        if (p->same < i)
            continue;
        uint8_t *to = rd->read->buffer + p->at;
        if (image->path)
            status = fill_from_file(rd, i, p);
        else if (p->bytes > 0)
            memcpy(to, image->data, p->bytes);
        memset(to + p->bytes, 0, FDL_ENCODED_PADDING);
    }
    return status;
}

static int32_t read_all(struct reading *rd)
{
    struct fdl_read *r = rd->read;
    int32_t status = measure(rd);
    if (status >= 0)
        status = fdl_read_take_room(rd->window, r, rd->end);
    if (status == FDL_READ_NO_ROOM) {
        close_all(rd);
        status = fdl_read_await_room(rd->window, r, rd->end);
    }
    if (status < 0)
        return status;
    write_record(rd);
    r->head = 0;
    r->size = rd->sum;
    fdl_read_send(rd->window, r);
    status = fill(rd);
    fdl_read_arrive(rd->window, r);
    return status;
}

int32_t fdl_recorded_read(struct fdl_window *w, struct fdl_read *r,
                          const struct feedline_recorded_image *images,
                          uint32_t n)
{
    struct reading rd = {.window = w, .read = r, .images = images, .n = n};
    int32_t status = read_all(&rd);
    close_all(&rd);
    if (status < 0)
        return status;
    r->data = r->buffer;
    r->readable = rd.end;
    r->verified = true; /* there is nothing else to compare */
    r->status = FEEDLINE_OK;
    r->reason[0] = '\0';
    return FEEDLINE_OK;
}
