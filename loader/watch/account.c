/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer's account, and the statistics of its calls; see account.h. */
#include "loader/watch/account.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/thread.h"
#include "loader/stream/ring.h"
#include "loader/watch/notable.h"
#include "loader/watch/notes.h"

#include <stdio.h>
#include <string.h>

#define CLOCK_READS 4 /* of one call: called, waiting, ready, returned */

/* ---- Sums ---------------------------------------------------------------- */

static int64_t own_time(int64_t from, int64_t to)
{
    return FDL_MAX(to - from, INT64_C(0));
}

/* Not a step: what the program did until it requested another run. */
static void add_restart(struct fdl_books *c, int64_t asked, int64_t now)
{
    int64_t from = fdl_account_since_locked(c, c->returned_ns);
    fdl_counter_add(&c->consume.busy_ns, (uint64_t)own_time(from, asked));
    fdl_account_book_user_locked(c, asked);
    c->api_ns += now - fdl_account_since_locked(c, asked);
}

void fdl_account_begin(struct fdl_books *c, int64_t asked, int64_t now)
{
    fdl_lock(&c->lock);
    if (c->returned_ns != 0)
        add_restart(c, asked, now);
    c->started_ns = c->returned_ns = c->booked_ns = now;
    memset(&c->turn, 0, sizeof(c->turn));
    fdl_notable_begin_locked(c);
    fdl_unlock(&c->lock);
}

void fdl_account_book_user_locked(struct fdl_books *c, int64_t now)
{
    c->user_ns += own_time(c->booked_ns, now);
    c->booked_ns = FDL_MAX(c->booked_ns, now);
}

int64_t fdl_account_since_locked(const struct fdl_books *c, int64_t time)
{
    return FDL_MAX(time, c->reset_ns);
}

/* For callers that need sums that only grow. */
static void keep_past(struct fdl_books *c)
{
    c->resets++;
    c->past.batches += c->batches;
    c->past.user_ns += c->user_ns;
    c->past.api_ns += c->api_ns;
    c->past.wait_ns += c->ledger.wait_ns;
    for (uint32_t i = 0; i < FDL_BUCKETS; i++)
        c->past.ns[i] += c->ledger.ns[i];
}

void fdl_account_reset_locked(struct fdl_books *c, int64_t now)
{
    bool inside = atomic_load_explicit(&c->inside, memory_order_relaxed) != 0;
    if (c->returned_ns != 0 && !inside)
        fdl_account_book_user_locked(c, now);
    keep_past(c);
    c->ledger = (struct fdl_ledger){0};
    c->user_ns = c->api_ns = c->handover_ns = 0;
    c->batches = c->samples = 0;
    c->ledger_ns = c->clock_reads = 0;
    c->booked_ns = FDL_MAX(c->booked_ns, now);
    c->reset_ns = now;
}

/* The consumer's time since the last batch is one item of its stage; `user` of
 * it is not in busy_ns yet. */
static void count_step(struct fdl_books *c, const struct fdl_account_call *call,
                       int64_t user)
{
    struct fdl_stage *s = &c->consume;
    int64_t from = fdl_account_since_locked(c, c->returned_ns);
    fdl_counter_add(&s->busy_ns, (uint64_t)own_time(from, call->called));
    fdl_counter_add(&s->starved_ns, (uint64_t)call->wait_ns);
    if (!call->delivered)
        return;
    fdl_counter_add(&s->items, 1);
    fdl_counter_add(&s->bytes, call->bytes);
    fdl_histogram_add(&s->times, c->turn.user_ns + user);
}

/* A batch ends the turn, anything else extends it. */
static void take_turn(struct fdl_books *c, struct fdl_account_call *call,
                      int64_t user, int64_t wall)
{
    c->turn.user_ns += user;
    c->turn.wait_ns += call->wait_ns;
    c->turn.wall_ns += wall;
    c->turn.fetch_ns += call->fetch_ns;
    if (!call->delivered)
        return;
    call->pace.user_ns = c->turn.user_ns;
    call->pace.wait_ns = c->turn.wait_ns;
    call->pace.wall_ns = c->turn.wall_ns;
    call->pace.fetch_ns = c->turn.fetch_ns;
    fdl_pace_add(&c->pace, &call->pace);
    memset(&c->turn, 0, sizeof(c->turn));
}

FDL_HOT int64_t fdl_account_add_locked(struct fdl_books *c,
                                       struct fdl_account_call *call)
{
    int64_t user = call->called - c->returned_ns;
    int64_t now = fdl_now_ns();
    fdl_account_book_user_locked(c, call->called);
    c->api_ns +=
        now - fdl_account_since_locked(c, call->called) - call->wait_ns;
    c->ledger_ns += (uint64_t)(now - call->waited);
    c->clock_reads += CLOCK_READS;
    count_step(c, call, user);
    take_turn(c, call, user, now - c->returned_ns);
    c->returned_ns = c->booked_ns = now;
    return now;
}

/* ---- From next() --------------------------------------------------------- */

/* Its address names a thread; 0 is none. */
static _Thread_local char thread_mark;

bool fdl_account_is_consumer(struct fdl_books *c)
{
    uintptr_t none = 0, self = (uintptr_t)&thread_mark;
    return atomic_compare_exchange_strong_explicit(&c->thread, &none, self,
                                                   memory_order_relaxed,
                                                   memory_order_relaxed) ||
           none == self;
}

static void attribute_locked(struct fdl_books *c,
                             const struct fdl_next_record *r, int64_t begin)
{
    const feedline_batch *b = r->batch;
    struct fdl_ticket_times times = {
        .workers = r->workers,
        .slots_held = b && b->slots_held,
    };
    if (b) {
        times.issued = b->issued_ns;
        times.n_samples = b->range.count;
        times.samples = b->times;
        /* A wait may time out while the copy is under way. */
        times.transfer_start =
            atomic_load_explicit(&b->transfer.start_ns, memory_order_relaxed);
        times.transfer_done =
            atomic_load_explicit(&b->transfer.done_ns, memory_order_relaxed);
    }
    struct fdl_ledger before = c->ledger;
    fdl_ledger_add(&c->ledger, c->scratch, &times, begin, r->end);
    if (c->turn.wait_ns > 0) /* another part of the same wait */
        c->ledger.waits = before.waits;
    fdl_notable_wait_locked(c, &times, begin, r->end);
    fdl_notes_waited(c, b ? b->ticket : r->ticket, begin, r->end, &before);
}

static int64_t fetch_ns(const struct fdl_ledger *ledger)
{
    return ledger->ns[FDL_BUCKET_FETCH_QUEUE] + ledger->ns[FDL_BUCKET_FETCH];
}

/* What the account needs of a batch; `passed`: a later one was ready before. */
static struct fdl_pace_call pace_of(const feedline_batch *b, uint32_t workers,
                                    bool passed)
{
    return (struct fdl_pace_call){
        .epoch = b->range.epoch,
        .starts_run = b->ticket == 0,
        .starts_epoch = b->range.sequence == 0,
        .sequence = b->range.sequence,
        .passed = passed,
        .lead_ns = b->transfer.done_ns - b->issued_ns,
        .reads = b->reads,
        .read_ns = b->read_ns,
        .workers = workers,
    };
}

/* The batch of a call, before any lock is taken. */
static void read_batch(const struct fdl_books *c,
                       const struct fdl_next_record *r,
                       struct fdl_account_call *call)
{
    const feedline_batch *b = r->delivered;
    int64_t wait = c->turn.wait_ns + r->end - r->begin;
    bool passed = wait >= FDL_LONG_WAIT_NS &&
                  fdl_ring_passed(b->ring, b->ticket, b->transfer.done_ns);
    call->pace = pace_of(b, r->workers, passed);
    call->bytes = fdl_slot_image_bytes(b);
}

static void count_delivery_locked(struct fdl_books *c, const feedline_batch *b,
                                  uint64_t bytes, int64_t now)
{
    if (c->first_batch_ns == 0)
        c->first_batch_ns = now - c->started_ns;
    c->handed_over = false;
    c->batches++;
    c->samples += b->range.count;
    fdl_stage_item(&c->transfer, b->transfer.done_ns - b->transfer.start_ns,
                   bytes);
}

FDL_HOT void fdl_account_called(struct fdl_books *c, int64_t now)
{
    atomic_store_explicit(&c->tid, fdl_thread_id(), memory_order_relaxed);
    atomic_store_explicit(&c->thread, (uintptr_t)&thread_mark,
                          memory_order_relaxed);
    fdl_notes_called(c, now);
    atomic_store_explicit(&c->inside, 1, memory_order_relaxed);
}

void fdl_account_refused(struct fdl_books *c)
{
    atomic_store_explicit(&c->inside, 0, memory_order_relaxed);
}

FDL_HOT void fdl_account_returned(struct fdl_books *c,
                                  const struct fdl_next_record *r)
{
    struct fdl_account_call call = {
        .called = r->called,
        .waited = r->end,
        .delivered = r->delivered != NULL,
    };
    if (r->delivered)
        read_batch(c, r, &call);
    fdl_lock(&c->lock);
    if (r->delivered)
        count_delivery_locked(c, r->delivered, call.bytes, r->end);
    int64_t fetched = fetch_ns(&c->ledger);
    int64_t begin = FDL_MIN(fdl_account_since_locked(c, r->begin), r->end);
    call.wait_ns = r->end - begin;
    if (call.wait_ns > 0)
        attribute_locked(c, r, begin);
    call.fetch_ns = fetch_ns(&c->ledger) - fetched;
    fdl_notable_call_locked(c, r->called - c->returned_ns, r->delivered);
    int64_t now = fdl_account_add_locked(c, &call);
    fdl_unlock(&c->lock);
    if (r->delivered)
        fdl_notes_returned(c, r->delivered->ticket, now, call.wait_ns);
    if (!r->fails)
        fdl_account_refused(c);
}

int32_t fdl_account_handed_over(struct fdl_books *c, const char *by)
{
    if (!fdl_account_is_consumer(c))
        return fdl_fail(FEEDLINE_ESTATE,
                        "only the thread that calls next hands over batches");
    fdl_lock(&c->lock);
    bool none = c->batches == 0 || c->handed_over;
    if (!none) {
        int64_t now = fdl_now_ns();
        int64_t from = FDL_MAX(c->booked_ns, c->returned_ns);
        int64_t took = now - fdl_account_since_locked(c, from);
        c->api_ns += took;
        c->handover_ns += took;
        c->turn.wall_ns += took;
        c->returned_ns = c->booked_ns = now;
        c->handed_over = true;
        if (by)
            snprintf(c->handover, sizeof(c->handover), "%s", by);
    }
    fdl_unlock(&c->lock);
    return none ? fdl_fail(FEEDLINE_ESTATE, "no batch was delivered since")
                : FEEDLINE_OK;
}

void fdl_account_broken(struct fdl_books *c)
{
    fdl_lock(&c->lock);
    int64_t now = fdl_now_ns();
    c->api_ns += now - fdl_account_since_locked(c, c->returned_ns);
    c->returned_ns = c->booked_ns = now;
    fdl_unlock(&c->lock);
    fdl_account_refused(c);
}
