/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the tuner, one by one, on a model of a loader. */
#include "base/compiler.h"
#include "tuner_model.h"

/* The published case: 82.3 ms of loading, a step of 28.5 ms. */
TEST_WITH(four_workers_feed_the_published_case, model_reset, model_end)
{
    model_begin(8, 1, 82.3, 28.5);
    m.share = 0.1; /* most of it sleeps */
    model_steps(60);
    assert_int_equal(m.knobs.workers, 4);
    model_steps(2000);
    struct fdl_tuner_status s = model_status();
    assert_int_equal(m.knobs.workers, 4);
    assert_true(s.converged);
    assert_true(s.converged_batch < 60);
    assert_true(s.stall <= 0.01);
    assert_int_equal(s.trials, 1);
    assert_int_equal(s.kept, 1);
    assert_string_equal(s.limited_by, "");
    struct fdl_decision d;
    assert_true(fdl_tuner_decision(m.tuner, 0, &d));
    assert_int_equal(d.reason, FDL_REASON_PLAN_UP);
    assert_int_equal(d.outcome, FDL_OUTCOME_KEPT);
    assert_true(d.predicted > 1.5 && d.predicted < 2.2);
    assert_true(fabs(d.measured - d.predicted) < 0.3);
    assert_true(strstr(d.why, "82.3 ms") && strstr(d.why, "every 28."));
}

TEST_WITH(more_than_needed_is_given_back, model_reset, model_end)
{
    model_begin(20, 16, 50, 20);
    model_steps(1500);
    assert_int_equal(m.knobs.workers, 3);
    assert_int_equal(model_count(FDL_REASON_SHRINK, FDL_OUTCOME_KEPT), 1);
    assert_true(model_status().stall <= 0.01);
}

/* A step beyond them is tried, and taken back. */
TEST_WITH(work_on_cores_stays_within_them, model_reset, model_end)
{
    model_begin(4, 1, 200, 20);
    model_steps(4000);
    assert_int_equal(m.knobs.workers, 4);
    assert_true(m.most_workers <= 5);
    assert_string_equal(model_status().limited_by, "cores");
}

TEST_WITH(work_that_sleeps_may_exceed_them, model_reset, model_end)
{
    model_begin(2, 2, 240, 20);
    m.share = 0.05;
    model_steps(1000);
    assert_in_range(m.knobs.workers, 12, 14);
    assert_true(model_status().stall <= 0.01);
}

/* Each worker slows the others: the plan goes up as far as that helps. */
TEST_WITH(contention_is_found_by_trying, model_reset, model_end)
{
    limits.workers_max = 8;
    model_begin(64, 2, 100, 2);
    m.kappa = 0.3;
    m.bad_above = 4;
    m.bad = 0.6;
    model_steps(6000);
    assert_int_equal(m.knobs.workers, 4);
    assert_true(model_status().rolled_back >= 1);
}

TEST_WITH(depth_covers_the_slowest_samples, model_reset, model_end)
{
    model_begin(8, 4, 60, 20);
    m.r.sample_tail_ns = 500000000;
    model_steps(200);
    assert_in_range(m.knobs.depth, 31, 40);
    assert_true(model_count(FDL_REASON_TAIL, FDL_OUTCOME_RULE) >= 1);
}

TEST_WITH(reads_are_what_is_waited_for, model_reset, model_end)
{
    model_begin(8, 4, 20, 20);
    m.knobs.io_depth = 4;
    fdl_tuner_applied(m.tuner, &m.knobs, false);
    m.read_ns = 20e6;
    m.reads_limit = 1 / (MODEL_SIZE * m.read_ns);
    model_steps(600);
    assert_true(m.knobs.io_depth >= 32);
    assert_true(model_status().stall <= 0.01);
    assert_true(model_count(FDL_REASON_READS, -1) >= 1);
}

TEST_WITH(memory_is_never_exceeded, model_reset, model_end)
{
    limits.batch_bytes = 10000000;
    limits.read_bytes = 100000;
    limits.worker_bytes = 4000000;
    limits.memory_bytes = 80000000;
    model_begin(16, 2, 100, 20);
    struct fdl_tuner_status s = model_status();
    m.knobs = s.knobs;
    m.r.sample_tail_ns = 500000000;
    for (unsigned i = 0; i < 2000; ++i) {
        model_step();
        assert_true(fdl_knobs_memory(&limits, &m.knobs) <= limits.memory_bytes);
    }
    assert_in_range(m.knobs.workers, 5, 7);
}

TEST_WITH(new_cores_are_used_at_once, model_reset, model_end)
{
    model_begin(8, 8, 120, 20);
    model_steps(800);
    assert_in_range(m.knobs.workers, 6, 7);
    limits.cores = m.cores = 3;
    fdl_tuner_set_limits(m.tuner, &limits);
    model_steps(1200);
    assert_in_range(m.knobs.workers, 3, 4);
    assert_string_equal(model_status().limited_by, "cores");
    limits.cores = m.cores = 8;
    fdl_tuner_set_limits(m.tuner, &limits);
    model_steps(300);
    assert_in_range(m.knobs.workers, 6, 7);
    assert_true(model_status().changes >= 2);
}

/* More workers than fill its share would be faster, for the scheduler gives
 * what it takes from others: they are given up by rule, and none is tried. */
TEST_WITH(what_is_others_is_left_to_them, model_reset, model_end)
{
    model_begin(2, 2, 200, 20);
    model_steps(800);
    assert_int_equal(m.knobs.workers, 2);
    m.cores = 4;
    limits.cores = 2.0 / 3;
    limits.shared = true;
    fdl_tuner_set_limits(m.tuner, &limits);
    m.most_workers = 0;
    model_steps(100);
    assert_int_equal(m.knobs.workers, 1);
    assert_int_equal(model_count(FDL_REASON_LIMIT, FDL_OUTCOME_RULE), 1);
    m.most_workers = 0;
    model_steps(4000);
    assert_int_equal(m.most_workers, 1);
    assert_string_equal(model_status().limited_by, "cores");
    /* They went. */
    limits.cores = 4;
    limits.shared = false;
    fdl_tuner_set_limits(m.tuner, &limits);
    model_steps(400);
    assert_int_equal(m.knobs.workers, 4);
}

/* A worker that sleeps takes little of a share. */
TEST_WITH(work_that_sleeps_has_room_in_a_share, model_reset, model_end)
{
    limits.shared = true;
    model_begin(2.0 / 3, 2, 240, 20);
    m.share = 0.02;
    model_steps(1000);
    assert_in_range(m.knobs.workers, 12, 14);
    assert_true(model_status().stall <= 0.01);
}

TEST_WITH(narrower_bounds_hold_at_once, model_reset, model_end)
{
    model_begin(8, 8, 120, 20);
    model_steps(10);
    limits.workers_max = 2;
    fdl_tuner_set_limits(m.tuner, &limits);
    struct fdl_knobs want;
    assert_true(fdl_tuner_propose(m.tuner, &want));
    assert_int_equal(want.workers, 2);
    assert_true(model_count(FDL_REASON_LIMIT, -1) >= 1);
    model_steps(500);
    assert_int_equal(m.knobs.workers, 2);
    assert_string_equal(model_status().limited_by, "bound");
}

TEST_WITH(a_faster_consumer_is_noticed, model_reset, model_end)
{
    model_begin(16, 4, 50, 40);
    model_steps(600);
    assert_int_equal(m.knobs.workers, 2);
    m.g /= 4;
    model_steps(120);
    assert_in_range(m.knobs.workers, 6, 7);
    assert_true(model_status().changes >= 1);
}

TEST_WITH(the_guard_goes_back, model_reset, model_end)
{
    model_begin(11, 10, 400, 20);
    model_steps(300);
    assert_int_equal(m.knobs.workers, 11);
    m.bad_above = 10; /* eleven are slower now than ten were */
    m.bad = 0.85;
    model_steps(1500);
    assert_true(model_status().guarded >= 1);
}

TEST_WITH(a_pause_is_not_learned_from, model_reset, model_end)
{
    model_begin(16, 4, 60, 20);
    model_steps(500);
    uint64_t decided = model_status().decisions;
    double step = model_status().step_ns;
    for (int i = 0; i < 400; ++i) { /* ten seconds */
        model_run(25e6);
        m.r.away_ns += 25000000;
        model_tell();
    }
    assert_int_equal(model_status().state, FDL_TUNER_FROZEN);
    m.r.user_ns += m.r.away_ns;
    m.r.away_ns = 0;
    model_steps(400);
    assert_int_equal(model_status().decisions, decided);
    assert_int_equal(model_status().changes, 0);
    assert_true(fabs(model_status().step_ns / step - 1) < 0.05);
    assert_int_not_equal(model_status().state, FDL_TUNER_FROZEN);
}

TEST_WITH(a_new_run_keeps_what_was_learned, model_reset, model_end)
{
    model_begin(16, 16, 60, 20);
    model_steps(500);
    uint32_t found = m.knobs.workers;
    fdl_tuner_pause(m.tuner);
    int64_t now = m.r.now_ns;
    memset(&m.r, 0, sizeof(m.r));
    m.r.now_ns = now;
    m.r.batch_size = MODEL_SIZE;
    m.stock = 0;
    model_steps(300);
    struct fdl_tuner_status s = model_status();
    assert_int_equal(m.knobs.workers, found);
    assert_int_equal(s.oddities, 0);
    assert_int_equal(s.changes, 0);
}

TEST_WITH(observe_only_says_so, model_reset, model_end)
{
    model_begin(8, 1, 82.3, 28.5);
    m.watch = true;
    model_steps(3000);
    struct fdl_tuner_status s = model_status();
    assert_int_equal(m.knobs.workers, 1);
    assert_int_equal(s.planned.workers, 4);
    assert_true(s.decisions >= 1 && s.decisions <= 4);
    assert_int_equal(model_count(-1, FDL_OUTCOME_PROPOSED), s.decisions);
}

TEST_WITH(less_than_asked_for_is_lived_with, model_reset, model_end)
{
    model_begin(8, 1, 82.3, 28.5);
    for (unsigned i = 0; i < 1000; ++i) {
        struct fdl_knobs want;
        m.watch = true;
        double wait = m.stock < 1 ? (1 - m.stock) / model_pace() : 0;
        model_run(wait);
        m.r.wait_ns += (int64_t)wait;
        m.stock = fmax(m.stock - 1, 0);
        ++m.r.batches;
        fdl_tuner_observe(m.tuner, &m.r);
        if (fdl_tuner_propose(m.tuner, &want)) {
            m.knobs = want;
            if (m.knobs.workers > 2)
                m.knobs.workers = 2; /* no more threads */
            fdl_tuner_applied(m.tuner, &m.knobs, false);
        }
        model_run(m.g);
        m.r.user_ns += (int64_t)m.g;
    }
    assert_int_equal(m.knobs.workers, 2);
    assert_true(model_count(FDL_REASON_APPLIED, -1) >= 1);
    assert_true(model_status().decisions < 30);
}

/* Somebody sets a knob: it is measured, not fought over at once. */
TEST_WITH(what_others_set_is_taken_as_it_is, model_reset, model_end)
{
    model_begin(16, 4, 60, 20);
    model_steps(500);
    m.knobs.workers = 9;
    fdl_tuner_applied(m.tuner, &m.knobs, false);
    struct fdl_knobs want;
    assert_false(fdl_tuner_propose(m.tuner, &want));
    assert_int_equal(model_status().knobs.workers, 9);
    model_steps(500);
    assert_in_range(m.knobs.workers, 3, 4);
}

/* Batches of a quarter of a second: a look at many of them would take long. */
TEST_WITH(slow_batches_are_not_looked_at_for_long, model_reset, model_end)
{
    model_begin(1, 1, 250, 60);
    unsigned steps = 0;
    while (!(model_status().rate > 0) && steps < 100) {
        model_step();
        ++steps;
    }
    assert_in_range(steps, 2, 16); /* said before anything was decided */
    while (model_status().state < FDL_TUNER_SETTLE && steps < 100) {
        model_step();
        ++steps;
    }
    assert_in_range(steps, 2, 24);
}

/* Depth alone would not help, and looking what it did takes a window. */
TEST_WITH(the_plan_does_not_wait_for_depth, model_reset, model_end)
{
    struct fdl_decision d;
    model_begin(16, 1, 200, 20);
    model_set_depth(3);
    m.r.sample_tail_ns = 400000000;
    model_steps(60);
    assert_true(fdl_tuner_decision(m.tuner, 0, &d));
    assert_int_equal(d.reason, FDL_REASON_PLAN_UP);
    assert_true(m.knobs.depth > 3);
}

/* A batch less ahead is room for the worker that is missing. */
TEST_WITH(little_memory_is_for_workers_first, model_reset, model_end)
{
    limits.batch_bytes = 4000000;
    limits.worker_bytes = 4000000;
    limits.memory_bytes = 4 * limits.worker_bytes + 3 * limits.batch_bytes;
    model_begin(16, 1, 100, 20);
    model_set_depth(3);
    model_steps(400);
    assert_int_equal(m.knobs.workers, 5);
    assert_int_equal(m.knobs.depth, 2);
}

/* Somebody has taken cores, unannounced. When he leaves, so few workers are
 * hardly faster, but none queues now. */
TEST_WITH(cores_that_others_leave_are_used, model_reset, model_end)
{
    model_begin(10, 4, 90, 20);
    m.cores = 3.5;
    model_steps(2000);
    assert_int_equal(m.knobs.workers, 4);
    m.cores = 10;
    model_steps(400);
    assert_in_range(m.knobs.workers, 5, 7);
}

/* As long as somebody holds the cores fewer workers would do; but he leaves. */
TEST_WITH(no_worker_is_given_up_for_others, model_reset, model_end)
{
    model_begin(10, 6, 90, 20);
    model_steps(400);
    m.cores = 3.5;
    model_steps(8000);
    assert_int_equal(m.knobs.workers, 6);
    assert_int_equal(model_count(FDL_REASON_EXPLORE_DOWN, -1), 0);
}

/* 100 ms of work, 40 of them with the lock: with three workers somebody always
 * has it, and six are enough that it never lies idle by chance. */
TEST_WITH(a_lock_that_is_full_needs_no_more, model_reset, model_end)
{
    static const uint32_t start[] = {1, 4, 16, 64};
    for (unsigned i = 0; i < FDL_COUNT_OF(start); ++i) {
        model_begin(64, start[i], 100, 2);
        m.held = 40e6;
        bool said = false;
        for (unsigned step = 0; step < 3000; ++step) {
            model_step();
            said |= strcmp(model_status().limited_by, "lock") == 0;
        }
        assert_true(said);
        assert_in_range(m.knobs.workers, 3, 7);
        assert_true(m.most_workers <= FDL_MAX(start[i], UINT32_C(8)));
        model_end();
    }
}

/* Work that is paid for by few waits is work: as many as keep up with it. */
TEST_WITH(a_lock_that_is_free_holds_nobody_back, model_reset, model_end)
{
    model_begin(16, 1, 100, 20);
    m.held = 10e6;
    model_steps(1000);
    assert_in_range(m.knobs.workers, 5, 6);
    assert_string_equal(model_status().limited_by, "");
}

TEST(everything_has_a_name)
{
    for (int i = 0; i <= FDL_TUNER_FROZEN; ++i)
        assert_true(*fdl_tuner_state_name((enum fdl_tuner_state)i));
    for (int i = 0; i < FDL_KNOBS; ++i)
        assert_true(*fdl_knob_name((enum fdl_knob)i));
    for (int i = 0; i < FDL_REASONS; ++i)
        assert_true(*fdl_reason_name((enum fdl_decision_reason)i));
    for (int i = 0; i < FDL_OUTCOMES; ++i)
        assert_true(*fdl_outcome_name((enum fdl_decision_outcome)i));
    assert_string_equal(fdl_reason_name(FDL_REASONS), "");
}

TEST_MAIN("tuner")
