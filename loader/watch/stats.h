/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was measured, added up over threads. Any thread may ask. A reset takes
 * the sums of that moment as the new zero; no counter is written.
 */
#ifndef FDL_LOADER_STATS_H
#define FDL_LOADER_STATS_H

#include "base/json.h"
#include "decode/pipeline.h"
#include "profiler/measure/ledger.h"
#include "profiler/measure/read_history.h"
#include "profiler/measure/timebook.h"
#include "profiler/measure/total.h"
#include "profiler/verdict/verdict.h"

#include <feedline/feedline.h>

/* The fixed ones, then the custom operations of the pipeline. */
#define FDL_STAGES_MAX (FEEDLINE_STAGE_COUNT + FDL_CUSTOM_MAX)

/* The time of all workers, ever. */
struct fdl_workers_time {
    uint32_t threads;
    int64_t lived_ns;
    struct fdl_spent_times spent;
};

/* What custom operations are measured by beside other stages. */
struct fdl_custom_sums {
    uint64_t cpu_ns, lock_ns, lock_waits;
};

/* Pixels of the images of samples, and of what was made of them. */
struct fdl_pixel_sums {
    uint64_t samples, source, output;
};

/* The zero of the statistics. */
struct fdl_stats_zero {
    struct fdl_total stages[FDL_STAGES_MAX];
    struct fdl_custom_sums customs[FDL_CUSTOM_MAX];
    struct fdl_pixel_sums pixels;
    uint64_t failed_samples, truncated_samples;
    struct fdl_workers_time workers;
};

const char *fdl_stage_name(uint32_t stage);
uint32_t fdl_stats_stage_count(const feedline_loader *l);
const char *fdl_stats_stage_name(const feedline_loader *l, uint32_t stage);

/* For people: of a custom operation its label. */
const char *fdl_stats_stage_label(const feedline_loader *l, uint32_t stage);
void fdl_stats_get(feedline_loader *l, struct feedline_stats *out);
void fdl_stats_waits(feedline_loader *l, struct feedline_wait_stats *out);
void fdl_stats_stage(feedline_loader *l, uint32_t stage,
                     struct feedline_stage_stats *out);

void fdl_stats_pixels(feedline_loader *l, struct fdl_pixel_sums *out);

/* stats_workers.c */
void fdl_stats_workers_time(feedline_loader *l, struct fdl_workers_time *out);
void fdl_stats_workers(feedline_loader *l, struct feedline_worker_stats *out);

/* ESTATE for a loader whose batches stay on the host. */
int32_t fdl_stats_device(feedline_loader *l, struct feedline_device_stats *out);

/* For who gathers evidence. Each takes the consumer's lock for the length of a
 * copy, and adds up without it. */
void fdl_stats_since_reset(feedline_loader *l, uint32_t stage,
                           struct fdl_total *t);
uint64_t fdl_stats_customs_busy_ns(feedline_loader *l);
void fdl_stats_shared_lock(feedline_loader *l, struct fdl_shared_lock *out);

/* All reads since the loader was made; time_ns is 0. */
void fdl_stats_read_sums(const feedline_loader *l, struct fdl_read_sums *out);
void fdl_stats_reset(feedline_loader *l);
void fdl_stats_json(feedline_loader *l, struct fdl_json *j);

/* signals_json.c: a member of that object. */
void fdl_stats_signals_json(feedline_loader *l, struct fdl_json *j);

#endif
