/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of the same job on this machine, found by their live pages, as
 * neighbours are: what their tuners tell stands on the page. A rank that dies
 * takes its page with it.
 */
#ifndef FDL_LOADER_JOB_PAGES_H
#define FDL_LOADER_JOB_PAGES_H

#include "profiler/tuner/tuner.h"

#include <feedline/live.h>

#include <stdbool.h>
#include <stdint.h>

#define FDL_JOB_PAGES_MAX 256u /* more are ignored */

struct fdl_job_page {
    int32_t pid;
    uint32_t loader;
    int64_t started_unix_ns;
    feedline_live *live;
    bool listed; /* by the last walk */
};

/* Zeroed memory is empty. One thread at a time. */
struct fdl_job_pages {
    uint32_t n;
    struct fdl_job_page all[FDL_JOB_PAGES_MAX];
};

/* Walks through /proc: adds the pages of other loaders, forgets those that are
 * gone. own: the number of this process's page that is this loader's. */
void fdl_job_pages_find(struct fdl_job_pages *p, uint32_t own);

/* What those of the job with this number told last, added up. now: of the clock
 * of pages. */
void fdl_job_pages_read(struct fdl_job_pages *p, uint64_t job, int64_t now,
                        struct fdl_tuner_job *out);
void fdl_job_pages_forget(struct fdl_job_pages *p);

#endif
