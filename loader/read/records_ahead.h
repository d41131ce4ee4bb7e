/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of samples whose turn is still to come: a program that makes the
 * samples of a batch together says of all of them what they are in the first
 * one's call, and is not called for the others.
 *
 *     sample 7    wait(7) --> callback: 7, and 8 to 11 --> pass(7)
 *     sample 8    wait(8) .............................. > take(8) --> pass(8)
 *
 * Whoever has the turn uses it: there is no lock.
 */
#ifndef FDL_LOADER_RECORDS_AHEAD_H
#define FDL_LOADER_RECORDS_AHEAD_H

#include "loader/read/record.h"

#include <stdint.h>

struct fdl_ahead {
    struct fdl_record **records; /* [n]; those taken are NULL */
    uint64_t first;              /* the sample of records[0] */
    uint32_t n;
};

/* Samples that read may tell of at once. */
#define FDL_AHEAD_MOST (1u << 16)

/* Of `n` samples from `first` on, all or none; images[counts[i]] for each, one
 * behind the other. EINVAL: some that were told of have not been taken. ERANGE:
 * more than FDL_AHEAD_MOST. Else as fdl_record_make. */
int32_t fdl_ahead_tell(struct fdl_ahead *a, uint64_t first,
                       const struct feedline_recorded_image *images,
                       const uint32_t *counts, uint32_t n, uint64_t most);

/* The caller's to free. NULL: nothing was said of this sample. */
struct fdl_record *fdl_ahead_take(struct fdl_ahead *a, uint64_t sample);

void fdl_ahead_clear(struct fdl_ahead *a);

#endif
