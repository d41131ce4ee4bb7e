/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache in a folder: what it gives is what was stored, whatever became of its
 * files meanwhile; it stays within its budget; processes share it, dead ones
 * too; and each system call may fail.
 */
#include "base/compiler.h"
#include "base/event.h"
#include "store/chunk_cache.h"
#include "test.h"
#include "tests/dice.h"
#include "tests/remove_tree.h"
#include "tests/wrap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define C      FDL_CHUNK_BYTES
#define BYTES  (5000 * C + 77) /* more than a file's sums have in one step */
#define DATA   (16 * C)        /* where chunks begin in a file of few */
#define BUDGET ((uint64_t)64 << 20)
#define WAITS  ((uint64_t)4 << 20)

/* ---- Calls that fail ----------------------------------------------------- */

static _Atomic int fail_at, fail_errno, n_calls; /* 0: none */

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

/* A disk that does not get on. */
static struct fdl_event go;
static _Atomic bool held;

static void hold_writes(void)
{
    fdl_event_init(&go);
    atomic_store_explicit(&held, true, memory_order_release);
}

static void let_writes_go(void)
{
    atomic_store_explicit(&held, false, memory_order_release);
    fdl_event_notify(&go, UINT32_MAX);
}

static void await_disk(void)
{
    while (atomic_load_explicit(&held, memory_order_acquire)) {
        uint32_t key = fdl_event_prepare(&go);
        if (atomic_load_explicit(&held, memory_order_acquire))
            fdl_event_wait(&go, key, -1);
        else
            fdl_event_cancel(&go);
    }
}

WRAP(ssize_t, pwrite, int fd, const void *from, size_t n, off_t at)
{
    await_disk();
    /* Half of it is there then. */
    if (fails()) {
        (void)!__real_pwrite(fd, from, n / 2, at);
        errno = fail_errno;
        return -1;
    }
    return __real_pwrite(fd, from, n, at);
}

WRAP(ssize_t, getrandom, void *to, size_t n, unsigned flags)
{
    return fails() ? -1 : __real_getrandom(to, n, flags);
}

/* In the page cache is what is said to be. */
static bool is_cold;

WRAP(ssize_t, preadv2, int fd, const struct iovec *to, int n, off_t at,
     int flags)
{
    if (is_cold) {
        errno = EAGAIN;
        return -1;
    }
    assert_int_equal(flags, RWF_NOWAIT);
    return __real_preadv2(fd, to, n, at, 0); /* no file system is asked for */
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
    cache = fdl_chunk_cache_open(folder, budget, WAITS);
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

/* Chunks of an object, which begins as all of them do. */
static struct fdl_chunk_job part_of(const struct fdl_chunk_key *key,
                                    uint64_t size, uint64_t first, uint64_t n)
{
    return (struct fdl_chunk_job){
        .key = *key,
        .size = size,
        .offset = first * C,
        .bytes = FDL_MIN((first + n) * C, size) - first * C,
        .data = contents + first * C,
        .anew = damaged,
    };
}

static bool store(const char *name, uint64_t size, uint64_t first, uint64_t n)
{
    struct fdl_chunk_key key = key_of(name, "\"1\"");
    struct fdl_chunk_job part = part_of(&key, size, first, n);
    return fdl_chunk_cache_store(cache, &part);
}

/* In place of what is damaged. */
static bool store_anew(const struct fdl_chunk_key *key, uint64_t size)
{
    struct fdl_chunk_job part = part_of(key, size, 0, fdl_chunks_of(size));
    part.anew = true;
    return fdl_chunk_cache_store(cache, &part);
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
    bool good = there && fdl_chunk_file_read(&f, first, n, got, true) == 0;
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
    struct fdl_chunk_job part = part_of(&replaced, 3 * C, 0, 3);
    assert_true(fdl_chunk_cache_store(cache, &part));
    assert_true(has_of(&replaced, 3 * C, 0, 3));
    assert_false(has_of(&old, BYTES, 0, 9));
    assert_in_range(disk_bytes(), 4 * C, 7 * C); /* the old one is gone */
}

/* ---- What is known ------------------------------------------------------- */

static struct fdl_chunk_file find(const char *name)
{
    struct fdl_chunk_key key = key_of(name, "\"1\"");
    struct fdl_chunk_file f;
    assert_true(fdl_chunk_cache_find(cache, &key, &f));
    return f;
}

TEST_WITH(bytes_of_what_is_known, begin, end)
{
    char path[128];
    assert_true(store("d/a", BYTES, 0, 5001));
    struct fdl_chunk_file f = find("d/a");
    const uint64_t parts[][2] = {{0, 1},         {1234, 5678}, {0, BYTES},
                                 {BYTES - 7, 7}, {BYTES, 0},   {5, 0}};
    for (size_t i = 0; i < FDL_COUNT_OF(parts); i++)
        for (int wait = 0; wait < 2; wait++) {
            memset(got, 0, BYTES);
            assert_int_equal(
                fdl_chunk_file_fill(&f, parts[i][0], parts[i][1], got, wait),
                0);
            assert_memory_equal(got, contents + parts[i][0], parts[i][1]);
        }
    assert_int_equal(fdl_chunk_file_read(&f, 4990, 11, got, false), 0);
    assert_memory_equal(got, contents + 4990 * C, BYTES - 4990 * C);
    fdl_chunk_file_ahead(&f, 3, BYTES - 3);
    is_cold = true;
    assert_int_equal(fdl_chunk_file_fill(&f, 3, 9, got, false), EAGAIN);
    assert_int_equal(fdl_chunk_file_read(&f, 3, 9, got, false), EAGAIN);
    assert_int_equal(fdl_chunk_file_read(&f, 3, 9, got, true), 0);
    is_cold = false;
    path_of("d/a", path);
    assert_int_equal(truncate(path, 9 * (off_t)C), 0);
    assert_int_equal(fdl_chunk_file_fill(&f, 0, BYTES, got, false), EAGAIN);
    assert_int_equal(fdl_chunk_file_fill(&f, 0, BYTES, got, true), ENODATA);
    fdl_chunk_file_close(&f);
}

/* What takes the place of a file is another, though it has the same object. */
TEST_WITH(a_file_is_known_and_no_other, begin, end)
{
    char path[128];
    path_of("d/a", path);
    assert_true(store("d/a", BYTES, 0, 200) && store("d/b", BYTES, 0, 200));
    struct fdl_chunk_file a = find("d/a"), b = find("d/b");
    assert_true(fdl_chunk_cache_knows(cache, &a, 0, 200)); /* its own */
    assert_false(fdl_chunk_cache_knows(cache, &a, 0, 201));
    assert_true(store("d/a", BYTES, 190, 20)); /* some are as they were */
    assert_false(fdl_chunk_cache_knows(cache, &a, 200, 1));
    close_cache();
    open_cache(BUDGET);
    assert_false(fdl_chunk_cache_knows(cache, &a, 10, 100));
    fdl_chunk_cache_learn(cache, &a, 10, 100);
    assert_true(fdl_chunk_cache_knows(cache, &a, 10, 100));
    assert_false(fdl_chunk_cache_knows(cache, &a, 9, 2));
    assert_false(fdl_chunk_cache_knows(cache, &b, 10, 100));
    assert_false(fdl_chunk_file_is_removed(&a));
    assert_int_equal(remove(path), 0);
    assert_true(fdl_chunk_file_is_removed(&a));
    assert_true(store("d/a", BYTES, 0, 200));
    struct fdl_chunk_file again = find("d/a");
    assert_int_not_equal(again.number, a.number);
    assert_true(fdl_chunk_cache_knows(cache, &again, 10, 100));
    close_cache();
    assert_int_equal(remove(path), 0);
    struct fdl_chunk_cache *other = fdl_chunk_cache_open(folder, BUDGET, WAITS);
    open_cache(BUDGET);
    assert_true(store("d/a", BYTES, 0, 200));
    struct fdl_chunk_file anew = find("d/a");
    assert_true(fdl_chunk_cache_knows(cache, &anew, 10, 100));
    assert_false(fdl_chunk_cache_knows(cache, &again, 10, 100));
    assert_false(fdl_chunk_cache_knows(other, &anew, 10, 100));
    fdl_chunk_cache_close(other);
    fdl_chunk_file_close(&anew);
    fdl_chunk_file_close(&a);
    fdl_chunk_file_close(&b);
    fdl_chunk_file_close(&again);
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
    for (uint64_t at = 0; at < DATA + size; at += at < 96 ? 1 : 509) {
        remove(path);
        assert_true(store("d/a", size, 0, n));
        flip(path, at);
        found += has("d/a", size, 0, n);
        for (uint64_t i = 0; i < n; i++)
            (void)has("d/a", size, i, 1);
    }
    assert_in_range(found, 125, 145); /* where nothing is */
    assert_true(store_anew(&key, size));
    assert_true(has("d/a", size, 0, n));
}

TEST_WITH(a_file_that_is_cut_is_not_given, begin, end)
{
    char path[128];
    uint64_t n = 6, size = 5 * C + 9;
    path_of("d/a", path);
    for (uint64_t bytes = 0; bytes < DATA + size; bytes += 509) {
        remove(path);
        assert_true(store("d/a", size, 0, n));
        assert_int_equal(truncate(path, (off_t)bytes), 0);
        assert_false(has("d/a", size, 0, n));
        (void)has("d/a", size, 0, 2);
    }
    struct fdl_chunk_key key = key_of("d/a", "\"1\"");
    assert_true(store_anew(&key, size));
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
    open_cache(100 * 17 * C);
    assert_int_equal(fill("d", 60), 60);
    assert_true(fdl_chunk_cache_takes(cache));
    assert_in_range(fill("d", 200), 95, 100);
    assert_false(fdl_chunk_cache_takes(cache));
    fdl_chunk_cache_get(cache, &state);
    assert_true(state.full && !state.step);
    assert_true(disk_bytes() <= 100 * 17 * C + 2 * C);
    assert_true(has("d/0", 16 * C, 0, 16));
    assert_false(has("d/199", 16 * C, 0, 16));
    /* For the next run too, and for one that may take more. */
    close_cache();
    open_cache(100 * 17 * C);
    fdl_chunk_cache_use(cache, "https://host/d/0");
    assert_in_range(fill("d", 200), 95, 100);
    close_cache();
    open_cache(300 * 17 * C);
    assert_int_equal(fill("d", 200), 200);
}

/* The folder was not idle in between for those that are in use. */
TEST_WITH(earlier_jobs_make_room, begin, end)
{
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    char path[128];
    close_cache();
    open_cache(100 * 17 * C);
    assert_int_equal(fill("old", 40), 40);
    assert_int_equal(fill("used", 40), 40);
    close_cache();
    path_of("old/0", path);
    *strrchr(path, '/') = '\0';
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    open_cache(100 * 17 * C);
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
    cache = fdl_chunk_cache_open(folder, 100 * 17 * C, WAITS);
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
    open_cache(100 * 17 * C);
    assert_true(has("d/a", BYTES, 0, 50));
    assert_in_range(fill("e", 200), 90, 97);
    path_of("d/a", own);
    snprintf(path, sizeof(path), "%s.tmp.1.2", own);
    assert_true(access(path, F_OK) < 0);
}

/* As another process has made it that has the same number, in a container. */
TEST_WITH(files_of_a_namesake_are_not_touched, begin, end)
{
    char own[128], path[192], text[8];
    assert_true(store("d/a", BYTES, 0, 50)); /* the folder is there */
    path_of("d/b", own);
    for (int i = 0; i < 50; i++) {
        snprintf(path, sizeof(path), "%s.tmp.%d.%d", own, (int)getpid(), i);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs("theirs", f);
        fclose(f);
    }
    assert_true(store("d/b", BYTES, 0, 50));
    assert_true(has("d/b", BYTES, 0, 50));
    for (int i = 0; i < 50; i++) {
        snprintf(path, sizeof(path), "%s.tmp.%d.%d", own, (int)getpid(), i);
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        assert_non_null(fgets(text, sizeof(text), f));
        fclose(f);
        assert_string_equal(text, "theirs");
    }
}

/* Writes and reads what others do at the same time. */
static void work(void)
{
    char name[32];
    cache = fdl_chunk_cache_open(folder, BUDGET, WAITS);
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

/* ---- The thread that writes ---------------------------------------------- */

static void offer(const char *name, uint64_t size, uint64_t first, uint64_t n)
{
    struct fdl_chunk_key key = key_of(name, "\"1\"");
    struct fdl_chunk_job part = part_of(&key, size, first, n);
    fdl_chunk_cache_offer(cache, &part);
}

TEST_WITH(what_waits_is_written, begin, end)
{
    struct fdl_chunk_cache_state state;
    for (uint64_t i = 0; i < 50; i++)
        offer("d/a", BYTES, i * 20, 20);
    offer("d/b", 0, 0, 0);
    fdl_chunk_cache_get(cache, &state);
    assert_int_equal(state.errors, 0);
    assert_int_equal(state.skipped_bytes, 0);
    close_cache();
    open_cache(BUDGET);
    assert_true(has("d/a", BYTES, 0, 1000));
    assert_true(has("d/b", 0, 0, 0));
}

/* Nobody waits for it, and what it took it writes. */
TEST_WITH(a_slow_disk, begin, end)
{
    struct fdl_chunk_cache_state state;
    close_cache();
    open_cache(BUDGET);
    hold_writes();
    for (uint64_t i = 0; i < 250; i++)
        offer("d/a", BYTES, i * 20, 20);
    assert_in_range(fdl_chunk_cache_memory(cache), WAITS / 2, WAITS);
    fdl_chunk_cache_get(cache, &state);
    assert_in_range(state.skipped_bytes, 250 * 20 * C - WAITS,
                    250 * 20 * C - WAITS / 2);
    assert_true(!state.full && !state.step && state.errors == 0);
    let_writes_go();
    close_cache();
    open_cache(BUDGET);
    uint64_t in = 0;
    for (uint64_t i = 0; i < 250; i++)
        in += has("d/a", BYTES, i * 20, 20);
    assert_int_equal((250 - in) * 20 * C, state.skipped_bytes);
    for (uint64_t i = 0; i < 250; i++) { /* what was not comes the next time */
        while (fdl_chunk_cache_memory(cache) > WAITS / 2)
            sched_yield();
        offer("d/a", BYTES, i * 20, 20);
    }
    close_cache();
    open_cache(BUDGET);
    assert_true(has("d/a", BYTES, 0, 5000));
}

TEST_WITH(a_disk_that_is_full_for_the_thread, begin, end)
{
    struct fdl_chunk_cache_state state;
    fail_errno = ENOSPC;
    n_calls = 0;
    fail_at = 1;
    offer("d/a", BYTES, 0, 20);
    do {
        sched_yield();
        fdl_chunk_cache_get(cache, &state);
    } while (!state.step && fdl_chunk_cache_memory(cache) > 0);
    /* Of a file that cannot be opened just now nothing is made of. */
    for (int n = 2; n < 20 && !state.step; n++) {
        n_calls = 0;
        fail_at = n;
        offer("d/a", BYTES, (uint64_t)n * 20, 20);
        do {
            sched_yield();
            fdl_chunk_cache_get(cache, &state);
        } while (!state.step && fdl_chunk_cache_memory(cache) > 0);
    }
    assert_non_null(state.step);
    offer("d/a", BYTES, 4000, 20); /* it is not tried */
    assert_int_equal(fdl_chunk_cache_memory(cache), 0);
    close_cache();
    fail_at = 0;
    open_cache(BUDGET);
    assert_false(has("d/a", BYTES, 4000, 20));
}

/* Stores until it is killed, and says how far it is. */
static void store_for_ever(int say)
{
    char name[32];
    cache = fdl_chunk_cache_open(folder, BUDGET, WAITS);
    for (uint32_t i = 0; cache; i++) {
        snprintf(name, sizeof(name), "d/%u", i % 7);
        damaged = i % 11 == 0;
        offer(name, BYTES, i * 7919 % 4000, 30);
        if (write(say, "", 1) != 1)
            _exit(1);
    }
}

/* `has` compares what is found. */
TEST_WITH(killed_at_any_time, begin, end)
{
    struct dice dice = {test_seed()};
    char name[32];
    uint64_t found = 0;
    close_cache();
    for (int round = 0; round < 20; round++) {
        int status, ends[2];
        char byte;
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            store_for_ever(ends[1]);
        for (uint32_t n = 1 + dice_below(&dice, 200); n > 0; n--)
            assert_int_equal(read(ends[0], &byte, 1), 1);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        close(ends[0]);
        close(ends[1]);
        open_cache(BUDGET);
        for (uint32_t i = 0; i < 210; i++) {
            snprintf(name, sizeof(name), "d/%u", i % 7);
            found += has(name, BYTES, i * 7919 % 4000, 30);
        }
        close_cache();
    }
    open_cache(BUDGET);
    assert_true(found > 0);
    assert_true(disk_bytes() < BUDGET);
    for (uint32_t i = 0; i < 7; i++) {
        snprintf(name, sizeof(name), "d/%u", i);
        (void)has(name, BYTES, 0, 1);
        assert_true(store(name, BYTES, 0, 100) && has(name, BYTES, 0, 100));
    }
}

/* ---- What fails ---------------------------------------------------------- */

TEST(a_folder_that_cannot_be)
{
    struct fdl_chunk_cache_state state;
    contents = calloc(1, 3 * C);
    cache = fdl_chunk_cache_open("/proc/none/below", BUDGET, WAITS);
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
