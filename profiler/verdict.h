/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From numbers to words: a pure function from what was measured to one verdict
 * with its evidence and one action.
 *
 * Levels by host stall S = wait / wall: FED < 1 %, MINOR < 5 %, MODERATE
 * < 20 %, HIGH. A cause is primary at half of the wait or more. The largest
 * of prep (PREP + WORKER_WAIT), fetch (FETCH + FETCH_QUEUE), transfer (TRANSFER
 * + TRANSFER_QUEUE), slot (SLOT + NOT_ISSUED) and wake names the verdict, and
 * its share of the wait is part of the confidence.
 *
 *   INSUFFICIENT_DATA         < 8 batches, or < 64 batches in less than 1 s
 *   FED                       S < 1 %
 *   FED_OVERPROVISIONED       and workers had no room for half of their time
 *   PREP_BOUND_TUNABLE        prep, fewer workers than usable cores
 *   PREP_BOUND_CPU_SATURATED  prep, a worker on each usable core
 *   HEAD_OF_LINE              prep, while workers had no room for a fifth of
 *                             their time: a few slow samples hold up the rest
 *   OVERSUBSCRIBED            prep or wake, and 10 % of the workers' busy time
 *                             went without a core; or wake, and no core free
 *   SMALL_FILES               fetch, reads in flight, mean file < 128 KiB
 *   FETCH_LATENCY_BOUND       fetch otherwise
 *   XFER_BOUND                transfer
 *   MEMORY_LIMITED            slot, and the memory budget allows no more depth
 *   CONSUMER_HOLDS_SLOTS      slot, mostly while the consumer held every one
 *   DEPTH_LIMITED             slot otherwise
 *   OUT_OF_SCOPE              wake otherwise: the batch was there in time
 *
 * With a device another clock counts. The host queues work and runs ahead, and
 * when it waits for a slot that the GPU still uses, nobody starves. So S is the
 * device's own stall, idle / span (profiler/device.h), as soon as there is a
 * span; FED, if that is below 1 %, however much the host waited. The cause is
 * named by the host's ledger without SLOT, as above; what is idle beyond these
 * waits is for the copy, because the batch was handed over in time. Before the
 * host's ledger is asked, copies that take more than 80 % of the span are
 * XFER_BOUND. And where the copy is the cause, and copying that nothing
 * overlaps is half of the idle time or more, it is
 *
 *   XFER_BOUND                if copies reach less than half of the ceiling
 *   COPY_NOT_OVERLAPPED       if less than 20 % of copying lies beside the
 *                             consumer's work, which takes a fifth of the span
 *
 * Thresholds are starting values, save 1 %, 5 % and 20 % of S, which other
 * tools use too.
 */
#ifndef FDL_PROFILER_VERDICT_H
#define FDL_PROFILER_VERDICT_H

#include "profiler/ledger.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_evidence {
    struct fdl_ledger ledger;
    uint64_t batches, samples;
    int64_t wall_ns;
    uint32_t workers;
    uint32_t cpus_usable;
    int64_t worker_busy_ns; /* over all workers */
    int64_t worker_cpu_ns;  /* thereof on a core; 0: not known */
    int64_t worker_blocked_ns;
    double mean_file_bytes; /* 0: not known */
    bool memory_limited;    /* the budget allows no deeper ring */

    /* Of the device, see profiler/device.h; false: batches stay on the host. */
    bool has_device;
    int64_t device_idle_ns, device_span_ns;
    int64_t copy_ns, overlap_ns;
    double copy_gbps;    /* of our copies */
    double ceiling_gbps; /* of copies of their size on this bus; 0: unknown */
};

struct fdl_verdict {
    const char *code;  /* of the list above, static */
    const char *level; /* "FED" "MINOR" "MODERATE" "HIGH" "UNKNOWN", static */
    uint32_t confidence_ppm; /* grows with the batches and the cause's share */
    double predicted_gain;   /* at most, if the action removes the cause; 0.25
                                is a quarter more throughput */
    char sentence[384];
    char action[256];
};

/* Any thread. */
void fdl_verdict_judge(const struct fdl_evidence *e, struct fdl_verdict *out);

#endif
