/* SPDX-License-Identifier: Apache-2.0 */
/* Device time on the host's clock; cuda_clock.h has the method. */
#include "transfer/cuda/cuda_clock.h"

#include "base/clock.h"
#include "base/status.h"

#include <stdint.h>

#define TRIES    5
#define RENEW_NS (INT64_C(20) * 1000000000)

/* One try: the event lies in the interval. */
static int measure(struct fdl_cuda_clock *c, fdl_cuda_event event,
                   int64_t *from, int64_t *to)
{
    const struct fdl_cuda_api *cuda = c->device->cuda;
    *from = fdl_now_ns();
    int error = cuda->EventRecord(event, c->stream);
    if (error == FDL_CUDA_SUCCESS)
        error = fdl_cuda_wait_event(cuda, event);
    *to = fdl_now_ns();
    return error;
}

/* The last record of an event counts, so the best try is repeated until one is
 * as good again, or tries are used up. */
static int set_base(struct fdl_cuda_clock *c, uint32_t which)
{
    int64_t best = INT64_MAX, from = 0, to = 0;
    for (int i = 0; i < 2 * TRIES; i++) {
        int error = measure(c, c->base[which], &from, &to);
        if (error != FDL_CUDA_SUCCESS)
            return error;
        if (i >= TRIES && to - from <= best + best / 4)
            break;
        best = to - from < best ? to - from : best;
    }
    c->base_ns[which] = from + (to - from) / 2;
    return FDL_CUDA_SUCCESS;
}

int32_t fdl_cuda_clock_init(struct fdl_cuda_clock *c,
                            const struct fdl_cuda_device *d)
{
    const struct fdl_cuda_api *cuda = d->cuda;
    *c = (struct fdl_cuda_clock){.device = d};
    int error = cuda->StreamCreateWithPriority(&c->stream,
                                               FDL_CUDA_STREAM_NON_BLOCKING, 0);
    for (int i = 0; i < 2 && error == FDL_CUDA_SUCCESS; i++)
        error = cuda->EventCreate(&c->base[i], 0);
    if (error == FDL_CUDA_SUCCESS)
        error = set_base(c, 0);
    if (error == FDL_CUDA_SUCCESS)
        return FEEDLINE_OK;
    int32_t status = fdl_cuda_fail(cuda, error, "the device's clock");
    fdl_cuda_clock_fini(c);
    return status;
}

void fdl_cuda_clock_fini(struct fdl_cuda_clock *c)
{
    for (int i = 0; i < 2; i++)
        if (c->base[i])
            c->device->cuda->EventDestroy(c->base[i]);
    if (c->stream)
        c->device->cuda->StreamDestroy(c->stream);
    *c = (struct fdl_cuda_clock){.device = NULL};
}

int32_t fdl_cuda_clock_renew(struct fdl_cuda_clock *c)
{
    if (fdl_now_ns() - c->base_ns[c->epoch % 2] < RENEW_NS)
        return FEEDLINE_OK;
    int error = set_base(c, (c->epoch + 1) % 2);
    if (error != FDL_CUDA_SUCCESS)
        return fdl_cuda_fail(c->device->cuda, error, "the device's clock");
    c->epoch++;
    return FEEDLINE_OK;
}

int64_t fdl_cuda_clock_read(const struct fdl_cuda_clock *c, uint32_t epoch,
                            fdl_cuda_event event)
{
    float ms;
    if (c->device->cuda->EventElapsedTime(&ms, c->base[epoch % 2], event) !=
        FDL_CUDA_SUCCESS)
        return 0;
    return c->base_ns[epoch % 2] + (int64_t)((double)ms * 1e6);
}
