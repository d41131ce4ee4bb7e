/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scenario for each verdict: it does exactly one thing to a loader, which
 * should be told by the verdict of its name. Mixed ones do two, of which the
 * larger should be told first.
 */
#ifndef FDL_TESTS_SCENARIOS_H
#define FDL_TESTS_SCENARIOS_H

#include "scene.h"

struct scenario {
    const char *code;
    const char *what; /* is done, one line */

    /* Sets the scene, and does what is done to the process: the caller's, which
     * ends after it. */
    void (*set)(struct scene *s);

    bool alone; /* is about cores: no other run beside it */
};

/* Storage of that rate, of which more reads at once get no more. */
void slow_disk(struct scene *s, uint32_t file_bytes, double bytes_per_second);

extern const struct scenario work_scenarios[], read_scenarios[],
    consumer_scenarios[], device_scenarios[],
    mixed_scenarios[]; /* each ends with code NULL */

#endif
