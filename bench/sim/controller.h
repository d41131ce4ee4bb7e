/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who sets the knobs of a simulated loader: the project's tuner, the published
 * rules of others, or nobody. A controller sees what a real one could see.
 */
#ifndef SIM_CONTROLLER_H
#define SIM_CONTROLLER_H

#include "profiler/tuner/tuner.h"

/* What a controller may know beforehand, or be told when it changes. */
struct sim_facts {
    uint32_t host_cores; /* of the machine, quota or not */
    double quota;        /* cores granted, the consumer's included */
    struct fdl_tuner_limits limits;
    struct fdl_knobs def; /* the static default, the library's own start:
                             workers = quota, 4 batches ahead, within the
                             limits */
};

struct sim_controller {
    const char *name;  /* "feedline", "dotnet", "static-default", ... */
    const char *about; /* one line, with the source of its rule */

    /* *knobs: where it starts. NULL: no memory. */
    void *(*create)(const struct sim_facts *facts, struct fdl_knobs *knobs);

    /* After each delivered batch, and every 25 ms of simulated time in which
     * none is. *knobs: in force; what it should become, which is clamped to the
     * limits. facts: now. NULL: it leaves them as they are. */
    void (*observe)(void *self, const struct sim_facts *facts,
                    const struct fdl_tuner_reading *reading,
                    struct fdl_knobs *knobs);
    void (*destroy)(void *self); /* NULL: there is nothing to free */

    /* Where the project's tuner stands, asked before destroy; NULL for others.
     */
    void (*status)(void *self, struct fdl_tuner_status *out);

    /* What ranks of a job tell each other (cluster.h); NULL: nothing. */
    void (*tell)(void *self, struct fdl_tuner_job *out);
    void (*hear)(void *self, const struct fdl_tuner_job *job);

    bool on_demand; /* batches are issued only while the consumer waits: torch
                       with 0 workers */
};

extern const struct sim_controller *const sim_controllers[];
extern const unsigned sim_n_controllers;

#endif
