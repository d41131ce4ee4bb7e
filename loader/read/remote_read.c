/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/read/remote_read.h"

#include "base/memory.h"
#include "loader/read/pause.h"
#include "store/get.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t chunk_below(uint64_t offset)
{
    return offset - offset % FDL_CHUNK_BYTES;
}

/* ---- Room ---------------------------------------------------------------- */

/* `size` bytes behind `head`, as fdl_file_prepare does it. */
static int32_t reserve(struct fdl_remote_read *remote, uint64_t size,
                       uint32_t head)
{
    struct fdl_read *r = remote->read;
    int32_t status = fdl_read_reserve(remote->window, r, size);
    if (status == FDL_READ_NO_ROOM && r->mate) /* one by one there may be */
        return fdl_read_fail(r, FEEDLINE_ENOMEM, "no memory for neighbours");
    if (status == FDL_READ_NO_ROOM && fdl_window_is_closed(remote->window))
        return fdl_read_fail(r, FEEDLINE_ENOMEM, FDL_READ_STOPS);
    if (status)
        return status;
    r->size = size;
    r->head = head;
    if (!r->sent)
        fdl_read_send(remote->window, r);
    return FEEDLINE_OK;
}

static int32_t make_room(struct fdl_download *d, uint64_t bytes, uint8_t **to)
{
    struct fdl_remote_read *remote = (struct fdl_remote_read *)d;
    struct fdl_read *r = remote->read;
    uint64_t head = r->source.offset - d->offset;
    uint64_t size = bytes;
    if (d->up_to) { /* whole chunks, of which the object may have fewer */
        size = (uint64_t)remote->length;
        if (bytes < head + size)
            return fdl_read_fail(r, FEEDLINE_EIO,
                                 "expected %" PRIu64 " bytes at offset %" PRIu64
                                 ", got %" PRIu64 ", which is all there is",
                                 size, r->source.offset,
                                 bytes - FDL_MIN(head, bytes));
    }
    int32_t status = reserve(remote, size, (uint32_t)head);
    if (status == FDL_READ_NO_ROOM)
        return FDL_DOWNLOAD_NO_ROOM;
    if (status == FEEDLINE_OK)
        *to = r->buffer;
    return status;
}

/* ---- The cache ----------------------------------------------------------- */

static struct fdl_chunk_cache *cache_of(const struct fdl_remote_read *remote)
{
    return fdl_window_remote(remote->window)->chunks;
}

static void count(_Atomic uint64_t *count, uint64_t n)
{
    atomic_fetch_add_explicit(count, n, memory_order_relaxed);
}

/* Which object the source was when it was last seen; NULL: not known. */
static const char *known_tag(const struct fdl_source *s)
{
    /* acquire: pairs with the release where it is set: the text. */
    return s->tag ? atomic_load_explicit(s->tag, memory_order_acquire) : NULL;
}

/* An object of one sample: `tag` is not compared, as each read has all of it,
 * and says what to look for. */
static bool is_whole(const struct fdl_remote_read *remote)
{
    return remote->length < 0 && remote->read->source.offset == 0;
}

/* Made once, as it takes a few microseconds. */
static const struct fdl_chunk_key *key_for(struct fdl_remote_read *remote,
                                           const char *tag)
{
    const struct fdl_source *s = &remote->read->source;
    if (!remote->key_tag || strcmp(remote->key_tag, tag) != 0)
        fdl_chunk_key_make(s->path, s->query, tag, &remote->key);
    remote->key_tag = tag;
    return &remote->key;
}

/* Its file there, which stays open for others of the same shard. */
static bool open_kept(struct fdl_remote_read *remote, const char *tag)
{
    struct fdl_window *w = remote->window;
    struct fdl_read *r = remote->read;
    struct fdl_chunk_file *f = &remote->kept;
    struct fdl_open_shard *shard =
        fdl_shard_take(fdl_window_shards(w), fdl_window_shard_place(w, r));
    r->shard = shard;
    if (shard) {
        *f = (struct fdl_chunk_file){shard->fd, shard->size, shard->number,
                                     shard->seed};
        return true;
    }
    if (!fdl_chunk_cache_find(cache_of(remote), key_for(remote, tag), f))
        return false;
    if (r->source.file != FDL_OWN_FILE && fdl_window_is_random(w))
        posix_fadvise(f->fd, 0, 0, POSIX_FADV_RANDOM);
    return true;
}

static void leave_kept(struct fdl_remote_read *remote, bool good)
{
    struct fdl_shard_files *s = fdl_window_shards(remote->window);
    struct fdl_read *r = remote->read;
    const struct fdl_chunk_file *f = &remote->kept;
    const struct fdl_open_shard shard = {
        .fd = f->fd,
        .file = fdl_window_shard_place(remote->window, r),
        .size = f->size,
        .seed = f->seed,
        .number = f->number,
    };
    int unused = f->fd;
    if (r->shard)
        unused = fdl_shard_give(s, r->shard, good);
    else if (good)
        unused = fdl_shard_keep(s, &shard);
    if (unused >= 0)
        close(unused);
    r->shard = NULL;
    remote->is_kept = false;
}

/* Chunks that its bytes are in. */
static uint64_t count_chunks(const struct fdl_remote_read *remote,
                             uint64_t bytes, uint64_t *first)
{
    uint64_t offset = remote->read->source.offset;
    *first = offset / FDL_CHUNK_BYTES;
    return fdl_chunks_of(offset + bytes) - *first;
}

static uint64_t kept_bytes(const struct fdl_remote_read *remote)
{
    return is_whole(remote) ? remote->kept.size : (uint64_t)remote->length;
}

static bool is_there(struct fdl_remote_read *remote)
{
    const struct fdl_chunk_file *f = &remote->kept;
    uint64_t offset = remote->read->source.offset, first;
    uint64_t bytes = kept_bytes(remote);
    if (offset > f->size || bytes > f->size - offset)
        return false;
    uint64_t n = count_chunks(remote, bytes, &first);
    remote->is_known = fdl_chunk_cache_knows(cache_of(remote), f, first, n);
    return remote->is_known || fdl_chunk_file_has(f, first, n);
}

static bool finds(struct fdl_remote_read *remote)
{
    const char *tag = known_tag(&remote->read->source);
    if (!tag || !open_kept(remote, tag))
        return false;
    if (is_there(remote))
        return true;
    /* In a file that was removed nothing will be, either. */
    leave_kept(remote, !fdl_chunk_file_is_removed(&remote->kept));
    return false;
}

/* What is missing there is asked for in whole chunks. */
static void widen(struct fdl_remote_read *remote)
{
    struct fdl_download *d = &remote->download;
    remote->stores = fdl_chunk_cache_takes(cache_of(remote));
    if (!remote->stores || is_whole(remote))
        return;
    uint64_t end = d->offset + (uint64_t)remote->length;
    d->offset = chunk_below(d->offset);
    d->length = (int64_t)(fdl_chunks_of(end) * FDL_CHUNK_BYTES - d->offset);
    d->up_to = true;
    remote->read->align = FDL_CHUNK_BYTES;
}

/* A part from somewhere to the end is not, and nothing has no chunks. */
static void look_up(struct fdl_remote_read *remote)
{
    if (!cache_of(remote) || remote->length == 0 ||
        (remote->length < 0 && !is_whole(remote)))
        return;
    remote->is_kept = finds(remote);
    if (!remote->is_kept)
        widen(remote);
}

/* Of a whole object: what to look for the next time. */
static void remember(const struct fdl_remote_read *remote, const char *tag)
{
    fdl_tag *place = remote->read->source.tag;
    char *first = NULL, *copy;
    if (!place || known_tag(&remote->read->source) || !(copy = fdl_strdup(tag)))
        return;
    /* release: the text. */
    if (!atomic_compare_exchange_strong_explicit(
            place, &first, copy, memory_order_release, memory_order_relaxed))
        free(copy);
}

/* It has come, and nothing was written behind its bytes yet. */
static void store(struct fdl_remote_read *remote)
{
    const struct fdl_download *d = &remote->download;
    const char *tag = fdl_download_tag(d);
    if (!cache_of(remote) || !tag)
        return;
    if (is_whole(remote))
        remember(remote, tag);
    /* A server may say anything. */
    uint64_t size = (uint64_t)d->object_bytes, end = d->offset + d->bytes;
    if (!remote->stores || d->object_bytes < 0 || end > size ||
        (end < size && end % FDL_CHUNK_BYTES != 0))
        return;
    struct fdl_chunk_job part = {
        .size = size,
        .offset = d->offset,
        .bytes = d->bytes,
        .data = remote->read->buffer,
        .anew = remote->anew,
    };
    part.key = *key_for(remote, tag);
    fdl_chunk_cache_offer(cache_of(remote), &part);
}

/* Into the buffer: of what is known its bytes, else whole chunks. errno. */
static int fill(struct fdl_remote_read *remote, uint64_t size, bool wait)
{
    const struct fdl_chunk_file *f = &remote->kept;
    const struct fdl_read *r = remote->read;
    uint64_t offset = r->source.offset, first;
    uint64_t n = count_chunks(remote, size, &first);
    int error = remote->is_known
                    ? fdl_chunk_file_fill(f, offset, size, r->buffer, wait)
                    : fdl_chunk_file_read(f, first, n, r->buffer, wait);
    if (error == EAGAIN && !wait)
        fdl_chunk_file_ahead(f, offset, size);
    else if (!error && !remote->is_known)
        fdl_chunk_cache_learn(cache_of(remote), f, first, n);
    return error;
}

/* It is asked for, and stored in place of what is there. */
static enum fdl_remote_taken replace(struct fdl_remote_read *remote)
{
    count(&fdl_window_remote(remote->window)->cache_errors, 1);
    leave_kept(remote, false);
    remote->anew = true;
    widen(remote);
    return FDL_REMOTE_GONE;
}

enum fdl_remote_taken fdl_remote_take(struct fdl_remote_read *remote, bool wait)
{
    struct fdl_read *r = remote->read;
    uint64_t size = kept_bytes(remote);
    if (wait) /* it comes from the disk again */
        remote->is_known = false;
    r->align = remote->is_known ? 0 : FDL_CHUNK_BYTES;
    r->cold = wait;
    int32_t status = reserve(
        remote, size, (uint32_t)(r->source.offset % FDL_MAX(r->align, 1u)));
    if (status == FDL_READ_NO_ROOM)
        return FDL_REMOTE_LATER;
    int error = status ? 0 : fill(remote, size, wait);
    if (error == EAGAIN && !wait)
        return FDL_REMOTE_LATER;
    if (error)
        return replace(remote);
    leave_kept(remote, true);
    if (!status) {
        count(&fdl_window_remote(remote->window)->cached_bytes, size);
        fdl_read_finish(r);
    }
    fdl_read_arrive(remote->window, r);
    return FDL_REMOTE_TAKEN;
}

/* ---- A read -------------------------------------------------------------- */

void fdl_remote_prepare(struct fdl_remote_read *remote, struct fdl_window *w,
                        struct fdl_read *r)
{
    const struct fdl_source *s = &r->source;
    int64_t length = r->mate ? (int64_t)r->span : s->length;
    *remote = (struct fdl_remote_read){
        .download = {.store = s->store,
                     .path = s->path,
                     .query = s->query,
                     .offset = s->offset,
                     .length = length,
                     .counts = &fdl_window_remote(w)->requests,
                     .room = make_room},
        .window = w,
        .read = r,
        .length = length,
    };
    if (!is_whole(remote))
        remote->download.tag = s->tag;
    r->status = FEEDLINE_OK;
    r->shard = NULL;
    r->align = 0;
    r->head = 0;
    r->plain = false;
    r->kept = false;
    r->cold = true;
    look_up(remote);
    if (length > 0) {
        r->size = (uint64_t)length;
        fdl_read_send(w, r);
    }
}

void fdl_remote_end(struct fdl_remote_read *remote)
{
    struct fdl_read *r = remote->read;
    const struct fdl_download *d = &remote->download;
    if (d->status == FEEDLINE_OK) {
        store(remote);
        fdl_read_finish(r);
    } else if (r->status == FEEDLINE_OK) { /* else there was no room for it */
        fdl_read_fail(r, d->status, "%s", d->why);
    }
    fdl_read_arrive(remote->window, r);
}

void fdl_remote_drop(struct fdl_remote_read *remote, const char *why)
{
    leave_kept(remote, true);
    fdl_read_fail(remote->read, FEEDLINE_EIO, "%s", why);
    fdl_read_arrive(remote->window, remote->read);
}

void fdl_remote_read(struct fdl_window *w, struct fdl_read *r)
{
    struct fdl_remote_read remote;
    enum fdl_remote_taken taken = FDL_REMOTE_GONE;
    fdl_remote_prepare(&remote, w, r);
    for (uint32_t tries = 0; remote.is_kept; tries++) {
        taken = fdl_remote_take(&remote, true);
        if (taken == FDL_REMOTE_LATER)
            fdl_file_pause(tries);
    }
    if (taken == FDL_REMOTE_TAKEN)
        return;
    fdl_get(&remote.download);
    fdl_remote_end(&remote);
}
