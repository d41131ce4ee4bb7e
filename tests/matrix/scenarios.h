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
     * ends after it. NULL, or why this cannot be done here. */
    const char *(*set)(struct scene *s);

    bool alone; /* is about cores: no other run beside it */
};

extern const struct scenario work_scenarios[], read_scenarios[],
    consumer_scenarios[], device_scenarios[],
    mixed_scenarios[]; /* each ends with code NULL */

#endif
