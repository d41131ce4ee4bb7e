/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of one thread in one stage. The thread is the only writer (relaxed
 * stores of what it alone changes); readers add the counters of all threads
 * up (total.h). Each thread's counters lie on cache lines of their own.
 */
#ifndef FDL_PROFILER_STAGE_H
#define FDL_PROFILER_STAGE_H

#include "base/compiler.h"
#include "profiler/histogram.h"

#include <stdint.h>

struct fdl_stage {
    FDL_ALIGNED(FDL_CACHE_LINE) _Atomic uint64_t items;
    _Atomic uint64_t bytes;
    _Atomic uint64_t errors;
    _Atomic uint64_t busy_ns;
    _Atomic uint64_t starved_ns;
    _Atomic uint64_t blocked_ns;
    _Atomic uint64_t clock_reads; /* what measuring this stage took */
    struct fdl_histogram times;
};

/* One item that took busy_ns. */
void fdl_stage_item(struct fdl_stage *s, int64_t busy_ns, uint64_t bytes);

/* counter += value, by its only writer. */
void fdl_counter_add(_Atomic uint64_t *counter, uint64_t value);

#endif
