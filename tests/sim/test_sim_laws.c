/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator against what can be computed: how long batches take with so
 * many workers, cores, reads, on such a quota, bus and storage.
 */
#include "sim_plain.h"
#include "test.h"

#include <math.h>

static struct sim_result run(const struct sim_scenario *s, uint32_t workers,
                             uint32_t depth, uint32_t io)
{
    struct fdl_knobs k = {.workers = workers, .depth = depth, .io_depth = io};
    struct sim_result r;
    assert_true(sim_run(s, NULL, &k, 1, &r));
    assert_false(r.stuck);
    return r;
}

/* Seconds for a batch. */
static double batch(const struct sim_scenario *s, uint32_t workers,
                    uint32_t depth, uint32_t io)
{
    struct sim_result r = run(s, workers, depth, io);
    double seconds = r.seconds / (double)s->batches;
    sim_result_free(&r);
    return seconds;
}

static void close_to(double x, double want, double part)
{
    if (!(fabs(x - want) <= part * fabs(want)))
        fail_msg("%g is not within %g of %g", x, part, want);
}

/* The utilisation law: work / workers, or the step if that is longer. */
static void workers_or_step(void **state)
{
    struct sim_scenario s = test_plain(0.1, 16, 0.8);
    (void)state;
    close_to(batch(&s, 1, 8, 1), 0.8, 0.001);
    close_to(batch(&s, 4, 8, 1), 0.2, 0.001);
    close_to(batch(&s, 6, 8, 1), 0.8 / 6, 0.005);
    close_to(batch(&s, 9, 8, 1), 0.1, 0.001);
    close_to(batch(&s, 16, 8, 1), 0.1, 0.001);
}

/* Without chance and overlap each batch takes its work and its step: with depth
 * 1, a batch is begun when the one before it is delivered. */
static void depth_one(void **state)
{
    struct sim_scenario s = test_plain(0.1, 16, 0.8);
    (void)state;
    close_to(batch(&s, 1, 1, 1), 0.8, 0.001);
    close_to(batch(&s, 16, 1, 1), 0.1, 0.001);
    s.step.mean = 0.01;
    close_to(batch(&s, 16, 1, 1), 0.8 / 16, 0.001);
    /* 17 workers cannot share 16 samples. */
    close_to(batch(&s, 32, 1, 1), 0.8 / 16, 0.001);
    close_to(batch(&s, 16, 4, 1), 0.8 / 16, 0.001);
}

/* More workers than cores gain nothing, and wait for a core instead. */
static void cores_saturate(void **state)
{
    struct sim_scenario s = test_plain(0.1, 4, 0.8);
    (void)state;
    for (uint32_t workers = 4; workers <= 64; workers *= 2) {
        struct sim_result r = run(&s, workers, 32, 1);
        close_to(r.seconds, 2000 * 0.2, 0.002);
        close_to(r.cpu, 4, 0.003);
        close_to((double)r.last.runq_ns * 1e-9, (workers - 4) * r.seconds,
                 0.003);
        sim_result_free(&r);
    }
}

static void contention_slows(void **state)
{
    struct sim_scenario s = test_plain(0.01, 16, 0.8);
    (void)state;
    s.kappa = 0.05;
    for (uint32_t n = 1; n <= 16; n *= 2) {
        double k = 0.05, slow = 1 + k * (n - 1) + k * k * n * (n - 1) / 2;
        close_to(batch(&s, n, 8, 1), 0.8 * slow / n, 0.002);
    }
}

/* Sleeping workers need no core. */
static void sleep_is_free(void **state)
{
    struct sim_scenario s = test_plain(0.1, 2, 0.008);
    (void)state;
    s.sleep.mean = 0.1; /* 1.6 s a batch, and 8 ms on a core */
    close_to(batch(&s, 4, 16, 1), 1.608 / 4, 0.01);
    close_to(batch(&s, 8, 16, 1), 1.608 / 8, 0.02);
    close_to(batch(&s, 32, 32, 1), 0.1, 0.002);
}

/* A quota in periods is worth its fraction, however many cores there are. */
static void quota_in_periods(void **state)
{
    struct sim_scenario s = test_plain(0.01, 3, 0.8);
    (void)state;
    s.period = 0.1;
    for (uint32_t workers = 2; workers <= 64; workers *= 4) {
        struct sim_result r = run(&s, workers, 32, 1);
        double cores = workers < 3 ? workers : 3;
        close_to(r.seconds, 2000 * 0.8 / cores, 0.003);
        double off = workers <= 3 ? 0 : workers - cores;
        if (off == 0)
            assert_int_equal(r.last.throttle_ns, 0);
        else
            close_to((double)r.last.throttle_ns * 1e-9, off * r.seconds, 0.01);
        sim_result_free(&r);
    }
}

/* Little's law: reads in flight / latency, as long as workers keep up. */
static void reads_hide_latency(void **state)
{
    struct sim_scenario s = test_plain(0.01, 16, 0.016);
    (void)state;
    s.latency.mean = 0.05;
    close_to(batch(&s, 16, 64, 4), 16 * 0.05 / 4, 0.01);
    close_to(batch(&s, 16, 64, 32), 16 * 0.05 / 32, 0.01);
    close_to(batch(&s, 16, 64, 128), 0.01, 0.01);
}

static void storage_saturates(void **state)
{
    struct sim_scenario s = test_plain(0.01, 16, 0.016);
    (void)state;
    s.latency.mean = 0.05;
    s.parallel = 8;
    for (uint32_t io = 8; io <= 128; io *= 4) {
        struct sim_result r = run(&s, 16, 64, io);
        close_to(r.seconds, 2000 * 16 * 0.05 / 8, 0.01);
        close_to((double)r.last.read_ns * 1e-9 / (double)r.last.reads,
                 0.05 * io / 8, 0.02);
        sim_result_free(&r);
    }
    s.parallel = 0;
    s.bandwidth = 20e6; /* 200 reads of 100 kB */
    close_to(batch(&s, 16, 64, 64), 16.0 / 200, 0.01);
}

static void cache_serves(void **state)
{
    struct sim_scenario s = test_plain(0.01, 16, 0.016);
    (void)state;
    s.latency.mean = 0.05;
    s.phase[0].hits = 0.75;
    close_to(batch(&s, 16, 64, 4), 0.25 * 16 * 0.05 / 4, 0.05);
    s.phase[0].hits = 1;
    close_to(batch(&s, 16, 64, 4), 0.01, 0.001);
}

/* A device: the slowest of step, copy and preparation; the rest is idle. */
static void device_overlaps(void **state)
{
    struct sim_scenario s = test_plain(0.0285, 8, 0.0823);
    struct sim_result r;
    (void)state;
    s.device = true;
    s.host_step = 0.004;
    s.copy = 0.0121;
    close_to(batch(&s, 4, 8, 1), 0.0285, 0.002);
    close_to(batch(&s, 1, 8, 1), 0.0823, 0.002);
    r = run(&s, 1, 8, 1);
    close_to(r.idle, 1 - 0.0285 / 0.0823, 0.01);
    sim_result_free(&r);
    s.copy = 0.05;
    r = run(&s, 4, 8, 1);
    close_to(r.seconds, 2000 * 0.05, 0.002);
    close_to(r.idle, 1 - 0.0285 / 0.05, 0.01);
    close_to(r.stall, r.idle, 0);
    sim_result_free(&r);
}

/* Workers that keep all cores busy slow the consumer by eta. */
static void interference(void **state)
{
    struct sim_scenario s = test_plain(0.1, 4, 0.8);
    (void)state;
    s.eta = 0.5;
    s.step.mean = 0.3; /* workers: 0.2 s a batch on all cores */
    struct sim_result r = run(&s, 4, 8, 1);
    /* In their 0.2 s the consumer gets on by 0.2 / 1.5. */
    close_to(r.seconds, 2000 * (0.3 + 0.2 - 0.2 / 1.5), 0.005);
    assert_true(r.user > 0.99);
    sim_result_free(&r);
}

/* Two loaders share the cores of the quota evenly. */
static void loaders_share(void **state)
{
    struct sim_scenario s = test_plain(0.01, 4, 0.8);
    (void)state;
    s.loaders = 2;
    close_to(batch(&s, 2, 8, 1), 0.4, 0.002);
    close_to(batch(&s, 8, 8, 1), 0.4, 0.002);
    s.loaders = 8;
    close_to(batch(&s, 8, 8, 1), 1.6, 0.003);
}

/* Phases: work and cores of the middle third. */
static void phases(void **state)
{
    struct sim_scenario s = test_plain(0.01, 4, 0.8);
    (void)state;
    s.n_phases = 3;
    s.phase[1] = s.phase[2] = s.phase[0];
    s.phase[1].from = 500;
    s.phase[2].from = 1000;
    s.phase[1].work = 2;
    s.phase[2].cores = 0.5;
    struct sim_result r = run(&s, 8, 4, 1);
    close_to(r.seconds, 500 * 0.2 + 500 * 0.4 + 1000 * 0.4, 0.01);
    assert_int_equal(r.n_marks, 21);
    close_to(r.marks[5].seconds, 500 * 0.2, 0.02);
    close_to(r.marks[10].seconds - r.marks[5].seconds, 500 * 0.4, 0.02);
    sim_result_free(&r);
}

static void pauses(void **state)
{
    struct sim_scenario s = test_plain(0.1, 4, 0.1);
    (void)state;
    s.pause_every = 100;
    s.pause = 7;
    struct sim_result r = run(&s, 2, 4, 1);
    /* The one after the last batch is not waited for. */
    close_to(r.seconds, 2000 * 0.1 + 19 * 7 + 7, 0.03);
    sim_result_free(&r);
}

/* An M/D/1-like queue: log-normal work on one worker, deep enough, keeps the
 * mean; the tail that is reported is that of the distribution. */
static void log_normal(void **state)
{
    struct sim_scenario s = test_plain(0.001, 4, 0.8);
    (void)state;
    s.work.cv = 0.5;
    struct sim_result r = run(&s, 1, 8, 1);
    close_to(r.seconds, 2000 * 0.8, 0.01);
    double sigma = sqrt(log(1.25));
    double tail = 0.05 * exp(3.09 * sigma - sigma * sigma / 2);
    close_to((double)r.last.sample_tail_ns * 1e-9, tail, 0.15);
    sim_result_free(&r);
}

static void pareto(void **state)
{
    struct sim_scenario s = test_plain(0.001, 4, 0.8);
    (void)state;
    s.work.pareto = 2.5;
    close_to(batch(&s, 1, 8, 1), 0.8, 0.03);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(workers_or_step),
    cmocka_unit_test(depth_one),
    cmocka_unit_test(cores_saturate),
    cmocka_unit_test(contention_slows),
    cmocka_unit_test(sleep_is_free),
    cmocka_unit_test(quota_in_periods),
    cmocka_unit_test(reads_hide_latency),
    cmocka_unit_test(storage_saturates),
    cmocka_unit_test(cache_serves),
    cmocka_unit_test(device_overlaps),
    cmocka_unit_test(interference),
    cmocka_unit_test(loaders_share),
    cmocka_unit_test(phases),
    cmocka_unit_test(pauses),
    cmocka_unit_test(log_normal),
    cmocka_unit_test(pareto),
};
TEST_MAIN("sim_laws", cases)
