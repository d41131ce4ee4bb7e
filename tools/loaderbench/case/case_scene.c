/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/case/case_scene.h"

#include "tools/loaderbench/case/case.h"
#include "tools/loaderbench/doc.h"

#include <feedline/custom_op.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#define SPIN_TURNS 512 /* between two looks at the clock: a microsecond */

/* ---- Data --------------------------------------------------------------- */

int case_scene_pixels(struct case_scene *s, uint32_t n, uint32_t side,
                      uint32_t channels)
{
    size_t each = (size_t)side * side * channels;
    s->n = n;
    s->side = side;
    s->channels = channels;
    s->pixels = malloc(n * each);
    if (!s->pixels)
        return tool_no_memory();
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < each; k++)
            s->pixels[i * each + k] = (unsigned char)(k * 7 + i * 31);
    return TOOL_DONE;
}

static int open_data(struct case_scene *s)
{
    int32_t status = feedline_dataset_open_pixels(
        s->pixels, NULL, s->n, (int32_t)s->side, (int32_t)s->side,
        (int32_t)s->channels, &s->setup.dataset);
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
}

/* ---- Work --------------------------------------------------------------- */

static double thread_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void spin(double seconds)
{
    double end = thread_seconds() + seconds;
    while (thread_seconds() < end)
        for (volatile uint32_t i = 0; i < SPIN_TURNS; i = i + 1) {
        }
}

/* What a sleep took too long, the thread's next one is shorter, so that a batch
 * takes what it should. More than one sleep is not made up for: a thread that
 * waits for a core that long has not slept, it has waited. */
static void sleep_exactly(double seconds)
{
    static _Thread_local double overslept;
    double end = tool_seconds() + seconds - overslept;
    double whole = floor(end);
    struct timespec until = {.tv_sec = (time_t)whole,
                             .tv_nsec = (int32_t)((end - whole) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) ==
           EINTR) {
    }
    overslept = fmin(tool_seconds() - end, seconds);
}

static int32_t work(const struct feedline_op_call *call)
{
    struct case_scene *s = call->user;
    if (s->setup.turn) {
        pthread_mutex_lock(s->setup.turn);
        pthread_mutex_unlock(s->setup.turn);
    }
    if (s->spin)
        spin(s->work_ms * 1e-3);
    else
        sleep_exactly(s->work_ms * 1e-3);
    return FEEDLINE_OK;
}

static int add_work(struct case_scene *s)
{
    const struct feedline_op_def def = {
        .struct_size = sizeof(def), .name = "work", .run = work, .user = s};
    int32_t status = feedline_pipeline_register(s->setup.pipeline, &def);
    if (status >= 0)
        status = feedline_pipeline_add(s->setup.pipeline, "work", NULL);
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
}

/* ---- The whole ---------------------------------------------------------- */

int case_scene_open(struct case_scene *s)
{
    const struct cli_parsed parsed = {.settings = s->settings,
                                      .n_settings = s->n_settings};
    run_tear_down(&s->setup);
    s->setup = (struct run_setup){.options = s->setup.options};
    int rc = open_data(s);
    if (rc == TOOL_DONE)
        rc = run_set_up(&s->setup, &parsed);
    if (rc == TOOL_DONE)
        rc = run_set_int(&s->setup, "batch_size", (int64_t)s->batch_size);
    return rc == TOOL_DONE && s->work_ms > 0 ? add_work(s) : rc;
}

void case_scene_close(struct case_scene *s)
{
    run_tear_down(&s->setup);
    free(s->pixels);
}

int case_set(const struct run_setup *s, const char *tuner, int64_t workers,
             int64_t depth)
{
    int32_t status = feedline_config_set(s->config, "tuner", tuner);
    int rc = status < 0 ? tool_setup_failed(status) : TOOL_DONE;
    if (rc == TOOL_DONE)
        rc = run_set_int(s, "workers", workers);
    return rc == TOOL_DONE ? run_set_int(s, "depth", depth) : rc;
}

int case_measure(struct run_setup *s, struct case_side *out, json_t **run)
{
    struct run_counts counts;
    json_t *doc;
    int rc = run_measure(s, &doc, &counts);
    if (run)
        *run = json_incref(doc);
    if (rc == TOOL_DONE && counts.interrupted)
        rc = TOOL_INTERRUPTED;
    if (rc == TOOL_DONE) {
        const json_t *device = doc_at(doc, "stall.device_fraction");
        out->images_per_second = doc_or_0(doc, "result.images_per_second");
        out->step_ms = 1e3 * counts.seconds / (double)counts.batches;
        out->stall_fraction = json_is_number(device)
                                  ? json_number_value(device)
                                  : doc_or_0(doc, "stall.host_fraction");
        out->workers = doc_int(doc, "tuner.workers");
        out->depth = doc_int(doc, "tuner.depth");
    }
    json_decref(doc);
    return rc;
}
