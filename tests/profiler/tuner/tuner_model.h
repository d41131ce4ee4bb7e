/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loader without samples, for the tests of the tuner: batches are a fluid
 * that workers make and the consumer takes. Just enough of one to see each rule
 * at work; bench/sim is the real model.
 *
 *     TEST_WITH(a_case, model_reset, model_end)
 *     {
 *         limits.workers_max = 8; // where the usual ones will not do
 *         model_begin(cores, workers, work_ms, step_ms);
 *         ...
 */
#ifndef FDL_TESTS_TUNER_MODEL_H
#define FDL_TESTS_TUNER_MODEL_H

#include "dice.h"
#include "profiler/tuner/tuner.h"
#include "test.h"

#include <math.h>
#include <string.h>

#define MODEL_SIZE 32u

/* The loader of a case, and its limits. */
static struct tuner_model {
    struct fdl_tuner *tuner;
    struct fdl_knobs knobs;
    struct fdl_tuner_reading r;
    double work, share; /* of a worker for a batch; on a core */
    double g, g_noise;
    double cores;       /* for workers */
    double kappa;       /* more work for each further worker */
    double reads_limit; /* batches per ns that storage gives; 0: any */
    double read_ns;
    double window_limit; /* batches per ns for each one of depth; 0: any */
    double slow_below;   /* with fewer workers than this its steps take */
    double slow;         /* so much longer; 0: none */
    double bandwidth;    /* batches per ns, however many reads; 0: any */
    double making;       /* of a device, to decode a batch; 0: it does not */
    double others;       /* cores that others use, of the machine */
    bool silent;         /* waits for the lock look like sleep */
    double held;      /* of the work for a batch, with a lock that all share */
    double bad_above; /* more workers than this have this pace; 0: none */
    double bad;
    double stock;
    uint32_t most_workers;
    struct dice noise;
    bool watch; /* mode observe */
} m;
static struct fdl_tuner_limits limits;

static inline struct fdl_tuner_limits model_limits(double cores)
{
    return (struct fdl_tuner_limits){.workers_min = 1,
                                     .workers_max = 64,
                                     .depth_min = 1,
                                     .depth_max = 64,
                                     .io_depth_min = 1,
                                     .io_depth_max = 256,
                                     .cores = cores,
                                     .target = 0.01};
}

static inline void model_reset(void)
{
    limits = model_limits(0);
}

static inline void model_begin(double cores, uint32_t workers, double work_ms,
                               double g_ms)
{
    memset(&m, 0, sizeof(m));
    limits.cores = cores;
    m.knobs = (struct fdl_knobs){workers, 12, 16};
    m.work = 1e6 * work_ms;
    m.g = 1e6 * g_ms;
    m.share = 1;
    m.cores = cores;
    m.g_noise = 0.02;
    m.r.batch_size = MODEL_SIZE;
    m.tuner = fdl_tuner_create(&limits, &m.knobs, false);
    assert_non_null(m.tuner);
}

/* Batches per ns that its workers make. */
static inline double model_pace(void)
{
    double n = (double)m.knobs.workers;
    double work = m.work * (1 + m.kappa * (n - 1));
    double pace = fmin(n, m.cores / m.share) / work;
    if (m.held > 0)
        pace = fmin(pace, 1 / m.held);
    if (m.bad_above > 0 && n > m.bad_above)
        pace *= m.bad;
    if (m.reads_limit > 0)
        pace = fmin(pace, m.reads_limit * (double)m.knobs.io_depth);
    if (m.bandwidth > 0)
        pace = fmin(pace, m.bandwidth);
    if (m.making > 0)
        pace = fmin(pace, 1 / m.making);
    if (m.window_limit > 0)
        pace = fmin(pace, m.window_limit * (double)m.knobs.depth);
    return pace;
}

static inline void model_workers(double ns, double made)
{
    double n = (double)m.knobs.workers;
    double work = made * m.work * (1 + m.kappa * (n - 1));
    double all = n * ns, wanted = fmin(n, m.cores / m.share) * ns;
    double queue = all - wanted;
    double idle = fmax(0, wanted - work);
    bool full = m.stock >= (double)m.knobs.depth - 1e-9;
    if (!full && m.bad_above > 0 && n > m.bad_above) {
        work = wanted; /* that is what takes them so long */
        idle = 0;
    }
    if (!full && m.held > 0) {
        m.r.work_ns += (int64_t)idle;
        m.r.lock_ns += m.silent ? 0 : (int64_t)idle;
        idle = 0;
    }
    m.r.cpu_ns += (int64_t)(work * m.share);
    m.r.host_busy_ns += (int64_t)(work * m.share + m.others * ns);
    m.r.runq_ns += (int64_t)queue;
    m.r.work_ns += (int64_t)(work + queue);
    if (full || (m.reads_limit <= 0 && m.bandwidth <= 0))
        m.r.blocked_ns += (int64_t)idle;
    else
        m.r.starved_ns += (int64_t)idle;
}

/* Time goes by; what is made in it. */
static inline void model_run(double ns)
{
    double room = (double)m.knobs.depth - m.stock;
    double made = fmin(model_pace() * ns, fmax(room, 0));
    m.stock += made;
    model_workers(ns, made);
    m.r.samples += (uint64_t)llround(made * MODEL_SIZE);
    m.r.make_ns += (int64_t)(made * m.making);
    m.r.now_ns += (int64_t)ns;
    if (m.bandwidth > 0) /* all reads share it */
        m.read_ns = m.knobs.io_depth / (model_pace() * MODEL_SIZE);
    if (m.read_ns > 0) {
        m.r.reads += (uint64_t)llround(made * MODEL_SIZE);
        m.r.read_ns += (int64_t)(made * MODEL_SIZE * m.read_ns);
    }
}

static inline void model_tell(void)
{
    struct fdl_knobs want;
    m.r.ready = (uint32_t)m.stock;
    m.r.outstanding = m.knobs.depth;
    fdl_tuner_observe(m.tuner, &m.r);
    if (m.knobs.workers > m.most_workers)
        m.most_workers = m.knobs.workers;
    if (!fdl_tuner_propose(m.tuner, &want))
        return;
    if (!m.watch)
        m.knobs = want;
    fdl_tuner_applied(m.tuner, &m.knobs, m.watch);
}

static inline void model_step(void)
{
    double g = m.g * (1 + m.g_noise * dice_between(&m.noise, -1, 1));
    if (m.slow_below > 0 && m.knobs.workers < m.slow_below)
        g *= m.slow;
    double wait = m.stock < 1 ? (1 - m.stock) / model_pace() : 0;
    model_run(wait);
    m.r.wait_ns += (int64_t)wait;
    if (m.reads_limit > 0 || m.bandwidth > 0)
        m.r.wait_fetch_ns += (int64_t)wait;
    m.stock = fmax(m.stock - 1, 0);
    ++m.r.batches;
    m.r.copied_batches = m.r.batches;
    model_tell();
    model_run(g);
    m.r.user_ns += (int64_t)g;
}

static inline void model_steps(unsigned n)
{
    for (unsigned i = 0; i < n; ++i)
        model_step();
}

static inline struct fdl_tuner_status model_status(void)
{
    struct fdl_tuner_status s;
    fdl_tuner_get(m.tuner, &s);
    return s;
}

/* How many decisions have this reason, and this outcome; -1: any. */
static inline unsigned model_count(int reason, int outcome)
{
    struct fdl_decision d;
    unsigned n = 0;
    for (uint64_t id = 0; id < model_status().decisions; ++id)
        n += fdl_tuner_decision(m.tuner, id, &d) &&
             (reason < 0 || (int)d.reason == reason) &&
             (outcome < 0 || (int)d.outcome == outcome);
    return n;
}

/* Prints what was decided. */
static inline void model_end(void)
{
    struct fdl_decision d;
    if (!m.tuner)
        return;
    for (uint64_t id = 0; id < model_status().decisions; ++id)
        if (fdl_tuner_decision(m.tuner, id, &d))
            printf("%6llu %s %lld -> %lld %s %s %+.3f %+.3f stall %.3f -> "
                   "%.3f: %s\n",
                   (unsigned long long)d.batch, fdl_knob_name(d.knob),
                   (long long)d.before, (long long)d.after,
                   fdl_reason_name(d.reason), fdl_outcome_name(d.outcome),
                   d.predicted, d.measured, d.stall_before, d.stall_after,
                   d.why);
    fdl_tuner_destroy(m.tuner);
    m.tuner = NULL;
}

/* As if somebody had set it. */
static inline void model_set_depth(uint32_t depth)
{
    m.knobs.depth = depth;
    fdl_tuner_applied(m.tuner, &m.knobs, false);
}

#endif
