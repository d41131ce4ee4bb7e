/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The saved position: one line of JSON, less than 256 bytes, that names what it
 * belongs to:
 *
 *   {"feedline_state":1,"dataset":"<16 hex digits>","count":N,"seed":S,
 *    "shuffle":true,"repeats":R,"epoch_samples":L,"epoch":E,"position":P}
 *
 * L is the length of an epoch, also where it follows from the data set. With
 * shuffle=block, "shuffle":"block","block":B,"lanes":N take the place of true.
 * Workers, depth, batch size, ranks and the pipeline are not in it, so they may
 * differ when it is read. Unknown keys are ignored, a higher version is refused
 * (EABI).
 */
#ifndef FDL_LOADER_STATE_H
#define FDL_LOADER_STATE_H

#include "loader/order/sampler.h"

#include <stdint.h>

struct fdl_state {
    uint64_t fingerprint;
    uint64_t count;
    uint64_t seed;
    enum fdl_shuffle shuffle;
    struct fdl_block_shape blocks; /* with FDL_SHUFFLE_BLOCK */
    uint64_t repeats;
    uint64_t epoch_samples;
    uint64_t epoch;
    uint64_t position; /* over all ranks */
};

int32_t fdl_state_write(const struct fdl_state *s, char *buf, uint64_t capacity,
                        uint64_t *needed);

/* EINVAL: not a state, with the offset; EABI. */
int32_t fdl_state_read(const char *text, struct fdl_state *out);

/* EINVAL if `saved` belongs to another stream than `here`, saying what differs
 * (data set, seed, shuffle, block, lanes, repeats or epoch_samples). */
int32_t fdl_state_check(const struct fdl_state *saved,
                        const struct fdl_state *here);

#endif
