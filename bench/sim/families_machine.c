/* SPDX-License-Identifier: Apache-2.0 */
/* Families by the machine, who else is on it, and what goes wrong. */
#include "families_own.h"

#include <math.h>

static void usual(struct sim_scenario *s, struct sim_dice *d)
{
    double load = sim_between(d, 2, 6);
    sim_plain(s, sim_decades(d, 0.05, 0.2),
              ceil(load * sim_between(d, 1.3, 2) + 1), load);
}

/* The phase in the middle. */
static struct sim_phase *thirds(struct sim_scenario *s)
{
    struct sim_phase *middle = sim_add_phase(s, s->batches / 3);
    sim_add_phase(s, 2 * s->batches / 3);
    return middle;
}

void sim_make_quota_down(struct sim_scenario *s, struct sim_dice *d)
{
    usual(s, d);
    s->kappa = 0.01;
    struct sim_phase *p = thirds(s);
    p->cores = sim_between(d, 0.25, 0.6);
}

void sim_make_quota_up(struct sim_scenario *s, struct sim_dice *d)
{
    double cores = floor(sim_between(d, 2, 6));
    sim_plain(s, 0.1, cores, cores * sim_between(d, 1.2, 3));
    struct sim_phase *p = thirds(s);
    p->cores = sim_between(d, 1.5, 3);
}

void sim_make_throttling(struct sim_scenario *s, struct sim_dice *d)
{
    double cores = floor(sim_between(d, 2, 9));
    sim_plain(s, sim_decades(d, 0.03, 0.3), cores,
              cores * sim_between(d, 0.4, 1.6));
    s->period = 0.1;
}

void sim_make_memory(struct sim_scenario *s, struct sim_dice *d)
{
    usual(s, d);
    s->work.cv = sim_between(d, 0.5, 1.5);
    if (sim_chance(d) < 0.5)
        sim_reads(s, sim_between(d, 4, 40), 0.5);
    struct fdl_tuner_limits *m = &s->limits;
    struct fdl_knobs least = {.workers = 4, .depth = 2, .io_depth = 4};
    m->memory_bytes = fdl_knobs_memory(m, &least) +
                      (uint64_t)(sim_between(d, 0, 8) * (double)m->batch_bytes);
}

void sim_make_neighbour(struct sim_scenario *s, struct sim_dice *d)
{
    usual(s, d);
    s->neighbour = s->cores * sim_between(d, 0.2, 0.7);
    s->neighbour_on = sim_decades(d, 20, 300);
    s->neighbour_off = sim_decades(d, 20, 300);
}

void sim_make_visitors(struct sim_scenario *s, struct sim_dice *d)
{
    double cores = floor(sim_between(d, 3, 9)), held = sim_between(d, 1.2, 2);
    sim_plain(s, sim_decades(d, 0.05, 0.2), cores, held);
    s->lock = 1;
    s->lock_untold = true;
    s->neighbour = cores * sim_between(d, 0.3, 0.6);
    s->neighbour_told = true;
    s->neighbour_on = sim_between(d, 3, 10);
    s->neighbour_off = sim_between(d, 3, 10);
}

static void crowd(struct sim_scenario *s, struct sim_dice *d)
{
    s->crowd = ceil(s->cores * sim_between(d, 1, 2));
    s->batches /= 3;
}

void sim_make_crowd_computing(struct sim_scenario *s, struct sim_dice *d)
{
    double cores = floor(sim_between(d, 2, 9));
    sim_plain(s, sim_decades(d, 0.05, 0.2), cores,
              cores * sim_between(d, 0.7, 2));
    s->decent = (uint32_t)cores;
    crowd(s, d);
}

void sim_make_crowd_sleeping(struct sim_scenario *s, struct sim_dice *d)
{
    double cores = floor(sim_between(d, 2, 5));
    sim_plain(s, sim_decades(d, 0.03, 0.2), cores,
              0.03 * sim_between(d, 1, 4) * cores);
    double load = sim_between(d, 5, 12);
    s->sleep = (struct sim_draw){
        .mean = load * s->step.mean / s->batch_size,
        .cv = sim_between(d, 0, 0.5),
    };
    crowd(s, d);
}

void sim_make_quota_untold(struct sim_scenario *s, struct sim_dice *d)
{
    double cores = floor(sim_between(d, 4, 12));
    sim_plain(s, 0.1, cores, cores * sim_between(d, 0.7, 1.5));
    s->kappa = sim_between(d, 0.005, 0.02);
    s->quota_untold = true;
    sim_bounds(s);
}

void sim_make_hiccup(struct sim_scenario *s, struct sim_dice *d)
{
    double load = sim_between(d, 1, 4);
    sim_plain(s, sim_decades(d, 0.02, 0.1), ceil(load * 1.6 + 2), load);
    s->hiccup = sim_between(d, 0.4, 1);
    s->hiccup_every = sim_between(d, 6, 20);
}

void sim_make_phase_step(struct sim_scenario *s, struct sim_dice *d)
{
    double load = sim_between(d, 1, 3);
    sim_plain(s, 0.2, ceil(load * 5), load);
    struct sim_phase *p = thirds(s);
    p->step = sim_between(d, 0.25, 0.6);
}

void sim_make_phase_work(struct sim_scenario *s, struct sim_dice *d)
{
    double load = sim_between(d, 0.7, 2);
    sim_plain(s, 0.1, ceil(load * 5), load);
    struct sim_phase *p = thirds(s);
    p->work = sim_between(d, 2, 5);
}

void sim_make_evaluation(struct sim_scenario *s, struct sim_dice *d)
{
    usual(s, d);
    s->pause_every = (uint64_t)sim_between(d, 500, 2000);
    s->pause = s->step.mean * sim_between(d, 50, 200);
}

void sim_make_checkpoint(struct sim_scenario *s, struct sim_dice *d)
{
    usual(s, d);
    s->pause_every = (uint64_t)sim_between(d, 100, 400);
    s->pause = s->step.mean * sim_between(d, 5, 30);
}

void sim_make_jitter(struct sim_scenario *s, struct sim_dice *d)
{
    usual(s, d);
    s->jitter = s->step.mean * sim_between(d, 0.05, 0.5);
    s->lost = sim_between(d, 0.05, 0.4);
}

void sim_make_hung(struct sim_scenario *s, struct sim_dice *d)
{
    usual(s, d);
    s->hang = s->step.mean * sim_decades(d, 30, 600);
    s->hang_at = (uint64_t)sim_between(d, 100, 20000);
}

void sim_make_two_loaders(struct sim_scenario *s, struct sim_dice *d)
{
    double load = sim_between(d, 1.5, 5);
    sim_plain(s, 0.1, ceil(2 * load * sim_between(d, 0.6, 1.6) + 2), load);
    s->loaders = 2;
    s->kappa = sim_between(d, 0, 0.02);
    sim_bounds(s);
}

void sim_make_four_loaders(struct sim_scenario *s, struct sim_dice *d)
{
    sim_plain(s, 0.1, 64, sim_between(d, 5, 18));
    s->loaders = 4;
    s->batches = 12000;
    sim_bounds(s);
}

void sim_make_big_host(struct sim_scenario *s, struct sim_dice *d)
{
    sim_plain(s, 0.1, 256, sim_between(d, 8, 34));
    s->loaders = 8;
    s->batches = 6000;
    s->device = true;
    s->host_step = 0.3 * s->step.mean;
    s->copy = sim_between(d, 0.05, 0.3) * s->step.mean;
    sim_reads(s, sim_between(d, 4, 24), 0.5);
}
