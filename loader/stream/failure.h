/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of failed samples. Any thread; a lock per failure, none otherwise.
 */
#ifndef FDL_LOADER_FAILURE_H
#define FDL_LOADER_FAILURE_H

#include "base/lock.h"

#include <feedline/feedline.h>

#include <pthread.h>

#define FDL_FAILURES_KEPT 1000

struct fdl_failures {
    struct fdl_lock lock;          /* guards the two below */
    struct feedline_failure *kept; /* [FDL_FAILURES_KEPT], owns reasons */
    uint32_t n_kept;
    _Atomic uint64_t total;
};

int32_t fdl_failures_init(struct fdl_failures *f);
void fdl_failures_fini(struct fdl_failures *f);

/* path: lives as long as the list; reason: copied. Returns the new total. */
uint64_t fdl_failures_add(struct fdl_failures *f,
                          const struct feedline_failure *failure);
uint32_t fdl_failures_count(struct fdl_failures *f);

/* ERANGE. Entries never move or change. */
int32_t fdl_failures_get(struct fdl_failures *f, uint32_t index,
                         struct feedline_failure *out);

#endif
