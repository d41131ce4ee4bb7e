/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every reader does with one file, so that all of them take the same files
 * and say the same about the others:
 *
 *     open -> which kind, how large -> room in the buffer -> bytes -> close
 *     take a shard that is open     -> room in the buffer -> bytes -> give back
 *
 * Any thread; r belongs to the caller.
 */
#ifndef FDL_LOADER_READER_FILE_H
#define FDL_LOADER_READER_FILE_H

#include "loader/read/pause.h"
#include "loader/read/window.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>

/* O_NONBLOCK: a FIFO without a writer must not hang the reader. */
#define FDL_FILE_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

/* How often something that may pass by itself is tried again while nothing
 * else could end it: about 0.3 s in all. */
#define FDL_FILE_TRIES 10

/* EMFILE or ENFILE: the limit of open files is reached. */
bool fdl_file_is_limit(int err);

/* Sets r->shard: its descriptor, or -1 if r's file is not open yet. */
int fdl_file_take(struct fdl_window *w, struct fdl_read *r);

/* A descriptor, or -errno. patiently: where there is none, waits until a file
 * is closed. While readers have some open, that will happen; while they have
 * none, nothing here can help, and tries are limited. The caller has none open.
 */
int fdl_file_open(struct fdl_window *w, const char *path);
int fdl_file_open_patiently(struct fdl_window *w, const char *path);

/* From use to unuse a file counts as read from. */
void fdl_file_use(struct fdl_window *w);
void fdl_file_unuse(struct fdl_window *w);

/* Closes a shard that nobody reads from; false: there is none. */
bool fdl_file_close_one(struct fdl_window *w);

/* "open: No such file or directory": r->status and r->reason. */
void fdl_file_fail(struct fdl_read *r, const char *step, int err);
void fdl_file_fail_read(struct fdl_read *r, uint64_t done, int err);

/* The end of the file came after `done` of r->size bytes. */
void fdl_file_fail_shrank(struct fdl_read *r, uint64_t done);

/* What to read next, with `done` bytes of the sample there: whole blocks where
 * the read is direct. */
struct fdl_piece {
    uint8_t *to;
    uint64_t bytes, offset; /* in the file */
};
struct fdl_piece fdl_file_piece(const struct fdl_read *r, uint64_t done);

/* The new `done` after n bytes of that piece; the old one: the file ends. */
uint64_t fdl_file_advance(const struct fdl_read *r, uint64_t done, uint64_t n);

/* Its bytes go past the page cache. */
static inline bool fdl_file_is_direct(const struct fdl_read *r)
{
    return r->align > 0 && !r->plain;
}

/* A read failed because it was direct: from now on fd goes through the page
 * cache, and the same piece is to be read again. */
bool fdl_file_refuses_direct(struct fdl_window *w, struct fdl_read *r, int fd,
                             int err);

/* fd was just opened: how many bytes r->source has there, and whether a read is
 * direct (r->plain: is not). On error r->status and r->reason are set. */
int32_t fdl_file_measure(struct fdl_window *w, struct fdl_read *r, int fd,
                         uint64_t *size);

/* fd was just opened or taken: sets r->size, makes room for it and counts it as
 * in flight. On error r->status and r->reason are set; fd stays open.
 * FDL_READ_NO_ROOM: to be called again. */
int32_t fdl_file_prepare(struct fdl_window *w, struct fdl_read *r, int fd);

/* r->status is set and fd no longer needed: what is to be closed, or -1. */
int fdl_file_leave(struct fdl_window *w, struct fdl_read *r, int fd);

/* The r->size bytes into r->buffer; done: as many are there. False: r->status
 * and r->reason are set. */
bool fdl_file_fill(struct fdl_window *w, struct fdl_read *r, int fd,
                   uint64_t done);

/* As many of them as come without waiting; r->cold: that is not all. */
uint64_t fdl_file_fill_cached(struct fdl_window *w, struct fdl_read *r, int fd);

/* All the rest for fd, or the error of its open, and leaves it: r->status is
 * set. waits: called first (NULL: is not)
 * if more is to be done than copying from the page cache. */
typedef void fdl_file_waits(void *user);
void fdl_file_read_from(struct fdl_window *w, struct fdl_read *r, int fd,
                        fdl_file_waits *waits, void *user);

/* All of it, on the calling thread: for readers without threads, and for
 * workers' replacement samples. Sets r->status. */
void fdl_read_file(struct fdl_window *w, struct fdl_read *r);

/* Read-ahead by order: has the kernel bring a part of a file into the page
 * cache, in the background; nothing for whole files. The shard may be open, or
 * is opened for it. Any thread; may wait for a disk that has much to do. Errors
 * are those of the read that follows. */
void fdl_read_ahead(struct fdl_window *w, const struct fdl_source *source);

#endif
