/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job: hosts of the simulator, each with its ranks, tied together by what
 * ranks of a training share.
 *
 *   a barrier  behind each step every rank waits for all others, and for the
 *              exchange of gradients
 *   storage    one for all hosts, with so many reads and bytes per second; it
 *              serves reads in the order in which they come
 *
 * Each host is a world of its own (world.h); the one whose next event is first
 * goes on.
 */
#ifndef SIM_CLUSTER_H
#define SIM_CLUSTER_H

#include "sim.h"

/* Of one host, in parts of what the others have; 1: the same. */
struct sim_straggler {
    double cores, step, latency;
};

struct sim_cluster {
    struct sim_scenario host; /* its loaders are its ranks; barrier is set */
    uint32_t hosts;
    uint64_t from, steps; /* that are run; the first one's number */
    double bandwidth;     /* bytes per second of the storage; 0: any */
    double requests;      /* reads per second; 0: any */
    double port;          /* bytes per second of a host; 0: any */
    double exchange;      /* s behind the last rank's arrival, each step */
    uint32_t straggler;   /* which host differs; `hosts`: none */
    struct sim_straggler differs;
    double tells; /* s from one exchange to the next, in which each rank hears
                     what all of them told in the one before; 0: none */
};

/* One rank, at the end and over the second half of the steps. */
struct sim_cluster_rank {
    struct fdl_knobs knobs;
    double wait; /* for data; fraction of the time */
};

/* A half of the steps. */
struct sim_cluster_half {
    double step; /* s, mean */
    double bare; /* the same if no rank ever waited for data */
    double read; /* reads per second, of all ranks */
};

struct sim_cluster_result {
    double seconds;
    double first; /* s until the first step of all ranks was done */
    struct sim_cluster_half half[2];
    double changes;                /* of workers, mean of hosts' first ranks */
    struct sim_cluster_rank *rank; /* host by host */
    uint32_t ranks;
};

/* Deterministic. false: no memory, or a rank got stuck. */
bool sim_cluster_run(const struct sim_cluster *j,
                     const struct sim_controller *controller, uint64_t seed,
                     struct sim_cluster_result *out);
void sim_cluster_free(struct sim_cluster_result *r);

#endif
