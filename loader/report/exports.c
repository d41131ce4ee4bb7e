/* SPDX-License-Identifier: Apache-2.0 */
/* The exports of one loader; see exports.h. */
#include "loader/report/exports.h"

#include "base/log.h"
#include "base/status.h"
#include "loader/loader.h"
#include "loader/report/metrics.h"
#include "loader/report/stats_log.h"
#include "loader/watch/monitor.h"

static const char *path_of(const struct fdl_options *o, uint32_t row)
{
    const char *path = fdl_option_text(o, row);
    return path && *path ? path : NULL;
}

static void serve_live(void *user, bool last)
{
    feedline_loader *l = user;
    struct fdl_exports *e = &l->exports;
    (void)last;
    if (!e->page)
        return;
    fdl_live_gather(l, &e->stats);
    fdl_live_page_publish(e->page, &e->stats);
}

/* Says the first of a row of failures, and when they are over. */
static void note(const char *what, const char *path, int32_t status,
                 bool *failed)
{
    if (status < 0 && !*failed)
        fdl_log(FDL_LOG_WARNING,
                "%s; %s is retried, without what was reported "
                "meanwhile",
                fdl_last_error(), what);
    else if (status >= 0 && *failed)
        fdl_log(FDL_LOG_WARNING, "%s: %s works again", path, what);
    *failed = status < 0;
    fdl_clear_error();
}

static void serve_files(void *user, bool last)
{
    feedline_loader *l = user;
    struct fdl_exports *e = &l->exports;
    (void)last;
    if (e->log_path)
        note("stats_log", e->log_path,
             fdl_stats_log_append(l, e->log_path, &e->text), &e->log_failed);
    if (e->metrics_path) {
        fdl_live_gather(l, &e->stats);
        note("metrics", e->metrics_path,
             fdl_metrics_replace(l, &e->stats, e->metrics_path, &e->text),
             &e->metrics_failed);
    }
}

static int32_t make_page(feedline_loader *l, struct fdl_exports *e)
{
    struct fdl_subscriber live = {.serve = serve_live, .user = l};
    int32_t status = fdl_live_page_create(&e->page);
    if (status == FEEDLINE_ENOSYS) {
        fdl_log(FDL_LOG_WARNING, "%s", fdl_last_error());
        fdl_clear_error();
        return FEEDLINE_OK;
    }
    return status < 0 ? status : fdl_monitor_subscribe(l->watch.monitor, &live);
}

int32_t fdl_exports_init(feedline_loader *l)
{
    struct fdl_exports *e = &l->exports;
    struct fdl_subscriber files = {
        .serve = serve_files,
        .user = l,
        .interval_ns =
            fdl_option_int(&l->engine->options, FDL_OPT_STATS_INTERVAL),
    };
    int32_t status = FEEDLINE_OK;
    e->started_ns = fdl_now_ns();
    e->rank = (uint32_t)fdl_option_int(&l->engine->options, FDL_OPT_RANK);
    e->log_path = path_of(&l->engine->options, FDL_OPT_STATS_LOG);
    e->metrics_path = path_of(&l->engine->options, FDL_OPT_METRICS);
    if (fdl_option_int(&l->engine->options, FDL_OPT_LIVE))
        status = make_page(l, e);
    if (status >= 0 && (e->log_path || e->metrics_path))
        status = fdl_monitor_subscribe(l->watch.monitor, &files);
    return status;
}

void fdl_exports_fini(struct fdl_exports *e)
{
    fdl_live_page_destroy(e->page);
    fdl_text_free(&e->text);
    *e = (struct fdl_exports){0};
}
