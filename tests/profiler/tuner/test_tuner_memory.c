/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A full memory: how it is divided, and what is tried in it.
 */
#include "profiler/tuner/tuner_own.h"
#include "tuner_model.h"

static struct fdl_tuner_limits little_memory(void)
{
    struct fdl_tuner_limits l = model_limits(8);
    l.batch_bytes = 2000000;
    l.read_bytes = 100000;
    l.worker_bytes = 1000000;
    l.memory_bytes = 40000000;
    return l;
}

/* Little's law wants 96 reads; but a batch waits for the slowest of its reads,
 * so that each batch ahead brings as much as eight of them. */
TEST_WITH(what_reads_do_not_use_goes_to_depth, model_reset, model_end)
{
    limits = little_memory();
    model_begin(8, 2, 20, 20);
    m.read_ns = 60e6;
    m.reads_limit = 1 / (MODEL_SIZE * m.read_ns);
    m.window_limit = 1 / (12 * m.g);
    for (unsigned i = 0; i < 4000; ++i) {
        model_step();
        assert_true(fdl_knobs_memory(&limits, &m.knobs) <= limits.memory_bytes);
    }
    assert_true(model_count(FDL_REASON_EXPLORE_DOWN, FDL_OUTCOME_KEPT) > 0);
    assert_in_range(m.knobs.io_depth, 48, 96);
    assert_true(m.knobs.depth >= 10);
    assert_true(model_pace() * m.g > 0.6); /* one half by the plan */
}

static struct fdl_tuner *waits(const struct fdl_tuner_limits *l,
                               const struct fdl_knobs *k)
{
    struct fdl_tuner *t = fdl_tuner_create(l, k, false);
    assert_non_null(t);
    t->best.valid = true;
    t->best.reads = 16;
    t->best.work = 100e6;
    t->best.g = 10e6;
    t->best.rate = 1 / 50e6; /* both workers are busy */
    t->best.share = 1;
    return t;
}

/* Each step is along the budget: it is never exceeded, and not left unused. */
TEST(steps_are_along_the_budget)
{
    struct fdl_tuner_limits l = little_memory();
    l.worker_bytes = 3000000;
    /* 6 + 20 x 2 x 0.1 + 2 x 0.1 MB, and 29.8 for batches */
    const struct fdl_knobs k = {2, 14, 20};
    struct fdl_tuner *t = waits(&l, &k);
    struct fdl_knobs to;
    t->best.read_ns = 50e6; /* 16 of 20 reads are on their way */
    assert_true(fdl_tuner_split(t, FDL_TUNER_SPLIT_MORE_READS, &to));
    assert_int_equal(to.io_depth, 30);
    assert_int_equal(to.depth, 13);
    t->best.read_ns = 10e6; /* 3.2 */
    assert_false(fdl_tuner_split(t, FDL_TUNER_SPLIT_MORE_READS, &to));
    assert_true(fdl_tuner_split(t, FDL_TUNER_SPLIT_FEWER_READS, &to));
    assert_int_equal(to.io_depth, 11);
    assert_int_equal(to.depth, 15);
    t->best.read_ns = 60e6; /* 19.2 */
    assert_false(fdl_tuner_split(t, FDL_TUNER_SPLIT_FEWER_READS, &to));
    assert_false(fdl_tuner_split(t, FDL_TUNER_SPLIT_FEWER_WORKERS, &to));
    t->best.rate = 1 / 200e6; /* half of one is */
    assert_true(fdl_tuner_split(t, FDL_TUNER_SPLIT_FEWER_WORKERS, &to));
    assert_int_equal(to.workers, 1);
    assert_int_equal(to.depth, 16);
    assert_true(fdl_tuner_split(t, FDL_TUNER_SPLIT_WORKER, &to));
    assert_int_equal(to.workers, 3);
    assert_int_equal(to.depth, 13);
    assert_true(fdl_knobs_memory(&l, &to) <= l.memory_bytes);
    fdl_tuner_destroy(t);
}

/* Of one who waits for reads the plan of a moment would have one worker. That
 * is for a division to find, which has to do better. */
TEST(what_is_full_is_not_planned_down)
{
    struct fdl_tuner_limits l = little_memory();
    /* 4 workers and their reads, 4.4, 90 x 2 x 0.1 and 9 batches: 40.4 MB */
    const struct fdl_knobs k = {4, 9, 90};
    l.memory_bytes = 40400000;
    struct fdl_tuner *t = waits(&l, &k);
    t->best.read_ns = 100e6; /* 160 of them would be needed */
    t->best.starved = t->best.stall = 0.5;
    t->best.workers = 4;
    t->replan = true;
    assert_false(fdl_tuner_next(t));
    assert_int_equal(t->planned.workers, 1);
    fdl_tuner_destroy(t);
}

/* There is room; nobody reads; the cores, or the workers, are enough; what
 * stands firm is not moved. */
TEST(there_may_be_none)
{
    struct fdl_tuner_limits l = little_memory();
    struct fdl_knobs k = {2, 10, 20}, to;
    struct fdl_tuner *t = waits(&l, &k);
    for (int s = 0; s < FDL_TUNER_SPLITS; ++s)
        assert_false(fdl_tuner_split(t, (enum fdl_tuner_split)s, &to));
    fdl_tuner_destroy(t);

    k.depth = 16;
    t = waits(&l, &k);
    t->best.reads = 0;
    t->best.work = 15e6;
    t->best.rate = 1 / 10e6;
    for (int s = 0; s < FDL_TUNER_SPLITS; ++s)
        assert_false(fdl_tuner_split(t, (enum fdl_tuner_split)s, &to));
    t->best.work = 100e6;
    t->limits.cores = 2;
    assert_false(fdl_tuner_split(t, FDL_TUNER_SPLIT_WORKER, &to));
    fdl_tuner_destroy(t);

    l.io_depth_min = l.io_depth_max = 20;
    l.workers_max = 2;
    t = waits(&l, &k);
    for (int s = 0; s < FDL_TUNER_SPLITS; ++s)
        assert_false(fdl_tuner_split(t, (enum fdl_tuner_split)s, &to));
    fdl_tuner_destroy(t);
}

TEST_MAIN("tuner_memory")
