/* SPDX-License-Identifier: Apache-2.0 */
/* A tournament as JSON: "controllers" for scripts, "families" of each, "runs".
 * Fractions of 1. */
#ifndef SIM_OUTCOME_JSON_H
#define SIM_OUTCOME_JSON_H

#include "bench/sim/tournament.h"

#include <stdbool.h>
#include <stdio.h>

/* false: no memory, or it could not be written. */
bool outcome_json(const struct tournament *t, FILE *f);

#endif
