/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache in a folder: what it gives is what was stored, whatever became of its
 * files meanwhile; it stays within its budget; processes share it, dead ones
 * too; and each system call may fail.
 */
#include "base/compiler.h"
#include "store/chunk_cache.h"
#include "test.h"
#include "tests/remove_tree.h"
#include "tests/wrap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define C      FDL_CHUNK_BYTES
#define BYTES  (5000 * C + 77) /* more than a file's sums have in one step */
#define BUDGET ((uint64_t)64 << 20)

/* ---- Calls that fail ----------------------------------------------------- */

static int fail_at, fail_errno, n_calls; /* 0: none */

static bool fails(void)
{
    if (fail_at == 0 || ++n_calls != fail_at)
        return false;
    errno = fail_errno;
    return true;
}

WRAP(int, openat, int folder, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = flags & O_CREAT ? va_arg(args, int) : 0;
    va_end(args);
    return fails() ? -1 : __real_openat(folder, path, flags, mode);
}

WRAP(ssize_t, pread, int fd, void *to, size_t n, off_t at)
{
    return fails() ? -1 : __real_pread(fd, to, n, at);
}

WRAP(ssize_t, pwrite, int fd, const void *from, size_t n, off_t at)
{
    /* Half of it is there then. */
    if (fails()) {
        (void)!__real_pwrite(fd, from, n / 2, at);
        errno = fail_errno;
        return -1;
    }
    return __real_pwrite(fd, from, n, at);
}

WRAP(int, mkdirat, int folder, const char *path, mode_t mode)
{
    return fails() ? -1 : __real_mkdirat(folder, path, mode);
}

WRAP(int, renameat, int from, const char *path, int to, const char *name)
{
    return fails() ? -1 : __real_renameat(from, path, to, name);
}

WRAP(int, flock, int fd, int operation)
{
    return fails() ? -1 : __real_flock(fd, operation);
}

WRAP(DIR *, fdopendir, int fd)
{
    return fails() ? NULL : __real_fdopendir(fd);
}

/* ---- A cache ------------------------------------------------------------- */

static char folder[] = "/tmp/feedline-test-XXXXXX";
static struct fdl_chunk_cache *cache;
static uint8_t *contents, *got;

static void open_cache(uint64_t budget)
{
    cache = fdl_chunk_cache_open(folder, budget);
    assert_non_null(cache);
}

static void close_cache(void)
{
    fdl_chunk_cache_close(cache);
    cache = NULL;
}

static void begin(void)
{
    assert_non_null(mkdtemp(folder));
    contents = malloc(BYTES);
    got = malloc(BYTES);
    assert_true(contents && got);
    for (uint64_t i = 0; i < BYTES; i++)
        contents[i] = (uint8_t)(i * 2654435761u >> 13);
    open_cache(BUDGET);
}

static void end(void)
{
    close_cache();
    free(contents);
    free(got);
    remove_tree(folder);
}

static struct fdl_chunk_key key_of(const char *name, const char *tag)
{
    struct fdl_chunk_key key;
    char location[64];
    snprintf(location, sizeof(location), "https://host/%s", name);
    fdl_chunk_key_make(location, NULL, tag, &key);
    return key;
}

static bool damaged; /* what was last looked for */

static bool store(const char *name, uint64_t size, uint64_t first, uint64_t n)
{
    struct fdl_chunk_key key = key_of(name, "\"1\"");
    uint64_t bytes = FDL_MIN((first + n) * C, size) - first * C;
    return fdl_chunk_cache_store(cache, &key, size, first * C,
                                 contents + first * C, bytes, damaged);
}

/* Whether the cache has these chunks; then they are right. */
static bool has_of(const struct fdl_chunk_key *key, uint64_t size,
                   uint64_t first, uint64_t n)
{
    struct fdl_chunk_file f;
    uint64_t bytes = FDL_MIN((first + n) * C, size) - first * C;
    damaged = false;
    if (!fdl_chunk_cache_find(cache, key, &f))
        return false;
    assert_int_equal(f.size, size);
    bool there = fdl_chunk_file_has(&f, first, n);
    bool good = there && fdl_chunk_file_read(&f, first, n, got);
    fdl_chunk_file_close(&f);
    damaged = there && !good;
    if (good)
        assert_memory_equal(got, contents + first * C, bytes);
    return good;
}

static bool has(const char *name, uint64_t size, uint64_t first, uint64_t n)
{
    struct fdl_chunk_key key = key_of(name, "\"1\"");
    return has_of(&key, size, first, n);
}

static uint64_t on_disk;

static int add_bytes(const char *path, const struct stat *st, int type,
                     struct FTW *ftw)
{
    (void)path;
    (void)ftw;
    if (type == FTW_F)
        on_disk += (uint64_t)st->st_blocks * 512;
    return 0;
}

static uint64_t disk_bytes(void)
{
    on_disk = 0;
    assert_int_equal(nftw(folder, add_bytes, 16, FTW_PHYS), 0);
    return on_disk;
}

static void path_of(const char *name, char path[128])
{
    struct fdl_chunk_key key = key_of(name, "\"1\"");
    snprintf(path, 128, "%s/%s", folder, key.path);
}

/* ---- What is stored ------------------------------------------------------ */

TEST_WITH(gives_what_was_stored, begin, end)
{
    assert_false(has("d/a", BYTES, 0, 1));
    assert_true(store("d/a", BYTES, 10, 20));
    assert_true(has("d/a", BYTES, 10, 20));
    assert_true(has("d/a", BYTES, 15, 1));
    assert_false(has("d/a", BYTES, 9, 2));
    assert_false(has("d/a", BYTES, 29, 2));
    assert_true(store("d/a", BYTES, 5, 2000)); /* some are there */
    assert_true(store("d/a", BYTES, 4990, 11));
    assert_true(has("d/a", BYTES, 5, 2000));
    assert_true(has("d/a", BYTES, 5000, 1)); /* the short one */
    assert_false(has("d/a", BYTES, 0, 5001));
    assert_true(store("d/a", BYTES, 0, 5001));
    assert_true(has("d/a", BYTES, 0, 5001));
    assert_true(store("d/b", 0, 0, 0));
    assert_true(has("d/b", 0, 0, 0));
    assert_false(has("d/c", BYTES, 10, 20));
}

TEST_WITH(another_object_is_another, begin, end)
{
    struct fdl_chunk_key old = key_of("d/a", "\"1\"");
    struct fdl_chunk_key replaced = key_of("d/a", "\"2\"");
    assert_true(store("d/a", BYTES, 0, 9));
    assert_false(has_of(&replaced, BYTES, 0, 9));
    assert_true(fdl_chunk_cache_store(cache, &replaced, 3 * C, 0, contents,
                                      3 * C, false));
    assert_true(has_of(&replaced, 3 * C, 0, 3));
    assert_false(has_of(&old, BYTES, 0, 9));
    assert_in_range(disk_bytes(), 4 * C, 7 * C); /* the old one is gone */
}

static void same(const char *a, const char *b, int expected)
{
    struct fdl_chunk_key one, other;
    fdl_chunk_key_make("https://host/x/y", a, "\"1\"", &one);
    fdl_chunk_key_make("https://host/x/y", b, "\"1\"", &other);
    int is = memcmp(&one.identity, &other.identity, sizeof(one.identity)) == 0;
    if (is != expected || (strcmp(one.path, other.path) == 0) != expected)
        fail_msg("'%s' and '%s' are %s object", a ? a : "", b ? b : "",
                 is ? "one" : "not one");
}

TEST(a_signature_names_nothing)
{
    same(NULL, "?X-Amz-Date=1&X-Amz-Signature=abc", 1);
    same("?X-Amz-Signature=1", "?X-Amz-Date=7&X-Amz-Signature=2", 1);
    same("?v=1&X-Goog-Signature=1", "?X-Goog-Signature=2&v=1", 1);
    same("?sv=1&se=2&sig=3", "?sv=4&se=5&sig=6", 1);
    same("?Expires=1&Signature=2&Key-Pair-Id=3", NULL, 1);
    same("?v=1", "?v=2", 0);
    same("?v=1", NULL, 0);
    same("?sp=1", "?sp=2", 0); /* nothing is signed here */
    same("?Expires=1", "?Expires=2", 0);
    same("?versionId=1&X-Amz-Signature=1", "?versionId=2&X-Amz-Signature=1", 0);
    same("?a=b", "?ab=", 0);
    same("?a&b", "?a=b", 0);
}

/* ---- Damage -------------------------------------------------------------- */

static void flip(const char *path, uint64_t at)
{
    uint8_t byte;
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(__real_pread(fd, &byte, 1, (off_t)at), 1);
    byte ^= 4;
    assert_int_equal(__real_pwrite(fd, &byte, 1, (off_t)at), 1);
    close(fd);
}

/* `has` compares what is found: no byte of it is ever a wrong one. */
TEST_WITH(damage_is_not_given, begin, end)
{
    char path[128];
    uint64_t n = 6, size = 5 * C + 9, found = 0;
    struct fdl_chunk_key key = key_of("d/a", "\"1\"");
    path_of("d/a", path);
    for (uint64_t at = 0; at < 2 * C + size; at += at < 96 ? 1 : 509) {
        remove(path);
        assert_true(store("d/a", size, 0, n));
        flip(path, at);
        found += has("d/a", size, 0, n);
        for (uint64_t i = 0; i < n; i++)
            (void)has("d/a", size, i, 1);
    }
    assert_in_range(found, 40, 60); /* where nothing is */
    assert_true(
        fdl_chunk_cache_store(cache, &key, size, 0, contents, size, true));
    assert_true(has("d/a", size, 0, n));
}

TEST_WITH(a_file_that_is_cut_is_not_given, begin, end)
{
    char path[128];
    uint64_t n = 6, size = 5 * C + 9;
    path_of("d/a", path);
    for (uint64_t bytes = 0; bytes < 2 * C + size; bytes += 509) {
        remove(path);
        assert_true(store("d/a", size, 0, n));
        assert_int_equal(truncate(path, (off_t)bytes), 0);
        assert_false(has("d/a", size, 0, n));
        (void)has("d/a", size, 0, 2);
    }
    struct fdl_chunk_key key = key_of("d/a", "\"1\"");
    assert_true(
        fdl_chunk_cache_store(cache, &key, size, 0, contents, size, true));
    assert_true(has("d/a", size, 0, n));
}

/* ---- The budget ---------------------------------------------------------- */

/* How many objects of 16 chunks are in. */
static uint32_t fill(const char *group, uint32_t n)
{
    char name[32];
    uint32_t in = 0;
    for (uint32_t i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "%s/%u", group, i);
        assert_true(store(name, 16 * C, 0, 16));
        in += has(name, 16 * C, 0, 16);
    }
    return in;
}

TEST_WITH(what_is_in_stays, begin, end)
{
    struct fdl_chunk_cache_state state;
    close_cache();
    open_cache(100 * 18 * C);
    assert_int_equal(fill("d", 60), 60);
    assert_true(fdl_chunk_cache_takes(cache));
    assert_in_range(fill("d", 200), 95, 100);
    assert_false(fdl_chunk_cache_takes(cache));
    fdl_chunk_cache_get(cache, &state);
    assert_true(state.full && !state.step);
    assert_true(disk_bytes() <= 100 * 18 * C + 2 * C);
    assert_true(has("d/0", 16 * C, 0, 16));
    assert_false(has("d/199", 16 * C, 0, 16));
    /* For the next run too, and for one that may take more. */
    close_cache();
    open_cache(100 * 18 * C);
    fdl_chunk_cache_use(cache, "https://host/d/0");
    assert_in_range(fill("d", 200), 95, 100);
    close_cache();
    open_cache(300 * 18 * C);
    assert_int_equal(fill("d", 200), 200);
}

/* The folder was not idle in between for those that are in use. */
TEST_WITH(earlier_jobs_make_room, begin, end)
{
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    char path[128];
    close_cache();
    open_cache(100 * 18 * C);
    assert_int_equal(fill("old", 40), 40);
    assert_int_equal(fill("used", 40), 40);
    close_cache();
    path_of("old/0", path);
    *strrchr(path, '/') = '\0';
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    open_cache(100 * 18 * C);
    fdl_chunk_cache_use(cache, "https://host/used/0");
    assert_in_range(fill("new", 100), 55, 60);
    assert_int_equal(fill("used", 40), 40);
    assert_false(has("old/0", 16 * C, 0, 16));
    assert_true(access(path, F_OK) < 0); /* the folder as well */
}

TEST_WITH(a_budget_of_nothing, begin, end)
{
    close_cache();
    open_cache(1);
    assert_true(store("d/a", BYTES, 0, 3));
    assert_false(has("d/a", BYTES, 0, 3));
    assert_false(fdl_chunk_cache_takes(cache));
    close_cache();
    open_cache(0); /* half of what is free */
    assert_true(store("d/a", BYTES, 0, 3));
    assert_true(has("d/a", BYTES, 0, 3));
}

/* ---- Processes ----------------------------------------------------------- */

static void in_child(void (*run)(void))
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* It has a lot of the budget, and a file that is half made. */
static void die(void)
{
    char path[160], own[128];
    cache = fdl_chunk_cache_open(folder, 100 * 18 * C);
    if (!cache || !store("d/a", BYTES, 0, 50))
        _exit(1);
    path_of("d/a", own);
    snprintf(path, sizeof(path), "%s.tmp.1.2", own);
    if (open(path, O_CREAT | O_WRONLY, 0600) < 0)
        _exit(1);
}

TEST_WITH(a_dead_process_holds_nothing, begin, end)
{
    char path[160], own[128];
    close_cache();
    for (int i = 0; i < 60; i++)
        in_child(die);
    open_cache(100 * 18 * C);
    assert_true(has("d/a", BYTES, 0, 50));
    assert_in_range(fill("e", 200), 90, 97);
    path_of("d/a", own);
    snprintf(path, sizeof(path), "%s.tmp.1.2", own);
    assert_true(access(path, F_OK) < 0);
}

/* Writes and reads what others do at the same time. */
static void work(void)
{
    char name[32];
    cache = fdl_chunk_cache_open(folder, BUDGET);
    for (uint32_t i = 0; cache && i < 300; i++) {
        snprintf(name, sizeof(name), "d/%u", i % 3);
        uint64_t first = i * 7919 % 4000;
        if (!has(name, BYTES, first, 30) && !store(name, BYTES, first, 30))
            _exit(1);
    }
    fdl_chunk_cache_close(cache);
}

TEST_WITH(processes_share_it, begin, end)
{
    pid_t children[4];
    int status;
    for (int i = 0; i < 4; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            work();
            _exit(0);
        }
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    uint32_t in = 0;
    for (uint32_t i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof(name), "d/%u", i % 3);
        in += has(name, BYTES, i * 7919 % 4000, 30);
    }
    assert_true(in > 250); /* but for those that met others at the ledger */
}

/* ---- What fails ---------------------------------------------------------- */

TEST(a_folder_that_cannot_be)
{
    struct fdl_chunk_cache_state state;
    contents = calloc(1, 3 * C);
    cache = fdl_chunk_cache_open("/proc/none/below", BUDGET);
    assert_non_null(cache);
    assert_false(fdl_chunk_cache_takes(cache));
    assert_true(store("d/a", 3 * C, 0, 3)); /* it is not tried */
    assert_false(has("d/a", 3 * C, 0, 3));
    fdl_chunk_cache_use(cache, "https://host/d/a");
    fdl_chunk_cache_get(cache, &state);
    assert_string_equal(state.step, "open");
    assert_int_equal(state.error, ENOENT);
    close_cache();
    free(contents);
}

static uint32_t open_files(void)
{
    uint32_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* As a reader does it. Returns whether the cache has them then. */
static bool use(const char *name, uint64_t size, uint64_t first, uint64_t n)
{
    return has(name, size, first, n) ||
           (store(name, size, first, n) && has(name, size, first, n));
}

/* A life of a cache that has something. */
static bool live(void)
{
    open_cache(BUDGET);
    fdl_chunk_cache_use(cache, "https://host/d/a");
    bool all = use("d/a", BYTES, 0, 30);
    all = use("d/a", BYTES, 20, 30) && all;
    all = use("new/b", 5 * C, 0, 5) && all;
    close_cache();
    return all;
}

static void check_failing(int error)
{
    for (int n = 1;; n++) {
        remove_tree(folder);
        assert_int_equal(mkdir(folder, 0700), 0);
        open_cache(BUDGET);
        assert_true(store("d/a", BYTES, 0, 30));
        close_cache();
        uint32_t files = open_files();
        fail_at = n;
        fail_errno = error;
        n_calls = 0;
        bool all = live();
        int calls = n_calls;
        fail_at = 0;
        assert_int_equal(open_files(), files);
        assert_true(live()); /* nothing is left that harms */
        if (calls < n) {
            assert_true(all && n > 20);
            return;
        }
    }
}

TEST_WITH(each_call_fails_once, begin, end)
{
    close_cache();
    check_failing(EIO);
    check_failing(ENOSPC);
    check_failing(EACCES);
    open_cache(BUDGET);
}

/* Nothing more is written, and what is there goes on to be read. */
TEST_WITH(a_full_disk, begin, end)
{
    struct fdl_chunk_cache_state state;
    assert_true(store("d/a", BYTES, 0, 30));
    fail_errno = ENOSPC;
    n_calls = 0;
    fail_at = 2; /* open, sums, the write */
    for (int n = 1; n < 20 && fdl_chunk_cache_takes(cache); n++) {
        fail_at = n;
        n_calls = 0;
        (void)store("d/a", BYTES, 1000 + (uint64_t)n * 40, 30);
    }
    fail_at = 0;
    assert_false(fdl_chunk_cache_takes(cache));
    fdl_chunk_cache_get(cache, &state);
    assert_string_equal(state.step, "write");
    assert_int_equal(state.error, ENOSPC);
    assert_true(has("d/a", BYTES, 0, 30));
    assert_true(store("d/a", BYTES, 3000, 30)); /* it is not tried */
    assert_false(has("d/a", BYTES, 3000, 30));
}

TEST_MAIN("chunk_cache")
