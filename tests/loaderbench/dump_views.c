/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints one made-up snapshot through every view of the statistics: JSON,
 * Prometheus, the table, and the documents of `run` and `top`. views.txt is
 * what it must print; a change of a view shows as a difference. To renew it:
 *
 *     build/tests/loaderbench/dump_views > tests/loaderbench/views.txt
 */
#include "loader/loader.h"
#include "loader/report/metrics.h"
#include "loader/stream/engine_own.h"
#include "loader/tune/control.h"
#include "loader/watch/notable.h"
#include "loader/watch/stats.h"
#include "tests/wrap.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/run/run.h"
#include "tools/loaderbench/top/top.h"

#include <feedline/custom_op.h>

#include <stdlib.h>
#include <string.h>

/* ---- The snapshot ------------------------------------------------------- */

/* Different numbers in the eight-byte counters from `first` to `last`. */
static void plant(void *in, size_t first, size_t last, uint64_t seed)
{
    for (size_t at = first; at <= last; at += sizeof(uint64_t)) {
        uint64_t x = (seed + at) * UINT64_C(1000000007) + at;
        memcpy((char *)in + at, &x, sizeof(x));
    }
}

#define PLANT(in, first, last, seed)                                           \
  plant((in), (size_t)((char *)&(in)->first - (char *)(in)),                   \
        (size_t)((char *)&(in)->last - (char *)(in)), (seed))

WRAP(void, fdl_stats_get, struct fdl_watch *l, struct feedline_stats *out)
{
    (void)l;
    *out = (struct feedline_stats){.struct_size = sizeof(*out), .workers = 7};
    PLANT(out, wall_ns, truncated_samples, 100);
}

WRAP(void, fdl_stats_waits, struct fdl_watch *l,
     struct feedline_wait_stats *out)
{
    (void)l;
    *out =
        (struct feedline_wait_stats){.struct_size = sizeof(*out), .waits = 41};
    PLANT(out, not_issued_ns, worker_wait_sleep_ns, 300);
    out->prep_ns = out->prep_cpu_ns + out->prep_runq_ns +
                   out->prep_throttle_ns + out->prep_sleep_ns;
    out->worker_wait_ns = out->worker_wait_cpu_ns + out->worker_wait_runq_ns +
                          out->worker_wait_throttle_ns +
                          out->worker_wait_sleep_ns;
}

WRAP(void, fdl_stats_stage, struct fdl_watch *l, uint32_t stage,
     struct feedline_stage_stats *out)
{
    (void)l;
    *out = (struct feedline_stage_stats){.struct_size = sizeof(*out),
                                         .threads = stage + 2};
    PLANT(out, items, lock_ns, 500 + stage);
    if (stage < FEEDLINE_STAGE_COUNT)
        out->cpu_ns = out->lock_ns = 0;
}

WRAP(void, fdl_stats_workers, struct fdl_watch *l,
     struct feedline_worker_stats *out)
{
    (void)l;
    *out = (struct feedline_worker_stats){.struct_size = sizeof(*out),
                                          .threads = 9};
    PLANT(out, wall_ns, involuntary_switches, 700);
}

WRAP(int32_t, fdl_stats_device, struct fdl_watch *l,
     struct feedline_device_stats *out)
{
    (void)l;
    *out = (struct feedline_device_stats){.struct_size = sizeof(*out),
                                          .finish = 1,
                                          .latency_us = 12.5,
                                          .gigabytes_per_second = 25.75,
                                          .regime = "bandwidth",
                                          .finish_reason = "a reason",
                                          .device_memory_budget = 2000000000};
    PLANT(out, batches, device_bytes, 900);
    return FEEDLINE_OK;
}

WRAP(void, fdl_notable_gaps, struct fdl_books *l,
     struct feedline_gap_stats *out)
{
    (void)l;
    *out = (struct feedline_gap_stats){.struct_size = sizeof(*out),
                                       .period = 100,
                                       .stall_period = 0,
                                       .stall_strength = 250000};
    PLANT(out, count, median_ns, 1100);
}

WRAP(uint32_t, fdl_notable_slow, struct fdl_books *l,
     struct feedline_slow_sample *out)
{
    (void)l;
    out[0] = (struct feedline_slow_sample){.struct_size = sizeof(*out),
                                           .stage = FEEDLINE_STAGE_DECODE,
                                           .sample_index = 77,
                                           .width = 640,
                                           .height = 480,
                                           .path = "a/b.jpg"};
    PLANT(&out[0], epoch, sequence, 1300);
    PLANT(&out[0], total_ns, bytes, 1300);
    out[0].stall_ns = 123456789;
    out[1] = out[0];
    out[1].path = NULL;
    return 2;
}

WRAP(void, fdl_notable_headroom, const struct fdl_sources *l,
     struct feedline_headroom *out)
{
    (void)l;
    *out = (struct feedline_headroom){.struct_size = sizeof(*out),
                                      .batches_per_second = 10.5,
                                      .fed = 0.25,
                                      .two_workers = 0.125,
                                      .storage = 0.5,
                                      .transfer = 0.75,
                                      .huffman = 0.375,
                                      .packing = 0.625,
                                      .stages = {20, 30, 0, 40, 50}};
}

WRAP(bool, fdl_control_is_on, const struct fdl_control *l)
{
    (void)l;
    return true;
}

WRAP(void, fdl_control_info, struct fdl_control *l,
     struct feedline_tuner_info *out)
{
    (void)l;
    *out = (struct feedline_tuner_info){
        .struct_size = sizeof(*out),
        .workers = 7,
        .depth = 5,
        .io_depth = 33,
        .converged = 1,
        .planned_workers = 8,
        .mode = "auto",
        .state = "hold",
        .limited_by = "cores",
        .profile = "",
        .target = 0.0625,
        .stall = 0.375,
        .cores = 3.5,
    };
    PLANT(out, converged_batch, spent_ns, 1500);
    PLANT(out, memory_bytes, memory_budget, 1700);
}

WRAP(void, fdl_control_cost, const struct fdl_control *l, int64_t *cpu_ns,
     uint64_t *ticks)
{
    (void)l;
    *cpu_ns = 987654321;
    *ticks = 12;
}

static void plant_live(uint64_t seed, struct feedline_live_stats *s)
{
    struct feedline_device_stats d;
    *s = (struct feedline_live_stats){
        .struct_size = sizeof(*s),
        .pid = 4711,
        .started_ns = 5,
        .batch_size = 128,
        .workers = 7,
        .depth = 5,
        .io_depth = 33,
        .ready = 3,
        .outstanding = 4,
        .reads = 6,
        .has_device = 1,
        .cpu_quota = 3.5,
        .cpus_usable = 4,
        .has_gpu = 1,
        .gpu_utilization = 0.875,
        .gpu_memory_utilization = 0.5,
        .gpu_power_watts = 150.5,
        .gpu_power_limit_watts = 300,
        .gpu_temperature = 65,
        .gpu_sm_clock_mhz = 1500,
        .gpu_pcie_rx_gbps = -1,
        .gpu_memory_used_bytes = 1e10,
        .gpu_memory_total_bytes = 8e10,
        .gpu_throttle = "power",
        .verdict = {0.75, 0.25, "CODE", "HIGH", "A sentence.", "An action."},
        .n_decisions = 2,
        .stuck_workers = 2,
        .decisions = {"workers 2 -> 4 (why)", "depth 2 -> 3 (why)"},
        .tuner = {"auto", "hold", "cores", 8, 0, 40, 1, 0.375, 0.0625, 11},
        .placement = "workers on CPUs 0-3",
    };
    __wrap_fdl_stats_get(NULL, &s->stats);
    __wrap_fdl_stats_waits(NULL, &s->waits);
    __wrap_fdl_stats_workers(NULL, &s->threads);
    __wrap_fdl_stats_device(NULL, &d);
    s->copied_bytes = d.copied_bytes;
    s->copy_ns = d.copy_ns;
    s->overlap_ns = d.overlap_ns;
    s->span_ns = d.span_ns;
    s->idle_ns = d.idle_ns;
    s->pinned_bytes = d.pinned_bytes;
    PLANT(s, process_cpu_ns, memory_limit_bytes, seed);
    PLANT(s, children_cpu_ns, children_cpu_ns, seed);
    s->updated_ns = (int64_t)seed * 1000000000;
}

/* ---- The views ---------------------------------------------------------- */

/* What the document of `run` needs besides. */
json_t *document_new(const char *command)
{
    return json_pack("{s:s}", "command", command);
}

double tool_median(double *values, size_t n)
{
    return values[n / 2];
}

json_t *timeline_json(const struct timeline *t)
{
    (void)t;
    return json_null();
}

static void check(int32_t status)
{
    if (status >= 0)
        return;
    fprintf(stderr, "%s\n", feedline_last_error());
    exit(1);
}

/* A member, as it stands in the text: the order and the digits count. */
static void print_member(const char *text, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof(quoted), "\"%s\":", key);
    const char *at = strstr(text, quoted), *end = at;
    int depth = 0;
    for (end += strlen(quoted); depth > 0 || (*end != ',' && *end != '}');
         end++) {
        depth += *end == '{' || *end == '[';
        depth -= *end == '}' || *end == ']';
        putchar(*end);
        if (*end == ',' && depth <= 2)
            putchar('\n');
    }
    printf(" (%s)\n", key);
}

static void print_library(feedline_loader *l)
{
    static const char *const keys[] = {"stats", "stall", "gaps", "slow_samples",
                                       "headroom"};
    static char text[1 << 17];
    uint64_t needed;
    check(feedline_loader_stats_json(l, text, sizeof(text), &needed));
    for (size_t i = 0; i < FDL_COUNT_OF(keys); i++)
        print_member(text, keys[i]);
    print_member(strstr(text, "\"transfer\":{\"f"), "transfer");
    print_member(strstr(text, "\"stages\":["), "stages");
    print_member(strstr(text, "\"workers\":{"), "workers");
    print_member(strstr(text, "\"tuner\":{"), "tuner");
    check(feedline_loader_stats_table(l, NULL, 0, text, sizeof(text), &needed));
    puts(text);
    check(
        feedline_loader_stats_table(l, "p99", 3, text, sizeof(text), &needed));
    puts(text);
}

/* The process and the version differ from one to the next. */
static void print_metrics(feedline_loader *l)
{
    struct feedline_live_stats live;
    struct fdl_text text = {0};
    plant_live(2000, &live);
    fdl_metrics_write(&l->sources, &live, &text);
    for (char *line = strtok(text.data, "\n"); line;
         line = strtok(NULL, "\n")) {
        const char *loader = strstr(line, ",loader=");
        if (line[0] == '#')
            puts(line);
        else if (!strstr(line, "version="))
            printf("%.*s%s\n", (int)(strchr(line, '{') - line) + 1, line,
                   loader + 1);
    }
    fdl_text_free(&text);
}

static void print_json(const json_t *doc)
{
    char *text = json_dumps(doc, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    puts(text);
    free(text);
}

static void print_run(feedline_loader *l)
{
    static const char *const keys[] = {"stall", "stages", "transfer",
                                       "workers"};
    struct run_setup setup = {0};
    struct run_counts counts = {0};
    check(feedline_pipeline_create("train", &setup.pipeline));
    json_t *doc = run_json_one(l, &setup, &counts, NULL);
    for (size_t i = 0; i < FDL_COUNT_OF(keys); i++)
        print_json(json_object_get(doc, keys[i]));
    json_decref(doc);
    feedline_pipeline_destroy(setup.pipeline);
}

static void print_top(void)
{
    static const struct feedline_live_info info = {.pid = 4711, .loader = 2};
    struct feedline_live_stats before, now;
    struct top_rates rates;
    plant_live(2000, &before);
    plant_live(2100, &now);
    /* Half of each counter was there before. */
    uint64_t *word = (uint64_t *)&before.stats.wall_ns;
    for (; word <= &before.pinned_bytes; word++)
        if (word != (uint64_t *)&before.waits &&
            word != (uint64_t *)&before.threads)
            *word /= 2;
    top_rates(NULL, &now, &rates);
    json_t *doc = top_json(&info, &now, &rates);
    print_json(doc);
    json_decref(doc);
    top_rates(&before, &now, &rates);
    doc = top_json(&info, &now, &rates);
    print_json(doc);
    json_decref(doc);
}

/* ---- The loader that is asked ------------------------------------------- */

static int32_t no_work(const struct feedline_op_call *call)
{
    (void)call;
    return FEEDLINE_OK;
}

static void no_stats(void *backend, struct fdl_backend_stats *out)
{
    (void)backend;
    (void)out;
}

/* Of one sample that is never read, with a custom stage. */
static feedline_loader *make_loader(void)
{
    static const uint8_t byte;
    static const void *const data[] = {&byte};
    static const uint64_t sizes[] = {1};
    static const int64_t labels[] = {0};
    static const struct feedline_op_def def = {
        .struct_size = sizeof(def), .name = "mine", .run = no_work};
    feedline_config *cfg;
    feedline_dataset *ds;
    feedline_pipeline *p;
    feedline_loader *l;
    check(feedline_config_create(&cfg));
    check(feedline_config_set(cfg, "live", "false"));
    check(feedline_config_set(cfg, "rank", "0"));
    check(feedline_dataset_open_memory(data, sizes, labels, 1, &ds));
    check(feedline_pipeline_create("none", &p));
    check(feedline_pipeline_add(p, "center_crop", "size=32"));
    check(feedline_pipeline_register(p, &def));
    check(feedline_pipeline_add(p, "mine", NULL));
    check(feedline_loader_create(cfg, ds, p, &l));
    feedline_pipeline_destroy(p);
    feedline_dataset_close(ds);
    feedline_config_destroy(cfg);
    return l;
}

int main(void)
{
    feedline_loader *l = make_loader();
    const struct fdl_backend_ops *real = l->engine->ring->backend_ops;
    struct fdl_backend_ops with_stats = *real;
    struct feedline_wait_stats waits;
    __wrap_fdl_stats_waits(&l->watch, &waits);
    memcpy(l->watch.books.ledger.ns, &waits.not_issued_ns,
           sizeof(l->watch.books.ledger.ns));
    with_stats.stats = no_stats;
    l->engine->ring->backend_ops = &with_stats;
    print_library(l);
    print_metrics(l);
    print_run(l);
    print_top();
    l->engine->ring->backend_ops = real;
    feedline_loader_destroy(l);
    return 0;
}
