/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of decode/device/ on the double: their own source, as C, block by
 * block (blocks_as_c.h). What a block touches outside of its own sample's
 * memory is a fault, and so is a job whose memory the program does not have.
 */
#include "cuda_double_own.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static void note_fault(const char *format, ...) FDL_PRINTF(1, 2);
#define AS_C_FAIL note_fault

#include "decode/device/device_stages.h"
#include "decode/device/device_words.h"
#include "tests/decode/device/blocks_as_c.h"

/* The kernels need the words. */
#include "decode/device/device_kernels.cu"

static char fault[160]; /* the first one of a launch; guarded as memory is */

static void note_fault(const char *format, ...)
{
    va_list args;
    if (fault[0])
        return;
    va_start(args, format);
    vsnprintf(fault, sizeof(fault), format, args);
    va_end(args);
}

static _Atomic bool damages;

void double_damage_payload(void)
{
    atomic_store(&damages, true);
}

/* What is known of its first segment: where that is. */
static void damage(const struct double_op *op, const struct fdl_device_job *job)
{
    if (job->kind != FDL_DEVICE_NONE && atomic_exchange(&damages, false))
        memset(op->backing[0] + job->payload + job->segments, 0xff, 4);
}

static const struct {
    const char *name;
    void (*run)(struct fdl_device_args args);
} kernels[] = {
    {"fdl_device_coefficients", fdl_device_coefficients},
    {"fdl_device_transform", fdl_device_transform},
    {"fdl_device_colour", fdl_device_colour},
    {"fdl_device_resample", fdl_device_resample},
    {"fdl_device_place", fdl_device_place},
};

const char *double_decode_name(uint32_t i)
{
    return i < FDL_COUNT_OF(kernels) ? kernels[i].name : NULL;
}

/* [p, its allocation's end), as memory of the program and of the double. */
static bool find_locked(struct double_op *op, int i, const void *p, bool writes,
                        unsigned char **backing)
{
    struct double_allocation *a = double_allocation_at_locked(p, 1);
    if (!a)
        return false;
    uint64_t bytes =
        a->bytes - (uint64_t)((const unsigned char *)p - a->device);
    op->ranges[i] = (struct double_range){p, bytes, writes};
    *backing = double_backing(a, p);
    return true;
}

bool double_decode_prepare_locked(struct double_op *op, uint32_t blocks,
                                  uint32_t images, void **parameters)
{
    struct fdl_device_args args;
    unsigned char *jobs, *slab, *scratch, *out;
    memcpy(&args, parameters[0], sizeof(args));
    op->blocks = blocks;
    op->amount = op->images = images;
    op->pass = args.pass;
    if (!find_locked(op, 0, args.slab, false, &slab) ||
        !find_locked(op, 1, args.jobs, true, &jobs) ||
        !find_locked(op, 2, args.scratch, true, &scratch) ||
        !find_locked(op, 3, args.out, true, &out) ||
        op->ranges[1].bytes / sizeof(struct fdl_device_job) < images) {
        double_fault_locked("%s: %" PRIu32 " jobs at %p, of %p, %p and %p, are "
                            "not all device memory",
                            op->kernel, images, (void *)args.jobs,
                            (const void *)args.slab, (void *)args.scratch,
                            (void *)args.out);
        return false;
    }
    op->ranges[1].bytes = images * sizeof(struct fdl_device_job);
    unsigned char *backing[] = {slab, jobs, scratch, out};
    memcpy(op->backing, backing, sizeof(backing));
    return true;
}

static bool lies_in(const struct double_op *op, int range, uint64_t at,
                    uint64_t bytes)
{
    uint64_t all = op->ranges[range].bytes;
    return at <= all && bytes <= all - at;
}

/* What the job may touch; false: that is not there. */
static bool allow(const struct double_op *op, struct fdl_device_job *job)
{
    uint64_t out =
        (uint64_t)job->pass[1].width * job->pass[1].height * job->out_channels;
    bool decodes = job->kind != FDL_DEVICE_NONE;
    uint64_t scratch = decodes ? job->scratch_bytes : 0;
    if (!lies_in(op, 0, job->payload, job->payload_bytes) ||
        !lies_in(op, 2, decodes ? job->scratch : 0, scratch) ||
        !lies_in(op, 3, job->out, out)) {
        note_fault("a job of kind %" PRIu32 " lies outside of its memory",
                   job->kind);
        return false;
    }
    as_c_allow(AS_C_PAYLOAD, op->backing[0] + job->payload, job->payload_bytes,
               false);
    as_c_allow(AS_C_SCRATCH, op->backing[2] + (decodes ? job->scratch : 0),
               scratch, true);
    as_c_allow(AS_C_RECORD, job, sizeof(*job), false);
    as_c_allow(AS_C_STATUS, &job->status, sizeof(job->status), true);
    as_c_allow(AS_C_OUT, op->backing[3] + job->out, out, true);
    return true;
}

const char *double_decode_run(const struct double_op *op)
{
    static struct as_c_counts counts;
    struct fdl_device_args args = {
        .slab = op->backing[0],
        .jobs = (struct fdl_device_job *)(void *)op->backing[1],
        .scratch = op->backing[2],
        .out = op->backing[3],
        .pass = op->pass,
    };
    uint32_t k = 0;
    while (strcmp(kernels[k].name, op->kernel) != 0)
        k++;
    fault[0] = '\0';
    if (!double_world.set.decodes)
        return NULL;
    as_c.counts = &counts;
    gridDim.x = op->blocks;
    gridDim.y = op->images;
    for (blockIdx.y = 0; blockIdx.y < op->images; blockIdx.y++) {
        as_c.backwards = blockIdx.y % 2;
        damage(op, &args.jobs[blockIdx.y]);
        if (!allow(op, &args.jobs[blockIdx.y]))
            continue;
        for (blockIdx.x = 0; blockIdx.x < op->blocks; blockIdx.x++)
            kernels[k].run(args);
    }
    return fault[0] ? fault : NULL;
}
