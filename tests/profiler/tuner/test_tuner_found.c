/* SPDX-License-Identifier: Apache-2.0 */
/* What the tuner tells those who give advice. */
#include "profiler/tuner/tuner_found.h"
#include "tuner_model.h"

static struct fdl_tuner_found found(void)
{
    struct fdl_tuner_found f;
    fdl_tuner_get_found(m.tuner, &f);
    return f;
}

TEST_WITH(more_workers_that_helped, model_reset, model_end)
{
    model_begin(8, 1, 82.3, 28.5);
    m.share = 0.1;
    assert_false(found().more_workers.judged);
    assert_true(found().owns[FDL_KNOB_WORKERS]);
    model_steps(2000);
    struct fdl_tuner_found f = found();
    assert_true(f.more_workers.judged && f.more_workers.kept);
    assert_int_equal(f.more_workers.before, 1);
    assert_int_equal(f.more_workers.after, 4);
    assert_true(f.more_workers.gain > 1 && f.more_workers.error < 0.5);
    assert_true(f.converged);
    assert_string_equal(f.limited_by, "");
}

/* Workers that sleep under a mutex nobody announced: what the trial of more has
 * measured so far is told before it is judged. */
TEST_WITH(a_trial_under_way_is_told, model_reset, model_end)
{
    struct fdl_tuner_found f;
    model_begin(2, 2, 164, 4);
    m.share = 0.1;
    m.held = 82e6;
    m.silent = true;
    do {
        model_steps(1);
        f = found();
        assert_false(f.more_workers.judged);
    } while (f.trying_more_workers.before == 0);
    assert_int_equal(f.trying_more_workers.before, 2);
    assert_int_equal(f.trying_more_workers.after, m.knobs.workers);
    assert_true(m.knobs.workers > 2 && f.trying_more_workers.gain < 0.05);
    assert_true(f.trying_more_workers.error > 0);
    assert_true(f.trying_predicted > 1);
    model_steps(2000);
    assert_int_equal(found().trying_more_workers.before, 0);
    assert_true(found().more_workers.judged);
}

TEST_WITH(workers_that_fill_the_cores, model_reset, model_end)
{
    model_begin(4, 4, 200, 20);
    model_steps(2000);
    assert_string_equal(found().limited_by, "cores");
}

TEST_WITH(a_knob_that_was_given_is_not_its_own, model_reset, model_end)
{
    limits.workers_min = limits.workers_max = 2;
    limits.depth_max = 12;
    model_begin(8, 2, 82.3, 28.5);
    model_steps(500);
    struct fdl_tuner_found f = found();
    assert_false(f.owns[FDL_KNOB_WORKERS]);
    assert_true(f.owns[FDL_KNOB_DEPTH] && f.owns[FDL_KNOB_IO_DEPTH]);
    assert_false(f.more_workers.judged);
}

TEST_WITH(more_reads_that_brought_nothing, model_reset, model_end)
{
    model_begin(8, 2, 10, 20);
    model_set_depth(4);
    m.bandwidth = 1 / 100e6;
    assert_false(found().more_reads_failed);
    model_steps(3000);
    assert_true(found().more_reads_failed);
}

TEST_MAIN("tuner_found")
