/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that somebody else makes; see outside.h. */
#include "loader/watch/outside.h"

#include "base/thread.h"
#include "loader/engine.h"
#include "loader/stream/account.h"
#include "loader/watch/phases.h"

#include <stdio.h>
#include <stdlib.h>

enum { OUT = 0, TURNING, INSIDE };

/* ---- Life ---------------------------------------------------------------- */

static void copy_text(char to[FDL_OUTSIDE_TEXT], const char *from)
{
    snprintf(to, FDL_OUTSIDE_TEXT, "%s", from ? from : "");
}

int32_t fdl_outside_create(feedline_loader *l,
                           const struct feedline_watch_def *def, bool has_gpu,
                           uint32_t gpu)
{
    struct fdl_outside *o = calloc(1, sizeof(*o));
    if (!o)
        return fdl_fail_memory(sizeof(*o), "a watch");
    copy_text(o->name, def->name ? def->name : "the iterable");
    copy_text(o->option, def->option);
    o->has_gpu = has_gpu;
    o->gpu = gpu;
    l->outside = o;
    /* What the engine has of its own is not there. */
    atomic_store_explicit(&l->workers, def->workers, memory_order_relaxed);
    atomic_store_explicit(&l->depth, 0, memory_order_relaxed);
    atomic_store_explicit(&l->io_depth, 0, memory_order_relaxed);
    l->config.batch_size = def->batch_size;
    return FEEDLINE_OK;
}

int32_t fdl_outside_refuse(void)
{
    return fdl_fail(FEEDLINE_ESTATE,
                    "a watch has no engine: another loader makes its "
                    "batches");
}

bool fdl_outside_between_locked(const feedline_loader *l)
{
    return l->consumer.booked_ns != 0 &&
           atomic_load_explicit(&l->outside->state, memory_order_relaxed) ==
               OUT;
}

void fdl_outside_reset_locked(struct fdl_outside *o)
{
    o->wait_cpu_ns = 0;
}

/* acquire: pairs with set_state; what the call before wrote is seen. */
static bool turn(struct fdl_outside *o, uint32_t from)
{
    return atomic_compare_exchange_strong_explicit(
        &o->state, &from, TURNING, memory_order_acquire, memory_order_relaxed);
}

/* release: pairs with turn. */
static void set_state(struct fdl_outside *o, uint32_t state)
{
    atomic_store_explicit(&o->state, state, memory_order_release);
}

/* ---- One call of next() -------------------------------------------------- */

/* As a run begins. */
static void begin_run(feedline_loader *l, int64_t now)
{
    l->outside->begun = true;
    fdl_lock(&l->run_lock);
    fdl_tracing_begin_run(l);
    fdl_unlock(&l->run_lock);
    fdl_account_begin(&l->consumer, now, now);
    fdl_notable_begin(l);
}

int32_t fdl_outside_begin(feedline_loader *l)
{
    struct fdl_outside *o = l->outside;
    struct fdl_consumer *c = &l->consumer;
    if (!turn(o, OUT))
        return fdl_fail(FEEDLINE_ESTATE,
                        "next is being called already: end that call first");
    if (!o->begun)
        begin_run(l, fdl_now_ns());
    o->called = fdl_now_ns();
    o->tid = fdl_thread_id();
    atomic_store_explicit(&c->tid, o->tid, memory_order_relaxed);
    fdl_phases_claim(l);
    fdl_tracing_called(l, o->called);
    fdl_lock(&c->books);
    fdl_account_book_user_locked(c, o->called);
    fdl_unlock(&c->books);
    atomic_store_explicit(&c->inside, 1, memory_order_relaxed);
    o->cpu_ns = fdl_thread_cpu_ns();
    o->waiting = fdl_now_ns();
    set_state(o, INSIDE);
    return FEEDLINE_OK;
}

/* The ledger has nothing to split the wait by. */
static void add_wait_locked(feedline_loader *l, int64_t end)
{
    struct fdl_outside *o = l->outside;
    struct fdl_consumer *c = &l->consumer;
    int64_t cpu = fdl_thread_id() == o->tid ? fdl_thread_cpu_ns() : o->cpu_ns;
    int64_t wait = end - o->waiting;
    o->wait_cpu_ns += FDL_MIN(cpu - o->cpu_ns, wait);
    c->ledger.wait_ns += wait;
    if (c->turn.wait_ns == 0) /* else another piece of one wait */
        c->ledger.waits++;
    fdl_tracing_waited(l, o->tickets, o->waiting, end, &c->ledger);
}

static void add_step_locked(feedline_loader *l, int64_t user_ns, bool delivered)
{
    const struct fdl_outside *o = l->outside;
    struct fdl_consumer *c = &l->consumer;
    struct fdl_notable *n = &c->notable;
    n->step_ns += user_ns;
    if (!delivered)
        return;
    int64_t wait = c->ledger.wait_ns - n->before.wait_ns;
    if (fdl_notable_step_locked(c, wait))
        fdl_outliers_keep(&n->outliers,
                          &(struct fdl_outlier){.epoch = o->epoch,
                                                .sequence = o->sequence,
                                                .wait_ns = wait,
                                                .bucket = FDL_BUCKETS,
                                                .bucket_ns = wait});
    fdl_notable_next_locked(c);
}

static void count_locked(struct fdl_consumer *c, uint64_t samples, int64_t now)
{
    if (c->first_batch_ns == 0)
        c->first_batch_ns = now - c->started_ns;
    c->batches++;
    c->samples += samples;
}

/* Where the stream stands behind this call. */
static void move_on(struct fdl_outside *o, int32_t status)
{
    if (status == FEEDLINE_OK) {
        o->sequence++;
        o->tickets++;
    } else if (status == FEEDLINE_END) {
        o->sequence = 0;
        o->epoch++;
    }
}

int32_t fdl_outside_end(feedline_loader *l, int32_t status, uint64_t samples,
                        uint64_t bytes)
{
    int64_t end = fdl_now_ns();
    struct fdl_outside *o = l->outside;
    struct fdl_consumer *c = &l->consumer;
    if (!turn(o, INSIDE))
        return fdl_fail(FEEDLINE_ESTATE, "no call of next is under way: "
                                         "feedline_watch_begin comes first");
    bool delivered = status == FEEDLINE_OK;
    struct fdl_account_call call = {
        .called = o->called,
        .waited = end,
        .delivered = delivered,
        .bytes = bytes,
        .pace = {.epoch = o->epoch,
                 .starts_run = o->tickets == 0,
                 .starts_epoch = o->sequence == 0,
                 .sequence = o->sequence,
                 .workers =
                     atomic_load_explicit(&l->workers, memory_order_relaxed)},
    };
    fdl_lock(&c->books);
    o->waiting = FDL_MIN(fdl_account_since_locked(c, o->waiting), end);
    call.wait_ns = end - o->waiting;
    add_wait_locked(l, end);
    add_step_locked(l, o->called - c->returned_ns, delivered);
    if (delivered)
        count_locked(c, samples, end);
    int64_t now = fdl_account_add_locked(c, &call);
    fdl_unlock(&c->books);
    if (delivered)
        fdl_tracing_returned(l, o->tickets, now, call.wait_ns);
    /* Not before: a first call that forks finds no thread of ours. */
    if (!o->watching)
        fdl_monitor_start(l->monitor); /* works without it, too */
    o->watching = true;
    move_on(o, status);
    atomic_store_explicit(&c->inside, 0, memory_order_relaxed);
    set_state(o, OUT);
    return FEEDLINE_OK;
}

/* ---- Evidence ------------------------------------------------------------ */

/* Its workers are processes. As long as the consumer waits for them they have
 * work, and the kernel's counters divide their time as they do that of threads.
 */
static void add_workers(const struct fdl_watched *w, struct fdl_evidence *out)
{
    double scale = (double)out->wall_ns / (double)w->seconds_ns;
    double busy = out->workers * (double)out->wall_ns;
    double cpu = FDL_MIN((double)w->children_ns * scale, busy);
    double queued = FDL_MIN((double)w->children_queued_ns * scale, busy - cpu);
    out->worker_busy_ns = (int64_t)busy;
    out->worker_cpu_ns = (int64_t)cpu;
    out->worker_runq_ns = (int64_t)queued;
    out->worker_sleep_ns = (int64_t)(busy - cpu - queued);
    /* A process costs memory: twice as many is a step whose effect shows. */
    out->workers_max = FDL_MAX(2 * out->workers, out->cpus_usable);
    out->workers_auto = false;
}

static void add_processes(const struct fdl_watched *w, struct fdl_evidence *out)
{
    double seconds = (double)w->seconds_ns;
    out->outside_process_cores = (double)w->children_ns / seconds;
    if (w->n_children == 0)
        return;
    out->outside_queued = FDL_MIN(
        (double)w->children_queued_ns / seconds / (double)w->n_children, 1.0);
    if (out->outside_cores > 0) /* those are not somebody else's */
        out->outside_cores =
            FDL_MAX(out->outside_cores - out->outside_process_cores, 0.0);
    if (out->workers > 0)
        add_workers(w, out);
}

void fdl_outside_evidence(feedline_loader *l, const struct fdl_watched *w,
                          struct fdl_evidence *out)
{
    const struct fdl_outside *o = l->outside;
    out->outside = o->name;
    out->outside_option = o->option[0] ? o->option : NULL;
    out->outside_processes = w->n_children;
    out->outside_queued = w->consumer_queued;
    out->memory_limited = false;
    if (w->seconds_ns > 0)
        add_processes(w, out);
    fdl_lock(&l->consumer.books);
    out->wait_cpu_ns = o->wait_cpu_ns;
    fdl_unlock(&l->consumer.books);
}
