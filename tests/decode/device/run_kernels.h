/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches for a device, decoded by its kernels as C: for tests, and for fuzz
 * targets, which say what AS_C_FAIL is. One .c file of a program includes it.
 */
#ifndef FDL_TESTS_DECODE_DEVICE_RUN_KERNELS_H
#define FDL_TESTS_DECODE_DEVICE_RUN_KERNELS_H

#include "decode/device/device_words.h"
#include "tests/decode/device/blocks_as_c.h"

#include <stdlib.h>
#include <string.h>

/* The kernels need the words. */
#include "decode/device/device_coefficients.cu"
#include "decode/device/device_pixels.cu"

#define DEVICE_BATCH 4

struct device_batch {
    uint32_t n;
    struct fdl_device_job jobs[DEVICE_BATCH];
    uint8_t *slab, *scratch, *out; /* of exactly the bytes that jobs have */
    uint64_t slab_bytes, scratch_bytes, out_bytes;
};

static inline void *device_alloc(size_t bytes)
{
    void *p = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!p)
        abort();
    memset(p, 0xa5, (bytes + 255) / 256 * 256);
    return p;
}

/* Adds a job whose payload is at `payload`. */
static inline void device_add(struct device_batch *b,
                              const struct fdl_device_job *job,
                              const uint8_t *payload)
{
    if (b->n == DEVICE_BATCH)
        abort();
    struct fdl_device_job *to = &b->jobs[b->n++];
    *to = *job;
    uint64_t bytes = b->slab_bytes + job->payload_bytes;
    uint8_t *slab = device_alloc(bytes);
    if (b->slab_bytes > 0)
        memcpy(slab, b->slab, b->slab_bytes);
    memcpy(slab + b->slab_bytes, payload, job->payload_bytes);
    free(b->slab);
    b->slab = slab;
    to->payload = b->slab_bytes;
    to->scratch = b->scratch_bytes;
    to->out = b->out_bytes;
    b->slab_bytes = (bytes + 255) / 256 * 256;
    b->scratch_bytes += (job->scratch_bytes + 255u) / 256 * 256;
    b->out_bytes +=
        (uint64_t)job->pass[1].width * job->pass[1].height * job->out_channels;
}

static inline void device_free(struct device_batch *b)
{
    free(b->slab);
    free(b->scratch);
    free(b->out);
    *b = (struct device_batch){0};
}

/* One launch each. */
enum { COEFFICIENTS, TRANSFORM, COLOUR, FIRST_PASS, SECOND_PASS, STAGES };
static struct as_c_counts device_counts[STAGES];

static inline void device_launch(struct device_batch *b, uint32_t blocks,
                                 int stage,
                                 void (*kernel)(struct fdl_device_args args))
{
    struct fdl_device_args args = {b->jobs, b->slab, b->scratch, b->out,
                                   stage == SECOND_PASS};
    gridDim.x = blocks;
    gridDim.y = b->n;
    as_c.counts = &device_counts[stage];
    for (blockIdx.y = 0; blockIdx.y < b->n; blockIdx.y++) {
        struct fdl_device_job *job = &b->jobs[blockIdx.y];
        size_t bytes = (size_t)job->pass[1].width * job->pass[1].height *
                       job->out_channels;
        as_c_allow(AS_C_PAYLOAD, b->slab + job->payload, job->payload_bytes,
                   false);
        as_c_allow(AS_C_SCRATCH, b->scratch + job->scratch, job->scratch_bytes,
                   true);
        as_c_allow(AS_C_RECORD, job, sizeof(*job), false);
        as_c_allow(AS_C_STATUS, &job->status, sizeof(job->status), true);
        as_c_allow(AS_C_OUT, b->out + job->out, bytes, true);
        for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
            kernel(args);
    }
}

/* All stages, in grids of `blocks` blocks for each job. */
static inline void device_decode(struct device_batch *b, uint32_t blocks)
{
    free(b->scratch);
    free(b->out);
    b->scratch = device_alloc(b->scratch_bytes);
    b->out = device_alloc(b->out_bytes);
    device_launch(b, blocks, COEFFICIENTS, fdl_device_coefficients);
    device_launch(b, blocks, TRANSFORM, fdl_device_transform);
    device_launch(b, blocks, COLOUR, fdl_device_colour);
    device_launch(b, blocks, FIRST_PASS, fdl_device_resample);
    device_launch(b, blocks, SECOND_PASS, fdl_device_resample);
}

#endif
