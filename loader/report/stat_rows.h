/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of statistics: one row for each number, from which all views are
 * made. The part of a row is the struct that holds the number.
 */
#ifndef FDL_LOADER_STAT_ROWS_H
#define FDL_LOADER_STAT_ROWS_H

#include "base/json.h"

#include <feedline/statistics.h>

enum fdl_stat_part {
    FDL_STAT_STATS = 0, /* struct feedline_stats */
    FDL_STAT_STALL,     /* struct feedline_wait_stats */
    FDL_STAT_STAGES,    /* struct feedline_stage_stats */
    FDL_STAT_WORKERS,   /* struct feedline_worker_stats */
    FDL_STAT_TRANSFER,  /* struct feedline_device_stats */
    FDL_STAT_GAPS,      /* struct feedline_gap_stats */
    FDL_STAT_SLOW,      /* struct feedline_slow_sample */
    FDL_STAT_HEADROOM,  /* struct feedline_headroom */
    FDL_STAT_TUNER,     /* struct feedline_tuner_info */
    FDL_STAT_QUEUE,     /* struct feedline_live_stats, as the next ones */
    FDL_STAT_MACHINE,
    FDL_STAT_GPU,
    FDL_STAT_PARTS
};

const struct feedline_stat_info *fdl_stat_rows(enum fdl_stat_part part,
                                               uint32_t *n);

/* Members of the object that is open; "a.b" is member b of an object a. Rows
 * that have one of the flags in `without` are left out. */
void fdl_stat_json(struct fdl_json *j, enum fdl_stat_part part, const void *in,
                   uint32_t without);

/* As feedline_stat_value. */
double fdl_stat_value(const struct feedline_stat_info *row, const void *in);

/* For feedline_stat_get_info. */
int32_t fdl_stat_find_part(const char *name, enum fdl_stat_part *out);

#endif
