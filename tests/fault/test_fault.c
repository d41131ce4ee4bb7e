/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one failure does to a loader that is there: knobs, slots, recordings,
 * restarts. Whole lives are in lives_*.c.
 */
#include "base/status.h"
#include "inject.h"
#include "loader/loader.h"
#include "loader/stream/failure.h"
#include "tests/loader/fixture.h"

#include <feedline/traces.h>

#define N 18

FIXTURE_IMAGES(N)

/* Who is told that no sample failed takes every batch for good. */
TEST(a_failure_without_words_is_one)
{
    struct fdl_failures f;
    struct feedline_failure failure = {
        .status = FEEDLINE_EDECODE, .sample_index = 7, .reason = "words"};
    struct feedline_failure found = {.struct_size = sizeof(found)};
    assert_int_equal(fdl_failures_init(&f), FEEDLINE_OK);
    inject_arm(INJECT_MEMORY, 1, false);
    assert_int_equal(fdl_failures_add(&f, &failure), 1);
    assert_int_equal(inject_disarm(), 1);
    assert_int_equal(fdl_failures_count(&f), 1);
    assert_int_equal(fdl_failures_get(&f, 0, &found), FEEDLINE_OK);
    assert_int_equal(found.sample_index, 7);
    assert_non_null(strstr(found.reason, "no memory"));
    fdl_failures_fini(&f);
}

/* An epoch; once more if a sample that was under way met the fault too. */
static uint64_t run_or_rerun(feedline_loader *l)
{
    uint64_t hash = FIXTURE_HASH;
    feedline_batch *b;
    int32_t status;
    while ((status = feedline_loader_next(l, -1, &b)) == FEEDLINE_OK)
        fixture_consume(b, &hash);
    if (status == FEEDLINE_END)
        return hash;
    assert_int_equal(status, FEEDLINE_ENOMEM);
    assert_ok(feedline_loader_start(l, 0));
    return fixture_run(l, 1);
}

/* Knobs are raised while memory or threads are out: an error, and the stream
 * goes on as before. */
TEST_WITH(knobs_fail_and_the_stream_goes_on, setup, teardown)
{
    static const struct {
        const char *knob;
        int64_t value;
        enum inject_kind kind;
    } rows[] = {{"workers", 9, INJECT_THREAD},
                {"workers", 9, INJECT_MEMORY},
                {"depth", 40, INJECT_MEMORY}};
    feedline_loader *plain = fixture_open(images.files, NULL);
    uint64_t hash = fixture_run(plain, 1);
    feedline_loader_destroy(plain);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (uint32_t n = 1; n < 6; n++) {
            SCOPED_LOADER l = fixture_open(images.files, "workers=1 depth=1");
            assert_ok(feedline_loader_start(l, 0));
            inject_arm(rows[i].kind, n, true);
            (void)feedline_loader_set_int(l, rows[i].knob, rows[i].value);
            inject_disarm();
            assert_true(run_or_rerun(l) == hash);
        }
    }
}

/* To the END of the second epoch; false: to an error for want of memory. */
static bool two_epochs(feedline_loader *l)
{
    uint64_t hash = 0;
    for (int ends = 0; ends < 2;) {
        feedline_batch *b;
        int32_t status = feedline_loader_next(l, -1, &b);
        if (status == FEEDLINE_ENOMEM)
            return false; /* of a read that came too early */
        assert_ok(status);
        if (status == FEEDLINE_OK)
            fixture_consume(b, &hash);
        ends += status == FEEDLINE_END;
    }
    return true;
}

/* Memory ends while slots are made: fewer batches are ahead, or start says why
 * not. The epochs end where they do either way. */
TEST_WITH(goes_on_with_fewer_slots, setup, teardown)
{
    uint32_t fewer = 0, refused = 0;
    for (uint32_t n = 1; n < 60; n++) {
        int64_t depth = 0;
        SCOPED_LOADER l = fixture_open(
            images.files, "depth=6 workers=1 batch_size=2 epochs=2");
        inject_arm(INJECT_MEMORY, n, false);
        int32_t status = feedline_loader_start(l, 0);
        inject_disarm();
        refused += status < 0;
        if (status >= 0) {
            assert_ok(feedline_loader_get_int(l, "depth", &depth));
            fewer += two_epochs(l) && depth < 6;
        }
    }
    assert_true(refused > 0 && fewer > 0);
}

/* A recording that cannot begin leaves no file and the stream as it is. */
TEST_WITH(a_recording_begins_or_says_why, setup, teardown)
{
    char path[256];
    SCOPED_LOADER l = fixture_open(images.files, "workers=1 epochs=1");
    snprintf(path, sizeof(path), "%s/record.json", images.folder);
    uint32_t n = 0, called, refused = 0;
    do {
        inject_arm(INJECT_MEMORY, ++n, false);
        int32_t status = feedline_loader_record(l, path, 0);
        called = inject_disarm();
        refused += status < 0;
        if (status < 0)
            assert_error(status, FEEDLINE_ENOMEM, "memory");
        assert_true(status == FEEDLINE_OK || feedline_last_error()[0]);
        assert_int_equal(feedline_loader_record_end(l, 0),
                         status < 0 ? FEEDLINE_ESTATE : FEEDLINE_OK);
    } while (called >= n);
    assert_true(refused > 0);
    inject_arm(INJECT_OPEN, 1, false);
    assert_int_equal(feedline_loader_record(l, path, 0), FEEDLINE_EIO);
    inject_disarm();
    fixture_run(l, 1);
}

static void expect_at(feedline_loader *l, uint64_t epoch, uint64_t position)
{
    uint64_t here, samples;
    assert_ok(feedline_loader_get_position(l, &here, &samples));
    assert_int_equal(here, epoch);
    assert_int_equal(samples, position);
}

/* A restart that cannot be had leaves the stream where it stands, and next()
 * goes on from there as soon as it can. */
TEST_WITH(failed_restarts_move_nothing, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(
        images.files, "workers=1 batch_size=4 reader=memory tuner=off");
    assert_ok(feedline_loader_start(l, 3));
    feedline_batch *b = fixture_next(l);
    feedline_batch_release(b);
    inject_arm(INJECT_THREAD, 1, true);
    int32_t elsewhere = feedline_loader_set_position(l, 7, 8);
    int32_t here = feedline_loader_next(l, -1, &b);
    inject_disarm();
    assert_true(elsewhere < 0 && here < 0);
    expect_at(l, 3, 4);
    assert_ok(feedline_loader_next(l, -1, &b));
    struct feedline_batch_info info = fixture_info(b);
    assert_int_equal(info.epoch, 3);
    assert_int_equal(info.position, 4);
    feedline_batch_release(b);
    expect_at(l, 3, 8);
}

TEST_MAIN("fault")
