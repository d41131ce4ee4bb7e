/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides of each threshold, and which of two verdicts comes first. */
#include "verdict_rows.h"

/* Waits of S per cent for one bucket, on 4 workers of 8 cores. */
#define WAITS(bucket, percent)                                                 \
  RUN, .workers = 4, .cpus_usable = 8, WAITED(bucket, (int64_t)((percent)*SEC))
#define STUCK(blocked_percent)                                                 \
  WAITS(PREP, 20), .worker_blocked_ns = (int64_t)((blocked_percent)*4 * SEC)
#define FULL(workers_, cpus)                                                   \
  RUN, .workers = (workers_), .cpus_usable = (cpus),                           \
       .ledger = {.ns = {[FDL_BUCKET_PREP] = 20 * SEC}}
/* 1000 calls on 4 workers that were off the core, and nobody told why. */
#define HELD(cpu)                                                              \
  .worker_busy_ns = 400 * SEC, .worker_cpu_ns = (cpu)*SEC,                     \
  .worker_sleep_ns = (400 - (cpu)) * SEC, .lock.name = "blur",                 \
  .lock.wall_ns = 400 * SEC, .lock.cpu_ns = (cpu)*SEC, .lock.calls = 1000
#define IDLE RUN, .workers = 4, .cpus_usable = 8
#define BUSY(runq)                                                             \
  .worker_busy_ns = 100 * SEC,                                                 \
  .worker_cpu_ns = (int64_t)((100 - (runq)) * SEC),                            \
  .worker_runq_ns = (int64_t)((runq)*SEC)
/* Calls of so many seconds that waited so long, on a core for the rest. */
#define LOCK(seconds, wait)                                                    \
  .lock = {.name = "blur",                                                     \
           .wall_ns = (seconds)*SEC,                                           \
           .cpu_ns = (seconds)*SEC - (wait),                                   \
           .wait_ns = (wait)}
#define TAIL(ms)                                                               \
  .worker_busy_ns = 200 * SEC, .worker_cpu_ns = 200 * SEC, .depth = 4,         \
  .median_step_ns = 80000000, .ticket_tail_ns = (ms)*1000000

static const struct edge {
    const char *name;
    struct fdl_evidence below, at;
    const char *code[2]; /* that come first */
} edges[] = {
    {"8 batches",
     {.batches = 7, .wall_ns = 100 * SEC},
     {.batches = 8, .wall_ns = 100 * SEC},
     {"INSUFFICIENT_DATA", "FED"}},
    {"a second",
     {.batches = 63, .wall_ns = SEC - 1},
     {.batches = 63, .wall_ns = SEC},
     {"INSUFFICIENT_DATA", "FED"}},
    {"64 batches",
     {.batches = 63, .wall_ns = 1000},
     {.batches = 64, .wall_ns = 1000},
     {"INSUFFICIENT_DATA", "FED"}},
    {"S", {WAITS(PREP, 0.99)}, {WAITS(PREP, 1)}, {"FED", "PREP_BOUND_TUNABLE"}},
    {"cores",
     {FULL(7, 8)},
     {FULL(8, 8)},
     {"PREP_BOUND_TUNABLE", "PREP_BOUND_CPU_SATURATED"}},
    {"the consumer's core",
     {FULL(3, 4), .consumer_cores = 0.5},
     {FULL(3, 4), .consumer_cores = 0.51},
     {"PREP_BOUND_TUNABLE", "PREP_BOUND_CPU_SATURATED"}},
    {"quota, workers that fit",
     {FULL(8, 8), .throttled_ns = 499 * SEC / 100},
     {FULL(8, 8), .throttled_ns = 5 * SEC},
     {"PREP_BOUND_CPU_SATURATED", "CPU_THROTTLED"}},
    {"quota, fewer workers",
     {FULL(4, 8), .throttled_ns = 99 * SEC / 100},
     {FULL(4, 8), .throttled_ns = SEC},
     {"PREP_BOUND_TUNABLE", "CPU_THROTTLED"}},
    {"passed waits",
     {STUCK(15), .long_waits = 100, .passed_waits = 49},
     {STUCK(15), .long_waits = 100, .passed_waits = 50},
     {"PREP_BOUND_TUNABLE", "HEAD_OF_LINE"}},
    {"no room and passed",
     {STUCK(5), .long_waits = 100, .passed_waits = 99},
     {STUCK(5.1), .long_waits = 100, .passed_waits = 99},
     {"PREP_BOUND_TUNABLE", "HEAD_OF_LINE"}},
    {"no room alone",
     {STUCK(19.9)},
     {STUCK(20)},
     {"PREP_BOUND_TUNABLE", "DEPTH_LIMITED"}},
    {"tail",
     {STUCK(6), TAIL(320)},
     {STUCK(6), TAIL(321)},
     {"PREP_BOUND_TUNABLE", "DEPTH_LIMITED"}},
    {"slots that are held",
     {STUCK(30), .depth = 4, .median_step_ns = SEC, .ticket_tail_ns = 2 * SEC},
     {STUCK(30), .depth = 4, .median_step_ns = SEC,
      .ticket_tail_ns = 2 * SEC - 1},
     {"DEPTH_LIMITED", "CONSUMER_HOLDS_SLOTS"}},
    {"a late wake-up while others take the cores",
     {WAITS(WAKE, 20), BUSY(9), .outside_cores = 8},
     {WAITS(WAKE, 20), BUSY(10), .outside_cores = 8},
     {"OUT_OF_SCOPE", "OVERSUBSCRIBED"}},
    {"queueing for a core",
     {FULL(4, 8), BUSY(49.9)},
     {FULL(4, 8), BUSY(50.1)},
     {"PREP_BOUND_TUNABLE", "OVERSUBSCRIBED"}},
    {"a lock",
     {FULL(4, 8), BUSY(0), LOCK(60, 199 * SEC / 10)},
     {FULL(4, 8), BUSY(0), LOCK(60, 20 * SEC)},
     {"PREP_BOUND_TUNABLE", "LOCK_BOUND"}},
    {"a lock, and cores are missing more",
     {FULL(16, 8), BUSY(60.1), LOCK(60, 30 * SEC)},
     {FULL(16, 8), BUSY(59.9), LOCK(60, 30 * SEC)},
     {"OVERSUBSCRIBED", "LOCK_BOUND"}},
    {"a lock that calls find taken",
     {FULL(4, 8), HELD(60), .lock.waits = 799},
     {FULL(4, 8), HELD(60), .lock.waits = 800},
     {"PREP_BOUND_TUNABLE", "LOCK_BOUND"}},
    {"a lock, and one core is filled",
     {FULL(4, 8), HELD(74), .lock.wait_ns = 8 * SEC},
     {FULL(4, 8), HELD(75), .lock.wait_ns = 8 * SEC},
     {"PREP_BOUND_TUNABLE", "LOCK_BOUND"}},
    {"more than one core is filled",
     {FULL(4, 8), HELD(111), .lock.wait_ns = 8 * SEC},
     {FULL(4, 8), HELD(109), .lock.wait_ns = 8 * SEC},
     {"PREP_BOUND_TUNABLE", "LOCK_BOUND"}},
    {"one core is filled, and some call waits",
     {FULL(4, 8), HELD(100), .lock.wait_ns = 7 * SEC},
     {FULL(4, 8), HELD(100), .lock.wait_ns = 8 * SEC},
     {"PREP_BOUND_TUNABLE", "LOCK_BOUND"}},
    {"a lock, and no room for results",
     {STUCK(20), BUSY(0), LOCK(95, 90 * SEC)},
     {STUCK(19), BUSY(0), LOCK(95, 90 * SEC)},
     {"DEPTH_LIMITED", "LOCK_BOUND"}},
    {"workers that queue",
     {FULL(9, 8), BUSY(49.9)},
     {FULL(9, 8), BUSY(50.1)},
     {"PREP_BOUND_CPU_SATURATED", "OVERSUBSCRIBED"}},
    {"foreign cores",
     {FULL(8, 8), BUSY(60), .foreign_cores = 1.59},
     {FULL(8, 8), BUSY(60), .foreign_cores = 1.6},
     {"OVERSUBSCRIBED", "FOREIGN_CPU"}},
    {"a third of a foreign core",
     {FULL(1, 1), BUSY(60), .foreign_cores = 0.29},
     {FULL(1, 1), BUSY(60), .foreign_cores = 0.3},
     {"OVERSUBSCRIBED", "FOREIGN_CPU"}},
    {"foreign, cores are free",
     {FULL(2, 8), BUSY(9), .foreign_cores = 5},
     {FULL(2, 8), BUSY(9), .foreign_cores = 6.3},
     {"PREP_BOUND_TUNABLE", "FOREIGN_CPU"}},
    {"foreign against too many workers",
     {FULL(16, 8), BUSY(60), .foreign_cores = 0.39},
     {FULL(16, 8), BUSY(60), .foreign_cores = 1.7},
     {"OVERSUBSCRIBED", "FOREIGN_CPU"}},
    {"small files",
     {WAITS(FETCH, 20), .mean_file_bytes = 32768},
     {WAITS(FETCH, 20), .mean_file_bytes = 32767},
     {"FETCH_LATENCY_BOUND", "SMALL_FILES"}},
    {"flat rate",
     {WAITS(FETCH, 20), .rate_by_depth = 0.054, .latency_by_depth = 1},
     {WAITS(FETCH, 20), .rate_by_depth = 0.053, .latency_by_depth = 1},
     {"FETCH_LATENCY_BOUND", "FETCH_BW_BOUND"}},
    {"flat rate, of 8 times the reads",
     {WAITS(FETCH, 20), .rate_by_depth = 0.18, .latency_by_depth = 7},
     {WAITS(FETCH, 20), .rate_by_depth = 0.16, .latency_by_depth = 7},
     {"FETCH_LATENCY_BOUND", "FETCH_BW_BOUND"}},
    {"flat rate, but hardly more reads",
     {WAITS(FETCH, 20), .rate_by_depth = NONE, .latency_by_depth = 0.49},
     {WAITS(FETCH, 20), .rate_by_depth = NONE, .latency_by_depth = 0.51},
     {"FETCH_LATENCY_BOUND", "FETCH_BW_BOUND"}},
    {"cold, by epochs",
     {WAITS(FETCH, 20), .first_epoch_fetch = 0.59, .later_epoch_fetch = 0.2},
     {WAITS(FETCH, 20), .first_epoch_fetch = 0.61, .later_epoch_fetch = 0.2},
     {"FETCH_LATENCY_BOUND", "COLD_CACHE"}},
    {"cold, by epochs and reads",
     {WAITS(FETCH, 20), .first_epoch_fetch = 0.61, .later_epoch_fetch = 0.2,
      .first_epoch_read = 2.9e6, .later_epoch_read = 1e6},
     {WAITS(FETCH, 20), .first_epoch_fetch = 0.61, .later_epoch_fetch = 0.2,
      .first_epoch_read = 3.1e6, .later_epoch_read = 1e6},
     {"FETCH_LATENCY_BOUND", "COLD_CACHE"}},
    {"cold, a few",
     {WAITS(FETCH, 20), .cold_fraction = 0.049},
     {WAITS(FETCH, 20), .cold_fraction = 0.05},
     {"FETCH_LATENCY_BOUND", "COLD_CACHE"}},
    {"cold, nearly all",
     {WAITS(FETCH, 20), .cold_fraction = 0.951},
     {WAITS(FETCH, 20), .cold_fraction = 0.949},
     {"FETCH_LATENCY_BOUND", "COLD_CACHE"}},
    {"what is beside the wait",
     {IDLE, .gaps = 3, .gap_ns = 999 * SEC / 100},
     {IDLE, .gaps = 3, .gap_ns = 10 * SEC},
     {"FED", "CONSUMER_HOST_BOUND"}},
    {"more than the wait",
     {WAITS(PREP, 20), .gaps = 3, .gap_ns = 19 * SEC},
     {WAITS(PREP, 20), .gaps = 3, .gap_ns = 21 * SEC},
     {"PREP_BOUND_TUNABLE", "CONSUMER_HOST_BOUND"}},
    {"utilisation",
     {IDLE, .gpu_utilization = 0.5},
     {IDLE, .gpu_utilization = 0.49},
     {"FED", "CONSUMER_HOST_BOUND"}},
    {"utilisation while it waits",
     {WAITS(PREP, 5), .gpu_utilization = 0.3},
     {WAITS(PREP, 4.9), .gpu_utilization = 0.3},
     {"PREP_BOUND_TUNABLE", "CONSUMER_HOST_BOUND"}},
    {"SM activity",
     {IDLE, .gpu_utilization = 1, .gpu_sm_active = 0.5},
     {IDLE, .gpu_utilization = 1, .gpu_sm_active = 0.49},
     {"FED", "GPU_KERNEL_INEFFICIENT"}},
    {"power",
     {IDLE, .gpu_power_capped = true, .gpu_clock = 0.9},
     {IDLE, .gpu_power_capped = true, .gpu_clock = 0.89},
     {"FED", "GPU_CAPPED"}},
    {"silence",
     {IDLE, .gpu_idle_seconds = 9.9, .gpu_utilization = 1},
     {IDLE, .gpu_idle_seconds = 10, .gpu_utilization = NONE},
     {"FED", "GPU_UNUSED"}},
    {"silence of ten batches",
     {.batches = 8, .wall_ns = 96 * SEC, .gpu_idle_seconds = 119},
     {.batches = 8, .wall_ns = 96 * SEC, .gpu_idle_seconds = 120},
     {"FED", "GPU_UNUSED"}},
    {"collectives",
     {IDLE, .world = 2, .phase = "AllReduce", .phase_ns = 199 * SEC / 10},
     {IDLE, .world = 2, .phase = "AllReduce", .phase_ns = 20 * SEC},
     {"FED", "COMM_OR_STRAGGLER"}},
    {"other phases",
     {IDLE, .world = 2, .phase = "commit", .phase_ns = 90 * SEC},
     {IDLE, .world = 2, .phase = "barrier", .phase_ns = 90 * SEC},
     {"FED", "COMM_OR_STRAGGLER"}},
    {"peers",
     {IDLE, .world = 2, .peer_stall = 0.049},
     {IDLE, .world = 2, .peer_stall = 0.05},
     {"FED", "COMM_OR_STRAGGLER"}},
    {"alone",
     {IDLE, .world = 1, .peer_stall = 0.5},
     {IDLE, .world = 2, .peer_stall = 0.5},
     {"FED", "COMM_OR_STRAGGLER"}},
    {"slower steps",
     {IDLE, .user_ns = 100 * SEC, .interference = 0.049,
      .interference_sigma = 9},
     {IDLE, .user_ns = 100 * SEC, .interference = 0.05,
      .interference_sigma = 9},
     {"FED", "INTERFERENCE"}},
    {"surely slower steps",
     {IDLE, .user_ns = 100 * SEC, .interference = 0.2,
      .interference_sigma = 3.9},
     {IDLE, .user_ns = 100 * SEC, .interference = 0.2, .interference_sigma = 4},
     {"FED", "INTERFERENCE"}},
    {"the first batch",
     {WAITS(PREP, 10), .median_step_ns = SEC,
      .first_batch_ns = 499 * SEC / 100},
     {WAITS(PREP, 10), .median_step_ns = SEC, .first_batch_ns = 5 * SEC},
     {"PREP_BOUND_TUNABLE", "SLOW_START"}},
    {"most of the waiting, however long steps are",
     {WAITS(PREP, 10), .median_step_ns = 9 * SEC,
      .first_batch_ns = 499 * SEC / 100},
     {WAITS(PREP, 10), .median_step_ns = 9 * SEC, .first_batch_ns = 5 * SEC},
     {"PREP_BOUND_TUNABLE", "SLOW_START"}},
    {"before the window",
     {WAITS(PREP, 5), .median_step_ns = SEC, .first_batch_ns = 6 * SEC},
     {WAITS(PREP, 5), .median_step_ns = SEC, .first_batch_ns = 4 * SEC},
     {"PREP_BOUND_TUNABLE", "SLOW_START"}},
    {"too many",
     {IDLE, .worker_blocked_ns = 200 * SEC},
     {IDLE, .worker_blocked_ns = 201 * SEC},
     {"FED", "FED_OVERPROVISIONED"}},
    {"more than it takes",
     {IDLE, .worker_busy_ns = 201 * SEC, .worker_cpu_ns = 201 * SEC,
      .median_step_ns = SEC / 10},
     {IDLE, .worker_busy_ns = 100 * SEC, .worker_cpu_ns = 100 * SEC,
      .median_step_ns = SEC / 10},
     {"FED", "FED_OVERPROVISIONED"}},
    {"no time to spare",
     {IDLE, GPU, .worker_blocked_ns = 80 * SEC},
     {IDLE, GPU, .worker_blocked_ns = 81 * SEC},
     {"FED", "GPU_BOUND"}},
    {"ready calls",
     {IDLE, .worker_blocked_ns = 100 * SEC, .gpu_utilization = 1, .calls = 1000,
      .ready_calls = 989},
     {IDLE, .worker_blocked_ns = 100 * SEC, .gpu_utilization = 1, .calls = 1000,
      .ready_calls = 990},
     {"FED", "GPU_BOUND"}},
    {"what nothing explains",
     {RUN, .workers = 4, .cpus_usable = 8,
      .ledger = {.wait_ns = 20 * SEC, .ns = {[FDL_BUCKET_PREP] = 3 * SEC}}},
     {RUN, .workers = 4, .cpus_usable = 8,
      .ledger = {.wait_ns = 20 * SEC, .ns = {[FDL_BUCKET_PREP] = 4 * SEC}}},
     {"OUT_OF_SCOPE", "PREP_BOUND_TUNABLE"}},
};

static bool expect(const char *name, const char *side, struct fdl_evidence e,
                   const char *code)
{
    struct fdl_verdict v[FDL_VERDICTS_MAX];
    judge_rows(&e, v);
    if (strcmp(v[0].code, code) == 0)
        return true;
    print_error("%s, %s: %s instead of %s\n", name, side, v[0].code, code);
    return false;
}

TEST(test_edges)
{
    bool right = true;
    for (size_t i = 0; i < FDL_COUNT_OF(edges); i++) {
        const struct edge *r = &edges[i];
        right &= expect(r->name, "below", r->below, r->code[0]);
        right &= expect(r->name, "at", r->at, r->code[1]);
    }
    assert_true(right);
}

/* What comes behind the first one. */
static const struct {
    struct fdl_evidence e;
    const char *codes[FDL_VERDICTS_MAX];
} lists[] = {
    {{RUN, .workers = 4, .cpus_usable = 8,
      .ledger = {.ns = {[FDL_BUCKET_PREP] = 6 * SEC,
                        [FDL_BUCKET_FETCH] = 5 * SEC,
                        [FDL_BUCKET_WAKE] = 2 * SEC}}},
     {"PREP_BOUND_TUNABLE", "FETCH_LATENCY_BOUND"}},
    {{WAITS(PREP, 20), .stall_period = 10, .stall_strength = 0.5},
     {"PREP_BOUND_TUNABLE", "PERIODIC_STALL"}},
    {{WAITS(PREP, 20), .stall_period = 10, .stall_strength = 0.49},
     {"PREP_BOUND_TUNABLE"}},
    {{WAITS(PREP, 0.5), .stall_period = 10, .stall_strength = 0.9}, {"FED"}},
    {{WAITS(PREP, 10), .median_step_ns = SEC, .first_batch_ns = 4 * SEC},
     {"PREP_BOUND_TUNABLE", "SLOW_START"}},
    /* Not most of the waiting, and no three steps. */
    {{WAITS(PREP, 10), .median_step_ns = 2 * SEC, .first_batch_ns = 4 * SEC},
     {"PREP_BOUND_TUNABLE"}},
    {{FULL(8, 8), .throttled_ns = 2 * SEC},
     {"PREP_BOUND_CPU_SATURATED", "CPU_THROTTLED"}},
    {{IDLE, .throttled_ns = 6 * SEC}, {"FED", "CPU_THROTTLED"}},
    {{IDLE, .throttled_ns = 4 * SEC}, {"FED"}},
    {{IDLE, .throttled_ns = 40 * SEC}, {"CPU_THROTTLED", "FED"}},
    {{IDLE, GPU, .worker_blocked_ns = 300 * SEC},
     {"GPU_BOUND", "FED_OVERPROVISIONED"}},
    {{IDLE, .world = 4}, {"FED", "COMM_OR_STRAGGLER"}},
    {{WAITS(PREP, 30), .gpu_thermal_capped = true, .gpu_clock = 0.8},
     {"PREP_BOUND_TUNABLE", "GPU_CAPPED"}},
    {{WAITS(PREP, 30), .interference = 0.1, .interference_sigma = 5,
      .user_ns = 70 * SEC},
     {"PREP_BOUND_TUNABLE", "INTERFERENCE"}},
    {{WAITS(PREP, 3), .gap_ns = 20 * SEC, .gaps = 2, .gpu_utilization = 0.4},
     {"CONSUMER_HOST_BOUND", "PREP_BOUND_TUNABLE"}},
};

TEST(test_order)
{
    for (size_t i = 0; i < FDL_COUNT_OF(lists); i++) {
        struct fdl_verdict v[FDL_VERDICTS_MAX];
        struct fdl_evidence e = lists[i].e;
        uint32_t n = judge_rows(&e, v), k;
        for (k = 0; k < FDL_VERDICTS_MAX && lists[i].codes[k]; k++) {
            if (k >= n || strcmp(v[k].code, lists[i].codes[k]) != 0)
                fail_msg("list %zu: %s instead of %s", i,
                         k < n ? v[k].code : "nothing", lists[i].codes[k]);
        }
        if (n != k)
            fail_msg("list %zu: %s is one too many", i, v[k].code);
    }
}

/* With the memory reader no advice is about storage. */
TEST(test_memory_reader)
{
    struct fdl_verdict v[FDL_VERDICTS_MAX];
    struct fdl_evidence e = {WAITS(FETCH, 20), .mean_file_bytes = 1000,
                             .cold_fraction = 0.5};
    e.ledger.wait_ns = 20 * SEC;
    fill_unknown(&e);
    e.reads_storage = false;
    fdl_verdict_judge(&e, v);
    assert_string_equal(v[0].code, "FETCH_LATENCY_BOUND");
    assert_non_null(strstr(v[0].action, "more workers"));
}

/* 100 ms a sample each; what it does with them decides the advice. */
static void judge_source(int64_t cpu_ns, int64_t lock_ns, bool anew,
                         const char *sentence, const char *action)
{
    struct fdl_verdict v[FDL_VERDICTS_MAX];
    struct fdl_evidence e = {WAITS(FETCH, 20), .mean_file_bytes = 1000};
    e.ledger.wait_ns = 20 * SEC;
    fill_unknown(&e);
    e.source = (struct fdl_costly_op){
        .name = "s3", .wall_ns = 100 * SEC, .cpu_ns = cpu_ns, .samples = 1000};
    e.source_lock_ns = lock_ns;
    e.source_anew = anew;
    fdl_verdict_judge(&e, v);
    assert_string_equal(v[0].code, "FETCH_LATENCY_BOUND");
    if (!strstr(v[0].sentence, sentence) || !strstr(v[0].action, action))
        fail_msg("%s\n%s", v[0].sentence, v[0].action);
}

TEST(a_reader_of_the_programs_waits_or_works)
{
    judge_source(3 * SEC, 0, false,
                 "; your reader \"s3\": 100 ms a sample, 3.0 % on a core",
                 "Raise io_depth");
    judge_source(60 * SEC, 0, false, "60 % on a core", "compute less");
    judge_source(3 * SEC, 60 * SEC, false, "60 % waiting for a lock",
                 "it does not wait; or use reader=memory if the files fit");
    judge_source(60 * SEC, 0, true, "60 % on a core", "it does not wait.");
    judge_source(3 * SEC, 0, true, "3.0 % on a core", "use a faster source.");
}

/* Only where somebody is there to do it, and the action is his. */
TEST(the_tuner_is_named_where_it_is_on)
{
    static const char words[] = "The tuner does that.";
    struct fdl_evidence e = {WAITS(PREP, 20)}; /* more workers would help */
    struct fdl_verdict all[FDL_VERDICTS_MAX];
    e.ledger.wait_ns = 20 * SEC;
    fill_unknown(&e);
    fdl_verdict_judge(&e, all);
    assert_true(all[0].tuner);
    assert_null(strstr(all[0].action, words));
    e.tuning = true;
    fdl_verdict_judge(&e, all);
    assert_null(strstr(all[0].action, words));
    assert_non_null(strstr(all[0].action, "With workers=auto the tuner does"));
    e.workers_auto = true;
    fdl_verdict_judge(&e, all);
    assert_true(all[0].tuner);
    assert_non_null(strstr(all[0].action, words));
    struct fdl_evidence fed = {IDLE, .tuning = true};
    fill_unknown(&fed);
    fdl_verdict_judge(&fed, all);
    assert_false(all[0].tuner);
    assert_null(strstr(all[0].action, words));
}

TEST_MAIN("verdict_edges")
