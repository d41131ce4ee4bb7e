/* SPDX-License-Identifier: Apache-2.0 */
/* The exports of one loader; see exports.h. */
#include "loader/report/exports.h"

#include "base/log.h"
#include "base/status.h"
#include "loader/report/live_gather.h"
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
    struct fdl_exports *e = user;
    (void)last;
    if (!e->page)
        return;
    fdl_live_gather(e->from, &e->stats);
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
    struct fdl_exports *e = user;
    (void)last;
    if (e->log_path)
        note("stats_log", e->log_path,
             fdl_stats_log_append(e->from, e->log_path, &e->text),
             &e->log_failed);
    if (e->metrics_path) {
        fdl_live_gather(e->from, &e->stats);
        note("metrics", e->metrics_path,
             fdl_metrics_replace(e->from, &e->stats, e->metrics_path, &e->text),
             &e->metrics_failed);
    }
}

static int32_t make_page(struct fdl_exports *e)
{
    struct fdl_subscriber live = {.serve = serve_live, .user = e};
    int32_t status = fdl_live_page_create(e->from->number, &e->page);
    if (status == FEEDLINE_ENOSYS) {
        fdl_log(FDL_LOG_WARNING, "%s", fdl_last_error());
        fdl_clear_error();
        return FEEDLINE_OK;
    }
    return status < 0 ? status
                      : fdl_monitor_subscribe(e->from->watch->monitor, &live);
}

int32_t fdl_exports_init(struct fdl_exports *e, const struct fdl_sources *from)
{
    const struct fdl_options *o = fdl_engine_options(from->engine);
    struct fdl_subscriber files = {
        .serve = serve_files,
        .user = e,
        .interval_ns = fdl_option_int(o, FDL_OPT_STATS_INTERVAL),
    };
    int32_t status = FEEDLINE_OK;
    e->from = from;
    e->log_path = path_of(o, FDL_OPT_STATS_LOG);
    e->metrics_path = path_of(o, FDL_OPT_METRICS);
    if (fdl_option_int(o, FDL_OPT_LIVE))
        status = make_page(e);
    if (status >= 0 && (e->log_path || e->metrics_path))
        status = fdl_monitor_subscribe(from->watch->monitor, &files);
    return status;
}

void fdl_exports_fini(struct fdl_exports *e)
{
    fdl_live_page_destroy(e->page);
    fdl_text_free(&e->text);
    *e = (struct fdl_exports){0};
}
