/* SPDX-License-Identifier: Apache-2.0 */
/* Controllers on scenarios of which the answer is known. */
#include "sim_plain.h"
#include "test.h"

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

/* It perturbs for ever, and climbs where threads help. */
TEST(dotnet_climbs_and_keeps_swinging)
{
    struct sim_scenario s = test_plain(0.010, 4, 0.0);
    s.sleep.mean = 0.2 / 16; /* 20 workers are needed, all asleep */
    s.batches = 20000;
    SCOPED_RESULT r;
    run(&s, "dotnet", &r);
    uint64_t late = 0;
    for (uint64_t i = 0; i < r.n_points; i++)
        late += r.points[i].batch > 15000;
    assert_int_equal(r.points[0].knobs.workers, 4);
    assert_true(r.workers > 8);
    assert_true(late > 20);
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

TEST_MAIN("sim_controllers")
