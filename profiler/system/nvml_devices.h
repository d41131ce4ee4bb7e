/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPUs that CUDA would show this process, as NVML sees them. CUDA itself is
 * not started: a process in which it was cannot use it in children that it
 * forks, so one that only wants to know must not start it.
 *
 * NVML numbers all GPUs by their place on the bus. CUDA_VISIBLE_DEVICES is read
 * as CUDA reads it: numbers or UUIDs ("GPU-" and a unique start), up to the
 * first that is none. What only CUDA itself can tell is left to it: parts of a
 * GPU (MIG), repeated entries, and numbers where GPUs differ, which CUDA orders
 * by speed unless CUDA_DEVICE_ORDER=PCI_BUS_ID.
 */
#ifndef FDL_PROFILER_NVML_DEVICES_H
#define FDL_PROFILER_NVML_DEVICES_H

#include <stdint.h>

#define FDL_NVML_DEVICES_MAX 64

struct fdl_nvml_device {
    char name[64];
    char pci[16]; /* "0000:1b:00.0" */
};

struct fdl_nvml_devices {
    uint32_t n;
    int32_t cuda_version; /* that the driver supports, 12040 is 12.4; 0: not
                             known */
    struct fdl_nvml_device at[FDL_NVML_DEVICES_MAX];
};

/* 0, or ENOSYS: only CUDA can tell, with the reason. Any thread. */
int32_t fdl_nvml_list(struct fdl_nvml_devices *out);

#endif
