/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics in Prometheus' text format 0.0.4, for the textfile collector of
 * its node exporter; option metrics.
 */
#ifndef FDL_LOADER_METRICS_H
#define FDL_LOADER_METRICS_H

#include "base/text.h"
#include "loader/report/sources.h"

#include <feedline/live.h>

/* Writes `path`.tmp.PID.LOADER and renames it, so that a reader sees one state
 * or the next. text: memory to use. EIO names the file; ENOMEM. */
int32_t fdl_metrics_replace(const struct fdl_sources *from,
                            const struct feedline_live_stats *stats,
                            const char *path, struct fdl_text *text);

/* The text alone. */
void fdl_metrics_write(const struct fdl_sources *from,
                       const struct feedline_live_stats *stats,
                       struct fdl_text *text);

#endif
