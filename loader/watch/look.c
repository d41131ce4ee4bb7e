/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All values are cumulative since the last reset, so what the kernel reports
 * late is still attributed, and probes may run at any interval.
 *
 *   cpu       the thread's CPU clock; of an ended one, its final value
 *   runq      schedstat. If the kernel does not count it: whatever was neither
 *             on a core nor in a custom operation, since decoders never sleep
 *   throttle  as much of the run queue time as the group's throttled time
 *             explains. The kernel counts that once for each core it stops, and
 *             a delay once for each thread that wanted it, so it explains more
 *             if threads outnumber those cores; the least number of cores that
 *             the throttled time needs is assumed
 *   sleep     the rest
 *
 * A worker that reads files itself (reader=memory) spends CPU time on that too;
 * its numbers are divided between reading and work as its time is.
 */
#include "loader/watch/look.h"

#include "base/compiler.h"
#include "base/status.h"
#include "loader/options.h"
#include "loader/stream/snapshot.h"
#include "loader/watch/books.h"
#include "loader/watch/worker_books.h"
#include "profiler/measure/read_history.h"

#include <stdlib.h>
#include <string.h>

#define SECOND_NS INT64_C(1000000000)

/* One worker: sums over all of its threads, and those at the reset. */
struct counts {
    int64_t work, read, cpu, runq, custom_sleep;
    uint64_t voluntary, involuntary;
};

struct seen {
    int32_t tid; /* its numbers are in `live`; 0: none */
    struct fdl_thread_signals live;
    int64_t past_runq; /* of threads before that one */
    uint64_t past_voluntary, past_involuntary;
    struct counts sum, zero;
};

struct fdl_look {
    const struct fdl_engine *engine;
    struct fdl_books *books;
    struct fdl_worker_books *const *workers;
    struct fdl_signals *signals;
    struct seen *seen; /* [FDL_MAX_WORKERS] */
    struct fdl_watched watched;

    int64_t begin; /* of the watched time */
    int64_t last;
    int64_t last_second;
    int64_t last_active; /* work + read of all workers at the last probe */
    uint64_t last_throttled;
    double explained; /* run queue time that throttling explains, ns */
    int64_t last_prep, last_worker_wait;
    struct fdl_read_history reads;
    struct fdl_gap_throttle gaps;
    int32_t consumer_tid;
    uint64_t consumer_cpu, consumer_runq;
    struct fdl_foreign_thread before[FDL_FOREIGN_MAX]; /* a second ago */
    uint32_t n_before;
    uint64_t children_cpu, children_runq; /* at the last probe */
};

/* ---- One worker --------------------------------------------------------- */

static int64_t custom_sleep(const struct fdl_worker_books *w)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < w->n_customs; i++) {
        const struct fdl_custom_stage *s = &w->customs[i];
        sum += (int64_t)atomic_load_explicit(&s->stage.busy_ns,
                                             memory_order_relaxed) -
               (int64_t)atomic_load_explicit(&s->cpu_ns, memory_order_relaxed);
    }
    return FDL_MAX(sum, INT64_C(0));
}

/* Keeps the numbers of an ended thread. */
static void bury(struct seen *s)
{
    s->past_runq += (int64_t)s->live.runq_ns;
    s->past_voluntary += s->live.voluntary;
    s->past_involuntary += s->live.involuntary;
    s->live = (struct fdl_thread_signals){0};
    s->tid = 0;
}

static bool still_runs(const struct fdl_look *k, uint32_t worker, int32_t tid)
{
    struct fdl_worker_thread now;
    fdl_engine_worker_thread(k->engine, worker, &now);
    return now.tid == tid;
}

static void look_at_thread(struct fdl_look *k, uint32_t worker, struct seen *s)
{
    struct fdl_thread_signals t;
    struct fdl_worker_thread thread;
    fdl_engine_worker_thread(k->engine, worker, &thread);
    int64_t cpu = (int64_t)thread.past_cpu_ns;
    int32_t tid = thread.tid;
    if (s->tid != tid && s->tid != 0)
        bury(s);
    if (tid != 0 && fdl_signals_thread(k->signals, tid, &t) &&
        still_runs(k, worker, tid)) {
        s->tid = tid;
        s->live = t;
        cpu += (int64_t)t.cpu_ns;
        k->watched.has_runq |= t.has_runq;
    }
    s->sum.cpu = FDL_MAX(s->sum.cpu, cpu);
    s->sum.runq = s->past_runq + (int64_t)s->live.runq_ns;
    s->sum.voluntary = s->past_voluntary + s->live.voluntary;
    s->sum.involuntary = s->past_involuntary + s->live.involuntary;
}

static void look_at_worker(struct fdl_look *k, uint32_t worker, int64_t now)
{
    struct seen *s = &k->seen[worker];
    struct fdl_spent_times spent;
    look_at_thread(k, worker, s);
    fdl_engine_worker_spent(k->engine, worker, now, &spent);
    /* An open span may turn out to have been something else. */
    s->sum.work = FDL_MAX(s->sum.work, spent.ns[FDL_SPENT_WORK]);
    s->sum.read = FDL_MAX(s->sum.read, spent.ns[FDL_SPENT_READ]);
    s->sum.custom_sleep = custom_sleep(k->workers[worker]);
}

/* The part of ns that belongs to work, of work and reading. */
static int64_t of_work(int64_t ns, int64_t work, int64_t read)
{
    if (read <= 0)
        return ns;
    return (int64_t)((double)ns * ((double)work / (double)(work + read)));
}

/* How the worker's busy time divides, since the reset. */
static void guess_worker(const struct fdl_look *k, const struct seen *s,
                         int64_t guess[FDL_BUSY_KINDS])
{
    int64_t work = s->sum.work - s->zero.work;
    int64_t read = s->sum.read - s->zero.read;
    int64_t cpu = of_work(s->sum.cpu - s->zero.cpu, work, read);
    int64_t runq = of_work(s->sum.runq - s->zero.runq, work, read);
    if (!k->watched.has_runq)
        runq = work - cpu - (s->sum.custom_sleep - s->zero.custom_sleep);
    fdl_busy_split_guess(work, cpu, runq, guess);
}

/* Sums over all workers. */
static void look_at_workers(struct fdl_look *k, int64_t now,
                            int64_t guess[FDL_BUSY_KINDS], int64_t *active)
{
    uint32_t n = fdl_engine_worker_count(k->engine);
    k->watched.voluntary = k->watched.involuntary = 0;
    *active = 0;
    for (uint32_t i = 0; i < n; i++)
        look_at_worker(k, i, now);
    for (uint32_t i = 0; i < n; i++) {
        const struct seen *s = &k->seen[i];
        int64_t one[FDL_BUSY_KINDS];
        guess_worker(k, s, one);
        for (uint32_t j = 0; j < FDL_BUSY_KINDS; j++)
            guess[j] += one[j];
        *active += s->sum.work + s->sum.read;
        k->watched.voluntary += s->sum.voluntary - s->zero.voluntary;
        k->watched.involuntary += s->sum.involuntary - s->zero.involuntary;
    }
}

/* ---- The quota ---------------------------------------------------------- */

/* active: busy time of the workers since the last probe. */
static void explain_delays(struct fdl_look *k, int64_t active, int64_t span)
{
    const struct fdl_system_signals *s = &k->watched.system;
    double throttled = (double)(s->throttled_ns - k->last_throttled);
    k->last_throttled = s->throttled_ns;
    if (span <= 0 || throttled <= 0)
        return;
    double busy = (double)active / (double)span; /* workers */
    double cores = 1;
    while (cores * (double)span < throttled)
        cores++;
    k->explained += throttled * FDL_MAX(busy / cores, 1.0);
}

/* ---- Other threads of the process --------------------------------------- */

static uint64_t cpu_before(const struct fdl_look *k, int32_t tid)
{
    for (uint32_t i = 0; i < k->n_before; i++)
        if (k->before[i].tid == tid)
            return k->before[i].cpu_ns;
    return 0;
}

/* Fraction of `span`; -1 if the counter was reset. */
static double queued_part(uint64_t before, uint64_t now, int64_t span)
{
    if (now < before || span <= 0)
        return -1;
    return FDL_MIN((double)(now - before) / (double)span, 1.0);
}

static void look_at_consumer(struct fdl_look *k, int64_t now, bool counts)
{
    struct fdl_thread_signals t;
    int32_t tid = atomic_load_explicit(&k->books->tid, memory_order_relaxed);
    bool same = tid == k->consumer_tid;
    k->consumer_tid = tid;
    if (tid == 0 || !fdl_signals_thread(k->signals, tid, &t)) {
        k->consumer_cpu = 0;
        return;
    }
    if (counts && same && t.cpu_ns > k->consumer_cpu)
        k->watched.consumer_ns += (int64_t)(t.cpu_ns - k->consumer_cpu);
    if (counts && same && t.has_runq)
        k->watched.consumer_queued =
            queued_part(k->consumer_runq, t.runq_ns, now - k->last_second);
    k->consumer_cpu = t.cpu_ns;
    k->consumer_runq = t.runq_ns;
}

/* The kernel's helper for a thread with an io_uring, which the reader has. */
static bool is_ring_worker(const struct fdl_foreign_thread *t)
{
    return strncmp(t->name, "iou-", 4) == 0;
}

/* A watched loader's workers may be processes. */
static void look_at_children(struct fdl_look *k, bool counts)
{
    struct fdl_watched *w = &k->watched;
    struct fdl_children_signals c;
    if (!fdl_engine_stands_in(k->engine))
        return;
    fdl_signals_children(k->signals, &c);
    if (counts && c.cpu_ns > k->children_cpu)
        w->children_ns += (int64_t)(c.cpu_ns - k->children_cpu);
    /* It falls when one of them ends. */
    if (counts && c.queued_ns > k->children_runq)
        w->children_queued_ns += (int64_t)(c.queued_ns - k->children_runq);
    k->children_cpu = c.cpu_ns;
    k->children_runq = c.queued_ns;
    w->n_children = FDL_MAX(w->n_children, c.processes);
}

/* counts: otherwise this is only where counting begins. */
static void look_at_others(struct fdl_look *k, int64_t now, bool counts)
{
    struct fdl_watched *w = &k->watched;
    uint64_t most = 0;
    w->n_foreign = fdl_signals_foreign(k->signals, w->foreign);
    look_at_consumer(k, now, counts);
    look_at_children(k, counts);
    for (uint32_t i = 0; counts && i < w->n_foreign; i++) {
        const struct fdl_foreign_thread *t = &w->foreign[i];
        uint64_t before = cpu_before(k, t->tid);
        uint64_t cpu = t->cpu_ns > before ? t->cpu_ns - before : 0;
        if (t->tid == k->consumer_tid || is_ring_worker(t))
            continue;
        w->foreign_ns += (int64_t)cpu;
        if (cpu > most)
            memcpy(w->foreign_name, t->name, sizeof(t->name));
        most = FDL_MAX(most, cpu);
    }
    memcpy(k->before, w->foreign, w->n_foreign * sizeof(*w->foreign));
    k->n_before = w->n_foreign;
    k->last_second = now;
}

/* ---- Reads --------------------------------------------------------------- */

static void look_at_reads(struct fdl_look *k, int64_t now)
{
    struct fdl_watched *w = &k->watched;
    struct fdl_read_sums sums;
    fdl_engine_read_sums(k->engine, &sums);
    sums.time_ns = now;
    fdl_read_history_add(&k->reads, &sums);
    w->read_rate_now = k->reads.rate_now;
    w->has_growth = fdl_read_history_growth(&k->reads, &w->rate_by_depth,
                                            &w->latency_by_depth);
}

/* ---- The whole ---------------------------------------------------------- */

static void look_at_gaps(struct fdl_look *k, int64_t now)
{
    struct fdl_books *c = k->books;
    fdl_lock(&c->lock);
    int64_t gap_ns = c->notable.gaps.total_ns;
    fdl_unlock(&c->lock);
    fdl_gap_throttle_look(&k->gaps, now, k->watched.system.throttled_ns,
                          gap_ns);
    k->watched.gap_throttled_ns = k->gaps.quota_ns;
}

static void read_ledger(struct fdl_look *k, int64_t *prep, int64_t *worker_wait)
{
    struct fdl_books *c = k->books;
    fdl_lock(&c->lock);
    *prep = c->ledger.ns[FDL_BUCKET_PREP];
    *worker_wait = c->ledger.ns[FDL_BUCKET_WORKER_WAIT];
    fdl_unlock(&c->lock);
}

void fdl_look_now(struct fdl_look *k, int64_t now)
{
    struct fdl_watched *w = &k->watched;
    int64_t guess[FDL_BUSY_KINDS] = {0};
    int64_t delta[FDL_BUSY_KINDS];
    int64_t active, prep, worker_wait;
    read_ledger(k, &prep, &worker_wait);
    look_at_workers(k, now, guess, &active);
    fdl_signals_read(k->signals, &w->system);
    look_at_gaps(k, now);
    explain_delays(k, active - k->last_active, now - k->last);
    fdl_busy_split_throttle(guess, (int64_t)FDL_MIN(k->explained, 9e18));
    fdl_busy_split_advance(w->work, guess, delta);
    fdl_busy_split_add(w->prep, prep - k->last_prep, delta);
    fdl_busy_split_add(w->worker_wait, worker_wait - k->last_worker_wait,
                       delta);
    k->last_active = active;
    k->last_prep = prep;
    k->last_worker_wait = worker_wait;
    k->last = now;
    w->span_ns = now - k->begin;
    if (now - k->last_second >= SECOND_NS) {
        look_at_others(k, now, true);
        look_at_reads(k, now);
        w->seconds_ns = now - k->begin;
    }
}

const struct fdl_watched *fdl_look_watched(const struct fdl_look *k)
{
    return &k->watched;
}

void fdl_look_reset(struct fdl_look *k, int64_t now)
{
    struct fdl_watched *w = &k->watched;
    bool has_runq = w->has_runq;
    uint32_t n = fdl_engine_worker_count(k->engine);
    memset(w, 0, sizeof(*w));
    k->gaps.quota_ns = k->gaps.gap_ns = 0; /* gaps are reset too */
    w->has_runq = has_runq;
    w->consumer_queued = -1;
    k->last_active = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct seen *s = &k->seen[i];
        look_at_worker(k, i, now);
        s->zero = s->sum;
        k->last_active += s->sum.work + s->sum.read;
    }
    fdl_signals_read(k->signals, &w->system);
    w->zero = w->system;
    k->last_throttled = w->system.throttled_ns;
    k->explained = 0;
    read_ledger(k, &k->last_prep, &k->last_worker_wait);
    k->begin = k->last = now;
    look_at_others(k, now, false);
    look_at_reads(k, now);
}

int32_t fdl_look_create(const struct fdl_engine *engine,
                        struct fdl_books *books,
                        struct fdl_worker_books *const *workers,
                        struct fdl_look **out)
{
    struct fdl_look *k = calloc(1, sizeof(*k));
    if (!k)
        return fdl_fail_memory(sizeof(*k), "a probe of a loader");
    k->engine = engine;
    k->books = books;
    k->workers = workers;
    k->seen = calloc(FDL_MAX_WORKERS, sizeof(*k->seen));
    int32_t status = k->seen
                         ? fdl_signals_open("", &k->signals)
                         : fdl_fail_memory(FDL_MAX_WORKERS * sizeof(*k->seen),
                                           "a probe of workers");
    if (status < 0) {
        fdl_look_destroy(k);
        return status;
    }
    *out = k;
    return FEEDLINE_OK;
}

void fdl_look_destroy(struct fdl_look *k)
{
    if (!k)
        return;
    fdl_signals_close(k->signals);
    free(k->seen);
    free(k);
}
