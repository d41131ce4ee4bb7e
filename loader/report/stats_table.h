/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics as a table for people: a row for each stage, custom operations
 * and phases included.
 */
#ifndef FDL_LOADER_STATS_TABLE_H
#define FDL_LOADER_STATS_TABLE_H

#include "base/text.h"

#include <feedline/feedline.h>

struct fdl_watch;

/* See feedline_loader_stats_table. EINVAL: sort_by is no column. */
int32_t fdl_stats_table(struct fdl_watch *watch, const char *sort_by,
                        uint32_t row_limit, struct fdl_text *out);

#endif
