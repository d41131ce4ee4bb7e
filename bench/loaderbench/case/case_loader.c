/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/loaderbench/case/case_loader.h"

#include "bench/loaderbench/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Opening ------------------------------------------------------------ */

static int32_t make_pipeline(const struct case_setup *s,
                             feedline_pipeline **out)
{
    int32_t status = feedline_pipeline_create(s->recipe, out);
    for (size_t i = 0; status >= 0 && i < s->n_operations; i++)
        status = feedline_pipeline_add(*out, s->operations[i].name,
                                       s->operations[i].args);
    if (status >= 0 && s->work)
        status = case_work_register(s->work, *out);
    return status;
}

static int32_t make_config(const struct case_setup *s, feedline_config *cfg)
{
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {{"batch_size", s->batch_size},
                   {"channels", s->channels},
                   {"epochs", 0},
                   {"workers", s->workers < 0 ? 0 : s->workers},
                   {"depth", 0},
                   {"io_depth", 0},
                   {"workers_start", s->workers_start},
                   {"local_world", s->local_world}};
    const char *const texts[][2] = {
        {"device", s->device},
        {"dtype", s->dtype},
        {"layout", s->layout},
        {"finish", s->finish},
        {"drop_last", "true"},
        {"tuner", s->workers == CASE_TUNED ? "auto" : "off"}};
    int32_t status = FEEDLINE_OK;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (status >= 0)
            status =
                feedline_config_set_int(cfg, numbers[i].key, numbers[i].value);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (status >= 0 && texts[i][1])
            status = feedline_config_set(cfg, texts[i][0], texts[i][1]);
    if (status >= 0 && s->workers == 0)
        status = feedline_config_set(cfg, "workers", "1");
    if (status >= 0 && s->workers == 0)
        status = feedline_config_set(cfg, "depth", "1");
    return status;
}

int case_loader_open(const struct case_setup *s, feedline_loader **out)
{
    feedline_config *cfg = NULL;
    feedline_pipeline *pipeline = NULL;
    if (s->work) {
        s->work->gated = s->workers == 0;
        case_work_open(s->work);
    }
    int32_t status = feedline_config_create(&cfg);
    if (status >= 0)
        status = make_config(s, cfg);
    if (status >= 0)
        status = make_pipeline(s, &pipeline);
    if (status >= 0)
        status = feedline_loader_create(cfg, s->dataset, pipeline, out);
    feedline_pipeline_destroy(pipeline);
    feedline_config_destroy(cfg);
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
}

/* ---- Taking batches ----------------------------------------------------- */

int case_take(feedline_loader *l, const struct case_consumer *c,
              struct case_rate *r)
{
    feedline_batch *batch = NULL;
    int32_t status = FEEDLINE_END;
    if (c->gate)
        case_work_open(c->gate);
    while (status > 0) {
        if (tool_interrupted())
            return TOOL_INTERRUPTED;
        status = feedline_loader_next(l, -1, &batch);
    }
    if (c->gate && c->gate->gated)
        case_work_shut(c->gate);
    if (status < 0)
        return tool_run_failed(status);
    struct feedline_batch_info info = {.struct_size = sizeof(info)};
    feedline_batch_get_info(batch, &info);
    r->batches++;
    r->images += info.count;
    return c->take(c->self, batch);
}

int case_release(void *self, feedline_batch *batch)
{
    (void)self;
    feedline_batch_release(batch);
    return TOOL_DONE;
}

static void read_knobs(feedline_loader *l, struct case_rate *r)
{
    feedline_loader_get_int(l, "workers", &r->workers);
    feedline_loader_get_int(l, "depth", &r->depth);
}

double case_waited(feedline_loader *l)
{
    struct feedline_stats stats = {.struct_size = sizeof(stats)};
    feedline_loader_get_stats(l, &stats);
    return 1e-9 * (double)stats.wait_ns;
}

int case_measure(feedline_loader *l, const struct case_consumer *consumer,
                 uint64_t warmup, uint64_t batches, double seconds,
                 struct case_rate *out)
{
    struct case_rate unused = {0};
    int rc = TOOL_DONE;
    memset(out, 0, sizeof(*out));
    while (unused.batches < warmup && rc == TOOL_DONE)
        rc = case_take(l, consumer, &unused);
    double waited = case_waited(l);
    double begin = tool_seconds();
    while (rc == TOOL_DONE &&
           (out->batches < batches || tool_seconds() < begin + seconds))
        rc = case_take(l, consumer, out);
    out->seconds = tool_seconds() - begin;
    if (out->seconds > 0)
        out->wait_fraction = (case_waited(l) - waited) / out->seconds;
    read_knobs(l, out);
    return rc;
}

double case_images_per_second(const struct case_rate *r)
{
    return r->seconds > 0 ? (double)r->images / r->seconds : 0;
}

double case_step_ms(const struct case_rate *r)
{
    return r->batches ? 1e3 * r->seconds / (double)r->batches : 0;
}
