/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fingerprint of a profile: facts of the machine, the data set and the
 * pipeline that change the cost of a sample or the available cores. Each is a
 * name and a text; a profile fits if all texts are equal.
 */
#ifndef FDL_LOADER_PROFILE_PRINT_H
#define FDL_LOADER_PROFILE_PRINT_H

#include <stdint.h>

#define FDL_PRINT_FACTS 24u

struct fdl_engine;

struct fdl_fact {
    const char *part; /* "host", "data_set" or "pipeline" */
    const char *key;
    char text[256];
};

struct fdl_print {
    struct fdl_fact facts[FDL_PRINT_FACTS]; /* those of a part in a row */
    uint32_t n;
};

/* ENOMEM. */
int32_t fdl_print_take(const struct fdl_engine *e, struct fdl_print *out);

#endif
