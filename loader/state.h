/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The saved position: one line of JSON, less than 256 bytes, that names what it
 * belongs to:
 *
 *   {"feedline_state":1,"dataset":"<16 hex digits>","count":N,"seed":S,
 *    "shuffle":true,"epoch":E,"position":P}
 *
 * Workers, depth, batch size and ranks are not in it, so they may differ when
 * it is read. Unknown keys are ignored, a higher version is refused (EABI).
 */
#ifndef FDL_LOADER_STATE_H
#define FDL_LOADER_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct fdl_state {
    uint64_t fingerprint;
    uint64_t count;
    uint64_t seed;
    bool shuffle;
    uint64_t epoch;
    uint64_t position; /* over all ranks */
};

int32_t fdl_state_write(const struct fdl_state *s, char *buf, uint64_t capacity,
                        uint64_t *needed);

/* EINVAL: not a state, with the offset; EABI. */
int32_t fdl_state_read(const char *text, struct fdl_state *out);

/* EINVAL if `saved` belongs to another stream than `here`, saying what differs
 * (data set, seed or shuffle). */
int32_t fdl_state_check(const struct fdl_state *saved,
                        const struct fdl_state *here);

#endif
