/* SPDX-License-Identifier: Apache-2.0 */
/* What was found right: never more than was added, and most of that, however
 * much there is. */
#include "base/compiler.h"
#include "base/thread.h"
#include "store/chunk_checked.h"
#include "test.h"
#include "tests/dice.h"
#include "tests/wrap_memory.h"

#define FILES  7u
#define CHUNKS 1000u

static struct fdl_chunk_checked *create(void)
{
    struct fdl_chunk_checked *k = fdl_chunk_checked_create();
    assert_non_null(k);
    return k;
}

TEST(has_what_was_added)
{
    static bool model[FILES][CHUNKS];
    struct dice dice = {test_seed()};
    struct fdl_chunk_checked *k = create();
    uint32_t there = 0, known = 0;
    for (int i = 0; i < 2000; i++) {
        uint32_t file = dice_below(&dice, FILES);
        uint32_t first = dice_below(&dice, CHUNKS);
        uint32_t n = dice_below(&dice, FDL_MIN(150, CHUNKS - first) + 1);
        bool all = true;
        for (uint32_t c = 0; c < n; c++)
            all = all && model[file][first + c];
        bool has = fdl_chunk_checked_has(k, file, first, n);
        assert_true(all || !has);
        there += all;
        known += has;
        if (i % 10 > 0) /* looks alone, now and then */
            continue;
        fdl_chunk_checked_add(k, file, first, n);
        for (uint32_t c = 0; c < n; c++)
            model[file][first + c] = true;
    }
    assert_true(there > 500 && known >= there - there / 10);
    fdl_chunk_checked_destroy(k);
}

TEST(nothing_at_first)
{
    struct fdl_chunk_checked *k = create();
    assert_false(fdl_chunk_checked_has(k, 0, 0, 1));
    assert_true(fdl_chunk_checked_has(k, 0, 5, 0));
    fdl_chunk_checked_add(k, 1, UINT64_MAX / 4096 - 70, 70);
    assert_true(fdl_chunk_checked_has(k, 1, UINT64_MAX / 4096 - 70, 70));
    assert_false(fdl_chunk_checked_has(k, 2, UINT64_MAX / 4096 - 70, 70));
    fdl_chunk_checked_destroy(k);
}

/* As many as there may be three times. */
TEST(forgets_where_there_are_many)
{
    struct fdl_chunk_checked *k = create();
    uint32_t early = 0, late = 0, n = 3u << 20;
    for (uint32_t i = 0; i < n; i++) {
        fdl_chunk_checked_add(k, i, 5, 1);
        assert_false(fdl_chunk_checked_has(k, i, 4, 2));
        assert_true(fdl_chunk_checked_has(k, i, 5, 1));
    }
    for (uint32_t i = 0; i < 10000; i++) {
        early += fdl_chunk_checked_has(k, i, 5, 1);
        late += fdl_chunk_checked_has(k, n - 1 - i, 5, 1);
    }
    assert_in_range(early, 0, 9000);
    assert_in_range(late, 9500, 10000);
    fdl_chunk_checked_destroy(k);
}

struct share {
    struct fdl_chunk_checked *k;
    uint64_t file;
    uint32_t found;
};

static void *work(void *arg)
{
    struct share *s = arg;
    for (uint64_t i = 0; i < 20000; i += 10) {
        assert_false(fdl_chunk_checked_has(s->k, s->file, i, 10));
        fdl_chunk_checked_add(s->k, s->file, i, 10);
        s->found += fdl_chunk_checked_has(s->k, s->file, i, 10);
    }
    return NULL;
}

TEST(threads_share_it)
{
    struct fdl_chunk_checked *k = create();
    struct fdl_thread threads[4] = {0};
    struct share shares[4];
    for (uint32_t i = 0; i < 4; i++) {
        shares[i] = (struct share){k, i, 0};
        assert_int_equal(
            fdl_thread_start(&threads[i], "checks", work, &shares[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        fdl_thread_join(&threads[i]);
        assert_in_range(shares[i].found, 1900, 2000);
    }
    fdl_chunk_checked_destroy(k);
}

TEST(memory_that_ends)
{
    memory_left = 1;
    assert_null(fdl_chunk_checked_create());
    fdl_chunk_checked_add(NULL, 1, 1, 1);
    assert_false(fdl_chunk_checked_has(NULL, 1, 1, 1));
    fdl_chunk_checked_destroy(NULL);
    struct fdl_chunk_checked *k = create();
    memory_left = 1;
    fdl_chunk_checked_add(k, 1, 1, 1);
    assert_false(fdl_chunk_checked_has(k, 1, 1, 1));
    fdl_chunk_checked_add(k, 1, 1, 1);
    assert_true(fdl_chunk_checked_has(k, 1, 1, 1));
    memory_refuses = 1; /* it stays as small as it is */
    uint32_t found = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        fdl_chunk_checked_add(k, i, 0, 3);
        assert_true(fdl_chunk_checked_has(k, i, 0, 3));
    }
    memory_refuses = 0;
    for (uint32_t i = 0; i < 5000; i++)
        found += fdl_chunk_checked_has(k, i, 0, 3);
    assert_in_range(found, 200, 256);
    fdl_chunk_checked_destroy(k);
}

TEST_MAIN("chunk_checked")
