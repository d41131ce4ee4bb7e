/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last stage on a device: pixels that the host made, because the device
 * could not, go from the payload to their place among the others. Where a job
 * has no payload either, as that of a sample that failed, there will be zeros.
 */
#include "decode/device/device_job.h"
#include "decode/device/device_words.h"

/* Of job's image, which is `bytes` long: byte i of the payload, or 0. */
DEVICE void place_bytes(const struct fdl_device_args *a,
                        const struct fdl_device_job *job, uint32_t bytes,
                        uint32_t first, uint32_t step)
{
    const uint8_t *from = a->slab + READ(&job->payload);
    uint8_t *to = a->out + READ(&job->out);
    bool there = READ(&job->payload_bytes) >= bytes;
    for (uint32_t i = first; i < bytes; i += step)
        WRITE(to + i, there ? READ(from + i) : (uint8_t)0);
}

DEVICE void place_words(const struct fdl_device_args *a,
                        const struct fdl_device_job *job, uint32_t bytes,
                        uint32_t first, uint32_t step)
{
    const uint32_t *from =
        (const uint32_t *)(const void *)(a->slab + READ(&job->payload));
    uint32_t *to = (uint32_t *)(void *)(a->out + READ(&job->out));
    bool there = READ(&job->payload_bytes) >= bytes;
    for (uint32_t i = first; i < bytes / 4; i += step)
        WRITE(to + i, there ? READ(from + i) : 0u);
}

KERNEL fdl_device_place(struct fdl_device_args args)
{
    const struct fdl_device_job *job = &args.jobs[blockIdx.y];
    EACH_THREAD(t) {
        const struct fdl_device_pass *last = &job->pass[1];
        uint32_t bytes = READ(&last->width) * READ(&last->height) *
                         READ(&job->out_channels);
        uint32_t first = blockIdx.x * FDL_DEVICE_THREADS + t;
        uint32_t step = gridDim.x * FDL_DEVICE_THREADS;
        bool whole = ((bytes | READ(&job->out) | READ(&job->payload)) & 3) == 0;
        if (READ(&job->kind) != FDL_DEVICE_NONE)
            bytes = 0;
        if (whole)
            place_words(&args, job, bytes, first, step);
        else
            place_bytes(&args, job, bytes, first, step);
    }
}
