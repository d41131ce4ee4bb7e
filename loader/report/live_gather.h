/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All numbers of a loader at one moment, as the live page and the metrics file
 * show them.
 */
#ifndef FDL_LOADER_LIVE_GATHER_H
#define FDL_LOADER_LIVE_GATHER_H

#include "loader/report/sources.h"

#include <feedline/live.h>

/* Any thread. *out is wholly set. */
void fdl_live_gather(const struct fdl_sources *from,
                     struct feedline_live_stats *out);

#endif
