/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: the consumer's phases. */
#include "loader/watch/phases.h"

#include "loader/api/api.h"
#include "loader/engine.h"
#include "loader/stream/account.h"

static int32_t enter(const feedline_loader *l)
{
    return fdl_api_enter_handle(l, l ? l->fork_generation : 0, "loader");
}

/* ---- Whose thread ------------------------------------------------------- */

/* Its address names a thread; 0 is none. */
static _Thread_local char thread_mark;

void fdl_phases_claim(feedline_loader *l)
{
    atomic_store_explicit(&l->consumer.thread, (uintptr_t)&thread_mark,
                          memory_order_relaxed);
}

/* The consumer is who called next() last, or before that marked first. */
static int32_t check_thread(feedline_loader *l)
{
    uintptr_t none = 0, self = (uintptr_t)&thread_mark;
    if (atomic_compare_exchange_strong_explicit(&l->consumer.thread, &none,
                                                self, memory_order_relaxed,
                                                memory_order_relaxed) ||
        none == self)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ESTATE,
                    "only the thread that calls next may mark phases");
}

/* ---- Marks -------------------------------------------------------------- */

/* The consumer's own clock, up to date: it goes on between two calls of next()
 * of a run. */
static int64_t book_user_locked(feedline_loader *l, int64_t now)
{
    struct fdl_consumer *c = &l->consumer;
    c->clock_reads++;
    if (l->outside ? fdl_outside_between_locked(l) : l->running)
        fdl_account_book_user_locked(c, now);
    return c->user_ns;
}

int32_t feedline_loader_phase_begin(feedline_loader *l, const char *name)
{
    int32_t status = enter(l);
    if (status >= 0)
        status = fdl_api_enter(name, "name");
    if (status >= 0)
        status = check_thread(l);
    if (status < 0)
        return status;
    struct fdl_consumer *c = &l->consumer;
    fdl_lock(&c->books);
    int64_t now = fdl_now_ns();
    status = fdl_phase_begin(&c->notable.phases, name, book_user_locked(l, now),
                             now);
    fdl_unlock(&c->books);
    return status;
}

int32_t feedline_loader_phase_end(feedline_loader *l)
{
    struct fdl_open_phase closed;
    int32_t status = enter(l);
    if (status >= 0)
        status = check_thread(l);
    if (status < 0)
        return status;
    struct fdl_consumer *c = &l->consumer;
    fdl_lock(&c->books);
    int64_t now = fdl_now_ns();
    status =
        fdl_phase_end(&c->notable.phases, book_user_locked(l, now), &closed);
    if (status >= 0)
        fdl_trace_note(l->consumer_ring, FDL_TRACE_PHASE, closed.wall_ns,
                       now - closed.wall_ns, 0, FDL_TRACE_NO_SAMPLE,
                       closed.index);
    fdl_unlock(&c->books);
    return status;
}

/* ---- Statistics --------------------------------------------------------- */

int32_t feedline_loader_phase_count(const feedline_loader *l)
{
    int32_t status = enter(l);
    if (status < 0)
        return status;
    struct fdl_consumer *c = &fdl_loader_writable(l)->consumer;
    fdl_lock(&c->books);
    uint32_t n = c->notable.phases.n;
    fdl_unlock(&c->books);
    return (int32_t)n;
}

int32_t feedline_loader_get_phase(const feedline_loader *l, uint32_t index,
                                  struct feedline_phase_stats *out)
{
    int32_t status = enter(l);
    if (status < 0)
        return status;
    struct fdl_consumer *c = &fdl_loader_writable(l)->consumer;
    fdl_lock(&c->books);
    uint32_t n = c->notable.phases.n;
    const struct fdl_phase *p =
        &c->notable.phases.phases[index < n ? index : 0];
    struct feedline_phase_stats stats = {
        .name = p->name, /* names stay where they are */
        .count = p->count,
        .total_ns = (uint64_t)p->total_ns,
        .self_ns = (uint64_t)p->self_ns,
        .max_ns = (uint64_t)p->max_ns,
    };
    fdl_unlock(&c->books);
    if (index >= n)
        return fdl_fail(FEEDLINE_ERANGE, "phase %u: there are %u", index, n);
    return fdl_copy_out(out, &stats, sizeof(stats));
}
