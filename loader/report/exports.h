/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How statistics leave the process while it runs: the live page on each beat of
 * the monitor, a line of the log and the metrics file every stats_interval.
 *
 * None of it may hurt the training: what cannot be written is said once in the
 * log, and tried again at the next turn.
 */
#ifndef FDL_LOADER_EXPORTS_H
#define FDL_LOADER_EXPORTS_H

#include "base/text.h"
#include "loader/report/sources.h"
#include "loader/watch/live_page.h"

#include <stdbool.h>

struct fdl_exports {
    const struct fdl_sources *from;
    struct fdl_live_page *page;          /* NULL: none */
    const char *log_path, *metrics_path; /* of the options; NULL: none */
    bool log_failed, metrics_failed;     /* and that was said */
    struct fdl_text text;                /* of the monitor's thread */
    struct feedline_live_stats stats;    /* the same */
};

/* As the options want them, as subscribers of the monitor. ENOMEM. */
int32_t fdl_exports_init(struct fdl_exports *e, const struct fdl_sources *from);

/* The monitor is gone. */
void fdl_exports_fini(struct fdl_exports *e);

#endif
