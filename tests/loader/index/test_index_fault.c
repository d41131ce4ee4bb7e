/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call that indexing makes fails once, for a shard of every format: those
 * that the fuzz target begins with. The status says what failed, nothing is
 * left behind, and what may pass is tried again.
 */
#include "base/status.h"
#include "loader/dataset/dataset.h"
#include "test.h"
#include "tests/wrap.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Calls that fail (linked with --wrap) -------------------------------- */

enum call { CALL_MEMORY, CALL_OPEN, CALL_FSTAT, CALL_PREAD, CALL_THREAD };

static enum call failing;
static _Atomic int64_t calls_left; /* 0: they all succeed */
static int call_error;             /* errno; of pread 0: the end of the file */
static _Atomic bool one_failed;

static bool fails(enum call call)
{
    if (call != failing || calls_left == 0 ||
        atomic_fetch_sub_explicit(&calls_left, 1, memory_order_relaxed) != 1)
        return false;
    one_failed = true;
    errno = call_error;
    return true;
}

WRAP(void *, malloc, size_t bytes)
{
    return fails(CALL_MEMORY) ? NULL : __real_malloc(bytes);
}

WRAP(void *, calloc, size_t n, size_t bytes)
{
    return fails(CALL_MEMORY) ? NULL : __real_calloc(n, bytes);
}

WRAP(void *, realloc, void *p, size_t bytes)
{
    return fails(CALL_MEMORY) ? NULL : __real_realloc(p, bytes);
}

WRAP(int, open, const char *path, int flags, mode_t mode)
{
    return fails(CALL_OPEN) ? -1 : __real_open(path, flags, mode);
}

WRAP(int, fstat, int fd, struct stat *st)
{
    return fails(CALL_FSTAT) ? -1 : __real_fstat(fd, st);
}

WRAP(ssize_t, pread, int fd, void *buf, size_t n, off_t offset)
{
    if (fails(CALL_PREAD))
        return call_error ? -1 : 0;
    return __real_pread(fd, buf, n, offset);
}

WRAP(int, pthread_create, pthread_t *thread, const pthread_attr_t *attr,
     void *(*run)(void *), void *arg)
{
    return fails(CALL_THREAD) ? EAGAIN
                              : __real_pthread_create(thread, attr, run, arg);
}

/* ---- Every format -------------------------------------------------------- */

/* Opens uri while call number n fails. *status: what came of it. Returns
 * whether there was such a call. */
static bool open_failing(const char *uri, enum call call, int error, int64_t n,
                         int32_t *status)
{
    feedline_dataset *ds = NULL;
    fdl_clear_error();
    failing = call;
    call_error = error;
    one_failed = false;
    calls_left = n;
    *status = fdl_dataset_open_uri(uri, &ds);
    calls_left = 0;
    assert_true((*status == FEEDLINE_OK) == (ds != NULL));
    fdl_dataset_unref(ds);
    return one_failed;
}

static void for_each_seed(void (*check)(const char *path))
{
    setenv("FEEDLINE_CACHE_DIR", "off", 1); /* its failures are no errors */
    char path[PATH_MAX];
    uint32_t n = 0;
    const struct dirent *entry;
    DIR *dir = opendir(TEST_SEEDS);
    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        feedline_dataset *ds = NULL;
        snprintf(path, sizeof(path), "%s/%s", TEST_SEEDS, entry->d_name);
        /* What a fuzzer found is not named like its format. */
        if (entry->d_name[0] == '.' || entry->d_name[0] == 'f' ||
            fdl_dataset_open_uri(path, &ds) != FEEDLINE_OK)
            continue;
        bool shards = ds->extents != NULL;
        fdl_dataset_unref(ds);
        if (shards)
            check(path);
        n += shards;
    }
    closedir(dir);
    assert_true(n >= 2);
}

static void fail_each(const char *path, enum call call, int error,
                      int32_t expected)
{
    int32_t status;
    int64_t failed = 0;
    for (int64_t n = 1; open_failing(path, call, error, n, &status); n++) {
        /* Giving memory back may fail: the block stays as it is. */
        if (status == FEEDLINE_OK && call == CALL_MEMORY)
            continue;
        if (status != expected)
            fail_msg("%s: call %d of kind %d: %d: %s", path, (int)n, (int)call,
                     (int)status, fdl_last_error());
        assert_true(fdl_last_error()[0] != '\0');
        failed++;
    }
    assert_true(failed > 0);
}

static void without_memory(const char *path)
{
    fail_each(path, CALL_MEMORY, ENOMEM, FEEDLINE_ENOMEM);
}

static void without_files(const char *path)
{
    fail_each(path, CALL_OPEN, EACCES, FEEDLINE_EIO);
    fail_each(path, CALL_OPEN, ENOENT, FEEDLINE_ENOENT);
    fail_each(path, CALL_FSTAT, EIO, FEEDLINE_EIO);
    fail_each(path, CALL_PREAD, EIO, FEEDLINE_EIO);
    fail_each(path, CALL_PREAD, 0, FEEDLINE_EIO);
}

static void interrupted(const char *path)
{
    int32_t status;
    for (int64_t n = 1; open_failing(path, CALL_PREAD, EINTR, n, &status); n++)
        assert_int_equal(status, FEEDLINE_OK);
}

TEST(memory_may_end_anywhere)
{
    for_each_seed(without_memory);
}

TEST(files_may_fail_anywhere)
{
    for_each_seed(without_files);
}

/* With the fields that the seeds have. */
TEST(fields_may_fail_anywhere)
{
    static const char *const uris[] = {
        "tar:" TEST_SEEDS "/tar?fields=jpg,cls",
        "mds:" TEST_SEEDS "/mds?fields=filename,label",
        "tfrecord:" TEST_SEEDS "/tfrecord?fields=image/filename,"
        "image/class/label",
        "zip:" TEST_SEEDS "/zip-fields?fields=txt,json,id",
        "beton:" TEST_SEEDS "/beton-fields?fields=t,m,k,n",
    };
    setenv("FEEDLINE_CACHE_DIR", "off", 1);
    for (size_t i = 0; i < FDL_COUNT_OF(uris); i++) {
        without_memory(uris[i]);
        fail_each(uris[i], CALL_PREAD, EIO, FEEDLINE_EIO);
    }
}

TEST(a_signal_changes_nothing)
{
    for_each_seed(interrupted);
}

/* ---- Threads ------------------------------------------------------------- */

/* A seed is named like its format: "zip-fields". */
static void twice(const char *path, char *uri, size_t bytes)
{
    const char *name = strrchr(path, '/') + 1;
    snprintf(uri, bytes, "%.*s:%s::%s", (int)strcspn(name, "-"), name, path,
             path);
}

static void without_threads(const char *path)
{
    char uri[3 * PATH_MAX];
    int32_t status;
    twice(path, uri, sizeof(uri));
    assert_true(open_failing(uri, CALL_THREAD, EAGAIN, 1, &status));
    assert_int_equal(status, FEEDLINE_OK);
}

TEST(one_thread_is_enough)
{
    for_each_seed(without_threads);
}

static void first_error(const char *path)
{
    char uri[3 * PATH_MAX];
    feedline_dataset *ds = NULL;
    twice(path, uri, sizeof(uri));
    strcat(uri, "::/nowhere/1");
    assert_int_equal(fdl_dataset_open_uri(uri, &ds), FEEDLINE_ENOENT);
    assert_non_null(strstr(fdl_last_error(), "/nowhere/1"));
    assert_null(ds);
}

TEST(the_error_names_the_shard)
{
    for_each_seed(first_error);
}

TEST_MAIN("index_fault")
