/* SPDX-License-Identifier: Apache-2.0 */
/* The loader's option table: one row per option, named here for code. */
#ifndef FDL_LOADER_OPTIONS_H
#define FDL_LOADER_OPTIONS_H

#include "base/option.h"

enum fdl_loader_option {
    FDL_OPT_BATCH_SIZE = 0,
    FDL_OPT_WORKERS,
    FDL_OPT_DEPTH,
    FDL_OPT_IO_DEPTH,
    FDL_OPT_READER,
    FDL_OPT_SEED,
    FDL_OPT_SHUFFLE,
    FDL_OPT_DROP_LAST,
    FDL_OPT_EPOCHS,
    FDL_OPT_RANK,
    FDL_OPT_WORLD,
    FDL_OPT_SHARD_TAIL,
    FDL_OPT_REPEATS,
    FDL_OPT_EPOCH_SAMPLES,
    FDL_OPT_DTYPE,
    FDL_OPT_LAYOUT,
    FDL_OPT_CHANNELS,
    FDL_OPT_DEVICE,
    FDL_OPT_FINISH,
    FDL_OPT_ON_ERROR,
    FDL_OPT_MAX_FAILURES,
    FDL_OPT_MAX_PIXELS,
    FDL_OPT_MAX_SCANS,
    FDL_OPT_MAX_FILE_BYTES,
    FDL_OPT_MAX_SAMPLE_BYTES,
    FDL_OPT_MAX_IMAGE_MS,
    FDL_OPT_ACCEPT_TRUNCATED,
    FDL_OPT_APPLY_EXIF,
    FDL_OPT_MEMORY_BUDGET,
    FDL_OPT_QUALITY,
    FDL_OPT_TRACE,
    FDL_OPT_TRACE_SKIP_FIRST,
    FDL_OPT_TRACE_WAIT,
    FDL_OPT_TRACE_WARMUP,
    FDL_OPT_TRACE_ACTIVE,
    FDL_OPT_TRACE_REPEAT,
    FDL_OPT_TRACE_CATEGORIES,
    FDL_OPT_TRACE_LIMIT,
    FDL_OPT_STATS_LOG,
    FDL_OPT_METRICS,
    FDL_OPT_STATS_INTERVAL,
    FDL_OPT_LIVE,
    FDL_OPT_REPLAY,
    FDL_LOADER_OPTIONS
};

/* Values of the ENUM rows, in the order of their choices. */
enum fdl_dtype_choice {
    FDL_DTYPE_U8 = 0,
    FDL_DTYPE_F32,
    FDL_DTYPE_F16,
    FDL_DTYPE_BF16
};
enum fdl_quality { FDL_QUALITY_EXACT = 0, FDL_QUALITY_FAST };
enum fdl_layout_choice { FDL_LAYOUT_NCHW = 0, FDL_LAYOUT_NHWC };
enum fdl_on_error {
    FDL_ON_ERROR_RAISE = 0,
    FDL_ON_ERROR_SKIP,
    FDL_ON_ERROR_ZERO
};

#define FDL_MAX_WORKERS  1024
#define FDL_MAX_DEPTH    1024
#define FDL_MAX_IO_DEPTH 256

extern const struct fdl_option fdl_loader_options[FDL_LOADER_OPTIONS];

#endif
