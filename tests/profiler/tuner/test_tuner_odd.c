/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tuner and input that should not be: clocks and counters that jump, bounds
 * that contradict each other, random readings. It stays within its limits, says
 * only finite numbers, and is the same for the same input.
 */
#include "tuner_model.h"

TEST_WITH(a_clock_may_jitter, model_reset, model_end)
{
    model_begin(16, 8, 60, 20);
    model_steps(20);
    m.r.now_ns -= 25000000;
    fdl_tuner_observe(m.tuner, &m.r);
    m.r.now_ns += 25000000;
    assert_int_equal(model_status().oddities, 1);
    model_steps(500);
    assert_int_equal(model_status().oddities, 1);
    assert_int_equal(m.knobs.workers, 4);
}

/* Readings that are off by far more than the time between them: nearly all are
 * before the one that was latest. */
TEST_WITH(a_clock_may_be_a_bad_one, model_reset, model_end)
{
    model_begin(16, 8, 60, 20);
    for (unsigned step = 0; step < 2000; ++step) {
        model_step();
        for (unsigned i = 0; i < 40; ++i) {
            struct fdl_tuner_reading r = m.r;
            r.now_ns += (int64_t)dice_between(&m.noise, 0, 900e6);
            fdl_tuner_observe(m.tuner, &r);
        }
    }
    assert_true(model_status().oddities > 10000);
    assert_int_equal(m.knobs.workers, 4);
}

TEST_WITH(a_clock_may_be_set_back, model_reset, model_end)
{
    model_begin(16, 8, 60, 20);
    m.r.now_ns = INT64_C(7200000000000);
    model_steps(20);
    m.r.now_ns -= INT64_C(3600000000000);
    model_steps(500);
    assert_true(model_status().oddities >= 1);
    assert_int_equal(m.knobs.workers, 4);
}

TEST_WITH(a_clock_may_be_set_forward, model_reset, model_end)
{
    model_begin(16, 4, 60, 20);
    model_steps(400);
    uint64_t decided = model_status().decisions;
    m.r.now_ns += INT64_C(3600000000000);
    model_steps(400);
    assert_true(model_status().oddities >= 1);
    assert_int_equal(model_status().decisions, decided);
    /* An hour of nothing brings no credit. */
    assert_true(model_status().credit_ns < INT64_C(10000000000));
}

TEST_WITH(counters_may_begin_anew, model_reset, model_end)
{
    model_begin(16, 8, 60, 20);
    for (unsigned i = 0; i < 8; ++i) {
        model_steps(70);
        int64_t now = m.r.now_ns;
        memset(&m.r, 0, sizeof(m.r));
        m.r.now_ns = now;
        m.r.batch_size = MODEL_SIZE;
    }
    model_steps(500);
    assert_int_equal(model_status().oddities, 8);
    assert_int_equal(m.knobs.workers, 4);
}

TEST_WITH(counters_may_stand_still, model_reset, model_end)
{
    model_begin(16, 8, 60, 20);
    model_steps(50);
    for (unsigned i = 0; i < 5000; ++i) {
        fdl_tuner_observe(m.tuner, &m.r); /* not even the clock */
        struct fdl_knobs want;
        if (fdl_tuner_propose(m.tuner, &want)) {
            m.knobs = want;
            fdl_tuner_applied(m.tuner, &want, false);
        }
    }
    for (unsigned i = 0; i < 5000; ++i) {
        m.r.now_ns += 25000000;
        fdl_tuner_observe(m.tuner, &m.r);
    }
    uint64_t decided = model_status().decisions;
    assert_true(decided <= 2);
    model_steps(1500);
    assert_int_equal(m.knobs.workers, 4);
}

/* No device, no cores known, no times at all. */
TEST(nothing_need_be_known)
{
    struct fdl_tuner_limits l = model_limits(4);
    struct fdl_knobs start = {2, 4, 4};
    struct fdl_tuner *t = fdl_tuner_create(&l, &start, true);
    struct fdl_tuner_reading r = {.runq_ns = -1, .throttle_ns = -1};
    struct fdl_tuner_status s;
    struct fdl_knobs want;
    for (unsigned i = 0; i < 3000; ++i) {
        r.now_ns += 10000000;
        ++r.batches;
        fdl_tuner_observe(t, &r);
        if (fdl_tuner_propose(t, &want))
            fdl_tuner_applied(t, &want, false);
    }
    fdl_tuner_get(t, &s);
    assert_int_equal(s.oddities, 0);
    assert_in_range(s.knobs.workers, 1, 4);
    assert_true(isfinite(s.stall) && isfinite(s.rate) && isfinite(s.cores));
    fdl_tuner_destroy(t);
}

TEST(bounds_may_be_nonsense)
{
    struct fdl_tuner_limits l = {.workers_min = 9,
                                 .workers_max = 3,
                                 .depth_min = 50,
                                 .depth_max = 0,
                                 .io_depth_min = 7,
                                 .io_depth_max = 2,
                                 .cores = NAN,
                                 .target = NAN};
    struct fdl_knobs start = {0, 0, 0};
    struct fdl_tuner *t = fdl_tuner_create(&l, &start, false);
    struct fdl_tuner_status s;
    fdl_tuner_get(t, &s);
    assert_int_equal(s.knobs.workers, 3);
    assert_int_equal(s.knobs.depth, 1);
    assert_int_equal(s.knobs.io_depth, 2);
    assert_true(s.cores > 0);
    l.workers_max = UINT32_MAX;
    l.workers_min = UINT32_MAX;
    l.cores = -1;
    l.target = 100;
    fdl_tuner_set_limits(t, &l);
    struct fdl_knobs want;
    assert_true(fdl_tuner_propose(t, &want));
    assert_int_equal(want.workers, FDL_TUNER_WORKERS_MAX);
    fdl_tuner_destroy(t);
}

TEST_WITH(a_budget_below_one_batch, model_reset, model_end)
{
    limits.batch_bytes = 100000000;
    limits.worker_bytes = 1000000;
    limits.memory_bytes = 5;
    model_begin(16, 8, 60, 20);
    m.knobs = model_status().knobs;
    model_steps(300);
    assert_int_equal(m.knobs.workers, 1);
    assert_int_equal(m.knobs.depth, 1);
    assert_string_equal(model_status().limited_by, "memory");
}

TEST(sizes_may_be_huge)
{
    struct fdl_tuner_limits l = model_limits(16);
    l.batch_bytes = UINT64_MAX;
    l.memory_bytes = UINT64_MAX - 1;
    struct fdl_knobs k = {4, 4, 4};
    assert_true(fdl_knobs_memory(&l, &k) == UINT64_MAX);
    struct fdl_tuner *t = fdl_tuner_create(&l, &k, false);
    struct fdl_tuner_status s;
    fdl_tuner_get(t, &s);
    assert_int_equal(s.knobs.depth, 1);
    fdl_tuner_destroy(t);
}

/* ---- Random readings ---------------------------------------------------- */

/* Mostly small steps, sometimes anything at all. */
static void grow(struct dice *d, int64_t *counter, uint32_t by)
{
    uint64_t what = dice_below(d, 1000);
    if (what == 0)
        *counter = (int64_t)dice_u64(d);
    else if (what == 1)
        *counter = 0;
    else if (what == 2)
        *counter = -1;
    else if (*counter < INT64_MAX / 2)
        *counter += dice_below(d, 2 * by + 1);
}

static void random_reading(struct dice *d, struct fdl_tuner_reading *r)
{
    int64_t *const times[] = {
        &r->user_ns,        &r->wait_ns,          &r->api_ns,
        &r->idle_ns,        &r->span_ns,          &r->consumer_cpu_ns,
        &r->wait_fetch_ns,  &r->wait_transfer_ns, &r->work_ns,
        &r->cpu_ns,         &r->runq_ns,          &r->throttle_ns,
        &r->blocked_ns,     &r->starved_ns,       &r->read_ns,
        &r->sample_tail_ns, &r->read_tail_ns,     &r->away_ns};
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); ++i)
        if (dice_below(d, 50))
            grow(d, times[i], 20000000);
    grow(d, &r->now_ns, 30000000);
    int64_t batches = (int64_t)(r->batches & INT64_MAX);
    int64_t samples = (int64_t)(r->samples & INT64_MAX);
    int64_t reads = (int64_t)(r->reads & INT64_MAX);
    grow(d, &batches, 2);
    grow(d, &samples, 64);
    grow(d, &reads, 64);
    r->batches = (uint64_t)batches;
    r->samples = (uint64_t)samples;
    r->reads = (uint64_t)reads;
    r->ready = dice_below(d, 16);
    r->outstanding = dice_below(d, 16);
    r->memory_bytes = dice_below(d, 100000000);
    r->batch_size = (uint32_t)(dice_below(d, 3) ? 32 : dice_below(d, 5));
}

static void random_limits(struct dice *d, struct fdl_tuner_limits *l)
{
    l->workers_max = 1 + dice_below(d, 64);
    l->workers_min = 1 + dice_below(d, l->workers_max);
    l->depth_max = 2 + dice_below(d, 64);
    l->depth_min = 1 + dice_below(d, 2);
    l->io_depth_max = dice_below(d, 128);
    l->io_depth_min = l->io_depth_max ? dice_below(d, 2) : 0;
    l->cores = (double)(1 + dice_below(d, 640)) / 10;
    l->batch_bytes = 1000000;
    l->read_bytes = 100000;
    l->worker_bytes = 500000;
    struct fdl_knobs least = {l->workers_min, l->depth_min, l->io_depth_min};
    l->memory_bytes = 0;
    if (dice_below(d, 4))
        l->memory_bytes =
            fdl_knobs_memory(l, &least) + dice_below(d, 100000000);
}

static void must_be_within(const struct fdl_tuner_limits *l,
                           const struct fdl_knobs *k)
{
    assert_in_range(k->workers, l->workers_min, l->workers_max);
    assert_in_range(k->depth, l->depth_min, l->depth_max);
    assert_in_range(k->io_depth, l->io_depth_min, l->io_depth_max);
    assert_true(!l->memory_bytes || fdl_knobs_memory(l, k) <= l->memory_bytes);
}

static void must_be_finite(const struct fdl_tuner *t)
{
    struct fdl_tuner_status s;
    fdl_tuner_get(t, &s);
    assert_true(isfinite(s.stall) && s.stall >= 0 && s.stall <= 1);
    assert_true(isfinite(s.step_ns) && isfinite(s.work_ns));
    assert_true(isfinite(s.cpu_share) && isfinite(s.rate));
    assert_true(isfinite(s.cores) && s.cores > 0);
    assert_true(s.spent_ns >= 0);
    assert_non_null(s.limited_by);
}

/* What all that was decided hashes to. */
static uint64_t play(uint64_t seed, unsigned readings)
{
    struct dice d = {seed};
    struct fdl_tuner_limits l = {.target = 0.01};
    struct fdl_tuner_reading r = {0};
    struct fdl_knobs want,
        knobs = {dice_below(&d, 70), dice_below(&d, 70), dice_below(&d, 140)};
    random_limits(&d, &l);
    struct fdl_tuner *t = fdl_tuner_create(&l, &knobs, dice_below(&d, 2));
    struct fdl_tuner_status s;
    uint64_t hash = 0;
    assert_non_null(t);
    fdl_tuner_get(t, &s);
    must_be_within(&l, &s.knobs);
    for (unsigned i = 0; i < readings; ++i) {
        if (dice_below(&d, 500) == 0) {
            random_limits(&d, &l);
            fdl_tuner_set_limits(t, &l);
        }
        if (dice_below(&d, 2000) == 0)
            fdl_tuner_pause(t);
        random_reading(&d, &r);
        fdl_tuner_observe(t, &r);
        if (!fdl_tuner_propose(t, &want))
            continue;
        hash = hash * 31 + want.workers * 7919u + want.depth * 104729u +
               want.io_depth;
        uint64_t how = dice_below(&d, 10);
        fdl_tuner_get(t, &s);
        /* A first step may be out of new bounds, but only shrinks. */
        if (want.workers > s.knobs.workers || want.depth > s.knobs.depth ||
            want.io_depth > s.knobs.io_depth)
            must_be_within(&l, &want);
        if (how == 0)
            --want.workers; /* less */
        if (want.workers)
            fdl_tuner_applied(t, &want, how == 1);
        must_be_finite(t);
    }
    must_be_finite(t);
    fdl_tuner_get(t, &s);
    struct fdl_decision x;
    for (uint64_t id = 0; id < s.decisions + 2; ++id)
        if (fdl_tuner_decision(t, id, &x))
            hash = hash * 31 + (uint64_t)x.after + (uint64_t)x.outcome;
    assert_false(fdl_tuner_decision(t, s.decisions, &x));
    fdl_tuner_destroy(t);
    return hash;
}

TEST(random_readings)
{
    uint64_t seed = test_seed(), decided = 0;
    for (unsigned i = 0; i < 60; ++i) {
        uint64_t own = (seed + i) * UINT64_C(0x9e3779b97f4a7c15);
        uint64_t hash = play(own, 3000);
        assert_true(hash == play(own, 3000));
        decided += hash != 0;
    }
    assert_true(decided > 30); /* most of them got as far as that */
}

/* A sane loader whose numbers change at random. */
TEST_WITH(random_loaders, model_reset, model_end)
{
    struct dice d = {test_seed()};
    for (unsigned i = 0; i < 60; ++i) {
        random_limits(&d, &limits);
        model_begin(limits.cores, 1 + dice_below(&d, 64), 60, 20);
        m.knobs = model_status().knobs;
        for (unsigned k = 0; k < 20; ++k) {
            m.work = 1e5 * (double)(1 + dice_below(&d, 3000));
            m.g = 1e5 * (double)(1 + dice_below(&d, 500));
            m.share = (double)(1 + dice_below(&d, 100)) / 100;
            m.kappa = (double)(dice_below(&d, 10)) / 100;
            m.r.sample_tail_ns = dice_below(&d, 500000000);
            for (unsigned n = 0; n < 120; ++n) {
                model_step();
                must_be_within(&limits, &m.knobs);
            }
        }
        must_be_finite(m.tuner);
        assert_int_equal(model_status().oddities, 0);
        model_end();
    }
}

TEST_MAIN("tuner_odd")
