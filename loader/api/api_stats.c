/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: failures, statistics, machine, log. */
#include "base/log.h"
#include "loader/api/api.h"
#include "loader/loader.h"
#include "loader/report/evidence.h"
#include "loader/report/live_gather.h"
#include "loader/report/metrics.h"
#include "loader/report/stat_rows.h"
#include "loader/report/stats_json.h"
#include "loader/report/stats_table.h"
#include "loader/stream/failure.h"
#include "loader/watch/account.h"
#include "loader/watch/notable.h"
#include "loader/watch/phases.h"
#include "loader/watch/stats.h"
#include "loader/watch/stuck.h"
#include "profiler/system/machine.h"

/* ---- Failures ----------------------------------------------------------- */

int32_t feedline_loader_failure_count(const feedline_loader *l)
{
    int32_t status = fdl_api_enter_loader(l);
    if (status < 0)
        return status;
    return (int32_t)fdl_failures_count(fdl_engine_failures(l->engine));
}

int32_t feedline_loader_get_failure(const feedline_loader *l, uint32_t index,
                                    struct feedline_failure *out)
{
    int32_t status = fdl_api_enter_loader(l);
    if (status < 0)
        return status;
    return fdl_failures_get(fdl_engine_failures(l->engine), index, out);
}

/* ---- Statistics --------------------------------------------------------- */

int32_t feedline_loader_get_stats(const feedline_loader *l,
                                  struct feedline_stats *out)
{
    struct feedline_stats stats;
    int32_t status = fdl_api_enter_loader(l);
    if (status < 0)
        return status;
    fdl_stats_get(l->sources.watch, &stats);
    return fdl_copy_out(out, &stats, sizeof(stats));
}

int32_t feedline_loader_reset_stats(feedline_loader *l)
{
    int32_t status = fdl_api_enter_loader(l);
    if (status >= 0)
        fdl_stats_reset(&l->watch);
    return status;
}

int32_t feedline_loader_get_wait_stats(const feedline_loader *l,
                                       struct feedline_wait_stats *out)
{
    struct feedline_wait_stats waits;
    int32_t status = fdl_api_enter_loader(l);
    if (status < 0)
        return status;
    fdl_stats_waits(l->sources.watch, &waits);
    return fdl_copy_out(out, &waits, sizeof(waits));
}

int32_t feedline_loader_get_worker_stats(const feedline_loader *l,
                                         struct feedline_worker_stats *out)
{
    struct feedline_worker_stats stats;
    int32_t status = fdl_api_enter_loader(l);
    if (status < 0)
        return status;
    fdl_stats_workers(l->sources.watch, &stats);
    return fdl_copy_out(out, &stats, sizeof(stats));
}

const char *feedline_stage_name(uint32_t stage)
{
    return fdl_stage_name(stage);
}

int32_t feedline_loader_stage_count(const feedline_loader *l)
{
    int32_t status = fdl_api_enter_loader(l);
    return status < 0 ? status : (int32_t)fdl_stats_stage_count(&l->watch);
}

const char *feedline_loader_stage_name(const feedline_loader *l, uint32_t stage)
{
    return fdl_api_enter_loader(l) < 0 ? NULL
                                       : fdl_stats_stage_name(&l->watch, stage);
}

int32_t feedline_loader_get_stage_stats(const feedline_loader *l,
                                        uint32_t stage,
                                        struct feedline_stage_stats *out)
{
    struct feedline_stage_stats stats;
    int32_t status = fdl_api_enter_loader(l);
    if (status < 0)
        return status;
    if (stage >= fdl_stats_stage_count(&l->watch))
        return fdl_fail(FEEDLINE_ERANGE, "stage %u: there are %u", stage,
                        fdl_stats_stage_count(&l->watch));
    fdl_stats_stage(l->sources.watch, stage, &stats);
    return fdl_copy_out(out, &stats, sizeof(stats));
}

int32_t feedline_loader_get_device_stats(const feedline_loader *l,
                                         struct feedline_device_stats *out)
{
    struct feedline_device_stats stats;
    int32_t status = fdl_api_enter_loader(l);
    if (status >= 0)
        status = fdl_stats_device(l->sources.watch, &stats);
    return status < 0 ? status : fdl_copy_out(out, &stats, sizeof(stats));
}

int32_t feedline_loader_get_verdict(feedline_loader *l,
                                    struct feedline_verdict *out)
{
    int32_t status = fdl_api_enter_loader(l);
    if (status >= 0)
        status = fdl_check_out(out);
    if (status < 0)
        return status;
    struct fdl_evidence evidence;
    struct fdl_verdict all[FDL_VERDICTS_MAX];
    fdl_evidence_gather(&l->sources, &evidence);
    fdl_verdict_judge(&evidence, all);
    struct fdl_verdict found = all[0];
    struct fdl_books *c = &l->watch.books;
    fdl_lock(&c->lock);
    l->verdict = found;
    struct feedline_verdict verdict = {
        .confidence_ppm = found.confidence_ppm,
        .predicted_gain = found.predicted_gain,
        .code = found.code,
        .level = found.level,
        .sentence = l->verdict.sentence,
        .action = l->verdict.action,
        .evidence = l->verdict.evidence,
        .tuner = found.tuner,
    };
    fdl_unlock(&c->lock);
    return fdl_copy_out(out, &verdict, sizeof(verdict));
}

int32_t feedline_loader_stats_json(feedline_loader *l, char *buf,
                                   uint64_t capacity, uint64_t *needed)
{
    struct fdl_json j;
    int32_t status = fdl_api_enter_loader(l);
    if (status < 0)
        return status;
    fdl_json_init(&j, buf, capacity);
    fdl_stats_json(&l->sources, &j);
    return fdl_json_finish(&j, needed);
}

int32_t feedline_loader_stats_table(feedline_loader *l, const char *sort_by,
                                    uint32_t row_limit, char *buf,
                                    uint64_t capacity, uint64_t *needed)
{
    struct fdl_text text = {0};
    int32_t status = fdl_api_enter_loader(l);
    if (status < 0)
        return status;
    status = fdl_stats_table(&l->watch, sort_by, row_limit, &text);
    if (status >= 0)
        status = fdl_text_copy_out(&text, buf, capacity, needed);
    fdl_text_free(&text);
    return status;
}

int32_t feedline_loader_metrics(const feedline_loader *l, char *buf,
                                uint64_t capacity, uint64_t *needed)
{
    struct feedline_live_stats now;
    struct fdl_text text = {0};
    int32_t status = fdl_api_enter_loader(l);
    if (status < 0)
        return status;
    fdl_live_gather(&l->sources, &now);
    fdl_metrics_write(&l->sources, &now, &text);
    status = fdl_text_copy_out(&text, buf, capacity, needed);
    fdl_text_free(&text);
    return status;
}

int32_t feedline_stat_get_info(const char *part, uint32_t index,
                               struct feedline_stat_info *out)
{
    enum fdl_stat_part found;
    uint32_t n;
    int32_t status = fdl_api_enter(part, "part");
    if (status >= 0)
        status = fdl_stat_find_part(part, &found);
    if (status < 0)
        return status;
    const struct feedline_stat_info *rows = fdl_stat_rows(found, &n);
    if (index >= n)
        return fdl_fail(FEEDLINE_ERANGE, "%s: row %u: there are %u", part,
                        index, n);
    return fdl_copy_out(out, &rows[index], sizeof(rows[index]));
}

double feedline_stat_value(const struct feedline_stat_info *row, const void *in)
{
    return fdl_stat_value(row, in);
}

/* ---- What is notable ---------------------------------------------------- */

int32_t feedline_loader_get_gaps(const feedline_loader *l,
                                 struct feedline_gap_stats *out)
{
    struct feedline_gap_stats gaps;
    int32_t status = fdl_api_enter_loader(l);
    if (status < 0)
        return status;
    fdl_notable_gaps(&l->sources.watch->books, &gaps);
    return fdl_copy_out(out, &gaps, sizeof(gaps));
}

int32_t feedline_loader_slow_count(const feedline_loader *l)
{
    struct feedline_slow_sample slow[FDL_SLOW_KEPT];
    int32_t status = fdl_api_enter_loader(l);
    return status < 0
               ? status
               : (int32_t)fdl_notable_slow(&l->sources.watch->books, slow);
}

int32_t feedline_loader_get_slow(const feedline_loader *l, uint32_t index,
                                 struct feedline_slow_sample *out)
{
    struct feedline_slow_sample slow[FDL_SLOW_KEPT];
    int32_t status = fdl_api_enter_loader(l);
    if (status < 0)
        return status;
    uint32_t n = fdl_notable_slow(&l->sources.watch->books, slow);
    if (index >= n)
        return fdl_fail(FEEDLINE_ERANGE, "slow sample %u: there are %u", index,
                        n);
    return fdl_copy_out(out, &slow[index], sizeof(slow[index]));
}

int32_t feedline_loader_get_headroom(const feedline_loader *l,
                                     struct feedline_headroom *out)
{
    struct feedline_headroom headroom;
    int32_t status = fdl_api_enter_loader(l);
    if (status < 0)
        return status;
    fdl_notable_headroom(&l->sources, &headroom);
    return fdl_copy_out(out, &headroom, sizeof(headroom));
}

int32_t feedline_loader_get_stuck(const feedline_loader *l, uint32_t index,
                                  struct feedline_stuck_worker *out)
{
    struct feedline_stuck_worker found;
    int32_t status = fdl_api_enter_loader(l);
    if (status < 0)
        return status;
    status = fdl_stuck_get(l->engine, index, &found);
    if (status != FEEDLINE_OK)
        return status;
    return fdl_copy_out(out, &found, sizeof(found));
}

/* ---- Phases of the consumer --------------------------------------------- */

int32_t feedline_loader_phase_begin(feedline_loader *l, const char *name)
{
    int32_t status = fdl_api_enter_loader(l);
    if (status >= 0)
        status = fdl_api_enter(name, "name");
    return status < 0 ? status : fdl_phases_begin(&l->watch, name);
}

int32_t feedline_loader_phase_end(feedline_loader *l)
{
    int32_t status = fdl_api_enter_loader(l);
    return status < 0 ? status : fdl_phases_end(&l->watch);
}

int32_t feedline_loader_handed_over(feedline_loader *l, const char *by)
{
    int32_t status = fdl_api_enter_loader(l);
    return status < 0 ? status : fdl_account_handed_over(&l->watch.books, by);
}

int32_t feedline_loader_phase_count(const feedline_loader *l)
{
    int32_t status = fdl_api_enter_loader(l);
    if (status < 0)
        return status;
    return (int32_t)fdl_phases_count(l->sources.watch);
}

int32_t feedline_loader_get_phase(const feedline_loader *l, uint32_t index,
                                  struct feedline_phase_stats *out)
{
    struct feedline_phase_stats stats;
    int32_t status = fdl_api_enter_loader(l);
    if (status >= 0)
        status = fdl_phases_get(l->sources.watch, index, &stats);
    return status < 0 ? status : fdl_copy_out(out, &stats, sizeof(stats));
}

/* ---- Machine and log ---------------------------------------------------- */

int32_t feedline_machine_get_info(struct feedline_machine_info *out)
{
    fdl_clear_error();
    const struct fdl_machine *m = fdl_machine_get();
    struct feedline_machine_info info = {
        .cpus_online = m->cpus_online,
        .cpus_allowed = m->cpus_allowed,
        .cpus_usable = m->cpus_usable,
        .cpu_quota = m->cpu_quota,
        .memory_limit_bytes = m->memory_limit_bytes,
    };
    return fdl_copy_out(out, &info, sizeof(info));
}

int32_t feedline_machine_json(char *buf, uint64_t capacity, uint64_t *needed)
{
    struct fdl_json j;
    int32_t status = fdl_api_enter(needed, "needed");
    if (status < 0)
        return status;
    fdl_json_init(&j, buf, capacity);
    fdl_machine_json(fdl_machine_get(), NULL, &j);
    return fdl_json_finish(&j, needed);
}

int32_t feedline_log_set_level(int32_t level)
{
    fdl_clear_error();
    return fdl_log_set_level(level);
}

int32_t feedline_log_read(char *buf, uint64_t capacity, uint64_t *needed)
{
    int32_t status = fdl_api_enter(needed, "needed");
    return status < 0 ? status : fdl_log_read(buf, capacity, needed);
}
