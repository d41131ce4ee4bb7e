/* SPDX-License-Identifier: Apache-2.0 */
/* A run: memory for it, its start, its sums. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

/* Of the generations of tails. */
#define TAIL_SAMPLES 8192u
#define TAIL_READS   4096u

/* What the library starts with (loader/engine.c). */
#define DEFAULT_DEPTH  4u
#define URING_IO_DEPTH 16u
#define PREAD_IO_DEPTH 4u

static uint32_t at_most(uint32_t x, uint32_t most)
{
    return x < most ? x : most;
}

/* Less of what takes most, down to a floor. */
static bool give_way(const struct fdl_tuner_limits *m, struct fdl_knobs *k,
                     uint32_t depth, uint32_t reads, uint32_t workers)
{
    if (k->depth > depth && k->depth > m->depth_min)
        k->depth--;
    else if (m->read_bytes && k->io_depth > reads &&
             k->io_depth > m->io_depth_min)
        k->io_depth--;
    else if (k->workers > workers && k->workers > m->workers_min)
        k->workers--;
    else
        return false;
    return true;
}

/* Within memory: depth gives way first, down to two batches. */
static void fit(const struct fdl_tuner_limits *m, struct fdl_knobs *k)
{
    while (m->memory_bytes > 0 && fdl_knobs_memory(m, k) > m->memory_bytes)
        if (!give_way(m, k, 2, 4, 1) && !give_way(m, k, 1, 1, 1))
            return;
}

void sim_facts_of(const struct sim_scenario *s, struct sim_facts *out)
{
    const struct fdl_tuner_limits *m = &s->limits;
    double share = (s->quota_untold ? s->host_cores : s->cores) / s->loaders;
    uint32_t workers = share >= 1 ? (uint32_t)share : 1;
    *out = (struct sim_facts){
        .host_cores = s->host_cores,
        .quota = s->cores,
        .limits = *m,
    };
    out->limits.cores = share;
    out->def.workers = at_most(workers, m->workers_max);
    out->def.depth = at_most(DEFAULT_DEPTH, m->depth_max);
    out->def.io_depth =
        at_most(s->pread ? PREAD_IO_DEPTH : URING_IO_DEPTH, m->io_depth_max);
    fit(m, &out->def);
}

/* ---- Memory ------------------------------------------------------------- */

static bool loader_allocate(struct sim_loader *l, const struct sim_scenario *s)
{
    const struct fdl_tuner_limits *m = &s->limits;
    uint64_t tickets = 2;
    while (tickets < (uint64_t)m->depth_max + 1)
        tickets *= 2;
    l->n_jobs = 2 * m->io_depth_max + m->workers_max;
    l->ticket_mask = tickets - 1;
    l->ticket = calloc(tickets, sizeof(*l->ticket));
    l->job = calloc(l->n_jobs, sizeof(*l->job));
    l->free = calloc(l->n_jobs, sizeof(*l->free));
    l->read.item = calloc(l->n_jobs, sizeof(*l->read.item));
    l->running.item = calloc(l->n_jobs, sizeof(*l->running.item));
    l->locked.item = calloc(l->n_jobs, sizeof(*l->locked.item));
    l->step_end = calloc(s->run_ahead + 1, sizeof(*l->step_end));
    if (!l->ticket || !l->job || !l->free || !l->read.item ||
        !l->running.item || !l->locked.item || !l->step_end)
        return false;
    for (uint32_t i = 0; i < l->n_jobs; i++)
        l->free[l->n_free++] = l->n_jobs - 1 - i;
    return true;
}

static bool allocate(struct sim_world *w)
{
    uint64_t jobs = 0;
    for (uint32_t i = 0; i < w->n_loaders; i++) {
        if (!loader_allocate(&w->loader[i], w->s))
            return false;
        jobs += w->loader[i].n_jobs;
    }
    w->storage.item = calloc(jobs, sizeof(*w->storage.item));
    w->timed.item = calloc(jobs, sizeof(*w->timed.item));
    w->out->marks =
        calloc(w->span.count / SIM_MARK_BATCHES + 2, sizeof(*w->out->marks));
    return w->storage.item && w->timed.item && w->out->marks;
}

void sim_world_fini(struct sim_world *w)
{
    for (uint32_t i = 0; i < w->n_loaders; i++) {
        struct sim_loader *l = &w->loader[i];
        if (l->self && w->controller->destroy)
            w->controller->destroy(l->self);
        free(l->ticket);
        free(l->job);
        free(l->free);
        free(l->read.item);
        free(l->running.item);
        free(l->locked.item);
        free(l->step_end);
    }
    free(w->storage.item);
    free(w->timed.item);
}

void sim_result_free(struct sim_result *r)
{
    free(r->points);
    free(r->marks);
    memset(r, 0, sizeof(*r));
}

/* ---- Start -------------------------------------------------------------- */

static bool loader_start(struct sim_loader *l, uint64_t seed,
                         const struct fdl_knobs *start)
{
    struct sim_world *w = l->world;
    struct fdl_knobs knobs;
    sim_facts_of(w->s, &l->facts);
    knobs = start ? *start : l->facts.def;
    for (uint32_t i = 0; i < SIM_STREAM_SCENARIO; i++)
        l->stream[i] = sim_stream(seed, l->index, (enum sim_stream)i);
    l->issued = l->delivered = w->span.from;
    l->claimed = l->issued * w->s->batch_size;
    l->stage = SIM_WAIT;
    l->next_look = 0.025;
    l->sample_tail.per_generation = TAIL_SAMPLES;
    l->read_tail.per_generation = TAIL_READS;
    if (w->controller && w->controller->create) {
        l->self = w->controller->create(&l->facts, &knobs);
        if (!l->self)
            return false;
    }
    sim_set_knobs(l, &knobs);
    return true;
}

bool sim_world_init(struct sim_world *w, uint64_t seed,
                    const struct fdl_knobs *start)
{
    const struct sim_scenario *s = w->s;
    const struct sim_phase *p = sim_phase_of(s, w->span.from);
    w->n_loaders = s->loaders;
    w->stuck_since = -1;
    sim_law_init(&w->work, &s->work);
    sim_law_init(&w->sleep, &s->sleep);
    sim_law_init(&w->step, &s->step);
    sim_law_init(&w->latency, &s->latency);
    w->cores = s->cores * p->cores;
    sim_announce(w);
    w->hiccup_next = s->hiccup_every;
    w->period_end = s->period;
    w->budget = w->cores * s->period;
    for (uint32_t i = 0; i < w->n_loaders; i++) {
        w->loader[i].world = w;
        w->loader[i].index = i;
    }
    if (!allocate(w))
        return false;
    for (uint32_t i = 0; i < w->n_loaders; i++)
        if (!loader_start(&w->loader[i], seed, start))
            return false;
    if (s->neighbour > 0) {
        w->neighbour = true; /* the turn makes it rest first */
        sim_neighbour_turn(w);
    }
    w->out->marks[w->out->n_marks++] = (struct sim_mark){0};
    return !w->failed;
}

/* ---- Sums --------------------------------------------------------------- */

static void add_loader(struct sim_world *w, struct sim_loader *l)
{
    struct sim_result *out = w->out;
    if (l->stage != SIM_END)
        l->end = w->now;
    out->seconds += l->end;
    out->wait += l->sum.wait;
    out->user += l->sum.user;
    out->idle += l->sum.idle;
    out->workers += l->worker_seconds;
    out->depth += l->depth_seconds;
    out->io_depth += l->io_seconds;
    out->cpu += l->sum.cpu;
    if (l->memory_peak > out->memory_peak)
        out->memory_peak = l->memory_peak;
}

static void add_up(struct sim_world *w)
{
    struct sim_result *out = w->out;
    for (uint32_t i = 0; i < w->n_loaders; i++)
        add_loader(w, &w->loader[i]);
    double *parts[] = {&out->wait,  &out->user,     &out->idle, &out->workers,
                       &out->depth, &out->io_depth, &out->cpu};
    for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        *parts[i] /= out->seconds > 0 ? out->seconds : 1;
    out->seconds /= w->n_loaders;
    out->stall = w->s->device ? out->idle : out->wait;
    out->memory_budget = w->s->limits.memory_bytes;
    sim_reading_true(&w->loader[0], &out->last);
    if (w->controller && w->controller->status) {
        w->controller->status(w->loader[0].self, &out->status);
        out->has_status = true;
    }
}

bool sim_run_span(const struct sim_scenario *s,
                  const struct sim_controller *controller,
                  const struct fdl_knobs *start, uint64_t seed,
                  const struct sim_span *span, struct sim_result *out)
{
    struct sim_world *w = calloc(1, sizeof(*w));
    memset(out, 0, sizeof(*out));
    if (!w)
        return false;
    w->s = s;
    w->controller = controller;
    w->span = *span;
    w->out = out;
    bool ok = sim_world_init(w, seed, start) && sim_world_run(w);
    if (ok)
        add_up(w);
    sim_world_fini(w);
    free(w);
    if (!ok)
        sim_result_free(out);
    return ok;
}

bool sim_run(const struct sim_scenario *s,
             const struct sim_controller *controller,
             const struct fdl_knobs *start, uint64_t seed,
             struct sim_result *out)
{
    struct sim_span all = {.count = s->batches};
    return sim_run_span(s, controller, start, seed, &all, out);
}
