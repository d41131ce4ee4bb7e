/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics in Prometheus' text format 0.0.4, for the textfile collector of
 * its node exporter (option metrics) and for whoever serves it over HTTP.
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

/* The same of a loader of which only the page is known, less what that lacks:
 * the version, the stages, and most of the tuner. */
void fdl_metrics_write_page(const struct feedline_live_stats *stats,
                            uint32_t loader, struct fdl_text *text);

#endif
