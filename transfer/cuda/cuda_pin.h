/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pinned memory: pages that a GPU reads by itself. They are placed on the NUMA
 * node of the GPU, touched by several threads at once, and only then locked,
 * in one call: to lock memory that is not there yet is done page by page on one
 * core, at 1 to 2 GB/s.
 */
#ifndef FDL_TRANSFER_CUDA_PIN_H
#define FDL_TRANSFER_CUDA_PIN_H

#include "transfer/cuda/cuda_device.h"

/* Zeroed, aligned to 4096. The device is current. ENOMEM, EDEVICE. */
int32_t fdl_cuda_pin(const struct fdl_cuda_device *d, uint64_t bytes,
                     void **out);
void fdl_cuda_unpin(const struct fdl_cuda_device *d, void *memory,
                    uint64_t bytes);

#endif
