/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reading of a running loader, for the tuner.
 *
 * Most of it is counters that exist anyway. Statistics may be reset at any
 * time, and their counters restart: the sums from before are added, so for the
 * tuner everything only grows. The workers' CPU clocks are read here; how long
 * they queued for a core the monitor reads four times a second, as that takes
 * several files per worker. Tails are over recent values, and computed twice a
 * second: a histogram per worker has to be added up.
 */
#include "base/clock.h"
#include "base/compiler.h"
#include "loader/order/sampler.h"
#include "loader/stream/snapshot.h"
#include "loader/tune/control_own.h"
#include "loader/watch/stats.h"

#include <string.h>
#include <time.h>

#define SLOW_NS INT64_C(500000000)

/* Quantiles, and the least number of values for them. */
#define SAMPLE_QUANTILE 0.999
#define SAMPLES         4096u
#define READ_QUANTILE   0.99
#define READS           1024u

/* ---- Tails --------------------------------------------------------------- */

void fdl_recent_add(struct fdl_recent *r, const struct fdl_histogram *now,
                    uint64_t enough, double quantile)
{
    uint64_t n = fdl_histogram_total(now);
    if (n < r->n_newer) { /* it was reset; keep the previous tail */
        memset(&r->older, 0, sizeof(r->older));
        memset(&r->newer, 0, sizeof(r->newer));
        r->n_newer = 0;
    }
    struct fdl_histogram recent;
    memset(&recent, 0, sizeof(recent));
    fdl_histogram_merge(&recent, now);
    fdl_histogram_subtract(&recent, &r->older);
    bool few = n - r->n_newer < enough;
    if (r->n_newer > 0 || r->tail == 0 || !few)
        r->tail = fdl_histogram_quantile(&recent, quantile);
    if (few)
        return;
    r->older = r->newer;
    memset(&r->newer, 0, sizeof(r->newer));
    fdl_histogram_merge(&r->newer, now);
    r->n_newer = n;
}

static void read_tails(struct fdl_control *c)
{
    struct fdl_meter *m = &c->meter;
    uint32_t n = fdl_engine_worker_count(c->engine);
    memset(&m->now, 0, sizeof(m->now));
    for (uint32_t i = 0; i < n; i++)
        fdl_histogram_merge(&m->now, &c->watch->workers[i]->whole);
    fdl_recent_add(&m->samples, &m->now, SAMPLES, SAMPLE_QUANTILE);

    memset(&m->now, 0, sizeof(m->now));
    fdl_engine_add_read_times(c->engine, &m->now);
    fdl_recent_add(&m->reads, &m->now, READS, READ_QUANTILE);
}

/* ---- The consumer -------------------------------------------------------- */

/* Since the loader was made, resets or not. */
static void read_ledger_locked(const struct fdl_books *c,
                               struct fdl_tuner_reading *r)
{
    int64_t ns[FDL_BUCKETS];
    for (uint32_t i = 0; i < FDL_BUCKETS; i++)
        ns[i] = c->past.ns[i] + c->ledger.ns[i];
    r->wait_ns = c->past.wait_ns + c->ledger.wait_ns;
    r->wait_fetch_ns = ns[FDL_BUCKET_FETCH] + ns[FDL_BUCKET_FETCH_QUEUE];
    r->wait_transfer_ns =
        ns[FDL_BUCKET_TRANSFER] + ns[FDL_BUCKET_TRANSFER_QUEUE];
}

static void read_consumer(struct fdl_control *control, int64_t now,
                          struct fdl_tuner_reading *r, uint32_t *resets)
{
    struct fdl_books *c = &control->watch->books;
    fdl_lock(&c->lock);
    *resets = c->resets;
    r->batches = c->past.batches + c->batches;
    r->user_ns = c->past.user_ns + c->user_ns;
    r->api_ns = c->past.api_ns + c->api_ns;
    read_ledger_locked(c, r);
    int64_t returned = c->returned_ns;
    fdl_unlock(&c->lock);
    bool inside = atomic_load_explicit(&c->inside, memory_order_relaxed) != 0;
    r->away_ns = inside ? 0 : FDL_MAX(now - returned, INT64_C(0));
}

/* ---- Counters that begin anew -------------------------------------------- */

/* A reset of the statistics loses what came since the last tick. */
static void for_each(struct fdl_meter_sums *to,
                     void (*visit)(int64_t *to, int64_t x),
                     const struct fdl_meter_sums *x)
{
    visit(&to->idle_ns, x->idle_ns);
    visit(&to->span_ns, x->span_ns);
    visit(&to->copy_ns, x->copy_ns);
    visit(&to->copied, x->copied);
    visit(&to->make_ns, x->make_ns);
    visit(&to->runq_ns, x->runq_ns);
    visit(&to->throttle_ns, x->throttle_ns);
}

static void add(int64_t *to, int64_t x)
{
    *to += x;
}

static void raise_to(int64_t *to, int64_t x)
{
    *to = FDL_MAX(*to, x);
}

static void read_device(const struct fdl_control *c, struct fdl_meter_sums *s)
{
    struct fdl_device_ledger ledger;
    if (!fdl_engine_has_device(c->engine))
        return;
    fdl_device_watch_get(c->watch->device, &ledger);
    s->idle_ns = ledger.idle_ns;
    s->span_ns = ledger.span_ns;
    s->copy_ns = ledger.copy_ns;
    s->copied = (int64_t)ledger.batches;
    s->make_ns = ledger.make_ns;
}

/*
 * The kernel counts a thread's delays whatever it did, including those of
 * waking up when there is work again, or room. They are assumed to be as
 * frequent while busy as otherwise: with many idle workers on a busy machine,
 * most of the delay does not belong to a sample, and would make samples look
 * cheaper than they are. Between two probes the rate is extrapolated.
 */
static void spread_delays(struct fdl_delays *d, const struct fdl_watched *w,
                          const struct fdl_meter_sums *sum,
                          struct fdl_tuner_reading *out)
{
    int64_t idle = out->blocked_ns + out->starved_ns;
    double more = (double)FDL_MAX(out->work_ns - d->work_ns, INT64_C(0));
    double rest = (double)FDL_MAX(idle - d->idle_ns, INT64_C(0));
    if (w->span_ns != d->looked_ns && more > 0) {
        double share = more / (more + rest);
        double runq = share * (double)(sum->runq_ns - d->all_runq_ns);
        double throttle =
            share * (double)(sum->throttle_ns - d->all_throttle_ns);
        *d = (struct fdl_delays){
            .looked_ns = w->span_ns,
            .work_ns = out->work_ns,
            .idle_ns = idle,
            .all_runq_ns = sum->runq_ns,
            .all_throttle_ns = sum->throttle_ns,
            .runq_ns = d->runq_ns + (int64_t)runq,
            .throttle_ns = d->throttle_ns + (int64_t)throttle,
            .runq_rate = FDL_MIN(runq / more, 1.0),
            .throttle_rate = FDL_MIN(throttle / more, 1.0),
        };
        more = 0;
    }
    out->runq_ns = out->throttle_ns = -1;
    if (w->has_runq)
        out->runq_ns = d->runq_ns + (int64_t)(d->runq_rate * more);
    if (w->system.has_throttle)
        out->throttle_ns = d->throttle_ns + (int64_t)(d->throttle_rate * more);
}

/* The machine is probed four times a second; in between its rate is
 * extrapolated. */
static int64_t host_busy(struct fdl_host_busy *h, const struct fdl_watched *w,
                         int64_t now)
{
    int64_t busy = (int64_t)w->system.host_busy_ns;
    if (!w->system.has_host)
        return -1;
    if (busy != h->busy_ns) {
        double more = (double)(busy - h->busy_ns);
        double wall = (double)(now - h->now_ns);
        h->rate = h->now_ns > 0 && wall > 0 ? FDL_MAX(more / wall, 0.0) : 0;
        h->busy_ns = busy;
        h->now_ns = now;
    }
    int64_t since = FDL_MIN(now - h->now_ns, FDL_BEAT_NS);
    return busy + (int64_t)(h->rate * (double)since);
}

static void read_resettable(struct fdl_control *c, uint32_t resets,
                            struct fdl_tuner_reading *out)
{
    struct fdl_meter *m = &c->meter;
    struct fdl_meter_sums now = {0}, sum = {0};
    struct fdl_watched w;
    read_device(c, &now);
    fdl_monitor_get(c->watch->monitor, &w, NULL);
    now.runq_ns = w.work[FDL_BUSY_RUNQ];
    now.throttle_ns = w.work[FDL_BUSY_THROTTLE];
    if (resets != m->resets) {
        for_each(&m->past, add, &m->last);
        m->last = (struct fdl_meter_sums){0};
        m->resets = resets;
    }
    for_each(&m->last, raise_to, &now);
    for_each(&sum, add, &m->past);
    for_each(&sum, add, &m->last);
    out->idle_ns = sum.idle_ns;
    out->span_ns = sum.span_ns;
    out->copy_ns = sum.copy_ns;
    out->copied_batches = (uint64_t)sum.copied;
    out->make_ns = sum.make_ns;
    spread_delays(&m->delays, &w, &sum, out);
    out->host_busy_ns = host_busy(&m->host, &w, out->now_ns);
}

/* ---- Counters that only grow --------------------------------------------- */

/* CPU time of the thread that calls next(), which may change. */
static int64_t consumer_cpu(struct fdl_control *c)
{
    enum { PER_THREAD = 4, SCHEDULED = 2 };
    struct fdl_meter *m = &c->meter;
    struct timespec t;
    int32_t tid =
        atomic_load_explicit(&c->watch->books.tid, memory_order_relaxed);
    /* As pthread_getcpuclockid would, but from a thread's id. */
    clockid_t clock = (clockid_t)(~(uint32_t)tid << 3 | PER_THREAD | SCHEDULED);
    if (tid == 0 || clock_gettime(clock, &t) != 0)
        return m->consumer_cpu_ns;
    int64_t now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    if (tid == m->consumer_tid)
        m->consumer_cpu_ns += FDL_MAX(now - m->consumer_before_ns, INT64_C(0));
    m->consumer_tid = tid;
    m->consumer_before_ns = now;
    return m->consumer_cpu_ns;
}

/* As custom operations report when they are done with a sample. */
static int64_t waited_for_locks(const struct fdl_worker_books *w)
{
    uint64_t ns = 0;
    for (uint32_t i = 0; i < w->n_customs; i++)
        ns +=
            atomic_load_explicit(&w->customs[i].lock_ns, memory_order_relaxed);
    return (int64_t)ns;
}

static void read_workers(const struct fdl_control *c, int64_t now,
                         struct fdl_tuner_reading *r)
{
    uint32_t n = fdl_engine_worker_count(c->engine);
    for (uint32_t i = 0; i < n; i++) {
        const struct fdl_worker_books *books = c->watch->workers[i];
        struct fdl_spent_times spent;
        fdl_engine_worker_spent(c->engine, i, now, &spent);
        r->work_ns += spent.ns[FDL_SPENT_WORK] + spent.ns[FDL_SPENT_READ];
        r->blocked_ns += spent.ns[FDL_SPENT_BLOCKED];
        r->starved_ns += spent.ns[FDL_SPENT_STARVED];
        r->lock_ns += waited_for_locks(books);
        r->samples +=
            atomic_load_explicit(&books->decode.items, memory_order_relaxed);
    }
    r->cpu_ns = (int64_t)fdl_engine_workers_cpu_ns(c->engine);
}

static void read_reads(const struct fdl_control *c, struct fdl_tuner_reading *r)
{
    struct fdl_read_sums sums;
    fdl_engine_read_sums(c->engine, &sums);
    r->reads = sums.items;
    r->read_ns = (int64_t)sums.busy_ns;
    r->read_bytes = sums.bytes;
}

/* A book read while being written, or a sum over threads that end meanwhile,
 * may decrease minimally. */
static void keep_growing(struct fdl_tuner_reading *r,
                         struct fdl_tuner_reading *told)
{
    int64_t *const now[] = {&r->runq_ns,    &r->throttle_ns, &r->work_ns,
                            &r->cpu_ns,     &r->lock_ns,     &r->blocked_ns,
                            &r->starved_ns, &r->read_ns,     &r->host_busy_ns};
    int64_t *const before[] = {
        &told->runq_ns,    &told->throttle_ns, &told->work_ns,
        &told->cpu_ns,     &told->lock_ns,     &told->blocked_ns,
        &told->starved_ns, &told->read_ns,     &told->host_busy_ns};
    for (uint32_t i = 0; i < FDL_COUNT_OF(now); i++)
        if (*now[i] >= 0) /* known */
            *now[i] = *before[i] = FDL_MAX(*now[i], *before[i]);
}

void fdl_control_read_locked(struct fdl_control *c, int64_t now,
                             struct fdl_tuner_reading *out)
{
    struct fdl_meter *m = &c->meter;
    struct fdl_in_flight in_flight;
    struct fdl_in_use in_use;
    uint32_t resets;
    *out = (struct fdl_tuner_reading){
        .now_ns = now,
        .batch_size = fdl_engine_sampler(c->engine)->batch_size,
    };
    read_workers(c, now, out);
    read_consumer(c, now, out, &resets);
    read_resettable(c, resets, out);
    read_reads(c, out);
    out->consumer_cpu_ns = consumer_cpu(c);
    if (m->slow_ns == 0 || now - m->slow_ns >= SLOW_NS) {
        m->slow_ns = now;
        read_tails(c);
    }
    out->sample_tail_ns = m->samples.tail;
    out->read_tail_ns = m->reads.tail;
    fdl_engine_in_flight(c->engine, &in_flight);
    out->ready = in_flight.ready;
    out->outstanding = in_flight.outstanding;
    fdl_engine_in_use(c->engine, &in_use);
    out->memory_bytes = in_use.memory_bytes;
    keep_growing(out, &m->told);
}
