/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that bring their own steps, while calls fail: the n-th allocation,
 * thread, open, fstat or read of a life, for n = 1, 2, ... until nothing fails
 * any more. Each time there is a clean code with words, and what was delivered
 * is right; then the same loader does it all once more.
 */
#include "base/compiler.h"
#include "inject.h"
#include "tests/loader/stream/recorded_rig.h"

#define MAX_CALLS 4000u /* far more than a life makes */

static struct recorded_rig rig;

static void setup(void)
{
    recorded_open(&rig);
    rig.source.flags |= FEEDLINE_SOURCE_IN_ORDER;
}

static void teardown(void)
{
    recorded_close(&rig);
}

static int32_t create(feedline_dataset *ds, const char *reader,
                      feedline_loader **out)
{
    const char *const options[][2] = {
        {"reader", reader}, {"io_depth", "3"},   {"workers", "2"},
        {"depth", "2"},     {"batch_size", "4"}, {"drop_last", "false"},
        {"tuner", "off"},   {"live", "false"},   {"epochs", "1"}};
    feedline_config *cfg = NULL;
    feedline_pipeline *p = NULL;
    int32_t status = feedline_config_create(&cfg);
    for (size_t i = 0; status >= 0 && i < FDL_COUNT_OF(options); i++)
        status = feedline_config_set(cfg, options[i][0], options[i][1]);
    if (status >= 0)
        status = feedline_pipeline_create("none", &p);
    if (status >= 0)
        status = feedline_loader_create(cfg, ds, p, out);
    feedline_pipeline_destroy(p);
    feedline_config_destroy(cfg);
    return status;
}

/* An epoch to its end, or to the first error. */
static int32_t run(feedline_loader *l)
{
    int32_t status = feedline_loader_start(l, 0);
    for (uint64_t ticket = 0; status == FEEDLINE_OK; ticket++) {
        feedline_batch *b;
        status = feedline_loader_next(l, -1, &b);
        if (status == FEEDLINE_OK)
            assert_int_equal(recorded_check(&rig, b, ticket), 0);
    }
    assert_true(status >= 0 || feedline_last_error()[0] != '\0');
    /* A run that fails has stopped. */
    assert_int_equal(feedline_loader_stop(l), FEEDLINE_OK);
    recorded_forget(&rig);
    return status;
}

static void one_life(const char *reader, enum inject_kind kind, uint32_t n,
                     uint32_t *calls, int32_t *status)
{
    feedline_dataset *ds = NULL;
    feedline_loader *l = NULL;
    inject_arm(kind, n, false);
    *status = feedline_dataset_open_source(&rig.source, &ds);
    if (*status >= 0)
        *status = create(ds, reader, &l);
    if (*status >= 0)
        *status = run(l);
    *calls = inject_disarm();
    if (l)
        assert_int_equal(run(l), FEEDLINE_END);
    feedline_loader_destroy(l);
    feedline_dataset_close(ds);
}

static void each_call_in_turn(const char *reader, enum inject_kind kind,
                              const int32_t allowed[2])
{
    uint32_t n = 0, failed = 0, calls;
    do {
        int32_t status;
        one_life(reader, kind, ++n, &calls, &status);
        if (status >= 0)
            continue;
        failed++;
        if (status != allowed[0] && status != allowed[1])
            fail_msg("call %u: %s: %s", n, feedline_status_name(status),
                     feedline_last_error());
    } while (n < MAX_CALLS && n <= calls);
    printf("%s: %u calls, %u lives ended by an error\n", reader, n, failed);
    assert_true(failed > 0 || kind == INJECT_SHORT);
    assert_true(n < MAX_CALLS);
}

static void with_both_readers(enum inject_kind kind, int32_t first,
                              int32_t second)
{
    const int32_t allowed[] = {first, second};
    each_call_in_turn("pread", kind, allowed);
    if (kind != INJECT_THREAD)
        each_call_in_turn("memory", kind, allowed);
}

/* EIO: a read that found no memory for its file. */
TEST_WITH(memory_fails, setup, teardown)
{
    with_both_readers(INJECT_MEMORY, FEEDLINE_ENOMEM, FEEDLINE_EIO);
}

TEST_WITH(threads_fail, setup, teardown)
{
    with_both_readers(INJECT_THREAD, FEEDLINE_ENOMEM, FEEDLINE_ESTATE);
}

TEST_WITH(opens_fail, setup, teardown)
{
    with_both_readers(INJECT_OPEN, FEEDLINE_EIO, FEEDLINE_EIO);
}

TEST_WITH(fstat_fails, setup, teardown)
{
    with_both_readers(INJECT_STAT, FEEDLINE_EIO, FEEDLINE_EIO);
}

TEST_WITH(reads_fail, setup, teardown)
{
    with_both_readers(INJECT_READ, FEEDLINE_EIO, FEEDLINE_EIO);
}

TEST_WITH(reads_are_short, setup, teardown)
{
    with_both_readers(INJECT_SHORT, FEEDLINE_EIO, FEEDLINE_EIO);
}

TEST_MAIN("recorded_fault")
