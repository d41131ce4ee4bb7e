/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a sample through a loader, by the rules of the real one: tickets
 * are issued while fewer than `depth` are outstanding; reads are sent in order,
 * io_depth at once, while the window has room; a free worker takes the oldest
 * sample whose bytes are there; a batch is ready when its last sample is.
 *
 * Bytes that are in memory are "read" by the worker that takes them.
 *
 * Where a part of the work needs the loader's lock it comes last, and workers
 * have it in the order in which they asked.
 */
#include "world.h"

/* From the page cache, by the reader's call. */
#define HIT_SECONDS 20e-6

static struct sim_ticket *ticket_of(const struct sim_loader *l, uint64_t sample)
{
    uint64_t number = sample / l->world->s->batch_size;
    return &l->ticket[number & l->ticket_mask];
}

static bool in_memory(const struct sim_loader *l)
{
    return l->world->latency.mean <= 0;
}

static uint32_t busy_workers(const struct sim_loader *l)
{
    return l->running.n + l->locked.n + l->n_sleeping;
}

uint64_t sim_flow_memory(const struct sim_loader *l)
{
    const struct fdl_tuner_limits *m = &l->world->s->limits;
    return (l->issued - l->delivered) * m->batch_bytes + m->spare_bytes +
           l->in_window * m->read_bytes + busy_workers(l) * m->worker_bytes;
}

/*
 * Like the library, which counts before it allocates: while what a former
 * setting left is still on its way, a deeper one waits for its memory. One read
 * and one worker are always left room for, so that what waits can end.
 */
static bool has_room(const struct sim_loader *l, uint64_t bytes)
{
    const struct fdl_tuner_limits *m = &l->world->s->limits;
    uint64_t kept = (l->in_window == 0 ? m->read_bytes : 0) +
                    (busy_workers(l) == 0 ? m->worker_bytes : 0);
    return m->memory_bytes == 0 ||
           sim_flow_memory(l) + bytes + kept <= m->memory_bytes;
}

static bool may_issue(const struct sim_loader *l)
{
    return l->issued == l->delivered ||
           has_room(l, l->world->s->limits.batch_bytes);
}

static bool may_claim(const struct sim_loader *l)
{
    return l->n_free > 0 &&
           (l->in_window == 0 || has_room(l, l->world->s->limits.read_bytes));
}

static bool may_begin(const struct sim_loader *l)
{
    uint64_t busy = busy_workers(l);
    return busy < l->knobs.workers &&
           (busy == 0 || has_room(l, l->world->s->limits.worker_bytes));
}

static void note_memory(struct sim_loader *l)
{
    uint64_t held = sim_flow_memory(l);
    if (held > l->memory_peak)
        l->memory_peak = held;
}

/* ---- Tickets ------------------------------------------------------------ */

static void issue(struct sim_loader *l)
{
    const struct sim_scenario *s = l->world->s;
    const struct sim_phase *p = sim_phase_of(s, l->issued);
    double turn = 6.283185307179586 * (double)l->issued / 700;
    l->ticket[l->issued & l->ticket_mask] = (struct sim_ticket){
        .unsent = s->batch_size,
        .work = p->work * (s->drift > 0 ? 1 + s->drift * sin(turn) : 1),
        .sleep = p->sleep,
        .latency = p->latency,
        .hits = p->hits,
    };
    l->issued++;
}

static void issue_all(struct sim_loader *l)
{
    const struct sim_controller *c = l->world->controller;
    uint64_t depth = l->knobs.depth;
    if (c && c->on_demand)
        depth = l->stage == SIM_WAIT ? 1 : 0;
    if (l->stage == SIM_END || l->issued - l->delivered >= depth)
        return;
    while (l->issued - l->delivered < depth && may_issue(l))
        issue(l);
    note_memory(l);
}

/* ---- Reads -------------------------------------------------------------- */

static uint32_t claim(struct sim_loader *l)
{
    uint32_t job = l->free[--l->n_free];
    struct sim_ticket *t = ticket_of(l, l->claimed);
    l->job[job].sample = l->claimed++;
    l->job[job].read_start = l->world->now;
    l->in_window++;
    t->unsent--;
    return job;
}

static void to_workers(struct sim_loader *l, uint32_t job)
{
    ticket_of(l, l->job[job].sample)->read++;
    sim_heap_push(&l->read, (double)l->job[job].sample, job);
}

static void count_read(struct sim_loader *l, double seconds)
{
    l->sum.reads++;
    l->sum.bytes += l->world->s->read_bytes;
    l->sum.read_time += seconds;
    sim_tail_add(&l->read_tail, seconds);
}

static void send(struct sim_loader *l)
{
    struct sim_world *w = l->world;
    uint32_t job = claim(l);
    uint64_t n = l->job[job].sample;
    struct sim_ticket *t = ticket_of(l, n);
    if (t->hits > 0 && sim_uniform(l->stream[SIM_STREAM_HIT], n) < t->hits) {
        count_read(l, HIT_SECONDS);
        to_workers(l, job);
        return;
    }
    double latency =
        t->latency *
        sim_law_draw(&w->latency, l->stream[SIM_STREAM_LATENCY], n);
    if (w->s->burst_rate > 0 &&
        sim_uniform(l->stream[SIM_STREAM_BURST], n) < w->s->burst_rate)
        latency += w->s->burst;
    t->reading++;
    l->n_reading++;
    sim_storage_send(l, job, latency);
}

void sim_flow_read(struct sim_loader *l, uint32_t job)
{
    l->n_reading--;
    ticket_of(l, l->job[job].sample)->reading--;
    count_read(l, l->world->now - l->job[job].read_start);
    to_workers(l, job);
}

static void send_all(struct sim_loader *l)
{
    uint32_t limit = 2 * l->knobs.io_depth + l->knobs.workers;
    uint64_t end = l->issued * l->world->s->batch_size;
    while (l->claimed < end && l->in_window < limit && may_claim(l) &&
           l->n_reading < l->knobs.io_depth)
        send(l);
}

/* ---- Workers ------------------------------------------------------------ */

/* Off the cores for so long; what hangs for ever is in no heap. */
static void fall_asleep(struct sim_loader *l, uint32_t job, double seconds)
{
    l->job[job].at = SIM_JOB_SLEEP;
    l->n_sleeping++;
    if (seconds < SIM_NEVER)
        sim_heap_push(&l->world->timed, l->world->now + seconds,
                      sim_job_id(l, job));
}

static void begin_work(struct sim_loader *l, uint32_t job)
{
    struct sim_world *w = l->world;
    struct sim_job *j = &l->job[job];
    struct sim_ticket *t = ticket_of(l, j->sample);
    t->read--;
    t->working++;
    j->work_start = w->now;
    j->at = SIM_JOB_CPU;
    j->sleep = t->sleep *
               sim_law_draw(&w->sleep, l->stream[SIM_STREAM_SLEEP], j->sample);
    if (w->s->hang > 0 && j->sample == w->s->hang_at * w->s->batch_size)
        j->sleep += w->s->hang;
    double work =
        t->work * sim_law_draw(&w->work, l->stream[SIM_STREAM_WORK], j->sample);
    j->locked = w->s->lock * work;
    sim_heap_push(&l->running, l->clock + work - j->locked, job);
}

static void take_lock(struct sim_loader *l, uint32_t job)
{
    l->lock_held = true;
    l->job[job].at = SIM_JOB_HELD;
    sim_heap_push(&l->running, l->clock + l->job[job].locked, job);
}

static void ask_for_lock(struct sim_loader *l, uint32_t job)
{
    l->lock_asked++;
    if (!l->lock_held) {
        take_lock(l, job);
        return;
    }
    l->job[job].at = SIM_JOB_LOCK;
    sim_heap_push(&l->locked, (double)l->lock_asked, job);
}

static void give_lock_back(struct sim_loader *l)
{
    l->lock_held = false;
    if (l->locked.n > 0)
        take_lock(l, sim_heap_pop(&l->locked));
}

static void work_all(struct sim_loader *l)
{
    uint64_t end = l->issued * l->world->s->batch_size;
    while (may_begin(l)) {
        if (l->read.n == 0 && in_memory(l) && l->claimed < end && may_claim(l))
            to_workers(l, claim(l));
        if (l->read.n == 0)
            return;
        begin_work(l, sim_heap_pop(&l->read));
    }
}

void sim_flow_worked(struct sim_loader *l, uint32_t job)
{
    if (l->job[job].at == SIM_JOB_HELD) {
        give_lock_back(l);
    } else if (l->job[job].locked > 0) {
        ask_for_lock(l, job);
        return;
    }
    if (l->job[job].sleep > 0)
        fall_asleep(l, job, l->job[job].sleep);
    else
        sim_flow_done(l, job);
}

void sim_flow_done(struct sim_loader *l, uint32_t job)
{
    struct sim_ticket *t = ticket_of(l, l->job[job].sample);
    double now = l->world->now;
    sim_tail_add(&l->sample_tail, now - l->job[job].work_start);
    l->sum.samples++;
    l->free[l->n_free++] = job;
    l->in_window--;
    t->working--;
    if (t->unsent + t->reading + t->read + t->working > 0)
        return;
    sim_step_ready(l, t);
}

/* Deliver, issue, send, work; again when the consumer could go on. */
void sim_flow_pump(struct sim_loader *l)
{
    do {
        issue_all(l);
        if (!in_memory(l))
            send_all(l);
        work_all(l);
    } while (sim_step_deliver(l));
}
