/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of a run: finds what comes next, lets everything go on until then,
 * and lets it happen. Between two events all rates are constant, so sums of
 * time are exact.
 */
#include "world.h"

#include <stddef.h>

/* With a worker that hangs for ever, controllers are watched for so long. */
#define STUCK_SECONDS 120.0

static void sooner(struct sim_event *e, double in, enum sim_event_kind kind,
                   struct sim_loader *l)
{
    if (kind >= SIM_EVENT_WORKED)
        e->productive = true;
    if (in < e->in) {
        e->in = in;
        e->kind = kind;
        e->loader = l;
    }
}

static void of_loader(struct sim_event *e, struct sim_loader *l)
{
    double now = l->world->now;
    if (l->running.n > 0) {
        double work = l->running.item[0].key - l->clock;
        sooner(e, l->speed > 0 ? work / l->speed : SIM_NEVER, SIM_EVENT_WORKED,
               l);
    }
    if (l->stage == SIM_STEP)
        sooner(e, l->pace > 0 ? l->left / l->pace : SIM_NEVER,
               SIM_EVENT_CONSUMER, l);
    if (l->stage > SIM_STEP && l->stage < SIM_WAIT)
        sooner(e, l->until - now, SIM_EVENT_CONSUMER, l);
    const struct sim_controller *c = l->world->controller;
    if (l->stage != SIM_END && c && c->observe)
        sooner(e, l->next_look - now, SIM_EVENT_LOOK, l);
}

static struct sim_event next_event(struct sim_world *w)
{
    struct sim_event e = {.in = SIM_NEVER};
    if (w->timed.n > 0)
        sooner(&e, w->timed.item[0].key - w->now, SIM_EVENT_TIMED, NULL);
    if (w->storage.n > 0)
        sooner(&e,
               w->storage_speed > 0
                   ? (w->storage.item[0].key - w->storage_clock) /
                         w->storage_speed
                   : SIM_NEVER,
               SIM_EVENT_SERVED, NULL);
    for (uint32_t i = 0; i < w->n_loaders; i++)
        of_loader(&e, &w->loader[i]);
    if (w->s->neighbour > 0)
        sooner(&e, w->neighbour_next - w->now, SIM_EVENT_NEIGHBOUR, NULL);
    if (w->s->hiccup > 0)
        sooner(&e, w->hiccup_next - w->now, SIM_EVENT_HICCUP, NULL);
    if (w->s->period > 0) {
        sooner(&e, w->period_end - w->now, SIM_EVENT_PERIOD, NULL);
        if (!w->throttled && w->use > 0)
            sooner(&e, w->budget / w->use, SIM_EVENT_THROTTLE, NULL);
    }
    if (e.in < 0)
        e.in = 0;
    return e;
}

/* ---- Time goes on ------------------------------------------------------- */

/* Of a wait, the part in which the awaited batch is read:
 * profiler/measure/ledger.h. */
static void split_wait(struct sim_loader *l, double dt)
{
    const struct sim_ticket *t = &l->ticket[l->delivered & l->ticket_mask];
    if (l->issued == l->delivered)
        return;
    uint32_t open = t->unsent + t->reading + t->read + t->working;
    uint32_t p = open < l->knobs.workers ? open : l->knobs.workers;
    if (p < t->working)
        p = t->working;
    uint32_t rest = p - t->working;
    uint32_t fetch = rest > t->read ? rest - t->read : 0;
    if (l->world->latency.mean <= 0)
        fetch = 0;
    l->wait_fetch += p > 0 ? dt * fetch / p : 0;
}

static void workers_go_on(struct sim_loader *l, double dt)
{
    const struct sim_world *w = l->world;
    uint32_t n = l->running.n, busy = n + l->locked.n + l->n_sleeping;
    if (w->throttled) {
        l->sum.throttle += n * dt;
    } else if (w->stopped && !w->s->hiccup_of_storage) {
        l->sum.sleep += n * dt;
    } else {
        l->sum.cpu += n * w->share * dt;
        l->sum.runq += n * (1 - w->share) * dt;
    }
    *(w->s->lock_untold ? &l->sum.sleep : &l->sum.lock) += l->locked.n * dt;
    l->sum.sleep += l->n_sleeping * dt;
    l->sum.host_busy += (w->use + sim_others(w)) * dt;
    l->clock += l->speed * dt;
    if (busy >= l->knobs.workers)
        return;
    bool unread = l->n_reading > 0 || l->read.n > 0 ||
                  l->claimed < l->issued * w->s->batch_size;
    *(unread ? &l->sum.starved : &l->sum.blocked) +=
        (l->knobs.workers - busy) * dt;
}

static void loader_goes_on(struct sim_loader *l, double dt)
{
    const struct sim_world *w = l->world;
    workers_go_on(l, dt);
    if (l->stage == SIM_END)
        return;
    if (l->stage == SIM_STEP) {
        l->left -= l->pace * dt;
        if (!w->throttled)
            l->sum.consumer_cpu += w->s->consumer_cores * dt;
    } else if (l->stage == SIM_WAIT) {
        split_wait(l, dt);
    }
    l->worker_seconds += l->knobs.workers * dt;
    l->depth_seconds += l->knobs.depth * dt;
    l->io_seconds += l->knobs.io_depth * dt;
}

static void go_on(struct sim_world *w, double dt)
{
    w->now += dt;
    w->storage_clock += w->storage_speed * dt;
    w->budget -= w->use * dt;
    for (uint32_t i = 0; i < w->n_loaders; i++)
        loader_goes_on(&w->loader[i], dt);
}

/* ---- Something happens -------------------------------------------------- */

static struct sim_loader *owner(struct sim_world *w, uint32_t id)
{
    return &w->loader[id >> 24];
}

static struct sim_loader *timed(struct sim_world *w)
{
    uint32_t id = sim_heap_pop(&w->timed), job = id & 0xffffffu;
    struct sim_loader *l = owner(w, id);
    if (l->job[job].at == SIM_JOB_READ && w->stopped &&
        w->s->hiccup_of_storage) {
        sim_heap_push(&w->timed, w->hiccup_next + 1e-9, id);
    } else if (l->job[job].at == SIM_JOB_SLEEP) {
        l->n_sleeping--;
        sim_flow_done(l, job);
    } else if (l->job[job].at == SIM_JOB_PIPE) {
        sim_flow_read(l, job);
    } else {
        sim_storage_served(l, job);
    }
    return l;
}

/* The loader that may go on because of it, or NULL. */
static struct sim_loader *happen(struct sim_world *w, const struct sim_event *e)
{
    uint32_t id;
    switch (e->kind) {
    case SIM_EVENT_LOOK:
        sim_look(e->loader);
        return e->loader;
    case SIM_EVENT_NEIGHBOUR:
        sim_neighbour_turn(w);
        return NULL;
    case SIM_EVENT_HICCUP:
        sim_hiccup_turn(w);
        return NULL;
    case SIM_EVENT_THROTTLE:
        w->throttled = true;
        return NULL;
    case SIM_EVENT_PERIOD:
        sim_period_turn(w);
        return NULL;
    case SIM_EVENT_WORKED:
        sim_flow_worked(e->loader, sim_heap_pop(&e->loader->running));
        return e->loader;
    case SIM_EVENT_CONSUMER:
        sim_step_turn(e->loader);
        return e->loader;
    case SIM_EVENT_SERVED:
        id = sim_heap_pop(&w->storage);
        sim_storage_served(owner(w, id), id & 0xffffffu);
        return owner(w, id);
    case SIM_EVENT_TIMED:
        return timed(w);
    }
    return NULL;
}

static bool finished(const struct sim_world *w)
{
    for (uint32_t i = 0; i < w->n_loaders; i++)
        if (w->loader[i].stage != SIM_END)
            return false;
    return true;
}

/* Nothing can come any more but looks: true when that has lasted. */
static bool stuck(struct sim_world *w, const struct sim_event *e)
{
    if (e->productive) {
        w->stuck_since = -1;
        return false;
    }
    if (w->stuck_since < 0)
        w->stuck_since = w->now;
    return e->in == SIM_NEVER || w->now - w->stuck_since > STUCK_SECONDS;
}

double sim_world_next(struct sim_world *w)
{
    sim_rates(w);
    w->next = next_event(w);
    return w->now + w->next.in;
}

void sim_world_pass(struct sim_world *w)
{
    go_on(w, w->next.in);
    struct sim_loader *l = happen(w, &w->next);
    if (l)
        sim_flow_pump(l);
}

void sim_world_begin(struct sim_world *w)
{
    for (uint32_t i = 0; i < w->n_loaders; i++)
        sim_flow_pump(&w->loader[i]);
}

bool sim_world_run(struct sim_world *w)
{
    sim_world_begin(w);
    while (!finished(w) && !w->failed) {
        sim_world_next(w);
        if (stuck(w, &w->next)) {
            w->out->stuck = true;
            break;
        }
        sim_world_pass(w);
    }
    return !w->failed;
}
