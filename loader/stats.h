/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was measured, added up over threads. Any thread may ask. A reset takes
 * the sums of that moment as the new zero; no counter is written.
 */
#ifndef FDL_LOADER_STATS_H
#define FDL_LOADER_STATS_H

#include "base/json.h"
#include "decode/pipeline.h"
#include "profiler/ledger.h"
#include "profiler/total.h"
#include "profiler/verdict.h"

#include <feedline/feedline.h>

/* The fixed ones, then the custom operations of the pipeline. */
#define FDL_STAGES_MAX (FEEDLINE_STAGE_COUNT + FDL_CUSTOM_MAX)

/* The zero of the statistics. */
struct fdl_stats_zero {
    struct fdl_total stages[FDL_STAGES_MAX];
    uint64_t custom_cpu_ns[FDL_CUSTOM_MAX];
    uint64_t failed_samples, truncated_samples;
    uint64_t worker_cpu_ns;
};

const char *fdl_stage_name(uint32_t stage);
uint32_t fdl_stats_stage_count(const feedline_loader *l);
const char *fdl_stats_stage_name(const feedline_loader *l, uint32_t stage);
void fdl_stats_get(feedline_loader *l, struct feedline_stats *out);
void fdl_stats_waits(feedline_loader *l, struct feedline_wait_stats *out);
void fdl_stats_stage(feedline_loader *l, uint32_t stage,
                     struct feedline_stage_stats *out);

/* ESTATE for a loader whose batches stay on the host. */
int32_t fdl_stats_device(feedline_loader *l, struct feedline_device_stats *out);
void fdl_stats_verdict(feedline_loader *l, struct fdl_verdict *out);
void fdl_stats_reset(feedline_loader *l);
void fdl_stats_json(feedline_loader *l, struct fdl_json *j);

#endif
