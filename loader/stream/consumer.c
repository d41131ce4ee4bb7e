/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer's side: next(), its waits, and where the stream stands. */
#include "base/compiler.h"
#include "base/log.h"
#include "base/thread.h"
#include "loader/order/state.h"
#include "loader/stream/budget.h"
#include "loader/stream/engine_own.h"
#include "transfer/nvtx.h"

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

/* What a program may keep before it is warned: a list of a few small batches
 * does no harm. Of the budget, or batches. */
#define KEPT_PART 64u
#define KEPT_MANY 64u

static void tell_kept(struct fdl_engine *e, uint32_t n_held)
{
    uint32_t depth = atomic_load_explicit(&e->depth, memory_order_relaxed);
    uint32_t usual = depth + FDL_SPARE_SLOTS;
    uint64_t bytes = fdl_ring_slot_bytes(e->ring);
    if (e->consumer.told_kept || n_held <= usual)
        return;
    uint32_t more = n_held - usual;
    if (more < KEPT_MANY && more <= e->config.memory_budget / KEPT_PART / bytes)
        return;
    e->consumer.told_kept = true;
    fdl_log(
        FDL_LOG_WARNING,
        "the program keeps %u batches of %.3g MB, but %s has memory for %u; "
        "more is allocated until they are released. If this is not "
        "intended, release each batch after its step and copy what you keep",
        n_held, (double)bytes / 1e6, fdl_term(fdl_engine_terms(e), "depth").at,
        usual);
}

/* As many batches ahead as before need slots beside those that the program
 * keeps. Making them may take long, so another thread does it
 * (fdl_engine_tidy). */
static void ask_for_slots(struct fdl_engine *e)
{
    uint32_t n_held;
    if (!e->ring->may_grow || !fdl_ring_is_short(e->ring, &n_held))
        return;
    tell_kept(e, n_held);
    if (e->observer.is_short)
        e->observer.is_short(e->observer.user);
}

static bool all_are_held(const struct fdl_engine *e)
{
    struct fdl_ticket_range range;
    feedline_batch *batch;
    bool all_held = false;
    fdl_ring_awaited(e->ring, &range, &batch, &all_held);
    return all_held;
}

/* Every slot is held, and nothing comes before there is one more: it is made
 * here, as nobody is sure to do it otherwise. OK: it was made, by whomever, or
 * one was released. */
static int32_t make_way(struct fdl_engine *e)
{
    bool grew;
    if (!e->ring->may_grow)
        return fdl_fail(FEEDLINE_ESTATE,
                        "all %u batches that depth allows are held: release "
                        "one before asking for the next",
                        fdl_ring_slots(e->ring));
    int32_t status = fdl_ring_grow(e->ring, &grew);
    if (status >= 0)
        return FEEDLINE_OK;
    if (!all_are_held(e)) {
        fdl_clear_error();
        return FEEDLINE_OK;
    }
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

/* There is no next batch: the stream ends, or none was appended. */
static int32_t at_the_end(const struct fdl_engine *e)
{
    if (!e->given || !fdl_given_is_open(e->given))
        return FEEDLINE_END;
    return fdl_fail(FEEDLINE_ESTATE, "no batch was given: append one, or end "
                                     "the epoch");
}

/* OK: wt->batch is ready. Otherwise it never will be. */
FDL_HOT static int32_t look(struct fdl_engine *e, struct wait *wt, bool *done)
{
    bool all_held = false;
    *done = true;
    if (atomic_exchange_explicit(&e->interrupted, false, memory_order_relaxed))
        return FEEDLINE_INTERRUPTED;
    if (!fdl_ring_awaited(e->ring, &wt->range, &wt->batch, &all_held))
        return at_the_end(e);
    if (all_held) {
        int32_t status = make_way(e);
        *done = status < 0;
        return status;
    }
    wt->ready = wt->batch && is_ready(wt->batch);
    int32_t status = FEEDLINE_OK;
    if (!wt->ready)
        status = e->consumer.failed = fdl_pool_check(&e->pool);
    *done = wt->ready || status < 0;
    return status;
}

static int32_t wait_ready(struct fdl_engine *e, struct wait *wt)
{
    struct fdl_event *ready = &e->ring->ready;
    bool done;
    int32_t status = look(e, wt, &done);
    wt->begin = wt->end = fdl_now_ns();
    while (!done) {
        uint32_t key = fdl_event_prepare(ready);
        status = look(e, wt, &done);
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

/* ---- next --------------------------------------------------------------- */

/* What an observer makes of the call; delivered may be NULL. */
static void tell(const struct fdl_engine *e, const struct wait *wt,
                 int64_t called, const feedline_batch *delivered)
{
    struct fdl_next_record record = {
        .called = called,
        .begin = wt->begin,
        .end = wt->end,
        .ticket = wt->ticket,
        .batch = wt->batch,
        .delivered = delivered,
        .workers = atomic_load_explicit(&e->workers, memory_order_relaxed),
        .fails = e->consumer.failed != FEEDLINE_OK,
    };
    if (e->observer.returned)
        e->observer.returned(e->observer.user, &record);
}

/* The run failed, with this thread's error line. Its last wait has been
 * reported: once it is stopped, the memory of any slot may be freed. */
static void end_run(struct fdl_engine *e)
{
    char reason[FDL_ERROR_BYTES];
    snprintf(reason, sizeof(reason), "%s", fdl_last_error());
    fdl_engine_stop(e);
    if (e->observer.broken)
        e->observer.broken(e->observer.user);
    fdl_fail(e->consumer.failed, "%s", reason);
}

static void hand_over(struct fdl_engine *e, struct wait *wt,
                      feedline_batch **out)
{
    struct fdl_consumer *c = &e->consumer;
    feedline_batch *b = wt->batch;
    b->wait_ns = c->waited_ns + wt->end - wt->begin;
    c->waited_ns = 0;
    fdl_ring_deliver(e->ring, b);
    c->epoch = b->range.epoch;
    c->position = b->range.place - e->sampler.rank +
                  (uint64_t)b->range.count * e->sampler.world;
    c->at_end = b->range.last;
    *out = b;
}

/* END if it is due. */
static bool take_end(struct fdl_engine *e)
{
    struct fdl_consumer *c = &e->consumer;
    if (!c->at_end)
        return c->finished;
    c->at_end = false;
    c->epoch++;
    c->position = 0;
    c->finished = c->epoch >= e->stream.end_epoch;
    return true;
}

bool fdl_consumer_runs(const struct fdl_engine *e)
{
    return e->running;
}

FDL_HOT int32_t fdl_consumer_check_run(const struct fdl_engine *e)
{
    const char *anew = e->given ? "begin" : "start";
    if (e->consumer.failed)
        return fdl_fail(FEEDLINE_ESTATE,
                        "the run ended with an error; %s starts over", anew);
    if (e->running)
        return FEEDLINE_OK;
    if (e->given && !e->stopped)
        return fdl_fail(FEEDLINE_ESTATE,
                        "no epoch was begun: with order=given call "
                        "feedline_loader_begin first");
    return fdl_fail(FEEDLINE_ESTATE, "the loader was stopped; %s starts over",
                    anew);
}

/* A batch that a device decodes is delivered before it has done so. What it
 * then says of a sample that the host found whole is an error of the next call,
 * which is no later than that of the end of the epoch. */
static int32_t check_made(struct fdl_engine *e)
{
    struct fdl_consumer *c = &e->consumer;
    uint64_t index;
    if (!e->decode.ready || !fdl_ring_is_damaged(e->ring, c->at_end, &index))
        return FEEDLINE_OK;
    c->failed = FEEDLINE_EDEVICE;
    return fdl_fail(FEEDLINE_EDEVICE,
                    "%s: the device lost data of this sample, which is whole "
                    "on the host, and made it zeros in a batch that was "
                    "delivered; use decode=host, and report this",
                    fdl_dataset_name(e->dataset, index));
}

/* The next batch, END if that is due, or an error. */
static int32_t advance(struct fdl_engine *e, struct wait *wt,
                       feedline_batch **out)
{
    struct fdl_consumer *c = &e->consumer;
    int32_t made = check_made(e);
    if (e->decode.ready && c->at_end)
        wt->end = fdl_now_ns(); /* it waited for the device */
    if (made < 0)
        return made;
    if (take_end(e))
        return FEEDLINE_END;
    int32_t status = wait_ready(e, wt);
    if (status == FEEDLINE_END)
        c->finished = true;
    if (status == FEEDLINE_OK && wt->batch->error != FEEDLINE_OK) {
        status = c->failed = wt->batch->error;
        return fdl_fail(status, "%s", wt->batch->reason);
    }
    if (status == FEEDLINE_OK) {
        hand_over(e, wt, out);
        ask_for_slots(e);
    } else {
        c->waited_ns += wt->end - wt->begin;
    }
    return status;
}

static enum fdl_ask ask_after(int32_t status)
{
    if (status == FEEDLINE_OK)
        return FDL_ASK_ON;
    return status == FEEDLINE_TIMEOUT || status == FEEDLINE_INTERRUPTED
               ? FDL_ASK_AGAIN
               : FDL_ASK_ANEW;
}

static int32_t next(struct fdl_engine *e, int64_t timeout_ns,
                    feedline_batch **out)
{
    const struct fdl_observer *o = &e->observer;
    int64_t called = fdl_now_ns();
    struct wait wt = {
        .deadline = timeout_ns < 0 || called > INT64_MAX - timeout_ns
                        ? INT64_MAX
                        : called + timeout_ns,
        .begin = called,
        .end = called,
        .ticket = atomic_load_explicit(&e->ring->awaited, memory_order_relaxed),
    };
    if (o->called)
        o->called(o->user, called);
    int32_t status = fdl_consumer_check_run(e);
    if (status < 0) {
        if (o->refused)
            o->refused(o->user);
        return status;
    }
    if (e->ring->backend_ops->ask)
        e->ring->backend_ops->ask(e->ring->backend, called, e->consumer.ask);
    status = advance(e, &wt, out);
    e->consumer.ask = ask_after(status);
    tell(e, &wt, called, status == FEEDLINE_OK ? *out : NULL);
    if (e->consumer.failed)
        end_run(e);
    return status;
}

FDL_HOT int32_t fdl_consumer_next(struct fdl_engine *e, int64_t timeout_ns,
                                  feedline_batch **out)
{
    uint64_t ticket =
        atomic_load_explicit(&e->ring->awaited, memory_order_relaxed);
    fdl_nvtx_push(FDL_NVTX_NEXT, ticket, e->sampler.batch_size);
    int32_t status = next(e, timeout_ns, out);
    fdl_nvtx_pop();
    return status;
}

int32_t fdl_consumer_peek(const struct fdl_engine *e, uint32_t ahead,
                          feedline_batch **out)
{
    int32_t status = fdl_consumer_check_run(e);
    if (status < 0)
        return status;
    if (e->ring->backend_ops->device != FEEDLINE_CPU)
        return fdl_fail(FEEDLINE_ENOSYS, "no batch on a device is shown ahead");
    *out = fdl_ring_peek(e->ring, ahead);
    return *out ? FEEDLINE_OK : FEEDLINE_TIMEOUT;
}

FDL_HOT int32_t fdl_consumer_deliver(struct fdl_engine *e, feedline_batch *b)
{
    int32_t status = fdl_consumer_check_run(e);
    uint32_t state = atomic_load_explicit(&b->state, memory_order_relaxed);
    if (status < 0 || state == FDL_SLOT_HELD)
        return status;
    if (b->ring != e->ring || state != FDL_SLOT_READY ||
        b->ticket !=
            atomic_load_explicit(&e->ring->awaited, memory_order_relaxed))
        return fdl_fail(FEEDLINE_EINVAL, "this batch is not the next one");
    status = fdl_consumer_next(e, 0, &b);
    if (status == FEEDLINE_OK)
        fdl_ring_release(b);
    return status;
}

void fdl_consumer_interrupt(struct fdl_engine *e)
{
    atomic_store_explicit(&e->interrupted, true, memory_order_release);
    fdl_event_notify(&e->ring->ready, UINT32_MAX);
}

/* ---- What else its thread does ------------------------------------------- */

void fdl_consumer_set_stream(struct fdl_engine *e, void *stream)
{
    if (e->ring->backend_ops->set_stream)
        e->ring->backend_ops->set_stream(e->ring->backend, stream);
}

void fdl_consumer_stop(struct fdl_engine *e)
{
    fdl_engine_stop(e);
    e->stopped = true;
}

bool fdl_consumer_may_begin(const struct fdl_engine *e)
{
    return !e->given && !e->running && !e->stopped && !e->consumer.failed;
}

static int32_t check_open(const struct fdl_engine *e)
{
    int32_t status = fdl_consumer_check_run(e);
    if (status < 0 || fdl_given_is_open(e->given))
        return status;
    return fdl_fail(FEEDLINE_ESTATE,
                    "the epoch was ended: begin the next one first");
}

int32_t fdl_consumer_append(struct fdl_engine *e, const uint64_t *indices,
                            const uint32_t *copies, uint32_t count)
{
    int32_t status = check_open(e);
    if (status < 0)
        return status;
    uint64_t awaited =
        atomic_load_explicit(&e->ring->awaited, memory_order_relaxed);
    status = fdl_given_append(e->given, awaited, indices, copies, count);
    if (status >= 0)
        fdl_ring_more(e->ring);
    return status;
}

/* What a batch has beside images of one size and labels, or NULL. */
static const char *beside_images(const struct fdl_engine *e)
{
    const struct fdl_slot_kind *k = &e->ring->kind;
    const struct fdl_layout *l = &k->layout;
    if (e->no_pixels)
        return "no pixels of its own";
    if (fdl_layout_is_various(l))
        return "images of different sizes (max_sample_bytes)";
    if (k->masks.on)
        return "masks";
    if (k->has_objects)
        return "objects";
    if (fdl_slot_kind_has_fields(k))
        return "fields";
    if (l->classes > 0)
        return "mixed images";
    if (l->jobs)
        return "images that a device decodes (decode=host does not)";
    if (l->late || e->finish.device)
        return "images that a device finishes (finish=host does not)";
    return NULL;
}

int32_t fdl_consumer_expect(struct fdl_engine *e, uint32_t count,
                            uint64_t *ticket)
{
    const char *more = beside_images(e);
    if (more)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "a batch of this loader has %s, and cannot be made "
                        "elsewhere",
                        more);
    int32_t status = check_open(e);
    if (status < 0)
        return status;
    uint64_t awaited =
        atomic_load_explicit(&e->ring->awaited, memory_order_relaxed);
    status = fdl_given_expect(e->given, awaited, count, ticket);
    if (status >= 0)
        fdl_ring_more(e->ring);
    return status;
}

/* ---- Position ----------------------------------------------------------- */

void fdl_consumer_position(const struct fdl_engine *e, uint64_t *epoch,
                           uint64_t *position)
{
    const struct fdl_consumer *c = &e->consumer;
    *epoch = c->epoch + (c->at_end ? 1 : 0);
    *position = c->at_end ? 0 : c->position;
}

void fdl_consumer_state(const struct fdl_engine *e, struct fdl_state *out)
{
    *out = (struct fdl_state){
        .fingerprint = e->dataset->fingerprint,
        .count = e->dataset->count,
        .seed = fdl_engine_seed(e),
        .shuffle = e->sampler.shuffle,
        .blocks = e->sampler.blocks,
        .repeats = e->sampler.repeats,
        .epoch_samples = e->sampler.places,
    };
    fdl_consumer_position(e, &out->epoch, &out->position);
}

bool fdl_consumer_stands_at(struct fdl_engine *e, uint64_t epoch)
{
    uint64_t at, position;
    fdl_consumer_position(e, &at, &position);
    if (!e->running || e->consumer.failed || e->consumer.finished ||
        at != epoch || position != 0 || at >= e->stream.end_epoch)
        return false;
    e->consumer.at_end = false;
    e->consumer.epoch = at;
    e->consumer.position = 0;
    e->consumer.ask = FDL_ASK_ANEW;
    return true;
}
