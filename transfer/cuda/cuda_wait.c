/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for the device while somebody captures a graph. */
#include "transfer/cuda/cuda_api.h"

#include <time.h>

bool fdl_cuda_not_now(int error)
{
    return error >= FDL_CUDA_ERROR_CAPTURE_FIRST &&
           error <= FDL_CUDA_ERROR_CAPTURE_LAST &&
           error != FDL_CUDA_ERROR_CAPTURED_EVENT;
}

bool fdl_cuda_captures(const struct fdl_cuda_api *cuda, fdl_cuda_stream stream)
{
    int status = 0;
    int error = cuda->StreamIsCapturing(stream, &status);
    return error == FDL_CUDA_SUCCESS ? status != 0 : fdl_cuda_not_now(error);
}

void fdl_cuda_pause(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

int fdl_cuda_wait_event(const struct fdl_cuda_api *cuda, fdl_cuda_event event)
{
    int error;
    while (fdl_cuda_not_now(error = cuda->EventSynchronize(event)))
        fdl_cuda_pause();
    return error;
}

int fdl_cuda_wait_stream(const struct fdl_cuda_api *cuda,
                         fdl_cuda_stream stream)
{
    int error;
    while (fdl_cuda_not_now(error = cuda->StreamSynchronize(stream)))
        fdl_cuda_pause();
    return error;
}
