/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer's side: next(), its waits, and where the stream stands. The
 * books of its time are in account.h.
 */
#include "base/log.h"
#include "base/thread.h"
#include "loader/engine.h"
#include "loader/stream/account.h"
#include "loader/stream/budget.h"
#include "loader/watch/phases.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_ready(const feedline_batch *b)
{
    /* acquire: pairs with make_ready; the pixels are there. */
    return atomic_load_explicit(&b->state, memory_order_acquire) ==
           FDL_SLOT_READY;
}

/* ---- Batches that are kept ---------------------------------------------- */

/* What a program may keep for a while before it is told: a list of a few small
 * batches harms nobody. Of the budget, or batches. */
#define KEPT_PART 64u
#define KEPT_MANY 64u

static void tell_kept(feedline_loader *l, uint32_t n_held)
{
    uint32_t depth = atomic_load_explicit(&l->depth, memory_order_relaxed);
    uint32_t usual = depth + FDL_SPARE_SLOTS;
    uint64_t bytes = fdl_ring_slot_bytes(l->ring);
    if (l->consumer.told_kept || n_held <= usual)
        return;
    uint32_t more = n_held - usual;
    if (more < KEPT_MANY && more <= l->config.memory_budget / KEPT_PART / bytes)
        return;
    l->consumer.told_kept = true;
    fdl_log(
        FDL_LOG_WARNING,
        "the program keeps %u batches of %.3g MB, but %s has memory for %u; "
        "more is allocated until they are released. If this is not "
        "intended, release each batch after its step and copy what you keep",
        n_held, (double)bytes / 1e6, fdl_term(fdl_loader_terms(l), "depth").at,
        usual);
}

/* Slots for as many batches ahead as ever, beside those that the program keeps.
 * false: there were enough. ENOMEM. */
static int32_t grow(feedline_loader *l, bool *grew)
{
    int32_t status = FEEDLINE_OK;
    uint32_t n_held;
    *grew = false;
    if (!l->ring->may_grow || !fdl_ring_is_short(l->ring, &n_held))
        return FEEDLINE_OK;
    tell_kept(l, n_held);
    for (bool more = true; more && status >= 0; *grew |= more)
        status = fdl_ring_grow(l->ring, &more);
    return status;
}

/* Every slot is held. OK: there is another one now, or one came back. */
static int32_t make_way(feedline_loader *l)
{
    bool grew;
    if (!l->ring->may_grow)
        return fdl_fail(FEEDLINE_ESTATE,
                        "all %u batches that depth allows are held: release "
                        "one before asking for the next",
                        fdl_ring_slots(l->ring));
    int32_t status = grow(l, &grew);
    if (status >= 0 || grew)
        return FEEDLINE_OK;
    return fdl_fail(status,
                    "every batch is held, and there is no room for "
                    "one more: %s",
                    fdl_last_error());
}

/* ---- Waiting ------------------------------------------------------------ */

/* What next() waits for, and what it learned. */
struct wait {
    int64_t deadline;   /* INT64_MAX: none */
    int64_t begin, end; /* equal: there was nothing to wait for */
    uint64_t ticket;    /* awaited */
    struct fdl_ticket_range range;
    feedline_batch *batch;
    bool ready; /* batch may be delivered */
};

/* There is no next batch: it does not come, or was not given. */
static int32_t at_the_end(const feedline_loader *l)
{
    if (!l->given || !fdl_given_is_open(l->given))
        return FEEDLINE_END;
    return fdl_fail(FEEDLINE_ESTATE, "no batch was given: append one, or end "
                                     "the epoch");
}

/* OK: wt->batch is ready. Else it can never be. */
static int32_t look(feedline_loader *l, struct wait *wt, bool *done)
{
    bool all_held = false;
    *done = true;
    if (atomic_exchange_explicit(&l->interrupted, false, memory_order_relaxed))
        return FEEDLINE_INTERRUPTED;
    if (!fdl_ring_awaited(l->ring, &wt->range, &wt->batch, &all_held))
        return at_the_end(l);
    if (all_held) {
        int32_t status = make_way(l);
        *done = status < 0;
        return status;
    }
    wt->ready = wt->batch && is_ready(wt->batch);
    int32_t status = FEEDLINE_OK;
    if (!wt->ready)
        status = l->consumer.failed = fdl_pool_check(&l->pool);
    *done = wt->ready || status < 0;
    return status;
}

static int32_t wait_ready(feedline_loader *l, struct wait *wt)
{
    struct fdl_event *ready = &l->ring->ready;
    bool done;
    int32_t status = look(l, wt, &done);
    wt->begin = wt->end = fdl_now_ns();
    while (!done) {
        uint32_t key = fdl_event_prepare(ready);
        status = look(l, wt, &done);
        if (done || wt->end >= wt->deadline) {
            fdl_event_cancel(ready);
        } else {
            int64_t left =
                wt->deadline == INT64_MAX ? -1 : wt->deadline - wt->end;
            fdl_event_wait(ready, key, left);
        }
        wt->end = fdl_now_ns();
        if (!done && wt->end >= wt->deadline)
            return FEEDLINE_TIMEOUT;
    }
    return status;
}

/* ---- Accounting --------------------------------------------------------- */

static void attribute_locked(feedline_loader *l, const struct wait *wt)
{
    struct fdl_consumer *c = &l->consumer;
    const feedline_batch *b = wt->batch;
    struct fdl_ticket_times times = {
        .workers = atomic_load_explicit(&l->workers, memory_order_relaxed),
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
    fdl_ledger_add(&c->ledger, c->scratch, &times, wt->begin, wt->end);
    if (c->turn.wait_ns > 0) /* another piece of one wait */
        c->ledger.waits = before.waits;
    fdl_notable_wait_locked(l, &times, wt->begin, wt->end);
    fdl_tracing_waited(l, b ? b->ticket : wt->ticket, wt->begin, wt->end,
                       &before);
}

static int64_t fetch_ns(const struct fdl_ledger *ledger)
{
    return ledger->ns[FDL_BUCKET_FETCH_QUEUE] + ledger->ns[FDL_BUCKET_FETCH];
}

/* How long its reads took; batches from memory have none. */
static void add_reads(const feedline_batch *b, struct fdl_pace_call *call)
{
    for (uint32_t i = 0; i < b->range.count; i++) {
        const struct fdl_sample_times *t = &b->times[i];
        int64_t from =
            atomic_load_explicit(&t->read_start, memory_order_relaxed);
        int64_t to = atomic_load_explicit(&t->read_done, memory_order_relaxed);
        if (from <= 0 || to <= from)
            continue;
        call->reads++;
        call->read_ns += to - from;
    }
}

/* What the account asks of a batch; `passed`: a later one was ready before. */
static struct fdl_pace_call pace_of(const feedline_loader *l,
                                    const feedline_batch *b, bool passed)
{
    struct fdl_pace_call call = {
        .epoch = b->range.epoch,
        .starts_run = b->ticket == 0,
        .starts_epoch = b->range.sequence == 0,
        .sequence = b->range.sequence,
        .passed = passed,
        .lead_ns = b->transfer.done_ns - b->issued_ns,
        .workers = atomic_load_explicit(&l->workers, memory_order_relaxed),
    };
    add_reads(b, &call);
    return call;
}

/* The books of one call that began at `called` and ends now. */
static void account(feedline_loader *l, struct wait *wt, int64_t called,
                    const feedline_batch *delivered)
{
    struct fdl_consumer *c = &l->consumer;
    struct fdl_account_call call = {
        .called = called,
        .waited = wt->end,
        .delivered = delivered != NULL,
    };
    if (delivered) {
        bool is_long =
            c->turn.wait_ns + wt->end - wt->begin >= FDL_LONG_WAIT_NS;
        call.pace =
            pace_of(l, delivered,
                    is_long && fdl_ring_passed(l->ring, delivered->ticket,
                                               delivered->transfer.done_ns));
        call.bytes = fdl_slot_image_bytes(delivered);
    }
    fdl_lock(&c->books);
    int64_t fetched = fetch_ns(&c->ledger);
    wt->begin = FDL_MIN(fdl_account_since_locked(c, wt->begin), wt->end);
    call.wait_ns = wt->end - wt->begin;
    if (call.wait_ns > 0)
        attribute_locked(l, wt);
    call.fetch_ns = fetch_ns(&c->ledger) - fetched;
    fdl_notable_call_locked(l, called - c->returned_ns, delivered);
    int64_t now = fdl_account_add_locked(c, &call);
    fdl_unlock(&c->books);
    if (delivered)
        fdl_tracing_returned(l, delivered->ticket, now, call.wait_ns);
}

static void count_delivery(feedline_loader *l, const feedline_batch *b)
{
    struct fdl_consumer *c = &l->consumer;
    const struct fdl_transfer *t = &b->transfer;
    fdl_lock(&c->books);
    if (c->first_batch_ns == 0)
        c->first_batch_ns = fdl_now_ns() - c->started_ns;
    c->batches++;
    c->samples += b->range.count;
    fdl_stage_item(&c->transfer, t->done_ns - t->start_ns,
                   fdl_slot_image_bytes(b));
    fdl_unlock(&c->books);
}

/* ---- next --------------------------------------------------------------- */

/* The run failed, with this thread's error line. Its last wait is in the books:
 * once it is stopped the monitor may give the memory of any slot back. */
static void end_run(feedline_loader *l)
{
    struct fdl_consumer *c = &l->consumer;
    char reason[FDL_ERROR_BYTES];
    snprintf(reason, sizeof(reason), "%s", fdl_last_error());
    fdl_loader_stop(l);
    fdl_lock(&c->books);
    int64_t now = fdl_now_ns();
    c->api_ns += now - fdl_account_since_locked(c, c->returned_ns);
    c->returned_ns = c->booked_ns = now;
    fdl_unlock(&c->books);
    fdl_fail(c->failed, "%s", reason);
}

static void hand_over(feedline_loader *l, struct wait *wt, feedline_batch **out)
{
    struct fdl_consumer *c = &l->consumer;
    feedline_batch *b = wt->batch;
    b->wait_ns = c->turn.wait_ns + wt->end - wt->begin;
    fdl_ring_deliver(l->ring, b);
    count_delivery(l, b);
    c->epoch = b->range.epoch;
    c->position = b->range.position + b->range.count;
    c->at_end = b->range.last;
    *out = b;
}

/* In force again before the next call. Without memory for it fewer batches are
 * ahead, which is no error yet. */
static void stay_ahead(feedline_loader *l)
{
    bool grew;
    if (l->ring->may_grow && grow(l, &grew) < 0)
        fdl_clear_error();
}

/* END where it is due. */
static bool take_end(feedline_loader *l)
{
    struct fdl_consumer *c = &l->consumer;
    if (!c->at_end)
        return c->finished;
    c->at_end = false;
    c->epoch++;
    c->position = 0;
    c->finished = c->epoch >= l->stream.end_epoch;
    return true;
}

int32_t fdl_consumer_check_run(const feedline_loader *l)
{
    const char *anew = l->given ? "begin" : "start";
    if (l->consumer.failed)
        return fdl_fail(FEEDLINE_ESTATE,
                        "the run ended with an error; %s starts over", anew);
    if (l->running)
        return FEEDLINE_OK;
    if (l->given && !l->stopped)
        return fdl_fail(FEEDLINE_ESTATE,
                        "no epoch was begun: with order=given call "
                        "feedline_loader_begin first");
    return fdl_fail(FEEDLINE_ESTATE, "the loader was stopped; %s starts over",
                    anew);
}

int32_t fdl_consumer_next(feedline_loader *l, int64_t timeout_ns,
                          feedline_batch **out)
{
    int64_t called = fdl_now_ns();
    struct wait wt = {
        .deadline = timeout_ns < 0 || called > INT64_MAX - timeout_ns
                        ? INT64_MAX
                        : called + timeout_ns,
        .begin = called,
        .end = called,
        .ticket = atomic_load_explicit(&l->ring->awaited, memory_order_relaxed),
    };
    atomic_store_explicit(&l->consumer.tid, fdl_thread_id(),
                          memory_order_relaxed);
    fdl_phases_claim(l);
    fdl_tracing_called(l, called);
    if (l->ring->backend_ops->ask)
        l->ring->backend_ops->ask(l->ring->backend);
    int32_t status = fdl_consumer_check_run(l);
    if (status < 0)
        return status;
    atomic_store_explicit(&l->consumer.inside, 1, memory_order_relaxed);
    if (take_end(l)) {
        status = FEEDLINE_END;
    } else {
        status = wait_ready(l, &wt);
        if (status == FEEDLINE_END)
            l->consumer.finished = true;
    }
    if (status == FEEDLINE_OK && wt.batch->error != FEEDLINE_OK) {
        status = l->consumer.failed = wt.batch->error;
        fdl_fail(status, "%s", wt.batch->reason);
    } else if (status == FEEDLINE_OK) {
        hand_over(l, &wt, out);
        stay_ahead(l);
    }
    account(l, &wt, called, status == FEEDLINE_OK ? *out : NULL);
    if (l->consumer.failed)
        end_run(l);
    atomic_store_explicit(&l->consumer.inside, 0, memory_order_relaxed);
    return status;
}

/* ---- Position ----------------------------------------------------------- */

void fdl_consumer_position(const feedline_loader *l, uint64_t *epoch,
                           uint64_t *position)
{
    const struct fdl_consumer *c = &l->consumer;
    *epoch = c->epoch + (c->at_end ? 1 : 0);
    *position = c->at_end ? 0 : c->position * l->sampler.world;
}

bool fdl_consumer_stands_at(feedline_loader *l, uint64_t epoch)
{
    uint64_t at, position;
    fdl_consumer_position(l, &at, &position);
    if (!l->running || l->consumer.failed || l->consumer.finished ||
        at != epoch || position != 0 || at >= l->stream.end_epoch)
        return false;
    l->consumer.at_end = false;
    l->consumer.epoch = at;
    l->consumer.position = 0;
    return true;
}
