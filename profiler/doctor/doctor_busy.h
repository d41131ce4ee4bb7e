/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes used the CPU between two looks at /proc. In a container these
 * are the container's own; others of the machine are seen in the sum only.
 */
#ifndef FDL_PROFILER_DOCTOR_BUSY_H
#define FDL_PROFILER_DOCTOR_BUSY_H

#include "profiler/doctor/doctor_facts.h"

struct fdl_busy_look;

/* CPU time of every process, ours aside. root: "", or where a test has its
 * files. NULL: /proc cannot be read, or no memory. */
struct fdl_busy_look *fdl_busy_look(const char *root);
void fdl_busy_free(struct fdl_busy_look *look);

/* The busiest between the two looks, `seconds` apart; either may be NULL. The
 * busiest first, those of less than 0.05 cores left out; how many. */
uint32_t fdl_busy_between(const struct fdl_busy_look *before,
                          const struct fdl_busy_look *after, double seconds,
                          struct fdl_busy out[FDL_BUSIEST]);

#endif
