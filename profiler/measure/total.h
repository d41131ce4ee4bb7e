/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over the counters of many threads. Counters only ever grow, so
 * "since the reset" is the sum now minus the sum then: nobody writes to another
 * thread's counters.
 */
#ifndef FDL_PROFILER_TOTAL_H
#define FDL_PROFILER_TOTAL_H

#include "profiler/measure/stage.h"

#include <feedline/feedline.h>

#include <stdbool.h>
#include <stdint.h>

struct fdl_total {
    uint32_t threads;
    uint64_t items, bytes, errors;
    uint64_t busy_ns, starved_ns, blocked_ns;
    uint64_t clock_reads;
    uint64_t own_ns; /* of reads, as in struct fdl_stage */
    double ns_ns, bytes_ns, bytes_bytes;
    struct fdl_histogram times;
};

/* Zeroed memory is an empty total. Any thread; one at a time per total. */
void fdl_total_add(struct fdl_total *t, const struct fdl_stage *stage);

/* t -= before, an earlier total of the same stages. The maximum becomes the
 * upper edge of the highest bucket left. */
void fdl_total_subtract(struct fdl_total *t, const struct fdl_total *before);

/* The fixed cost of a read and the cost per byte: regression of time on size.
 * false: too few reads, reads of one size, or times unrelated to it. Reads that
 * overlap share the storage, so its bytes may be faster than that. */
#define FDL_FIT_READS  64u
#define FDL_FIT_SPREAD 0.05 /* standard deviation of sizes, of their mean */
#define FDL_FIT_ERROR  0.20 /* of the mean time */
struct fdl_read_fit {
    double fixed_ns, byte_ns;
    double byte_error_ns; /* standard error of byte_ns */
};
bool fdl_total_read_fit(const struct fdl_total *t, struct fdl_read_fit *out);

/* Fills *out, which is wholly known to the caller. */
void fdl_total_report(const struct fdl_total *t,
                      struct feedline_stage_stats *out);

#endif
