/* SPDX-License-Identifier: Apache-2.0 */
/* Which blocks stay in the page cache, and what is dropped of the others. */
#include "base/compiler.h"
#include "base/philox.h"
#include "loader/read/keep.h"
#include "test.h"
#include "tests/wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#define FILES  500
#define BLOCKS 30

static struct {
    uint64_t hash; /* of the file that is read; 0: none */
    const struct fdl_keep *keep;
    uint64_t bytes; /* dropped */
    uint32_t calls;
    int fails; /* with this error */
} kernel;

WRAP(int, posix_fadvise, int fd, off_t offset, off_t bytes, int advice)
{
    uint64_t from = (uint64_t)offset, to = from + (uint64_t)bytes;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    (void)fd;
    assert_int_equal(advice, POSIX_FADV_DONTNEED);
    assert_int_equal(from % page, 0);
    assert_int_equal(to % page, 0);
    assert_true(to > from);
    for (uint64_t at = from; at < to; at += page)
        assert_false(
            fdl_keep_has(kernel.keep, kernel.hash, at / FDL_KEEP_BLOCK));
    kernel.bytes += to - from;
    kernel.calls++;
    return kernel.fails;
}

static uint64_t hash_of(const struct fdl_keep *k, uint32_t file)
{
    char name[64];
    snprintf(name, sizeof(name), "/data/train/%05u.tar", file);
    return fdl_keep_hash(k, name);
}

static uint64_t count(const struct fdl_keep *k, uint32_t files, uint64_t blocks)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < files; i++)
        for (uint64_t b = 0; b < blocks; b++)
            n += fdl_keep_has(k, hash_of(k, i), b) ? 1 : 0;
    return n;
}

/* Within four standard errors where each file is a block, and much closer
 * within one file. */
TEST(keeps_the_fraction)
{
    for (uint64_t percent = 1; percent < 100; percent += 7) {
        struct fdl_keep k;
        fdl_keep_init(&k, percent, 100, NULL);
        uint64_t files = count(&k, 10000, 1);
        assert_in_range(files, percent * 100 - FDL_MIN(200, percent * 100),
                        percent * 100 + 200);
        uint64_t blocks = count(&k, 1, 10000);
        assert_in_range(blocks, percent * 100 - 5, percent * 100 + 5);
    }
}

TEST(a_larger_budget_keeps_the_same_and_more)
{
    struct fdl_keep less, more;
    fdl_keep_init(&less, 30, 100, NULL);
    for (uint64_t budget = 31; budget <= 101; budget += 10) {
        fdl_keep_init(&more, budget, 100, NULL);
        for (uint32_t i = 0; i < FILES; i++)
            for (uint64_t b = 0; b < BLOCKS; b++)
                assert_true(!fdl_keep_has(&less, hash_of(&less, i), b) ||
                            fdl_keep_has(&more, hash_of(&more, i), b));
        less = more;
    }
    assert_false(more.drops);
}

/* Another mount point, another process: nothing but the names below the root
 * of the data set counts. */
TEST(ranks_agree)
{
    struct fdl_keep here, there;
    fdl_keep_init(&here, 3, 7, "/data/");
    fdl_keep_init(&there, 3, 7, "/mnt/nvme/");
    uint64_t hash = fdl_keep_hash(&here, "/data/a/1.jpg");
    assert_int_equal(hash, fdl_keep_hash(&there, "/mnt/nvme/a/1.jpg"));
    assert_int_not_equal(hash, fdl_keep_hash(&here, "/data/a/2.jpg"));
    /* Pinned, so that what another version of the library kept stays warm. */
    assert_true(hash == UINT64_C(0xef4150c9ef1bfbce));
}

TEST(keeps_everything_where_nothing_is_known)
{
    static const uint64_t cases[][2] = {
        {0, 5}, {5, 0}, {5, 5}, {UINT64_MAX, 5}, {0, 0}};
    for (size_t i = 0; i < FDL_COUNT_OF(cases); i++) {
        struct fdl_keep k;
        fdl_keep_init(&k, cases[i][0], cases[i][1], NULL);
        assert_false(k.drops);
        assert_int_equal(count(&k, 3, 3), 9);
        kernel.calls = 0;
        fdl_keep_drop(&k, 0, "a", 0, 100);
        assert_int_equal(kernel.calls, 0);
    }
}

/* The wrapped call checks that no page of a block that is kept goes. */
TEST(drops_what_was_read_and_not_kept)
{
    struct fdl_keep k;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    fdl_keep_init(&k, 1, 2, NULL);
    struct fdl_rng rng;
    fdl_rng_init(&rng, test_seed(), 0, 0, 0);
    for (uint32_t i = 0; i < 500; i++) {
        char name[32];
        uint64_t offset = fdl_rng_below(&rng, 100 * (uint32_t)FDL_KEEP_BLOCK);
        uint64_t size = fdl_rng_below(&rng, 3 * (uint32_t)FDL_KEEP_BLOCK);
        snprintf(name, sizeof(name), "%u", i);
        kernel.keep = &k;
        kernel.hash = fdl_keep_hash(&k, name);
        kernel.bytes = 0;
        kernel.fails = i % 2 ? EIO : 0; /* makes no difference */
        fdl_keep_drop(&k, 0, name, offset, size);
        uint64_t wanted = 0;
        for (uint64_t at = offset / page * page; at < offset + size; at += page)
            if (size > 0 && !fdl_keep_has(&k, kernel.hash, at / FDL_KEEP_BLOCK))
                wanted += page;
        assert_int_equal(kernel.bytes, wanted);
    }
}

TEST_MAIN("keep")
