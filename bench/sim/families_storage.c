/* SPDX-License-Identifier: Apache-2.0 */
/* Families by where the bytes come from. */
#include "families_own.h"

#include <math.h>

static void light(struct sim_scenario *s, struct sim_dice *d)
{
    double load = sim_between(d, 0.3, 2);
    sim_plain(s, sim_decades(d, 0.05, 0.2), ceil(load * 1.5 + 2), load);
}

void sim_make_io_latency(struct sim_scenario *s, struct sim_dice *d)
{
    light(s, d);
    sim_reads(s, sim_decades(d, 12, 120), sim_between(d, 0.2, 0.6));
}

/* What the device can do at most is 0.7 to 1.6 of what is asked for. */
void sim_make_io_parallel(struct sim_scenario *s, struct sim_dice *d)
{
    light(s, d);
    double in_flight = sim_between(d, 4, 30);
    sim_reads(s, in_flight, 0.5);
    s->parallel = fmax(2, floor(in_flight * sim_between(d, 0.7, 1.6)));
}

void sim_make_io_bandwidth(struct sim_scenario *s, struct sim_dice *d)
{
    light(s, d);
    sim_reads(s, sim_between(d, 2, 20), 0.5);
    double asked = (double)s->read_bytes * s->batch_size / s->step.mean;
    s->bandwidth = asked * sim_between(d, 0.6, 1.5);
}

/* Storage gives a tenth to a half of what is asked for: nothing helps. */
void sim_make_io_slow(struct sim_scenario *s, struct sim_dice *d)
{
    light(s, d);
    sim_reads(s, sim_between(d, 1, 8), 0.3);
    double asked = (double)s->read_bytes * s->batch_size / s->step.mean;
    s->bandwidth = asked * sim_between(d, 0.1, 0.5);
    s->batches /= 3;
}

void sim_make_io_hiccup(struct sim_scenario *s, struct sim_dice *d)
{
    light(s, d);
    sim_reads(s, sim_between(d, 1, 8), 0.3);
    s->hiccup = sim_between(d, 0.4, 1);
    s->hiccup_every = sim_between(d, 6, 20);
    s->hiccup_of_storage = true;
}

/* Of batches, 0.5 to 5 % have a read that takes 5 to 30 steps longer. */
void sim_make_bursty_io(struct sim_scenario *s, struct sim_dice *d)
{
    light(s, d);
    sim_reads(s, sim_between(d, 2, 12), 0.3);
    s->burst_rate = sim_decades(d, 0.005, 0.05) / s->batch_size;
    s->burst = s->step.mean * sim_between(d, 5, 30);
}

static void epochs(struct sim_scenario *s, struct sim_dice *d, double first,
                   double later)
{
    light(s, d);
    sim_reads(s, sim_between(d, 20, 100), 0.5);
    s->phase[0].hits = first;
    sim_add_phase(s, (uint64_t)sim_between(d, 4000, 12000))->hits = later;
}

void sim_make_epoch_warm(struct sim_scenario *s, struct sim_dice *d)
{
    epochs(s, d, 0, sim_between(d, 0.6, 1));
}

void sim_make_epoch_cold(struct sim_scenario *s, struct sim_dice *d)
{
    epochs(s, d, sim_between(d, 0.8, 1), 0);
}
