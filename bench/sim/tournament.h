/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Controllers against each other: every scenario is run under each of them with
 * the same random work. What comes out does not depend on how many threads do
 * it: each scenario is one thread's, and its results have their place.
 */
#ifndef SIM_TOURNAMENT_H
#define SIM_TOURNAMENT_H

#include "bench/sim/controller.h"
#include "bench/sim/score.h"

#include <stddef.h>

struct tournament_plan {
    const struct sim_family **families;
    size_t n_families;
    uint64_t seeds;     /* of each family */
    uint64_t scenarios; /* random ones */
    uint64_t seed;      /* the first one of all of these */
    const struct sim_controller **controllers;
    size_t n_controllers;
    uint64_t batches; /* of a run; 0: as the scenario says */
    uint64_t jobs;    /* threads, at least 1 */
    bool progress;    /* on standard error */
};

/* One scenario, and what became of it. */
struct tournament_match {
    struct sim_scenario scenario;
    uint64_t seed;
    struct sim_oracle oracle;
    struct sim_score by_default;
    struct sim_score *scores; /* by controller */
    bool failed;              /* no memory */
};

struct tournament {
    const struct tournament_plan *plan;
    struct tournament_match *matches; /* families in order, then random ones */
    size_t n_matches;
};

#define TOURNAMENT_RANDOM "random" /* family of random scenarios */

/* false: no memory, which was said. */
bool tournament_play(const struct tournament_plan *plan,
                     struct tournament *out);
void tournament_fini(struct tournament *t);

/* One match by hand: its scenario and seed are set. First the oracle and the
 * static default, then controllers one by one. false: no memory. */
bool tournament_prepare(struct tournament_match *m, uint64_t batches);
bool tournament_play_one(const struct tournament_match *m,
                         const struct sim_controller *controller,
                         struct sim_score *out);

/* The one scenario that a name means: FAMILY/SEED or random/SEED. */
bool tournament_scenario(const char *name, struct sim_scenario *out,
                         uint64_t *seed);

/* Fewer or more batches; phases, pauses and faults stay where they are in
 * proportion. 0: no change. */
void tournament_stretch(struct sim_scenario *s, uint64_t batches);

#endif
