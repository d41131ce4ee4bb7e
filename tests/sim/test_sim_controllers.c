/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of others, on scenarios of which the answer is known: that each of
 * them does what its source says. */
#include "bench/sim/controllers_own.h"
#include "sim_plain.h"
#include "test.h"

#include <math.h>

static const struct sim_controller *by_name(const char *name)
{
    for (unsigned i = 0; i < sim_n_controllers; i++)
        if (strcmp(sim_controllers[i]->name, name) == 0)
            return sim_controllers[i];
    fail_msg("no controller %s", name);
    return NULL;
}

static void run(const struct sim_scenario *s, const char *name,
                struct sim_result *r)
{
    assert_true(sim_run(s, by_name(name), NULL, 1, r));
    assert_false(r->stuck);
}

static uint32_t last_workers(const struct sim_result *r)
{
    return r->points[r->n_points - 1].knobs.workers;
}

/* Without workers loading and computing take turns: 36 + 10 ms a batch. */
TEST(torch_without_workers_loads_while_asked)
{
    struct sim_scenario s = test_plain(0.010, 8, 0.036);
    struct sim_result r;
    run(&s, "static-0", &r);
    assert_true(fabs(r.seconds / 2000 - 0.046) < 0.0005);
    assert_int_equal(r.n_points, 1);
    sim_result_free(&r);
    run(&s, "static-2", &r);
    assert_true(fabs(r.seconds / 2000 - 0.018) < 0.0005);
    assert_int_equal(r.points[0].knobs.depth, 4);
    sim_result_free(&r);
}

TEST(fixed_ones_start_as_they_say)
{
    struct sim_scenario s = test_plain(0.010, 8, 0.036);
    static const struct {
        const char *name;
        uint32_t workers, depth;
    } all[] = {{"static-default", 8, 4},
               {"cores", 64, 64}, /* depth: as much as there may be */
               {"cores-1", 63, 64}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct sim_result r;
        run(&s, all[i].name, &r);
        assert_int_equal(r.n_points, 1);
        assert_int_equal(r.points[0].knobs.workers, all[i].workers);
        assert_int_equal(r.points[0].knobs.depth, all[i].depth);
        sim_result_free(&r);
    }
}

/* It perturbs for ever, and climbs where threads help. */
TEST(dotnet_climbs_and_keeps_swinging)
{
    struct sim_scenario s = test_plain(0.010, 4, 0.0);
    s.sleep.mean = 0.2 / 16; /* 20 workers are needed, all asleep */
    s.batches = 20000;
    struct sim_result r;
    run(&s, "dotnet", &r);
    uint64_t late = 0;
    for (uint64_t i = 0; i < r.n_points; i++)
        late += r.points[i].batch > 15000;
    assert_int_equal(r.points[0].knobs.workers, 4);
    assert_true(r.workers > 8);
    assert_true(late > 20);
    sim_result_free(&r);
}

/* Whatever a rule wants, it is given no more than fits. */
TEST(rules_of_workers_keep_within_memory)
{
    static const char *const names[] = {"dotnet", "static-default"};
    struct sim_scenario s = test_plain(0.010, 8, 0.1);
    s.limits.memory_bytes = 12 << 20;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct sim_result r;
        run(&s, names[i], &r);
        assert_int_equal(r.violations, 0);
        assert_true(r.memory_setting <= s.limits.memory_bytes);
        sim_result_free(&r);
    }
}

/* The library's own is driven by nothing but proposals: it starts where it is
 * told, and finds four workers from one. */
TEST(feedline_starts_where_it_is_told)
{
    struct sim_scenario s = test_plain(0.010, 8, 0.036);
    s.batches = 6000;
    struct sim_result r;
    run(&s, "feedline", &r);
    assert_int_equal(r.points[0].knobs.workers, 8);
    assert_true(r.has_status);
    assert_int_equal(r.violations, 0);
    sim_result_free(&r);
    run(&s, "feedline-1", &r);
    assert_int_equal(r.points[0].knobs.workers, 1);
    assert_int_equal(r.points[0].knobs.depth, 4);
    assert_in_range(last_workers(&r), 4, 5);
    assert_true(r.status.decisions > 0);
    sim_result_free(&r);
}

TEST(same_seed_same_run)
{
    for (unsigned i = 0; i < sim_n_controllers; i++) {
        const struct sim_controller *c = sim_controllers[i];
        if (c == &sim_oracle_player)
            continue; /* has nothing to play here */
        struct sim_scenario s = test_plain(0.010, 8, 0.05);
        s.work.cv = 0.5;
        struct sim_result a, b;
        run(&s, c->name, &a);
        run(&s, c->name, &b);
        assert_int_equal(a.n_points, b.n_points);
        assert_true(a.seconds == b.seconds);
        sim_result_free(&a);
        sim_result_free(&b);
    }
}

TEST_MAIN("sim_controllers")
