/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle's settings, played: they change with the phases, without a trial
 * and without a mistake. It bounds what any controller can do, but for those
 * that gain by changing within a phase. */
#include "bench/sim/controllers_own.h"

#include <stddef.h>

static _Thread_local const struct sim_oracle *played;

void sim_oracle_play(const struct sim_oracle *oracle)
{
    played = oracle;
}

static const struct fdl_knobs *best_at(const struct sim_oracle *o,
                                       uint64_t batch)
{
    uint32_t p = 0;
    while (p + 1 < o->n_phases && batch >= o->phase[p + 1].from)
        p++;
    return &o->phase[p].best;
}

static void *create(const struct sim_facts *facts, struct fdl_knobs *knobs)
{
    static char nothing;
    (void)facts;
    if (!played)
        return NULL;
    *knobs = *best_at(played, 0);
    return &nothing;
}

static void observe(void *self, const struct sim_facts *facts,
                    const struct fdl_tuner_reading *r, struct fdl_knobs *knobs)
{
    (void)self;
    (void)facts;
    *knobs = *best_at(played, r->batches);
}

const struct sim_controller sim_oracle_player = {
    .name = "oracle",
    .about = "the best fixed setting of each phase, known beforehand",
    .create = create,
    .observe = observe};
