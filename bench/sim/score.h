/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How well one run went: against the oracle, against leaving the default
 * alone, and how restless it was on the way. Fractions of 1, seconds, batches.
 */
#ifndef SIM_SCORE_H
#define SIM_SCORE_H

#include "bench/sim/sim.h"

#define SIM_CURVE 160u /* points of a curve over the batches of a run */

struct sim_score {
    double regret; /* time / oracle's time - 1 */
    double error;  /* standard error of that, the oracle's */
    double excess; /* time / static default's time - 1 */
    double seconds, stall, workers, depth, cpu;

    /* The first batch from which on workers and depth stay, for
     * SIM_SETTLED_BATCHES, where they deliver within SIM_SETTLED of the best
     * fixed setting; judged in the first phase, whose length it is if that
     * never happens. And the time and the changes of workers until then. */
    uint64_t settled;
    double settled_seconds;
    uint64_t settled_changes;
    bool settled_ever;

    /* Of workers, trials and rollbacks included, per SIM_PER_BATCHES. A
     * reversal is a change that goes the other way than the one before; per
     * phase. */
    double changes, reversals;

    uint32_t final;    /* workers in the last tenth, longest in force */
    uint32_t cheapest; /* that are fed in the last phase, else the best's */

    uint64_t memory_peak, memory_budget, violations;
    double spent, credit; /* of exploration, seconds; 0 without a tuner */
    bool stuck, wrong;    /* wrong: not a number, or beyond the limits */

    float curve_workers[SIM_CURVE]; /* in force, over batches */
};

#define SIM_SETTLED         0.03
#define SIM_SETTLED_BATCHES 500u
#define SIM_PER_BATCHES     24000u

/* by_default: seconds of the static default in the same run. */
void sim_score(const struct sim_scenario *s, uint64_t seed,
               const struct sim_oracle *oracle, double by_default,
               const struct sim_result *r, struct sim_score *out);

/* Fills the four fields named settled. */
void sim_score_settled(const struct sim_scenario *s, uint64_t seed,
                       const struct sim_oracle *oracle,
                       const struct sim_result *r, struct sim_score *out);

#endif
