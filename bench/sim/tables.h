/* SPDX-License-Identifier: Apache-2.0 */
/* What a tournament says, as tables. Whoever asks frees them. */
#ifndef SIM_TABLES_H
#define SIM_TABLES_H

#include "bench/sim/sheet.h"
#include "bench/sim/tournament.h"

/* A row for each controller: all runs. */
void tables_controllers(const struct tournament *t, struct sheet *out);

/* A row for each family, a column for each controller: mean regret. */
void tables_families(const struct tournament *t, struct sheet *out);

/* Name and origin of each controller, a line of Markdown. */
void tables_origins(const struct tournament *t, FILE *f);

/* Families that were played, in order; "random" for random scenarios. The
 * number of them; `out` may be NULL. */
size_t tables_family_names(const struct tournament *t, const char **out);

/* In words: which scenarios, which seeds, how long. */
void tables_what(const struct tournament *t, FILE *f);

#endif
