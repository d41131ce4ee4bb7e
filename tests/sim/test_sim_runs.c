/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold in every run of the simulator, whatever the scenario and
 * whatever its controller does: sums of time, the same run from the same seed,
 * every batch in its turn, knobs within limits, memory accounted for.
 */
#include "sim_plain.h"
#include "test.h"

#include <math.h>

static struct sim_result run(const struct sim_scenario *s,
                             const struct sim_controller *c,
                             const struct fdl_knobs *start, uint64_t seed)
{
    struct sim_result r;
    assert_true(sim_run(s, c, start, seed, &r));
    return r;
}

/* a is b, to what rounding n times to ns can do. */
static void same(int64_t a, int64_t b, int64_t n)
{
    if (llabs(a - b) > n)
        fail_msg("%lld is not %lld", (long long)a, (long long)b);
}

static void check_sums(const struct sim_scenario *s, const struct sim_result *r)
{
    const struct fdl_tuner_reading *x = &r->last;
    int64_t told = x->cpu_ns + x->runq_ns + x->throttle_ns + x->lock_ns;
    assert_true(x->work_ns + 4 >= told); /* sleep is the rest */
    /* Work that a hiccup or an unreported lock holds up counts as sleep. */
    bool sleeps = s->sleep.mean > 0 || s->hang > 0 || s->hiccup > 0;
    if (!sleeps && !s->lock_untold)
        same(x->work_ns, told, 8);
    assert_true(s->lock > 0 || x->lock_ns == 0);
    assert_true(x->wait_fetch_ns <= x->wait_ns + 1000);
    if (s->loaders == 1) /* the last batch is not used any more */
        same(x->user_ns + x->wait_ns + x->api_ns, x->now_ns, 1000);
    assert_int_equal(x->batches, s->batches);
    assert_true(x->samples >= s->batches * s->batch_size);
    assert_true(x->outstanding <= s->limits.depth_max);
    assert_true(x->ready <= x->outstanding);
}

/* A short version of any scenario. */
static void shorten(struct sim_scenario *s)
{
    s->batches = 400;
    for (uint32_t i = 1; i < s->n_phases; i++)
        s->phase[i].from = 400 * i / s->n_phases;
    s->hang_at /= 60;
}

TEST(sums_of_time)
{
    for (unsigned i = 0; i < sim_n_families; i++) {
        struct sim_scenario s;
        sim_family_scenario(&sim_families[i], 3, &s);
        shorten(&s);
        for (unsigned walk = 0; walk < 2; walk++) {
            SCOPED_RESULT r = run(&s, walk ? &test_walker : NULL, NULL, 5);
            assert_false(r.stuck);
            check_sums(&s, &r);
        }
    }
}

TEST(random_scenarios)
{
    uint64_t seed = test_seed();
    for (uint64_t i = 0; i < 60; i++) {
        struct sim_scenario s;
        sim_random_scenario(seed + i, &s);
        shorten(&s);
        SCOPED_RESULT r = run(&s, &test_walker, NULL, i);
        check_sums(&s, &r);
        assert_false(r.stuck);
    }
}

/* Workers' time: active workers are at work, blocked, starved, nothing else. */
TEST(workers_identity)
{
    struct sim_scenario s = test_plain(0.1, 4, 0.3);
    struct fdl_knobs k = {.workers = 6, .depth = 4, .io_depth = 8};
    s.latency.mean = 0.03;
    s.latency.cv = 1;
    s.sleep.mean = 0.004;
    s.period = 0.1;
    SCOPED_RESULT r = run(&s, NULL, &k, 1);
    const struct fdl_tuner_reading *x = &r.last;
    same(x->work_ns + x->blocked_ns + x->starved_ns, 6 * x->now_ns, 1000);
    assert_true(x->blocked_ns > 0 && x->starved_ns > 0);
}

/* Who waits for what: for workers, for reads, for nobody. */
TEST(causes_of_waits)
{
    struct fdl_knobs k = {.workers = 8, .depth = 16, .io_depth = 8};
    struct sim_scenario s = test_plain(0.1, 16, 1.6);
    s.latency.mean = 0.002;
    struct sim_result r = run(&s, NULL, &k, 1); /* half as fast as needed */
    assert_true(r.last.wait_ns > r.last.user_ns * 9 / 10);
    assert_true(r.last.wait_fetch_ns < r.last.wait_ns * 2 / 100);
    sim_result_free(&r);
    s.work.mean = 0.001;
    s.latency.mean = 0.1; /* 0.2 s a batch */
    r = run(&s, NULL, &k, 1);
    assert_true(r.last.wait_ns > r.last.user_ns * 9 / 10);
    assert_true(r.last.wait_fetch_ns > r.last.wait_ns * 95 / 100);
    assert_true(r.last.starved_ns > 50 * r.last.blocked_ns);
    sim_result_free(&r);
    s.latency.mean = 0.002; /* all is there in time */
    r = run(&s, NULL, &k, 1);
    assert_true(r.last.wait_ns < r.last.user_ns / 100);
    assert_true(r.last.blocked_ns > 2 * r.last.starved_ns);
    sim_result_free(&r);
}

TEST(same_seed_same_run)
{
    struct sim_scenario s;
    sim_random_scenario(77, &s);
    shorten(&s);
    SCOPED_RESULT a = run(&s, &test_walker, NULL, 1);
    SCOPED_RESULT b = run(&s, &test_walker, NULL, 1);
    SCOPED_RESULT c = run(&s, &test_walker, NULL, 2);
    assert_true(a.seconds == b.seconds && a.wait == b.wait);
    assert_memory_equal(&a.last, &b.last, sizeof(a.last));
    assert_int_equal(a.n_points, b.n_points);
    for (uint64_t i = 0; i < a.n_points; i++)
        assert_true(a.points[i].seconds == b.points[i].seconds);
    assert_true(a.seconds != c.seconds);
}

/* The work of sample n is the same whoever asks for it: total time on cores
 * does not depend on the setting. */
TEST(same_work_for_all)
{
    struct sim_scenario s = test_plain(0.01, 64, 0.3);
    double cpu[3];
    s.work.pareto = 1.5;
    for (uint32_t i = 0; i < 3; i++) {
        struct fdl_knobs k = {.workers = 1 + 7 * i, .depth = 2, .io_depth = 4};
        SCOPED_RESULT r = run(&s, NULL, &k, 9);
        cpu[i] = (double)r.last.cpu_ns / (double)r.last.samples;
    }
    assert_true(fabs(cpu[1] / cpu[0] - 1) < 0.01);
    assert_true(fabs(cpu[2] / cpu[0] - 1) < 0.01);
}

/* ---- Order -------------------------------------------------------------- */

static int64_t last_batches, last_now;

static void watch(void *self, const struct sim_facts *facts,
                  const struct fdl_tuner_reading *r, struct fdl_knobs *knobs)
{
    test_walk(self, facts, r, knobs);
    int64_t n = (int64_t)r->batches;
    assert_true(n == last_batches || n == last_batches + 1);
    assert_true(r->now_ns >= last_now);
    /* Each look comes with a batch, or 25 ms after the last. */
    assert_true(n > last_batches || r->now_ns - last_now >= 24999999);
    assert_true(r->samples >= r->batches * r->batch_size);
    last_batches = n;
    last_now = r->now_ns;
}

TEST(batches_one_by_one)
{
    struct sim_controller c = test_walker;
    struct sim_scenario s = test_plain(0.04, 4, 0.1);
    c.observe = watch;
    s.latency.mean = 0.02;
    s.latency.cv = 2;
    s.work.cv = 1;
    last_batches = last_now = 0;
    SCOPED_RESULT r = run(&s, &c, NULL, 4);
    assert_int_equal(last_batches, 1999); /* nobody is asked after the last */
    assert_true(r.readings > 1999);
}

/* ---- Knobs and memory --------------------------------------------------- */

TEST(knobs_within_limits)
{
    struct sim_scenario s = test_plain(0.04, 4, 0.1);
    s.limits.workers_min = 2;
    s.limits.workers_max = 9;
    s.limits.depth_max = 5;
    s.limits.io_depth_max = 12;
    s.latency.mean = 0.02;
    s.limits.memory_bytes = 12 << 20;
    SCOPED_RESULT r = run(&s, &test_walker, NULL, 4);
    uint64_t over = 0;
    assert_true(r.n_points > 1000);
    for (uint64_t i = 0; i < r.n_points; i++) {
        const struct fdl_knobs *k = &r.points[i].knobs;
        assert_in_range(k->workers, 2, 9);
        assert_in_range(k->depth, 1, 5);
        assert_in_range(k->io_depth, 1, 12);
        over += fdl_knobs_memory(&s.limits, k) > s.limits.memory_bytes;
    }
    assert_true(over > 0);
    assert_int_equal(r.violations, over);
    assert_true(r.memory_setting > s.limits.memory_bytes);
    assert_true(r.memory_peak > 0 &&
                r.memory_peak <= r.memory_setting + s.limits.batch_bytes * 5);
}

/* What is held never exceeds what the setting may take. */
TEST(memory_of_a_setting)
{
    struct sim_scenario s = test_plain(0.04, 4, 0.4);
    s.latency.mean = 0.02;
    s.latency.cv = 1;
    for (uint32_t i = 1; i < 40; i += 6) {
        struct fdl_knobs k = {.workers = i, .depth = 41 - i, .io_depth = i};
        SCOPED_RESULT r = run(&s, NULL, &k, 4);
        assert_true(r.memory_peak <= fdl_knobs_memory(&s.limits, &k));
        assert_true(r.memory_peak >= (uint64_t)k.depth << 20);
        assert_int_equal(r.violations, 0);
    }
}

/* ---- What goes wrong ---------------------------------------------------- */

TEST(worker_hangs)
{
    struct sim_scenario s = test_plain(0.1, 4, 0.2);
    struct fdl_knobs k = {.workers = 4, .depth = 4, .io_depth = 4};
    s.hang_at = 1000;
    s.hang = 30;
    struct sim_result r = run(&s, NULL, &k, 1);
    assert_false(r.stuck);
    /* What was ready hides a bit of it. */
    assert_true(fabs(r.seconds - 229.5) < 0.5);
    sim_result_free(&r);
    s.hang = INFINITY;
    r = run(&s, NULL, &k, 1);
    assert_true(r.stuck);
    assert_int_equal(r.last.batches, 1000);
    sim_result_free(&r);
    r = run(&s, &test_walker, NULL, 1); /* looks go on, then it is given up */
    assert_true(r.stuck && r.readings > 1000 + 120 * 39);
    sim_result_free(&r);
}

static uint64_t backwards, looks_seen;
static int64_t before_ns;

static void count_looks(void *self, const struct sim_facts *facts,
                        const struct fdl_tuner_reading *r,
                        struct fdl_knobs *knobs)
{
    (void)self;
    (void)facts;
    (void)knobs;
    backwards += r->now_ns < before_ns;
    before_ns = r->now_ns;
    looks_seen++;
}

TEST(bad_clock_and_lost_readings)
{
    struct sim_controller c = test_walker;
    struct sim_scenario s = test_plain(0.02, 4, 0.02);
    c.observe = count_looks;
    s.jitter = 0.05;
    s.lost = 0.25;
    backwards = looks_seen = 0;
    before_ns = INT64_MIN;
    SCOPED_RESULT r = run(&s, &c, NULL, 6);
    assert_true(backwards > 100);
    assert_true(looks_seen > 1400 && looks_seen < 1600);
    assert_int_equal(looks_seen, r.readings);
}

static double quota_seen[2];

static void note_quota(void *self, const struct sim_facts *facts,
                       const struct fdl_tuner_reading *r,
                       struct fdl_knobs *knobs)
{
    (void)self;
    (void)r;
    knobs->workers = 3;
    if (r->batches == 1005)
        quota_seen[0] = facts->limits.cores;
    if (r->batches == 1100)
        quota_seen[1] = facts->quota;
}

/* The controller hears of another quota, a moment later. */
TEST(quota_is_announced)
{
    struct sim_controller c = test_walker;
    struct sim_scenario s = test_plain(0.1, 4, 0.1);
    c.observe = note_quota;
    s.n_phases = 2;
    s.phase[1] = s.phase[0];
    s.phase[1].from = 1000;
    s.phase[1].cores = 0.5;
    SCOPED_RESULT r = run(&s, &c, NULL, 6);
    assert_true(quota_seen[0] == 4 && quota_seen[1] == 2);
}

static bool share_seen;

static void note_share(void *self, const struct sim_facts *facts,
                       const struct fdl_tuner_reading *r,
                       struct fdl_knobs *knobs)
{
    (void)self;
    (void)r;
    (void)knobs;
    share_seen = facts->limits.shared;
}

/* Loaders side by side have a part of the cores each, and know it. */
TEST(a_share_is_announced)
{
    struct sim_controller c = test_walker;
    struct sim_scenario s = test_plain(0.1, 4, 0.1);
    c.observe = note_share;
    for (s.loaders = 1; s.loaders <= 2; s.loaders++) {
        SCOPED_RESULT r = run(&s, &c, NULL, 6);
        assert_int_equal(share_seen, s.loaders > 1);
    }
}

static int64_t runq_seen;
static uint64_t runq_changes;

static void note_runq(void *self, const struct sim_facts *facts,
                      const struct fdl_tuner_reading *r,
                      struct fdl_knobs *knobs)
{
    (void)self;
    (void)facts;
    (void)knobs;
    runq_changes += r->runq_ns != runq_seen;
    runq_seen = r->runq_ns;
}

/* The kernel is asked four times a second, batches come a hundred times. */
TEST(signals_come_late)
{
    struct sim_controller c = {.name = "note", .observe = note_runq};
    struct fdl_knobs k = {.workers = 8, .depth = 8, .io_depth = 1};
    struct sim_scenario s = test_plain(0.001, 4, 0.04);
    SCOPED_RESULT r = run(&s, &c, &k, 1); /* 20 s */
    assert_in_range(runq_changes, 70, 82);
    assert_true(runq_seen <= r.last.runq_ns);
    assert_true(r.last.runq_ns - runq_seen <= 4 * 260000000ll);
}

TEST(on_demand)
{
    struct sim_controller c = {.name = "torch 0", .on_demand = true};
    struct fdl_knobs one = {.workers = 1, .depth = 1, .io_depth = 1};
    struct sim_scenario s = test_plain(0.1, 4, 0.2);
    SCOPED_RESULT r = run(&s, &c, &one, 1);
    assert_true(fabs(r.seconds / (2000 * 0.3) - 1) < 0.001);
}

TEST_MAIN("sim_runs")
