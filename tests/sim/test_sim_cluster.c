/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs against what can be computed: the slowest rank is everybody's, storage
 * gives what it has and no more, and who waits for data is who lacks it.
 */
#include "bench/sim/cluster.h"
#include "sim_plain.h"
#include "test.h"

#include <math.h>

#define RANKS 2u /* of a host */

/* 3 hosts of two ranks; a step of 100 ms; work of a batch on 4 cores. */
static struct sim_cluster job(double work)
{
    struct sim_cluster j = {
        .host = test_plain(0.1, 8, work),
        .hosts = 3,
        .steps = 200,
        .straggler = 3,
        .differs = {.cores = 1, .step = 1, .latency = 1},
    };
    j.host.loaders = RANKS;
    j.host.limits.cores = 4;
    return j;
}

static void from_storage(struct sim_cluster *j)
{
    j->host.latency.mean = 0.001;
    j->host.limits.read_bytes = j->host.read_bytes;
}

static void close_to(double x, double want, double part)
{
    if (!(fabs(x - want) <= part * fabs(want)))
        fail_msg("%g is not within %g of %g", x, part, want);
}

static struct sim_cluster_result run(const struct sim_cluster *j)
{
    struct sim_cluster_result r;
    assert_true(sim_cluster_run(j, NULL, 1, &r));
    assert_int_equal(r.ranks, j->hosts * RANKS);
    return r;
}

/* What each rank waited, of a host in between: the mean. */
static double wait_of(const struct sim_cluster_result *r, uint32_t host)
{
    return (r->rank[RANKS * host].wait + r->rank[RANKS * host + 1].wait) / 2;
}

TEST(step_and_exchange)
{
    struct sim_cluster j = job(0.2);
    from_storage(&j);
    j.exchange = 0.01;
    struct sim_cluster_result r = run(&j);
    close_to(r.half[1].step, 0.11, 0.001);
    close_to(r.half[1].bare, 0.11, 0.001);
    close_to(r.half[1].read, 6 * 16 / 0.11, 0.01);
    close_to(r.seconds, 200 * 0.11, 0.01);
    assert_true(r.first > 0.11 && r.first < 0.2);
    for (uint32_t i = 0; i < r.ranks; i++)
        assert_true(r.rank[i].wait < 1e-6);
    sim_cluster_free(&r);
}

/* The mean of the largest of six; nobody waits for data. */
TEST(the_slowest_rank_counts)
{
    struct sim_cluster j = job(0.1);
    j.host.step.cv = 0.1;
    j.steps = 2000;
    struct sim_cluster_result r = run(&j);
    close_to(r.half[1].step, 0.1 * (1 + 1.267 * 0.1), 0.01);
    close_to(r.half[1].step, r.half[1].bare, 1e-9);
    sim_cluster_free(&r);
}

TEST(a_slow_step_is_no_wait)
{
    struct sim_cluster j = job(0.2);
    j.straggler = 1;
    j.differs.step = 1.5;
    struct sim_cluster_result r = run(&j);
    close_to(r.half[1].step, 0.15, 0.001);
    close_to(r.half[1].bare, 0.15, 0.001);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(wait_of(&r, i) < 1e-6);
    sim_cluster_free(&r);
}

/* 0.8 s of work on two cores. */
TEST(the_host_that_lacks_cores_waits)
{
    struct sim_cluster j = job(0.8);
    j.host.cores = 20;
    j.straggler = 2;
    j.differs.cores = 0.2;
    struct sim_cluster_result r = run(&j);
    close_to(r.half[1].step, 0.4, 0.02);
    close_to(r.half[1].bare, 0.1, 0.001);
    close_to(wait_of(&r, 2), 1 - 0.1 / 0.4, 0.03);
    assert_true(wait_of(&r, 0) < 0.001 && wait_of(&r, 1) < 0.001);
    sim_cluster_free(&r);
}

TEST(storage_gives_its_bytes)
{
    struct sim_cluster j = job(0.2);
    from_storage(&j);
    j.bandwidth = 6 * 16 * 100000 / 0.25;
    struct sim_cluster_result r = run(&j);
    close_to(r.half[1].step, 0.25, 0.01);
    close_to(r.half[1].read * 100000, j.bandwidth, 0.01);
    /* In every step some rank waits for data, the others for that one. */
    double wait = 0;
    for (uint32_t i = 0; i < r.ranks; i++)
        wait += r.rank[i].wait;
    assert_true(wait > 0.59 && wait < 0.61 * r.ranks);
    sim_cluster_free(&r);
}

TEST(storage_gives_its_requests)
{
    struct sim_cluster j = job(0.2);
    from_storage(&j);
    j.bandwidth = 1e12;
    j.requests = 6 * 16 / 0.2;
    struct sim_cluster_result r = run(&j);
    close_to(r.half[1].step, 0.2, 0.01);
    sim_cluster_free(&r);
}

/* A host's port, not the storage. */
TEST(a_port_is_a_limit)
{
    struct sim_cluster j = job(0.2);
    from_storage(&j);
    j.port = RANKS * 16 * 100000 / 0.4;
    struct sim_cluster_result r = run(&j);
    close_to(r.half[1].step, 0.4, 0.01);
    sim_cluster_free(&r);
}

TEST(enough_storage_costs_nothing)
{
    struct sim_cluster j = job(0.2);
    from_storage(&j);
    j.bandwidth = 1.2 * 6 * 16 * 100000 / 0.1;
    struct sim_cluster_result r = run(&j);
    close_to(r.half[1].step, 0.1, 0.002);
    sim_cluster_free(&r);
}

/* Ranks of unequal appetite do not get more out of it together. */
TEST(storage_gives_no_more)
{
    struct sim_cluster j = job(0.2);
    from_storage(&j);
    j.host.step.cv = 0.3;
    j.host.latency.cv = 1;
    j.steps = 1000;
    j.bandwidth = 0.6 * 6 * 16 * 100000 / 0.1;
    struct sim_cluster_result r = run(&j);
    assert_true(r.half[1].read * 100000 <= 1.01 * j.bandwidth);
    assert_true(r.half[1].read * 100000 >= 0.99 * j.bandwidth);
    sim_cluster_free(&r);
}

/* A controller that gives one rank, and nobody else, what it lacks; the others
 * take over what they hear of. */
static struct of_one {
    uint32_t io_depth, heard;
} ranks[3 * RANKS];
static uint32_t begun;

static void *of_one(const struct sim_facts *facts, struct fdl_knobs *knobs)
{
    struct of_one *self = &ranks[begun];
    self->io_depth = begun++ == 0 ? 8 : 1;
    self->heard = 0;
    *knobs = facts->def;
    knobs->io_depth = self->io_depth;
    return self;
}

static void take_over(void *of, const struct sim_facts *facts,
                      const struct fdl_tuner_reading *reading,
                      struct fdl_knobs *knobs)
{
    const struct of_one *self = of;
    (void)facts;
    (void)reading;
    if (self->heard > knobs->io_depth)
        knobs->io_depth = self->heard;
}

static void tell(void *of, struct fdl_tuner_job *out)
{
    const struct of_one *self = of;
    *out = (struct fdl_tuner_job){.ranks = 1, .most.io_depth = self->io_depth};
}

static void hear(void *of, const struct fdl_tuner_job *told)
{
    struct of_one *self = of;
    assert_int_equal(told->ranks, 3 * RANKS);
    self->heard = told->most.io_depth;
}

TEST(ranks_tell_each_other)
{
    const struct sim_controller c = {.name = "one",
                                     .create = of_one,
                                     .observe = take_over,
                                     .tell = tell,
                                     .hear = hear};
    struct sim_cluster j = job(0.2);
    struct sim_cluster_result r;
    from_storage(&j);
    j.host.latency.mean = 0.025; /* 0.4 s for 16, one by one */
    assert_true(sim_cluster_run(&j, &c, 1, &r));
    close_to(r.half[1].step, 0.4, 0.01);
    sim_cluster_free(&r);
    begun = 0;
    j.tells = 1;
    assert_true(sim_cluster_run(&j, &c, 1, &r));
    close_to(r.half[1].step, 0.1, 0.01);
    sim_cluster_free(&r);
}

TEST(runs_repeat)
{
    struct sim_cluster j = job(0.3);
    from_storage(&j);
    j.host.step.cv = 0.1;
    j.host.latency.cv = 0.5;
    j.bandwidth = 6 * 16 * 100000 / 0.12;
    struct sim_cluster_result a = run(&j), b = run(&j);
    assert_true(a.seconds == b.seconds);
    j.from = 10;
    struct sim_cluster_result c = run(&j);
    assert_true(a.seconds != c.seconds);
    close_to(a.seconds, c.seconds, 0.05);
    sim_cluster_free(&a);
    sim_cluster_free(&b);
    sim_cluster_free(&c);
}

TEST_MAIN("sim_cluster")
