/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of f32 over the bus, against u8 that the GPU finishes.
 *
 * The images come as pixels from memory, so that making a batch is as cheap as
 * can be. It is not for nothing, though: f32 costs the cores four times the
 * stores, and where they are few they are slower than the bus. So the host's
 * part is measured alone, too, and a side is predicted as the larger of what
 * the host needs for a batch and what the bus does, for the two overlap.
 *
 *   fit of the bus, loader alone ---> predicted step ---> measured step
 *
 * The two sides are measured in turns, ROUNDS times, and medians are taken. The
 * GPU works half of the shorter step on each batch, so it never is the limit.
 */
#include "bench/loaderbench/case/case.h"
#include "bench/loaderbench/case/case_images.h"
#include "bench/loaderbench/case/case_loader.h"
#include "bench/loaderbench/run/run_consumer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SIDE        224u
#define IMAGE_BYTES (SIDE * SIDE * 3)
#define SET_BATCHES 4
#define BATCH_MAX   1024u /* the set stays below a gigabyte */
#define ROUNDS      3
#define WARMUP      6 /* batches */
#define N_SIZES     6
#define N_SIZES_LOW 3

/* From a few images to a large batch of f32. */
static const uint64_t sizes[N_SIZES] = {65536,   262144,   1048576,
                                        4194304, 16777216, 67108864};

static const struct case_operation normalize = {"normalize", NULL};

/* How a loader is set up, and what came of it. u8 is what the host makes of
 * them where the GPU normalises. */
struct side {
    const char *device, *dtype, *layout, *finish;
    double consumer_ms;

    double step_ms[ROUNDS], copy_ms[ROUNDS], finish_ms[ROUNDS], stall[ROUNDS];
    uint64_t batch_bytes, copied_bytes; /* of a batch; 0: nothing is copied */
    int64_t workers;
};

struct feeder {
    struct case_images images;
    uint64_t batch_size;
    json_t *points;
};

/* ---- One loader --------------------------------------------------------- */

static int read_stats(const struct feeder *f, feedline_loader *l,
                      struct side *s, uint64_t round, double step_ms)
{
    struct feedline_epoch_info epoch = {.struct_size = sizeof(epoch)};
    struct feedline_device_stats d = {.struct_size = sizeof(d)};
    feedline_loader_get_epoch_info(l, &epoch);
    feedline_loader_get_int(l, "workers", &s->workers);
    s->step_ms[round] = step_ms;
    s->batch_bytes = epoch.batch_bytes;
    if (strcmp(s->device, "host") == 0)
        return TOOL_DONE;
    int32_t status = feedline_loader_get_device_stats(l, &d);
    if (status < 0)
        return tool_run_failed(status);
    if (d.finish != (strcmp(s->finish, "device") == 0)) {
        tool_say("--finish %s was not followed: %s", s->finish,
                 d.finish_reason ? d.finish_reason : "");
        return TOOL_ENVIRONMENT;
    }
    double batches = d.batches ? (double)d.batches : 1;
    s->copy_ms[round] = 1e-6 * (double)d.copy_ns / batches;
    s->finish_ms[round] = 1e-6 * (double)d.finish_ns / batches;
    s->copied_bytes = (uint64_t)((double)d.copied_bytes / batches);
    s->stall[round] = d.span_ns ? (double)d.idle_ns / (double)d.span_ns : 0;
    json_array_append_new(
        f->points,
        json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:f}", "finish", s->finish,
                  "workers", (json_int_t)s->workers, "images_per_second",
                  1e3 * (double)f->batch_size / step_ms, "step_ms", step_ms,
                  "copy_ms", s->copy_ms[round], "stall_fraction",
                  s->stall[round], "gigabytes_per_second",
                  d.copy_ns ? (double)d.copied_bytes / (double)d.copy_ns
                            : 0.0));
    return TOOL_DONE;
}

static int measure_once(const struct feeder *f, struct side *s, uint64_t round,
                        double seconds)
{
    feedline_loader *l = NULL;
    struct run_consumer consumer;
    const struct case_consumer taking = {.take = run_consumer_take_now,
                                         .self = &consumer};
    const struct case_setup setup = {.dataset = f->images.dataset,
                                     .recipe = "none",
                                     .operations = &normalize,
                                     .n_operations =
                                         strcmp(s->dtype, "u8") != 0,
                                     .device = s->device,
                                     .dtype = s->dtype,
                                     .layout = s->layout,
                                     .finish = s->finish,
                                     .channels = 3,
                                     .batch_size = (int64_t)f->batch_size,
                                     .workers = CASE_TUNED};
    struct case_rate rate;
    int rc = run_consumer_init(&consumer, s->device, s->consumer_ms);
    if (rc == TOOL_DONE)
        rc = case_loader_open(&setup, &l);
    tool_watch_loader(l);
    if (rc == TOOL_DONE)
        rc = case_measure(l, &taking, 0, WARMUP, 0, &rate);
    if (rc == TOOL_DONE)
        rc = run_consumer_drain(&consumer);
    if (rc == TOOL_DONE)
        feedline_loader_reset_stats(l);
    double begin = tool_seconds();
    if (rc == TOOL_DONE)
        rc = case_measure(l, &taking, 0, WARMUP, seconds, &rate);
    if (rc == TOOL_DONE)
        rc = run_consumer_drain(&consumer);
    if (rc == TOOL_DONE)
        rc = read_stats(f, l, s, round,
                        1e3 * (tool_seconds() - begin) / (double)rate.batches);
    tool_watch_loader(NULL);
    feedline_loader_destroy(l);
    run_consumer_fini(&consumer);
    return rc;
}

/* ---- Both sides --------------------------------------------------------- */

static int measure_rounds(const struct feeder *f, struct side *a,
                          struct side *b, double seconds)
{
    int rc = TOOL_DONE;
    for (uint64_t i = 0; i < ROUNDS && rc == TOOL_DONE; i++) {
        rc = measure_once(f, a, i, seconds / ROUNDS);
        if (rc == TOOL_DONE)
            rc = measure_once(f, b, i, seconds / ROUNDS);
    }
    return rc;
}

/* What the host needs alone and what the bus does make the prediction. */
static void predict(struct case_side *out, const struct feedline_copy_fit *fit,
                    struct side *alone)
{
    out->bytes = alone->batch_bytes;
    out->produce_ms = tool_median(alone->step_ms, ROUNDS);
    out->predicted_ms =
        fmax(out->produce_ms,
             1e-3 * h2d_predict(fit, (double)alone->batch_bytes, 1));
}

static void fill(struct case_side *out, struct side *measured)
{
    out->bytes = measured->copied_bytes;
    out->step_ms = tool_median(measured->step_ms, ROUNDS);
    out->copy_ms = tool_median(measured->copy_ms, ROUNDS);
    out->finish_ms = tool_median(measured->finish_ms, ROUNDS);
    out->stall_fraction = tool_median(measured->stall, ROUNDS);
    out->workers = measured->workers;
}

static void explain(struct case_result *r)
{
    const struct case_side *b = &r->before;
    double bus = 1e-3 * h2d_predict(&r->fit, (double)b->bytes, 1);
    if (b->produce_ms > bus)
        snprintf(r->sentence, sizeof(r->sentence),
                 "Before, the cores were the limit: they make a batch of f32 "
                 "in %.2f ms, the bus moves it in %.2f ms. Of copies alone "
                 "the gain is %.2f.",
                 b->produce_ms, bus, b->copy_ms / r->after.copy_ms);
    else
        snprintf(r->sentence, sizeof(r->sentence),
                 "Before, the bus was the limit: it moves a batch of f32 in "
                 "%.2f ms, and the cores make one in %.2f ms. Of copies alone "
                 "the gain is %.2f.",
                 bus, b->produce_ms, b->copy_ms / r->after.copy_ms);
}

/* Sizes up to that of a batch of f32, and a little above. */
static int measure_fit(const struct case_options *o, struct case_result *out)
{
    struct gpu_copy copies[N_SIZES];
    uint64_t enough = 2 * 4 * (uint64_t)IMAGE_BYTES * o->batch_size;
    size_t n = 0;
    while (n < N_SIZES && (n < N_SIZES_LOW || sizes[n] < enough)) {
        copies[n] = (struct gpu_copy){.bytes = sizes[n], .copies = 1};
        n++;
    }
    int rc = gpu_time_copies(o->device, copies, n, ROUNDS);
    return rc == TOOL_DONE ? h2d_fit(copies, n, &out->fit) : rc;
}

int case_bandwidth(const struct case_options *o, struct case_result *out)
{
    struct feeder f = {.batch_size = o->batch_size, .points = out->points};
    struct side f32 = {"host", "f32", "nchw", "auto", .step_ms = {0}};
    struct side u8 = {"host", "u8", "nhwc", "auto", .step_ms = {0}};
    struct side before = {o->device, "f32", "nchw", "host", .step_ms = {0}};
    struct side after = {o->device, "f32", "nchw", "device", .step_ms = {0}};
    if (o->batch_size > BATCH_MAX) {
        tool_say("case bandwidth takes a --batch-size of %u at most",
                 BATCH_MAX);
        return TOOL_USAGE;
    }
    int rc = measure_fit(o, out);
    if (rc == TOOL_DONE)
        rc = case_images_make(&f.images, (uint32_t)(f.batch_size * SET_BATCHES),
                              SIDE, 3);
    if (rc == TOOL_DONE)
        rc = measure_rounds(&f, &f32, &u8, o->seconds / 4);
    if (rc != TOOL_DONE)
        goto out;
    predict(&out->before, &out->fit, &f32);
    predict(&out->after, &out->fit, &u8);
    out->regime = h2d_regime(&out->fit, f32.batch_bytes);
    before.consumer_ms = after.consumer_ms = out->after.predicted_ms / 2;
    rc = measure_rounds(&f, &before, &after, o->seconds);
    if (rc != TOOL_DONE)
        goto out;
    fill(&out->before, &before);
    fill(&out->after, &after);
    out->bound_ms =
        (double)u8.batch_bytes / (out->fit.gigabytes_per_second * 1e6);
    snprintf(out->before.what, sizeof(out->before.what), "f32 over the bus");
    snprintf(out->after.what, sizeof(out->after.what),
             "u8, finished by the GPU");
    explain(out);
out:
    case_images_fini(&f.images);
    return rc;
}
