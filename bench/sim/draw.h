/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chance as a function of (seed, what for, number). No state: what sample 4711
 * costs does not depend on who asked for what before, so that controllers can
 * be compared on the same work.
 */
#ifndef SIM_DRAW_H
#define SIM_DRAW_H

#include "sim.h"

/* What a number is drawn for. */
enum sim_stream {
    SIM_STREAM_WORK = 1,
    SIM_STREAM_SLEEP,
    SIM_STREAM_LATENCY,
    SIM_STREAM_HIT,
    SIM_STREAM_BURST,
    SIM_STREAM_STEP,
    SIM_STREAM_NEIGHBOUR,
    SIM_STREAM_JITTER,
    SIM_STREAM_LOST,
    SIM_STREAM_SCENARIO
};

/* The start of a stream of numbers. */
uint64_t sim_stream(uint64_t seed, uint32_t loader, enum sim_stream what);

/* Number i of it: in (0, 1), and standard normal. */
double sim_uniform(uint64_t stream, uint64_t i);
double sim_normal(uint64_t stream, uint64_t i);

/* A struct sim_draw with what can be computed beforehand. */
struct sim_law {
    double mean;
    double sigma, shift; /* log-normal */
    double power, scale; /* Pareto; power 0: log-normal */
};

void sim_law_init(struct sim_law *law, const struct sim_draw *draw);
double sim_law_draw(const struct sim_law *law, uint64_t stream, uint64_t i);

#endif
