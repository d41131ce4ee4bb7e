/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pinned memory: pages that a GPU reads by itself. Several threads touch them
 * at once, and only then they are locked, in one call: to lock memory that is
 * not there yet is done page by page on one core, at 1 to 2 GB/s.
 *
 * A page lies on the node of the thread that touches it first, so these threads
 * run near the GPU. mbind asks for the node as well, in case their CPUs have no
 * memory left or are not known. Containers without CAP_SYS_NICE may not call
 * it; the log says so once where it matters.
 *
 * Where memory of the program cannot be locked (confidential computing, some
 * integrated GPUs) the driver allocates it. Not every device of that kind says
 * so: some find out in the call.
 */
#ifndef FDL_TRANSFER_CUDA_PIN_H
#define FDL_TRANSFER_CUDA_PIN_H

#include "transfer/backend.h"
#include "transfer/cuda/cuda_device.h"

struct fdl_cuda_pinned {
    void *memory; /* NULL: none */
    uint64_t bytes;
    bool of_driver; /* it allocated the memory */
};

/* Of any content, aligned to 4096; a child of fork() does not have it. The
 * device is current. ENOMEM, EDEVICE. */
int32_t fdl_cuda_pin(const struct fdl_cuda_device *d,
                     const struct fdl_backend_place *place, uint64_t bytes,
                     struct fdl_cuda_pinned *out);
void fdl_cuda_unpin(const struct fdl_cuda_device *d,
                    const struct fdl_cuda_pinned *p);

#endif
