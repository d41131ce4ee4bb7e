/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios from a wide distribution: loads of 0.3 to 12 workers, with or
 * without everything that the families have one at a time.
 */
#include "draw.h"
#include "families_own.h"

#include <math.h>
#include <stdio.h>

static bool rarely(struct sim_dice *d, double chance)
{
    return sim_chance(d) < chance;
}

static double square(double x)
{
    return x * x;
}

static void storage(struct sim_scenario *s, struct sim_dice *d)
{
    double in_flight = sim_decades(d, 0.5, 100);
    sim_reads(s, in_flight, 0.05 + sim_chance(d));
    if (rarely(d, 0.3))
        s->parallel = fmax(2, floor(in_flight * sim_between(d, 0.7, 3)));
    if (rarely(d, 0.2))
        s->bandwidth = (double)s->read_bytes * s->batch_size / s->step.mean *
                       sim_between(d, 0.8, 3);
    if (rarely(d, 0.4)) {
        s->burst_rate = sim_between(d, 0.005, 0.045) / s->batch_size;
        s->burst = s->step.mean * sim_between(d, 5, 30);
    }
}

static void change(struct sim_scenario *s, struct sim_dice *d)
{
    struct sim_phase *p = sim_add_phase(s, s->batches / 3);
    bool low = rarely(d, 0.5);
    double z = sim_chance(d);
    sim_add_phase(s, 2 * s->batches / 3);
    if (z < 0.3)
        p->step = low ? 0.4 : 2;
    else if (z < 0.6)
        p->work = p->sleep = low ? 0.4 : 2.5;
    else if (z < 0.85)
        p->cores = fmax(low ? 0.4 : 2, 1.5 / s->cores);
    else
        p->hits = sim_between(d, 0.5, 1);
}

static void machine(struct sim_scenario *s, struct sim_dice *d)
{
    s->kappa = rarely(d, 0.4) ? sim_between(d, 0, 0.08) : 0;
    s->eta = rarely(d, 0.4) ? sim_between(d, 0, 0.8) : 0;
    s->period = rarely(d, 0.25) ? 0.1 : 0;
    if (rarely(d, 0.1)) {
        s->neighbour = s->cores * sim_between(d, 0.1, 0.6);
        s->neighbour_on = s->step.mean * sim_decades(d, 200, 3000);
        s->neighbour_off = s->step.mean * sim_decades(d, 200, 3000);
    }
    if (rarely(d, 0.15)) {
        s->pause_every = (uint64_t)sim_between(d, 200, 3000);
        s->pause = s->step.mean * sim_decades(d, 10, 200);
    }
    if (rarely(d, 0.15)) {
        s->jitter = s->step.mean * sim_between(d, 0, 0.3);
        s->lost = sim_between(d, 0, 0.3);
    }
}

/* Half of the cores are another loader's; a worker hangs. */
static void company(struct sim_scenario *s, struct sim_dice *d)
{
    if (rarely(d, 0.07) && s->cores >= 4) {
        s->loaders = 2;
        s->limits.cores = s->cores / 2;
    }
    if (rarely(d, 0.05)) {
        s->hang = s->step.mean * sim_decades(d, 30, 600);
        s->hang_at = (uint64_t)sim_between(d, 0, (double)s->batches);
    }
}

/* Seconds: mostly 20 to 400 ms, as of usual training. */
static double step_of(struct sim_dice *d)
{
    double kind = sim_chance(d);
    if (kind < 0.1)
        return sim_decades(d, 0.002, 0.02);
    if (kind < 0.15)
        return sim_decades(d, 0.4, 2);
    return sim_decades(d, 0.02, 0.4);
}

static void memory(struct sim_scenario *s, struct sim_dice *d)
{
    struct fdl_tuner_limits *m = &s->limits;
    struct fdl_knobs least = {.workers = 4, .depth = 3, .io_depth = 4};
    m->memory_bytes =
        fdl_knobs_memory(m, &least) +
        (uint64_t)(sim_between(d, 0, 16) * (double)m->batch_bytes);
}

void sim_random_scenario(uint64_t seed, struct sim_scenario *out)
{
    struct sim_dice d = sim_dice_of(seed ^ 0xa11ce);
    double g = step_of(&d);
    double load = sim_decades(&d, 0.3, 12);
    double asleep = rarely(&d, 0.25) ? sim_chance(&d) : 0;
    double cores = 2 + floor(15 * sim_chance(&d));
    sim_plain(out, g, cores, load * (1 - asleep));
    out->sleep = (struct sim_draw){.mean = load * asleep * g / out->batch_size,
                                   .cv = sim_chance(&d)};
    out->work.cv = 0.05 + 1.5 * square(sim_chance(&d));
    out->step.cv = 0.02 + 0.3 * square(sim_chance(&d));
    out->consumer_cores = sim_between(&d, 0.3, 1.3);
    if (rarely(&d, 0.15))
        out->work.pareto = sim_between(&d, 1.6, 2.6);
    if (rarely(&d, 0.3)) {
        out->device = true;
        out->host_step = g * sim_between(&d, 0.1, 0.6);
        out->copy = g * sim_between(&d, 0.05, 0.7);
        out->run_ahead = 1 + (uint32_t)sim_between(&d, 0, 3);
    }
    if (rarely(&d, 0.5))
        storage(out, &d);
    machine(out, &d);
    if (rarely(&d, 0.4))
        change(out, &d);
    if (rarely(&d, 0.15))
        out->drift = sim_between(&d, 0, 0.2);
    if (rarely(&d, 0.25))
        memory(out, &d);
    company(out, &d);
    if (rarely(&d, 0.06))
        out->lock = sim_between(&d, 0.05, 0.8);
    sim_choose_reader(out, sim_chance(&d));
    out->family = "random";
    snprintf(out->name, sizeof(out->name), "random/%llu",
             (unsigned long long)seed);
}
