/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The training loop of a V100 that a profiler showed at a quarter of its speed:
 * 82.3 ms of loading, 12.1 ms of copying from pageable memory and 28.5 ms of
 * computing for each batch of 64, one after the other. The advice was four
 * workers and pinned memory, which came to 57 % less time.
 *
 * Here the loading sleeps, so that two cores play the machine it was; with
 * --spin it computes. The images are 64 bytes large, in memory: all that
 * remains of a loader is what it does itself.
 *
 *   before   next() does all of the loading; copy and computation are waited
 *            for: 82.3 + 12.1 + 28.5 = 122.9 ms
 *   after    workers as the tuner finds them, from one on; the next copy is
 *            made while the GPU computes: no step is below 28.5 ms
 *
 * Without a GPU its two engines are emulated (case_emulate.h). With one, a
 * kernel computes for 28.5 ms, and the copies are real ones of images of
 * 224x224 f32, which take what they take on that machine.
 */
#include "bench/loaderbench/case/case.h"
#include "bench/loaderbench/case/case_emulate.h"
#include "bench/loaderbench/case/case_images.h"
#include "bench/loaderbench/case/case_loader.h"
#include "bench/loaderbench/doc.h"
#include "bench/loaderbench/run/run_consumer.h"

#include <stdio.h>
#include <string.h>

#define LOAD_MS      82.3 /* of a batch */
#define COPY_MS      12.1
#define COMPUTE_MS   28.5
#define PUBLISHED_MS 52.8 /* 57 % less than 122.9 */
#define IDLE_ALLOWED 0.03
#define BATCH        64u
#define SET_BATCHES  8
#define SMALL        8u   /* pixels of a side, emulated */
#define LARGE        224u /* on a GPU */
#define WARMUP       4    /* batches */
#define STEPS_MIN    10
#define MS           1e-3

/* Both sides, on the GPU that is emulated or on a real one. */
struct v100 {
    const struct case_options *options;
    struct case_result *out;
    struct case_images images;
    struct case_setup setup;
    struct case_work work;
    struct emulated_gpu emulated;
    struct run_consumer real; /* busy: NULL without a GPU */
    uint64_t copy_bytes;
    double copy_seconds; /* of real copies in series */
    struct case_search search;
};

/* ---- What happens to a batch -------------------------------------------- */

/* A copy from pageable memory and the computation, each waited for. */
static int take_in_series(void *self, feedline_batch *batch)
{
    struct v100 *v = self;
    const struct feedline_copy_test test = {.struct_size = sizeof(test),
                                            .flags = FEEDLINE_COPY_PAGEABLE,
                                            .bytes = v->copy_bytes,
                                            .copies = 1,
                                            .repeats = 1};
    struct feedline_copy_time time = {.struct_size = sizeof(time)};
    feedline_batch_release(batch);
    double begin = tool_seconds();
    int32_t status =
        feedline_device_time_copy(v->options->device, &test, &time);
    /* The memory for the test is none of the loop's. */
    v->copy_seconds += time.host_us * 1e-6 - (tool_seconds() - begin);
    if (status >= 0)
        status = feedline_busy_work(v->real.busy, (int64_t)(COMPUTE_MS * 1e6));
    if (status < 0)
        return tool_run_failed(status);
    return run_consumer_drain(&v->real);
}

static struct case_consumer consumer(struct v100 *v, bool overlapped)
{
    struct case_consumer c = {.take = emulated_gpu_take, .self = &v->emulated};
    v->emulated.overlapped = overlapped;
    if (!overlapped)
        c.gate = &v->work;
    if (v->out->on_gpu) {
        c.take = overlapped ? run_consumer_take_now : take_in_series;
        c.self = overlapped ? (void *)&v->real : v;
    }
    return c;
}

/* ---- One side ----------------------------------------------------------- */

static void drain(struct v100 *v)
{
    if (v->out->on_gpu)
        run_consumer_drain(&v->real);
    else
        emulated_gpu_drain(&v->emulated);
}

/* Time of a step and idle GPU, of its own clock where there is one. */
static int measure(struct v100 *v, feedline_loader *l,
                   const struct case_consumer *c, struct case_side *out)
{
    struct case_rate rate;
    struct feedline_device_stats d = {.struct_size = sizeof(d)};
    int rc = case_measure(l, c, WARMUP, 0, 0, &rate);
    if (rc != TOOL_DONE)
        return rc;
    if (v->out->on_gpu) {
        drain(v);
        feedline_loader_reset_stats(l);
    } else {
        emulated_gpu_reset(&v->emulated);
    }
    v->copy_seconds = 0;
    double begin = tool_seconds();
    rc = case_measure(l, c, 0, STEPS_MIN, v->options->seconds, &rate);
    if (rc != TOOL_DONE)
        return rc;
    if (v->out->on_gpu) {
        drain(v);
        double seconds = tool_seconds() - begin + v->copy_seconds;
        out->step_ms = 1e3 * seconds / (double)rate.batches;
        out->stall_fraction = 1 - COMPUTE_MS / out->step_ms;
        if (feedline_loader_get_device_stats(l, &d) >= 0 && d.span_ns)
            out->stall_fraction = (double)d.idle_ns / (double)d.span_ns;
    } else {
        out->step_ms = emulated_gpu_step_ms(&v->emulated);
        out->stall_fraction = emulated_gpu_idle(&v->emulated);
    }
    out->images_per_second = 1e3 * (double)v->setup.batch_size / out->step_ms;
    out->workers = rate.workers;
    out->depth = rate.depth;
    return TOOL_DONE;
}

static int play_before(struct v100 *v)
{
    feedline_loader *l = NULL;
    struct case_consumer c = consumer(v, false);
    struct case_side *side = &v->out->before;
    v->setup.workers = 0;
    v->setup.device = "host";
    int rc = case_loader_open(&v->setup, &l);
    if (rc == TOOL_DONE)
        rc = measure(v, l, &c, side);
    snprintf(side->what, sizeof(side->what), "in series, no workers");
    side->workers = 0;
    side->depth = 0;
    case_work_open(&v->work);
    feedline_loader_destroy(l);
    return rc;
}

static int play_after(struct v100 *v)
{
    feedline_loader *l = NULL;
    struct case_consumer c = consumer(v, true);
    struct case_side *side = &v->out->after;
    v->setup.workers = CASE_TUNED;
    v->setup.workers_start = 1;
    v->setup.device = v->out->on_gpu ? v->options->device : "host";
    int rc = case_loader_open(&v->setup, &l);
    tool_watch_loader(l);
    if (rc == TOOL_DONE)
        rc = case_search(l, &c, v->options->patience, &v->search);
    if (rc == TOOL_DONE)
        rc = measure(v, l, &c, side);
    if (rc == TOOL_DONE) {
        case_search_explain(l, &v->search);
        drain(v);
    }
    snprintf(side->what, sizeof(side->what), "overlapped, tuner from 1 on");
    tool_watch_loader(NULL);
    feedline_batch_release(v->emulated.held);
    v->emulated.held = NULL;
    feedline_loader_destroy(l);
    return rc;
}

/* ---- What is said of it ------------------------------------------------- */

static void draw(struct case_result *r, json_t *steps)
{
    size_t i;
    json_t *step;
    r->chart = "ms a batch on the way, by the workers that the tuner had set:";
    if (r->before.step_ms > 0)
        case_add_bar(r, "in series", "", r->before.step_ms, false);
    json_array_foreach(steps, i, step)
    {
        char label[32], note[48];
        int64_t workers = doc_int(step, "workers");
        snprintf(label, sizeof(label), TOOL_COUNT,
                 TOOL_COUNT_OF(workers, "worker"));
        snprintf(note, sizeof(note), "batch %lld, depth %lld",
                 (long long)doc_int(step, "batch"),
                 (long long)doc_int(step, "depth"));
        case_add_bar(r, label, note, doc_or_0(step, "step_ms"), false);
    }
    if (r->after.step_ms > 0)
        case_add_bar(r, "after", "", r->after.step_ms, true);
}

/* Goal and sentence, which take both sides. */
static void judge(struct case_result *r)
{
    const struct case_side *a = &r->after;
    char found[96] = "The tuner did not settle";
    if (a->converged_batch >= 0)
        snprintf(found, sizeof(found),
                 "Found from one worker in %lld batches, %.1f s",
                 (long long)a->converged_batch, a->converged_seconds);
    snprintf(r->goal.text, sizeof(r->goal.text), "ms a step");
    r->goal.value = a->step_ms;
    /* 29.4: to the digit that the story is told with. */
    r->goal.limit = 0.1 * (int)(COMPUTE_MS / (1 - IDLE_ALLOWED) * 10 + 0.5);
    r->goal.at_most = true;
    snprintf(r->sentence, sizeof(r->sentence),
             "%s: a step takes %.0f %% less time than in series, the GPU is "
             "idle for %.1f %% of it, with " TOOL_COUNT ".",
             found, 100 * (1 - a->step_ms / r->before.step_ms),
             100 * a->stall_fraction, TOOL_COUNT_OF(a->workers, "worker"));
}

static void tell(struct v100 *v)
{
    struct case_result *r = v->out;
    r->bound_ms = COMPUTE_MS;
    snprintf(r->bound_what, sizeof(r->bound_what), "the GPU computes");
    r->published_ms = PUBLISHED_MS;
    snprintf(r->published_what, sizeof(r->published_what),
             "4 workers, pinned memory");
    case_search_tell(&v->search, r);
    draw(r, v->search.steps);
    if (r->after.step_ms > 0)
        judge(r);
    if (v->search.steps)
        json_array_extend(r->points, v->search.steps);
}

int case_v100(const struct case_options *o, struct case_result *out)
{
    struct v100 v = {.options = o, .out = out};
    int64_t batch = o->batch_size ? (int64_t)o->batch_size : BATCH;
    uint32_t side = out->on_gpu ? LARGE : SMALL;
    int64_t channels = out->on_gpu ? 3 : 1;
    if (batch > 4096) {
        tool_say("case v100 takes a --batch-size of 4096 at most");
        return TOOL_USAGE;
    }
    v.emulated =
        (struct emulated_gpu){.copy_ms = COPY_MS, .compute_ms = COMPUTE_MS};
    v.setup = (struct case_setup){.work = &v.work,
                                  .dtype = out->on_gpu ? "f32" : "u8",
                                  .channels = channels,
                                  .batch_size = batch};
    v.copy_bytes = (uint64_t)(batch * channels) * side * side * 4;
    case_sleep_sharply();
    case_work_init(&v.work, LOAD_MS / (double)batch);
    v.work.spin = o->spin;
    v.work.exact = true;
    int rc = run_consumer_init(&v.real, out->on_gpu ? o->device : "host",
                               out->on_gpu ? COMPUTE_MS : 0);
    if (rc == TOOL_DONE)
        rc = case_images_make(&v.images, (uint32_t)batch * SET_BATCHES, side,
                              (uint32_t)channels);
    v.setup.dataset = v.images.dataset;
    if (rc == TOOL_DONE)
        rc = play_before(&v);
    if (rc == TOOL_DONE)
        rc = play_after(&v);
    if (rc == TOOL_DONE || rc == TOOL_INTERRUPTED)
        tell(&v);
    case_search_fini(&v.search);
    case_images_fini(&v.images);
    run_consumer_fini(&v.real);
    case_work_fini(&v.work);
    return rc;
}
