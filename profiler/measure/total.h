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

#include <stdint.h>

struct fdl_total {
    uint32_t threads;
    uint64_t items, bytes, errors;
    uint64_t busy_ns, starved_ns, blocked_ns;
    uint64_t clock_reads;
    uint64_t unpack_ns, huffman_ns, transform_ns; /* of decoding */
    uint64_t own_ns, storage_bytes; /* of reads, as in struct fdl_stage */
    struct fdl_read_products products;
    struct fdl_histogram times;
};

/* Zeroed memory is an empty total. Any thread; one at a time per total. */
void fdl_total_add(struct fdl_total *t, const struct fdl_stage *stage);

/* t -= before, an earlier total of the same stages. The maximum becomes the
 * upper edge of the highest bucket left. */
void fdl_total_subtract(struct fdl_total *t, const struct fdl_total *before);

/* Fills *out, which is wholly known to the caller. */
void fdl_total_report(const struct fdl_total *t,
                      struct feedline_stage_stats *out);

#endif
