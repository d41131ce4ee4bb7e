/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer: takes batches in order, is busy with each, asks for the next.
 *
 *   WAIT -> STEP -> (SYNC, with a device that is far behind)
 *        -> (BARRIER, in a job) -> (PAUSE) -> WAIT
 *
 * With a device its step is not the consumer's: next() returns when the batch
 * is ready on the host, the copy follows those before it, and the device begins
 * when both the copy and its step before are done.
 */
#include "world.h"

/* Of next() itself. */
#define API_SECONDS 5e-6

/* ---- Its time outside of next() ----------------------------------------- */

static void begin_step(struct sim_loader *l)
{
    struct sim_world *w = l->world;
    const struct sim_scenario *s = w->s;
    const struct sim_phase *p = sim_phase_of(s, l->delivered);
    double own = p->step * sim_law_draw(&w->step, l->stream[SIM_STREAM_STEP],
                                        l->delivered);
    l->left = API_SECONDS + (s->device ? s->host_step : own);
    l->own = l->left;
    l->stage = SIM_STEP;
    l->returned = w->now;
    l->pause = s->pause_every && (l->delivered + 1) % s->pause_every == 0
                   ? s->pause
                   : 0;
}

static void begin_wait(struct sim_loader *l)
{
    l->stage = SIM_WAIT;
    l->called = l->world->now;
    l->sum.api += API_SECONDS;
    l->sum.user += l->called - l->returned - API_SECONDS;
    l->wait_fetch = 0;
}

void sim_step_turn(struct sim_loader *l)
{
    const struct sim_scenario *s = l->world->s;
    double now = l->world->now;
    if (l->stage == SIM_STEP && s->device) {
        l->until = l->step_end[l->delivered % s->run_ahead];
        l->stage = SIM_SYNC;
        if (l->until > now)
            return;
    }
    if (l->stage < SIM_BARRIER && s->barrier) {
        l->stage = SIM_BARRIER;
        l->until = SIM_NEVER;
        return;
    }
    if (l->stage != SIM_PAUSE && l->pause > 0) {
        l->stage = SIM_PAUSE;
        l->until = now + l->pause;
        return;
    }
    begin_wait(l);
}

void sim_step_release(struct sim_world *w, double when)
{
    for (uint32_t i = 0; i < w->n_loaders; i++)
        if (w->loader[i].stage == SIM_BARRIER)
            w->loader[i].until = when;
}

/* ---- A batch ------------------------------------------------------------ */

void sim_step_ready(struct sim_loader *l, struct sim_ticket *t)
{
    t->ready = true;
    l->n_ready++;
    l->copy_free = fmax(l->copy_free, l->world->now) + l->world->s->copy;
    t->copied = l->copy_free;
    if (l->world->s->device) {
        l->sum.copies += l->world->s->copy;
        l->sum.copied++;
    }
}

static void begin_device_step(struct sim_loader *l, const struct sim_ticket *t)
{
    struct sim_world *w = l->world;
    const struct sim_scenario *s = w->s;
    double own =
        sim_phase_of(s, l->delivered)->step *
        sim_law_draw(&w->step, l->stream[SIM_STREAM_STEP], l->delivered);
    double asked = fmax(l->device_free, l->called);
    if (l->delivered > w->span.from)
        l->sum.idle += fmax(0, t->copied - asked);
    l->device_free = fmax(t->copied, fmax(l->device_free, w->now)) + own;
    l->step_end[l->delivered % s->run_ahead] = l->device_free;
}

static void book_wait(struct sim_loader *l)
{
    l->sum.wait += l->world->now - l->called;
    l->sum.wait_fetch += l->wait_fetch;
}

static void mark(const struct sim_loader *l)
{
    struct sim_result *out = l->world->out;
    out->marks[out->n_marks++] = (struct sim_mark){
        .seconds = l->world->now,
        .wait = l->sum.wait,
        .idle = l->sum.idle,
    };
}

static void first_loader_delivered(struct sim_loader *l)
{
    struct sim_world *w = l->world;
    const struct sim_oracle *o = w->span.schedule;
    const struct sim_phase *p = sim_phase_of(w->s, l->delivered);
    if ((l->delivered - w->span.from) % SIM_MARK_BATCHES == 0)
        mark(l);
    sim_cores_set(w, w->s->cores * p->cores);
    for (uint32_t i = 0; o && i < o->n_phases; i++)
        if (o->phase[i].from == l->delivered)
            for (uint32_t k = 0; k < w->n_loaders; k++)
                sim_set_knobs(&w->loader[k], &o->phase[i].best);
}

bool sim_step_deliver(struct sim_loader *l)
{
    struct sim_world *w = l->world;
    struct sim_ticket *t = &l->ticket[l->delivered & l->ticket_mask];
    if (l->stage != SIM_WAIT || l->issued == l->delivered || !t->ready)
        return false;
    book_wait(l);
    if (w->s->device)
        begin_device_step(l, t);
    begin_step(l);
    l->n_ready--;
    l->delivered++;
    if (l->index == 0)
        first_loader_delivered(l);
    if (l->delivered == w->span.from + w->span.count) {
        l->stage = SIM_END;
        l->end = w->now;
        return false;
    }
    sim_look(l);
    return true;
}
