/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One GPU as reported by NVIDIA's management library. It is loaded at run time
 * (libnvidia-ml.so.1, or the file named by FEEDLINE_NVML), never required, and
 * may fail at any call: a missing field is -1, and once a call reports the GPU
 * lost it is not queried again.
 */
#ifndef FDL_PROFILER_NVML_H
#define FDL_PROFILER_NVML_H

#include <stdbool.h>
#include <stdint.h>

struct fdl_gpu_signals {
    double utilization;        /* of the last sample period, fraction of 1 */
    double memory_utilization; /* the same of its memory controller */
    double memory_used_bytes, memory_total_bytes;
    double power_watts, power_limit_watts;
    double temperature; /* degrees Celsius */
    double sm_clock_mhz, max_sm_clock_mhz;
    double sm_active; /* fraction of SMs at work, by GPM; mostly unknown */
    double pcie_rx_gbps, pcie_tx_gbps; /* 1e9 bytes per second */
    double energy_joules;              /* since the driver was loaded */
    bool power_capped, thermal_capped; /* why clocks are reduced */
    char driver[32];
};

struct fdl_nvml;

/* pci: of the GPU, "0000:1b:00.0". NULL if there is no library or no such GPU,
 * with the reason in why (up to `room` bytes). */
struct fdl_nvml *fdl_nvml_open(const char *pci, char *why, uint32_t room);
void fdl_nvml_close(struct fdl_nvml *n);

/* now: of fdl_now_ns. Takes 20 ms where the bus has to be measured by a slow
 * call, at most once a second and GPU in this process. false: nothing can be
 * read any more; everything in out is unknown then. */
bool fdl_nvml_read(struct fdl_nvml *n, int64_t now,
                   struct fdl_gpu_signals *out);

/* "power", "thermal", "power, thermal" or "". */
const char *fdl_gpu_cap_name(const struct fdl_gpu_signals *s);

#endif
