/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second, smaller model of a loader, which shares no code with the simulator
 * beside it: one loader, reads through a queue, workers that compute and sleep,
 * a consumer that takes batches in order. What a rule of the tuner is worth
 * must show in both before it is believed.
 */
#ifndef SIM_SECOND_H
#define SIM_SECOND_H

#include <stdbool.h>
#include <stdint.h>

struct second_outcome {
    double seconds;        /* that all batches took */
    double workers, depth; /* mean over time */
    double changes;        /* of workers */
};

/* The scenario of this seed under the tuner, from the library's start or from
 * one worker. Deterministic. false: no memory. */
bool second_run(uint64_t seed, uint32_t batches, bool from_one,
                struct second_outcome *out);

#endif
