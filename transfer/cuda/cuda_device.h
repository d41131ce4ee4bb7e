/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One GPU, shared by all loaders of the process that use it: its primary
 * context, which the program's other users of CUDA share too, and our kernels.
 *
 * A device is made current by pushing its primary context and popping it again.
 * Whatever was current before is so afterwards, and no context is made on
 * another device, as cudaSetDevice would make.
 */
#ifndef FDL_TRANSFER_CUDA_DEVICE_H
#define FDL_TRANSFER_CUDA_DEVICE_H

#include "transfer/backend.h"
#include "transfer/cuda/cuda_api.h"
#include "transfer/cuda/cuda_kernels.h"

#include <stdbool.h>

struct fdl_cuda_device {
    const struct fdl_cuda_api *cuda;
    int number;
    bool registers_memory; /* of the program's: MemHostRegister works */
    void *context;         /* the primary one */
    void *finish, *spin;
    const char *makers_ptx; /* of the module below */
    void *makers;           /* NULL: none is loaded */
};

/* The driver and the number of a device: no context is made. ENOSYS; EINVAL
 * for a device that is not there. */
int32_t fdl_cuda_check(uint32_t number, const struct fdl_cuda_api **out);

/* The device with its context, which the first call makes; it lives as long as
 * the process. */
int32_t fdl_cuda_device(uint32_t number, const struct fdl_cuda_device **out);

/* On the calling thread, in pairs. In between, calls are allowed that CUDA
 * forbids while another thread captures a graph, as they might wait for it:
 * ours wait for our own streams alone. */
int32_t fdl_cuda_enter(const struct fdl_cuda_device *d);
void fdl_cuda_leave(const struct fdl_cuda_device *d);

/* The kernels are compiled by the driver when they are first needed, which
 * takes it tens of ms. The device is current. EDEVICE: why it takes none. */
int32_t fdl_cuda_kernels(const struct fdl_cuda_device *d);

/* Kernels of another module, by name: compiled like those, and once as long as
 * it stays the same text. The device is current. EDEVICE. */
int32_t fdl_cuda_maker_kernels(const struct fdl_cuda_device *d,
                               const struct fdl_makers *makers,
                               void *functions[FDL_MAKERS_MAX]);

/* Launches the finishing kernel on no pixels: a driver that loads kernels
 * lazily may wait for the whole device at the first launch of each. */
int fdl_cuda_warm_up(const struct fdl_cuda_device *d, fdl_cuda_stream stream);

/* Queue a kernel, after fdl_cuda_kernels; the device is current. CUresult. */
int fdl_cuda_run_finish(const struct fdl_cuda_device *d,
                        const struct fdl_finish_args *args,
                        fdl_cuda_stream stream);
int fdl_cuda_run_spin(const struct fdl_cuda_device *d, uint64_t ns,
                      fdl_cuda_stream stream);

#endif
