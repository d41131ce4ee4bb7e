/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands that need a GPU share: is there one, its line in a report,
 * its object in a document, and the time that a copy takes.
 */
#ifndef LOADERBENCH_GPU_H
#define LOADERBENCH_GPU_H

#include "tools/loaderbench/tool.h"

#include <jansson.h>
#include <stddef.h>

/* An exit status: 0, 2 for an invalid name, or 4 with one line that says what
 * is missing. */
int gpu_find(const char *device, struct feedline_device_info *out);

json_t *gpu_json(const struct feedline_device_info *gpu);
void gpu_print(const struct feedline_device_info *gpu);

/* The option "device" of cfg into buf; "" if it cannot be told. */
void gpu_of_config(const feedline_config *cfg, char *buf, size_t capacity);

/* Why the GPU runs none of the library's kernels; "": it does. */
void gpu_kernels(const char *device, char *reason, size_t capacity);

/* One shape of copy and its time: of `rounds` calls the medians. */
struct gpu_copy {
    uint64_t bytes; /* in all */
    uint32_t copies;
    bool pageable, busy;
    double host_us, device_us;
    double min_us, max_us;
};

/* Measures all n shapes, `rounds` times through, so that whatever else the
 * machine does in the meantime falls on all of them alike. An exit status;
 * after Ctrl-C the times are those of complete rounds, 0 if there was none. */
int gpu_time_copies(const char *device, struct gpu_copy *copies, size_t n,
                    uint64_t rounds);

/* Bytes a microsecond are 1e6 bytes a second. */
double gpu_rate(double bytes, double us); /* 1e9 bytes a second */

#endif
