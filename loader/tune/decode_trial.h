/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who decodes with decode=auto, found while the consumer works: a pure state
 * machine, with its reasons in words. Readings of counters go in, "host" or
 * "device" comes out; no thread, no clock.
 *
 *          the consumer waits for workers        faster, or fed
 *     HOST ----------------------> TRYING_DEVICE -------------> DEVICE
 *      ^  <-----------------------                                |
 *      |        no faster                                         |
 *      |        faster                     the device's decoding  |
 *      +------------------ TRYING_HOST <--------------------------+
 *                                       is what it waits for
 *
 * The host begins. While the consumer does not wait, or workers idle for a
 * fifth of the time, so that others than they are waited for, it goes on: a GPU
 * that trains has better things to do. Otherwise, and once the tuner has
 * nothing to do, the other one is tried for one window, and kept if it is at
 * least 5 % faster, or if the consumer waits no more and is no slower. What the
 * kernels take from the training is in that, since it is the rate of batches
 * which is compared: of the whole loop, and not of the decoder.
 *
 * A window is eight blocks; its rate is their median, so that a pause of the
 * program does not count. Each trial doubles the windows until the next, and
 * there are eight of them: the index may have learned the files by then, or the
 * training's step have changed.
 */
#ifndef FDL_LOADER_DECODE_TRIAL_H
#define FDL_LOADER_DECODE_TRIAL_H

#include "loader/stream/decode_choice.h"

#include <stdbool.h>
#include <stdint.h>

/* Counters that only grow, and gauges. */
struct fdl_decode_reading {
    uint64_t batches;        /* delivered */
    uint64_t samples, made;  /* workers are done with; of these, the device's */
    int64_t wall_ns;         /* of the consumer */
    int64_t stall_ns, of_ns; /* of its device where that is measured; else
                                 waits in next(), of its time */
    int64_t work_ns, idle_ns; /* of the workers, all together */
    int64_t make_ns;          /* of the kernels that decode */
    uint32_t outstanding;     /* gauge: batches issued and not delivered */
    uint32_t batch_size;      /* samples */
    bool settled;             /* gauge: nothing else is tried */
};

#define FDL_DECODE_BLOCKS 8u
#define FDL_DECODE_TRIALS 8u

enum fdl_decode_state {
    FDL_DECODE_ON_HOST = 0,
    FDL_DECODE_TRYING_DEVICE,
    FDL_DECODE_ON_DEVICE,
    FDL_DECODE_TRYING_HOST
};

/* Zeroed memory is one that begins. */
struct fdl_decode_trial {
    enum fdl_decode_state state;
    struct fdl_decode_reading begin, last; /* of the window, of the block */
    bool begun;
    uint64_t from; /* batches: the first of a window was made as is now */
    double batch_ns[FDL_DECODE_BLOCKS];
    uint32_t n_blocks;
    double before_ns;        /* of a batch, before the trial */
    uint32_t trials, waited; /* windows since the last trial */
    uint32_t told;           /* why it is the host, without a trial */
    char reason[FDL_DECODE_REASON_BYTES];
};

/* true: fdl_decode_trial_device or the reason changed. */
bool fdl_decode_trial_observe(struct fdl_decode_trial *t,
                              const struct fdl_decode_reading *r);

/* A run ends, or the program is away: what is under way is abandoned. true:
 * something changed. */
bool fdl_decode_trial_pause(struct fdl_decode_trial *t);

bool fdl_decode_trial_device(const struct fdl_decode_trial *t);
bool fdl_decode_trial_is_trying(const struct fdl_decode_trial *t);

#endif
