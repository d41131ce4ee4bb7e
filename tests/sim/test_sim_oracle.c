/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle of the simulator, where the best setting can be computed; and that
 * no fixed setting does better where it cannot. */
#include "sim_plain.h"
#include "test.h"

#include <math.h>

static struct sim_oracle find(const struct sim_scenario *s)
{
    struct sim_oracle o;
    assert_true(sim_find_oracle(s, 1, &o));
    return o;
}

/* work / step workers are enough, and no more are asked for. */
TEST(fewest_that_feed)
{
    struct sim_scenario s = test_plain(0.1, 32, 0.75);
    struct sim_oracle o = find(&s);
    assert_int_equal(o.phase[0].best.workers, 8);
    assert_int_equal(o.phase[0].cheapest_fed, 8);
    assert_true(fabs(o.seconds / (2000 * 0.1) - 1) < 0.005);
    assert_true(o.stall < 0.01);
    s.work.mean = 0.001;
    o = find(&s);
    assert_int_equal(o.phase[0].best.workers, 1);
    assert_int_equal(o.phase[0].cheapest_fed, 1);
}

TEST(cores_are_the_limit)
{
    struct sim_scenario s = test_plain(0.1, 5, 1);
    struct sim_oracle o = find(&s);
    assert_int_equal(o.phase[0].best.workers, 5);
    assert_int_equal(o.phase[0].cheapest_fed, 0);
    assert_true(fabs(o.seconds / (2000 * 0.2) - 1) < 0.005);
    assert_true(fabs(o.stall - 0.5) < 0.01);
    assert_true(fabs(sim_oracle_rate(&o.phase[0], 1) - 1) < 0.02);
    assert_true(fabs(sim_oracle_rate(&o.phase[0], 3) - 3) < 0.06);
    assert_true(fabs(sim_oracle_rate(&o.phase[0], 200) - 5) < 0.1);
}

TEST(each_phase_its_own)
{
    struct sim_scenario s = test_plain(0.1, 32, 0.35);
    s.n_phases = 2;
    s.phase[1] = s.phase[0];
    s.phase[1].from = 1000;
    s.phase[1].work = 3;
    struct sim_oracle o = find(&s);
    assert_int_equal(o.n_phases, 2);
    assert_int_equal(o.phase[0].best.workers, 4);
    assert_int_equal(o.phase[1].best.workers, 11);
    assert_int_equal(o.phase[1].from, 1000);
    assert_int_equal(o.phase[1].to, 2000);
}

/* Where memory is short, reads and depth are weighed against each other. */
TEST(within_memory)
{
    struct sim_scenario s = test_plain(0.1, 8, 0.2);
    s.latency = (struct sim_draw){.mean = 0.05, .cv = 0.3};
    s.limits.read_bytes = 400000;
    s.limits.memory_bytes = 24 << 20;
    struct sim_oracle o = find(&s);
    assert_true(fdl_knobs_memory(&s.limits, &o.phase[0].best) <=
                s.limits.memory_bytes);
    assert_true(o.phase[0].best.io_depth >= 8);
    assert_true(o.stall < 0.02);
}

/* Too little for both: the split is that of an exhaustive search. */
TEST(memory_is_split_well)
{
    struct sim_scenario s = test_plain(0.05, 8, 0.1);
    double best = INFINITY;
    s.latency = (struct sim_draw){.mean = 0.1, .cv = 0.3};
    s.limits.read_bytes = 400000;
    s.limits.memory_bytes = 20 << 20;
    struct sim_oracle o = find(&s);
    for (uint32_t workers = 1; workers <= 8; workers++)
        for (uint32_t depth = 1; depth <= 12; depth++) {
            struct fdl_knobs k = {.workers = workers, .depth = depth};
            SCOPED_RESULT r;
            while (fdl_knobs_memory(&s.limits, &k) <= s.limits.memory_bytes)
                k.io_depth++;
            if (k.io_depth < 2)
                continue;
            k.io_depth--;
            assert_true(sim_run(&s, NULL, &k, 1, &r));
            best = fmin(best, r.seconds);
        }
    assert_true(o.stall > 0.02); /* it is short */
    assert_true(o.seconds <= 1.004 * best && o.seconds >= best * 0.996);
}

/* A grid of settings, run in full: none is better by more than choosing among
 * them by luck can be. */
TEST(nothing_is_better)
{
    uint64_t seed = test_seed();
    for (uint64_t i = 0; i < 4; i++) {
        struct sim_scenario s;
        struct sim_facts facts;
        sim_random_scenario(seed + i, &s);
        s.n_phases = 1;
        s.neighbour = 0;
        s.batches = 8000;
        sim_facts_of(&s, &facts);
        struct sim_oracle o = find(&s);
        for (uint32_t n = 1; n <= 40; n += 1 + n / 3) {
            struct fdl_knobs k = facts.def;
            SCOPED_RESULT r;
            k.workers = n;
            if (fdl_knobs_memory(&s.limits, &k) > s.limits.memory_bytes)
                break;
            assert_true(sim_run(&s, NULL, &k, 1, &r));
            if (r.seconds < 0.985 * o.seconds)
                fail_msg("%s: %u workers: %g s, oracle %g s", s.name, n,
                         r.seconds, o.seconds);
        }
    }
}

TEST(found_once)
{
    struct sim_scenario s;
    struct sim_oracle a, b;
    sim_family_scenario(&sim_families[0], 1, &s);
    s.batches = 2000;
    a = find(&s);
    s.batches = 4000; /* is not looked at: the name is the same */
    b = find(&s);
    assert_true(a.seconds == b.seconds);
    s.name[0] = '\0';
    b = find(&s);
    assert_true(b.seconds > 1.5 * a.seconds);
}

TEST_MAIN("sim_oracle")
