/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer's phases; see phases.h. */
#include "loader/watch/phases.h"

#include "base/clock.h"
#include "base/status.h"
#include "loader/stream/engine.h"
#include "loader/watch/account.h"
#include "loader/watch/outside.h"
#include "loader/watch/watcher.h"

#include <string.h>

/* ---- Marks -------------------------------------------------------------- */

static int32_t check_thread(struct fdl_books *c)
{
    if (fdl_account_is_consumer(c))
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ESTATE,
                    "only the thread that calls next may mark phases");
}

/* The consumer's own clock, updated: it continues between two calls of next()
 * of a run. */
static int64_t book_user_locked(struct fdl_watch *watch, int64_t now)
{
    struct fdl_books *c = &watch->books;
    c->clock_reads++;
    if (watch->outside ? fdl_outside_between_locked(watch)
                       : fdl_consumer_runs(watch->engine))
        fdl_account_book_user_locked(c, now);
    return c->user_ns;
}

int32_t fdl_phases_begin(struct fdl_watch *watch, const char *name)
{
    struct fdl_books *c = &watch->books;
    int32_t status = check_thread(c);
    if (status < 0)
        return status;
    fdl_lock(&c->lock);
    int64_t now = fdl_now_ns();
    status = fdl_phase_begin(&c->notable.phases, name,
                             book_user_locked(watch, now), now);
    fdl_unlock(&c->lock);
    return status;
}

int32_t fdl_phases_end(struct fdl_watch *watch)
{
    struct fdl_open_phase closed;
    struct fdl_books *c = &watch->books;
    int32_t status = check_thread(c);
    if (status < 0)
        return status;
    fdl_lock(&c->lock);
    int64_t now = fdl_now_ns();
    status = fdl_phase_end(&c->notable.phases, book_user_locked(watch, now),
                           &closed);
    if (status >= 0)
        fdl_trace_note(c->notes.ring, FDL_TRACE_PHASE, closed.wall_ns,
                       now - closed.wall_ns, 0, FDL_TRACE_NO_SAMPLE,
                       closed.index);
    fdl_unlock(&c->lock);
    return status;
}

/* ---- Statistics --------------------------------------------------------- */

uint32_t fdl_phases_count(struct fdl_watch *watch)
{
    struct fdl_books *c = &watch->books;
    fdl_lock(&c->lock);
    uint32_t n = c->notable.phases.n;
    fdl_unlock(&c->lock);
    return n;
}

int32_t fdl_phases_get(struct fdl_watch *watch, uint32_t index,
                       struct feedline_phase_stats *out)
{
    struct fdl_books *c = &watch->books;
    fdl_lock(&c->lock);
    uint32_t n = c->notable.phases.n;
    const struct fdl_phase *p =
        &c->notable.phases.phases[index < n ? index : 0];
    *out = (struct feedline_phase_stats){
        .name = p->name, /* names do not move */
        .count = p->count,
        .total_ns = (uint64_t)p->total_ns,
        .self_ns = (uint64_t)p->self_ns,
        .max_ns = (uint64_t)p->max_ns,
    };
    fdl_unlock(&c->lock);
    if (index >= n)
        return fdl_fail(FEEDLINE_ERANGE, "phase %u: there are %u", index, n);
    return FEEDLINE_OK;
}

static bool is_synced(const char *name)
{
    return strstr(name, "sync") || strstr(name, "barrier") ||
           strstr(name, "reduce");
}

int64_t fdl_phases_synced(struct fdl_watch *watch)
{
    struct fdl_books *c = &watch->books;
    int64_t sum = -1;
    fdl_lock(&c->lock);
    const struct fdl_phases *p = &c->notable.phases;
    for (uint32_t i = 0; i < p->n; i++)
        if (is_synced(p->phases[i].name))
            sum = (sum < 0 ? 0 : sum) + p->phases[i].self_ns;
    fdl_unlock(&c->lock);
    return sum;
}
