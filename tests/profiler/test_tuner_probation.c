/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fewer workers that were kept while the consumer was fed: whether they are as
 * good is known only after a while.
 */
#include "tuner_model.h"

/* Until fewer were tried and kept. */
static void until_fewer(struct tuner_model *m, const struct fdl_tuner_limits *l)
{
    model_begin(m, l, 8, 40, 20);
    for (unsigned i = 0; i < 3000; ++i) {
        if (model_count(m, FDL_REASON_SHRINK, FDL_OUTCOME_KEPT) > 0)
            break;
        model_step(m);
    }
    assert_int_equal(m->knobs.workers, 3);
}

/* Its steps take 2.5 % longer with them, less than is seen as other
 * conditions, and it never waits. */
static void what_slows_the_consumer_is_taken_back(void **state)
{
    (void)state;
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(20);
    until_fewer(&m, &l);
    m.slow_below = 8;
    m.slow = 1.025;
    for (unsigned i = 0; i < 600 && m.knobs.workers < 8; ++i)
        model_step(&m);
    model_print(&m);
    assert_int_equal(m.knobs.workers, 8);
    assert_int_equal(model_count(&m, FDL_REASON_GUARD, -1), 1);
    assert_int_equal(model_status(&m).changes, 0);
    fdl_tuner_destroy(m.tuner);
}

/* A hundredth is not worth a worker. */
static void what_is_hardly_slower_stays(void **state)
{
    (void)state;
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(20);
    until_fewer(&m, &l);
    m.slow_below = 8;
    m.slow = 1.01;
    model_steps(&m, 6000);
    model_print(&m);
    assert_int_equal(m.knobs.workers, 3);
    assert_int_equal(model_count(&m, FDL_REASON_GUARD, -1), 0);
    fdl_tuner_destroy(m.tuner);
}

/* What comes after it is over is not blamed on them. */
static void it_does_not_last_for_ever(void **state)
{
    (void)state;
    struct tuner_model m;
    struct fdl_tuner_limits l = model_limits(20);
    until_fewer(&m, &l);
    model_steps(&m, 6000);
    m.slow_below = 8;
    m.slow = 1.025;
    model_steps(&m, 3000);
    model_print(&m);
    assert_int_equal(m.knobs.workers, 3);
    fdl_tuner_destroy(m.tuner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_slows_the_consumer_is_taken_back),
        cmocka_unit_test(what_is_hardly_slower_stays),
        cmocka_unit_test(it_does_not_last_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
