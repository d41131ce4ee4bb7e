/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples are read (at most io_depth at once), then worked on (at most
 * `workers` at once; a part on a core, a part asleep), and delivered in batches
 * of four. Jobs under way progress at speeds that depend on how many there are;
 * time jumps from one completion to the next.
 */
#include "bench/sim/second.h"

#include "profiler/tuner/tuner.h"

#include <math.h>
#include <string.h>

#define SIZE 4u   /* samples of a batch */
#define MOST 512u /* samples outstanding, a power of two */
#define JOBS 192u /* reads and workers at once */

enum { ABSENT = 0, WAITING, FETCHING, FETCHED, WORKING, DONE };

struct setup {
    double compute, asleep, compute_cv, pareto; /* s of a sample */
    double read, read_cv, parallel;             /* s; 0: no reads, any */
    double hiccup_part, hiccup;                 /* of reads; s longer */
    double step, step_cv;                       /* s of the consumer */
    double cores, kappa, eta, lock;
    double consumer;                          /* cores that it uses */
    double step_by, work_by, cores_by, rival; /* in the middle third */
    struct fdl_tuner_limits limits;
};

struct job {
    uint64_t sample;
    double read, compute, sleep; /* left */
};

struct world {
    struct setup s;
    uint64_t seed, next, issued, taken; /* samples: read, issued, by batches */
    uint32_t batches;
    double now, step_left; /* < 0: the consumer waits */
    struct job reads[JOBS], works[JOBS];
    uint32_t n_reads, n_works;
    unsigned char state[MOST];
    struct fdl_knobs knobs;
    struct fdl_tuner_reading r;
    double user, wait, fetch, work, cpu, queue, lock, blocked, starved;
    double read, host, own;
    double workers, depth;
};

static double chance(uint64_t seed, uint64_t stream, uint64_t i)
{
    uint64_t x = seed * 0xd1342543de82ef95u + stream * 0xaf251af3b0f025b5u + i;
    for (int k = 0; k < 3; k++) {
        x ^= x >> 32;
        x *= 0xd6e8feb86659fd93u;
    }
    return ((double)(x >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t seed, uint64_t stream, uint64_t i)
{
    return sqrt(-2 * log(chance(seed, stream, 2 * i))) *
           cos(6.283185307179586 * chance(seed, stream, 2 * i + 1));
}

static double drawn(const struct world *w, double mean, double cv,
                    uint64_t stream, uint64_t i)
{
    double v = log1p(cv * cv);
    return mean * exp(sqrt(v) * normal(w->seed, stream, i) - v / 2);
}

/* ---- What it is like ---------------------------------------------------- */

static double between(uint64_t seed, uint64_t what, double a, double b)
{
    return a * pow(b / a, chance(seed, 1, what));
}

static bool rarely(uint64_t seed, uint64_t what, double p)
{
    return chance(seed, 2, what) < p;
}

static void draw_storage(struct setup *s, uint64_t seed)
{
    double flight = between(seed, 4, 1, 60);
    s->read = flight * s->step / SIZE;
    s->read_cv = between(seed, 5, 0.1, 1);
    if (rarely(seed, 6, 0.3))
        s->parallel = ceil(flight * between(seed, 7, 0.6, 3));
    if (rarely(seed, 8, 0.3)) {
        s->hiccup_part = between(seed, 9, 0.001, 0.01);
        s->hiccup = s->step * between(seed, 10, 5, 30);
    }
    s->limits.read_bytes = 110000;
}

static void draw_phase(struct setup *s, uint64_t seed)
{
    double by = rarely(seed, 20, 0.5) ? 0.4 : 2.2;
    double *const which[] = {&s->step_by, &s->work_by, &s->cores_by};
    uint64_t i = (uint64_t)(3.999 * chance(seed, 1, 21));
    s->step_by = s->work_by = s->cores_by = 1;
    if (i < 3)
        *which[i] = by;
    else
        s->rival = 0.5 * s->cores;
}

static void draw(struct setup *s, uint64_t seed)
{
    *s = (struct setup){.step_by = 1, .work_by = 1, .cores_by = 1};
    s->step = between(seed, 1, 0.02, 0.4);
    double load = between(seed, 2, 0.3, 14) * s->step / SIZE;
    double asleep = rarely(seed, 1, 0.25) ? chance(seed, 1, 3) : 0;
    s->compute = load * (1 - asleep);
    s->asleep = load * asleep;
    s->compute_cv = between(seed, 11, 0.05, 1);
    s->step_cv = between(seed, 12, 0.01, 0.3);
    s->pareto = rarely(seed, 13, 0.15) ? between(seed, 13, 1.6, 2.6) : 0;
    s->cores = floor(between(seed, 14, 2, 18));
    s->consumer = between(seed, 15, 0.2, 1);
    s->kappa = rarely(seed, 16, 0.35) ? between(seed, 16, 0.002, 0.06) : 0;
    s->eta = rarely(seed, 17, 0.35) ? between(seed, 17, 0.05, 0.7) : 0;
    s->lock = rarely(seed, 18, 0.08) ? between(seed, 18, 0.1, 0.6) : 0;
    s->limits = (struct fdl_tuner_limits){.workers_min = 1,
                                          .workers_max = 64,
                                          .depth_min = 1,
                                          .depth_max = 64,
                                          .io_depth_min = 1,
                                          .io_depth_max = 96,
                                          .cores = s->cores,
                                          .host_cores = 64,
                                          .target = 0.01,
                                          .batch_bytes = 600000,
                                          .spare_bytes = 1200000,
                                          .worker_bytes = 4 << 20};
    if (rarely(seed, 3, 0.45))
        draw_storage(s, seed);
    if (rarely(seed, 19, 0.4))
        draw_phase(s, seed);
    if (rarely(seed, 22, 0.2)) {
        struct fdl_knobs few = {.workers = 3, .depth = 2, .io_depth = 3};
        s->limits.memory_bytes = fdl_knobs_memory(&s->limits, &few) +
                                 (uint64_t)(between(seed, 22, 1, 16) * 6e5);
    }
}

static bool middle(const struct world *w)
{
    uint64_t done = w->r.batches;
    return done >= w->batches / 3 && done < 2 * w->batches / 3;
}

static double cores_of(const struct world *w)
{
    return w->s.cores * (middle(w) ? w->s.cores_by : 1);
}

/* ---- Jobs --------------------------------------------------------------- */

static unsigned char *state_of(struct world *w, uint64_t sample)
{
    return &w->state[sample % MOST];
}

static void begin_read(struct world *w, uint64_t i)
{
    struct job *j = &w->reads[w->n_reads++];
    *j = (struct job){.sample = i,
                      .read = drawn(w, w->s.read, w->s.read_cv, 3, i)};
    if (chance(w->seed, 4, i) < w->s.hiccup_part)
        j->read += w->s.hiccup;
    *state_of(w, i) = FETCHING;
}

static void begin_work(struct world *w, uint64_t i)
{
    double by = middle(w) ? w->s.work_by : 1, a = w->s.pareto;
    double c = a > 0 ? fmin(w->s.compute * (a - 1) / a *
                                pow(chance(w->seed, 5, i), -1 / a),
                            60 * w->s.compute)
                     : drawn(w, w->s.compute, w->s.compute_cv, 5, i);
    w->works[w->n_works++] =
        (struct job){.sample = i, .compute = by * c, .sleep = by * w->s.asleep};
    *state_of(w, i) = WORKING;
}

/* The next of them in order; false: there is none. */
static bool first(struct world *w, unsigned char state, uint64_t *out)
{
    for (uint64_t i = w->taken; i < w->issued; i++)
        if (*state_of(w, i) == state) {
            *out = i;
            return true;
        }
    return false;
}

static void begin_what_can(struct world *w)
{
    uint64_t most = w->taken + (uint64_t)w->knobs.depth * SIZE, i;
    while (w->issued < most && w->issued - w->taken < MOST)
        *state_of(w, w->issued++) = w->s.read > 0 ? WAITING : FETCHED;
    while (w->n_reads < w->knobs.io_depth && w->n_reads < JOBS &&
           w->next < w->issued && w->s.read > 0)
        begin_read(w, w->next++);
    while (w->n_works < w->knobs.workers && first(w, FETCHED, &i))
        begin_work(w, i);
}

/* ---- Time --------------------------------------------------------------- */

struct speeds {
    double read, compute, share;
    double computing, locked; /* workers */
};

static struct speeds speeds_of(const struct world *w)
{
    struct speeds v = {.read = 1, .compute = 1, .share = 1};
    double left = cores_of(w) - w->s.consumer - (middle(w) ? w->s.rival : 0);
    for (uint32_t i = 0; i < w->n_works; i++)
        v.computing += w->works[i].compute > 0;
    double n = v.computing, free = fmax(left, 0.3);
    /* Of n that want the lock for a part of their work one has it. */
    if (w->s.lock * n > 1)
        v.locked = n - 1 / w->s.lock;
    n -= v.locked;
    v.share = n > free ? free / n : 1;
    if (v.computing > 0)
        v.compute =
            v.share * n / v.computing / (1 + w->s.kappa * (n > 1 ? n - 1 : 0));
    if (w->s.parallel > 0 && w->n_reads > w->s.parallel)
        v.read = w->s.parallel / w->n_reads;
    return v;
}

static double until_next(const struct world *w, const struct speeds *v)
{
    double dt = w->step_left >= 0 ? w->step_left : INFINITY;
    for (uint32_t i = 0; i < w->n_reads; i++)
        dt = fmin(dt, w->reads[i].read / v->read);
    for (uint32_t i = 0; i < w->n_works; i++) {
        const struct job *j = &w->works[i];
        dt = fmin(dt, j->compute > 0 ? j->compute / v->compute : j->sleep);
    }
    return dt;
}

static void count(struct world *w, const struct speeds *v, double dt)
{
    double works = w->n_works, running = v->computing - v->locked;
    double idle = fmax((double)w->knobs.workers - works, 0);
    uint64_t any;
    bool late = w->n_reads > 0 || first(w, WAITING, &any);
    w->work += works * dt;
    w->cpu += running * v->share * dt;
    w->queue += running * (1 - v->share) * dt;
    w->lock += v->locked * dt;
    *(late ? &w->starved : &w->blocked) += idle * dt;
    w->read += w->n_reads * dt;
    w->workers += w->knobs.workers * dt;
    w->depth += w->knobs.depth * dt;
    bool waits = w->step_left < 0;
    *(waits ? &w->wait : &w->user) += dt;
    if (waits && works == 0)
        w->fetch += dt;
    w->own += (waits ? 0 : w->s.consumer) * dt;
    w->host += (running * v->share + (waits ? 0 : w->s.consumer) +
                (middle(w) ? w->s.rival : 0)) *
               dt;
    w->now += dt;
}

static void finish_jobs(struct world *w)
{
    const double least = 1e-12;
    for (uint32_t i = 0; i < w->n_reads;)
        if (w->reads[i].read <= least) {
            *state_of(w, w->reads[i].sample) = FETCHED;
            w->r.reads++;
            w->reads[i] = w->reads[--w->n_reads];
        } else
            i++;
    for (uint32_t i = 0; i < w->n_works;)
        if (w->works[i].compute <= least && w->works[i].sleep <= least) {
            *state_of(w, w->works[i].sample) = DONE;
            w->r.samples++;
            w->works[i] = w->works[--w->n_works];
        } else
            i++;
}

static void pass(struct world *w)
{
    struct speeds v = speeds_of(w);
    double dt = until_next(w, &v);
    count(w, &v, dt);
    if (w->step_left >= 0)
        w->step_left = w->step_left - dt > 1e-12 ? w->step_left - dt : -1;
    for (uint32_t i = 0; i < w->n_reads; i++)
        w->reads[i].read -= dt * v.read;
    for (uint32_t i = 0; i < w->n_works; i++) {
        struct job *j = &w->works[i];
        if (j->compute > 0)
            j->compute -= dt * v.compute;
        else
            j->sleep -= dt;
        if (j->compute < 1e-12)
            j->compute = 0;
    }
    finish_jobs(w);
}

/* true: the consumer took a batch. */
static bool deliver(struct world *w)
{
    if (w->step_left >= 0 || w->issued < w->taken + SIZE)
        return false;
    for (uint64_t i = w->taken; i < w->taken + SIZE; i++)
        if (*state_of(w, i) != DONE)
            return false;
    for (uint32_t i = 0; i < SIZE; i++)
        *state_of(w, w->taken++) = ABSENT;
    double use = fmin(1, w->n_works / cores_of(w));
    w->step_left = drawn(w, w->s.step, w->s.step_cv, 6, w->r.batches) *
                   (middle(w) ? w->s.step_by : 1) * (1 + w->s.eta * use);
    w->r.batches++;
    return true;
}

/* ---- The tuner ---------------------------------------------------------- */

static int64_t ns(double s)
{
    return (int64_t)(1e9 * s);
}

static const struct fdl_tuner_reading *reading(struct world *w)
{
    struct fdl_tuner_reading *r = &w->r;
    uint32_t ready = 0;
    for (uint64_t i = w->taken; i < w->issued; i++)
        ready += *state_of(w, i) == DONE;
    r->now_ns = ns(w->now), r->user_ns = ns(w->user), r->wait_ns = ns(w->wait);
    r->wait_fetch_ns = ns(w->fetch);
    r->work_ns = ns(w->work), r->cpu_ns = ns(w->cpu), r->runq_ns = ns(w->queue);
    r->lock_ns = ns(w->lock), r->blocked_ns = ns(w->blocked);
    r->starved_ns = ns(w->starved), r->read_ns = ns(w->read);
    r->consumer_cpu_ns = ns(w->own), r->host_busy_ns = ns(w->host);
    r->read_tail_ns = ns(w->s.read * (1 + 2.5 * w->s.read_cv));
    r->sample_tail_ns = ns((w->s.compute + w->s.asleep) *
                           (w->s.pareto > 0 ? 12 : 1 + 4 * w->s.compute_cv));
    r->ready = ready / SIZE;
    r->outstanding = (uint32_t)((w->issued - w->taken) / SIZE);
    r->batch_size = SIZE;
    r->read_bytes = r->reads * w->s.limits.read_bytes;
    r->memory_bytes = r->outstanding * w->s.limits.batch_bytes;
    return r;
}

static void tune(struct world *w, struct fdl_tuner *t,
                 struct second_outcome *out)
{
    struct fdl_knobs want;
    w->s.limits.cores = cores_of(w);
    fdl_tuner_set_limits(t, &w->s.limits);
    fdl_tuner_observe(t, reading(w));
    if (!fdl_tuner_propose(t, &want))
        return;
    out->changes += want.workers != w->knobs.workers;
    w->knobs = want;
    fdl_tuner_applied(t, &want, false);
}

bool second_run(uint64_t seed, uint32_t batches, bool from_one,
                struct second_outcome *out)
{
    static struct world w;
    memset(&w, 0, sizeof(w));
    memset(out, 0, sizeof(*out));
    draw(&w.s, seed);
    w.seed = seed;
    w.batches = batches;
    w.step_left = -1;
    w.r.throttle_ns = 0;
    uint32_t n = from_one ? 1 : (uint32_t)w.s.cores;
    struct fdl_knobs start = {.workers = n, .depth = 4, .io_depth = 16};
    struct fdl_tuner *t = fdl_tuner_create(&w.s.limits, &start, false);
    if (!t)
        return false;
    struct fdl_tuner_status status;
    fdl_tuner_get(t, &status);
    w.knobs = status.knobs;
    while (w.r.batches < batches) {
        begin_what_can(&w);
        pass(&w);
        if (deliver(&w))
            tune(&w, t, out);
    }
    fdl_tuner_destroy(t);
    out->seconds = w.now;
    out->workers = w.workers / w.now;
    out->depth = w.depth / w.now;
    return true;
}
