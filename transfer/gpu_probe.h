/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library asks of a GPU beside moving batches: what it is, how long
 * copies take, and kernels of a given length that stand in for training. None
 * of it is on the way of a batch. `number` is that of fdl_backend_find. Without
 * a driver, and in a library that was built without CUDA, each function that
 * can fail returns ENOSYS and says so.
 */
#ifndef FDL_TRANSFER_GPU_PROBE_H
#define FDL_TRANSFER_GPU_PROBE_H

#include "transfer/backend.h"

#include <feedline/bench.h>
#include <feedline/feedline.h>

/* Has this process started the driver? fdl_gpu_find does not: it only looks
 * whether there is one. fdl_gpu_count does. */
bool fdl_gpu_started(void);
int32_t fdl_gpu_find(void);
int32_t fdl_gpu_count(void);

/* As feedline_device_get_info; the NUMA node is left to who reads sysfs
 * (profiler/system/affinity.h). */
int32_t fdl_gpu_info(uint32_t number, struct feedline_device_info *out);

/* As feedline_device_time_copy, with pinned memory at a given place. */
int32_t fdl_gpu_time_copy(uint32_t number,
                          const struct fdl_backend_place *place,
                          const struct feedline_copy_test *test,
                          struct feedline_copy_time *out);

/* EDEVICE: the GPU runs none of the library's kernels, and why. */
int32_t fdl_gpu_has_kernels(uint32_t number);

/* EDEVICE: it does not run these, and why. */
int32_t fdl_gpu_has_makers(uint32_t number, const struct fdl_makers *makers);

/* A stream with kernels that do nothing for a given time. */
struct fdl_gpu_busy;
int32_t fdl_gpu_busy_create(uint32_t number, struct fdl_gpu_busy **out);
void fdl_gpu_busy_destroy(struct fdl_gpu_busy *b);
void *fdl_gpu_busy_stream(const struct fdl_gpu_busy *b);
int32_t fdl_gpu_busy_work(struct fdl_gpu_busy *b, uint64_t ns);
int32_t fdl_gpu_busy_wait(struct fdl_gpu_busy *b);

#endif
