/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that is short of descriptors or threads, by the limits that the
 * system itself knows: whatever the limit, a loader delivers the epoch that it
 * delivers with all it needs, or says which limit it met; and it is used on
 * once that is raised. docs/limits.md says what it needs.
 */
#include "tests/loader/fixture.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

#define N      18
#define NOBODY 65534

FIXTURE_IMAGES(N)

#define OPTIONS "batch_size=4 workers=3 depth=2 io_depth=3 epochs=1 "

static uint64_t usual; /* the hash of an epoch */

static void learn(feedline_dataset *ds)
{
    SCOPED_LOADER l = fixture_open(ds, OPTIONS);
    usual = fixture_run(l, 1);
}

/* A loader's life to its end or first error; *out lives on. */
static bool live(feedline_dataset *ds, const char *options,
                 feedline_loader **out)
{
    uint64_t hash = FIXTURE_HASH;
    feedline_batch *b;
    int32_t status;
    *out = fixture_loader(ds, options);
    if (!*out)
        return false;
    while ((status = feedline_loader_next(*out, -1, &b)) == FEEDLINE_OK)
        fixture_consume(b, &hash);
    if (status == FEEDLINE_END && hash != usual)
        fail_msg("%s: another epoch", options);
    return status == FEEDLINE_END;
}

/* It has all it needs. */
static void use_on(feedline_loader *l)
{
    assert_ok(feedline_loader_start(l, 0));
    assert_true(fixture_run(l, 1) == usual);
}

/* ---- Descriptors --------------------------------------------------------- */

static void limit_files(rlim_t n)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = n;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Descriptors from the next free one on, of which so many may be had; whether
 * the epoch was whole. */
static bool live_with_files(const char *options, rlim_t few)
{
    struct rlimit all;
    feedline_loader *l = NULL;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
    int next = dup(STDERR_FILENO);
    close(next);
    limit_files((rlim_t)next + few);
    bool whole = live(images.files, options, &l);
    if (!whole && !strstr(feedline_last_error(), "Too many open files"))
        fail_msg("%s, %d descriptors: \"%s\"", options, (int)few,
                 feedline_last_error());
    limit_files(all.rlim_cur);
    if (l)
        use_on(l);
    feedline_loader_destroy(l);
    int after = dup(STDERR_FILENO);
    close(after);
    assert_int_equal(after, next);
    return whole;
}

/* A second or so each where they are too few: a read waits for others to end
 * before it gives up. */
TEST_WITH(descriptors_run_out, setup, teardown)
{
    static const struct {
        const char *options;
        rlim_t few;
        bool enough;
    } rows[] = {{OPTIONS "reader=pread", 0, false},
                {OPTIONS "reader=pread", 4, false},
                {OPTIONS "reader=pread", 24, true},
                {OPTIONS "reader=memory", 0, false},
                {OPTIONS "reader=memory", 24, true},
                {OPTIONS "reader=auto", 2, false},
                {OPTIONS "reader=auto", 24, true}};
    learn(images.files);
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++)
        if (live_with_files(rows[i].options, rows[i].few) != rows[i].enough)
            fail_msg("%s, %d descriptors", rows[i].options, (int)rows[i].few);
}

/* ---- Threads ------------------------------------------------------------- */

static uint64_t number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

/* Threads of a user, as far as they can be seen. */
static rlim_t threads_of(uid_t user)
{
    rlim_t n = 0;
    DIR *d = opendir("/proc");
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[300], text[4096];
        snprintf(path, sizeof(path), "/proc/%s/status", e->d_name);
        FILE *f =
            isdigit((unsigned char)e->d_name[0]) ? fopen(path, "r") : NULL;
        if (!f)
            continue;
        text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
        fclose(f);
        if (number_after(text, "\nUid:\t") == user)
            n += number_after(text, "\nThreads:\t");
    }
    closedir(d);
    return n;
}

static void limit_threads(rlim_t n)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NPROC, &limit), 0);
    limit.rlim_cur = n < limit.rlim_max ? n : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NPROC, &limit), 0);
}

/* So many more threads than the user has. */
static bool live_with_threads(rlim_t few)
{
    struct rlimit all;
    feedline_loader *l = NULL;
    assert_int_equal(getrlimit(RLIMIT_NPROC, &all), 0);
    limit_threads(threads_of(getuid()) + few);
    bool whole = live(images.ds, OPTIONS, &l);
    if (!whole && !strstr(feedline_last_error(), "see ulimit -u"))
        fail_msg("%d threads: \"%s\"", (int)few, feedline_last_error());
    limit_threads(all.rlim_cur);
    if (l)
        use_on(l);
    feedline_loader_destroy(l);
    return whole;
}

/* Root is not held to the limit: another user, with a way back. */
TEST_WITH(threads_run_out, setup, teardown)
{
    uint32_t whole = 0;
    bool was_root = geteuid() == 0;
    learn(images.ds);
    if (was_root && setresuid(NOBODY, NOBODY, 0) != 0)
        test_skip("root, and may not be another user");
    bool limited = !live_with_threads(0);
    for (rlim_t few = 1; limited && few < 16; few++)
        whole += live_with_threads(few);
    if (was_root)
        assert_int_equal(setresuid(0, 0, 0), 0);
    if (!limited)
        test_skip("RLIMIT_NPROC limits nothing here");
    printf("%" PRIu32 " of 15 limits are enough\n", whole);
    assert_in_range(whole, 1, 14);
}

TEST_MAIN("short")
