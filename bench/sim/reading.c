/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's side: the counters and gauges it reads, as the library keeps
 * them (time in next() is booked when next() returns), with what goes wrong on
 * the way; and the knobs, clamped to the limits.
 */
#include "world.h"

#include <stdlib.h>

#define READ_TAIL   0.99
#define SAMPLE_TAIL 0.999

static int64_t ns(double seconds)
{
    return (int64_t)(seconds * 1e9);
}

static void fill_times(const struct sim_loader *l,
                       struct fdl_tuner_reading *out)
{
    const struct sim_sums *s = &l->sum;
    out->user_ns = ns(s->user);
    out->wait_ns = ns(s->wait);
    out->api_ns = ns(s->api);
    out->idle_ns = ns(s->idle);
    out->copy_ns = ns(s->copies);
    out->copied_batches = s->copied;
    out->span_ns = l->world->s->device ? ns(s->user + s->wait + s->api) : 0;
    out->consumer_cpu_ns = ns(s->consumer_cpu);
    out->host_busy_ns = ns(s->host_busy);
    out->wait_fetch_ns = ns(s->wait_fetch);
    out->cpu_ns = ns(s->cpu);
    out->runq_ns = ns(s->runq);
    out->throttle_ns = ns(s->throttle);
    out->lock_ns = ns(s->lock);
    out->work_ns = ns(s->cpu + s->runq + s->throttle + s->lock + s->sleep);
    out->blocked_ns = ns(s->blocked);
    out->starved_ns = ns(s->starved);
}

void sim_reading_true(const struct sim_loader *l, struct fdl_tuner_reading *out)
{
    bool outside = l->stage < SIM_WAIT;
    *out = (struct fdl_tuner_reading){
        .now_ns = ns(l->world->now),
        .batches = l->delivered - l->world->span.from,
        .samples = l->sum.samples,
        .away_ns = outside ? ns(l->world->now - l->returned) : 0,
        .reads = l->sum.reads,
        .read_ns = ns(l->sum.read_time),
        .read_bytes = l->sum.bytes,
        .read_tail_ns = ns(sim_tail_quantile(&l->read_tail, READ_TAIL)),
        .sample_tail_ns = ns(sim_tail_quantile(&l->sample_tail, SAMPLE_TAIL)),
        .ready = l->n_ready,
        .outstanding = (uint32_t)(l->issued - l->delivered),
        .batch_size = l->world->s->batch_size,
        .memory_bytes = sim_flow_memory(l),
    };
    fill_times(l, out);
}

/* ---- Knobs -------------------------------------------------------------- */

static uint32_t clamp(uint32_t x, uint32_t low, uint32_t high)
{
    return x < low ? low : x > high ? high : x;
}

static void note_point(struct sim_loader *l)
{
    struct sim_world *w = l->world;
    struct sim_result *out = w->out;
    if (out->n_points == w->points_capacity) {
        uint64_t n = 2 * w->points_capacity + 64;
        void *p = realloc(out->points, n * sizeof(*out->points));
        if (!p) {
            w->failed = true;
            return;
        }
        out->points = p;
        w->points_capacity = n;
    }
    out->points[out->n_points++] = (struct sim_point){
        .seconds = w->now,
        .batch = l->delivered - w->span.from,
        .loader = l->index,
        .knobs = l->knobs,
    };
}

void sim_set_knobs(struct sim_loader *l, const struct fdl_knobs *knobs)
{
    const struct fdl_tuner_limits *m = &l->world->s->limits;
    struct sim_result *out = l->world->out;
    struct fdl_knobs k = *knobs, old = l->knobs;
    k.workers = clamp(k.workers, m->workers_min, m->workers_max);
    k.depth = clamp(k.depth, m->depth_min, m->depth_max);
    k.io_depth = clamp(k.io_depth, m->io_depth_min, m->io_depth_max);
    if (k.workers == old.workers && k.depth == old.depth &&
        k.io_depth == old.io_depth)
        return;
    l->knobs = k;
    if (l->index == 0 && old.workers != 0 && k.workers != old.workers)
        out->changes++;
    uint64_t memory = fdl_knobs_memory(m, &k);
    if (memory > out->memory_setting)
        out->memory_setting = memory;
    if (m->memory_bytes > 0 && memory > m->memory_bytes)
        out->violations++;
    note_point(l);
}

/* ---- What is known of the cores ------------------------------------------ */

void sim_announce(struct sim_world *w)
{
    const struct sim_scenario *s = w->s;
    w->announced = s->quota_untold ? s->host_cores : w->cores;
    if (s->neighbour_told && w->neighbour)
        w->announced -= s->neighbour;
}

/* ---- Looks -------------------------------------------------------------- */

/* How workers queue is the kernel's to say, and asked for four times a second;
 * tails of samples and reads are taken twice a second. */
static void watch(struct sim_loader *l, struct fdl_tuner_reading *r)
{
    struct sim_watched *w = &l->watched;
    double now = l->world->now;
    if (now >= w->next_signals) {
        w->next_signals = now + 0.25;
        w->runq = l->sum.runq;
        w->throttle = l->sum.throttle;
    }
    if (now >= w->next_tails) {
        w->next_tails = now + 0.5;
        w->sample_tail = sim_tail_quantile(&l->sample_tail, SAMPLE_TAIL);
        w->read_tail = sim_tail_quantile(&l->read_tail, READ_TAIL);
    }
    r->runq_ns = ns(w->runq);
    r->throttle_ns = ns(w->throttle);
    r->sample_tail_ns = ns(w->sample_tail);
    r->read_tail_ns = ns(w->read_tail);
}

void sim_look(struct sim_loader *l)
{
    struct sim_world *w = l->world;
    const struct sim_scenario *s = w->s;
    struct fdl_tuner_reading reading;
    struct fdl_knobs knobs = l->knobs;
    uint64_t look = l->looks++;
    if (!w->controller || !w->controller->observe)
        return;
    l->next_look = w->now + 0.025;
    if (w->now >= w->announce)
        sim_announce(w);
    l->facts.quota = w->announced;
    l->facts.limits.cores = w->announced / s->loaders;
    /* As loader/tune/control_limits.c has it: any part but the whole. */
    l->facts.limits.shared =
        s->loaders > 1 || (s->neighbour_told && w->announced < w->cores);
    l->facts.limits.host_cores = s->period > 0 ? s->host_cores : w->cores;
    if (s->quota_untold)
        l->facts.limits.host_cores = 0;
    if (s->lost > 0 && sim_uniform(l->stream[SIM_STREAM_LOST], look) < s->lost)
        return;
    sim_reading_true(l, &reading);
    watch(l, &reading);
    if (s->jitter > 0)
        reading.now_ns +=
            ns(s->jitter * sim_normal(l->stream[SIM_STREAM_JITTER], look));
    w->out->readings++;
    w->controller->observe(l->self, &l->facts, &reading, &knobs);
    sim_set_knobs(l, &knobs);
}
