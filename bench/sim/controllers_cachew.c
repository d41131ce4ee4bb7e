/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cachew (ATC 2022; eth-easl/cachew, easl/scaling_utils.cc). Reports of batch
 * time and queue length come in turn; those that are of another number of
 * workers than was asked for are left out.
 *
 * - Scaling up: another worker while the last one made the batch time fall by
 *   more than 7 %, else back to before and stable.
 * - Scaling down: one less while the last one made it rise by less than 3 %,
 *   else back and stable.
 * - A change of more than 120 % is no report.
 * - Stable: after 20 reports, one less if the queue is 1.5 times as long as
 *   when it became stable, one more if the batch time is 1.5 times as long.
 *
 * Given for free: a report every 100 batches; as much depth as memory allows,
 * up to 64 batches, and as many reads.
 */
#include "bench/sim/controllers_own.h"

#include <math.h>
#include <stdlib.h>

#define REPORT_BATCHES 100u
#define UP             0.07
#define DOWN           0.03
#define UNSTABLE       1.2
#define STABLE_REPORTS 20u
#define GROWTH         1.5

struct self {
    struct sim_meter meter;
    bool settling, scaling, first;
    int step;
    uint32_t workers, before;
    double batch_before; /* s, with `before` workers */
    double batch_stable, queue_stable;
    double queue_before;
    uint32_t stable;
};

static void *create(const struct sim_facts *facts, struct fdl_knobs *knobs)
{
    struct self *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->workers = facts->limits.workers_min;
    s->scaling = s->first = s->settling = true;
    *knobs = sim_knobs_roomy(&facts->limits, s->workers, SIM_DEPTH_GIVEN);
    return s;
}

/* To `workers` + step, if there may be so many. */
static void move(struct self *s, const struct sim_facts *facts, int step,
                 double batch, double queue)
{
    const struct fdl_tuner_limits *limits = &facts->limits;
    bool can = step > 0 ? s->workers < limits->workers_max
                        : s->workers > limits->workers_min;
    s->before = s->workers;
    s->batch_before = batch;
    s->queue_before = queue;
    s->step = step;
    s->scaling = can;
    if (can)
        s->workers = (uint32_t)((int64_t)s->workers + step);
    s->settling = can;
}

static void become_stable(struct self *s)
{
    s->settling = s->workers != s->before;
    s->workers = s->before;
    s->batch_stable = s->batch_before;
    s->queue_stable = s->queue_before;
    s->scaling = false;
    s->stable = 0;
}

static void scale(struct self *s, const struct sim_facts *facts, double batch,
                  double queue)
{
    double gain = 1 - batch / s->batch_before;
    if (fabs(gain) > UNSTABLE)
        return;
    if (s->step > 0 ? gain > UP : gain > -DOWN && s->workers > 1)
        move(s, facts, s->step, batch, queue);
    else
        become_stable(s);
}

static void rest(struct self *s, const struct sim_facts *facts, double batch,
                 double queue)
{
    if (++s->stable <= STABLE_REPORTS)
        return;
    s->stable = 0;
    bool longer = s->queue_stable > 0 && queue > GROWTH * s->queue_stable;
    if (longer && s->workers > 1)
        move(s, facts, -1, batch, queue);
    else if (batch > GROWTH * s->batch_stable)
        move(s, facts, +1, batch, queue);
}

static void report(struct self *s, const struct sim_facts *facts)
{
    double batch =
        sim_meter_seconds(&s->meter) / (double)sim_meter_batches(&s->meter);
    double queue = sim_meter_ready(&s->meter);
    if (s->first) {
        s->first = false;
        s->batch_stable = batch;
        s->queue_stable = queue;
        move(s, facts, +1, batch, queue);
    } else if (s->scaling) {
        scale(s, facts, batch, queue);
    } else {
        rest(s, facts, batch, queue);
    }
}

static void observe(void *self, const struct sim_facts *facts,
                    const struct fdl_tuner_reading *r, struct fdl_knobs *knobs)
{
    struct self *s = self;
    sim_meter_add(&s->meter, r);
    uint64_t batches = sim_meter_batches(&s->meter);
    if (s->settling && batches >= knobs->depth) {
        s->settling = false;
        sim_meter_clear(&s->meter);
    } else if (!s->settling && batches >= REPORT_BATCHES) {
        report(s, facts);
        sim_meter_clear(&s->meter);
    }
    *knobs = sim_knobs_roomy(&facts->limits, s->workers, SIM_DEPTH_GIVEN);
}

const struct sim_controller sim_cachew = {
    .name = "cachew",
    .about = "+1 while batches get 7 % faster, later -1 while it costs less "
             "than 3 % (ATC 2022); depth and reads are given",
    .create = create,
    .observe = observe,
    .destroy = free};
