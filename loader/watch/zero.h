/* SPDX-License-Identifier: Apache-2.0 */
/* The zero of the statistics: the sums of everything at the last reset. */
#ifndef FDL_LOADER_ZERO_H
#define FDL_LOADER_ZERO_H

#include "decode/pipeline.h"
#include "loader/stream/snapshot.h"
#include "profiler/measure/total.h"

#include <feedline/feedline.h>

/* The fixed ones, then the custom operations of the pipeline, then mix. */
#define FDL_STAGES_MAX (FEEDLINE_STAGE_COUNT + FDL_CUSTOM_MAX + 1)

/* Counters that only custom operations have. */
struct fdl_custom_sums {
    uint64_t cpu_ns, lock_ns, lock_waits;
};

/* Pixels of the samples' images, and of the results. */
struct fdl_pixel_sums {
    uint64_t samples, source, output;
    uint64_t mcus, mcus_jumped; /* of the source */
    uint64_t on_device;         /* of the samples: it decodes them */
};

/* The zero of the statistics. */
struct fdl_stats_zero {
    struct fdl_total stages[FDL_STAGES_MAX];
    struct fdl_custom_sums customs[FDL_CUSTOM_MAX];
    struct fdl_pixel_sums pixels;
    struct fdl_user_sums user;
    struct fdl_remote_sums remote;
    uint64_t failed_samples, truncated_samples;
    struct fdl_workers_time workers;
};

#endif
