/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From facts about an environment to findings, each with its remedy: a pure
 * function, so every machine can be tested on any machine.
 */
#ifndef FDL_PROFILER_DOCTOR_H
#define FDL_PROFILER_DOCTOR_H

#include "base/json.h"
#include "profiler/system/machine.h"
#include "profiler/system/signals.h"

#include <stdbool.h>
#include <stdint.h>

enum fdl_finding_level {
    FDL_FINDING_OK = 0,
    FDL_FINDING_NOTE,
    FDL_FINDING_WARNING,
    FDL_FINDING_ERROR
};

struct fdl_finding {
    const char *id; /* "cpu_quota", "memlock", "io_uring", ... static */
    enum fdl_finding_level level;
    char text[320];
    char remedy[320]; /* "" where the level is OK */
};

#define FDL_FINDINGS_MAX 40u

struct fdl_doctor_facts; /* doctor_facts.h: what was found, by value */

/* Fills out[] and returns how many: one for each thing checked. */
uint32_t fdl_doctor_judge(const struct fdl_doctor_facts *facts,
                          struct fdl_finding out[FDL_FINDINGS_MAX]);

#endif
