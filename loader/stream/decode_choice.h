/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where images are decoded, on the host or the device, with the reason in
 * words. One thread changes it, at any time between two samples, and a batch
 * may have been begun the other way: its pixels are the same. Any thread reads.
 *
 * A reason stays where it is, so that whoever has it may read it as long as
 * the loader lives. There is room for FDL_DECODE_REASONS: later changes have
 * the last of them.
 */
#ifndef FDL_LOADER_DECODE_CHOICE_H
#define FDL_LOADER_DECODE_CHOICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FDL_DECODE_REASON_BYTES 200
#define FDL_DECODE_REASONS      32u

struct fdl_decode_choice {
    bool could;    /* such batches are such that a device could */
    bool ready;    /* batches have jobs, and the device what it needs */
    bool measured; /* and measurements say who decodes (decode=auto) */
    _Atomic bool device;
    _Atomic uint32_t n_reasons;
    char reasons[FDL_DECODE_REASONS][FDL_DECODE_REASON_BYTES];
};

void fdl_decode_choose(struct fdl_decode_choice *c, bool device,
                       const char *reason);

/* Empty before the first choice. */
const char *fdl_decode_reason(const struct fdl_decode_choice *c);

#endif
