/* SPDX-License-Identifier: Apache-2.0 */
/* What the tuner tells those who give advice. */
#include "profiler/tuner/tuner_found.h"
#include "tuner_model.h"

static struct fdl_tuner_found found(const struct tuner_model *m)
{
    struct fdl_tuner_found f;
    fdl_tuner_get_found(m->tuner, &f);
    return f;
}

TEST(more_workers_that_helped)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(8);
    model_begin(&m, &l, 1, 82.3, 28.5);
    m.share = 0.1;
    assert_false(found(&m).more_workers.judged);
    assert_true(found(&m).owns[FDL_KNOB_WORKERS]);
    model_steps(&m, 2000);
    struct fdl_tuner_found f = found(&m);
    assert_true(f.more_workers.judged && f.more_workers.kept);
    assert_int_equal(f.more_workers.before, 1);
    assert_int_equal(f.more_workers.after, 4);
    assert_true(f.more_workers.gain > 1 && f.more_workers.error < 0.5);
    assert_false(f.exhausted[FDL_KNOB_WORKERS]);
    assert_true(f.converged);
    assert_string_equal(f.limited_by, "");
    fdl_tuner_destroy(m.tuner);
}

/* Workers that sleep under a mutex nobody announced: what the trial of more has
 * measured so far is told before it is judged. */
TEST(a_trial_under_way_is_told)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(2);
    struct fdl_tuner_found f;
    model_begin(&m, &l, 2, 164, 4);
    m.share = 0.1;
    m.held = 82e6;
    m.silent = true;
    do {
        model_steps(&m, 1);
        f = found(&m);
        assert_false(f.more_workers.judged);
    } while (f.trying_more_workers.before == 0);
    assert_int_equal(f.trying_more_workers.before, 2);
    assert_int_equal(f.trying_more_workers.after, m.knobs.workers);
    assert_true(m.knobs.workers > 2 && f.trying_more_workers.gain < 0.05);
    assert_true(f.trying_more_workers.error > 0);
    assert_true(f.trying_predicted > 1);
    model_steps(&m, 2000);
    assert_int_equal(found(&m).trying_more_workers.before, 0);
    assert_true(found(&m).more_workers.judged);
    fdl_tuner_destroy(m.tuner);
}

TEST(workers_that_fill_the_cores_are_exhausted)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(4);
    model_begin(&m, &l, 4, 200, 20);
    model_steps(&m, 2000);
    assert_true(found(&m).exhausted[FDL_KNOB_WORKERS]);
    assert_string_equal(found(&m).limited_by, "cores");
    fdl_tuner_destroy(m.tuner);
}

TEST(a_knob_that_was_given_is_not_its_own)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(8);
    l.workers_min = l.workers_max = 2;
    l.depth_max = 12;
    model_begin(&m, &l, 2, 82.3, 28.5);
    model_steps(&m, 500);
    struct fdl_tuner_found f = found(&m);
    assert_false(f.owns[FDL_KNOB_WORKERS]);
    assert_true(f.owns[FDL_KNOB_DEPTH] && f.owns[FDL_KNOB_IO_DEPTH]);
    assert_true(f.exhausted[FDL_KNOB_DEPTH]);
    assert_false(f.more_workers.judged);
    fdl_tuner_destroy(m.tuner);
}

TEST(more_reads_that_brought_nothing)
{
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(8);
    model_begin(&m, &l, 2, 10, 20);
    m.knobs.depth = 4;
    fdl_tuner_applied(m.tuner, &m.knobs, false);
    m.bandwidth = 1 / 100e6;
    assert_false(found(&m).more_reads_failed);
    model_steps(&m, 3000);
    assert_true(found(&m).more_reads_failed);
    assert_true(found(&m).exhausted[FDL_KNOB_IO_DEPTH]);
    fdl_tuner_destroy(m.tuner);
}

TEST_MAIN("tuner_found")
