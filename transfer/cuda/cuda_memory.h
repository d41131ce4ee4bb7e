/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device memory of one backend, in the order of a stream: cuMemFree may wait
 * for all that anybody has queued on the device, memory of a pool for nothing
 * but that stream. The pool is the backend's own, gives nothing back by itself
 * while it has memory in use, and keeps nothing that is free. Drivers before
 * CUDA 11.2, and some virtual devices, have no pools.
 */
#ifndef FDL_TRANSFER_CUDA_MEMORY_H
#define FDL_TRANSFER_CUDA_MEMORY_H

#include "transfer/cuda/cuda_device.h"

struct fdl_cuda_memory {
    const struct fdl_cuda_device *device;
    void *pool; /* NULL: there are none */
};

/* The device is current in all of them. */
void fdl_cuda_memory_init(struct fdl_cuda_memory *m,
                          const struct fdl_cuda_device *d);
void fdl_cuda_memory_fini(struct fdl_cuda_memory *m);

/* For work that is queued on `stream` later, or waits for that. CUresult. */
int fdl_cuda_memory_alloc(const struct fdl_cuda_memory *m,
                          fdl_cuda_stream stream, size_t bytes, void **out);

/* Once `stream` has done what is queued on it now; waits for that. Two at
 * once, NULL for none. */
void fdl_cuda_memory_free(const struct fdl_cuda_memory *m,
                          fdl_cuda_stream stream, void *one, void *other);

#endif
