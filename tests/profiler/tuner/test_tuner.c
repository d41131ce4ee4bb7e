/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the tuner, one by one, on a model of a loader. */
#include "base/compiler.h"
#include "tuner_model.h"

/* The published case: 82.3 ms of loading, a step of 28.5 ms. */
TEST(four_workers_feed_the_published_case)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(8);
    model_begin(&m, &l, 1, 82.3, 28.5);
    m.share = 0.1; /* most of it sleeps */
    model_steps(&m, 60);
    assert_int_equal(m.knobs.workers, 4);
    model_steps(&m, 2000);
    model_print(&m);
    struct fdl_tuner_status s = model_status(&m);
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
    fdl_tuner_destroy(m.tuner);
}

TEST(more_than_needed_is_given_back)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(20);
    model_begin(&m, &l, 16, 50, 20);
    model_steps(&m, 1500);
    model_print(&m);
    assert_int_equal(m.knobs.workers, 3);
    assert_int_equal(model_count(&m, FDL_REASON_SHRINK, FDL_OUTCOME_KEPT), 1);
    assert_true(model_status(&m).stall <= 0.01);
    fdl_tuner_destroy(m.tuner);
}

/* A step beyond them is tried, and taken back. */
TEST(work_on_cores_stays_within_them)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(4);
    model_begin(&m, &l, 1, 200, 20);
    model_steps(&m, 4000);
    model_print(&m);
    assert_int_equal(m.knobs.workers, 4);
    assert_true(m.most_workers <= 5);
    assert_string_equal(model_status(&m).limited_by, "cores");
    fdl_tuner_destroy(m.tuner);
}

TEST(work_that_sleeps_may_exceed_them)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(2);
    model_begin(&m, &l, 2, 240, 20);
    m.share = 0.05;
    model_steps(&m, 1000);
    model_print(&m);
    assert_in_range(m.knobs.workers, 12, 14);
    assert_true(model_status(&m).stall <= 0.01);
    fdl_tuner_destroy(m.tuner);
}

/* Each worker slows the others: the plan goes up as far as that helps. */
TEST(contention_is_found_by_trying)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(64);
    l.workers_max = 8;
    model_begin(&m, &l, 2, 100, 2);
    m.kappa = 0.3;
    m.bad_above = 4;
    m.bad = 0.6;
    model_steps(&m, 6000);
    model_print(&m);
    assert_int_equal(m.knobs.workers, 4);
    assert_true(model_status(&m).rolled_back >= 1);
    fdl_tuner_destroy(m.tuner);
}

TEST(depth_covers_the_slowest_samples)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(8);
    model_begin(&m, &l, 4, 60, 20);
    m.r.sample_tail_ns = 500000000;
    model_steps(&m, 200);
    model_print(&m);
    assert_in_range(m.knobs.depth, 31, 40);
    assert_true(model_count(&m, FDL_REASON_TAIL, FDL_OUTCOME_RULE) >= 1);
    fdl_tuner_destroy(m.tuner);
}

TEST(reads_are_what_is_waited_for)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(8);
    model_begin(&m, &l, 4, 20, 20);
    m.knobs.io_depth = 4;
    fdl_tuner_applied(m.tuner, &m.knobs, false);
    m.read_ns = 20e6;
    m.reads_limit = 1 / (MODEL_SIZE * m.read_ns);
    model_steps(&m, 600);
    model_print(&m);
    assert_true(m.knobs.io_depth >= 32);
    assert_true(model_status(&m).stall <= 0.01);
    assert_true(model_count(&m, FDL_REASON_READS, -1) >= 1);
    fdl_tuner_destroy(m.tuner);
}

TEST(memory_is_never_exceeded)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(16);
    l.batch_bytes = 10000000;
    l.read_bytes = 100000;
    l.worker_bytes = 4000000;
    l.memory_bytes = 80000000;
    model_begin(&m, &l, 2, 100, 20);
    struct fdl_tuner_status s = model_status(&m);
    m.knobs = s.knobs;
    m.r.sample_tail_ns = 500000000;
    for (unsigned i = 0; i < 2000; ++i) {
        model_step(&m);
        assert_true(fdl_knobs_memory(&l, &m.knobs) <= l.memory_bytes);
    }
    model_print(&m);
    assert_in_range(m.knobs.workers, 5, 7);
    fdl_tuner_destroy(m.tuner);
}

TEST(new_cores_are_used_at_once)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(8);
    model_begin(&m, &l, 8, 120, 20);
    model_steps(&m, 800);
    assert_in_range(m.knobs.workers, 6, 7);
    l.cores = m.cores = 3;
    fdl_tuner_set_limits(m.tuner, &l);
    model_steps(&m, 1200);
    model_print(&m);
    assert_in_range(m.knobs.workers, 3, 4);
    assert_string_equal(model_status(&m).limited_by, "cores");
    l.cores = m.cores = 8;
    fdl_tuner_set_limits(m.tuner, &l);
    model_steps(&m, 300);
    model_print(&m);
    assert_in_range(m.knobs.workers, 6, 7);
    assert_true(model_status(&m).changes >= 2);
    fdl_tuner_destroy(m.tuner);
}

/* More workers than fill its share would be faster, for the scheduler gives
 * what it takes from others: they are given up by rule, and none is tried. */
TEST(what_is_others_is_left_to_them)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(2);
    model_begin(&m, &l, 2, 200, 20);
    model_steps(&m, 800);
    assert_int_equal(m.knobs.workers, 2);
    m.cores = 4;
    l.cores = 2.0 / 3;
    l.shared = true;
    fdl_tuner_set_limits(m.tuner, &l);
    m.most_workers = 0;
    model_steps(&m, 100);
    assert_int_equal(m.knobs.workers, 1);
    assert_int_equal(model_count(&m, FDL_REASON_LIMIT, FDL_OUTCOME_RULE), 1);
    m.most_workers = 0;
    model_steps(&m, 4000);
    model_print(&m);
    assert_int_equal(m.most_workers, 1);
    assert_string_equal(model_status(&m).limited_by, "cores");
    /* They went. */
    l.cores = 4;
    l.shared = false;
    fdl_tuner_set_limits(m.tuner, &l);
    model_steps(&m, 400);
    assert_int_equal(m.knobs.workers, 4);
    fdl_tuner_destroy(m.tuner);
}

/* A worker that sleeps takes little of a share. */
TEST(work_that_sleeps_has_room_in_a_share)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(2.0 / 3);
    l.shared = true;
    model_begin(&m, &l, 2, 240, 20);
    m.share = 0.02;
    model_steps(&m, 1000);
    model_print(&m);
    assert_in_range(m.knobs.workers, 12, 14);
    assert_true(model_status(&m).stall <= 0.01);
    fdl_tuner_destroy(m.tuner);
}

TEST(narrower_bounds_hold_at_once)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(8);
    model_begin(&m, &l, 8, 120, 20);
    model_steps(&m, 10);
    l.workers_max = 2;
    fdl_tuner_set_limits(m.tuner, &l);
    struct fdl_knobs want;
    assert_true(fdl_tuner_propose(m.tuner, &want));
    assert_int_equal(want.workers, 2);
    assert_true(model_count(&m, FDL_REASON_LIMIT, -1) >= 1);
    model_steps(&m, 500);
    assert_int_equal(m.knobs.workers, 2);
    assert_string_equal(model_status(&m).limited_by, "bound");
    fdl_tuner_destroy(m.tuner);
}

TEST(a_faster_consumer_is_noticed)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(16);
    model_begin(&m, &l, 4, 50, 40);
    model_steps(&m, 600);
    assert_int_equal(m.knobs.workers, 2);
    m.g /= 4;
    model_steps(&m, 120);
    model_print(&m);
    assert_in_range(m.knobs.workers, 6, 7);
    assert_true(model_status(&m).changes >= 1);
    fdl_tuner_destroy(m.tuner);
}

TEST(the_guard_goes_back)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(11);
    model_begin(&m, &l, 10, 400, 20);
    model_steps(&m, 300);
    assert_int_equal(m.knobs.workers, 11);
    m.bad_above = 10; /* eleven are slower now than ten were */
    m.bad = 0.85;
    model_steps(&m, 1500);
    model_print(&m);
    assert_true(model_status(&m).guarded >= 1);
    fdl_tuner_destroy(m.tuner);
}

TEST(a_pause_is_not_learned_from)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(16);
    model_begin(&m, &l, 4, 60, 20);
    model_steps(&m, 500);
    uint64_t decided = model_status(&m).decisions;
    double step = model_status(&m).step_ns;
    for (int i = 0; i < 400; ++i) { /* ten seconds */
        model_run(&m, 25e6);
        m.r.away_ns += 25000000;
        model_tell(&m);
    }
    assert_int_equal(model_status(&m).state, FDL_TUNER_FROZEN);
    m.r.user_ns += m.r.away_ns;
    m.r.away_ns = 0;
    model_steps(&m, 400);
    model_print(&m);
    assert_int_equal(model_status(&m).decisions, decided);
    assert_int_equal(model_status(&m).changes, 0);
    assert_true(fabs(model_status(&m).step_ns / step - 1) < 0.05);
    assert_int_not_equal(model_status(&m).state, FDL_TUNER_FROZEN);
    fdl_tuner_destroy(m.tuner);
}

TEST(a_new_run_keeps_what_was_learned)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(16);
    model_begin(&m, &l, 16, 60, 20);
    model_steps(&m, 500);
    uint32_t found = m.knobs.workers;
    fdl_tuner_pause(m.tuner);
    int64_t now = m.r.now_ns;
    memset(&m.r, 0, sizeof(m.r));
    m.r.now_ns = now;
    m.r.batch_size = MODEL_SIZE;
    m.stock = 0;
    model_steps(&m, 300);
    model_print(&m);
    struct fdl_tuner_status s = model_status(&m);
    assert_int_equal(m.knobs.workers, found);
    assert_int_equal(s.oddities, 0);
    assert_int_equal(s.changes, 0);
    fdl_tuner_destroy(m.tuner);
}

TEST(observe_only_says_so)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(8);
    model_begin(&m, &l, 1, 82.3, 28.5);
    m.watch = true;
    model_steps(&m, 3000);
    model_print(&m);
    struct fdl_tuner_status s = model_status(&m);
    assert_int_equal(m.knobs.workers, 1);
    assert_int_equal(s.planned.workers, 4);
    assert_true(s.decisions >= 1 && s.decisions <= 4);
    assert_int_equal(model_count(&m, -1, FDL_OUTCOME_PROPOSED), s.decisions);
    fdl_tuner_destroy(m.tuner);
}

TEST(less_than_asked_for_is_lived_with)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(8);
    model_begin(&m, &l, 1, 82.3, 28.5);
    for (unsigned i = 0; i < 1000; ++i) {
        struct fdl_knobs want;
        m.watch = true;
        double wait = m.stock < 1 ? (1 - m.stock) / model_pace(&m) : 0;
        model_run(&m, wait);
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
        model_run(&m, m.g);
        m.r.user_ns += (int64_t)m.g;
    }
    model_print(&m);
    assert_int_equal(m.knobs.workers, 2);
    assert_true(model_count(&m, FDL_REASON_APPLIED, -1) >= 1);
    assert_true(model_status(&m).decisions < 30);
    fdl_tuner_destroy(m.tuner);
}

/* Somebody sets a knob: it is measured, not fought over at once. */
TEST(what_others_set_is_taken_as_it_is)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(16);
    model_begin(&m, &l, 4, 60, 20);
    model_steps(&m, 500);
    m.knobs.workers = 9;
    fdl_tuner_applied(m.tuner, &m.knobs, false);
    struct fdl_knobs want;
    assert_false(fdl_tuner_propose(m.tuner, &want));
    assert_int_equal(model_status(&m).knobs.workers, 9);
    model_steps(&m, 500);
    assert_in_range(m.knobs.workers, 3, 4);
    fdl_tuner_destroy(m.tuner);
}

/* Batches of a quarter of a second: a look at many of them would take long. */
TEST(slow_batches_are_not_looked_at_for_long)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(1);
    model_begin(&m, &l, 1, 250, 60);
    unsigned steps = 0;
    while (!(model_status(&m).rate > 0) && steps < 100) {
        model_step(&m);
        ++steps;
    }
    assert_in_range(steps, 2, 16); /* said before anything was decided */
    while (model_status(&m).state < FDL_TUNER_SETTLE && steps < 100) {
        model_step(&m);
        ++steps;
    }
    assert_in_range(steps, 2, 24);
    fdl_tuner_destroy(m.tuner);
}

/* Depth alone would not help, and looking what it did takes a window. */
TEST(the_plan_does_not_wait_for_depth)
{
    struct tuner_model m;
    struct fdl_decision d;
    struct fdl_tuner_limits l = model_limits(16);
    model_begin(&m, &l, 1, 200, 20);
    m.knobs.depth = 3;
    fdl_tuner_applied(m.tuner, &m.knobs, false);
    m.r.sample_tail_ns = 400000000;
    model_steps(&m, 60);
    model_print(&m);
    assert_true(fdl_tuner_decision(m.tuner, 0, &d));
    assert_int_equal(d.reason, FDL_REASON_PLAN_UP);
    assert_true(m.knobs.depth > 3);
    fdl_tuner_destroy(m.tuner);
}

/* A batch less ahead is room for the worker that is missing. */
TEST(little_memory_is_for_workers_first)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(16);
    l.batch_bytes = 4000000;
    l.worker_bytes = 4000000;
    l.memory_bytes = 4 * l.worker_bytes + 3 * l.batch_bytes;
    model_begin(&m, &l, 1, 100, 20);
    m.knobs.depth = 3;
    fdl_tuner_applied(m.tuner, &m.knobs, false);
    model_steps(&m, 400);
    model_print(&m);
    assert_int_equal(m.knobs.workers, 5);
    assert_int_equal(m.knobs.depth, 2);
    fdl_tuner_destroy(m.tuner);
}

/* Somebody has taken cores, unannounced. When he leaves, so few workers are
 * hardly faster, but none queues now. */
TEST(cores_that_others_leave_are_used)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(10);
    model_begin(&m, &l, 4, 90, 20);
    m.cores = 3.5;
    model_steps(&m, 2000);
    assert_int_equal(m.knobs.workers, 4);
    m.cores = 10;
    model_steps(&m, 400);
    model_print(&m);
    assert_in_range(m.knobs.workers, 5, 7);
    fdl_tuner_destroy(m.tuner);
}

/* As long as somebody holds the cores fewer workers would do; but he leaves. */
TEST(no_worker_is_given_up_for_others)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(10);
    model_begin(&m, &l, 6, 90, 20);
    model_steps(&m, 400);
    m.cores = 3.5;
    model_steps(&m, 8000);
    model_print(&m);
    assert_int_equal(m.knobs.workers, 6);
    assert_int_equal(model_count(&m, FDL_REASON_EXPLORE_DOWN, -1), 0);
    fdl_tuner_destroy(m.tuner);
}

/* 100 ms of work, 40 of them with the lock: with three workers somebody always
 * has it, and six are enough that it never lies idle by chance. */
TEST(a_lock_that_is_full_needs_no_more)
{
    static const uint32_t start[] = {1, 4, 16, 64};
    for (unsigned i = 0; i < FDL_COUNT_OF(start); ++i) {
        struct tuner_model m;
        struct fdl_tuner_limits l = model_limits(64);
        model_begin(&m, &l, start[i], 100, 2);
        m.held = 40e6;
        bool said = false;
        for (unsigned step = 0; step < 3000; ++step) {
            model_step(&m);
            said |= strcmp(model_status(&m).limited_by, "lock") == 0;
        }
        model_print(&m);
        assert_true(said);
        assert_in_range(m.knobs.workers, 3, 7);
        assert_true(m.most_workers <= FDL_MAX(start[i], UINT32_C(8)));
        fdl_tuner_destroy(m.tuner);
    }
}

/* Work that is paid for by few waits is work: as many as keep up with it. */
TEST(a_lock_that_is_free_holds_nobody_back)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(16);
    model_begin(&m, &l, 1, 100, 20);
    m.held = 10e6;
    model_steps(&m, 1000);
    assert_in_range(m.knobs.workers, 5, 6);
    assert_string_equal(model_status(&m).limited_by, "");
    fdl_tuner_destroy(m.tuner);
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
