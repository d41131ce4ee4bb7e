/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU of a loader; see gpu_watch.h. */
#include "loader/watch/gpu_watch.h"

#include "base/log.h"
#include "base/status.h"
#include "loader/stream/snapshot.h"
#include "transfer/gpu_probe.h"

#include <stdlib.h>

struct fdl_gpu_watch {
    const struct fdl_engine *engine;
    struct fdl_nvml *nvml;
    bool tried;
    int64_t idle_since; /* 0: not idle */
};

void fdl_gpu_watched_init(struct fdl_gpu_watched *w)
{
    *w = (struct fdl_gpu_watched){.now = {.utilization = -1,
                                          .memory_utilization = -1,
                                          .memory_used_bytes = -1,
                                          .memory_total_bytes = -1,
                                          .power_watts = -1,
                                          .power_limit_watts = -1,
                                          .temperature = -1,
                                          .sm_clock_mhz = -1,
                                          .max_sm_clock_mhz = -1,
                                          .sm_active = -1,
                                          .pcie_rx_gbps = -1,
                                          .pcie_tx_gbps = -1,
                                          .energy_joules = -1}};
}

int32_t fdl_gpu_watch_create(const struct fdl_engine *engine,
                             struct fdl_gpu_watch **out)
{
    struct fdl_gpu_watch *w = calloc(1, sizeof(*w));
    if (!w)
        return fdl_fail_memory(sizeof(*w), "the watch over a GPU");
    w->engine = engine;
    *out = w;
    return FEEDLINE_OK;
}

void fdl_gpu_watch_destroy(struct fdl_gpu_watch *w)
{
    if (!w)
        return;
    if (w->nvml)
        fdl_nvml_close(w->nvml);
    free(w);
}

static void open_nvml(struct fdl_gpu_watch *w)
{
    struct feedline_device_info info;
    char why[256] = "";
    int32_t number = fdl_engine_gpu(w->engine);
    w->tried = true;
    if (number < 0 || fdl_gpu_info((uint32_t)number, &info) < 0)
        return;
    w->nvml = fdl_nvml_open(info.pci, why, sizeof(why));
    if (!w->nvml)
        fdl_log(FDL_LOG_INFO, "no GPU statistics: %s", why);
}

void fdl_gpu_watch_look(struct fdl_gpu_watch *w, int64_t now,
                        struct fdl_gpu_watched *out)
{
    fdl_gpu_watched_init(out);
    if (!w->tried)
        open_nvml(w);
    if (!w->nvml)
        return;
    out->has_gpu = fdl_nvml_read(w->nvml, now, &out->now);
    if (!out->has_gpu) {
        fdl_log(FDL_LOG_WARNING, "NVML stopped providing GPU statistics");
        fdl_nvml_close(w->nvml);
        w->nvml = NULL;
        return;
    }
    bool idle = out->now.utilization >= 0 && out->now.utilization <= 0;
    if (!idle)
        w->idle_since = 0;
    else if (w->idle_since == 0)
        w->idle_since = now;
    if (idle)
        out->idle_seconds = (double)(now - w->idle_since) / 1e9;
}
