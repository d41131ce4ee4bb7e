/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time. All time stamps of the project are int64_t nanoseconds of
 * CLOCK_MONOTONIC, so that they line up with other tools' traces.
 */
#ifndef FDL_BASE_CLOCK_H
#define FDL_BASE_CLOCK_H

#include <stdint.h>

/* Any thread. */
int64_t fdl_now_ns(void);

/* CPU time of the calling thread. */
int64_t fdl_thread_cpu_ns(void);

/* What one fdl_now_ns() costs here, measured once (ns, at least 1). */
int64_t fdl_clock_cost_ns(void);

/* Tests put their own clock here before threads run; NULL restores. */
void fdl_clock_replace(int64_t (*now_ns)(void));

#endif
