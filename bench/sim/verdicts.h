/* SPDX-License-Identifier: Apache-2.0 */
/* What the project asks of its own tuner, and whether it was so. */
#ifndef SIM_VERDICTS_H
#define SIM_VERDICTS_H

#include "bench/sim/sheet.h"
#include "bench/sim/summary.h"

#include <stdio.h>

struct sim_gate {
    const char *what;
    double value, limit;
    bool not_asked, ok;
};

#define SIM_GATES       10u
#define SIM_ENOUGH_RUNS 100u

/* from_default: it started from the static default, against which it must not
 * lose; from one worker the way up costs something, and limits of regret and
 * excess are wider. loose: few runs, of which quantiles say little and any odd
 * one is the worst: limits are twice as wide, for workers at the end thrice.
 * not_asked: no run tells. The number of gates missed. */
unsigned verdict_list(const struct sim_summary *s, bool from_default,
                      bool loose, struct sim_gate out[SIM_GATES]);

/* A row for each gate, a column for each start of the tuner. */
void verdict_sheet(const struct tournament *t, struct sheet *out);

/* An exit status; every gate is said on f. From each start that was played. */
int verdict_gates(const struct tournament *t, FILE *f);

/* Whatever the scenario: memory and limits were kept, what did not hang without
 * a tuner did not hang with it, every number is one. Regrets are said. */
int verdict_sound(const struct tournament *t, FILE *f);

#endif
