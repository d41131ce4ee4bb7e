/* SPDX-License-Identifier: Apache-2.0 */
/* world=auto: a loader whose rank is the launcher's. */
#include "base/status.h"
#include "tests/loader/fixture.h"

#include <stdlib.h>

FIXTURE_IMAGES(12)

static void set_ranks(const char *rank, const char *world)
{
    if (rank) {
        setenv("RANK", rank, 1);
        setenv("WORLD_SIZE", world, 1);
    } else {
        unsetenv("RANK");
        unsetenv("WORLD_SIZE");
    }
}

static void remove_all(void)
{
    set_ranks(NULL, NULL);
    teardown();
}

TEST_WITH(a_loader_takes_the_launchers, setup, remove_all)
{
    int64_t value;
    set_ranks("2", "3");
    SCOPED_LOADER l = fixture_open(images.ds, "world=auto");
    assert_ok(feedline_loader_get_int(l, "rank", &value));
    assert_int_equal(value, 2);
    assert_ok(feedline_loader_get_int(l, "world", &value));
    assert_int_equal(value, 3);
    struct feedline_epoch_info info = {.struct_size = sizeof(info)};
    assert_ok(feedline_loader_get_epoch_info(l, &info));
    assert_int_equal(info.samples, images.n / 3);
}

TEST_WITH(a_loader_asks_nobody_else, setup, remove_all)
{
    int64_t value;
    set_ranks("2", "3");
    SCOPED_LOADER l = fixture_open(images.ds, "world=2 rank=1");
    assert_ok(feedline_loader_get_int(l, "rank", &value));
    assert_int_equal(value, 1);
    set_ranks("x", "3");
    SCOPED_LOADER alone = fixture_open(images.ds, "");
    assert_ok(feedline_loader_get_int(alone, "world", &value));
    assert_int_equal(value, 1);
    assert_null(fixture_loader(images.ds, "world=auto"));
    assert_error(FEEDLINE_EINVAL, FEEDLINE_EINVAL, "RANK=\"x\"");
}

TEST_WITH(a_rank_beside_the_launchers, setup, remove_all)
{
    set_ranks("2", "3");
    SCOPED_LOADER l = fixture_open(images.ds, "world=auto rank=2");
    assert_null(fixture_loader(images.ds, "world=auto rank=1"));
    assert_error(FEEDLINE_EINVAL, FEEDLINE_EINVAL, "rank=1, but RANK");
    set_ranks(NULL, NULL);
    assert_null(fixture_loader(images.ds, "world=auto rank=1"));
    assert_error(FEEDLINE_EINVAL, FEEDLINE_EINVAL, "no launcher: rank 0 of 1");
}

TEST_MAIN("world_auto")
