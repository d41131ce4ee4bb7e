/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of struct fdl_signals: signals.c has the machine and the group,
 * signals_thread.c the threads. */
#ifndef FDL_PROFILER_SIGNALS_OWN_H
#define FDL_PROFILER_SIGNALS_OWN_H

#include "profiler/system/signals.h"

enum { FDL_PRESSURE_CPU, FDL_PRESSURE_IO, FDL_PRESSURE_MEMORY, FDL_N_PRESSURE };

struct fdl_signals {
    char *root;
    bool real;                              /* the root is the machine's own */
    int throttle, memory, host, load, stat; /* files; -1: there is none */
    int pressure[FDL_N_PRESSURE];
    bool throttle_in_ns;  /* version 1; version 2 counts microseconds */
    bool memory_in_pages; /* statm, for there is no group */
    uint64_t memory_limit_bytes;
    uint64_t tick_ns, page_bytes;
    struct fdl_system_signals last;
};

uint64_t fdl_signals_scale(uint64_t value, uint64_t unit);

/* utime and stime of /proc/.../stat, in ticks. */
bool fdl_signals_stat_ticks(const char *text, uint64_t *ticks);

#endif
