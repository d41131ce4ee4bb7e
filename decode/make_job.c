/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format writes what its blocks are made from; here the passes are added,
 * with the weights that rendering would use.
 *
 * Pixels that both passes need are those that render_sample.c would ask for,
 * and no others are made. A flip is in the horizontal table; rows that come
 * from the last one on are put in order in the vertical one.
 */
#include "decode/make_job.h"

#include "base/compiler.h"
#include "base/status.h"
#include "decode/render_axes.h"

#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#  define AS_A_DEVICE_HAS true /* numbers in memory */
#else
#  define AS_A_DEVICE_HAS false
#endif

/* Steps would come between, and alpha is not in a JPEG. */
static bool is_for_device(const struct fdl_decoder *d,
                          const struct fdl_plan *plan,
                          const struct fdl_output_format *f)
{
    return AS_A_DEVICE_HAS && d->source->device && !d->turn.transposed &&
           plan->n_steps == 0 && plan->n_views <= 1 && !plan->lookup &&
           f->dtype == FEEDLINE_U8 && (f->channels == 1 || f->channels == 3) &&
           (plan->channels == 0 || plan->channels == f->channels) &&
           plan->geometry.window.width == f->width &&
           plan->geometry.window.height == f->height;
}

/* Outputs in turn, or from the last one on; their weights without the zeros
 * behind. */
static bool add_axis(const struct fdl_axis *axis, bool backwards,
                     struct fdl_device_payload *to, struct fdl_device_pass *p)
{
    uint64_t outputs = (uint64_t)axis->key.count, n = 0;
    for (uint64_t i = 0; i < outputs; i++)
        n += (uint64_t)axis->length[i];
    if (n > UINT16_MAX || axis->extent > UINT16_MAX ||
        !fdl_device_reserve(to, (outputs + 1) * sizeof(struct fdl_device_span),
                            4, &p->spans) ||
        !fdl_device_reserve(to, n * sizeof(int32_t), 4, &p->weights))
        return false;
    struct fdl_device_span *spans =
        (struct fdl_device_span *)(void *)(to->data + p->spans);
    int32_t *weights = (int32_t *)(void *)(to->data + p->weights);
    uint32_t first = 0;
    for (uint64_t i = 0; i < outputs; i++) {
        uint64_t from = backwards ? outputs - 1 - i : i;
        const int32_t *taps = axis->weight + from * (size_t)axis->stride;
        uint32_t length = (uint32_t)axis->length[from];
        spans[i] = (struct fdl_device_span){(uint16_t)axis->start[from],
                                            (uint16_t)first};
        for (uint32_t t = 0; t < length; t++)
            weights[first + t] = taps[t];
        first += length;
    }
    spans[outputs] = (struct fdl_device_span){0, (uint16_t)first};
    p->n_weights = first;
    return true;
}

/* The pass along one axis, of what is width x height. */
static bool add_pass(const struct fdl_axis *axis, bool down, bool backwards,
                     uint32_t width, uint32_t height,
                     struct fdl_device_payload *to, struct fdl_device_pass *p)
{
    *p = (struct fdl_device_pass){
        .down = down,
        .in_width = width,
        .in_height = height,
        .width = down ? width : (uint32_t)axis->key.count,
        .height = down ? (uint32_t)axis->key.count : height,
    };
    return add_axis(axis, backwards, to, p);
}

static bool add_passes(const struct fdl_decoder *d,
                       const struct fdl_render_axes *axes,
                       const struct fdl_output_format *f,
                       struct fdl_device_payload *to,
                       struct fdl_device_job *job)
{
    bool down = axes->columns_first;
    struct fdl_device_pass *a = &job->pass[0], *b = &job->pass[1];
    const struct fdl_axis *first = down ? &d->vertical : &d->horizontal;
    const struct fdl_axis *second = down ? &d->horizontal : &d->vertical;
    job->out_channels = (uint32_t)f->channels;
    job->planar = !f->nhwc;
    job->channels = FDL_MIN(job->n_planes, job->out_channels);
    if (!add_pass(first, down, down && axes->backwards, job->width, job->height,
                  to, a) ||
        !add_pass(second, !down, !down && axes->backwards, a->width, a->height,
                  to, b))
        return false;
    uint64_t bytes = (uint64_t)a->width * a->height * job->channels;
    bytes += job->between = job->scratch_bytes;
    job->scratch_bytes = (uint32_t)FDL_MIN(bytes, FDL_DEVICE_MOST);
    return true;
}

/* Payloads are whole words, which zeros fill up. */
static bool end_payload(struct fdl_device_payload *to,
                        struct fdl_device_job *job)
{
    uint32_t used = to->used;
    if (!fdl_device_reserve(to, 0, FDL_DEVICE_ALIGN, &job->payload_bytes))
        return false;
    memset(to->data + used, 0, job->payload_bytes - used);
    return true;
}

static int32_t make(struct fdl_decoder *d, const struct fdl_plan *plan,
                    const struct fdl_output_format *f,
                    struct fdl_device_payload *to, struct fdl_device_job *job)
{
    struct fdl_render_axes axes;
    fdl_render_axes(d, &plan->geometry, &axes);
    int32_t status = fdl_axis_prepare(&d->horizontal, &axes.horizontal);
    if (!status)
        status = fdl_axis_prepare(&d->vertical, &axes.vertical);
    if (status)
        return status;
    struct fdl_box need = {axes.box.x + d->horizontal.origin,
                           axes.box.y + d->vertical.origin,
                           d->horizontal.extent, d->vertical.extent};
    if (axes.shift > 0)
        d->source->shrink(d->source_self, axes.shift);
    status = d->source->device(d->source_self, &need, to, job);
    if (status || job->kind == FDL_DEVICE_NONE)
        return status;
    if (!add_passes(d, &axes, f, to, job) || !end_payload(to, job) ||
        !fdl_device_job_is_sound(job))
        job->kind = FDL_DEVICE_NONE;
    return FEEDLINE_OK;
}

int32_t fdl_decoder_make_job(struct fdl_decoder *d, const struct fdl_plan *plan,
                             const struct fdl_output_format *format,
                             struct fdl_device_payload *to,
                             struct fdl_device_job *job)
{
    fdl_assert(d->source);
    int32_t status = FEEDLINE_OK;
    job->kind = FDL_DEVICE_NONE;
    to->used = 0;
    if (is_for_device(d, plan, format))
        status = make(d, plan, format, to, job);
    fdl_decoder_abort(d);
    return status;
}
