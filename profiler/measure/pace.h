/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer's pace: how ready its batches were when it asked. One thread
 * adds, under the readers' lock.
 */
#ifndef FDL_PROFILER_PACE_H
#define FDL_PROFILER_PACE_H

#include "profiler/measure/histogram.h"
#include "profiler/measure/interference.h"

#include <stdbool.h>
#include <stdint.h>

/* Shorter waits count as none: a wake-up takes that long. */
#define FDL_LONG_WAIT_NS INT64_C(50000)

/* One batch that was delivered. */
struct fdl_pace_call {
    uint64_t epoch;
    bool starts_run, starts_epoch;
    uint64_t sequence; /* of the batch in its epoch */
    bool passed;       /* a later batch was ready before this one */
    int64_t user_ns;   /* the consumer's own time before */
    int64_t wait_ns;
    int64_t wall_ns;  /* user, wait and api */
    int64_t fetch_ns; /* of the wait, for reads */
    int64_t lead_ns;  /* from its issue until it was ready */
    uint32_t workers;
    uint32_t reads;  /* of its samples, that took time */
    int64_t read_ns; /* of all of them, each on its own */
};

/* Zeroed memory is empty. The first batch of a run, whose wait nothing could
 * have hidden, is in `edges` and in the epochs only. */
struct fdl_pace {
    uint64_t calls;
    uint64_t ready_calls; /* that did not wait */
    uint64_t long_waits, passed_waits;
    uint64_t edges; /* first batches of later epochs */
    int64_t edge_ns;
    struct fdl_interference interference;
    struct fdl_histogram leads;
    struct fdl_histogram waits; /* without first batches of runs and epochs */

    /* Unaffected by a reset: there is only one first epoch. */
    bool begun;
    uint64_t first_epoch;
    uint64_t last_sequence,
        epoch_batches;               /* of the epoch before; 0: none yet */
    int64_t wall_ns[2], fetch_ns[2]; /* of the first epoch, of later ones */
    uint64_t reads[2];
    int64_t read_ns[2];
};

void fdl_pace_add(struct fdl_pace *p, const struct fdl_pace_call *call);
void fdl_pace_reset(struct fdl_pace *p);

/* Fetch share of the wall time, in the first epoch and later; -1: no time. */
double fdl_pace_fetch(const struct fdl_pace *p, bool later);

/* Mean time of a read, ns, in the first epoch and later; -1: no reads. */
double fdl_pace_read(const struct fdl_pace *p, bool later);

#endif
