/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of a run on statistics that are made up: what a point is, and
 * that a long run loses resolution and nothing else. */
#include "test.h"
#include "tests/wrap.h"
#include "tools/loaderbench/run/timeline.h"

#include <math.h>
#include <stdbool.h>

/* What the loader says; steps of 10 ms, of which 4 are waits. */
static struct {
    uint64_t steps;
    bool device;
} now;

WRAP(int32_t, feedline_loader_get_stats, const feedline_loader *l,
     struct feedline_stats *out)
{
    (void)l;
    out->wall_ns = now.steps * 10000000;
    out->wait_ns = now.steps * 4000000;
    return FEEDLINE_OK;
}

WRAP(int32_t, feedline_loader_get_wait_stats, const feedline_loader *l,
     struct feedline_wait_stats *out)
{
    (void)l;
    out->prep_ns = now.steps * 3000000;
    out->fetch_ns = now.steps * 1000000;
    return FEEDLINE_OK;
}

WRAP(int32_t, feedline_loader_get_device_stats, const feedline_loader *l,
     struct feedline_device_stats *out)
{
    (void)l;
    out->span_ns = now.steps * 10000000;
    out->idle_ns = now.steps * 1000000;
    return now.device ? FEEDLINE_OK : FEEDLINE_ESTATE;
}

WRAP(int32_t, feedline_loader_get_int, const feedline_loader *l,
     const char *key, int64_t *out)
{
    (void)l;
    *out = strcmp(key, "workers") == 0 ? (int64_t)(2 + now.steps / 1000)
           : strcmp(key, "depth") == 0 ? 8
                                       : 16;
    return FEEDLINE_OK;
}

/* `steps` batches of 32 images; the caller decrefs. */
static json_t *timeline_of(uint64_t steps)
{
    struct timeline t;
    timeline_init(&t);
    assert_non_null(t.points);
    now.steps = 0;
    timeline_begin(&t, 100);
    while (now.steps < steps) {
        now.steps++;
        timeline_note(&t, NULL, 100 + 0.01 * (double)now.steps, 32 * now.steps);
    }
    timeline_end(&t, NULL, 100 + 0.01 * (double)steps, 32 * steps);
    json_t *points = timeline_json(&t);
    timeline_fini(&t);
    return points;
}

static double at(const json_t *points, size_t i, const char *key)
{
    return json_number_value(json_object_get(json_array_get(points, i), key));
}

static double bucket(const json_t *points, size_t i, const char *key)
{
    return json_number_value(json_object_get(
        json_object_get(json_array_get(points, i), "buckets"), key));
}

static void assert_close(double value, double expected)
{
    assert_true(fabs(value - expected) < 1e-9 * fabs(expected) + 1e-9);
}

TEST(a_point_each_quarter_second)
{
    json_t *points = timeline_of(110);
    assert_int_equal(json_array_size(points), 5); /* the last: what is left */
    for (size_t i = 0; i < 4; i++) {
        assert_close(at(points, i, "seconds"), 0.25 * (double)(i + 1));
        assert_close(at(points, i, "images_per_second"), 3200);
        assert_close(at(points, i, "host_fraction"), 0.4);
        assert_close(bucket(points, i, "prep"), 0.075);
        assert_close(bucket(points, i, "fetch"), 0.025);
        assert_close(bucket(points, i, "transfer"), 0);
        assert_close(at(points, i, "workers"), 2);
        assert_close(at(points, i, "depth"), 8);
        assert_close(at(points, i, "io_depth"), 16);
        assert_true(json_is_null(
            json_object_get(json_array_get(points, i), "device_fraction")));
    }
    assert_close(at(points, 4, "seconds"), 1.1);
    assert_close(at(points, 4, "images_per_second"), 3200);
    json_decref(points);
}

TEST(no_point_twice)
{
    json_t *points = timeline_of(100);
    assert_int_equal(json_array_size(points), 4);
    json_decref(points);
    points = timeline_of(0);
    assert_int_equal(json_array_size(points), 0);
    json_decref(points);
}

TEST(device_has_its_fraction)
{
    now.device = true;
    json_t *points = timeline_of(50);
    now.device = false;
    assert_int_equal(json_array_size(points), 2);
    assert_close(at(points, 1, "device_fraction"), 0.1);
    json_decref(points);
}

/* Two hours: 28 800 quarters of a second. */
TEST(long_runs_have_few_points)
{
    json_t *points = timeline_of(720000);
    size_t n = json_array_size(points);
    double images = 0, prep = 0, before = 0;
    assert_in_range(n, TIMELINE_POINTS / 2, TIMELINE_POINTS);
    for (size_t i = 0; i < n; i++) {
        double seconds = at(points, i, "seconds");
        assert_true(seconds > before);
        images += at(points, i, "images_per_second") * (seconds - before);
        prep += bucket(points, i, "prep");
        before = seconds;
    }
    assert_close(before, 7200);
    assert_true(fabs(images - 32 * 720000.0) < 1);
    assert_close(prep, 0.003 * 720000);
    json_decref(points);
}

TEST_MAIN("timeline")
