/* SPDX-License-Identifier: Apache-2.0 */
/* Watched loaders; see outside.h. */
#include "loader/watch/outside.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/thread.h"
#include "loader/stream/engine.h"
#include "loader/watch/account.h"
#include "loader/watch/notable.h"
#include "loader/watch/notes.h"
#include "loader/watch/watcher.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { OUT = 0, TURNING, INSIDE };

/* ---- Life ---------------------------------------------------------------- */

static void copy_text(char to[FDL_OUTSIDE_TEXT], const char *from)
{
    snprintf(to, FDL_OUTSIDE_TEXT, "%s", from ? from : "");
}

int32_t fdl_outside_create(struct fdl_watch *watch,
                           const struct feedline_watch_def *def, int32_t gpu)
{
    struct fdl_outside *o = calloc(1, sizeof(*o));
    if (!o)
        return fdl_fail_memory(sizeof(*o), "a watch");
    copy_text(o->name, def->name ? def->name : "the iterable");
    copy_text(o->option, def->option);
    watch->outside = o;
    fdl_engine_stand_in(watch->engine, def->workers, def->batch_size, gpu);
    return FEEDLINE_OK;
}

int32_t fdl_outside_refuse(void)
{
    return fdl_fail(FEEDLINE_ESTATE,
                    "a watch has no engine: another loader makes its "
                    "batches");
}

bool fdl_outside_between_locked(const struct fdl_watch *watch)
{
    return watch->books.booked_ns != 0 &&
           atomic_load_explicit(&watch->outside->state, memory_order_relaxed) ==
               OUT;
}

void fdl_outside_reset_locked(struct fdl_outside *o)
{
    o->wait_cpu_ns = 0;
    fdl_functions_reset(&o->functions);
}

/* acquire: pairs with set_state; what the previous call wrote is visible. */
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
static void begin_run(struct fdl_watch *watch, int64_t now)
{
    watch->outside->begun = true;
    fdl_engine_stand_in_begin(watch->engine);
    fdl_account_begin(&watch->books, now, now);
}

int32_t fdl_outside_begin(struct fdl_watch *watch)
{
    struct fdl_outside *o = watch->outside;
    struct fdl_books *c = &watch->books;
    if (!turn(o, OUT))
        return fdl_fail(FEEDLINE_ESTATE,
                        "next is being called already: end that call first");
    if (!o->begun)
        begin_run(watch, fdl_now_ns());
    o->called = fdl_now_ns();
    o->tid = fdl_thread_id();
    fdl_engine_stand_in_called(watch->engine, o->called);
    fdl_lock(&c->lock);
    fdl_account_book_user_locked(c, o->called);
    fdl_unlock(&c->lock);
    o->cpu_ns = fdl_thread_cpu_ns();
    o->waiting = fdl_now_ns();
    set_state(o, INSIDE);
    return FEEDLINE_OK;
}

/* The ledger cannot split this wait. */
static void add_wait_locked(struct fdl_watch *watch, int64_t end)
{
    struct fdl_outside *o = watch->outside;
    struct fdl_books *c = &watch->books;
    int64_t cpu = fdl_thread_id() == o->tid ? fdl_thread_cpu_ns() : o->cpu_ns;
    int64_t wait = end - o->waiting;
    o->wait_cpu_ns += FDL_MIN(cpu - o->cpu_ns, wait);
    c->ledger.wait_ns += wait;
    if (c->turn.wait_ns == 0) /* else another piece of one wait */
        c->ledger.waits++;
    fdl_notes_waited(c, o->tickets, o->waiting, end, &c->ledger);
}

static void add_step_locked(struct fdl_watch *watch, int64_t user_ns,
                            bool delivered)
{
    const struct fdl_outside *o = watch->outside;
    struct fdl_books *c = &watch->books;
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

static void count_locked(struct fdl_books *c, uint64_t samples, int64_t now)
{
    if (c->first_batch_ns == 0)
        c->first_batch_ns = now - c->started_ns;
    c->batches++;
    c->samples += samples;
}

/* The position after this call. */
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

/* Between a begin and here, its thread alone. */
static void end_call(struct fdl_watch *watch, int32_t status, uint64_t samples,
                     uint64_t bytes, int64_t end)
{
    struct fdl_outside *o = watch->outside;
    struct fdl_books *c = &watch->books;
    struct fdl_knobs knobs;
    fdl_engine_in_force(watch->engine, &knobs);
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
                 .workers = knobs.workers},
    };
    fdl_lock(&c->lock);
    o->waiting = FDL_MIN(fdl_account_since_locked(c, o->waiting), end);
    call.wait_ns = end - o->waiting;
    add_wait_locked(watch, end);
    add_step_locked(watch, o->called - c->returned_ns, delivered);
    if (delivered)
        count_locked(c, samples, end);
    int64_t now = fdl_account_add_locked(c, &call);
    fdl_unlock(&c->lock);
    if (delivered)
        fdl_notes_returned(c, o->tickets, now, call.wait_ns);
    /* Not earlier: a first call that forks finds no thread of ours. */
    if (!o->watching)
        fdl_monitor_start(watch->monitor); /* works without it, too */
    o->watching = true;
    move_on(o, status);
    fdl_account_refused(c);
    set_state(o, OUT);
}

static int32_t no_begin(void)
{
    return fdl_fail(FEEDLINE_ESTATE, "no call of next is in progress: "
                                     "call feedline_watch_begin first");
}

int32_t fdl_outside_end(struct fdl_watch *watch, int32_t status,
                        uint64_t samples, uint64_t bytes)
{
    int64_t end = fdl_now_ns();
    if (!turn(watch->outside, INSIDE))
        return no_begin();
    end_call(watch, status, samples, bytes, end);
    return FEEDLINE_OK;
}

int32_t fdl_outside_end_at(struct fdl_watch *watch, int32_t status,
                           uint64_t samples, uint64_t bytes, int64_t began,
                           int64_t ended)
{
    struct fdl_outside *o = watch->outside;
    if (!turn(o, INSIDE))
        return no_begin();
    if (began < o->waiting || ended < began || ended > fdl_now_ns()) {
        set_state(o, INSIDE);
        return fdl_fail(FEEDLINE_EINVAL,
                        "began and ended are nanoseconds of CLOCK_MONOTONIC "
                        "since feedline_watch_begin, in that order");
    }
    o->waiting = began;
    end_call(watch, status, samples, bytes, ended);
    return FEEDLINE_OK;
}

/* ---- What its workers do ------------------------------------------------- */

int32_t fdl_outside_spent(struct fdl_watch *watch, const char *what,
                          int64_t wall_ns, int64_t cpu_ns)
{
    if (cpu_ns < 0 || cpu_ns > wall_ns)
        return fdl_fail(FEEDLINE_EINVAL,
                        "of %" PRId64 " ns, %" PRId64 " on a core: it must be "
                        "0 <= cpu_ns <= wall_ns",
                        wall_ns, cpu_ns);
    fdl_lock(&watch->books.lock);
    fdl_functions_add(&watch->outside->functions, what, wall_ns, cpu_ns);
    fdl_unlock(&watch->books.lock);
    return FEEDLINE_OK;
}

int32_t fdl_outside_idle(struct fdl_watch *watch, int64_t idle_ns)
{
    if (idle_ns < 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%" PRId64 " ns: a time is not below 0", idle_ns);
    fdl_lock(&watch->books.lock);
    fdl_functions_add_idle(&watch->outside->functions, idle_ns);
    fdl_unlock(&watch->books.lock);
    return FEEDLINE_OK;
}

/* ---- Evidence ------------------------------------------------------------ */

/* What was told of the workers' time, ns. */
struct heard {
    int64_t all, idle;
};

/* Of the workers' time; what is not known to be idle is work. */
static double idle_part(struct heard heard)
{
    bool enough = heard.all >= FDL_FUNCTIONS_LEAST_NS;
    return enough ? (double)heard.idle / (double)heard.all : 0;
}

/* The costliest function has a part of what was told of work: the same part of
 * the workers' work. What a sample takes stays what it is. */
static void scale_operation(double busy, struct heard heard,
                            struct fdl_evidence *out)
{
    if (!out->op.name || heard.all <= heard.idle)
        return;
    double scale = busy / (double)(heard.all - heard.idle);
    out->op.wall_ns = (int64_t)((double)out->op.wall_ns * scale);
    out->op.cpu_ns = (int64_t)((double)out->op.cpu_ns * scale);
    out->op.samples = (uint64_t)((double)out->op.samples * scale);
    out->custom_ns = out->op.wall_ns;
}

/* Its workers are processes, and the kernel's counters divide the time for
 * which they have work as they do that of threads. */
static void add_workers(const struct fdl_watched *w, struct heard heard,
                        struct fdl_evidence *out)
{
    double scale = (double)out->wall_ns / (double)w->seconds_ns;
    double all = out->workers * (double)out->wall_ns;
    double busy = all * (1 - idle_part(heard));
    double cpu = FDL_MIN((double)w->children_ns * scale, busy);
    double queued = FDL_MIN((double)w->children_queued_ns * scale, busy - cpu);
    out->worker_busy_ns = (int64_t)busy;
    out->worker_cpu_ns = (int64_t)cpu;
    out->worker_runq_ns = (int64_t)queued;
    out->worker_sleep_ns = (int64_t)(busy - cpu - queued);
    out->worker_blocked_ns = (int64_t)(all - busy);
    scale_operation(busy, heard, out);
    /* A process costs memory: doubling them is a step whose effect shows. */
    out->workers_max = FDL_MAX(2 * out->workers, out->cpus_usable);
    out->workers_auto = false;
}

static void add_processes(const struct fdl_watched *w, struct heard heard,
                          struct fdl_evidence *out)
{
    double seconds = (double)w->seconds_ns;
    out->outside_process_cores = (double)w->children_ns / seconds;
    if (w->n_children == 0)
        return;
    out->outside_queued = FDL_MIN(
        (double)w->children_queued_ns / seconds / (double)w->n_children, 1.0);
    if (out->outside_cores > 0) /* those are its own */
        out->outside_cores =
            FDL_MAX(out->outside_cores - out->outside_process_cores, 0.0);
    if (out->workers > 0)
        add_workers(w, heard, out);
}

void fdl_outside_evidence(struct fdl_watch *watch, const struct fdl_watched *w,
                          struct fdl_evidence *out)
{
    const struct fdl_outside *o = watch->outside;
    out->outside = o->name;
    out->outside_option = o->option[0] ? o->option : NULL;
    out->outside_processes = w->n_children;
    out->outside_queued = w->consumer_queued;
    out->memory_limited = false;
    fdl_lock(&watch->books.lock);
    out->wait_cpu_ns = o->wait_cpu_ns;
    struct heard heard = {o->functions.all_ns, o->functions.idle_ns};
    fdl_unlock(&watch->books.lock);
    if (w->seconds_ns > 0)
        add_processes(w, heard, out);
}
