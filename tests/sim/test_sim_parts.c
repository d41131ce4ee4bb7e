/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator's random numbers and quantiles; and that every scenario that it
 * makes is one. */
#include "bench/sim/draw.h"
#include "bench/sim/tail.h"
#include "test.h"

#include <math.h>

/* Streams of different seeds, loaders and purposes have nothing in common. */
TEST(streams_differ)
{
    uint64_t a[] = {
        sim_stream(1, 0, SIM_STREAM_WORK), sim_stream(2, 0, SIM_STREAM_WORK),
        sim_stream(1, 1, SIM_STREAM_WORK), sim_stream(1, 0, SIM_STREAM_SLEEP)};
    for (unsigned i = 0; i < 4; i++)
        for (unsigned k = 0; k < i; k++) {
            double sum = 0;
            for (uint64_t n = 0; n < 10000; n++)
                sum += sim_normal(a[i], n) * sim_normal(a[k], n);
            assert_true(fabs(sum) < 5 * 100); /* five deviations */
        }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* At most a bucket, 1/32, too high, of the last two generations. */
TEST(quantiles_of_the_recent)
{
    static struct sim_tail t;
    static double recent[3000];
    uint64_t stream = sim_stream(test_seed(), 0, SIM_STREAM_LATENCY);
    memset(&t, 0, sizeof(t));
    t.per_generation = 2000;
    assert_true(sim_tail_quantile(&t, 0.99) == 0);
    for (unsigned i = 0; i < 2000; i++)
        sim_tail_add(&t, 1e6); /* will be forgotten */
    for (unsigned i = 0; i < 3000; i++) {
        recent[i] = 0.01 * exp(sim_normal(stream, i));
        sim_tail_add(&t, recent[i]);
    }
    qsort(recent, 3000, sizeof(*recent), by_value);
    const double q[] = {0.5, 0.9, 0.99, 0.996, 0.999};
    for (unsigned i = 0; i < 5; i++) {
        unsigned rank = (unsigned)(q[i] * 3000);
        double x = sim_tail_quantile(&t, q[i]);
        assert_true(x >= recent[rank - 2]);
        assert_true(x <= recent[rank + 1] * (1 + 1.0 / 32));
    }
    sim_tail_add(&t, 0);
    sim_tail_add(&t, 1e9);
    assert_true(sim_tail_quantile(&t, 1) > 10000);
}

/* ---- Scenarios ---------------------------------------------------------- */

static void check_scenario(const struct sim_scenario *s)
{
    const struct fdl_tuner_limits *m = &s->limits;
    struct sim_facts facts;
    assert_in_range(s->batches, 1000, 1000000);
    assert_in_range(s->loaders, 1, SIM_LOADERS);
    assert_in_range(s->n_phases, 1, SIM_PHASES);
    assert_true(s->batch_size > 0 && s->step.mean > 0 && s->cores >= 1);
    assert_true(s->work.mean + s->sleep.mean > 0);
    assert_true(s->host_cores >= s->cores);
    assert_true(!s->device || s->run_ahead > 0);
    assert_int_equal(s->phase[0].from, 0);
    for (uint32_t i = 0; i < s->n_phases; i++) {
        const struct sim_phase *p = &s->phase[i];
        assert_true(i == 0 || p->from > s->phase[i - 1].from);
        assert_true(p->from < s->batches && p->hits >= 0 && p->hits <= 1);
        assert_true(p->step > 0 && p->work > 0 && p->cores > 0);
        assert_true(s->cores * p->cores > 0.5);
    }
    assert_true(m->workers_min >= 1 && m->workers_min <= m->workers_max);
    assert_true(m->workers_max <= FDL_TUNER_WORKERS_MAX);
    assert_true(m->depth_min >= 1 && m->depth_min <= m->depth_max);
    sim_facts_of(s, &facts);
    assert_true(fdl_knobs_memory(m, &facts.def) <= m->memory_bytes);
    assert_in_range(facts.def.workers, 1,
                    s->quota_untold ? s->host_cores : s->cores);
    assert_in_range(facts.def.depth, 1, 4);
    assert_in_range(facts.def.io_depth, 1, s->pread ? 4 : 16);
}

TEST(scenarios_make_sense)
{
    uint64_t seed = test_seed();
    for (unsigned i = 0; i < sim_n_families; i++)
        for (uint64_t k = 0; k < 50; k++) {
            struct sim_scenario s;
            sim_family_scenario(&sim_families[i], seed + k, &s);
            check_scenario(&s);
            assert_string_equal(s.family, sim_families[i].name);
        }
    for (uint64_t k = 0; k < 1000; k++) {
        struct sim_scenario s;
        sim_random_scenario(seed + k, &s);
        check_scenario(&s);
    }
}

TEST(scenarios_follow_their_seed)
{
    for (unsigned i = 0; i < sim_n_families; i++) {
        struct sim_scenario a, b, c;
        sim_family_scenario(&sim_families[i], 1, &a);
        sim_family_scenario(&sim_families[i], 1, &b);
        sim_family_scenario(&sim_families[i], 2, &c);
        assert_string_equal(a.name, b.name);
        assert_true(a.work.mean == b.work.mean && a.cores == b.cores);
        assert_string_not_equal(a.name, c.name);
        assert_true(a.work.mean != c.work.mean);
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(sim_families[i].name, sim_families[k].name);
    }
}

TEST_MAIN("sim_parts")
