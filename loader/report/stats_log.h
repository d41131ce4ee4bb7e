/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics as JSON lines; option stats_log. */
#ifndef FDL_LOADER_STATS_LOG_H
#define FDL_LOADER_STATS_LOG_H

#include "base/text.h"
#include "loader/report/sources.h"

/* Appends one line: {"time_unix", "uptime_seconds", "pid", "loader", "rank",
 * and what feedline_loader_stats_json has}. Whole: by one write, so that
 * several processes may share a file; a line that did not fit is taken back.
 * text: memory to use. EIO, ENOMEM. */
int32_t fdl_stats_log_append(const struct fdl_sources *from, const char *path,
                             struct fdl_text *text);

#endif
