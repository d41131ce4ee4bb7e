/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU that a loader copies to, as NVML sees it. NVML is loaded at the first
 * probe, and only for a loader with device=cuda:N; if it is missing, one line
 * in the log says why. One thread.
 */
#ifndef FDL_LOADER_GPU_WATCH_H
#define FDL_LOADER_GPU_WATCH_H

#include "profiler/system/nvml.h"

#include <feedline/feedline.h>

#include <stdbool.h>
#include <stdint.h>

struct fdl_engine;

struct fdl_gpu_watched {
    bool has_gpu;
    struct fdl_gpu_signals now; /* all -1 without one */
    double idle_seconds;        /* at utilisation 0 until now */
};

struct fdl_gpu_watch;

/* Nothing is known. */
void fdl_gpu_watched_init(struct fdl_gpu_watched *w);

int32_t fdl_gpu_watch_create(const struct fdl_engine *engine,
                             struct fdl_gpu_watch **out);
void fdl_gpu_watch_destroy(struct fdl_gpu_watch *w);

/* now: of fdl_now_ns. */
void fdl_gpu_watch_look(struct fdl_gpu_watch *w, int64_t now,
                        struct fdl_gpu_watched *out);

#endif
