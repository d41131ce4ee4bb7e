/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index cache of folders: a second start lists none, and whatever happens
 * to the tree, what is found is what is there.
 */
#include "loader/dataset/dataset.h"
#include "test.h"
#include "tests/remove_tree.h"
#include "tests/wrap.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CLASSES   10u
#define PER_CLASS 1100u

static char folder[64], spec[96];
static _Atomic uint32_t listed; /* folders */

/* All folders are old enough. */
WRAP(int, clock_gettime, clockid_t clock, struct timespec *out)
{
    int result = __real_clock_gettime(clock, out);
    out->tv_sec += clock == CLOCK_REALTIME ? 60 : 0;
    return result;
}

WRAP(struct dirent *, readdir, DIR *dir)
{
    struct dirent *entry = __real_readdir(dir);
    listed += entry == NULL;
    return entry;
}

/* printf's text below the folder. */
static const char *at(const char *fmt, ...) FDL_PRINTF(1, 2);
static const char *at(const char *fmt, ...)
{
    static char paths[2][256]; /* two may be in use */
    static uint32_t n;
    char *path = paths[n++ % 2];
    va_list args;
    int length = snprintf(path, sizeof(paths[0]), "%s/", folder);
    va_start(args, fmt);
    vsnprintf(path + length, sizeof(paths[0]) - (size_t)length, fmt, args);
    va_end(args);
    return path;
}

static void make_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    assert_true(fd >= 0);
    close(fd);
}

static void setup(void)
{
    /* Thousands of files: in memory, if that can be had. */
    snprintf(folder, sizeof(folder), "/dev/shm/feedline-folders-XXXXXX");
    if (!mkdtemp(folder)) {
        snprintf(folder, sizeof(folder), "/tmp/feedline-folders-XXXXXX");
        assert_non_null(mkdtemp(folder));
    }
    snprintf(spec, sizeof(spec), "folder:%s/data", folder);
    assert_int_equal(mkdir(at("data"), 0700), 0);
    for (uint32_t c = 0; c < CLASSES; c++) {
        mkdir(at("data/%u", c), 0700);
        mkdir(at("data/%u/in", c), 0700);
        for (uint32_t i = 0; i < PER_CLASS; i++)
            make_file(at("data/%u/%s%u.jpg", c, i % 2 ? "" : "in/", i));
    }
}

static void teardown(void)
{
    assert_int_equal(remove_tree(folder), 0);
}

static feedline_dataset *open_with(const char *cache)
{
    feedline_dataset *ds = NULL;
    setenv("FEEDLINE_CACHE_DIR", cache, 1);
    listed = 0;
    assert_int_equal(fdl_dataset_open_uri(spec, &ds), FEEDLINE_OK);
    return ds;
}

/* Returns how many folders were listed. */
static uint32_t open_and_compare(void)
{
    feedline_dataset *is = open_with("off");
    feedline_dataset *ds = open_with(at("cache"));
    assert_int_equal(ds->count, is->count);
    for (uint64_t i = 0; i < ds->count; i++) {
        assert_string_equal(fdl_dataset_name(ds, i), fdl_dataset_name(is, i));
        assert_int_equal(fdl_dataset_label(ds, i), fdl_dataset_label(is, i));
    }
    assert_true(ds->fingerprint == is->fingerprint);
    fdl_dataset_unref(is);
    fdl_dataset_unref(ds);
    return listed;
}

TEST_WITH(second_start_lists_no_folder, setup, teardown)
{
    assert_int_equal(open_and_compare(), 1 + 2 * CLASSES);
    assert_int_equal(open_and_compare(), 0);
}

TEST_WITH(only_what_changed_is_listed, setup, teardown)
{
    open_and_compare();
    make_file(at("data/3/in/new.jpg"));
    assert_int_equal(open_and_compare(), 1);
    unlink(at("data/4/1.jpg"));
    assert_int_equal(open_and_compare(), 1);
    assert_int_equal(rename(at("data/5/1.jpg"), at("data/6/in/x.jpg")), 0);
    assert_int_equal(open_and_compare(), 2);
    assert_int_equal(rename(at("data/7"), at("data/a")), 0);
    assert_int_equal(open_and_compare(), 3); /* the root, and by its name */
    mkdir(at("data/8/in/deep"), 0700);
    make_file(at("data/8/in/deep/1.png"));
    assert_int_equal(open_and_compare(), 2);
    assert_int_equal(open_and_compare(), 0);
}

TEST_WITH(what_is_behind_links_is_seen, setup, teardown)
{
    assert_int_equal(symlink("../later", at("data/link")), 0);
    open_and_compare();
    assert_int_equal(open_and_compare(), 1); /* where the link leads nowhere */
    mkdir(at("later"), 0700);
    make_file(at("later/1.jpg"));
    assert_int_equal(open_and_compare(), 2);
    make_file(at("later/2.jpg"));
    assert_int_equal(open_and_compare(), 2);
    assert_int_equal(symlink("1.jpg", at("data/0/link.jpg")), 0);
    assert_int_equal(open_and_compare(), 2);
    assert_int_equal(open_and_compare(), 1);
}

TEST_MAIN("folder_cache")
