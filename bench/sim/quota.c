/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What loaders share. Cores: every runnable worker has the same share, of what
 * the consumers and a neighbour leave. A quota is either fluid, or counted in
 * periods as the kernel does: all cores of the host may be used until the
 * period's budget is spent, and then everyone stops until the next one.
 *
 * Contention (kappa) is in the speed of work, not in the time on a core: work
 * that waits for memory or a lock keeps its core.
 */
#include "world.h"

/* A scheduler leaves workers something, whatever else runs. */
#define LEAST_CORES 0.25

const struct sim_phase *sim_phase_of(const struct sim_scenario *s,
                                     uint64_t batch)
{
    uint32_t i = s->n_phases - 1;
    while (i > 0 && batch < s->phase[i].from)
        i--;
    return &s->phase[i];
}

/* Cores that consumers are using. */
static double consumers(const struct sim_world *w)
{
    double cores = 0;
    for (uint32_t i = 0; i < w->n_loaders; i++)
        if (w->loader[i].stage == SIM_STEP)
            cores += w->s->consumer_cores;
    return cores;
}

static double contention(const struct sim_scenario *s, uint32_t n)
{
    double k = s->kappa, others = n > 1 ? n - 1 : 0;
    return 1 + k * others + 0.5 * k * k * others * n;
}

/* Cores that others use. */
double sim_others(const struct sim_world *w)
{
    const struct sim_scenario *s = w->s;
    double cores = w->neighbour ? s->neighbour : 0;
    if (s->crowd > 0)
        cores += fmax(0, fmin(s->crowd, w->cores - w->use));
    return cores;
}

void sim_rates(struct sim_world *w)
{
    const struct sim_scenario *s = w->s;
    double quota = s->period > 0 ? s->host_cores : w->cores;
    double consumer = consumers(w);
    double cores = quota - consumer - (w->neighbour ? s->neighbour : 0);
    uint32_t n = 0;
    cores = fmax(cores, fmax(LEAST_CORES, 0.1 * quota));
    for (uint32_t i = 0; i < w->n_loaders; i++)
        n += w->loader[i].running.n;
    w->share = n + s->crowd > cores ? cores / (n + s->crowd) : 1;
    w->use = n * w->share + consumer;
    double busy = fmin(1, n * w->share / w->cores);
    if (w->throttled)
        w->share = w->use = 0;
    if (w->stopped && !s->hiccup_of_storage) {
        w->share = 0;
        w->use = consumer;
    }
    for (uint32_t i = 0; i < w->n_loaders; i++) {
        struct sim_loader *l = &w->loader[i];
        l->speed = w->share / contention(s, l->running.n);
        l->pace = w->throttled ? fmax(0, 1 - s->consumer_cores)
                               : 1 / (1 + s->eta * busy);
    }
    w->storage_speed = 1;
    if (s->parallel > 0 && w->storage.n > s->parallel)
        w->storage_speed = s->parallel / w->storage.n;
    if (w->stopped && s->hiccup_of_storage)
        w->storage_speed = 0;
}

void sim_cores_set(struct sim_world *w, double cores)
{
    if (cores == w->cores)
        return;
    w->cores = cores;
    w->announce = w->now + 1; /* how often the library asks */
}

void sim_neighbour_turn(struct sim_world *w)
{
    const struct sim_scenario *s = w->s;
    uint64_t stream = w->loader[0].stream[SIM_STREAM_NEIGHBOUR];
    w->neighbour = !w->neighbour;
    double mean = w->neighbour ? s->neighbour_on : s->neighbour_off;
    double u = sim_uniform(stream, w->neighbour_turns++);
    w->neighbour_next = w->now - mean * log(u);
    w->announce = w->now + 1;
}

/* Rare and long: a garbage collection, an object store that thinks. */
void sim_hiccup_turn(struct sim_world *w)
{
    const struct sim_scenario *s = w->s;
    uint64_t stream = w->loader[0].stream[SIM_STREAM_NEIGHBOUR];
    double u = sim_uniform(stream, UINT64_C(1) << 40 | w->hiccups++);
    w->stopped = !w->stopped;
    w->hiccup_next =
        w->now + (w->stopped ? s->hiccup : s->hiccup_every * (0.5 + u));
}

void sim_period_turn(struct sim_world *w)
{
    w->throttled = false;
    w->period_end += w->s->period;
    w->budget = w->cores * w->s->period;
}

/* ---- Storage ------------------------------------------------------------ */

void sim_storage_send(struct sim_loader *l, uint32_t job, double latency)
{
    struct sim_world *w = l->world;
    l->job[job].at = SIM_JOB_READ;
    if (w->s->parallel > 0)
        sim_heap_push(&w->storage, w->storage_clock + latency,
                      sim_job_id(l, job));
    else
        sim_heap_push(&w->timed, w->now + latency, sim_job_id(l, job));
}

/* The bytes then go through a pipe, one read after the other: that of a storage
 * which other worlds share, and the world's own. */
void sim_storage_served(struct sim_loader *l, uint32_t job)
{
    struct sim_world *w = l->world;
    const struct sim_scenario *s = w->s;
    double at = w->now;
    if (w->common) {
        w->common->free = fmax(w->common->free, at) + w->common->service;
        at = w->common->free;
    }
    if (s->bandwidth > 0) {
        w->pipe_free =
            fmax(w->pipe_free, at) + (double)s->read_bytes / s->bandwidth;
        at = w->pipe_free;
    }
    if (!w->common && s->bandwidth <= 0) {
        sim_flow_read(l, job);
        return;
    }
    l->job[job].at = SIM_JOB_PIPE;
    sim_heap_push(&w->timed, at, sim_job_id(l, job));
}
