/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cedar (VLDB 2024; stanford-mast/cedar, its tuner). In periods of 3 s:
 *
 * - Half of the buffer is empty: a worker is added, five periods pass, five are
 *   averaged, and the worker stays if throughput is more than 1.01 times what
 *   it was, in which case another one is tried; else it goes.
 * - It is not: every tenth period a worker is taken away, unverified.
 *
 * Given for free: a period of at most 30 batches, so that it gets somewhere
 * where batches are fast; as much depth as memory allows, up to 64 batches, and
 * as many reads.
 */
#include "bench/sim/controllers_own.h"

#include <stdlib.h>

#define PERIOD_SECONDS 3.0
#define PERIOD_BATCHES 30u
#define SETTLE         5u /* periods after a change, unmeasured */
#define AVERAGE        5u /* periods that are measured */
#define DOWN_EVERY     10u
#define BETTER         1.01
#define LOW            0.5 /* of the depth: less is a bottleneck */

enum stage { WATCH, BASE, SETTLING, TRY };

struct self {
    struct sim_meter meter;
    enum stage stage;
    uint32_t workers, down;
    double rate; /* before the worker that is tried */
};

static void *create(const struct sim_facts *facts, struct fdl_knobs *knobs)
{
    struct self *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->workers = facts->limits.workers_min;
    s->down = DOWN_EVERY;
    *knobs = sim_knobs_roomy(&facts->limits, s->workers, SIM_DEPTH_GIVEN);
    return s;
}

static bool passed(const struct self *s, uint32_t periods)
{
    return sim_meter_seconds(&s->meter) >= periods * PERIOD_SECONDS ||
           sim_meter_batches(&s->meter) >= (uint64_t)periods * PERIOD_BATCHES;
}

static double rate(const struct self *s)
{
    double seconds = sim_meter_seconds(&s->meter);
    return seconds > 0 ? (double)sim_meter_batches(&s->meter) / seconds : 0;
}

static void enter(struct self *s, enum stage stage)
{
    s->stage = stage;
    sim_meter_clear(&s->meter);
}

/* One more, if there may be. */
static void try_more(struct self *s, const struct sim_facts *facts)
{
    bool can = s->workers < facts->limits.workers_max;
    s->workers += can;
    enter(s, can ? SETTLING : WATCH);
}

static void watch(struct self *s, const struct fdl_knobs *knobs)
{
    bool starved = sim_meter_ready(&s->meter) < LOW * knobs->depth;
    if (!starved && --s->down == 0) {
        s->down = DOWN_EVERY;
        s->workers -= s->workers > 1;
    }
    enter(s, starved ? BASE : WATCH);
}

static void judge(struct self *s, const struct sim_facts *facts)
{
    double now = rate(s);
    if (now > BETTER * s->rate) {
        s->rate = now;
        try_more(s, facts);
    } else {
        s->workers--;
        enter(s, WATCH);
    }
}

static void observe(void *self, const struct sim_facts *facts,
                    const struct fdl_tuner_reading *r, struct fdl_knobs *knobs)
{
    struct self *s = self;
    sim_meter_add(&s->meter, r);
    if (s->stage == WATCH && passed(s, 1)) {
        watch(s, knobs);
    } else if (s->stage == BASE && passed(s, AVERAGE)) {
        s->rate = rate(s);
        try_more(s, facts);
    } else if (s->stage == SETTLING && passed(s, SETTLE)) {
        enter(s, TRY);
    } else if (s->stage == TRY && passed(s, AVERAGE)) {
        judge(s, facts);
    }
    *knobs = sim_knobs_roomy(&facts->limits, s->workers, SIM_DEPTH_GIVEN);
}

const struct sim_controller sim_cedar = {
    .name = "cedar",
    .about = "+1 is kept above 1.01 times the throughput, -1 blindly when fed "
             "(VLDB 2024); periods of 30 batches, depth and reads are given",
    .create = create,
    .observe = observe,
    .destroy = free};
