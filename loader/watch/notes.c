/* SPDX-License-Identifier: Apache-2.0 */
/* The notes of a loader; see notes.h. */
#include "loader/watch/notes.h"

#include "loader/stream/engine_own.h"
#include "loader/watch/watcher.h"

/* ---- The consumer's notes ----------------------------------------------- */

void fdl_notes_called(struct fdl_watch *watch, int64_t called)
{
    struct fdl_notes *t = &watch->notes;
    int64_t returned = watch->books.returned_ns;
    if (t->has_step)
        fdl_trace_note(watch->notes.consumer, FDL_TRACE_STEP, returned,
                       FDL_MAX(called - returned, INT64_C(0)), t->step_ticket,
                       FDL_TRACE_NO_SAMPLE, 0);
    t->has_step = false;
}

void fdl_notes_waited(struct fdl_watch *watch, uint64_t ticket, int64_t begin,
                      int64_t end, const struct fdl_ledger *before)
{
    const struct fdl_ledger *now = &watch->books.ledger;
    for (uint32_t i = 0; i < FDL_BUCKETS; i++)
        if (now->ns[i] > before->ns[i])
            fdl_trace_note(watch->notes.consumer, FDL_TRACE_CAUSE, begin,
                           now->ns[i] - before->ns[i], ticket,
                           FDL_TRACE_NO_SAMPLE, i);
    fdl_trace_note(watch->notes.consumer, FDL_TRACE_WAIT, begin, end - begin,
                   ticket, FDL_TRACE_NO_SAMPLE, 0);
}

static void count(struct fdl_watch *watch, enum fdl_trace_counter counter,
                  int64_t now, int64_t value)
{
    fdl_trace_note(watch->notes.consumer, FDL_TRACE_COUNTER, now, value, 0,
                   FDL_TRACE_NO_SAMPLE, (uint32_t)counter);
}

static void count_engine(struct fdl_watch *watch, int64_t now)
{
    uint32_t ready, outstanding;
    fdl_ring_count(watch->engine->ring, &ready, &outstanding);
    count(watch, FDL_COUNTER_READY, now, ready);
    count(watch, FDL_COUNTER_OUTSTANDING, now, outstanding);
    count(watch, FDL_COUNTER_WORKERS, now,
          atomic_load_explicit(&watch->engine->workers, memory_order_relaxed));
    count(watch, FDL_COUNTER_READS, now,
          fdl_window_reading(watch->engine->window));
    if (watch->engine->ring->backend_ops->stats)
        count(watch, FDL_COUNTER_PINNED_BYTES, now,
              (int64_t)fdl_ring_memory(watch->engine->ring));
}

static void count_all(struct fdl_watch *watch, int64_t now, int64_t wait)
{
    struct fdl_notes *t = &watch->notes;
    int64_t since = FDL_MAX(now - t->counted_ns, INT64_C(1));
    if (!watch->outside)
        count_engine(watch, now);
    if (t->counted_ns)
        count(watch, FDL_COUNTER_STALL_PPM, now,
              (int64_t)(1e6 * (double)FDL_MIN(wait, since) / (double)since));
    t->counted_ns = now;
}

void fdl_notes_returned(struct fdl_watch *watch, uint64_t ticket, int64_t now,
                        int64_t wait)
{
    struct fdl_notes *t = &watch->notes;
    t->has_step = true;
    t->step_ticket = ticket;
    t->delivered++;
    if (watch->notes.consumer)
        count_all(watch, now, wait);
}

void fdl_notes_decided_locked(struct fdl_watch *watch, uint64_t id, bool judged)
{
    fdl_trace_note(watch->notes.decisions, FDL_TRACE_DECISION, fdl_now_ns(),
                   (int64_t)id, 0, FDL_TRACE_NO_SAMPLE, judged);
}

/* ---- Rings -------------------------------------------------------------- */

uint32_t fdl_notes_ring_count(const struct fdl_watch *watch)
{
    return FDL_RING_WORKERS + fdl_pool_born(&watch->engine->pool);
}

static struct fdl_trace_ring *ring_at(const struct fdl_watch *watch, uint32_t i)
{
    switch (i) {
    case FDL_RING_CONSUMER:
        return watch->notes.consumer;
    case FDL_RING_BATCHES:
        return watch->engine->ring->notes;
    case FDL_RING_DEVICE:
        return watch->device->notes;
    case FDL_RING_DECISIONS:
        return watch->notes.decisions;
    default:
        return watch->workers[i - FDL_RING_WORKERS]->notes;
    }
}

const struct fdl_trace_ring *fdl_notes_ring(const struct fdl_watch *watch,
                                            uint32_t i)
{
    return ring_at(watch, i);
}

uint64_t fdl_notes_bytes(const struct fdl_watch *watch)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < fdl_notes_ring_count(watch); i++)
        bytes += fdl_trace_ring_bytes(ring_at(watch, i));
    return bytes;
}

void fdl_notes_begin_run(struct fdl_watch *watch)
{
    struct fdl_notes *t = &watch->notes;
    t->runs++;
    t->has_step = false;
    for (uint32_t i = 0; i < fdl_notes_ring_count(watch); i++)
        fdl_trace_ring_set_run(ring_at(watch, i), t->runs - 1);
}
