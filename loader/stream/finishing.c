/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where batches are finished. If on the device, workers write u8 pixels with
 * interleaved channels, as they come out of the decoder, and the device looks
 * up what the last pass makes of each byte (decode/kernels/finish.h), so the
 * bits are the same.
 */
#include "loader/stream/finishing.h"

#include "base/atomic.h"
#include "base/lock.h"
#include "base/log.h"
#include "decode/pipeline.h"
#include "loader/stream/engine_own.h"
#include "profiler/system/machine.h"
#include "transfer/gpu_probe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define FIT_DEVICES  64 /* whose times are kept */
#define FIT_REPEATS  7
#define FIT_ATTEMPTS 3

/* ---- The bus ------------------------------------------------------------ */

static struct fdl_lock fit_lock = FDL_LOCK_INIT(FDL_RANK_FIT);
static struct fdl_copy_fit fits[FIT_DEVICES]; /* 0: not measured */

static int32_t measure(uint32_t number, const struct fdl_backend_place *place,
                       struct fdl_copy_fit *out)
{
    static const uint64_t sizes[] = {64u << 10, 1u << 20, 16u << 20};
    double us[FDL_COUNT_OF(sizes)];
    for (uint32_t i = 0; i < FDL_COUNT_OF(sizes); i++) {
        struct feedline_copy_test test = {
            .bytes = sizes[i], .copies = 1, .repeats = FIT_REPEATS};
        struct feedline_copy_time time;
        int32_t status = fdl_gpu_time_copy(number, place, &test, &time);
        if (status < 0)
            return status;
        us[i] = time.device_us;
    }
    return fdl_copy_fit(sizes, us, FDL_COUNT_OF(sizes), out);
}

/* How long copies to a device take, measured once per process: some tens of
 * milliseconds, and a CUDA context. Any thread. */
static int32_t device_fit(uint32_t number,
                          const struct fdl_backend_place *place,
                          struct fdl_copy_fit *out)
{
    int32_t status = FEEDLINE_OK;
    if (number >= FIT_DEVICES) /* the user's number, not checked yet */
        return measure(number, place, out);
    fdl_lock(&fit_lock);
    if (fits[number].gigabytes_per_second == 0)
        status = measure(number, place, &fits[number]);
    if (status >= 0)
        *out = fits[number];
    fdl_unlock(&fit_lock);
    return status;
}

/* Those who read statistics do so while the first run begins. */
static int32_t know_fit(struct fdl_engine *l, uint32_t number)
{
    const struct fdl_backend_place place = {.node = l->affinity.node,
                                            .cpus = l->affinity.near};
    int32_t status = device_fit(number, &place, &l->fit);
    if (status >= 0)
        atomic_store_explicit(&l->fit_known, true, memory_order_release);
    return status;
}

void fdl_engine_measure_bus(struct fdl_engine *l)
{
    if (l->ring->backend_ops->device != FEEDLINE_CUDA ||
        fdl_load(&l->fit_known))
        return;
    if (know_fit(l, (uint32_t)l->ring->kind.device_id) < 0)
        fdl_log(FDL_LOG_WARNING, "the bus was not measured: %s",
                fdl_last_error());
}

struct fdl_copy_fit fdl_engine_bus(const struct fdl_engine *l)
{
    if (!atomic_load_explicit(&l->fit_known, memory_order_acquire))
        return (struct fdl_copy_fit){0};
    return l->fit;
}

/* ---- The choice --------------------------------------------------------- */

/* The fraction of this process's cores taken by others in the last minute. */
static double cpu_load(uint32_t cpus)
{
    double load;
    if (getloadavg(&load, 1) != 1)
        return -1;
    return FDL_MIN(load / cpus, 1.0);
}

/* Why the device cannot finish; NULL: it can. buf: for the words. */
static const char *obstacle(const struct fdl_engine *l,
                            const struct fdl_backend_ops *ops,
                            const struct fdl_output_format *delivered,
                            char *buf, size_t capacity)
{
    const char *late = fdl_pipeline_late_op(l->pipeline);
    if (ops->device != FEEDLINE_CUDA)
        return "batches are delivered to the host";
    if (l->no_pixels)
        return "batches have no pixels of their own";
    if (delivered->dtype == FEEDLINE_U8)
        return "u8 batches need no finishing";
    if (fdl_pipeline_has_chains(l->pipeline))
        return "each view has a chain of its own";
    if (delivered->width == 0)
        return "images keep their own sizes (max_sample_bytes)";
    if (!late)
        return NULL;
    snprintf(buf, capacity, "%s works on finished samples", late);
    return buf;
}

void fdl_engine_set_finishing(const struct fdl_engine *l,
                              const struct fdl_layout *wire,
                              struct fdl_finish *finish)
{
    const struct fdl_output_format *delivered = &wire->delivered;
    *finish = (struct fdl_finish){
        .bytes =
            wire->late ? 0 : l->config.batch_size * fdl_output_bytes(delivered),
        .images_at = wire->at[FDL_COLUMN_IMAGES],
        .width = delivered->width,
        .height = delivered->height,
        .channels = delivered->channels,
        .dtype = delivered->dtype,
        .nhwc = delivered->nhwc,
        .mixes_at = wire->at[FDL_COLUMN_TOLD],
    };
    struct fdl_affine affine;
    int64_t rounding = fdl_option_int(&l->options, FDL_OPT_ROUNDING);
    int32_t status = fdl_pipeline_affine(l->pipeline, delivered->channels,
                                         (enum fdl_rounding)rounding, &affine);
    fdl_assert(status == FEEDLINE_OK); /* channels were checked */
    (void)status;
    fdl_affine_bits(&affine, delivered->dtype, finish->table);
}

void fdl_finish_wire(const struct fdl_output_format *delivered,
                     struct fdl_output_format *wire)
{
    *wire = *delivered;
    wire->dtype = FEEDLINE_U8;
    wire->nhwc = true;
}

/* On a busy machine the times of copies may be noise (EINVAL), which is no
 * reason to refuse a loader. */
static int32_t ask_bus(struct fdl_engine *l, uint32_t device)
{
    int32_t status = know_fit(l, device);
    for (int i = 1; i < FIT_ATTEMPTS && status == FEEDLINE_EINVAL; i++)
        status = know_fit(l, device);
    if (status != FEEDLINE_EINVAL)
        return status;
    fdl_log(FDL_LOG_INFO, "the bus was not measured: %s", fdl_last_error());
    fdl_clear_error();
    return FEEDLINE_OK;
}

/* How fast copies are, and whether there are kernels; the device cannot finish
 * without. */
static int32_t ask_device(struct fdl_engine *l, uint32_t device,
                          struct fdl_finish_question *q, char *buf,
                          size_t capacity)
{
    int32_t status = ask_bus(l, device);
    if (status < 0)
        return status;
    q->latency_us = l->fit.latency_us;
    q->gigabytes_per_second = l->fit.gigabytes_per_second;
    if (fdl_gpu_has_kernels(device) < 0) {
        snprintf(buf, capacity, "%s", fdl_last_error());
        q->obstacle = buf;
        fdl_clear_error();
    }
    return FEEDLINE_OK;
}

int32_t fdl_engine_choose_finish(struct fdl_engine *l,
                                 const struct fdl_backend_ops *ops,
                                 const struct fdl_output_format *delivered,
                                 uint32_t device)
{
    char buf[FDL_ERROR_BYTES];
    struct fdl_output_format pixels;
    fdl_finish_wire(delivered, &pixels);
    uint32_t cpus = fdl_machine_get()->cpus_usable;
    struct fdl_finish_question q = {
        .asked =
            (enum fdl_finish_asked)fdl_option_int(&l->options, FDL_OPT_FINISH),
        .late =
            fdl_option_int(&l->options, FDL_OPT_HANDOVER) == FDL_HANDOVER_COPY,
        .obstacle = obstacle(l, ops, delivered, buf, sizeof(buf)),
        .wire_bytes = l->config.batch_size * fdl_output_bytes(&pixels),
        .finished_bytes = l->config.batch_size * fdl_output_bytes(delivered),
        .images = l->config.batch_size,
        .cpus_usable = cpus,
        .cpu_load = cpu_load(cpus),
    };
    /* It makes pixels there, which have to be finished there, too. */
    if (fdl_option_int(&l->options, FDL_OPT_DECODE) == FDL_DECODE_DEVICE &&
        q.asked == FDL_FINISH_AUTO && !q.obstacle)
        q.asked = FDL_FINISH_DEVICE;
    if (q.asked == FDL_FINISH_DEVICE && q.obstacle)
        return fdl_fail(FEEDLINE_EINVAL, "finish=device is not possible: %s",
                        q.obstacle);
    if (q.asked == FDL_FINISH_AUTO && !q.obstacle) {
        int32_t status = ask_device(l, device, &q, buf, sizeof(buf));
        if (status < 0)
            return status;
    }
    fdl_finish_decide(&q, &l->finish);
    return FEEDLINE_OK;
}
