/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which functions of the program another loader's workers spend their time,
 * as somebody who looks into them tells (feedline_watch_spent). Plain data; who
 * has it guards it. A name stays where it is for good, so that it may be
 * pointed to.
 */
#ifndef FDL_LOADER_FUNCTIONS_H
#define FDL_LOADER_FUNCTIONS_H

#include <stdint.h>

#define FDL_FUNCTION_NAME 64u /* bytes, with NUL */
#define FDL_FUNCTIONS_MAX 64u

/* Workers are looked into now and then: less than this shows nothing. */
#define FDL_FUNCTIONS_LEAST_NS INT64_C(500000000)

struct fdl_function {
    char name[FDL_FUNCTION_NAME];
    int64_t wall_ns, cpu_ns;
};

struct fdl_functions {
    struct fdl_function rows[FDL_FUNCTIONS_MAX];
    uint32_t n_rows;
    int64_t all_ns;  /* in them, elsewhere and idle */
    int64_t idle_ns; /* with nothing to do */
};

/* what NULL: elsewhere; so is a function that there is no row for. */
void fdl_functions_add(struct fdl_functions *s, const char *what,
                       int64_t wall_ns, int64_t cpu_ns);
void fdl_functions_add_idle(struct fdl_functions *s, int64_t idle_ns);
void fdl_functions_reset(struct fdl_functions *s);

#endif
