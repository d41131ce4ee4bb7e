/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of a device; device.h has the picture. Each pair of a copy and a
 * busy time is processed once, when the later of the two becomes known. Busy
 * times arrive in order of time, so a copy that ended before the last wait did
 * will meet no more. Pieces of a batch may be copied ahead of the previous
 * batch, so copies have no such order, and simply the last 64 busy times are
 * checked: 64 comparisons per batch.
 */
#include "profiler/measure/device.h"

#include "base/compiler.h"

#include <string.h>

static int64_t above_zero(int64_t ns)
{
    return FDL_MAX(ns, 0);
}

/* What a copy has overlapped so far: never more than it copied. */
static int64_t overlap_of(const struct fdl_device_copy *c)
{
    int64_t length = c->end - c->start;
    if (c->met >= length)
        return c->copying;
    return (int64_t)((double)c->copying * ((double)c->met / (double)length));
}

static void meet(struct fdl_device_ledger *l, struct fdl_device_copy *c,
                 const struct fdl_device_busy *b)
{
    int64_t met = FDL_MIN(c->end, b->end) - FDL_MAX(c->start, b->begin);
    if (met <= 0)
        return;
    l->overlap_ns -= overlap_of(c);
    c->met += met;
    l->overlap_ns += overlap_of(c);
}

/* No later busy time begins before `left`. */
static void forget_copies(struct fdl_device_ledger *l)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n_held; i++)
        if (l->held[i].end > l->left)
            l->held[n++] = l->held[i];
    l->n_held = n;
}

static void add_busy(struct fdl_device_ledger *l, struct fdl_device_busy b)
{
    if (b.end <= b.begin)
        return;
    for (uint32_t i = 0; i < l->n_held; i++)
        meet(l, &l->held[i], &b);
    if (l->n_busy == FDL_DEVICE_HELD)
        memmove(l->busy, l->busy + 1, --l->n_busy * sizeof(*l->busy));
    l->busy[l->n_busy++] = b;
}

static void add_step(struct fdl_device_ledger *l,
                     const struct fdl_device_event *e)
{
    if (l->steps++ == 0) {
        l->left = FDL_MAX(e->entered, e->ready);
        return;
    }
    if (e->resumes)
        l->left = FDL_MAX(l->left, e->entered);
    int64_t entered = FDL_MAX(e->entered, l->left);
    int64_t left = FDL_MAX(e->ready, entered);
    add_busy(l, (struct fdl_device_busy){l->left, entered});
    l->idle_ns += left - entered;
    l->span_ns += left - l->left;
    l->left = left;
    forget_copies(l);
}

static void add_copy(struct fdl_device_ledger *l,
                     const struct fdl_device_event *e)
{
    int64_t length = above_zero(e->end - e->start);
    struct fdl_device_copy c = {
        .start = e->start,
        .end = e->start + length,
        .copying = FDL_MIN(above_zero(e->copying), length),
    };
    l->copy_ns += c.copying;
    for (uint32_t i = 0; i < l->n_busy; i++)
        meet(l, &c, &l->busy[i]);
    if (l->steps > 0 && c.end <= l->left)
        return;
    if (l->n_held == FDL_DEVICE_HELD)
        memmove(l->held, l->held + 1, --l->n_held * sizeof(*l->held));
    l->held[l->n_held++] = c;
}

void fdl_device_ledger_add(struct fdl_device_ledger *l,
                           const struct fdl_device_event *event)
{
    l->batches++;
    l->finished += event->finished;
    l->copies += event->copies;
    l->bytes += event->bytes;
    l->queue_ns += above_zero(event->start - event->queued);
    l->made += event->make_end != 0;
    l->make_ns += above_zero(event->make_end - event->make_start);
    l->finish_ns +=
        above_zero(event->ready - FDL_MAX(event->end, event->make_end));
    if (event->entered != 0)
        add_step(l, event);
    add_copy(l, event);
}
