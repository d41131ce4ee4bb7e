/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring with a GPU: how long copies take, and kernels of a given length
 * that stand in for training. None of it is on the way of a batch.
 */
#ifndef FDL_TRANSFER_CUDA_PROBE_H
#define FDL_TRANSFER_CUDA_PROBE_H

#include "transfer/backend.h"
#include "transfer/cuda/cuda_device.h"

#include <feedline/bench.h>
#include <feedline/feedline.h>

/* As the public functions of these names, but for a number. The NUMA node is
 * left to who reads sysfs (profiler/system/affinity.h); and so is the place of
 * pinned memory. */
int32_t fdl_cuda_device_info(uint32_t number, struct feedline_device_info *out);
int32_t fdl_cuda_time_copy(uint32_t number,
                           const struct fdl_backend_place *place,
                           const struct feedline_copy_test *test,
                           struct feedline_copy_time *out);

/* EDEVICE: the GPU runs none of the library's kernels, and why. */
int32_t fdl_cuda_has_kernels(uint32_t number);

struct fdl_cuda_busy;
int32_t fdl_cuda_busy_create(uint32_t number, struct fdl_cuda_busy **out);
void fdl_cuda_busy_destroy(struct fdl_cuda_busy *b);
void *fdl_cuda_busy_stream(const struct fdl_cuda_busy *b);
int32_t fdl_cuda_busy_work(struct fdl_cuda_busy *b, uint64_t ns);
int32_t fdl_cuda_busy_wait(struct fdl_cuda_busy *b);

#endif
