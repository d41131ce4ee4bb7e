/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts on batches that somebody else makes (feedline_watch_*): one row per
 * branch, its edges, and a grid on which no two verdicts may contradict.
 */
#include "verdict_rows.h"

#define WATCH(percent)                                                         \
  RUN, .outside = "DataLoader", .cpus_usable = 8, .depth = 1,                  \
       .user_ns = (100 - (percent)) * SEC,                                     \
       .ledger = {.wait_ns = (percent)*SEC}

#define PROCESSES(n, cores)                                                    \
  .workers = (n), .outside_processes = (n), .outside_process_cores = (cores)

/* Processes of which so many seconds of 100 are told as idle, and that compute
 * for the rest. */
#define TOLD(n, idle)                                                          \
  PROCESSES(n, 0), .worker_busy_ns = (n) * (100 - (idle)) * SEC,               \
                   .worker_cpu_ns = (n) * (100 - (idle)) * SEC,                \
                   .worker_blocked_ns = (n) * (idle)*SEC,                      \
                   .outside_option = "num_workers", .workers_max = 2 * (n)

static const struct verdict_row rows[] = {
    {"it keeps up",
     {WATCH(0)},
     SAYS("FED", "FED", 0),
     {"\"DataLoader\" keeps up"},
     "Nothing to do here"},
    {"the quota is spent",
     {WATCH(50), PROCESSES(4, 2), .cpu_quota = 2, .throttled_ns = 40 * SEC},
     SAYS("CPU_THROTTLED", "HIGH", 1),
     {"the CPU quota was spent for 40 %"},
     "Raise the CPU quota of the container"},
    {"others have the cores",
     {WATCH(50), PROCESSES(4, 2), .outside_cores = 6, .outside_queued = 0.6},
     SAYS("OVERSUBSCRIBED", "HIGH", 1),
     {"other processes used 6.0 of 8"},
     "run fewer at once"},
    {"its processes are busy, and there are cores",
     {WATCH(50), PROCESSES(2, 2), .outside_option = "num_workers"},
     SAYS("PREP_BOUND_TUNABLE", "HIGH", 1),
     {"its 2 workers used 2.0 of 8"},
     "Set num_workers=5"},
    {"the same without a name for them",
     {WATCH(50), PROCESSES(2, 2)},
     SAYS("PREP_BOUND_TUNABLE", "HIGH", 1),
     {"its 2 workers"},
     "Let 5 workers make batches"},
    {"the thread that waits does the work",
     {WATCH(50), .wait_cpu_ns = 45 * SEC},
     SAYS("PREP_BOUND_TUNABLE", "HIGH", 1),
     {"on a core of the thread that waits for 90 %"},
     "Make batches ahead"},
    {"its processes fill the cores",
     {WATCH(50), PROCESSES(8, 8), .outside_option = "num_workers"},
     SAYS("PREP_BOUND_CPU_SATURATED", "HIGH", 1),
     {"its 8 workers used 8.0 of 8"},
     "make batches cheaper"},
    {"its processes wait themselves",
     {WATCH(50), PROCESSES(4, 0.4)},
     SAYS("ITERABLE_BOUND", "HIGH", 1),
     {"its 4 workers used 0.4 of 8"},
     "look at what they wait for"},
    {"nothing is known of it",
     {WATCH(50), .wait_cpu_ns = SEC},
     SAYS("ITERABLE_BOUND", "HIGH", 1),
     {"took that time"},
     "Look inside it"},
    {"it is slow to start",
     {WATCH(20), .median_step_ns = SEC / 10, .first_batch_ns = 18 * SEC,
      .usual_wait_ns = 2e6},
     SAYS("SLOW_START", "HIGH", 0.18 / 0.82),
     {"18.0 s until the first batch"},
     "Run longer"},
    {"its epochs are slow to start",
     {WATCH(20), .median_step_ns = SEC / 10, .epoch_edge_ns = 2 * SEC,
      .epoch_edges = 9, .usual_wait_ns = 2e6},
     SAYS("SLOW_START", "HIGH", 0.18 / 0.82),
     {"2.0 s at each later epoch"},
     "persistent_workers=True"},
    {"it keeps up with fewer workers",
     {WATCH(0), TOLD(4, 80), .median_step_ns = SEC / 10},
     SAYS("FED_OVERPROVISIONED", "FED", 0),
     {"\"DataLoader\" keeps up, and 4 workers had nowhere to put their work "
      "for 80 % of their time"},
     "Use fewer workers: 1 (num_workers=1) would do."},
    {"it keeps up, and a bit less would not do",
     {WATCH(0), TOLD(4, 20), .median_step_ns = SEC / 10},
     SAYS("FED", "FED", 0),
     {"\"DataLoader\" keeps up"},
     "Nothing to do here"},
    {"it keeps up on average",
     {WATCH(4), TOLD(4, 60), .median_step_ns = SEC * 96 / 1000},
     SAYS("DEPTH_LIMITED", "MINOR", 0.04 / 0.96),
     {"on 4 workers, which had nothing to do for 60 % of their time"},
     "prefetch_factor"},
    {"what is ready takes time to arrive",
     {WATCH(4), TOLD(4, 60), .median_step_ns = SEC * 96 / 1000,
      .usual_wait_ns = 3.2e6, .wait_cpu_ns = SEC},
     SAYS("ITERABLE_BOUND", "MINOR", 0.04 / 0.96),
     {"3.2 ms a batch, on 4 workers, which had nothing to do for 60 %",
      "on a core of the thread that waits for 25 %"},
     "Receiving batches takes this time"},
    {"its processes are too few, and idle between epochs",
     {WATCH(20), TOLD(2, 40), .median_step_ns = SEC / 20, .gap_ns = 30 * SEC,
      .gaps = 3},
     SAYS("CONSUMER_HOST_BOUND", "HIGH", 0.3 / 0.7),
     {"paused 3 times"},
     "evaluation"},
};

TEST(watches_are_judged)
{
    check_rows(rows, FDL_COUNT_OF(rows));
}

/* Neighbouring numbers on both sides of a threshold. */
static const struct {
    struct fdl_evidence below, at;
    const char *code[2]; /* that come first */
} edges[] = {
    {{WATCH(50), .throttled_ns = 4 * SEC},
     {WATCH(50), .throttled_ns = 5 * SEC},
     {"ITERABLE_BOUND", "CPU_THROTTLED"}},
    {{WATCH(50), PROCESSES(4, 2.3)},
     {WATCH(50), PROCESSES(4, 2.4)},
     {"ITERABLE_BOUND", "PREP_BOUND_TUNABLE"}},
    {{WATCH(50), .wait_cpu_ns = 29 * SEC},
     {WATCH(50), .wait_cpu_ns = 30 * SEC},
     {"ITERABLE_BOUND", "PREP_BOUND_TUNABLE"}},
    {{WATCH(50), PROCESSES(4, 2), .outside_cores = 6, .outside_queued = 0.19},
     {WATCH(50), PROCESSES(4, 2), .outside_cores = 6, .outside_queued = 0.2},
     {"ITERABLE_BOUND", "OVERSUBSCRIBED"}},
    {{WATCH(50), PROCESSES(4, 2), .outside_cores = 5.1, .outside_queued = 0.5},
     {WATCH(50), PROCESSES(4, 2), .outside_cores = 5.3, .outside_queued = 0.5},
     {"ITERABLE_BOUND", "OVERSUBSCRIBED"}},
};

TEST(watches_have_edges)
{
    for (size_t i = 0; i < FDL_COUNT_OF(edges); i++) {
        struct fdl_evidence below = edges[i].below, at = edges[i].at;
        first_is(edges[i].code[0], &below);
        first_is(edges[i].code[1], &at);
    }
}

/* ---- The grid ------------------------------------------------------------ */

static const int64_t stalls[] = {0, 3, 10, 50, 95};
static const uint32_t process_counts[] = {0, 1, 4, 16};
static const double busy_parts[] = {0.05, 0.5, 0.97};
static const double neighbours[] = {0, 3, 7};
static const double quotas[] = {-1, 2};

/* What is advised, all verdicts together. */
static void nothing_contradicts(const struct fdl_verdict *v, uint32_t n)
{
    bool left = false, used_up = false;
    for (uint32_t i = 0; i < n; i++) {
        const char *said = v[i].action;
        check_text(v[i].sentence, sizeof(v[i].sentence));
        check_text(said, sizeof(v[i].action));
        left |= strstr(said, "there are cores left") != NULL;
        used_up |= strstr(said, "cores are used up") != NULL ||
                   strcmp(v[i].code, "OVERSUBSCRIBED") == 0 ||
                   strcmp(v[i].code, "CPU_THROTTLED") == 0;
        /* Nothing of a watch is ours to turn. */
        if (v[i].moves.workers || v[i].moves.depth || v[i].moves.io_depth ||
            v[i].tuner || strstr(said, "io_depth") || strstr(said, "tuner"))
            fail_msg("%s: %s", v[i].code, said);
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(v[i].code, v[k].code);
    }
    if (left && used_up)
        fail_msg("cores are left, and there are none: %s: %s / %s: %s",
                 v[0].code, v[0].action, v[1].code, v[1].action);
    if (strncmp(v[0].code, "FED", 3) == 0 && left)
        fail_msg("fed, and %s", v[1].action);
}

static void judge_point(int64_t stall, uint32_t n, double busy, double others,
                        double quota)
{
    struct fdl_verdict v[FDL_VERDICTS_MAX];
    double cores = n ? busy * FDL_MIN(n, 8u) : 0;
    struct fdl_evidence e = {
        WATCH(stall),
        .outside_option = n > 1 ? "num_workers" : NULL,
        .outside_queued = others > 0 ? 0.5 : NONE,
        .outside_cores = others > 0 ? others : NONE,
        .wait_cpu_ns = n ? 0 : (int64_t)(busy * (double)stall * 1e9),
        .cpu_quota = quota,
        .throttled_ns = quota > 0 && cores > quota ? 30 * SEC : 0,
        .stall_period = 7,
        .stall_strength = 0.8,
    };
    e.workers = e.outside_processes = n;
    e.outside_process_cores = cores;
    nothing_contradicts(v, judge_rows(&e, v));
}

TEST(no_two_verdicts_on_a_watch_contradict)
{
    for (size_t a = 0; a < FDL_COUNT_OF(stalls); a++)
        for (size_t b = 0; b < FDL_COUNT_OF(process_counts); b++)
            for (size_t c = 0; c < FDL_COUNT_OF(busy_parts); c++)
                for (size_t d = 0; d < FDL_COUNT_OF(neighbours); d++)
                    for (size_t k = 0; k < FDL_COUNT_OF(quotas); k++)
                        judge_point(stalls[a], process_counts[b], busy_parts[c],
                                    neighbours[d], quotas[k]);
}

TEST_MAIN("verdict_outside")
