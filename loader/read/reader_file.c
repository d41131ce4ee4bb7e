/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The size comes from fstat on the open file, not from the data set: files
 * change between listing and reading, and on an open descriptor the answer is
 * in memory (a fraction of a microsecond). What fstat said is what is read: a
 * file that grows meanwhile is delivered as it was, one that shrinks is an
 * error, because half an image is damage that decoders may not notice. A shard
 * that stays open is asked once; after a failed read it is opened anew.
 */
#include "loader/read/reader_file.h"

#include "loader/read/remote_read.h"
#include "loader/read/user_read.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define AHEAD_STEP (128 * 1024) /* the kernel may cut what is longer */

bool fdl_file_is_limit(int err)
{
    return err == EMFILE || err == ENFILE;
}

int fdl_file_take(struct fdl_window *w, struct fdl_read *r)
{
    const struct fdl_keep *keep = fdl_window_keep(w);
    r->kept = fdl_keep_begins(keep, r->source.path, r->source.offset);
    r->shard =
        fdl_shard_take(fdl_window_shards(w), fdl_window_shard_place(w, r));
    r->align = r->shard ? r->shard->align : 0;
    r->head = 0;
    r->plain = false;
    return r->shard ? r->shard->fd : -1;
}

bool fdl_file_close_one(struct fdl_window *w)
{
    int fd = fdl_shard_drop(fdl_window_shards(w));
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int fdl_file_open(struct fdl_window *w, const char *path)
{
    for (;;) {
        int fd = open(path, FDL_FILE_FLAGS);
        int err = errno;
        if (fd >= 0)
            return fd;
        if (err != EINTR && !(fdl_file_is_limit(err) && fdl_file_close_one(w)))
            return -err;
    }
}

int fdl_file_open_patiently(struct fdl_window *w, const char *path)
{
    struct fdl_files_in_use *files = fdl_window_files(w);
    int fd = fdl_file_open(w, path);
    for (uint32_t tries = 0;
         fd < 0 && fdl_file_is_limit(-fd) && tries < FDL_FILE_TRIES;) {
        uint32_t key = fdl_event_prepare(&files->fewer);
        fd = fdl_file_open(w, path);
        if (fd >= 0 || !fdl_file_is_limit(-fd)) {
            fdl_event_cancel(&files->fewer);
            break;
        }
        fdl_event_wait(&files->fewer, key, fdl_file_pause_ns(tries));
        /* Relaxed: one try more or less. */
        if (atomic_load_explicit(&files->n, memory_order_relaxed) == 0)
            tries++;
    }
    return fd;
}

void fdl_file_use(struct fdl_window *w)
{
    atomic_fetch_add_explicit(&fdl_window_files(w)->n, 1, memory_order_relaxed);
}

void fdl_file_unuse(struct fdl_window *w)
{
    struct fdl_files_in_use *files = fdl_window_files(w);
    atomic_fetch_sub_explicit(&files->n, 1, memory_order_relaxed);
    fdl_event_notify(&files->fewer, 1);
}

static int32_t status_of(int err)
{
    switch (err) {
    case ENOENT:
    case ENOTDIR:
        return FEEDLINE_ENOENT;
    case ENOMEM:
        return FEEDLINE_ENOMEM;
    default:
        return FEEDLINE_EIO;
    }
}

void fdl_file_fail(struct fdl_read *r, const char *step, int err)
{
    fdl_read_fail(r, status_of(err), "%s: %s%s", step, strerror(err),
                  err == EMFILE ? "; raise the limit (ulimit -n)" : "");
}

void fdl_file_fail_read(struct fdl_read *r, uint64_t done, int err)
{
    fdl_read_fail(r, status_of(err), "read at %" PRIu64 ": %s",
                  r->source.offset + done, strerror(err));
}

void fdl_file_fail_shrank(struct fdl_read *r, uint64_t done)
{
    uint64_t offset = r->source.offset;
    if (offset)
        fdl_read_fail(r, FEEDLINE_EIO,
                      "file shrank while it was read: expected %" PRIu64
                      " bytes at offset %" PRIu64 ", got %" PRIu64,
                      r->size, offset, done);
    else
        fdl_read_fail(r, FEEDLINE_EIO,
                      "file shrank while it was read: expected %" PRIu64
                      " bytes, got %" PRIu64,
                      r->size, done);
}

static const char *kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "a directory";
    case S_IFIFO:
        return "a FIFO";
    case S_IFCHR:
        return "a character device";
    case S_IFBLK:
        return "a block device";
    default:
        return "neither file nor directory";
    }
}

/* How many bytes the sample has in a file of `all` bytes. */
static int32_t measure(struct fdl_read *r, uint64_t all, uint64_t *size)
{
    const struct fdl_source *s = &r->source;
    int64_t length = r->mate ? (int64_t)r->span : s->length;
    if (s->offset > all)
        return fdl_read_fail(r, FEEDLINE_EIO,
                             "offset %" PRIu64 " is past the end of the file, "
                             "which has %" PRIu64 " bytes",
                             s->offset, all);
    uint64_t rest = all - s->offset;
    if (length >= 0 && (uint64_t)length > rest)
        return fdl_read_fail(r, FEEDLINE_EIO,
                             "expected %" PRId64 " bytes at offset %" PRIu64
                             ", got %" PRIu64 ", which is all there is",
                             length, s->offset, rest);
    *size = length >= 0 ? (uint64_t)length : rest;
    return FEEDLINE_OK;
}

/* Local file systems send reads on the thread that asks for them, which is
 * billed; they can also read without blocking. Others, and kernels and
 * sandboxes without accounts, let helpers do it, or do not say. */
static void ask_storage_count(struct fdl_window *w, const struct fdl_read *r,
                              int fd)
{
    char byte;
    struct iovec one = {&byte, 1};
    if (fdl_window_storage_count(w) != FDL_STORAGE_UNASKED)
        return;
    bool counted =
        access("/proc/self/io", F_OK) == 0 &&
        (preadv2(fd, &one, 1, (off_t)r->source.offset, RWF_NOWAIT) >= 0 ||
         errno == EAGAIN);
    fdl_window_set_storage_count(w, counted ? FDL_STORAGE_COUNTED
                                            : FDL_STORAGE_UNKNOWN);
}

/* Sets r->file_bytes. */
static int32_t inspect(struct fdl_window *w, struct fdl_read *r, int fd)
{
    const struct fdl_keep *keep = fdl_window_keep(w);
    struct stat st;
    if (fstat(fd, &st) != 0) {
        fdl_file_fail(r, "fstat", errno);
        return r->status;
    }
    if (!S_ISREG(st.st_mode))
        return fdl_read_fail(r, FEEDLINE_EIO, "not a regular file: it is %s",
                             kind_of(st.st_mode));
    /* Not for the sake of plain pread: io_uring answers EAGAIN for ever on a
     * non-blocking file whose file system cannot read without blocking. */
    ask_storage_count(w, r, fd);
    if (!r->plain && (!keep->drops || !r->kept))
        r->align =
            fdl_direct_open(fdl_window_direct(w), fd, &st, r->source.path);
    if (!r->align)
        fcntl(fd, F_SETFL, 0);
    if (!r->align && r->source.file != FDL_OWN_FILE && fdl_window_is_random(w))
        posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    r->file_bytes = (uint64_t)st.st_size;
    return FEEDLINE_OK;
}

int32_t fdl_file_measure(struct fdl_window *w, struct fdl_read *r, int fd,
                         uint64_t *size)
{
    int32_t status = r->shard ? FEEDLINE_OK : inspect(w, r, fd);
    return status < 0
               ? status
               : measure(r, r->shard ? r->shard->size : r->file_bytes, size);
}

int32_t fdl_file_prepare(struct fdl_window *w, struct fdl_read *r, int fd)
{
    uint64_t size = 0;
    int32_t status = fdl_file_measure(w, r, fd, &size);
    if (status == FEEDLINE_OK)
        status = fdl_read_reserve(w, r, size);
    if (status == FDL_READ_NO_ROOM && r->mate) /* one by one there may be */
        status = fdl_read_fail(r, FEEDLINE_ENOMEM, "no memory for neighbours");
    if (status == FEEDLINE_OK) {
        r->size = size;
        r->head = (uint32_t)(r->source.offset % FDL_MAX(r->align, 1u));
        fdl_read_send(w, r);
    }
    return status;
}

struct fdl_piece fdl_file_piece(const struct fdl_read *r, uint64_t done)
{
    uint64_t align = FDL_MAX(r->align, 1u);
    uint64_t from = r->head + done, to = r->head + r->size;
    from -= from % align;
    to = (to + align - 1) / align * align;
    return (struct fdl_piece){r->buffer + from, to - from,
                              r->source.offset - r->head + from};
}

uint64_t fdl_file_advance(const struct fdl_read *r, uint64_t done, uint64_t n)
{
    struct fdl_piece piece = fdl_file_piece(r, done);
    uint64_t end = (uint64_t)(piece.to - r->buffer) + n; /* in the buffer */
    if (end <= r->head + done)
        return done;
    return FDL_MIN(end - r->head, r->size);
}

bool fdl_file_refuses_direct(struct fdl_window *w, struct fdl_read *r, int fd,
                             int err)
{
    if (!r->align || r->plain || (err != EINVAL && err != EOPNOTSUPP))
        return false;
    r->plain = true;
    fdl_direct_close(fdl_window_direct(w), fd, r->source.path, err);
    return true;
}

/* Where the kernel does not tell what storage delivered, it cannot read without
 * waiting either. */
uint64_t fdl_file_fill_cached(struct fdl_window *w, struct fdl_read *r, int fd)
{
    struct fdl_piece piece = fdl_file_piece(r, 0);
    struct iovec to = {piece.to, (size_t)piece.bytes};
    ssize_t n = 0;
    if (!fdl_file_is_direct(r)) {
        if (fdl_window_storage_count(w) != FDL_STORAGE_COUNTED)
            return 0;
        n = preadv2(fd, &to, 1, (off_t)piece.offset, RWF_NOWAIT);
    }
    uint64_t done = n > 0 ? fdl_file_advance(r, 0, (uint64_t)n) : 0;
    r->cold = done < r->size;
    return done;
}

bool fdl_file_fill(struct fdl_window *w, struct fdl_read *r, int fd,
                   uint64_t done)
{
    uint32_t tries = 0;
    while (done < r->size) {
        struct fdl_piece piece = fdl_file_piece(r, done);
        ssize_t n =
            pread(fd, piece.to, (size_t)piece.bytes, (off_t)piece.offset);
        int err = errno;
        if (n >= 0) {
            uint64_t before = done;
            done = fdl_file_advance(r, done, (uint64_t)n);
            tries = 0;
            if (done > before)
                continue;
            fdl_file_fail_shrank(r, done);
            return false;
        }
        if (fdl_file_refuses_direct(w, r, fd, err))
            continue;
        if (err == EAGAIN && tries < FDL_FILE_TRIES) {
            fdl_file_pause(tries++);
        } else if (err != EINTR) {
            fdl_file_fail_read(r, done, err);
            return false;
        }
    }
    return true;
}

/* Waits until others have given back what they hold. */
static int32_t prepare_patiently(struct fdl_window *w, struct fdl_read *r,
                                 int fd, int32_t status)
{
    struct fdl_event *room = fdl_window_room(w);
    while (status == FDL_READ_NO_ROOM) {
        uint32_t key = fdl_event_prepare(room);
        status = fdl_file_prepare(w, r, fd);
        if (status == FDL_READ_NO_ROOM && fdl_window_is_closed(w))
            status = fdl_read_fail(r, FEEDLINE_ENOMEM, FDL_READ_STOPS);
        if (status == FDL_READ_NO_ROOM)
            fdl_event_wait(room, key, -1);
        else
            fdl_event_cancel(room);
    }
    return status;
}

int fdl_file_leave(struct fdl_window *w, struct fdl_read *r, int fd)
{
    struct fdl_shard_files *s = fdl_window_shards(w);
    bool good = r->status == FEEDLINE_OK;
    if (good && !fdl_file_is_direct(r))
        fdl_keep_drop(fdl_window_keep(w), fd, r->source.path, r->source.offset,
                      r->mate ? r->span : r->size);
    if (r->shard)
        return fdl_shard_give(s, r->shard,
                              good || r->status == FEEDLINE_ENOMEM);
    const struct fdl_open_shard shard = {.fd = fd,
                                         .file = fdl_window_shard_place(w, r),
                                         .size = r->file_bytes,
                                         .align = r->align};
    return good ? fdl_shard_keep(s, &shard) : fd;
}

void fdl_file_read_from(struct fdl_window *w, struct fdl_read *r, int fd,
                        fdl_file_waits *waits, void *user)
{
    uint64_t done = 0;
    if (fd < 0) {
        fdl_file_fail(r, "open", -fd);
        return;
    }
    fdl_file_use(w);
    int32_t status = fdl_file_prepare(w, r, fd);
    if (status == FEEDLINE_OK && r->size > 0)
        done = fdl_file_fill_cached(w, r, fd);
    if (waits && (status != FEEDLINE_OK || done < r->size))
        waits(user);
    if (prepare_patiently(w, r, fd, status) == FEEDLINE_OK &&
        fdl_file_fill(w, r, fd, done))
        fdl_read_finish(r);
    fdl_read_arrive(w, r);
    fd = fdl_file_leave(w, r, fd);
    if (fd >= 0)
        close(fd);
    fdl_file_unuse(w);
}

void fdl_read_file(struct fdl_window *w, struct fdl_read *r)
{
    if (r->source.user) {
        fdl_user_read(w, r);
        return;
    }
    if (r->source.store) {
        fdl_remote_read(w, r);
        return;
    }
    int fd = fdl_file_take(w, r);
    if (fd < 0)
        fd = fdl_file_open_patiently(w, r->source.path);
    fdl_file_read_from(w, r, fd, NULL, NULL);
}

/* ---- Read-ahead --------------------------------------------------------- */

static void advise(int fd, const struct fdl_source *source)
{
    uint64_t length = (uint64_t)source->length;
    for (uint64_t done = 0; done < length; done += AHEAD_STEP)
        posix_fadvise(fd, (off_t)(source->offset + done),
                      (off_t)FDL_MIN(length - done, AHEAD_STEP),
                      POSIX_FADV_WILLNEED);
}

void fdl_read_ahead(struct fdl_window *w, const struct fdl_source *source)
{
    struct fdl_shard_files *files = fdl_window_shards(w);
    if (source->file == FDL_OWN_FILE || source->length < 0 || source->store)
        return;
    struct fdl_open_shard *shard = fdl_shard_take(files, source->file);
    int fd = shard ? shard->fd : open(source->path, FDL_FILE_FLAGS);
    if (fd < 0)
        return;
    advise(fd, source);
    if (shard)
        fd = fdl_shard_give(files, shard, true);
    if (fd >= 0)
        close(fd);
}
