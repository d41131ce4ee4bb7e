/* SPDX-License-Identifier: Apache-2.0 */
/* What a run is judged by: counts of changes, the moment it had settled, the
 * quantiles of many runs, the gates. Runs are made up, the oracle is real. */
#include "bench/sim/verdicts.h"
#include "sim_plain.h"
#include "test.h"

#include <math.h>

#define SEED 3u

/* Three points of loader 0, and one of another loader that does not count. */
static struct sim_result made_up(struct sim_point *points, uint64_t n)
{
    struct sim_result r = {.seconds = 10,
                           .stall = 0.1,
                           .workers = 2,
                           .depth = 4,
                           .points = points,
                           .n_points = n};
    return r;
}

static struct sim_point point(uint64_t batch, uint32_t workers, uint32_t depth)
{
    struct sim_point p = {
        .seconds = (double)batch / 100,
        .batch = batch,
        .knobs = {.workers = workers, .depth = depth, .io_depth = 16}};
    return p;
}

static struct sim_score score(const struct sim_scenario *s,
                              const struct sim_oracle *o, struct sim_point *p,
                              uint64_t n)
{
    struct sim_result r = made_up(p, n);
    struct sim_score out;
    sim_score(s, SEED, o, 8, &r, &out);
    return out;
}

static void find_oracle(const struct sim_scenario *s, struct sim_oracle *o)
{
    assert_true(sim_find_oracle(s, SEED, o));
    assert_int_equal(o->phase[0].best.workers, 4);
}

/* 4 workers are just enough: a batch is 36 ms of work, a step is 10 ms. */
static struct sim_scenario four(void)
{
    struct sim_scenario s = test_plain(0.010, 8, 0.036);
    snprintf(s.name, sizeof(s.name), "four");
    s.family = "four";
    return s;
}

TEST(counts_changes_and_reversals)
{
    struct sim_scenario s = four();
    struct sim_oracle o;
    find_oracle(&s, &o);
    struct sim_point p[] = {point(0, 2, 8),   point(100, 5, 8),
                            point(100, 5, 9), point(200, 4, 9),
                            point(300, 3, 9), point(400, 4, 9)};
    struct sim_score out = score(&s, &o, p, 6);
    /* 2 5 4 3 4: four changes, two of them the other way. */
    assert_true(fabs(out.changes - 4 * 24000.0 / 2000) < 1e-9);
    assert_true(fabs(out.reversals - 2) < 1e-9);
    assert_true(fabs(out.excess - 0.25) < 1e-9);
    assert_true(fabs(out.regret - (10 / o.seconds - 1)) < 1e-9);

    p[3].loader = 1; /* 2 5 3 4 */
    out = score(&s, &o, p, 6);
    assert_true(fabs(out.changes - 3 * 24000.0 / 2000) < 1e-9);
}

TEST(final_is_the_longest_of_the_end)
{
    struct sim_scenario s = four();
    struct sim_oracle o;
    find_oracle(&s, &o);
    struct sim_point p[] = {point(0, 9, 8), point(1850, 5, 8),
                            point(1990, 6, 8)};
    struct sim_score out = score(&s, &o, p, 3);
    assert_int_equal(out.final, 5);
    assert_int_equal(out.cheapest, 4);
}

TEST(settles_where_it_stays)
{
    struct sim_scenario s = four();
    struct sim_oracle o;
    find_oracle(&s, &o);

    struct sim_point good[] = {point(0, 4, 12)};
    struct sim_score out = score(&s, &o, good, 1);
    assert_true(out.settled_ever);
    assert_int_equal(out.settled, 0);

    /* More workers than needed are as good. */
    struct sim_point later[] = {point(0, 2, 12), point(300, 6, 12),
                                point(700, 4, 12)};
    out = score(&s, &o, later, 3);
    assert_true(out.settled_ever);
    assert_int_equal(out.settled, 300);
    assert_true(fabs(out.settled_seconds - 3) < 1e-9);
    assert_int_equal(out.settled_changes, 1);

    struct sim_point restless[] = {point(0, 4, 12),   point(400, 2, 12),
                                   point(500, 4, 12), point(900, 2, 12),
                                   point(910, 4, 12), point(1400, 1, 12)};
    out = score(&s, &o, restless, 6);
    assert_false(out.settled_ever);
    assert_int_equal(out.settled, 2000);
}

TEST(too_little_depth_is_not_settled)
{
    struct sim_scenario s = four();
    s.work.cv = 1;
    s.batch_size = 2; /* few samples: batches differ */
    s.work.mean = 0.018;
    struct sim_oracle o;
    assert_true(sim_find_oracle(&s, SEED, &o));
    uint32_t workers = o.phase[0].best.workers;
    struct sim_point p[] = {point(0, workers, 1), point(600, workers, 64)};
    struct sim_score out = score(&s, &o, p, 2);
    assert_true(out.settled_ever);
    assert_int_equal(out.settled, 600);
}

TEST(what_is_no_number_is_wrong)
{
    struct sim_scenario s = four();
    struct sim_oracle o;
    find_oracle(&s, &o);
    struct sim_point p[] = {point(0, 4, 12)};
    assert_false(score(&s, &o, p, 1).wrong);
    struct sim_result r = made_up(p, 1);
    r.stall = NAN;
    struct sim_score out;
    sim_score(&s, SEED, &o, 8, &r, &out);
    assert_true(out.wrong);
    p[0].knobs.workers = s.limits.workers_max + 1;
    assert_true(score(&s, &o, p, 1).wrong);
}

TEST(quantiles_are_values_that_were)
{
    double v[] = {5, 1, 4, 2, 3};
    assert_true(summary_quantile(v, 5, 0.5) == 3);
    assert_true(summary_quantile(v, 5, 0.95) == 5);
    assert_true(summary_quantile(v, 5, 0.8) == 4);
    assert_true(summary_quantile(v, 5, 0) == 1);
    assert_true(summary_quantile(v, 1, 0.95) == 1);
    assert_true(isnan(summary_quantile(v, 0, 0.5)));
}

/* Two matches of one family and one of another. */
TEST(summaries_add_up)
{
    struct sim_score scores[3] = {
        {.regret = 0.01,
         .excess = -0.1,
         .settled = 100,
         .settled_ever = true,
         .changes = 2,
         .final = 4,
         .cheapest = 4,
         .seconds = 1},
        {.regret = 0.03,
         .excess = 0.02,
         .settled = 300,
         .settled_ever = true,
         .changes = 6,
         .final = 7,
         .cheapest = 4,
         .seconds = 1,
         .memory_peak = 3,
         .memory_budget = 4,
         .violations = 2},
        {.regret = 0.50, .seconds = 1, .final = 1, .cheapest = 1}};
    struct tournament_match matches[3];
    memset(matches, 0, sizeof(matches));
    for (int i = 0; i < 3; i++) {
        matches[i].scores = &scores[i];
        matches[i].scenario.family = i < 2 ? "a" : "b";
        matches[i].by_default.settled = i == 1 ? 50 : 0; /* else it is good */
    }
    struct tournament t = {.matches = matches, .n_matches = 3};
    struct sim_summary m;
    summary_make(&t, 0, "a", &m);
    assert_int_equal(m.runs, 2);
    assert_true(fabs(m.regret - 0.02) < 1e-12);
    assert_true(fabs(m.regret_max - 0.03) < 1e-12);
    assert_ptr_equal(m.regret_worst, &matches[1]);
    assert_ptr_equal(m.excess_worst, &matches[1]);
    assert_true(fabs(m.changes - 4) < 1e-12);
    assert_true(fabs(m.changes_max - 6) < 1e-12);
    assert_true(fabs(m.within - 0.5) < 1e-12);
    assert_true(fabs(m.above - 3) < 1e-12);
    assert_true(fabs(m.settled - 100) < 1e-12);
    assert_int_equal(m.to_find, 1);
    assert_true(fabs(m.found - 300) < 1e-12);
    assert_true(fabs(m.memory - 0.75) < 1e-12);
    assert_int_equal(m.violations, 2);
    summary_make(&t, 0, NULL, &m);
    assert_int_equal(m.runs, 3);
    assert_true(fabs(m.regret_max - 0.50) < 1e-12);
}

static const struct sim_summary at_the_limits = {.regret = 0.009,
                                                 .regret_p95 = 0.05,
                                                 .excess_p95 = 0.015,
                                                 .excess_max = 0.03,
                                                 .found = 200,
                                                 .to_find = 1,
                                                 .changes = 12,
                                                 .starved_depth = 12,
                                                 .overspent = 0.01,
                                                 .above = 1};

TEST(gates_hold_at_their_limits)
{
    struct sim_gate gates[SIM_GATES];
    struct sim_summary m = at_the_limits;
    assert_int_equal(verdict_list(&m, true, false, gates), 0);
    for (unsigned i = 0; i < SIM_GATES; i++)
        assert_true(gates[i].what && gates[i].ok);
}

/* Where no run tells, nothing is asked. */
TEST(gates_without_a_case_are_not_asked)
{
    struct sim_gate gates[SIM_GATES];
    struct sim_summary m = at_the_limits;
    m.found = NAN;
    m.to_find = 0;
    m.starved_depth = 0;
    assert_int_equal(verdict_list(&m, true, false, gates), 0);
}

/* Each of them alone. */
TEST(gates_miss_what_is_beyond)
{
    struct sim_gate gates[SIM_GATES];
    double *fields[9];
    struct sim_summary m = at_the_limits;
    fields[0] = &m.regret;
    fields[1] = &m.regret_p95;
    fields[2] = &m.excess_p95;
    fields[3] = &m.excess_max;
    fields[4] = &m.found;
    fields[5] = &m.changes;
    fields[6] = &m.above;
    fields[7] = &m.starved_depth;
    fields[8] = &m.overspent;
    for (int i = 0; i < 9; i++) {
        double was = *fields[i];
        *fields[i] = was * 1.05;
        assert_int_equal(verdict_list(&m, true, false, gates), 1);
        /* Regret and excess may be more from one worker; loose is twice as
         * wide. */
        assert_int_equal(verdict_list(&m, false, false, gates), i > 3);
        assert_int_equal(verdict_list(&m, true, true, gates), 0);
        *fields[i] = was;
    }
    m.violations = 1;
    assert_int_equal(verdict_list(&m, true, true, gates), 1);
}

TEST_MAIN("sim_score")
