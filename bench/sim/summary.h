/* SPDX-License-Identifier: Apache-2.0 */
/* All runs of one controller, in one line. Fractions of 1. */
#ifndef SIM_SUMMARY_H
#define SIM_SUMMARY_H

#include "bench/sim/tournament.h"

/* Storage gives a fraction of what is asked for, whatever the settings. */
#define SIM_STARVED_FAMILY "io-slow"

struct sim_summary {
    size_t runs;
    double regret, regret_error, regret_p95, regret_max;
    double excess, excess_p95, excess_max;
    const struct tournament_match *regret_worst, *excess_worst;
    double settled, settled_seconds, settled_changes; /* medians */
    double settled_share; /* of the runs that ever did */
    double found;   /* settled, median of the runs whose default is not good */
    size_t to_find; /* as many */
    double starved_depth; /* the largest mean depth where storage is the limit,
                             and depth can help nothing */
    double changes, changes_max, reversals;
    double stall, workers, depth, cpu;
    double within; /* runs that end with the cheapest workers + 1 at most */
    double above;  /* workers at the end above the cheapest, 95 % */
    uint64_t violations; /* of memory */
    double memory;       /* the highest, of its budget */
    double spent;        /* on exploration, of the time */
    double overspent;    /* runs that spent more than they had */
    uint64_t stuck, wrong;
};

/* Of that controller; family NULL: all. */
void summary_make(const struct tournament *t, size_t controller,
                  const char *family, struct sim_summary *out);

/* The value that a share q of all does not exceed; NaN of none. Sorts them. */
double summary_quantile(double *values, size_t n, double q);

#endif
