/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer's notes; see notes.h. */
#include "loader/watch/notes.h"

#include "base/compiler.h"
#include "loader/stream/engine.h"
#include "loader/stream/snapshot.h"
#include "loader/watch/books.h"

FDL_HOT void fdl_notes_called(struct fdl_books *c, int64_t called)
{
    struct fdl_notes *t = &c->notes;
    int64_t returned = c->returned_ns;
    if (t->has_step)
        fdl_trace_note(t->ring, FDL_TRACE_STEP, returned,
                       FDL_MAX(called - returned, INT64_C(0)), t->step_ticket,
                       FDL_TRACE_NO_SAMPLE, 0);
    t->has_step = false;
}

void fdl_notes_waited(struct fdl_books *c, uint64_t ticket, int64_t begin,
                      int64_t end, const struct fdl_ledger *before)
{
    const struct fdl_ledger *now = &c->ledger;
    for (uint32_t i = 0; i < FDL_BUCKETS; i++)
        if (now->ns[i] > before->ns[i])
            fdl_trace_note(c->notes.ring, FDL_TRACE_CAUSE, begin,
                           now->ns[i] - before->ns[i], ticket,
                           FDL_TRACE_NO_SAMPLE, i);
    fdl_trace_note(c->notes.ring, FDL_TRACE_WAIT, begin, end - begin, ticket,
                   FDL_TRACE_NO_SAMPLE, 0);
}

static void count(struct fdl_notes *t, enum fdl_trace_counter counter,
                  int64_t now, int64_t value)
{
    fdl_trace_note(t->ring, FDL_TRACE_COUNTER, now, value, 0,
                   FDL_TRACE_NO_SAMPLE, (uint32_t)counter);
}

static void count_engine(struct fdl_notes *t, const struct fdl_engine *e,
                         int64_t now)
{
    struct fdl_in_flight in_flight;
    struct fdl_knobs knobs;
    fdl_engine_in_flight(e, &in_flight);
    fdl_engine_in_force(e, &knobs);
    count(t, FDL_COUNTER_READY, now, in_flight.ready);
    count(t, FDL_COUNTER_OUTSTANDING, now, in_flight.outstanding);
    count(t, FDL_COUNTER_WORKERS, now, knobs.workers);
    count(t, FDL_COUNTER_READS, now, in_flight.reads);
    if (in_flight.pinned_bytes > 0)
        count(t, FDL_COUNTER_PINNED_BYTES, now,
              (int64_t)in_flight.pinned_bytes);
}

static void count_all(struct fdl_books *c, int64_t now, int64_t wait)
{
    struct fdl_notes *t = &c->notes;
    int64_t since = FDL_MAX(now - t->counted_ns, INT64_C(1));
    if (!fdl_engine_stands_in(c->engine))
        count_engine(t, c->engine, now);
    if (t->counted_ns)
        count(t, FDL_COUNTER_STALL_PPM, now,
              (int64_t)(1e6 * (double)FDL_MIN(wait, since) / (double)since));
    t->counted_ns = now;
}

FDL_HOT void fdl_notes_returned(struct fdl_books *c, uint64_t ticket,
                                int64_t now, int64_t wait)
{
    struct fdl_notes *t = &c->notes;
    t->has_step = true;
    t->step_ticket = ticket;
    t->delivered++;
    if (t->ring)
        count_all(c, now, wait);
}
