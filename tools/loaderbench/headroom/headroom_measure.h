/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a better loader would gain: headroom_measure.c measures and makes the
 * document, headroom_trial.c has the samples in memory, headroom_command.c is
 * the command and its text. `quick` measures the same.
 */
#ifndef LOADERBENCH_HEADROOM_MEASURE_H
#define LOADERBENCH_HEADROOM_MEASURE_H

#include "tools/loaderbench/headroom/headroom_trial.h"
#include "tools/loaderbench/run/run.h"

/* One loader as it was measured. */
struct headroom_side {
    double images_per_second;
    double stall_fraction; /* of the device's time, where there is one */
    int64_t workers;
    json_t *run;   /* all of it */
    bool measured; /* false: Ctrl-C came first */
};

struct headroom {
    struct headroom_side now, fed, more;
    struct headroom_side as_is, indexed, packed; /* of the trial */
    struct headroom_trial trial;
    bool interrupted;
};

/* Six loaders, one after the other. An exit status, TOOL_INTERRUPTED after
 * Ctrl-C with what there is; free in any case. */
int headroom_measure(struct run_setup *s, struct headroom *out);
void headroom_free(struct headroom *h);

/* Of a run's JSON. */
#define HEADROOM_DECODING "headroom.decoding."

/* How much faster the second is, as a fraction. */
double headroom_gain(const struct headroom_side *now,
                     const struct headroom_side *then);

/* Of the time for which a side waited, the part for these causes. */
double headroom_share(const struct headroom_side *now, const char *a,
                      const char *b);

/* The run whose files no index knew. */
const json_t *headroom_first_epoch(const struct headroom *h);

json_t *headroom_json(const struct run_setup *s, const char *uri,
                      const struct headroom *h);

#endif
