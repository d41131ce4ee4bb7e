/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics file; see metrics.h.
 *
 * Names and units follow Prometheus' guide: base units, "_total" for counters,
 * parts of a whole under one name with a label. What is not known is left out:
 * a metric that is missing can be alerted on, a wrong zero cannot. A reset of
 * the statistics begins counters anew, which Prometheus expects of them.
 */
#include "loader/metrics.h"

#include "base/status.h"
#include "loader/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The labels that every value has. */
struct metrics {
    struct fdl_text *text;
    char common[96];
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

static void counter(struct metrics *m, const char *name, const char *help,
                    uint64_t n)
{
    single(m, name, "counter", help, (double)n);
}

static void seconds_total(struct metrics *m, const char *name, const char *help,
                          uint64_t ns)
{
    single(m, name, "counter", help, (double)ns / 1e9);
}

static void gauge(struct metrics *m, const char *name, const char *help,
                  double x)
{
    single(m, name, "gauge", help, x);
}

/* Times that are parts of one whole. */
struct part {
    const char *name;
    uint64_t ns;
};

static void parts(struct metrics *m, const char *name, const char *help,
                  const char *label, const struct part *part, uint32_t n)
{
    family(m, name, "counter", help);
    for (uint32_t i = 0; i < n; i++)
        value(m, name, (double)part[i].ns / 1e9, label, part[i].name, NULL,
              NULL);
}

/* ---- What there is ------------------------------------------------------ */

static void write_consumer(struct metrics *m,
                           const struct feedline_live_stats *s)
{
    counter(m, "batches_total", "Batches delivered.", s->stats.batches);
    counter(m, "samples_total", "Samples delivered.", s->stats.samples);
    counter(m, "failed_samples_total", "Samples that could not be used.",
            s->stats.failed_samples);
    counter(m, "truncated_samples_total",
            "Samples used though their file ends early.",
            s->stats.truncated_samples);
    counter(m, "read_bytes_total", "Bytes of files read.", s->stats.bytes_read);
    seconds_total(m, "wall_seconds_total",
                  "Time of the consumer: user, wait and api.",
                  s->stats.wall_ns);
    seconds_total(m, "user_seconds_total",
                  "Time of the consumer between two calls for a batch.",
                  s->stats.user_ns);
    seconds_total(m, "api_seconds_total",
                  "Time in calls for a batch, waits excluded.",
                  s->stats.api_ns);
    seconds_total(m, "profiler_seconds_total", "What measuring has cost.",
                  s->stats.profiler_ns);
    gauge(m, "first_batch_seconds", "From start to the first batch.",
          (double)s->stats.first_batch_ns / 1e9);
}

/* The split buckets come as their parts, so that the sum over causes is the
 * wait, as in the ledger. */
static void write_waits(struct metrics *m, const struct feedline_live_stats *s)
{
    const struct feedline_wait_stats *w = &s->waits;
    uint64_t prep = w->prep_runq_ns + w->prep_throttle_ns + w->prep_sleep_ns;
    uint64_t worker = w->worker_wait_runq_ns + w->worker_wait_throttle_ns +
                      w->worker_wait_sleep_ns;
    const struct part causes[] = {
        {"not_issued", w->not_issued_ns},
        {"slot", w->slot_ns},
        {"fetch_queue", w->fetch_queue_ns},
        {"fetch", w->fetch_ns},
        {"worker_wait_cpu",
         w->worker_wait_ns > worker ? w->worker_wait_ns - worker : 0},
        {"worker_wait_runq", w->worker_wait_runq_ns},
        {"worker_wait_throttle", w->worker_wait_throttle_ns},
        {"worker_wait_sleep", w->worker_wait_sleep_ns},
        {"prep_cpu", w->prep_ns > prep ? w->prep_ns - prep : 0},
        {"prep_runq", w->prep_runq_ns},
        {"prep_throttle", w->prep_throttle_ns},
        {"prep_sleep", w->prep_sleep_ns},
        {"transfer_queue", w->transfer_queue_ns},
        {"transfer", w->transfer_ns},
        {"wake", w->wake_ns},
        {"residual", w->residual_ns},
    };
    counter(m, "waits_total", "Batches that had to be waited for.", w->waits);
    parts(m, "wait_seconds_total",
          "Time the consumer waited, by what the batch was doing.", "cause",
          causes, FDL_COUNT_OF(causes));
}

static void write_workers(struct metrics *m,
                          const struct feedline_live_stats *s)
{
    const struct feedline_worker_stats *t = &s->threads;
    const struct part states[] = {
        {"cpu", t->cpu_ns},           {"runq", t->runq_ns},
        {"throttle", t->throttle_ns}, {"sleep", t->sleep_ns},
        {"read", t->read_ns},         {"blocked", t->blocked_ns},
        {"starved", t->starved_ns},   {"parked", t->parked_ns},
        {"residual", t->residual_ns},
    };
    parts(m, "worker_seconds_total", "Time of all workers, by what they did.",
          "state", states, FDL_COUNT_OF(states));
    gauge(m, "workers", "Workers that are active.", s->workers);
    gauge(m, "stuck_workers",
          "Workers and reads at one sample for longer than stuck_after.",
          s->stuck_workers);
    gauge(m, "depth_batches", "Batches that may be prepared ahead.", s->depth);
    gauge(m, "io_depth_reads", "Reads that may be on their way.", s->io_depth);
    gauge(m, "ready_batches", "Batches that wait for the consumer.", s->ready);
    gauge(m, "outstanding_batches", "Batches issued and not delivered.",
          s->outstanding);
    gauge(m, "reads_in_flight", "Reads on their way.", s->reads);
    gauge(m, "memory_bytes", "Batch slots, read buffers, worker scratch.",
          (double)s->stats.memory_bytes);
}

static void stage_counters(struct metrics *m,
                           const struct feedline_stage_stats *stats,
                           const char *const *names, uint32_t n)
{
    static const struct {
        const char *name, *help;
        size_t at;
        double unit;
    } rows[] = {
        {"stage_bytes_total", "Bytes that left a stage.",
         offsetof(struct feedline_stage_stats, bytes), 1},
        {"stage_errors_total", "Items that failed in a stage.",
         offsetof(struct feedline_stage_stats, errors), 1},
        {"stage_starved_seconds_total",
         "Time that threads of a stage had nothing to take.",
         offsetof(struct feedline_stage_stats, starved_ns), 1e9},
        {"stage_blocked_seconds_total",
         "Time that threads of a stage had no room for output.",
         offsetof(struct feedline_stage_stats, blocked_ns), 1e9},
        {"stage_lock_seconds_total",
         "Time that calls of a custom operation waited for a lock they share.",
         offsetof(struct feedline_stage_stats, lock_ns), 1e9},
    };
    for (uint32_t r = 0; r < FDL_COUNT_OF(rows); r++) {
        family(m, rows[r].name, "counter", rows[r].help);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t x;
            memcpy(&x, (const char *)&stats[i] + rows[r].at, sizeof(x));
            value(m, rows[r].name, (double)x / rows[r].unit, "stage", names[i],
                  NULL, NULL);
        }
    }
}

/* Nothing where it is off. */
static void write_tuner(struct metrics *m, feedline_loader *l)
{
    struct feedline_tuner_info t;
    int64_t cpu_ns;
    uint64_t ticks;
    if (!fdl_control_is_on(l))
        return;
    fdl_control_info(l, &t);
    fdl_control_cost(l, &cpu_ns, &ticks);
    family(m, "tuner_info", "gauge", "Mode and state, as labels of a 1.");
    value(m, "tuner_info", 1, "mode", t.mode, "state", t.state);
    gauge(m, "tuner_converged", "1: nothing is left to be improved.",
          t.converged);
    gauge(m, "tuner_stall_ratio", "Waiting, of the time of its last window.",
          t.stall);
    gauge(m, "tuner_target_ratio", "Waiting that counts as fed.", t.target);
    gauge(m, "tuner_planned_workers", "Workers that its model asks for.",
          t.planned_workers ? t.planned_workers : -1.0);
    gauge(m, "tuner_cores", "Cores that workers can have.", t.cores);
    gauge(m, "tuner_memory_bytes", "What the setting may take at most.",
          (double)t.memory_bytes);
    counter(m, "tuner_decisions_total", "Settings changed.", t.decisions);
    counter(m, "tuner_trials_total", "Settings tried.", t.trials);
    counter(m, "tuner_rolled_back_total", "Settings tried and taken back.",
            t.rolled_back);
    seconds_total(m, "tuner_cost_seconds_total",
                  "Time of the consumer that trials have cost.", t.spent_ns);
    seconds_total(m, "tuner_cpu_seconds_total", "CPU time of its thread.",
                  (uint64_t)cpu_ns);
}

static void write_stages(struct metrics *m, feedline_loader *l)
{
    static const char help[] = "Time of one item in a stage; quantiles since "
                               "the start, the sum is busy time.";
    struct feedline_stage_stats stats[FDL_STAGES_MAX];
    const char *names[FDL_STAGES_MAX];
    uint32_t n = fdl_stats_stage_count(l);
    for (uint32_t i = 0; i < n; i++) {
        fdl_stats_stage(l, i, &stats[i]);
        names[i] = fdl_stats_stage_name(l, i);
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

static void write_device(struct metrics *m, const struct feedline_live_stats *s)
{
    if (!s->has_device)
        return;
    counter(m, "copied_bytes_total", "Bytes copied to the device.",
            s->copied_bytes);
    seconds_total(m, "copy_seconds_total", "Time of copies to the device.",
                  s->copy_ns);
    seconds_total(m, "copy_overlap_seconds_total",
                  "Part of it beside the consumer's work.", s->overlap_ns);
    seconds_total(m, "device_span_seconds_total",
                  "Time over which the device's idle time counts.", s->span_ns);
    seconds_total(m, "device_idle_seconds_total",
                  "Time the stream had nothing to do for want of a batch.",
                  s->idle_ns);
    gauge(m, "pinned_bytes", "Host memory that the device reads from.",
          (double)s->pinned_bytes);
}

static void write_machine(struct metrics *m,
                          const struct feedline_live_stats *s)
{
    seconds_total(m, "process_cpu_seconds_total",
                  "CPU time of all threads of the process.", s->process_cpu_ns);
    seconds_total(m, "throttled_seconds_total",
                  "Time the control group's CPU quota was spent.",
                  s->throttled_ns);
    if (s->cpu_quota > 0)
        gauge(m, "cpu_quota_cores", "CPU quota of the control group.",
              s->cpu_quota);
    gauge(m, "cpus_usable", "Cores that the process may use.", s->cpus_usable);
    if (!s->has_gpu)
        return;
    gauge(m, "gpu_utilization_ratio",
          "Part of the time in which any kernel ran; not efficiency.",
          s->gpu_utilization);
    gauge(m, "gpu_memory_utilization_ratio",
          "Part of the time in which memory was read or written.",
          s->gpu_memory_utilization);
    gauge(m, "gpu_power_watts", "Power drawn.", s->gpu_power_watts);
    gauge(m, "gpu_power_limit_watts", "Power allowed.",
          s->gpu_power_limit_watts);
    gauge(m, "gpu_temperature_celsius", "Temperature.", s->gpu_temperature);
    gauge(m, "gpu_sm_clock_hertz", "Clock of the multiprocessors.",
          s->gpu_sm_clock_mhz * 1e6);
    gauge(m, "gpu_memory_used_bytes", "Memory of the GPU in use.",
          s->gpu_memory_used_bytes);
    gauge(m, "gpu_memory_total_bytes", "Memory of the GPU.",
          s->gpu_memory_total_bytes);
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

void fdl_metrics_write(feedline_loader *l,
                       const struct feedline_live_stats *stats,
                       struct fdl_text *text)
{
    const struct fdl_exports *e = &l->exports;
    struct metrics m = {.text = text};
    snprintf(m.common, sizeof(m.common),
             "pid=\"%ld\",loader=\"%" PRIu32 "\",rank=\"%" PRIu32 "\"",
             (long)getpid(), e->page ? fdl_live_page_number(e->page) : 0,
             e->rank);
    fdl_text_clear(text);
    family(&m, "build_info", "gauge", "The library, as labels of a 1.");
    value(&m, "build_info", 1, "version", feedline_version(), NULL, NULL);
    write_consumer(&m, stats);
    write_waits(&m, stats);
    write_workers(&m, stats);
    write_tuner(&m, l);
    write_stages(&m, l);
    write_device(&m, stats);
    write_machine(&m, stats);
    write_verdict(&m, stats);
}

/* ---- The file ----------------------------------------------------------- */

/* 0, or errno. */
static int write_all(const char *path, const struct fdl_text *text)
{
    int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return errno;
    uint64_t done = 0;
    int error = 0;
    while (done < text->length && !error) {
        ssize_t got = write(fd, text->data + done, text->length - done);
        if (got > 0)
            done += (uint64_t)got;
        else if (got == 0 || errno != EINTR)
            error = got == 0 ? ENOSPC : errno;
    }
    if (close(fd) < 0 && !error)
        error = errno;
    return error;
}

int32_t fdl_metrics_replace(feedline_loader *l,
                            const struct feedline_live_stats *stats,
                            const char *path, struct fdl_text *text)
{
    char temporary[4096];
    const struct fdl_exports *e = &l->exports;
    int n =
        snprintf(temporary, sizeof(temporary), "%s.tmp.%ld.%" PRIu32, path,
                 (long)getpid(), e->page ? fdl_live_page_number(e->page) : 0);
    if (n < 0 || (size_t)n >= sizeof(temporary))
        return fdl_fail(FEEDLINE_EIO, "%s: the name is too long", path);
    fdl_metrics_write(l, stats, text);
    if (text->failed)
        return fdl_fail_memory(text->capacity, "metrics");
    int error = write_all(temporary, text);
    if (!error && rename(temporary, path) < 0)
        error = errno;
    if (!error)
        return FEEDLINE_OK;
    unlink(temporary);
    return fdl_fail(FEEDLINE_EIO, "%s: %s", path, strerror(error));
}
