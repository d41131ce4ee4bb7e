/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a sample's images are made of; see recorded_read.h. */
#include "loader/read/recorded_read.h"

#include "base/status.h"
#include "decode/decoder.h"
#include "loader/read/reader_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files of a sample that stay open until they are read: an image and its mask,
 * the images of a pair. With more, the rest is opened twice. */
#define KEPT_OPEN 4

#define BYTES_ALIGN 64u

/* Bytes of an image that are to be read, unless one before it has the same. */
struct piece {
    int32_t fd;  /* -1: it is not open */
    uint64_t at; /* of its bytes, in the buffer */
    uint64_t bytes;
};

struct reading {
    struct fdl_window *window;
    struct fdl_read *read;
    struct fdl_record *record;
    uint32_t n_open;
    uint64_t end; /* of the buffer's contents */
    uint64_t sum; /* of encoded bytes, of memory as well */
    struct piece pieces[FEEDLINE_RECORDED_IMAGES_MAX];
};

static const struct feedline_recorded_image *image_of(const struct reading *rd,
                                                      uint32_t i)
{
    return &rd->record->images[i].image;
}

/* They are not in the record. */
static bool has_bytes_elsewhere(const struct reading *rd, uint32_t i)
{
    const struct feedline_recorded_image *image = image_of(rd, i);
    return image->path || (image->data && image->data_stays);
}

/* Its bytes are to be read. */
static bool is_read(const struct reading *rd, uint32_t i)
{
    return has_bytes_elsewhere(rd, i) && rd->record->images[i].same == i;
}

static int32_t fail_image(const struct reading *rd, uint32_t i, int32_t status,
                          const char *reason)
{
    char buf[FDL_RECORD_NAME_BYTES];
    return fdl_read_fail(rd->read, status, "%s: %s",
                         fdl_record_name(image_of(rd, i), i, buf), reason);
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
    for (uint32_t i = 0; i < rd->record->n && rd->n_open > 0; i++)
        close_piece(rd, &rd->pieces[i]);
}

/* The file is still the one that the program saw, so what was read of it so far
 * is, too. No program can set the time of a file's last change. */
static int32_t check_seen(const struct feedline_recorded_image *image,
                          struct fdl_read *part, int fd)
{
    struct stat now;
    if (image->seen_inode == 0)
        return FEEDLINE_OK;
    if (fstat(fd, &now) < 0) {
        fdl_file_fail(part, "fstat", errno);
        return part->status;
    }
    int64_t ctime_ns =
        (int64_t)now.st_ctim.tv_sec * 1000000000 + now.st_ctim.tv_nsec;
    if (now.st_ino == image->seen_inode &&
        (uint64_t)now.st_size == image->seen_bytes &&
        ctime_ns == image->seen_ctime_ns)
        return FEEDLINE_OK;
    return fdl_read_fail(part, FEEDLINE_EIO,
                         "is not the file any more that its steps are for");
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
    return fail_image(rd, i, part->status, part->reason);
}

/* ---- Sizes --------------------------------------------------------------- */

static int32_t measure_file(struct reading *rd, uint32_t i, struct piece *p)
{
    struct fdl_read part = part_of(image_of(rd, i));
    int32_t status = open_piece(rd, p, &part);
    if (status < 0)
        return fail_part(rd, i, &part);
    p->bytes = part.size;
    if (rd->n_open > KEPT_OPEN)
        close_piece(rd, p);
    return FEEDLINE_OK;
}

static int32_t count(struct reading *rd, uint32_t i, uint64_t bytes)
{
    uint64_t most = fdl_window_max_file_bytes(rd->window);
    char reason[FDL_READ_REASON_BYTES];
    if (bytes > most) {
        snprintf(reason, sizeof(reason),
                 "has %" PRIu64 " bytes; max_file_bytes allows %" PRIu64, bytes,
                 most);
        return fail_image(rd, i, FEEDLINE_ERANGE, reason);
    }
    if (bytes > most - rd->sum)
        return fdl_read_fail(rd->read, FEEDLINE_ERANGE,
                             "the images of the sample have more bytes "
                             "together than max_file_bytes=%" PRIu64 " allows",
                             most);
    rd->sum += bytes;
    return FEEDLINE_OK;
}

/* Places its bytes behind those before. */
static int32_t measure_image(struct reading *rd, uint32_t i)
{
    struct piece *p = &rd->pieces[i];
    bool own = rd->record->images[i].same == i;
    int32_t status = FEEDLINE_OK;
    if (!is_read(rd, i))
        return own ? count(rd, i, rd->record->images[i].n_bytes) : status;
    if (image_of(rd, i)->path)
        status = measure_file(rd, i, p);
    else
        p->bytes = (uint64_t)image_of(rd, i)->length;
    if (status >= 0)
        status = count(rd, i, p->bytes);
    p->at = (rd->end + BYTES_ALIGN - 1) / BYTES_ALIGN * BYTES_ALIGN;
    rd->end = p->at + p->bytes + FDL_ENCODED_PADDING;
    return status;
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

static int32_t fill_from_file(struct reading *rd, uint32_t i, uint8_t *to)
{
    struct piece *p = &rd->pieces[i];
    struct fdl_read part = part_of(image_of(rd, i));
    int32_t status = FEEDLINE_OK;
    if (p->fd < 0)
        status = open_again(rd, p, &part);
    if (status >= 0 && p->bytes > 0) {
        part.buffer = to;
        part.size = p->bytes;
        uint64_t done = fdl_file_fill_cached(rd->window, &part, p->fd);
        if (!fdl_file_fill(rd->window, &part, p->fd, done))
            status = part.status;
        rd->read->cold |= part.cold;
    }
    if (status >= 0)
        status = check_seen(image_of(rd, i), &part, p->fd);
    close_piece(rd, p);
    return status < 0 ? fail_part(rd, i, &part) : FEEDLINE_OK;
}

static int32_t fill_piece(struct reading *rd, uint32_t i)
{
    const struct piece *p = &rd->pieces[i];
    uint8_t *to = rd->read->buffer + p->at;
    int32_t status = FEEDLINE_OK;
    if (image_of(rd, i)->path)
        status = fill_from_file(rd, i, to);
    else
        memcpy(to, image_of(rd, i)->data, p->bytes);
    memset(to + p->bytes, 0, FDL_ENCODED_PADDING);
    return status;
}

static int32_t make_room(struct reading *rd)
{
    int32_t status = fdl_read_take_room(rd->window, rd->read, rd->end);
    if (status != FDL_READ_NO_ROOM)
        return status;
    close_all(rd);
    return fdl_read_await_room(rd->window, rd->read, rd->end);
}

static int32_t read_files(struct reading *rd)
{
    struct fdl_record *record = rd->record;
    struct fdl_read *r = rd->read;
    int32_t status = rd->end > 0 ? make_room(rd) : FEEDLINE_OK;
    if (status < 0)
        return status;
    r->size = rd->sum;
    fdl_read_send(rd->window, r);
    for (uint32_t i = 0; i < record->n && status >= 0; i++) {
        struct fdl_record_image *to = &record->images[i];
        const struct piece *p = &rd->pieces[to->same];
        if (is_read(rd, i))
            status = fill_piece(rd, i);
        if (has_bytes_elsewhere(rd, i)) {
            to->bytes = r->buffer + p->at;
            to->n_bytes = p->bytes;
        }
    }
    fdl_read_arrive(rd->window, r);
    return status;
}

int32_t fdl_recorded_read(struct fdl_window *w, struct fdl_read *r)
{
    struct reading rd = {.window = w, .read = r, .record = r->record};
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; i < rd.record->n; i++)
        rd.pieces[i].fd = -1;
    for (uint32_t i = 0; i < rd.record->n && status >= 0; i++)
        status = measure_image(&rd, i);
    if (status >= 0)
        status = read_files(&rd);
    close_all(&rd);
    if (status < 0)
        return status;
    r->verified = true; /* there is nothing to compare */
    r->status = FEEDLINE_OK;
    r->reason[0] = '\0';
    return FEEDLINE_OK;
}
