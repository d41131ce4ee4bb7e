/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch while the n-th allocation or thread fails, for n = 1, 2, ... until
 * nothing fails any more: it is made, or there is a clean code with words and
 * nothing is left behind; once made it counts whatever fails.
 */
#include "inject.h"
#include "test.h"

#include <feedline/watch.h>

#define MAX_CALLS 2000u /* far more than a life makes */
#define TURNS     4u

static int32_t create(feedline_loader **out)
{
    static const struct feedline_watch_def def = {.struct_size = sizeof(def),
                                                  .name = "somebody"};
    feedline_config *cfg = NULL;
    int32_t status = feedline_config_create(&cfg);
    if (status >= 0)
        status = feedline_config_set(cfg, "stats_log", "/dev/null");
    if (status >= 0)
        status = feedline_watch_create(cfg, &def, out);
    feedline_config_destroy(cfg);
    return status;
}

static void count(feedline_loader *w)
{
    struct feedline_stats s = {.struct_size = sizeof(s)};
    for (uint32_t i = 0; i < TURNS; i++) {
        assert_int_equal(feedline_watch_begin(w), FEEDLINE_OK);
        assert_int_equal(feedline_watch_end(w, FEEDLINE_OK, 1, 0), FEEDLINE_OK);
    }
    assert_int_equal(feedline_loader_get_stats(w, &s), FEEDLINE_OK);
    assert_int_equal(s.batches, TURNS);
}

static void each_call_in_turn(enum inject_kind kind)
{
    uint32_t n = 1, calls, failed = 0;
    do {
        feedline_loader *w = NULL;
        inject_arm(kind, n, false);
        int32_t status = create(&w);
        if (status >= 0)
            count(w);
        calls = inject_disarm();
        if (status < 0) {
            failed++;
            assert_int_equal(status, FEEDLINE_ENOMEM);
            assert_true(feedline_last_error()[0] != '\0');
            assert_null(w);
        }
        feedline_loader_destroy(w);
    } while (++n < MAX_CALLS && n <= calls + 1);
    assert_true(n < MAX_CALLS);
    if (kind == INJECT_MEMORY)
        assert_true(failed > 0);
    else
        assert_int_equal(failed, 0); /* counts without its monitor */
}

TEST(memory_fails)
{
    each_call_in_turn(INJECT_MEMORY);
}

TEST(threads_fail)
{
    each_call_in_turn(INJECT_THREAD);
}

TEST(files_fail)
{
    each_call_in_turn(INJECT_OPEN);
}

TEST_MAIN("watch_fault")
