/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/read/remote_read.h"

#include "store/get.h"

/* As fdl_file_prepare does it. */
static int32_t make_room(struct fdl_download *d, uint64_t bytes, uint8_t **to)
{
    struct fdl_remote_read *remote = (struct fdl_remote_read *)d;
    struct fdl_read *r = remote->read;
    int32_t status = fdl_read_reserve(remote->window, r, bytes);
    if (status == FDL_READ_NO_ROOM && r->mate) /* one by one there may be */
        return fdl_read_fail(r, FEEDLINE_ENOMEM, "no memory for neighbours");
    if (status == FDL_READ_NO_ROOM && fdl_window_is_closed(remote->window))
        return fdl_read_fail(r, FEEDLINE_ENOMEM, FDL_READ_STOPS);
    if (status == FDL_READ_NO_ROOM)
        return FDL_DOWNLOAD_NO_ROOM;
    if (status)
        return status;
    r->size = bytes;
    if (!r->sent)
        fdl_read_send(remote->window, r);
    *to = r->buffer;
    return FEEDLINE_OK;
}

void fdl_remote_prepare(struct fdl_remote_read *remote, struct fdl_window *w,
                        struct fdl_read *r)
{
    const struct fdl_source *s = &r->source;
    *remote = (struct fdl_remote_read){
        .download = {.store = s->store,
                     .path = s->path,
                     .query = s->query,
                     .offset = s->offset,
                     .length = r->mate ? (int64_t)r->span : s->length,
                     .tag = s->tag,
                     .room = make_room},
        .window = w,
        .read = r,
    };
    r->status = FEEDLINE_OK;
    r->shard = NULL;
    r->align = 0;
    r->head = 0;
    r->plain = false;
    r->kept = false;
    r->cold = true;
    if (remote->download.length > 0) {
        r->size = (uint64_t)remote->download.length;
        fdl_read_send(w, r);
    }
}

void fdl_remote_end(struct fdl_remote_read *remote)
{
    struct fdl_read *r = remote->read;
    const struct fdl_download *d = &remote->download;
    if (d->status == FEEDLINE_OK)
        fdl_read_finish(r);
    else if (r->status == FEEDLINE_OK) /* else there was no room for it */
        fdl_read_fail(r, d->status, "%s", d->why);
    fdl_read_arrive(remote->window, r);
}

void fdl_remote_read(struct fdl_window *w, struct fdl_read *r)
{
    struct fdl_remote_read remote;
    fdl_remote_prepare(&remote, w, r);
    fdl_get(&remote.download);
    fdl_remote_end(&remote);
}
