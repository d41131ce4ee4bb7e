/* SPDX-License-Identifier: Apache-2.0 */
/* What controllers share: differences of counters, and room for a setting. */
#ifndef SIM_CONTROLLERS_OWN_H
#define SIM_CONTROLLERS_OWN_H

#include "bench/sim/controller.h"
#include "bench/sim/sim.h"

/* What passed since it was cleared. A clock or a counter that stands still or
 * runs backwards makes a span of nothing, never a negative one. */
struct sim_meter {
    struct fdl_tuner_reading since, last;
    double ready; /* batches that waited at each delivery, summed */
    uint64_t deliveries;
    bool started;
};

void sim_meter_add(struct sim_meter *m, const struct fdl_tuner_reading *r);
void sim_meter_clear(struct sim_meter *m); /* begins at the last reading */
double sim_meter_seconds(const struct sim_meter *m);
uint64_t sim_meter_batches(const struct sim_meter *m);
uint64_t sim_meter_samples(const struct sim_meter *m);
double sim_meter_ready(const struct sim_meter *m); /* mean at a delivery */

/* That many workers, with a depth of `depth` batches and as many reads as the
 * bounds and the memory have room for, and fewer workers where they alone are
 * too many for it: what rules that only know workers are given without having
 * to find it. */
struct fdl_knobs sim_knobs_roomy(const struct fdl_tuner_limits *limits,
                                 double workers, uint32_t depth);

#define SIM_DEPTH_GIVEN 64u /* batches */

/* Cores that a program in the quota counts: it rounded up, at least one. */
uint32_t sim_cores_granted(const struct sim_facts *facts);

extern const struct sim_controller sim_feedline, sim_feedline_1;
extern const struct sim_controller sim_tf_data, sim_cedar, sim_cachew;
extern const struct sim_controller sim_dotnet, sim_oracle_player;

/* What sim_oracle_player plays on this thread, until it is told otherwise. */
void sim_oracle_play(const struct sim_oracle *oracle);

#endif
