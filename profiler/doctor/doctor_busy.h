/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes used the CPU between two readings of /proc. In a container
 * these are the container's own; others of the machine appear only in the
 * total.
 */
#ifndef FDL_PROFILER_DOCTOR_BUSY_H
#define FDL_PROFILER_DOCTOR_BUSY_H

#include "profiler/doctor/doctor_facts.h"

struct fdl_busy_look;

/* CPU time of every process but ours. root: "", or a test's folder. NULL: /proc
 * cannot be read, or no memory. */
struct fdl_busy_look *fdl_busy_look(const char *root);
void fdl_busy_free(struct fdl_busy_look *look);

/* The busiest between the two readings, `seconds` apart; either may be NULL.
 * Busiest first, without those below 0.05 cores; returns how many. */
uint32_t fdl_busy_between(const struct fdl_busy_look *before,
                          const struct fdl_busy_look *after, double seconds,
                          struct fdl_busy out[FDL_BUSIEST]);

#endif
