/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts step by step, and what their storage gives them; see cluster.h. */
#include "cluster.h"

#include "world.h"

#include <stdlib.h>
#include <string.h>

/* A step that lasts longer has a rank that is stuck. */
#define STUCK_SECONDS 3600.0

struct host {
    struct sim_scenario s;
    struct sim_world w;
    struct sim_result out;
    double wait[SIM_LOADERS]; /* of its ranks, at half time */
    bool up;                  /* w is to be freed */
};

struct run {
    const struct sim_cluster *job;
    struct host *host;
    struct sim_heap order; /* hosts, by their next event */
    struct sim_common storage;
    double now, bare;
    const struct sim_controller *controller;
    struct fdl_tuner_job told; /* in the last exchange */
    double next_exchange;
};

/* s that storage takes for a read; 0: none. */
static double service_of(const struct sim_cluster *j)
{
    double bytes =
        j->bandwidth > 0 ? (double)j->host.read_bytes / j->bandwidth : 0;
    return fmax(bytes, j->requests > 0 ? 1 / j->requests : 0);
}

/* ---- Hosts -------------------------------------------------------------- */

static void differ(struct sim_scenario *s, const struct sim_straggler *d)
{
    s->cores *= d->cores;
    s->limits.cores = s->cores / s->loaders;
    s->step.mean *= d->step;
    s->latency.mean *= d->latency;
}

static bool start(struct run *r, uint32_t i,
                  const struct sim_controller *controller, uint64_t seed)
{
    const struct sim_cluster *j = r->job;
    struct host *h = &r->host[i];
    h->s = j->host;
    h->s.barrier = true;
    h->s.bandwidth = j->port;
    if (i == j->straggler)
        differ(&h->s, &j->differs);
    h->w.s = &h->s;
    h->w.controller = controller;
    h->w.out = &h->out;
    h->w.common = r->storage.service > 0 ? &r->storage : NULL;
    /* One batch more, for a world ends with its last batch, not its step. */
    h->w.span = (struct sim_span){.from = j->from, .count = j->steps + 1};
    h->up = true;
    return sim_world_init(&h->w, seed * 1000003 + i, NULL);
}

/* At their barrier, and not let go. */
static uint32_t arrived(const struct sim_world *w)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n_loaders; i++)
        n += w->loader[i].stage == SIM_BARRIER &&
             w->loader[i].until == SIM_NEVER;
    return n;
}

static void queue(struct run *r, uint32_t host)
{
    sim_heap_push(&r->order, sim_world_next(&r->host[host].w), host);
}

/* All ranks to their barrier. The time of the last one; negative: some rank
 * never comes, or there is no memory. */
static double gather(struct run *r)
{
    uint32_t ranks = r->job->hosts * r->job->host.loaders, there = 0;
    for (;;) {
        uint32_t host = sim_heap_pop(&r->order);
        struct sim_world *w = &r->host[host].w;
        there -= arrived(w);
        sim_world_pass(w);
        there += arrived(w);
        if (w->failed || w->now > r->now + STUCK_SECONDS)
            return -1;
        queue(r, host);
        if (there == ranks)
            return w->now;
    }
}

/* To the barrier, and from there. */
static bool step(struct run *r)
{
    double last = gather(r), own = 0;
    if (last < 0)
        return false;
    r->now = last + r->job->exchange;
    r->order.n = 0;
    for (uint32_t i = 0; i < r->job->hosts; i++) {
        struct sim_world *w = &r->host[i].w;
        for (uint32_t k = 0; k < w->n_loaders; k++)
            own = fmax(own, w->loader[k].own);
        sim_step_release(w, r->now);
        queue(r, i);
    }
    r->bare += own + r->job->exchange;
    return true;
}

/* ---- What ranks tell each other ------------------------------------------ */

static void exchange(struct run *r)
{
    struct fdl_tuner_job told = {0}, own;
    for (uint32_t i = 0; i < r->job->hosts; i++)
        for (uint32_t k = 0; k < r->host[i].w.n_loaders; k++) {
            void *self = r->host[i].w.loader[k].self;
            r->controller->tell(self, &own);
            fdl_tuner_job_add(&told, &own);
            if (r->told.ranks > 0)
                r->controller->hear(self, &r->told);
        }
    r->told = told;
    r->next_exchange = r->now + r->job->tells;
}

static bool exchanges(const struct run *r)
{
    return r->job->tells > 0 && r->controller && r->controller->tell &&
           r->now >= r->next_exchange;
}

/* ---- A run -------------------------------------------------------------- */

static uint64_t count_reads(const struct run *r)
{
    uint64_t reads = 0;
    for (uint32_t i = 0; i < r->job->hosts; i++)
        for (uint32_t k = 0; k < r->host[i].w.n_loaders; k++)
            reads += r->host[i].w.loader[k].sum.reads;
    return reads;
}

static void note_waits(struct run *r)
{
    for (uint32_t i = 0; i < r->job->hosts; i++)
        for (uint32_t k = 0; k < r->host[i].w.n_loaders; k++)
            r->host[i].wait[k] = r->host[i].w.loader[k].sum.wait;
}

static bool run_half(struct run *r, uint64_t steps, bool first,
                     struct sim_cluster_result *out)
{
    double begin = r->now, bare = r->bare;
    uint64_t reads = count_reads(r);
    note_waits(r);
    for (uint64_t i = 0; i < steps; i++) {
        if (!step(r))
            return false;
        if (exchanges(r))
            exchange(r);
        if (first && i == 0)
            out->first = r->now;
    }
    double seconds = r->now - begin, n = (double)steps;
    out->half[!first] = (struct sim_cluster_half){
        .step = seconds / n,
        .bare = (r->bare - bare) / n,
        .read = (double)(count_reads(r) - reads) / seconds,
    };
    return true;
}

static void describe(const struct run *r, struct sim_cluster_result *out)
{
    const struct sim_cluster *j = r->job;
    double half = out->half[1].step * (double)(j->steps - j->steps / 2);
    for (uint32_t i = 0; i < j->hosts; i++) {
        const struct host *h = &r->host[i];
        for (uint32_t k = 0; k < h->w.n_loaders; k++)
            out->rank[out->ranks++] = (struct sim_cluster_rank){
                .knobs = h->w.loader[k].knobs,
                .wait = (h->w.loader[k].sum.wait - h->wait[k]) / half,
            };
        out->changes += (double)h->out.changes / j->hosts;
    }
    out->seconds = r->now;
}

static bool play(struct run *r, const struct sim_controller *controller,
                 uint64_t seed, struct sim_cluster_result *out)
{
    const struct sim_cluster *j = r->job;
    for (uint32_t i = 0; i < j->hosts; i++)
        if (!start(r, i, controller, seed))
            return false;
    for (uint32_t i = 0; i < j->hosts; i++) {
        sim_world_begin(&r->host[i].w);
        queue(r, i);
    }
    uint64_t half = j->steps / 2;
    if (!run_half(r, half, true, out) ||
        !run_half(r, j->steps - half, false, out))
        return false;
    describe(r, out);
    return true;
}

bool sim_cluster_run(const struct sim_cluster *j,
                     const struct sim_controller *controller, uint64_t seed,
                     struct sim_cluster_result *out)
{
    struct run r = {
        .job = j,
        .storage = {.service = service_of(j)},
        .controller = controller,
    };
    memset(out, 0, sizeof(*out));
    r.host = calloc(j->hosts, sizeof(*r.host));
    r.order.item = calloc(j->hosts, sizeof(*r.order.item));
    out->rank = calloc((size_t)j->hosts * j->host.loaders, sizeof(*out->rank));
    bool ok =
        r.host && r.order.item && out->rank && play(&r, controller, seed, out);
    for (uint32_t i = 0; r.host && i < j->hosts; i++) {
        if (r.host[i].up)
            sim_world_fini(&r.host[i].w);
        sim_result_free(&r.host[i].out);
    }
    free(r.host);
    free(r.order.item);
    if (!ok)
        sim_cluster_free(out);
    return ok;
}

void sim_cluster_free(struct sim_cluster_result *r)
{
    free(r->rank);
    memset(r, 0, sizeof(*r));
}
