/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of one thread in one stage. The thread is the only writer, with
 * relaxed stores; readers add up the counters of all threads (total.h). Each
 * thread's counters have their own cache lines.
 */
#ifndef FDL_PROFILER_STAGE_H
#define FDL_PROFILER_STAGE_H

#include "base/compiler.h"
#include "profiler/measure/histogram.h"
#include "profiler/measure/read_fit.h"

#include <stdint.h>

struct fdl_stage {
    FDL_ALIGNED(FDL_CACHE_LINE) _Atomic uint64_t items;
    _Atomic uint64_t bytes;
    _Atomic uint64_t errors;
    _Atomic uint64_t busy_ns;
    _Atomic uint64_t starved_ns;
    _Atomic uint64_t blocked_ns;
    _Atomic uint64_t clock_reads; /* what measuring this stage took */

    /* Of decoding's busy_ns; huffman_ns is part of unpack_ns. */
    _Atomic uint64_t unpack_ns, huffman_ns, transform_ns;

    /* Of reads, see fdl_stage_read. Their own times, which sum to more than
     * busy_ns where they overlap; and the sums of struct fdl_read_products. */
    _Atomic uint64_t own_ns;
    _Atomic uint64_t storage_bytes; /* that storage delivered for them */
    _Atomic double products[FDL_READ_FACTORS][FDL_READ_FACTORS];
    struct fdl_histogram times;
};

/* One item that took busy_ns; n that took it together. */
void fdl_stage_item(struct fdl_stage *s, int64_t busy_ns, uint64_t bytes);
void fdl_stage_items(struct fdl_stage *s, uint32_t n, int64_t busy_ns,
                     uint64_t bytes);

/* One read, from submission to its last byte, with `ahead` bytes in flight when
 * it was sent. Does not touch the counters that the stage has for other items.
 */
void fdl_stage_read(struct fdl_stage *s, int64_t own_ns, uint64_t bytes,
                    uint64_t ahead);

/* Counts what this thread has caused to be read from storage since it last
 * called: the kernel's own count, read-ahead included, 0.3 us a call. */
void fdl_stage_storage(struct fdl_stage *s);

/* counter += value, by its only writer. */
void fdl_counter_add(_Atomic uint64_t *counter, uint64_t value);

#endif
