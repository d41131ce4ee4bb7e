/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer's phases: marks of its thread, on the clock of its user time;
 * see also notable.h.
 */
#ifndef FDL_LOADER_PHASES_H
#define FDL_LOADER_PHASES_H

#include <feedline/feedline.h>

struct fdl_watch;

/* For the functions of the same names in the public header. */
int32_t fdl_phases_begin(struct fdl_watch *watch, const char *name);
int32_t fdl_phases_end(struct fdl_watch *watch);
uint32_t fdl_phases_count(struct fdl_watch *watch);
int32_t fdl_phases_get(struct fdl_watch *watch, uint32_t index,
                       struct feedline_phase_stats *out);

/* In phases in which ranks wait for each other, by their names; -1: none. */
int64_t fdl_phases_synced(struct fdl_watch *watch);

#endif
