/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of tuner_sim. */
#ifndef SIM_ARGUMENTS_H
#define SIM_ARGUMENTS_H

#include "bench/sim/tournament.h"

/* Exit statuses, as those of loaderbench. */
enum { SIM_DONE = 0, SIM_MISSED = 1, SIM_USAGE = 2, SIM_ENVIRONMENT = 4 };

struct arguments {
    struct tournament_plan plan;
    const char *json;  /* a file, "-": standard output; or NULL */
    const char *trace; /* one scenario */
    bool markdown, list, gates, sound, quiet;
};

/* -1 to go on, else the exit status to end with; what was wrong was said. */
int arguments_parse(int argc, char **argv, struct arguments *out);
void arguments_fini(struct arguments *a);

#endif
