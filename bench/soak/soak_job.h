/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job of ranks in lockstep, as one of data-parallel training: ranks are
 * killed at any moment and begin again where they last said that they stand;
 * and now and then the whole job goes on with more or fewer of them.
 */
#ifndef SOAK_SOAK_JOB_H
#define SOAK_SOAK_JOB_H

#include "soak_account.h"

#include <stdbool.h>
#include <sys/types.h>

#define JOB_MOST 3u

struct job_rank {
    pid_t pid;
    int to, from;    /* pipes */
    char state[256]; /* where it stands */
    bool ended;      /* it stands in the next epoch */
    bool killed;     /* and is not back yet */
};

struct job {
    char *program;
    char uri[1024];
    struct account account;
    struct job_rank ranks[JOB_MOST];
    uint32_t world;
    char state[256]; /* where all of them stand */
    uint64_t dice;
    uint64_t started, killed, changed; /* processes, of them; worlds */
    uint64_t seed;                     /* of the faults of this epoch */
    uint32_t one_in;                   /* 0: none */
    double seconds;                    /* of the last epoch */
    bool dead;
};

/* program: this one, which is started as `program rank ...`. */
void job_init(struct job *j, char *program, const char *folder, uint64_t count,
              uint64_t seed);

/* One epoch, whose ranks come and go; one_in 0: without faults in them. */
void job_epoch(struct job *j, uint64_t seed, uint32_t one_in);

#endif
