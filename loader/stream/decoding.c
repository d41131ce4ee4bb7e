/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where images are decoded. If on the device, workers write what it is to do
 * (decode/device/device_job.h), and it makes the u8 pixels that would have
 * crossed the bus: whatever follows is the same.
 */
#include "loader/stream/decoding.h"

#include "decode/device/device_job.h"
#include "decode/device/device_stages.h"
#include "decode/pipeline.h"
#include "loader/stream/engine_own.h"
#include "transfer/gpu_probe.h"

#include <stddef.h>
#include <stdio.h>

/* Both describe the one parameter of a kernel. */
#define SAME(a, b)                                                             \
  _Static_assert(offsetof(struct fdl_device_args, a) ==                        \
                     offsetof(struct fdl_maker_args, b),                       \
                 "a kernel finds its parameter")
SAME(jobs, records);
SAME(slab, slab);
SAME(scratch, scratch);
SAME(out, out);
SAME(pass, pass);
_Static_assert(sizeof(struct fdl_device_args) == sizeof(struct fdl_maker_args),
               "a kernel finds its parameter");
_Static_assert(FDL_DEVICE_STAGES <= FDL_MAKERS_MAX &&
                   sizeof(struct fdl_device_job) <= FDL_RECORD_MOST,
               "the backend has room for them");

/* Rows of a grid. */
#define IMAGES_MOST 65535u

/* Why the device cannot decode; NULL: it can. */
static const char *obstacle(const struct fdl_engine *e,
                            const struct fdl_backend_ops *ops,
                            const struct fdl_output_format *delivered)
{
    if (ops->device != FEEDLINE_CUDA)
        return "batches are delivered to the host";
    if (e->no_pixels)
        return "batches have no pixels of their own";
    if (fdl_pipeline_has_chains(e->pipeline) || e->config.views > 1)
        return "a sample has several views";
    if (delivered->width == 0)
        return "images keep their own sizes (max_sample_bytes)";
    if (e->dataset->raw_width > 0)
        return "samples are pixels, and not encoded";
    if (e->config.batch_size > IMAGES_MOST)
        return "batches have more than 65,535 images";
    if (delivered->dtype != FEEDLINE_U8 && !e->finish.device)
        return "the host finishes batches (finish)";
    if (delivered->dtype == FEEDLINE_U8 && e->mix.num_classes > 0)
        return "u8 batches are mixed by the host";
    return NULL;
}

/* Whether this driver takes the kernels, as obstacle(). buf: for the words. */
static const char *ask_device(uint32_t device, char *buf, size_t capacity)
{
    const struct fdl_layout none = {0};
    struct fdl_makers makers;
    fdl_engine_set_makers(&none, &makers);
    if (fdl_gpu_has_makers(device, &makers) >= 0)
        return NULL;
    snprintf(buf, capacity, "%s", fdl_last_error());
    fdl_clear_error();
    return buf;
}

/* Nothing is measured yet, and a host that keeps up is never left. */
static void prepare_auto(struct fdl_engine *e, const char *why)
{
    char words[FDL_DECODE_REASON_BYTES];
    e->decode.could = e->decode.ready = e->decode.measured = !why;
    snprintf(words, sizeof(words), "the device cannot: %.150s", why ? why : "");
    fdl_decode_choose(&e->decode, false,
                      why ? words : "nothing was measured yet");
}

int32_t fdl_engine_choose_decode(struct fdl_engine *e,
                                 const struct fdl_backend_ops *ops,
                                 const struct fdl_output_format *delivered,
                                 uint32_t device)
{
    int64_t asked = fdl_option_int(&e->options, FDL_OPT_DECODE);
    const char *why = obstacle(e, ops, delivered);
    char buf[FDL_ERROR_BYTES];
    e->decode.could = !why;
    if (asked == FDL_DECODE_AUTO) {
        prepare_auto(e, why ? why : ask_device(device, buf, sizeof(buf)));
        return FEEDLINE_OK;
    }
    e->decode.ready = asked == FDL_DECODE_DEVICE;
    fdl_decode_choose(&e->decode, e->decode.ready,
                      e->decode.ready ? "decode=device was asked for"
                                      : "decode=host was asked for");
    if (!e->decode.ready || !why)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL, "decode=device is not possible: %s", why);
}

void fdl_engine_set_makers(const struct fdl_layout *wire,
                           struct fdl_makers *out)
{
    *out = (struct fdl_makers){
        .ptx = fdl_device_ptx,
        .n = FDL_DEVICE_STAGES,
        .threads = FDL_DEVICE_THREADS,
        .images = wire->batch_size,
        .records_at = wire->at[FDL_COLUMN_JOBS],
        .record_bytes = sizeof(struct fdl_device_job),
        .image_bytes = wire->sample_bytes,
        .scratch_bytes = wire->scratch_bytes,
    };
    for (uint32_t i = 0; i < FDL_DEVICE_STAGES; i++)
        out->at[i] = (struct fdl_maker){fdl_device_stages[i].kernel,
                                        fdl_device_stages[i].pass};
}
