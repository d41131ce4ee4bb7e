/* SPDX-License-Identifier: Apache-2.0 */
/* A tournament as JSON: "controllers" for scripts, "families" of each, "runs".
 * Fractions of 1. */
#ifndef SIM_OUTCOME_JSON_H
#define SIM_OUTCOME_JSON_H

#include "bench/sim/tournament.h"

#include <jansson.h>
#include <stdio.h>

/* What is played and "controllers", without "runs". */
json_t *outcome_document(const struct tournament *t);

/* false: no memory, or it could not be written. */
bool outcome_json(const struct tournament *t, FILE *f);

#endif
