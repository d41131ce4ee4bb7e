/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tuner knows about its knobs, as plain data: for verdicts and advice,
 * which must not recommend what it has already tried, nor promise what it will
 * not do.
 */
#ifndef FDL_PROFILER_TUNER_FOUND_H
#define FDL_PROFILER_TUNER_FOUND_H

#include "profiler/tuner/tuner.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_tuner_found {
    /* Knobs that it may change. False for those given as numbers, and for all
     * where it is off or only observes. */
    bool owns[FDL_KNOBS];

    /* The last trial of more workers that was judged. */
    struct fdl_tuner_more {
        bool judged; /* false: there was none, the rest is 0 */
        bool kept;
        uint32_t before, after;
        double gain, error; /* of throughput: 0.25 is a quarter more */
    } more_workers;

    /* One that is under way: not judged, but measured for long enough to have
     * an error. before = 0: there is none. */
    struct fdl_tuner_more trying_more_workers;
    double trying_predicted; /* its gain, by the utilisation law; NAN: none */

    bool more_reads_failed; /* the last trial of more reads brought nothing */

    const char *limited_by; /* as in struct fdl_tuner_status */
    bool converged;
};

/* As for fdl_tuner_get. */
void fdl_tuner_get_found(const struct fdl_tuner *t,
                         struct fdl_tuner_found *out);

#endif
