/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank of a job, in a process of its own. It takes a batch for each byte that
 * it reads from its standard input and answers with a record, which pipes pass
 * on whole or not at all: whoever is killed has told of a batch, and where it
 * stands behind it, or of nothing.
 */
#ifndef SOAK_RANK_H
#define SOAK_RANK_H

#include <stdint.h>

#define RANK_BATCH 16u

/* Below PIPE_BUF. */
struct rank_record {
    int32_t status; /* OK, or why the rank is of no use any more */
    uint32_t count;
    uint64_t epoch, place; /* of its first sample, over all ranks */
    uint64_t next_epoch;   /* of the batch behind it */
    char state[256];       /* saved there */
    int64_t index[RANK_BATCH];
    int32_t sample_status[RANK_BATCH];
    uint64_t hash[RANK_BATCH];
};

struct rank_order {
    const char *uri, *state; /* "": begins with epoch 0 */
    uint32_t rank, world;
    uint64_t seed;   /* of its faults */
    uint32_t one_in; /* 0: none */
};

/* The process's exit status, when its input ends. */
int rank_main(const struct rank_order *o);

#endif
