/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Some samples from all over a data set in memory: as they are, and packed.
 * What a loader makes of both tells what packing would gain, whatever the
 * storage does.
 */
#ifndef LOADERBENCH_HEADROOM_TRIAL_H
#define LOADERBENCH_HEADROOM_TRIAL_H

#include <feedline/feedline.h>

#include <stdint.h>

struct headroom_trial {
    feedline_dataset *as_is, *packed; /* NULL: there are no JPEGs to pack */
    uint64_t samples, n_packed;
    uint64_t bytes, packed_bytes; /* of those that were packed */
    void **data[2];               /* [samples], of both; equal: one piece */
    uint64_t *sizes[2];
};

/* most: samples. An exit status; one that cannot be read is left out. */
int headroom_trial_make(const feedline_config *config, feedline_dataset *from,
                        uint64_t most, struct headroom_trial *out);
void headroom_trial_free(struct headroom_trial *t);

#endif
