/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device whose every mood is written down beforehand: step n of the script,
 * the `script` of its backend's configuration, says how long the n-th transfer
 * takes and how it ends, so transfers overtake each other and fail exactly
 * where a test wants them to.
 *
 *     submit --> [ due 3 ms | due 3 ms | due 8 ms ] --> thread --> done
 *                 by due time, first come first among equals
 *
 * Its device memory is other memory than the host's and gets the bytes when
 * the transfer is done: who reads too early reads what was there before.
 */
#ifndef FDL_TESTS_TRANSFER_FAKE_H
#define FDL_TESTS_TRANSFER_FAKE_H

#include "transfer/backend.h"

extern const struct fdl_backend_ops fdl_backend_fake;

/* What happens to the n-th submit (the last row repeats). */
struct fdl_fake_step {
    int64_t latency_ns;    /* until done is called, on the backend's thread */
    int32_t status;        /* given to done */
    int32_t submit_status; /* returned by submit; < 0: no done */
};

/* The arrays are borrowed. */
struct fdl_fake_config {
    const struct fdl_fake_step *steps;
    uint32_t n_steps;
};

#endif
