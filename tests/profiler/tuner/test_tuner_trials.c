/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is tried ends judged or undone, and what brought nothing is not built
 * on: locks that nobody announces, conditions that keep changing, storage that
 * is slow whatever one does, cores that others hold, stops, short epochs.
 */
#include "tuner_model.h"

/* An operation under its own mutex: 20 ms of 40, of which no clock tells. */
static void own_mutex(void)
{
    model_begin(8, 2, 40, 2);
    m.share = 0.05;
    m.held = 20e6;
    m.silent = true;
}

TEST_WITH(a_lock_that_nobody_announces_stops_the_climb, model_reset, model_end)
{
    own_mutex();
    model_steps(3000);
    assert_int_equal(model_count(FDL_REASON_PLAN_UP, -1), 1);
    assert_int_equal(model_count(FDL_REASON_PLAN_UP, FDL_OUTCOME_ROLLED_BACK),
                     1);
    assert_int_equal(model_count(FDL_REASON_EXPLORE_UP, -1), 0);
    assert_in_range(m.knobs.workers, 1, 2);
    assert_string_equal(model_status().limited_by, "scaling");
}

/* While it was full one more brought nothing. Then it is held for less and the
 * work grows, too slowly to be seen as a change. */
TEST_WITH(an_announced_lock_is_judged_by_its_queue, model_reset, model_end)
{
    model_begin(12, 4, 40, 10);
    m.held = 12e6;
    model_steps(1000);
    for (unsigned i = 0; i < 8000; ++i) {
        m.held -= 1e3;
        m.work += 3e3;
        model_step();
    }
    model_steps(4000);
    assert_true(m.knobs.workers >= 7);
    assert_string_equal(model_status().limited_by, "");
}

/* Of the number of workers: each that was not kept is followed by the way back
 * to where it was. */
static void assert_undone(void)
{
    struct fdl_decision d;
    int64_t back_to = 0;
    for (uint64_t id = 0; fdl_tuner_decision(m.tuner, id, &d); ++id) {
        if (d.knob != FDL_KNOB_WORKERS)
            continue;
        if (back_to > 0) {
            assert_int_equal(d.reason, FDL_REASON_ROLLBACK);
            assert_int_equal(d.after, back_to);
        }
        back_to = d.outcome == FDL_OUTCOME_ABANDONED ||
                          d.outcome == FDL_OUTCOME_ROLLED_BACK
                      ? d.before
                      : 0;
    }
    assert_int_equal(back_to, 0);
}

/* Another loader comes and goes before anything could be judged. */
TEST_WITH(what_is_interrupted_is_undone, model_reset, model_end)
{
    own_mutex();
    for (unsigned i = 0; i < 100; ++i) {
        model_steps(50);
        limits.cores = i % 2 ? 8 : 5;
        fdl_tuner_set_limits(m.tuner, &limits);
    }
    model_steps(1); /* what was asked for is put in force */
    assert_true(model_count(-1, FDL_OUTCOME_ABANDONED) > 0);
    assert_undone();
    assert_in_range(m.knobs.workers, 1, 2);
}

static void until_a_trial(void)
{
    for (unsigned i = 0; i < 5000; ++i) {
        if (model_status().state == FDL_TUNER_TRIAL)
            return;
        model_step();
    }
    fail_msg("nothing was tried");
}

static void until_it_ends(void)
{
    while (model_status().state == FDL_TUNER_TRIAL)
        model_step();
}

/* Three are too few, but steps are shorter just then: the rate is the same, and
 * the consumer waits where it did not before. */
TEST_WITH(a_fed_consumer_stays_fed, model_reset, model_end)
{
    model_begin(8, 8, 38, 20);
    until_a_trial();
    m.work = 59e6;
    m.g = 14e6;
    m.stock = 0;
    until_it_ends();
    m.g = 20e6;
    model_steps(20);
    assert_int_equal(model_status().rolled_back, 1);
    assert_int_equal(m.knobs.workers, 8);
}

/* Workers that queue for a core have none to spare: it is not a lock that keeps
 * more of them from helping. */
TEST_WITH(a_queue_for_cores_is_no_lock, model_reset, model_end)
{
    model_begin(8, 4, 100, 10);
    m.cores = 4;
    until_a_trial();
    until_it_ends();
    model_steps(20);
    assert_int_equal(model_count(FDL_REASON_PLAN_UP, FDL_OUTCOME_ROLLED_BACK),
                     1);
    assert_string_not_equal(model_status().limited_by, "scaling");
}

TEST_WITH(slow_storage_gets_neither_depth_nor_reads, model_reset, model_end)
{
    model_begin(8, 2, 10, 20);
    model_set_depth(4);
    m.bandwidth = 1 / 100e6;
    model_steps(3000);
    assert_in_range(m.knobs.depth, 4, 8);
    assert_int_equal(m.knobs.io_depth, 16);
    assert_string_equal(model_status().limited_by, "storage");
    struct fdl_decision d;
    assert_true(fdl_tuner_decision(m.tuner, 0, &d));
    assert_int_equal(d.knob, FDL_KNOB_IO_DEPTH);
    assert_true(d.time_ns < INT64_C(2500000000));
}

TEST_WITH(cores_that_others_hold_are_left_to_them, model_reset, model_end)
{
    limits.host_cores = 8;
    model_begin(8, 4, 100, 20);
    m.cores = 2;
    m.others = 6;
    model_steps(200);
    assert_string_equal(model_status().limited_by, "others");
    model_steps(1800);
    assert_int_equal(m.most_workers, 4); /* an equal part */
    m.cores = 8;                         /* they leave */
    m.others = 0;
    model_steps(2000);
    assert_true(m.knobs.workers >= 5);
}

TEST_WITH(work_that_sleeps_needs_none_of_them, model_reset, model_end)
{
    limits.host_cores = 2;
    model_begin(2, 2, 160, 20);
    m.share = 0.02;
    m.cores = 0.3;
    m.others = 1.7;
    model_steps(1000);
    assert_true(m.knobs.workers >= 8);
    assert_true(model_status().stall <= 0.01);
}

/* Every 10 s everything stops for 0.7 s: windows in between see nothing. */
TEST_WITH(depth_covers_rare_hiccups, model_reset, model_end)
{
    model_begin(8, 3, 40, 20);
    model_set_depth(4);
    for (unsigned i = 0; i < 20; ++i) {
        model_steps(500);
        m.stock -= 35;
    }
    int64_t waited = m.r.wait_ns;
    for (unsigned i = 0; i < 10; ++i) {
        model_steps(500);
        m.stock -= 35;
    }
    assert_in_range(m.knobs.depth, 30, 64);
    assert_true(m.r.wait_ns - waited < INT64_C(1000000000)); /* of 100 s */
}

/* One read in many takes long, and the consumer waits; meanwhile the others
 * keep storage as busy as it can be. */
TEST_WITH(depth_covers_bursts_of_slow_reads, model_reset, model_end)
{
    model_begin(8, 3, 10, 20);
    model_set_depth(4);
    m.bandwidth = 1 / 10e6;
    int64_t waited = 0;
    for (unsigned i = 0; i < 100; ++i) {
        if (i == 50)
            waited = m.r.wait_ns;
        model_steps(40);
        m.stock -= 12;
    }
    assert_in_range(m.knobs.depth, 12, 28); /* and no more than that */
    assert_true(m.r.wait_ns - waited < INT64_C(400000000));
}

/* A stop of 0.1 s in the first block of a trial proves nothing. */
TEST_WITH(one_block_is_not_enough, model_reset, model_end)
{
    limits.target = 0.03;
    model_begin(8, 8, 40, 20);
    model_set_depth(4);
    until_a_trial();
    m.stock -= 8;
    model_steps(600);
    assert_in_range(m.knobs.workers, 2, 4);
    assert_int_equal(model_status().rolled_back, 0);
}

/* Everything stops once, as when a worker hangs: three workers deliver less in
 * that window than two did long ago, and are still the right number. */
TEST_WITH(what_was_long_ago_is_no_measure_of_now, model_reset, model_end)
{
    model_begin(3, 3, 60, 15);
    m.kappa = 0.35;
    while (model_status().rolled_back == 0)
        model_step(); /* two were tried */
    model_steps(4000);
    uint64_t trials = model_status().trials;
    m.stock -= 120;
    model_steps(1000);
    assert_int_equal(m.knobs.workers, 3);
    assert_int_equal(model_status().guarded, 0);
    assert_int_equal(model_status().trials, trials);
}

/* Steps that happen to be longer during a trial: nobody waited for workers, so
 * that fewer are tried again, and each trial counts as much as all before. */
TEST_WITH(slow_steps_are_no_lack_of_workers, model_reset, model_end)
{
    model_begin(8, 8, 10, 20);
    until_a_trial();
    m.g *= 1.1;
    until_it_ends();
    m.g /= 1.1;
    assert_int_equal(model_status().rolled_back, 1);
    model_steps(20000);
    assert_int_equal(m.knobs.workers, 1);
}

/* Workers at the end, where steps vary by 29 % and are longer by a part with
 * fewer than eight; the sum of eight runs. */
static uint32_t workers_after(double slow)
{
    uint32_t sum = 0;
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        model_begin(8, 8, 10, 20);
        m.noise.state = seed;
        m.g_noise = 0.5;
        m.slow_below = 8;
        m.slow = slow;
        model_steps(20000);
        sum += m.knobs.workers;
        model_end();
    }
    return sum;
}

/* What few blocks cannot tell, many can. */
TEST_WITH(little_is_paid_for_fewer_workers, model_reset, model_end)
{
    uint32_t free_of_charge = workers_after(1), dear = workers_after(1.035);
    printf("%u and %u workers\n", free_of_charge, dear);
    assert_int_equal(free_of_charge, 8);
    assert_true(dear >= 40);
}

/* Each epoch is a run of its own, shorter than any trial. */
TEST_WITH(short_epochs_are_tuned_too, model_reset, model_end)
{
    model_begin(8, 1, 82.3, 28.5);
    m.share = 0.1;
    for (unsigned i = 0; i < 40; ++i) {
        model_steps(20);
        fdl_tuner_pause(m.tuner);
    }
    assert_int_equal(m.knobs.workers, 4);
    assert_true(model_count(FDL_REASON_PLAN_UP, FDL_OUTCOME_KEPT) > 0);
}

/* Kernels of 20 ms for steps of 10: workers that have nothing to do for half of
 * the time are no help to them, and none is added. */
TEST_WITH(kernels_that_decode_need_no_workers, model_reset, model_end)
{
    model_begin(16, 2, 30, 10);
    m.making = 20e6;
    model_steps(3000);
    assert_true(m.most_workers <= 2);
    assert_string_equal(model_status().limited_by, "device");
    m.making = 0; /* the workers decode now */
    fdl_tuner_pause(m.tuner);
    m.work = 80e6;
    model_steps(3000);
    assert_true(m.knobs.workers >= 8);
    assert_string_equal(model_status().limited_by, "");
}

TEST_MAIN("tuner_trials")
