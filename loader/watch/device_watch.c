/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger of a loader's device; see device_watch.h. */
#include "loader/watch/device_watch.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>

int32_t fdl_device_watch_create(struct fdl_device_watch **out)
{
    struct fdl_device_watch *w = calloc(1, sizeof(*w));
    if (!w)
        return fdl_fail_memory(sizeof(*w), "the ledger of a device");
    atomic_init(&w->refs, 1);
    fdl_lock_init(&w->lock, FDL_RANK_DEVICE_WATCH);
    w->notes = fdl_trace_ring_create();
    *out = w;
    return FEEDLINE_OK;
}

struct fdl_device_watch *fdl_device_watch_ref(struct fdl_device_watch *w)
{
    atomic_fetch_add_explicit(&w->refs, 1, memory_order_relaxed);
    return w;
}

void fdl_device_watch_unref(struct fdl_device_watch *w)
{
    /* acq_rel: the last one comes after all uses by the other. */
    if (!w || atomic_fetch_sub_explicit(&w->refs, 1, memory_order_acq_rel) > 1)
        return;
    fdl_trace_ring_destroy(w->notes);
    fdl_lock_destroy(&w->lock);
    free(w);
}

void fdl_device_watch_observe(void *watch, const struct fdl_device_times *t)
{
    struct fdl_device_watch *w = watch;
    struct fdl_device_event event = {
        .queued = t->queued,
        .start = t->start,
        .end = t->end,
        .ready = t->ready,
        .entered = t->entered,
        .copying = t->copying,
        .make_start = t->make_start,
        .make_end = t->make_end,
        .bytes = t->bytes,
        .copies = t->copies,
        .finished = t->finished,
        .resumes = t->resumes,
    };
    fdl_lock(&w->lock);
    if (t->ticket >= w->since)
        fdl_device_ledger_add(&w->ledger, &event);
    fdl_trace_note(w->notes, FDL_TRACE_COPY, t->start, t->end - t->start,
                   t->ticket, FDL_TRACE_NO_SAMPLE, t->copies);
    int64_t pixels = FDL_MAX(t->end, t->make_end);
    if (t->ready > pixels)
        fdl_trace_note(w->notes, FDL_TRACE_FINISH, pixels, t->ready - pixels,
                       t->ticket, FDL_TRACE_NO_SAMPLE, 0);
    fdl_unlock(&w->lock);
}

void fdl_device_watch_get(struct fdl_device_watch *w,
                          struct fdl_device_ledger *out)
{
    fdl_lock(&w->lock);
    *out = w->ledger;
    fdl_unlock(&w->lock);
}

void fdl_device_watch_reset(struct fdl_device_watch *w, uint64_t ticket)
{
    fdl_lock(&w->lock);
    memset(&w->ledger, 0, sizeof(w->ledger));
    w->since = ticket;
    fdl_unlock(&w->lock);
}

void fdl_device_watch_rewind(struct fdl_device_watch *w)
{
    fdl_lock(&w->lock);
    w->since = 0;
    fdl_unlock(&w->lock);
}
