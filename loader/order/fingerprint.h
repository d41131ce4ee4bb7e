/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has to be equal on all ranks of a job, as words of one line, and whether
 * lines of all ranks are:
 *
 *   feedline_rank=1 world=4 samples=1281167 dataset=0f3a... seed=7 ...
 *   ... process=4711 host=node1
 *
 * Ranks that are given other data or options fail nowhere: samples are seen
 * twice, or never.
 */
#ifndef FDL_LOADER_FINGERPRINT_H
#define FDL_LOADER_FINGERPRINT_H

#include "loader/order/state.h"

#include <stdint.h>

struct fdl_fingerprint {
    struct fdl_state state;
    uint32_t rank, world;
    uint64_t batch_size, epochs;
    bool drop_last;
    bool given; /* the program owns the order: of state the data set counts */
    const char *shard_tail;
};

int32_t fdl_fingerprint_write(const struct fdl_fingerprint *f, char *buf,
                              uint64_t capacity, uint64_t *needed);

/* n of them, one every `stride` bytes. EINVAL says which two differ. */
int32_t fdl_fingerprints_compare(const char *all, uint64_t stride, uint32_t n);

#endif
