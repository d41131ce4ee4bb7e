/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index cache: a second start lists no shard, one that changed is listed
 * alone, one that changed though its file system says otherwise makes all be
 * listed, and whatever is wrong with the file or its folder costs nothing but
 * the listing.
 */
#include "loader/dataset/dataset.h"
#include "loader/index/index_cache.h"
#include "loader/index/listing_pack.h"
#include "test.h"
#include "tests/remove_tree.h"
#include "tests/wrap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHARDS    3u
#define PER_SHARD 4000u

static char folder[64], cache[96], spec[160];
static int64_t ahead_s = 60;   /* of this clock: the shards are old */
static _Atomic uint32_t reads; /* of shards */

static enum { NOTHING, OPEN, WRITE, SHORT_WRITE, FSYNC, CLOSE, RENAME } fails;

static bool is_cache(int fd)
{
    char link[64], name[128] = "";
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return readlink(link, name, sizeof(name) - 1) > 0 &&
           strncmp(name, cache, strlen(cache)) == 0;
}

static int failed(int error)
{
    errno = error;
    return -1;
}

WRAP(int, clock_gettime, clockid_t clock, struct timespec *out)
{
    int result = __real_clock_gettime(clock, out);
    out->tv_sec += clock == CLOCK_REALTIME ? ahead_s : 0;
    return result;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, unsigned mode);
int __wrap_open(const char *path, int flags, unsigned mode)
{
    bool ours = strncmp(path, cache, strlen(cache)) == 0;
    if (ours && fails == OPEN)
        return failed(EACCES);
    return __real_open(path, flags, mode);
}

WRAP(ssize_t, pread, int fd, void *data, size_t n, off_t at)
{
    reads += !is_cache(fd);
    return __real_pread(fd, data, n, at);
}

/* A file system that does not see changes. */
static struct stat frozen[SHARDS];
static bool freezes;

static void freeze(struct stat *st)
{
    for (uint32_t i = 0; freezes && i < SHARDS; i++)
        if (frozen[i].st_ino == st->st_ino)
            *st = frozen[i];
}

WRAP(int, stat, const char *path, struct stat *st)
{
    int result = __real_stat(path, st);
    freeze(st);
    return result;
}

WRAP(int, fstat, int fd, struct stat *st)
{
    int result = __real_fstat(fd, st);
    freeze(st);
    return result;
}

WRAP(ssize_t, write, int fd, const void *data, size_t n)
{
    if (fails == WRITE && is_cache(fd))
        return failed(ENOSPC);
    return __real_write(fd, data,
                        fails == SHORT_WRITE && n > 7 && is_cache(fd) ? 7 : n);
}

WRAP(int, fsync, int fd)
{
    return fails == FSYNC && is_cache(fd) ? failed(EIO) : __real_fsync(fd);
}

WRAP(int, close, int fd)
{
    bool fail = fails == CLOSE && is_cache(fd);
    int result = __real_close(fd);
    return fail ? failed(EDQUOT) : result;
}

WRAP(int, rename, const char *from, const char *to)
{
    return fails == RENAME ? failed(EACCES) : __real_rename(from, to);
}

/* ---- Shards -------------------------------------------------------------- */

static const char *shard(uint32_t i)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%u.tfrecord", folder, i);
    return path;
}

/* Samples of one byte, all with this label. */
static void write_shard(uint32_t i, uint32_t n, uint8_t label)
{
    static const char message[] =
        "\x0a\x34\x0a\x16\x0a\x0dimage/encoded\x12\x05\x0a\x03\x0a\x01x"
        "\x0a\x1a\x0a\x11image/class/label\x12\x05\x1a\x03\x0a\x01";
    uint8_t record[12 + 54 + 4] = {54};
    uint32_t crc = fdl_sum_of(FDL_SUM_MASKED, record, 8);
    memcpy(record + 8, &crc, 4);
    memcpy(record + 12, message, 53);
    record[12 + 53] = label;
    FILE *f = fopen(shard(i), "r+");
    f = f ? f : fopen(shard(i), "w");
    assert_non_null(f);
    for (uint32_t k = 0; k < n; k++)
        assert_int_equal(fwrite(record, sizeof(record), 1, f), 1);
    assert_int_equal(fclose(f), 0);
}

static uint32_t files(void)
{
    uint32_t n = 0;
    DIR *d = opendir(cache);
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

static void setup(void)
{
    snprintf(folder, sizeof(folder), "/tmp/feedline-cache-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(cache, sizeof(cache), "%s/a/cache", folder);
    snprintf(spec, sizeof(spec), "tfrecord:%s", folder);
    setenv("FEEDLINE_CACHE_DIR", cache, 1);
    for (uint32_t i = 0; i < SHARDS; i++)
        write_shard(i, PER_SHARD, (uint8_t)i);
}

static void teardown(void)
{
    assert_int_equal(remove_tree(folder), 0);
}

/* Of a listing more, of a look at the contents a few. */
#define READS_OF_LISTING 68u

/* Labels are those of the shards; returns how many shards were listed. */
static uint32_t open_with(const uint8_t labels[SHARDS])
{
    feedline_dataset *ds = NULL;
    reads = 0;
    assert_int_equal(fdl_dataset_open_uri(spec, &ds), FEEDLINE_OK);
    assert_int_equal(ds->count, SHARDS * PER_SHARD);
    for (uint64_t i = 0; i < ds->count; i++)
        assert_int_equal(fdl_dataset_label(ds, i), labels[i / PER_SHARD]);
    fdl_dataset_unref(ds);
    assert_string_equal(fdl_last_error(), "");
    return reads / READS_OF_LISTING;
}

static const uint8_t plain[SHARDS] = {0, 1, 2};

TEST_WITH(second_start_lists_no_shard, setup, teardown)
{
    assert_int_equal(open_with(plain), SHARDS);
    assert_int_equal(files(), 1);
    assert_int_equal(open_with(plain), 0);
    setenv("FEEDLINE_CACHE_DIR", "off", 1);
    assert_int_equal(open_with(plain), SHARDS);
}

TEST_WITH(a_changed_shard_is_listed_alone, setup, teardown)
{
    static const uint8_t changed[SHARDS] = {0, 9, 2};
    struct timespec times[2];
    struct stat st;
    open_with(plain);
    /* In place, of the same size, and with its old time. */
    assert_int_equal(stat(shard(1), &st), 0);
    times[0] = st.st_atim;
    times[1] = st.st_mtim;
    write_shard(1, PER_SHARD, 9);
    assert_int_equal(utimensat(AT_FDCWD, shard(1), times, 0), 0);
    assert_int_equal(open_with(changed), 1);
    assert_int_equal(open_with(changed), 0);
}

TEST_WITH(contents_that_changed_alone_are_seen, setup, teardown)
{
    static const uint8_t changed[SHARDS] = {0, 9, 2};
    for (uint32_t i = 0; i < SHARDS; i++)
        assert_int_equal(__real_stat(shard(i), &frozen[i]), 0);
    freezes = true;
    open_with(plain);
    assert_int_equal(open_with(plain), 0);
    write_shard(1, PER_SHARD, 9);
    /* What it says of the others is worth as little. */
    assert_int_equal(open_with(changed), SHARDS);
    assert_int_equal(open_with(changed), 0);
    freezes = false;
}

TEST_WITH(few_of_many_shards_are_looked_at, setup, teardown)
{
    enum { MANY = 60, EACH = 200 };
    feedline_dataset *ds;
    for (uint32_t i = 0; i < MANY; i++) {
        unlink(shard(i));
        write_shard(i, EACH, 1);
    }
    for (uint32_t i = 0; i < 2; i++) {
        reads = 0;
        assert_int_equal(fdl_dataset_open_uri(spec, &ds), FEEDLINE_OK);
        assert_int_equal(ds->count, MANY * EACH);
        fdl_dataset_unref(ds);
    }
    assert_in_range(reads, 1, 64);
}

TEST_WITH(changes_within_a_tick_are_seen, setup, teardown)
{
    /* Long ago: a slow machine lets the shards age meanwhile. */
    ahead_s = -60;
    open_with(plain);
    assert_int_equal(files(), 0);
    ahead_s = 60;
    open_with(plain);
    assert_int_equal(files(), 1);
    ahead_s = -60; /* whatever its stamp, it is too young to be believed */
    assert_int_equal(open_with(plain), SHARDS);
}

TEST_WITH(shards_that_come_and_go, setup, teardown)
{
    feedline_dataset *ds;
    open_with(plain);
    unlink(shard(1));
    write_shard(3, PER_SHARD, 7);
    reads = 0;
    assert_int_equal(fdl_dataset_open_uri(spec, &ds), FEEDLINE_OK);
    assert_int_equal(reads / READS_OF_LISTING, 1);
    assert_int_equal(fdl_dataset_label(ds, PER_SHARD), 2);
    assert_int_equal(fdl_dataset_label(ds, 2 * PER_SHARD), 7);
    fdl_dataset_unref(ds);
}

TEST_WITH(small_sets_leave_nothing, setup, teardown)
{
    feedline_dataset *ds;
    snprintf(spec, sizeof(spec), "tfrecord:%s", shard(0));
    assert_int_equal(fdl_dataset_open_uri(spec, &ds), FEEDLINE_OK);
    fdl_dataset_unref(ds);
    assert_int_equal(files(), 0);
}

TEST_WITH(files_that_fail_cost_nothing_else, setup, teardown)
{
    for (fails = OPEN; fails <= RENAME; fails++) {
        bool kept = fails == SHORT_WRITE;
        assert_int_equal(open_with(plain), SHARDS);
        assert_int_equal(files(), kept ? 1 : 0);
        if (kept) {
            assert_int_equal(open_with(plain), 0);
            assert_int_equal(system("rm -r $FEEDLINE_CACHE_DIR"), 0);
        }
    }
    fails = NOTHING;
    /* A file where the folder should be. */
    snprintf(cache, sizeof(cache), "%s/file", folder);
    fclose(fopen(cache, "w"));
    setenv("FEEDLINE_CACHE_DIR", cache, 1);
    assert_int_equal(open_with(plain), SHARDS);
}

/* ---- The file ------------------------------------------------------------ */

static struct fdl_stamp stamp = {1, 2, 3, 4, 5};

static void keep_two(const struct fdl_cache *c, uint8_t byte)
{
    static uint8_t data[600000];
    memset(data, byte, sizeof(data));
    struct fdl_cache_writer *w = fdl_cache_begin(c);
    assert_non_null(w);
    fdl_cache_add(w, "b", &stamp, data, byte == 'x' ? 3 : sizeof(data));
    fdl_cache_add(w, "a", &stamp, "", 0);
    fdl_cache_end(w);
}

TEST_WITH(an_entry_is_found_by_path_and_stamp, setup, teardown)
{
    static struct fdl_stamp others[] = {{0, 2, 3, 4, 5}, {1, 0, 3, 4, 5},
                                        {1, 2, 0, 4, 5}, {1, 2, 3, 5, 0},
                                        {1, 2, 3, 4, 6}, {0, 0, 0, 0, 0}};
    struct fdl_stamp unseen = {1, 2, 3, 4, 0};
    struct fdl_cache c;
    uint64_t bytes = 99;
    fdl_cache_open(&c, "kind", "/spec");
    keep_two(&c, 'x');
    fdl_cache_close(&c);
    fdl_cache_open(&c, "kind", "/spec");
    assert_int_equal(c.n, 2);
    assert_memory_equal(fdl_cache_find(&c, "b", &stamp, &bytes), "xxx", 3);
    assert_int_equal(bytes, 3);
    assert_non_null(fdl_cache_find(&c, "a", &stamp, &bytes));
    assert_int_equal(bytes, 0);
    assert_non_null(fdl_cache_find(&c, "a", &unseen, &bytes));
    assert_int_equal(unseen.contents, 5);
    assert_null(fdl_cache_find(&c, "c", &stamp, &bytes));
    for (size_t i = 0; i < FDL_COUNT_OF(others); i++)
        assert_null(fdl_cache_find(&c, "a", &others[i], &bytes));

    /* The file of one data set, renamed to that of another, is refused. */
    struct fdl_cache other;
    fdl_cache_open(&other, "kind", "/spec2");
    assert_string_not_equal(other.path, c.path);
    assert_int_equal(__real_rename(c.path, other.path), 0);
    fdl_cache_close(&other);
    fdl_cache_open(&other, "kind", "/spec2");
    assert_int_equal(other.n, 0);
    fdl_cache_close(&other);
    fdl_cache_close(&c);
}

TEST_WITH(damage_anywhere_is_seen, setup, teardown)
{
    struct fdl_cache c, again;
    uint8_t file[4096];
    fdl_cache_open(&c, "kind", "/spec");
    keep_two(&c, 'x');
    int fd = __real_open(c.path, O_RDWR);
    ssize_t n = read(fd, file, sizeof(file));
    assert_true(n > 100);
    for (ssize_t i = 0; i < n; i++) {
        uint8_t byte = file[i] ^ 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, i), 1);
        fdl_cache_open(&again, "kind", "/spec");
        assert_int_equal(again.n, 0);
        fdl_cache_close(&again);
        assert_int_equal(pwrite(fd, &file[i], 1, i), 1);
    }
    for (ssize_t i = n; i-- > 0;) {
        assert_int_equal(ftruncate(fd, i), 0);
        fdl_cache_open(&again, "kind", "/spec");
        assert_int_equal(again.n, 0);
        fdl_cache_close(&again);
    }
    close(fd);
    fdl_cache_close(&c);
}

TEST_WITH(two_that_write_at_once_leave_one_sound_file, setup, teardown)
{
    struct fdl_cache c;
    uint64_t bytes;
    fdl_cache_open(&c, "kind", "/spec");
    keep_two(&c, 'p');
    pid_t children[2];
    for (int k = 0; k < 2; k++) {
        children[k] = fork();
        if (children[k] == 0) {
            for (int i = 0; i < 20; i++)
                keep_two(&c, (uint8_t)('p' + k));
            _exit(0);
        }
    }
    for (int i = 0; i < 40; i++) {
        fdl_cache_close(&c);
        fdl_cache_open(&c, "kind", "/spec");
        const uint8_t *data = fdl_cache_find(&c, "b", &stamp, &bytes);
        assert_non_null(data);
        assert_int_equal(data[0], data[bytes - 1]);
    }
    for (int k = 0; k < 2; k++)
        assert_int_equal(waitpid(children[k], NULL, 0), children[k]);
    fdl_cache_close(&c);
    assert_int_equal(files(), 1);
}

static bool is_in(const char *kind_spec, const char *beginning)
{
    struct fdl_cache c;
    fdl_cache_open(&c, "kind", kind_spec);
    bool is = c.path && strncmp(c.path, beginning, strlen(beginning)) == 0;
    fdl_cache_close(&c);
    return is;
}

TEST(where_it_is)
{
    setenv("HOME", "/no/home", 1);
    setenv("XDG_CACHE_HOME", "/no/xdg", 1);
    setenv("FEEDLINE_CACHE_DIR", "/no/own", 1);
    assert_true(is_in("/spec", "/no/own/"));
    setenv("FEEDLINE_CACHE_DIR", "", 1);
    assert_true(is_in("/spec", "/no/xdg/feedline/"));
    setenv("XDG_CACHE_HOME", "relative", 1);
    assert_true(is_in("/spec", "/no/home/.cache/feedline/"));
    unsetenv("HOME");
    assert_false(is_in("/spec", ""));

    /* Relative names are another data set's in another folder. */
    struct fdl_cache here, there;
    setenv("HOME", "/no/home", 1);
    fdl_cache_open(&here, "kind", "/a::b");
    assert_int_equal(chdir("/"), 0);
    fdl_cache_open(&there, "kind", "/a::b");
    assert_string_not_equal(here.path, there.path);
    fdl_cache_close(&here);
    fdl_cache_close(&there);
}

/* ---- Listings ------------------------------------------------------------ */

TEST(a_listing_comes_back)
{
    struct fdl_field_set set = {.n = 0};
    assert_int_equal(fdl_field_set_parse(&set, "a,b"), 0);
    struct fdl_listing l = {.fields = &set}, back = {.fields = &set};
    struct fdl_listing other = {0};
    uint8_t *data;
    uint64_t bytes;
    for (uint32_t i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%u", i);
        if (i == 3)
            name[0] = '\0';
        assert_int_equal(fdl_listing_add(&l, name, 10 * i, i), 0);
        assert_int_equal(fdl_listing_class(&l, i % 2 ? "odd" : "even"), 0);
        assert_int_equal(
            fdl_listing_part(&l, 0, FEEDLINE_FIELD_TEXT, 40 - i, i), 0);
        fdl_listing_part_sum(&l, 0, (struct fdl_sum){FDL_SUM_CRC32, i});
        if (i > 0)
            fdl_listing_sum(&l, (struct fdl_sum){FDL_SUM_MASKED, ~i},
                            10 * i - 2, 11 * i + (i < 4));
        if (i == 2)
            assert_int_equal(
                fdl_listing_cell(&l, 1, FEEDLINE_FIELD_INT, UINT64_MAX), 0);
    }
    fdl_listing_odd(&l, "no label", "x");
    fdl_listing_odd(&l, "no label", "y");
    assert_int_equal(fdl_listing_pack(&l, &data, &bytes), 0);
    assert_true(fdl_listing_unpack(data, bytes, 44, &back));
    assert_int_equal(back.count, 5);
    assert_int_equal(back.labelled, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_memory_equal(&back.samples[i].offset, &l.samples[i].offset, 8);
        assert_int_equal(back.samples[i].length, i);
        assert_memory_equal(&back.samples[i].sum, &l.samples[i].sum,
                            sizeof(l.samples[i].sum));
        assert_string_equal(back.names.text + back.samples[i].name_at,
                            l.names.text + l.samples[i].name_at);
        assert_string_equal(fdl_string_list_at(&back.classes.names,
                                               (uint64_t)back.samples[i].label),
                            i % 2 ? "odd" : "even");
    }
    assert_memory_equal(back.cells, l.cells, 5 * 2 * sizeof(*l.cells));
    assert_int_equal(back.kinds[0], FEEDLINE_FIELD_TEXT);
    assert_int_equal(back.kinds[1], FEEDLINE_FIELD_INT);
    assert_int_equal(back.samples[0].sum.sum.kind, FDL_SUM_NONE);
    assert_int_equal(back.samples[2].sum.sum.value, ~2u);
    assert_int_equal(back.samples[2].sum.before, 2);
    assert_int_equal(back.samples[2].sum.after, 1);
    assert_false(fdl_listing_unpack(data, bytes, 44, &other)); /* no fields */
    assert_int_equal(back.n_oddities, 1);
    assert_int_equal(back.oddities[0].count, 2);
    assert_string_equal(back.oddities[0].what, "no label");
    assert_string_equal(back.oddities[0].first, "x");
    fdl_listing_free(&back);
    back.path = "shard"; /* which is listed anew */
    assert_false(fdl_listing_unpack(data, bytes, 43, &back)); /* smaller */
    for (uint64_t n = 0; n < bytes; n++)
        assert_false(fdl_listing_unpack(data, n, 44, &back));
    assert_string_equal(back.path, "shard");
    free(data);
    fdl_listing_free(&l);
    fdl_field_set_free(&set);
}

TEST_MAIN("index_cache")
