/* SPDX-License-Identifier: Apache-2.0 */
/* The controllers, each in a file of its own. */
#ifndef SIM_CONTROLLERS_OWN_H
#define SIM_CONTROLLERS_OWN_H

#include "bench/sim/controller.h"
#include "bench/sim/sim.h"

extern const struct sim_controller sim_feedline, sim_feedline_1;
extern const struct sim_controller sim_dotnet, sim_oracle_player;

/* What sim_oracle_player plays on this thread, until it is told otherwise. */
void sim_oracle_play(const struct sim_oracle *oracle);

#endif
