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
TEST(workers_or_step)
{
    struct sim_scenario s = test_plain(0.1, 16, 0.8);
    close_to(batch(&s, 1, 8, 1), 0.8, 0.001);
    close_to(batch(&s, 4, 8, 1), 0.2, 0.001);
    close_to(batch(&s, 6, 8, 1), 0.8 / 6, 0.005);
    close_to(batch(&s, 9, 8, 1), 0.1, 0.001);
    close_to(batch(&s, 16, 8, 1), 0.1, 0.001);
}

/* Without chance and overlap each batch takes its work and its step: with depth
 * 1, a batch is begun when the one before it is delivered. */
TEST(depth_one)
{
    struct sim_scenario s = test_plain(0.1, 16, 0.8);
    close_to(batch(&s, 1, 1, 1), 0.8, 0.001);
    close_to(batch(&s, 16, 1, 1), 0.1, 0.001);
    s.step.mean = 0.01;
    close_to(batch(&s, 16, 1, 1), 0.8 / 16, 0.001);
    /* 17 workers cannot share 16 samples. */
    close_to(batch(&s, 32, 1, 1), 0.8 / 16, 0.001);
    close_to(batch(&s, 16, 4, 1), 0.8 / 16, 0.001);
}

/* More workers than cores gain nothing, and wait for a core instead. */
TEST(cores_saturate)
{
    struct sim_scenario s = test_plain(0.1, 4, 0.8);
    for (uint32_t workers = 4; workers <= 64; workers *= 2) {
        SCOPED_RESULT r = run(&s, workers, 32, 1);
        close_to(r.seconds, 2000 * 0.2, 0.002);
        close_to(r.cpu, 4, 0.003);
        close_to((double)r.last.runq_ns * 1e-9, (workers - 4) * r.seconds,
                 0.003);
    }
}

TEST(contention_slows)
{
    struct sim_scenario s = test_plain(0.01, 16, 0.8);
    s.kappa = 0.05;
    for (uint32_t n = 1; n <= 16; n *= 2) {
        double k = 0.05, slow = 1 + k * (n - 1) + k * k * n * (n - 1) / 2;
        close_to(batch(&s, n, 8, 1), 0.8 * slow / n, 0.002);
    }
}

/* Sleeping workers need no core. */
TEST(sleep_is_free)
{
    struct sim_scenario s = test_plain(0.1, 2, 0.008);
    s.sleep.mean = 0.1; /* 1.6 s a batch, and 8 ms on a core */
    close_to(batch(&s, 4, 16, 1), 1.608 / 4, 0.01);
    close_to(batch(&s, 8, 16, 1), 1.608 / 8, 0.02);
    close_to(batch(&s, 32, 32, 1), 0.1, 0.002);
}

/* A quota in periods is worth its fraction, however many cores there are. */
TEST(quota_in_periods)
{
    struct sim_scenario s = test_plain(0.01, 3, 0.8);
    s.period = 0.1;
    for (uint32_t workers = 2; workers <= 64; workers *= 4) {
        SCOPED_RESULT r = run(&s, workers, 32, 1);
        double cores = workers < 3 ? workers : 3;
        close_to(r.seconds, 2000 * 0.8 / cores, 0.003);
        double off = workers <= 3 ? 0 : workers - cores;
        if (off == 0)
            assert_int_equal(r.last.throttle_ns, 0);
        else
            close_to((double)r.last.throttle_ns * 1e-9, off * r.seconds, 0.01);
    }
}

/* Little's law: reads in flight / latency, as long as workers keep up. */
TEST(reads_hide_latency)
{
    struct sim_scenario s = test_plain(0.01, 16, 0.016);
    s.latency.mean = 0.05;
    close_to(batch(&s, 16, 64, 4), 16 * 0.05 / 4, 0.01);
    close_to(batch(&s, 16, 64, 32), 16 * 0.05 / 32, 0.01);
    close_to(batch(&s, 16, 64, 128), 0.01, 0.01);
}

TEST(storage_saturates)
{
    struct sim_scenario s = test_plain(0.01, 16, 0.016);
    s.latency.mean = 0.05;
    s.parallel = 8;
    for (uint32_t io = 8; io <= 128; io *= 4) {
        SCOPED_RESULT r = run(&s, 16, 64, io);
        close_to(r.seconds, 2000 * 16 * 0.05 / 8, 0.01);
        close_to((double)r.last.read_ns * 1e-9 / (double)r.last.reads,
                 0.05 * io / 8, 0.02);
    }
    s.parallel = 0;
    s.bandwidth = 20e6; /* 200 reads of 100 kB */
    close_to(batch(&s, 16, 64, 64), 16.0 / 200, 0.01);
}

TEST(cache_serves)
{
    struct sim_scenario s = test_plain(0.01, 16, 0.016);
    s.latency.mean = 0.05;
    s.phase[0].hits = 0.75;
    close_to(batch(&s, 16, 64, 4), 0.25 * 16 * 0.05 / 4, 0.05);
    s.phase[0].hits = 1;
    close_to(batch(&s, 16, 64, 4), 0.01, 0.001);
}

/* A device: the slowest of step, copy and preparation; the rest is idle. */
TEST(device_overlaps)
{
    struct sim_scenario s = test_plain(0.0285, 8, 0.0823);
    struct sim_result r;
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
TEST(interference)
{
    struct sim_scenario s = test_plain(0.1, 4, 0.8);
    s.eta = 0.5;
    s.step.mean = 0.3; /* workers: 0.2 s a batch on all cores */
    SCOPED_RESULT r = run(&s, 4, 8, 1);
    /* In their 0.2 s the consumer gets on by 0.2 / 1.5. */
    close_to(r.seconds, 2000 * (0.3 + 0.2 - 0.2 / 1.5), 0.005);
    assert_true(r.user > 0.99);
}

/* Two loaders share the cores of the quota evenly. */
TEST(loaders_share)
{
    struct sim_scenario s = test_plain(0.01, 4, 0.8);
    s.loaders = 2;
    close_to(batch(&s, 2, 8, 1), 0.4, 0.002);
    close_to(batch(&s, 8, 8, 1), 0.4, 0.002);
    s.loaders = 8;
    close_to(batch(&s, 8, 8, 1), 1.6, 0.003);
}

/* Phases: work and cores of the middle third. */
TEST(phases)
{
    struct sim_scenario s = test_plain(0.01, 4, 0.8);
    s.n_phases = 3;
    s.phase[1] = s.phase[2] = s.phase[0];
    s.phase[1].from = 500;
    s.phase[2].from = 1000;
    s.phase[1].work = 2;
    s.phase[2].cores = 0.5;
    SCOPED_RESULT r = run(&s, 8, 4, 1);
    close_to(r.seconds, 500 * 0.2 + 500 * 0.4 + 1000 * 0.4, 0.01);
    assert_int_equal(r.n_marks, 21);
    close_to(r.marks[5].seconds, 500 * 0.2, 0.02);
    close_to(r.marks[10].seconds - r.marks[5].seconds, 500 * 0.4, 0.02);
}

TEST(pauses)
{
    struct sim_scenario s = test_plain(0.1, 4, 0.1);
    s.pause_every = 100;
    s.pause = 7;
    SCOPED_RESULT r = run(&s, 2, 4, 1);
    /* The one after the last batch is not waited for. */
    close_to(r.seconds, 2000 * 0.1 + 19 * 7 + 7, 0.03);
}

/* An M/D/1-like queue: log-normal work on one worker, deep enough, keeps the
 * mean; the tail that is reported is that of the distribution. */
TEST(log_normal)
{
    struct sim_scenario s = test_plain(0.001, 4, 0.8);
    s.work.cv = 0.5;
    SCOPED_RESULT r = run(&s, 1, 8, 1);
    close_to(r.seconds, 2000 * 0.8, 0.01);
    double sigma = sqrt(log(1.25));
    double tail = 0.05 * exp(3.09 * sigma - sigma * sigma / 2);
    close_to((double)r.last.sample_tail_ns * 1e-9, tail, 0.15);
}

TEST(pareto)
{
    struct sim_scenario s = test_plain(0.001, 4, 0.8);
    s.work.pareto = 2.5;
    close_to(batch(&s, 1, 8, 1), 0.8, 0.03);
}

TEST_MAIN("sim_laws")
