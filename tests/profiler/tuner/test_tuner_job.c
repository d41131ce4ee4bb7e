/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of a job: models of loaders that wait for each other behind every step,
 * with tuners that hear of each other, or do not.
 */
#include "base/compiler.h"
#include "tuner_model.h"

#define RANKS 8u

static struct tuner_model rank[RANKS];

static struct job {
    unsigned ranks;
    unsigned tells;      /* steps from one exchange to the next; 0: none */
    unsigned late_every; /* steps; then one of them, in turn, loses ... */
    double late;         /* ... so many finished batches. 0: never */
    unsigned step;
    struct fdl_tuner_job told;
} job;

static void job_reset(void)
{
    model_reset();
    memset(&job, 0, sizeof(job));
    memset(rank, 0, sizeof(rank));
}

static void job_end(void)
{
    for (unsigned i = 0; i < job.ranks; ++i) {
        printf("rank %u\n", i);
        m = rank[i];
        model_end();
    }
}

static void job_begin(unsigned ranks, double cores, uint32_t workers,
                      double work_ms, double g_ms)
{
    job.ranks = ranks;
    for (unsigned i = 0; i < ranks; ++i) {
        model_begin(cores, workers, work_ms, g_ms);
        m.noise.state += i;
        rank[i] = m;
    }
}

static void exchange(void)
{
    struct fdl_tuner_job told = {0}, own;
    for (unsigned i = 0; i < job.ranks; ++i) {
        fdl_tuner_tell(rank[i].tuner, &own);
        fdl_tuner_job_add(&told, &own);
        if (job.told.ranks > 0)
            fdl_tuner_hear(rank[i].tuner, &job.told);
    }
    job.told = told;
}

static void job_step(void)
{
    double took[RANKS], longest = 0;
    unsigned turn = job.late_every ? job.step / job.late_every : 0;
    bool late = job.late_every && job.step % job.late_every == 0;
    for (unsigned i = 0; i < job.ranks; ++i) {
        m = rank[i];
        int64_t before = m.r.now_ns;
        if (late && turn % job.ranks == i)
            m.stock = fmax(0, m.stock - job.late);
        model_step();
        took[i] = (double)(m.r.now_ns - before);
        longest = fmax(longest, took[i]);
        rank[i] = m;
    }
    for (unsigned i = 0; i < job.ranks; ++i) {
        m = rank[i];
        model_run(longest - took[i]);
        m.r.user_ns += (int64_t)(longest - took[i]);
        rank[i] = m;
    }
    if (job.tells && ++job.step % job.tells == 0)
        exchange();
    else if (!job.tells)
        ++job.step;
}

/* What all ranks together wait in so many steps, as a part of the time. */
static double job_steps(unsigned n)
{
    double wait = 0;
    int64_t begin = rank[0].r.now_ns;
    for (unsigned i = 0; i < job.ranks; ++i)
        wait -= (double)rank[i].r.wait_ns;
    for (unsigned i = 0; i < n; ++i)
        job_step();
    for (unsigned i = 0; i < job.ranks; ++i)
        wait += (double)rank[i].r.wait_ns;
    return wait / (double)(rank[0].r.now_ns - begin);
}

/* Each rank lacks depth for one batch in eighty: 0.9 % of its time, which is
 * less than its target, and 7 % of the job's. */
static void begin_in_turn(void)
{
    job_begin(RANKS, 8, 4, 60, 20);
    job.late_every = 10;
    job.late = 14;
}

TEST_WITH(what_comes_in_turn_is_not_seen_alone, job_reset, job_end)
{
    begin_in_turn();
    job_steps(1000);
    assert_true(job_steps(1000) > 0.04);
}

TEST_WITH(what_comes_in_turn_is_seen_together, job_reset, job_end)
{
    begin_in_turn();
    job.tells = 50;
    job_steps(1000);
    assert_true(job_steps(1000) < 0.002);
    for (unsigned i = 0; i < RANKS; ++i)
        assert_true(rank[i].knobs.depth > 14);
}

/* One that lacks cores: the others could do with fewer workers, as long as they
 * wait for it. */
static void begin_with_a_straggler(void)
{
    job_begin(4, 64, 16, 50, 20);
    rank[0].work = 1e6 * 200;
    rank[0].cores = 4;
}

TEST_WITH(who_waits_for_others_gives_up_workers_alone, job_reset, job_end)
{
    begin_with_a_straggler();
    job_steps(2500);
    for (unsigned i = 1; i < job.ranks; ++i)
        assert_true(rank[i].knobs.workers < 8);
}

TEST_WITH(who_waits_for_others_keeps_its_workers, job_reset, job_end)
{
    begin_with_a_straggler();
    job.tells = 50;
    job_steps(2500);
    assert_true(job.told.stall > 0.3);
    for (unsigned i = 1; i < job.ranks; ++i)
        assert_int_equal(rank[i].knobs.workers, 16);
    /* It is helped: now nobody waits, and there are too many. */
    rank[0].work = 1e6 * 50;
    rank[0].cores = 64;
    job_steps(4000);
    for (unsigned i = 1; i < job.ranks; ++i)
        assert_true(rank[i].knobs.workers < 8);
}

/* In steps that a rank held up, its own time is the step without waits. */
TEST_WITH(the_step_without_waits_is_known, job_reset, job_end)
{
    begin_with_a_straggler();
    job.tells = 50;
    double wait = job_steps(500);
    assert_true(wait > 0.5);
    assert_true(job.told.step_ns > 19e6 && job.told.step_ns < 21e6);
    assert_int_equal(job.told.ranks, 4);
}

/* ---- What is taken over -------------------------------------------------- */

static struct fdl_tuner_job news(uint32_t depth, uint32_t io_depth,
                                 double stall)
{
    return (struct fdl_tuner_job){
        .ranks = 4,
        .stall = stall,
        .step_ns = 20e6,
        .most = {.depth = depth, .io_depth = io_depth},
    };
}

static void hear(uint32_t depth, uint32_t io_depth, double stall)
{
    struct fdl_tuner_job told = news(depth, io_depth, stall);
    fdl_tuner_hear(m.tuner, &told);
    model_steps(20);
}

TEST_WITH(settings_are_taken_over, model_reset, model_end)
{
    struct fdl_decision d;
    model_begin(8, 4, 60, 20);
    model_steps(200);
    assert_int_equal(m.knobs.depth, 12);
    hear(20, 40, 0.3);
    assert_int_equal(m.knobs.depth, 20);
    assert_int_equal(m.knobs.io_depth, 40);
    assert_int_equal(model_count(FDL_REASON_JOB, FDL_OUTCOME_RULE), 2);
    assert_true(fdl_tuner_decision(m.tuner, model_status().decisions - 1, &d));
    assert_non_null(strstr(d.why, "settings from the job: its 4 ranks wait "
                                  "30.0 % in all"));
    hear(14, 30, 0.3); /* old news */
    assert_int_equal(m.knobs.depth, 20);
    assert_int_equal(m.knobs.io_depth, 40);
}

TEST_WITH(a_job_that_is_fed_changes_nothing, model_reset, model_end)
{
    model_begin(8, 4, 60, 20);
    model_steps(200);
    hear(20, 40, 0.005);
    assert_int_equal(m.knobs.depth, 12);
    assert_int_equal(m.knobs.io_depth, 16);
}

/* A rank alone, as before it has heard of any. */
TEST_WITH(one_rank_is_no_job, model_reset, model_end)
{
    struct fdl_tuner_job told = news(20, 40, 0.3);
    told.ranks = 1;
    model_begin(8, 4, 60, 20);
    model_steps(200);
    fdl_tuner_hear(m.tuner, &told);
    model_steps(100);
    assert_int_equal(m.knobs.depth, 12);
    assert_int_equal(model_count(FDL_REASON_JOB, -1), 0);
}

TEST_WITH(bounds_and_memory_hold, model_reset, model_end)
{
    limits.io_depth_min = limits.io_depth_max = 16; /* the user's */
    limits.batch_bytes = 1000;
    limits.memory_bytes = 15000;
    model_begin(8, 4, 60, 20);
    model_steps(200);
    hear(40, 40, 0.3);
    assert_int_equal(m.knobs.io_depth, 16);
    assert_int_equal(m.knobs.depth, 15);
}

TEST_WITH(a_trial_gives_way, model_reset, model_end)
{
    model_begin(8, 2, 60, 20); /* more workers are tried */
    while (model_status().state != FDL_TUNER_TRIAL)
        model_step();
    uint32_t tried = m.knobs.workers;
    hear(20, 40, 0.3);
    assert_int_equal(m.knobs.depth, 20);
    assert_int_equal(model_count(FDL_REASON_PLAN_UP, FDL_OUTCOME_ABANDONED), 1);
    model_steps(400);
    assert_int_equal(m.knobs.workers, tried);
}

TEST_WITH(what_is_tried_is_not_told, model_reset, model_end)
{
    struct fdl_tuner_job own;
    model_begin(8, 4, 10, 20);
    m.reads_limit = 1 / (20e6 * 20); /* 20 of them keep its pace */
    m.read_ns = 40e6;
    while (model_status().state != FDL_TUNER_TRIAL)
        model_step();
    fdl_tuner_tell(m.tuner, &own);
    assert_true(m.knobs.io_depth > 16);
    assert_int_equal(own.most.io_depth, 16);
    assert_true(own.stall > 0.1);
}

TEST_WITH(observed_only_once, model_reset, model_end)
{
    model_begin(8, 4, 60, 20);
    m.watch = true;
    model_steps(200);
    for (unsigned i = 0; i < 5; ++i)
        hear(20, 40, 0.3);
    assert_int_equal(m.knobs.depth, 12);
    assert_int_equal(model_count(FDL_REASON_JOB, FDL_OUTCOME_PROPOSED), 2);
    assert_int_equal(model_count(FDL_REASON_JOB, -1), 2);
}

TEST_WITH(sums, model_reset, model_end)
{
    struct fdl_tuner_job all = {0}, a = news(10, 50, 0.25),
                         b = news(20, 40, 0.5);
    b.step_ns = 10e6;
    fdl_tuner_job_add(&all, &a);
    fdl_tuner_job_add(&all, &b);
    assert_int_equal(all.ranks, 8);
    assert_true(all.stall == 0.75);
    assert_true(all.step_ns == 10e6);
    assert_int_equal(all.most.depth, 20);
    assert_int_equal(all.most.io_depth, 50);
    a.step_ns = 0; /* not known */
    fdl_tuner_job_add(&all, &a);
    assert_true(all.step_ns == 10e6);
}

TEST_MAIN("tuner_job")
