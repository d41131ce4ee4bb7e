/* SPDX-License-Identifier: Apache-2.0 */
/* Device time on the host's clock; cuda_clock.h has the method. */
#include "transfer/cuda/cuda_clock.h"

#include "base/clock.h"
#include "base/status.h"

#include <stdint.h>

#define TRIES    5
#define GOOD_NS  INT64_C(20000) /* no try will be much better */
#define RENEW_NS (INT64_C(2) * 1000000000)

/* By how much the two clocks may drift apart: crystals of 50 ppm. */
#define DRIFT 50e-6

/* One try: the event lies between two looks at the host's clock. */
static int measure(struct fdl_cuda_clock *c, struct fdl_cuda_base *out)
{
    const struct fdl_cuda_api *cuda = c->device->cuda;
    int64_t from = fdl_now_ns();
    int error = cuda->EventRecord(out->event, c->stream);
    if (error == FDL_CUDA_SUCCESS)
        error = fdl_cuda_wait_event(cuda, out->event);
    int64_t to = fdl_now_ns();
    out->ns = from + (to - from) / 2;
    out->error_ns = (to - from) / 2;
    return error;
}

/* The best of several tries, in *best; *spare is the other event. */
static int measure_well(struct fdl_cuda_clock *c, struct fdl_cuda_base *best,
                        struct fdl_cuda_base *spare)
{
    int error = measure(c, best);
    for (int i = 1; i < TRIES && best->error_ns > GOOD_NS && !error; i++) {
        error = measure(c, spare);
        if (error != FDL_CUDA_SUCCESS || spare->error_ns >= best->error_ns)
            continue;
        struct fdl_cuda_base swap = *best;
        *best = *spare;
        *spare = swap;
    }
    return error;
}

int32_t fdl_cuda_clock_init(struct fdl_cuda_clock *c,
                            const struct fdl_cuda_device *d)
{
    const struct fdl_cuda_api *cuda = d->cuda;
    *c = (struct fdl_cuda_clock){.device = d};
    int error = cuda->StreamCreateWithPriority(&c->stream,
                                               FDL_CUDA_STREAM_NON_BLOCKING, 0);
    for (int i = 0; i < 2 && error == FDL_CUDA_SUCCESS; i++)
        error = cuda->EventCreate(&c->base[i].event, 0);
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->EventCreate(&c->spare.event, 0);
    if (error == FDL_CUDA_SUCCESS)
        error = measure_well(c, &c->base[0], &c->spare);
    if (error == FDL_CUDA_SUCCESS)
        return FEEDLINE_OK;
    int32_t status = fdl_cuda_fail(cuda, error, "the device's clock");
    fdl_cuda_clock_fini(c);
    return status;
}

void fdl_cuda_clock_fini(struct fdl_cuda_clock *c)
{
    const fdl_cuda_event events[] = {c->base[0].event, c->base[1].event,
                                     c->spare.event};
    for (int i = 0; i < 3; i++)
        if (events[i])
            c->device->cuda->EventDestroy(events[i]);
    if (c->stream)
        c->device->cuda->StreamDestroy(c->stream);
    *c = (struct fdl_cuda_clock){.device = NULL};
}

/* A new base that is less certain than the old one has become by now is not
 * taken: a busy GPU answers late. */
int32_t fdl_cuda_clock_renew(struct fdl_cuda_clock *c)
{
    const struct fdl_cuda_base *old = &c->base[c->epoch % 2];
    struct fdl_cuda_base *new = &c->base[(c->epoch + 1) % 2];
    int64_t now = fdl_now_ns();
    if (now - c->tried_ns < RENEW_NS || now - old->ns < RENEW_NS)
        return FEEDLINE_OK;
    c->tried_ns = now;
    int error = measure_well(c, new, &c->spare);
    if (error != FDL_CUDA_SUCCESS)
        return fdl_cuda_fail(c->device->cuda, error, "the device's clock");
    double drift = DRIFT * (double)(now - old->ns);
    if ((double)new->error_ns < (double)old->error_ns + drift)
        c->epoch++;
    return FEEDLINE_OK;
}

int64_t fdl_cuda_clock_read(const struct fdl_cuda_clock *c, uint32_t epoch,
                            fdl_cuda_event event)
{
    const struct fdl_cuda_base *base = &c->base[epoch % 2];
    float ms;
    if (c->device->cuda->EventElapsedTime(&ms, base->event, event) !=
        FDL_CUDA_SUCCESS)
        return 0;
    return base->ns + (int64_t)((double)ms * 1e6);
}
