/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics as one JSON document, and its parts. Any thread. */
#ifndef FDL_LOADER_STATS_JSON_H
#define FDL_LOADER_STATS_JSON_H

#include "base/json.h"
#include "loader/report/sources.h"

/* The whole, as one object. */
void fdl_stats_json(const struct fdl_sources *from, struct fdl_json *j);

/* signals_json.c: a member of that object. */
void fdl_stats_signals_json(struct fdl_watch *watch, struct fdl_json *j);

/* tuner_json.c: members "mode", ... of the open object; and "decisions". */
void fdl_tuner_json(struct fdl_control *c, bool decisions, struct fdl_json *j);

/* notable_json.c: "phases", "gaps", "slow_samples", "outliers", "headroom". */
void fdl_notable_json(const struct fdl_sources *from, struct fdl_json *j);

/* ceilings.c: feedline_loader_get_headroom. */
void fdl_notable_headroom(const struct fdl_sources *from,
                          struct feedline_headroom *out);

#endif
