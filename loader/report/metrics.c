/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics file; see metrics.h.
 *
 * Names and units follow Prometheus' guide: base units, "_total" for counters,
 * parts of a whole under one name with a label. What is not known is left out:
 * a metric that is missing can be alerted on, a wrong zero cannot. A reset of
 * the statistics begins counters anew, which Prometheus expects of them.
 */
#include "loader/report/metrics.h"

#include "base/abi.h"
#include "base/replace.h"
#include "base/status.h"
#include "loader/report/stat_rows.h"
#include "loader/watch/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The labels that every value has. */
struct metrics {
    struct fdl_text *text;
    char common[96];
    char name[48], last[48]; /* of this row, and of the row before it */
};

/* Once before the values of a name. */
static void family(struct metrics *m, const char *name, const char *type,
                   const char *help)
{
    fdl_text_add(m->text, "# HELP feedline_%s %s\n# TYPE feedline_%s %s\n",
                 name, help, name, type);
}

/* A label value may have any characters; three of them are written apart. */
static void add_label(struct metrics *m, const char *name, const char *value)
{
    fdl_text_add(m->text, ",%s=\"", name);
    for (; *value; value++) {
        if (*value == '\n')
            fdl_text_add(m->text, "\\n");
        else if (*value == '"' || *value == '\\')
            fdl_text_add(m->text, "\\%c", *value);
        else
            fdl_text_add(m->text, "%c", *value);
    }
    fdl_text_add(m->text, "\"");
}

/* labels: pairs of name and value, up to two; NULL ends them. */
static void value(struct metrics *m, const char *name, double x,
                  const char *label, const char *of, const char *label2,
                  const char *of2)
{
    fdl_text_add(m->text, "feedline_%s{%s", name, m->common);
    if (label)
        add_label(m, label, of);
    if (label2)
        add_label(m, label2, of2);
    fdl_text_add(m->text, "} ");
    fdl_text_add_double(m->text, x);
    fdl_text_add(m->text, "\n");
}

/* A name with one value. x < 0: not known. */
static void single(struct metrics *m, const char *name, const char *type,
                   const char *help, double x)
{
    if (!(x >= 0))
        return;
    family(m, name, type, help);
    value(m, name, x, NULL, NULL, NULL, NULL);
}

static void gauge(struct metrics *m, const char *name, const char *help,
                  double x)
{
    single(m, name, "gauge", help, x);
}

/* ---- What there is ------------------------------------------------------ */

/* "..._total"; gpu_memory_total_bytes is none. */
static bool is_counter(const char *name)
{
    const char *end = strstr(name, "_total");
    return end && end[6] == '\0';
}

/* HELP and TYPE; false where the row has no metric. `metric` may end in a
 * label, and then its help is that of all values of the name. */
static bool begin_row(struct metrics *m, const struct feedline_stat_info *row,
                      const char **label)
{
    static const char *const sums[][2] = {
        {"wait_seconds_total",
         "Time the consumer waited, by what the batch was doing."},
        {"worker_seconds_total", "Time of all workers, by what they did."},
    };
    const char *help = row->help;
    *label = strchr(row->metric, '{');
    size_t n = *label ? (size_t)(*label - row->metric) : strlen(row->metric);
    if (n == 0)
        return false;
    snprintf(m->name, sizeof(m->name), "%.*s", (int)n, row->metric);
    for (uint32_t i = 0; *label && i < FDL_COUNT_OF(sums); i++)
        if (strcmp(m->name, sums[i][0]) == 0)
            help = sums[i][1];
    if (strcmp(m->name, m->last) != 0)
        family(m, m->name, is_counter(m->name) ? "counter" : "gauge", help);
    memcpy(m->last, m->name, sizeof(m->last));
    return true;
}

/* What of a part has a metric, is known, and above `least`. in: the struct of
 * its rows. */
static void write_above(struct metrics *m, enum fdl_stat_part part,
                        const void *in, double least)
{
    uint32_t n;
    const struct feedline_stat_info *rows = fdl_stat_rows(part, &n);
    for (uint32_t i = 0; i < n; i++) {
        const char *label;
        double x = fdl_stat_value(&rows[i], in);
        if (!(x > least) || !begin_row(m, &rows[i], &label))
            continue;
        fdl_text_add(m->text, "feedline_%s{%s%s%s ", m->name, m->common,
                     label ? "," : "}", label ? label + 1 : "");
        fdl_text_add_double(m->text, x);
        fdl_text_add(m->text, "\n");
    }
}

static void write_part(struct metrics *m, enum fdl_stat_part part,
                       const void *in)
{
    write_above(m, part, in, -(double)INFINITY);
}

static void stage_counters(struct metrics *m,
                           const struct feedline_stage_stats *stats,
                           const char *const *names, uint32_t n_stages)
{
    uint32_t n;
    const struct feedline_stat_info *rows = fdl_stat_rows(FDL_STAT_STAGES, &n);
    for (uint32_t r = 0; r < n; r++) {
        const char *label;
        if (!begin_row(m, &rows[r], &label))
            continue;
        for (uint32_t i = 0; i < n_stages; i++) {
            double x = fdl_stat_value(&rows[r], &stats[i]);
            if (!isnan(x))
                value(m, m->name, x, "stage", names[i], NULL, NULL);
        }
    }
}

/* Nothing where it is off. */
static void write_tuner(struct metrics *m, struct fdl_control *c)
{
    struct feedline_tuner_info t;
    int64_t cpu_ns;
    uint64_t ticks;
    if (!fdl_control_is_on(c))
        return;
    fdl_control_info(c, &t);
    fdl_control_cost(c, &cpu_ns, &ticks);
    family(m, "tuner_info", "gauge", "Mode and state, as labels of a 1.");
    value(m, "tuner_info", 1, "mode", t.mode, "state", t.state);
    gauge(m, "tuner_converged", "1: nothing is left to be improved.",
          t.converged);
    write_part(m, FDL_STAT_TUNER, &t);
    single(m, "tuner_cpu_seconds_total", "counter", "CPU time of its thread.",
           (double)cpu_ns / 1e9);
}

static void write_stages(struct metrics *m, struct fdl_watch *watch)
{
    static const char help[] = "Time of one item in a stage; quantiles since "
                               "the start, the sum is busy time.";
    struct feedline_stage_stats stats[FDL_STAGES_MAX];
    const char *names[FDL_STAGES_MAX];
    uint32_t n = fdl_stats_stage_count(watch);
    for (uint32_t i = 0; i < n; i++) {
        fdl_stats_stage(watch, i, &stats[i]);
        names[i] = fdl_stats_stage_name(watch, i);
    }
    family(m, "stage_seconds", "summary", help);
    for (uint32_t i = 0; i < n; i++) {
        const struct feedline_stage_stats *s = &stats[i];
        if (s->items) {
            value(m, "stage_seconds", (double)s->p50_ns / 1e9, "stage",
                  names[i], "quantile", "0.5");
            value(m, "stage_seconds", (double)s->p90_ns / 1e9, "stage",
                  names[i], "quantile", "0.9");
            value(m, "stage_seconds", (double)s->p99_ns / 1e9, "stage",
                  names[i], "quantile", "0.99");
        }
        value(m, "stage_seconds_sum", (double)s->busy_ns / 1e9, "stage",
              names[i], NULL, NULL);
        value(m, "stage_seconds_count", (double)s->items, "stage", names[i],
              NULL, NULL);
    }
    stage_counters(m, stats, names, n);
}

static void write_verdict(struct metrics *m,
                          const struct feedline_live_stats *s)
{
    family(m, "verdict_info", "gauge", "The verdict, as labels of a 1.");
    value(m, "verdict_info", 1, "code", s->verdict.code, "level",
          s->verdict.level);
    gauge(m, "verdict_confidence_ratio", "How sure the verdict is.",
          s->verdict.confidence);
    gauge(m, "verdict_predicted_gain_ratio",
          "What its action gains at most; 0.25 is a quarter more throughput.",
          s->verdict.predicted_gain);
}

/* What a live page has as well. */
static void write_moment(struct metrics *m, const struct feedline_live_stats *s)
{
    write_part(m, FDL_STAT_STATS, &s->stats);
    write_part(m, FDL_STAT_STALL, &s->waits);
    write_part(m, FDL_STAT_WORKERS, &s->threads);
    write_part(m, FDL_STAT_QUEUE, s);
    write_part(m, FDL_STAT_MACHINE, s);
    if (s->has_gpu) {
        write_part(m, FDL_STAT_GPU, s);
        gauge(m, "gpu_sm_clock_hertz", "Clock of the multiprocessors.",
              s->gpu_sm_clock_mhz * 1e6);
    }
    write_verdict(m, s);
}

static void begin(struct metrics *m, int32_t pid, uint32_t loader,
                  uint32_t rank)
{
    fdl_text_clear(m->text);
    snprintf(m->common, sizeof(m->common),
             "pid=\"%" PRId32 "\",loader=\"%" PRIu32 "\",rank=\"%" PRIu32 "\"",
             pid, loader, rank);
}

void fdl_metrics_write(const struct fdl_sources *from,
                       const struct feedline_live_stats *stats,
                       struct fdl_text *text)
{
    struct feedline_device_stats device;
    struct metrics m = {.text = text};
    begin(&m, getpid(), from->number, from->rank);
    family(&m, "build_info", "gauge", "The library, as labels of a 1.");
    value(&m, "build_info", 1, "version", fdl_version(), NULL, NULL);
    write_moment(&m, stats);
    write_tuner(&m, from->control);
    write_stages(&m, from->watch);
    if (stats->has_device && fdl_stats_device(from->watch, &device) >= 0)
        write_part(&m, FDL_STAT_TRANSFER, &device);
}

/* A page has no more of a device than this: what is 0 here may be unknown. */
static void write_page_device(struct metrics *m,
                              const struct feedline_live_stats *s)
{
    struct feedline_device_stats d = {
        .copied_bytes = s->copied_bytes,
        .copy_ns = s->copy_ns,
        .overlap_ns = s->overlap_ns,
        .pinned_bytes = s->pinned_bytes,
        .span_ns = s->span_ns,
        .idle_ns = s->idle_ns,
    };
    write_above(m, FDL_STAT_TRANSFER, &d, 0);
}

void fdl_metrics_write_page(const struct feedline_live_stats *stats,
                            uint32_t loader, struct fdl_text *text)
{
    struct metrics m = {.text = text};
    begin(&m, stats->pid, loader, stats->rank);
    write_moment(&m, stats);
    if (stats->has_device)
        write_page_device(&m, stats);
}

/* ---- The file ----------------------------------------------------------- */

/* What it says is soon said anew, so it may be lost with the power. */
int32_t fdl_metrics_replace(const struct fdl_sources *from,
                            const struct feedline_live_stats *stats,
                            const char *path, struct fdl_text *text)
{
    struct fdl_replace file;
    fdl_metrics_write(from, stats, text);
    if (text->failed)
        return fdl_fail_memory(text->capacity, "metrics");
    fdl_replace_begin(&file, path, 0644);
    file.unsynced = true;
    fdl_replace_write(&file, text->data, text->length);
    int error = fdl_replace_end(&file);
    return error ? fdl_fail(FEEDLINE_EIO, "%s: %s", path, strerror(error))
                 : FEEDLINE_OK;
}
