/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slowest samples, and how long the consumer waited for each one alone.
 *
 * Workers offer every sample. The 32 largest are kept under a lock, but a
 * sample below the smallest of them is rejected by one relaxed load: after the
 * first few hundred samples hardly any passes (in a random stream the n-th
 * exceeds 32 others with probability 32/n).
 *
 * A batch waits for its last sample. From when all others were done until it
 * was, the consumer waited for this sample alone:
 *
 *     a                    second           last    b
 *     |---- others, too ----|==== alone =====|------|
 */
#ifndef FDL_PROFILER_SLOW_H
#define FDL_PROFILER_SLOW_H

#include "base/lock.h"
#include "profiler/measure/ledger.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define FDL_SLOW_KEPT 32u

struct fdl_slow_sample {
    uint64_t epoch, sequence; /* of its batch */
    uint64_t index;           /* in the data set */
    uint32_t place;           /* in its batch, in samples */
    uint32_t custom;          /* operation that took longest of custom_ns */
    int64_t done_ns;          /* its stamp work_done, which names it */
    int64_t read_ns, decode_ns, augment_ns;
    int64_t custom_ns, slowest_custom_ns;
    uint64_t bytes;
    uint32_t width, height;
    int64_t stall_ns; /* added later, by fdl_slow_stall */
};

struct fdl_slow {
    struct fdl_lock lock;       /* guards what follows, except: */
    _Atomic int64_t beat;       /* the smallest total kept; -1: there is room */
    _Atomic int64_t stalled_ns; /* for single samples, kept or not */
    struct fdl_slow_sample kept[FDL_SLOW_KEPT];
    uint32_t n;
};

void fdl_slow_init(struct fdl_slow *s);
void fdl_slow_fini(struct fdl_slow *s);
void fdl_slow_reset(struct fdl_slow *s);

/* Read and prepared, without queues. */
int64_t fdl_slow_total(const struct fdl_slow_sample *sample);

/* enum feedline_stage, or FEEDLINE_STAGE_COUNT + custom: what took longest. */
uint32_t fdl_slow_stage(const struct fdl_slow_sample *sample);

/* By any thread, before the sample counts as done. */
void fdl_slow_offer(struct fdl_slow *s, const struct fdl_slow_sample *sample);

/* The consumer waited `ns` for the sample with these two alone. */
void fdl_slow_stall(struct fdl_slow *s, uint32_t place, int64_t done_ns,
                    int64_t ns);

/* Copies them, slowest first; returns how many. */
uint32_t fdl_slow_get(struct fdl_slow *s,
                      struct fdl_slow_sample out[FDL_SLOW_KEPT]);

/* The part of the wait [a, b) for `ticket` that was for one sample alone, which
 * is *place; 0: there is none. Stamps as in ledger.h. */
int64_t fdl_alone(const struct fdl_ticket_times *ticket, int64_t a, int64_t b,
                  uint32_t *place);

#endif
