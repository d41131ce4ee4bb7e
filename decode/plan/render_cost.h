/* SPDX-License-Identifier: Apache-2.0 */
/* What a render reports: its current step and its cost. */
#ifndef FDL_DECODE_RENDER_COST_H
#define FDL_DECODE_RENDER_COST_H

#include "decode/pixels/decode_parts.h"

#include <stdbool.h>
#include <stdint.h>

/* Most custom operations in one pipeline. */
#define FDL_CUSTOM_MAX 8

/* What is being done for a sample. For a custom operation, CUSTOM plus its
 * number in the pipeline. */
enum fdl_render_step {
    FDL_STEP_NONE = 0,
    FDL_STEP_READ, /* by others */
    FDL_STEP_DECODE,
    FDL_STEP_AUGMENT, /* on pixels, after resampling */
    FDL_STEP_CUSTOM
};

/* Of a custom operation, by its number in the pipeline. */
struct fdl_custom_cost {
    int64_t wall_ns, cpu_ns;
    int64_t lock_ns; /* of wall_ns, as its run function said */
    uint32_t runs, errors;
};

/* Cost of the last render, for the profiler. */
struct fdl_render_cost {
    int64_t decode_ns;             /* in the image library                */
    struct fdl_decode_parts parts; /* of it */
    int64_t augment_ns;            /* resample, flip, normalise, layout   */
    int64_t mix_ns;             /* last pass of the images of a mixed batch */
    uint64_t pixels;            /* decoded                             */
    uint64_t mcus, mcus_jumped; /* of a JPEG that the index knows or learns */
    uint32_t clock_reads;
    bool on_device; /* decode_ns is of telling a device what to decode */
    bool truncated; /* the file ends early, and that was accepted */
    struct fdl_custom_cost custom[FDL_CUSTOM_MAX]; /* also on error */
};

#endif
