/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of 64x64 pixels, 12 KiB each, copied one by one, against all of them
 * as one slab.
 *
 * A copy that queues behind another one costs less than one alone, whose start
 * and end the host has to wait for: so the two sides are predicted from two
 * fits, made of other sizes and numbers of copies than the ones predicted.
 *
 *   one slab    us of one copy = latency + bytes / bandwidth
 *   n copies    us of one of many = latency' + its bytes / bandwidth'
 */
#include "tools/loaderbench/case/case.h"

#include <stdio.h>

#define IMAGE_BYTES   (64u * 64 * 3)
#define QUEUED        256 /* copies, to learn what one of many costs */
#define ROUNDS        7
#define N_SIZES       6
#define N_QUEUED      4
#define N_SERIES      7
#define SERIES_FACTOR 4

/* Of other copies than those of the case: sizes of one copy, bytes of each of
 * many. */
static const uint64_t sizes[N_SIZES] = {4096,   16384,   65536,
                                        262144, 1048576, 4194304};
static const uint64_t queued[N_QUEUED] = {1024, 4096, 32768, 131072};

struct plan {
    struct gpu_copy copies[N_SIZES + N_QUEUED + N_SERIES];
    size_t n_series; /* 1, 4, 16, ..., batch_size copies; the slab is first */
};

static void make_plan(struct plan *p, uint64_t batch_size)
{
    *p = (struct plan){.n_series = 0};
    struct gpu_copy *to = p->copies;
    for (size_t i = 0; i < N_SIZES; i++)
        *to++ = (struct gpu_copy){.bytes = sizes[i], .copies = 1};
    for (size_t i = 0; i < N_QUEUED; i++)
        *to++ =
            (struct gpu_copy){.bytes = queued[i] * QUEUED, .copies = QUEUED};
    uint64_t bytes = batch_size * IMAGE_BYTES;
    for (uint64_t n = 1; n < batch_size; n *= SERIES_FACTOR, p->n_series++)
        *to++ = (struct gpu_copy){.bytes = bytes, .copies = (uint32_t)n};
    *to = (struct gpu_copy){.bytes = bytes, .copies = (uint32_t)batch_size};
    p->n_series++;
}

static int fit_queued(const struct gpu_copy *copies,
                      struct feedline_copy_fit *out)
{
    double us[N_QUEUED];
    for (size_t i = 0; i < N_QUEUED; i++)
        us[i] = copies[i].host_us / QUEUED;
    *out = (struct feedline_copy_fit){.struct_size = sizeof(*out)};
    int32_t status = feedline_copy_fit(queued, us, N_QUEUED, out);
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
}

static double predict_ms(const struct case_result *r,
                         const struct feedline_copy_fit *many,
                         const struct gpu_copy *c)
{
    return 1e-3 * h2d_predict(c->copies > 1 ? many : &r->fit, (double)c->bytes,
                              c->copies);
}

static void fill_side(struct case_side *s, const struct case_result *r,
                      const struct feedline_copy_fit *many,
                      const struct gpu_copy *c)
{
    s->step_ms = 1e-3 * c->host_us;
    s->copy_ms = 1e-3 * c->device_us;
    s->predicted_ms = predict_ms(r, many, c);
    s->bytes = c->bytes;
    /* The GPU has its data when the bytes have crossed; the rest is delay. */
    s->stall_fraction =
        s->step_ms > r->bound_ms ? 1 - r->bound_ms / s->step_ms : 0;
}

int case_latency(const struct case_options *options, struct case_result *out)
{
    struct plan plan;
    struct feedline_copy_fit many;
    make_plan(&plan, options->batch_size);
    const struct gpu_copy *series = plan.copies + N_SIZES + N_QUEUED;
    int rc = gpu_time_copies(options->device, plan.copies,
                             N_SIZES + N_QUEUED + plan.n_series, ROUNDS);
    if (rc == TOOL_DONE)
        rc = h2d_fit(plan.copies, N_SIZES, &out->fit);
    if (rc == TOOL_DONE)
        rc = fit_queued(plan.copies + N_SIZES, &many);
    if (rc != TOOL_DONE)
        return rc;

    const struct gpu_copy *slab = series, *images = series + plan.n_series - 1;
    out->regime = h2d_regime(&many, IMAGE_BYTES);
    out->bound_ms = (double)slab->bytes / (out->fit.gigabytes_per_second * 1e6);
    snprintf(out->before.what, sizeof(out->before.what), "%u copies of 12 KiB",
             images->copies);
    snprintf(out->after.what, sizeof(out->after.what), "one slab");
    fill_side(&out->before, out, &many, images);
    fill_side(&out->after, out, &many, slab);
    for (size_t i = 0; i < plan.n_series; i++) {
        json_t *point = h2d_point_json(&series[i]);
        json_object_set_new(
            point, "predicted_us",
            json_real(1e3 * predict_ms(out, &many, &series[i])));
        json_array_append_new(out->points, point);
    }
    snprintf(out->sentence, sizeof(out->sentence),
             "One of many copies takes %.1f us + its bytes / %.2f GB/s: at 12 "
             "KiB %.0f %% of its time is latency. One slab pays that once.",
             many.latency_us, many.gigabytes_per_second,
             100 * many.latency_us / h2d_predict(&many, IMAGE_BYTES, 1));
    return TOOL_DONE;
}
