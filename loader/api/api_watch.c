/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: a watch around somebody else's next. */
#include "loader/api/api.h"
#include "loader/loader.h"
#include "loader/watch/outside.h"
#include "transfer/backend.h"

#include <string.h>

static int32_t enter(const feedline_loader *l)
{
    int32_t status =
        fdl_api_enter_handle(l, l ? l->fork_generation : 0, "watch");
    if (status < 0 || l->watch.outside)
        return status;
    return fdl_fail(FEEDLINE_ESTATE, "this loader makes its own batches; only "
                                     "a watch records another loader's");
}

/* As much of the caller's struct as both know. */
static int32_t read_def(const struct feedline_watch_def *given,
                        struct feedline_watch_def *def)
{
    memset(def, 0, sizeof(*def));
    if (!given)
        return FEEDLINE_OK;
    int32_t status = fdl_check_out(given);
    if (status >= 0)
        memcpy(def, given, FDL_MIN(given->struct_size, sizeof(*def)));
    return status;
}

/* ---- The engine that never runs ------------------------------------------ */

/* Of the caller's options, those for what watches; the rest are the least that
 * a loader can be. */
static int32_t choose_options(const struct fdl_options *given,
                              struct fdl_options *own)
{
    static const uint32_t kept[] = {
        FDL_OPT_TRACE,        FDL_OPT_TRACE_SKIP_FIRST,
        FDL_OPT_TRACE_WAIT,   FDL_OPT_TRACE_WARMUP,
        FDL_OPT_TRACE_ACTIVE, FDL_OPT_TRACE_REPEAT,
        FDL_OPT_TRACE_LIMIT,  FDL_OPT_TRACE_CATEGORIES,
        FDL_OPT_STATS_LOG,    FDL_OPT_METRICS,
        FDL_OPT_LIVE,         FDL_OPT_STATS_INTERVAL,
        FDL_OPT_RANK,         FDL_OPT_WORLD};
    int32_t status =
        fdl_options_init(own, "loader", fdl_loader_options, FDL_LOADER_OPTIONS);
    for (size_t i = 0; status >= 0 && i < FDL_COUNT_OF(kept); i++)
        status = fdl_options_take(own, given, kept[i]);
    if (status >= 0)
        status = fdl_options_set_args(
            own, "batch_size=1 workers=1 depth=1 io_depth=1 tuner=off");
    return status;
}

static int32_t create_idle(const struct fdl_options *given,
                           feedline_loader **out)
{
    static const uint8_t pixel;
    static const struct fdl_backend_config backend;
    struct fdl_options own = {0};
    struct fdl_pipeline *pipeline = NULL;
    feedline_dataset *ds = NULL;
    const struct fdl_backend_ops *ops;
    uint32_t number;
    int32_t status = choose_options(given, &own);
    if (status >= 0)
        status = fdl_backend_find("host", &ops, &number);
    if (status >= 0)
        status = fdl_dataset_open_pixels(&pixel, NULL, 1, 1, 1, 1, &ds);
    if (status >= 0)
        status = fdl_pipeline_create("none", &pipeline);
    if (status >= 0)
        status = fdl_loader_create(&own, ds, pipeline, ops, &backend, out);
    fdl_pipeline_destroy(pipeline);
    if (ds)
        fdl_dataset_unref(ds);
    fdl_options_fini(&own);
    return status;
}

/* ---- The watch ----------------------------------------------------------- */

static int32_t create(const feedline_config *cfg,
                      const struct feedline_watch_def *def,
                      feedline_loader **out)
{
    const struct fdl_backend_ops *ops = NULL;
    uint32_t gpu = 0;
    feedline_loader *l;
    int32_t status = FEEDLINE_OK;
    if (def->device)
        status = fdl_backend_find(def->device, &ops, &gpu);
    if (status >= 0)
        status = create_idle(&cfg->options, &l);
    if (status < 0)
        return status;
    bool has_gpu = ops && ops->device == FEEDLINE_CUDA;
    status = fdl_outside_create(&l->watch, def, has_gpu ? (int32_t)gpu : -1);
    if (status < 0)
        fdl_loader_destroy(l);
    else
        *out = l;
    return status;
}

int32_t feedline_watch_create(const feedline_config *cfg,
                              const struct feedline_watch_def *def,
                              feedline_loader **out)
{
    struct feedline_watch_def known;
    feedline_config *defaults = NULL;
    int32_t status = fdl_api_enter_out(out);
    if (status < 0)
        return status;
    if (cfg)
        status = fdl_api_enter_config(cfg);
    if (status >= 0)
        status = read_def(def, &known);
    if (status >= 0 && !cfg)
        status = feedline_config_create(&defaults);
    if (status >= 0)
        status = create(cfg ? cfg : defaults, &known, out);
    feedline_config_destroy(defaults);
    return status;
}

int32_t feedline_watch_begin(feedline_loader *w)
{
    int32_t status = enter(w);
    return status < 0 ? status : fdl_outside_begin(&w->watch);
}

int32_t feedline_watch_end(feedline_loader *w, int32_t status, uint64_t samples,
                           uint64_t bytes)
{
    int32_t entered = enter(w);
    return entered < 0 ? entered
                       : fdl_outside_end(&w->watch, status, samples, bytes);
}

int32_t feedline_watch_end_at(feedline_loader *w, int32_t status,
                              uint64_t samples, uint64_t bytes,
                              int64_t began_ns, int64_t ended_ns)
{
    int32_t entered = enter(w);
    return entered < 0 ? entered
                       : fdl_outside_end_at(&w->watch, status, samples, bytes,
                                            began_ns, ended_ns);
}

int32_t feedline_watch_spent(feedline_loader *w, const char *what,
                             int64_t wall_ns, int64_t cpu_ns)
{
    int32_t status = enter(w);
    return status < 0 ? status
                      : fdl_outside_spent(&w->watch, what, wall_ns, cpu_ns);
}

int32_t feedline_watch_idle(feedline_loader *w, int64_t idle_ns)
{
    int32_t status = enter(w);
    return status < 0 ? status : fdl_outside_idle(&w->watch, idle_ns);
}
