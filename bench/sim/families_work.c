/* SPDX-License-Identifier: Apache-2.0 */
/* Families by the work of samples and of the consumer. */
#include "families_own.h"

#include <math.h>

/* Cores so that `load` workers are fed and something is left. */
static void feasible(struct sim_scenario *s, struct sim_dice *d, double least,
                     double most)
{
    double load = sim_between(d, least, most);
    double cores = ceil(load * sim_between(d, 1.25, 2.5) + 1);
    sim_plain(s, sim_decades(d, 0.05, 0.2), cores, load);
    s->work.cv = sim_between(d, 0.2, 0.8);
    s->consumer_cores = sim_between(d, 0.3, 1);
}

void sim_make_cpu_feasible(struct sim_scenario *s, struct sim_dice *d)
{
    feasible(s, d, 1.5, 12);
}

void sim_make_cpu_saturated(struct sim_scenario *s, struct sim_dice *d)
{
    double cores = floor(sim_between(d, 2, 17));
    sim_plain(s, sim_decades(d, 0.05, 0.2), cores,
              cores * sim_between(d, 1.15, 2.5));
    s->kappa = sim_between(d, 0, 0.02);
}

/* Speed-up is greatest at about 1.4 / kappa workers. */
void sim_make_contention(struct sim_scenario *s, struct sim_dice *d)
{
    double cores = floor(sim_between(d, 12, 24));
    sim_plain(s, 0.08, cores, sim_between(d, 5, 12));
    s->kappa = sim_between(d, 0.05, 0.18);
}

/* Work of `load` steps, of which the lock is held for `held`. */
static void locked(struct sim_scenario *s, struct sim_dice *d, double held)
{
    double load = held * sim_between(d, 1.3, 6);
    double cores = ceil(load * sim_between(d, 1.25, 2.5) + 1);
    sim_plain(s, sim_decades(d, 0.05, 0.2), cores, load);
    s->work.cv = sim_between(d, 0.2, 0.8);
    s->lock = held / load;
}

void sim_make_lock(struct sim_scenario *s, struct sim_dice *d)
{
    locked(s, d, sim_between(d, 0.3, 0.85));
}

void sim_make_lock_bound(struct sim_scenario *s, struct sim_dice *d)
{
    locked(s, d, sim_between(d, 1.15, 3));
}

/* An operation under its own mutex, which the loader knows nothing of. */
void sim_make_lock_untold(struct sim_scenario *s, struct sim_dice *d)
{
    locked(s, d, sim_between(d, 1.15, 3));
    s->lock_untold = true;
}

void sim_make_gpu_bound(struct sim_scenario *s, struct sim_dice *d)
{
    sim_plain(s, sim_decades(d, 0.1, 0.4), floor(sim_between(d, 4, 16)),
              sim_between(d, 0.05, 0.75));
    s->eta = sim_between(d, 0, 0.3);
}

void sim_make_sleeping(struct sim_scenario *s, struct sim_dice *d)
{
    double cores = floor(sim_between(d, 2, 5));
    sim_plain(s, sim_decades(d, 0.03, 0.2), cores,
              sim_between(d, 0.1, 0.4) * cores);
    double load = sim_between(d, 6, 30);
    s->sleep = (struct sim_draw){
        .mean = load * s->step.mean / s->batch_size,
        .cv = sim_between(d, 0, 0.5),
    };
}

static void heavy(struct sim_scenario *s, struct sim_dice *d, double index)
{
    double load = sim_between(d, 1.5, 6);
    sim_plain(s, sim_decades(d, 0.05, 0.2),
              ceil(load * sim_between(d, 0.9, 2) + 0.5), load);
    s->work.pareto = index;
}

void sim_make_heavy_15(struct sim_scenario *s, struct sim_dice *d)
{
    heavy(s, d, 1.5);
}

void sim_make_heavy_20(struct sim_scenario *s, struct sim_dice *d)
{
    heavy(s, d, 2);
}

void sim_make_heavy_25(struct sim_scenario *s, struct sim_dice *d)
{
    heavy(s, d, 2.5);
}

void sim_make_high_noise(struct sim_scenario *s, struct sim_dice *d)
{
    feasible(s, d, 2, 8);
    s->work.cv = sim_between(d, 1, 2);
    s->step.cv = sim_between(d, 0.2, 0.5);
}

void sim_make_drift(struct sim_scenario *s, struct sim_dice *d)
{
    double cores = floor(sim_between(d, 4, 12));
    sim_plain(s, 0.1, cores, cores * sim_between(d, 0.5, 1.2));
    s->kappa = 0.01;
    s->drift = sim_between(d, 0.1, 0.2);
}

void sim_make_interference(struct sim_scenario *s, struct sim_dice *d)
{
    feasible(s, d, 1.5, 6);
    s->eta = sim_between(d, 0.2, 0.8);
}

void sim_make_interference_saturated(struct sim_scenario *s, struct sim_dice *d)
{
    double cores = floor(sim_between(d, 6, 12));
    sim_plain(s, 0.05, cores, cores * sim_between(d, 0.7, 1.5));
    s->kappa = sim_between(d, 0.02, 0.06);
    s->eta = sim_between(d, 0.4, 0.8);
}

void sim_make_tiny(struct sim_scenario *s, struct sim_dice *d)
{
    double load = sim_between(d, 1, 6);
    sim_plain(s, 0.002, ceil(load * sim_between(d, 0.8, 2) + 1), load);
    s->step.cv = 0.1;
}

void sim_make_huge(struct sim_scenario *s, struct sim_dice *d)
{
    double load = sim_between(d, 1, 6);
    sim_plain(s, 2, ceil(load * sim_between(d, 0.8, 2) + 1), load);
    s->batches = 6000; /* more than three hours */
}

/* The published case: 82.3 ms of loading, 12.1 of copy, 28.5 of compute. */
static void on_device(struct sim_scenario *s, struct sim_dice *d, double load,
                      double copy)
{
    sim_plain(s, 0.0285 * sim_decades(d, 0.5, 4), ceil(load * 1.5 + 2), load);
    s->device = true;
    s->host_step = s->step.mean * sim_between(d, 0.1, 0.5);
    s->copy = s->step.mean * copy;
    s->run_ahead = 1 + (uint32_t)sim_between(d, 0, 3);
}

void sim_make_device(struct sim_scenario *s, struct sim_dice *d)
{
    double load = sim_between(d, 1.5, 8);
    on_device(s, d, load, sim_between(d, 0.1, 0.6));
}

void sim_make_copy_bound(struct sim_scenario *s, struct sim_dice *d)
{
    double load = sim_between(d, 1, 4);
    on_device(s, d, load, sim_between(d, 1.05, 1.6));
}
