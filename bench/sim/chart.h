/* SPDX-License-Identifier: Apache-2.0 */
/* Charts in a terminal, 80 columns wide. */
#ifndef SIM_CHART_H
#define SIM_CHART_H

#include "bench/sim/tournament.h"

#include <stdio.h>

/* Workers over the batches of one run, and the oracle's. */
void chart_workers(FILE *f, const struct sim_scenario *s,
                   const struct sim_oracle *oracle,
                   const struct sim_score *score);

/* For each controller where its regrets lie. */
void chart_regret(FILE *f, const struct tournament *t);

#endif
