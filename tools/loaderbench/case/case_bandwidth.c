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
 * The two sides are measured in turns, ROUNDS times; the median step counts.
 * The GPU works half of the shorter step on each batch, so it never is the
 * limit.
 */
#include "tools/loaderbench/case/case.h"
#include "tools/loaderbench/doc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE        224u
#define IMAGE_BYTES (SIDE * SIDE * 3)
#define SET_BATCHES 4
#define ROUNDS      3
#define WARMUP      6 /* batches */
#define N_SIZES     6
#define N_SIZES_LOW 3

/* From a few images to a large batch of f32. */
static const uint64_t sizes[N_SIZES] = {65536,   262144,   1048576,
                                        4194304, 16777216, 67108864};

/* How a loader is set up, and what came of it. u8 is what the host makes of
 * them where the GPU normalises. */
struct side {
    const char *device, *dtype, *layout, *finish;
    double consumer_ms;
    struct case_side rounds[ROUNDS];
};

struct feeder {
    struct case_scene scene;
    json_t *points;
};

/* ---- One loader --------------------------------------------------------- */

/* What only a loader that delivers to a GPU can tell. */
static int read_transfer(const struct feeder *f, const struct side *s,
                         const json_t *run, struct case_side *out)
{
    const json_t *transfer = json_object_get(run, "transfer");
    double batches = fmax(doc_or_0(transfer, "batches"), 1);
    if (strcmp(doc_text(transfer, "finish"), s->finish) != 0) {
        tool_say("--finish %s was not followed: %s", s->finish,
                 doc_text(transfer, "finish_reason"));
        return TOOL_ENVIRONMENT;
    }
    out->copy_ms = 1e3 * doc_or_0(transfer, "copy_seconds") / batches;
    out->finish_ms = 1e3 * doc_or_0(transfer, "finish_seconds") / batches;
    out->bytes = (uint64_t)(doc_or_0(transfer, "copied_bytes") / batches);
    json_array_append_new(
        f->points,
        json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:f}", "finish", s->finish,
                  "workers", (json_int_t)out->workers, "images_per_second",
                  out->images_per_second, "step_ms", out->step_ms, "copy_ms",
                  out->copy_ms, "stall_fraction", out->stall_fraction,
                  "gigabytes_per_second",
                  doc_or_0(transfer, "gigabytes_per_second")));
    return TOOL_DONE;
}

static int measure_once(struct feeder *f, const struct side *s, double seconds,
                        struct case_side *out)
{
    static const char *normalize[] = {"normalize"};
    struct cli_setting settings[] = {{"device", s->device},
                                     {"dtype", s->dtype},
                                     {"layout", s->layout},
                                     {"finish", s->finish},
                                     {"drop_last", "true"}};
    json_t *run = NULL;
    f->scene.setup.options =
        (struct run_options){.pipeline = "none",
                             .ops = {normalize, strcmp(s->dtype, "u8") != 0},
                             .seconds = seconds,
                             .warmup = WARMUP,
                             .consumer_ms = s->consumer_ms};
    f->scene.settings = settings;
    f->scene.n_settings = sizeof(settings) / sizeof(*settings);
    int rc = case_scene_open(&f->scene);
    if (rc == TOOL_DONE)
        rc = case_measure(&f->scene.setup, out, &run);
    if (rc == TOOL_DONE && strcmp(s->device, "host") != 0)
        rc = read_transfer(f, s, run, out);
    json_decref(run);
    return rc;
}

/* ---- Both sides --------------------------------------------------------- */

static int measure_rounds(struct feeder *f, struct side *a, struct side *b,
                          double seconds)
{
    int rc = TOOL_DONE;
    for (size_t i = 0; i < ROUNDS && rc == TOOL_DONE; i++) {
        rc = measure_once(f, a, seconds / ROUNDS, &a->rounds[i]);
        if (rc == TOOL_DONE)
            rc = measure_once(f, b, seconds / ROUNDS, &b->rounds[i]);
    }
    return rc;
}

static int by_step(const void *a, const void *b)
{
    const struct case_side *x = a, *y = b;
    return (x->step_ms > y->step_ms) - (x->step_ms < y->step_ms);
}

/* The round of the median step. */
static const struct case_side *typical(struct side *s)
{
    qsort(s->rounds, ROUNDS, sizeof(*s->rounds), by_step);
    return &s->rounds[ROUNDS / 2];
}

/* What the host needs alone and what the bus does make the prediction. */
static void predict(struct case_side *out, const struct feedline_copy_fit *fit,
                    struct side *alone, uint64_t bytes)
{
    out->bytes = bytes;
    out->produce_ms = typical(alone)->step_ms;
    out->predicted_ms =
        fmax(out->produce_ms, 1e-3 * h2d_predict(fit, (double)bytes, 1));
}

static void fill(struct case_side *out, struct side *measured)
{
    const struct case_side *round = typical(measured);
    out->bytes = round->bytes;
    out->workers = round->workers;
    out->step_ms = round->step_ms;
    out->copy_ms = round->copy_ms;
    out->finish_ms = round->finish_ms;
    out->stall_fraction = round->stall_fraction;
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
    struct feeder f = {.scene.batch_size = o->batch_size,
                       .points = out->points};
    struct side f32 = {"host", "f32", "nchw", "auto", .consumer_ms = 0};
    struct side u8 = {"host", "u8", "nhwc", "auto", .consumer_ms = 0};
    struct side before = {o->device, "f32", "nchw", "host", .consumer_ms = 0};
    struct side after = {o->device, "f32", "nchw", "device", .consumer_ms = 0};
    uint64_t bytes = o->batch_size * IMAGE_BYTES; /* of u8 */
    int rc = measure_fit(o, out);
    if (rc == TOOL_DONE)
        rc = case_scene_pixels(&f.scene, (uint32_t)o->batch_size * SET_BATCHES,
                               SIDE, 3);
    if (rc == TOOL_DONE)
        rc = measure_rounds(&f, &f32, &u8, o->seconds / 4);
    if (rc != TOOL_DONE)
        goto out;
    predict(&out->before, &out->fit, &f32, 4 * bytes);
    predict(&out->after, &out->fit, &u8, bytes);
    out->regime = h2d_regime(&out->fit, 4 * bytes);
    before.consumer_ms = after.consumer_ms = out->after.predicted_ms / 2;
    rc = measure_rounds(&f, &before, &after, o->seconds);
    if (rc != TOOL_DONE)
        goto out;
    fill(&out->before, &before);
    fill(&out->after, &after);
    out->bound_ms = (double)bytes / (out->fit.gigabytes_per_second * 1e6);
    snprintf(out->before.what, sizeof(out->before.what), "f32 over the bus");
    snprintf(out->after.what, sizeof(out->after.what),
             "u8, finished by the GPU");
    explain(out);
out:
    case_scene_close(&f.scene);
    return rc;
}
