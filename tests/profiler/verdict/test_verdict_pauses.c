/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that evaluates between epochs: while it does, the workers have
 * nothing to do. What keeps it waiting in its steps is what would without.
 */
#include "verdict_rows.h"

#define WORKERS 4

/* Of 100 s, waiting for decoding; the rest is a thousand steps. */
#define STEPS(waited, cpus)                                                    \
  RUN, WAITED(PREP, (waited)*SEC),                                             \
      .user_ns = (100 - (waited)) * SEC,                                       \
      .median_step_ns = (100 - (waited)) * SEC / 1000, .workers = WORKERS,     \
      .cpus_usable = (cpus), .depth = 8

/* The workers' time, in seconds of 400. */
#define SPENT(cpu, runq, sleep)                                                \
  .worker_busy_ns = ((cpu) + (runq) + (sleep)) * SEC,                          \
  .worker_cpu_ns = (cpu)*SEC, .worker_runq_ns = (runq)*SEC,                    \
  .worker_sleep_ns = (sleep)*SEC,                                              \
  .worker_blocked_ns = (400 - (cpu) - (runq) - (sleep)) * SEC

static const struct {
    const char *code;
    struct fdl_evidence e;
} rows[] = {
    {"PREP_BOUND_CPU_SATURATED", {STEPS(40, 4), SPENT(396, 2, 0)}},
    {"PREP_BOUND_TUNABLE", {STEPS(40, 16), SPENT(396, 2, 0)}},
    {"PREP_BOUND_TUNABLE", {STEPS(40, 4), SPENT(40, 0, 350)}},
    {"OVERSUBSCRIBED",
     {STEPS(40, 4), SPENT(120, 270, 0), .outside_cores = 3,
      .consumer_cores = 0.1}},
    {"OVERSUBSCRIBED",
     {STEPS(40, 2), SPENT(190, 200, 0), .consumer_cores = 0.1,
      .outside_cores = NONE, .foreign_cores = NONE}},
    {"DEPTH_LIMITED", {STEPS(40, 4), SPENT(200, 2, 0)}},
    {"FED", {STEPS(0, 4), SPENT(300, 2, 0)}},
};

/* Half of the time is pauses now. */
static void pause_in(struct fdl_evidence *e)
{
    int64_t pauses = e->wall_ns;
    e->wall_ns += pauses;
    e->user_ns += pauses;
    e->gaps = 10;
    e->gap_ns = pauses;
    e->worker_blocked_ns += WORKERS * pauses;
    double *const means[] = {&e->consumer_cores, &e->outside_cores,
                             &e->foreign_cores};
    for (size_t i = 0; i < FDL_COUNT_OF(means); i++)
        *means[i] = *means[i] > 0 && *means[i] < 1 ? *means[i] / 2 : *means[i];
}

static const struct fdl_verdict *find(const char *code,
                                      const struct fdl_verdict *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(v[i].code, code) == 0)
            return &v[i];
    return NULL;
}

TEST(pauses_do_not_hide_what_keeps_the_steps_waiting)
{
    struct fdl_verdict before[FDL_VERDICTS_MAX], v[FDL_VERDICTS_MAX];
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        struct fdl_evidence e = rows[i].e;
        judge_rows(&e, before);
        assert_string_equal(before[0].code, rows[i].code);
        pause_in(&e);
        uint32_t n = judge_rows(&e, v);
        for (uint32_t k = 0; k < n; k++)
            print_message("%s: %s\n", v[k].code, v[k].sentence);
        assert_non_null(find("CONSUMER_HOST_BOUND", v, n));
        assert_non_null(find(rows[i].code, v, n));
        assert_string_equal(find(rows[i].code, v, n)->action, before[0].action);
    }
}

TEST_MAIN("verdict_pauses")
