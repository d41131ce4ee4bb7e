/* SPDX-License-Identifier: Apache-2.0 */
/* A stream with kernels of a given length; see transfer/gpu_probe.h. */
#include "base/status.h"
#include "transfer/cuda/cuda_device.h"
#include "transfer/gpu_probe.h"

#include <stdlib.h>

struct fdl_gpu_busy {
    const struct fdl_cuda_device *device;
    fdl_cuda_stream stream;
};

int32_t fdl_gpu_busy_create(uint32_t number, struct fdl_gpu_busy **out)
{
    struct fdl_gpu_busy made = {.device = NULL}, *b;
    int32_t status = fdl_cuda_device(number, &made.device);
    if (status < 0)
        return status;
    status = fdl_cuda_enter(made.device);
    if (status < 0)
        return status;
    int error = made.device->cuda->StreamCreateWithPriority(
        &made.stream, FDL_CUDA_STREAM_NON_BLOCKING, 0);
    b = error == FDL_CUDA_SUCCESS ? malloc(sizeof(*b)) : NULL;
    if (b) {
        *b = made;
        *out = b;
    } else if (error == FDL_CUDA_SUCCESS) {
        made.device->cuda->StreamDestroy(made.stream);
        status = fdl_fail_memory(sizeof(*b), "a stream");
    } else {
        status = fdl_cuda_fail(made.device->cuda, error, "a stream");
    }
    fdl_cuda_leave(made.device);
    return status;
}

void fdl_gpu_busy_destroy(struct fdl_gpu_busy *b)
{
    if (!b)
        return;
    if (fdl_cuda_enter(b->device) == FEEDLINE_OK) {
        b->device->cuda->StreamSynchronize(b->stream);
        b->device->cuda->StreamDestroy(b->stream);
        fdl_cuda_leave(b->device);
    }
    free(b);
}

void *fdl_gpu_busy_stream(const struct fdl_gpu_busy *b)
{
    return b->stream;
}

int32_t fdl_gpu_busy_work(struct fdl_gpu_busy *b, uint64_t ns)
{
    int32_t status = fdl_cuda_enter(b->device);
    if (status < 0)
        return status;
    status = fdl_cuda_kernels(b->device);
    if (status >= 0) {
        int error = fdl_cuda_run_spin(b->device, ns, b->stream);
        if (error != FDL_CUDA_SUCCESS)
            status = fdl_cuda_fail(b->device->cuda, error, "a busy kernel");
    }
    fdl_cuda_leave(b->device);
    return status;
}

int32_t fdl_gpu_busy_wait(struct fdl_gpu_busy *b)
{
    int32_t status = fdl_cuda_enter(b->device);
    if (status < 0)
        return status;
    int error = b->device->cuda->StreamSynchronize(b->stream);
    fdl_cuda_leave(b->device);
    if (error != FDL_CUDA_SUCCESS)
        return fdl_cuda_fail(b->device->cuda, error, "the busy stream");
    return FEEDLINE_OK;
}
