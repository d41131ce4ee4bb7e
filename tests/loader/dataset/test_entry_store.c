/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JPEG index: what one epoch, process or run notes, the next one uses, for
 * the same pixels; and whatever is wrong with its file costs nothing but that.
 */
#include "loader/dataset/entry_keeper.h"
#include "loader/dataset/entry_store.h"
#include "test.h"
#include "tests/loader/fixture.h"
#include "tests/wrap.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAMPLES 40u

FIXTURE_IMAGES(SAMPLES)

static char cache[] = "/tmp/feedline-entries-XXXXXX";

static void begin_cache(void)
{
    strcpy(cache, "/tmp/feedline-entries-XXXXXX");
    assert_non_null(mkdtemp(cache));
    setenv("FEEDLINE_CACHE_DIR", cache, 1);
}

/* The one file in it; false: there is none. */
static bool find_file(char *path, size_t size)
{
    DIR *dir = opendir(cache);
    struct dirent *entry;
    bool found = false;
    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] != '.') {
            assert_false(found);
            snprintf(path, size, "%s/%s", cache, entry->d_name);
            found = true;
        }
    }
    closedir(dir);
    return found;
}

static void end_cache(void)
{
    char path[512];
    if (find_file(path, sizeof(path)))
        assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(cache), 0);
    setenv("FEEDLINE_CACHE_DIR", "off", 1);
}

/* ---- The store ----------------------------------------------------------- */

static struct fdl_entry_notes notes;

/* Entries [first, first + n) of 20 of the file `hash`. */
static void put(struct fdl_entry_store *s, uint64_t index, uint64_t hash,
                uint32_t first, uint32_t n)
{
    fdl_entry_notes_begin(&notes, NULL, true);
    notes.valid = true;
    notes.hash = hash;
    notes.capacity = 20;
    notes.first = first;
    for (notes.n = 0; notes.n < n; notes.n++)
        notes.at[notes.n] = hash + first + notes.n;
    fdl_entry_store_put(s, index, &notes);
}

/* As put made them. Returns how many. */
static uint32_t count(struct fdl_entry_store *s, uint64_t index, uint64_t hash)
{
    const struct fdl_entries *e = fdl_entry_store_get(s, index);
    if (!e || e->hash != hash)
        return 0;
    uint32_t n = fdl_entries_count(e);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(e->at[i], hash + i);
    return n;
}

static struct fdl_entry_store *open_store(uint64_t fingerprint)
{
    struct fdl_entry_store *s =
        fdl_entry_store_create(SAMPLES, 1u << 16, fingerprint, true);
    assert_non_null(s);
    return s;
}

TEST(entries_grow_and_are_replaced)
{
    setenv("FEEDLINE_CACHE_DIR", "off", 1);
    struct fdl_entry_store *s = open_store(1);
    assert_null(fdl_entry_store_get(s, 3));
    put(s, 3, 100, 0, 5);
    put(s, 3, 100, 0, 2); /* is known */
    assert_int_equal(count(s, 3, 100), 5);
    put(s, 3, 100, 7, 2); /* has a gap */
    assert_int_equal(count(s, 3, 100), 5);
    put(s, 3, 100, 4, 6);
    put(s, 3, 100, 10, 11); /* more than there can be */
    assert_int_equal(count(s, 3, 100), 10);
    put(s, 3, 200, 0, 1); /* other bytes */
    assert_int_equal(count(s, 3, 200), 1);
    notes.valid = false;
    fdl_entry_store_put(s, 4, &notes);
    assert_null(fdl_entry_store_get(s, 4));
    fdl_entry_store_destroy(s);
}

TEST(the_budget_is_a_limit)
{
    struct fdl_entry_store *s = fdl_entry_store_create(SAMPLES, 1000, 1, false);
    uint32_t known = 0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        put(s, i, 100, 0, 20);
        known += count(s, i, 100) == 20;
    }
    assert_int_equal(known, 1000 / (16 + 20 * 8));
    assert_int_equal(fdl_entry_store_memory(s), 1000);
    fdl_entry_store_destroy(s);
}

static void *put_all(void *store)
{
    for (uint32_t round = 0; round < 20; round++)
        for (uint32_t i = 0; i < SAMPLES; i++) {
            struct fdl_entry_notes *own = calloc(1, sizeof(*own));
            *own = (struct fdl_entry_notes){.valid = true,
                                            .hash = 100 * (i + 1),
                                            .capacity = 20,
                                            .first = round,
                                            .n = 1};
            own->at[0] = own->hash + round;
            fdl_entry_store_put(store, i, own);
            count(store, i, own->hash);
            free(own);
        }
    return NULL;
}

TEST(several_threads_note_the_same)
{
    struct fdl_entry_store *s = open_store(1);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, put_all, s), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < SAMPLES; i++)
        assert_true(count(s, i, 100 * (i + 1)) > 0);
    fdl_entry_store_destroy(s);
}

/* ---- Its file ------------------------------------------------------------ */

static void learn(uint64_t fingerprint)
{
    struct fdl_entry_store *s = open_store(fingerprint);
    for (uint32_t i = 0; i < SAMPLES; i += 2)
        put(s, i, 1000 + i, 0, i % 20 + 1);
    fdl_entry_store_destroy(s);
}

TEST(the_next_process_has_them)
{
    begin_cache();
    learn(1);
    struct fdl_entry_store *s = open_store(1), *other = open_store(1);
    for (uint32_t i = 0; i < SAMPLES; i++)
        assert_int_equal(count(s, i, 1000 + i), i % 2 ? 0 : i % 20 + 1);
    put(s, 0, 1000, 1, 4);      /* goes on where the file ends */
    put(other, 0, 1000, 1, 9);  /* a rank that got further */
    put(other, 1, 1001, 0, 10); /* and had other samples */
    assert_int_equal(count(s, 0, 1000), 5);
    for (uint32_t i = 2; i < SAMPLES; i++)
        put(s, i, 5000, 0, 1); /* so that it is worth a new file */
    fdl_entry_store_destroy(other);
    fdl_entry_store_destroy(s);
    s = open_store(1);
    assert_true(fdl_entry_store_is_old(s));
    assert_int_equal(count(s, 0, 1000), 10);
    assert_int_equal(count(s, 1, 1001), 10);
    assert_int_equal(count(s, 2, 5000), 1);
    fdl_entry_store_destroy(s);
    end_cache();
}

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    uint8_t *data = malloc(1u << 16);
    *size = fread(data, 1, 1u << 16, f);
    fclose(f);
    return data;
}

static void write_file(const char *path, const uint8_t *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    fclose(f);
}

/* What is found is as it was written, whatever is not. */
static bool check_file(void)
{
    struct fdl_entry_store *s = open_store(1);
    bool is_old = fdl_entry_store_is_old(s);
    for (uint32_t i = 0; i < SAMPLES; i++)
        count(s, i, 1000 + i);
    fdl_entry_store_destroy(s);
    return is_old;
}

/* ---- Two that end together ----------------------------------------------- */

/* The first one has written its file, but for the name, and waits until the
 * second one has done the same, or waits for its turn. */
static struct fdl_entry_store *second;
static _Thread_local bool is_second;
static pthread_t thread;
static _Atomic bool met;

static void *end_second(void *arg)
{
    (void)arg;
    is_second = true;
    fdl_entry_store_destroy(second);
    return NULL;
}

WRAP(int, fsync, int fd)
{
    if (is_second) {
        met = true;
    } else if (second) {
        assert_int_equal(pthread_create(&thread, NULL, end_second, NULL), 0);
        while (!met)
            sched_yield();
    }
    return __real_fsync(fd);
}

WRAP(int, flock, int fd, int operation)
{
    int result = __real_flock(fd, operation);
    if (is_second && result < 0)
        met = true;
    return result;
}

TEST(who_ends_at_once_takes_nothing_away)
{
    begin_cache();
    struct fdl_entry_store *first = open_store(9);
    second = open_store(9);
    put(first, 1, 100, 0, 5);
    put(second, 2, 200, 0, 7);
    fdl_entry_store_destroy(first);
    assert_int_equal(pthread_join(thread, NULL), 0);
    second = NULL;
    struct fdl_entry_store *next = open_store(9);
    assert_int_equal(count(next, 1, 100), 5);
    assert_int_equal(count(next, 2, 200), 7);
    fdl_entry_store_destroy(next);
    end_cache();
}

/* ---- While others decode ------------------------------------------------- */

static struct fdl_entry_store *shared;
static _Atomic bool decodes;

/* Entries come one by one, and the bytes of every third sample change. */
static void *decode(void *arg)
{
    struct fdl_entry_notes *own = calloc(1, sizeof(*own));
    (void)arg;
    for (uint32_t n = 0; atomic_load(&decodes); n++) {
        uint32_t i = n % SAMPLES, round = n / SAMPLES;
        fdl_entry_notes_begin(own, NULL, true);
        own->valid = true;
        own->hash = 1000 + i + (i % 3 ? 0 : round / 20 * 100000);
        own->capacity = 20;
        own->first = round % 20;
        own->n = 1;
        own->at[0] = own->hash + own->first;
        fdl_entry_store_put(shared, i, own);
    }
    free(own);
    return NULL;
}

/* What is in the file is of the bytes whose hash it has. */
static uint32_t count_file(void)
{
    struct fdl_entry_store *s = open_store(4);
    uint32_t found = 0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const struct fdl_entries *e = fdl_entry_store_get(s, i);
        found += e ? count(s, i, e->hash) : 0;
    }
    fdl_entry_store_destroy(s);
    return found;
}

TEST(it_is_kept_while_others_decode)
{
    pthread_t threads[2];
    uint32_t found = 0;
    begin_cache();
    shared = fdl_entry_store_create(SAMPLES, (uint64_t)64 << 20, 4, true);
    assert_non_null(shared);
    atomic_store(&decodes, true);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, decode, NULL), 0);
    for (int i = 0; i < 50 || found == 0; i++) { /* until they have begun */
        fdl_entry_store_keep(shared);
        found += count_file();
        sched_yield();
    }
    atomic_store(&decodes, false);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    fdl_entry_store_destroy(shared);
    assert_true(count_file() > 0);
    end_cache();
}

/* It learns until it is killed, and says when the file is there. */
static void learn_for_ever(int say)
{
    char path[512];
    struct fdl_entry_keeper keeper = {0};
    struct fdl_entry_store *s = open_store(5);
    for (uint32_t i = 0; i < SAMPLES; i++)
        put(s, i, 1000 + i, 0, 7);
    fdl_entry_keeper_start(&keeper, s, 1000000);
    while (!find_file(path, sizeof(path)) || strstr(path, ".tmp."))
        usleep(1000);
    if (write(say, "", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

TEST(who_is_killed_has_kept_what_it_learned)
{
    int ends[2], status;
    char byte, path[512];
    if (!TEST_FORKS_SAFELY)
        test_skip("no threads in a child of fork() under this sanitizer");
    begin_cache();
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        learn_for_ever(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    struct fdl_entry_store *s = open_store(5);
    for (uint32_t i = 0; i < SAMPLES; i++)
        assert_int_equal(count(s, i, 1000 + i), 7);
    fdl_entry_store_destroy(s);
    assert_true(find_file(path, sizeof(path))); /* the one */
    end_cache();
}

/* Twice the same is not written, and what is learned later is, at the end. */
TEST(what_is_kept_is_not_kept_again)
{
    char path[512];
    struct stat first, again;
    begin_cache();
    struct fdl_entry_store *s = open_store(6);
    fdl_entry_store_keep(s);
    assert_false(find_file(path, sizeof(path)));
    put(s, 1, 100, 0, 20);
    fdl_entry_store_keep(s);
    assert_true(find_file(path, sizeof(path)));
    assert_int_equal(stat(path, &first), 0);
    fdl_entry_store_keep(s);
    assert_int_equal(stat(path, &again), 0);
    assert_int_equal(again.st_ino, first.st_ino);
    put(s, 2, 200, 0, 1);
    fdl_entry_store_destroy(s);
    s = open_store(6);
    assert_int_equal(count(s, 1, 100), 20);
    assert_int_equal(count(s, 2, 200), 1);
    fdl_entry_store_destroy(s);
    end_cache();
}

TEST(damaged_files_are_not_used)
{
    char path[512];
    size_t size;
    begin_cache();
    learn(1);
    assert_true(find_file(path, sizeof(path)));
    uint8_t *data = read_file(path, &size);
    const size_t table = 24 + 8 * SAMPLES + 8;
    for (size_t i = 0; i < 50; i++) {
        size_t n = size * i / 50;
        write_file(path, data, n);
        assert_int_equal(check_file(), n >= table);
    }
    for (size_t i = 0; i < 50; i++) {
        size_t at = size * i / 50;
        data[at] ^= 0x41;
        write_file(path, data, size);
        assert_int_equal(check_file(), at >= table);
        data[at] ^= 0x41;
    }
    write_file(path, data, size);
    assert_true(check_file());
    learn(2); /* has another file */
    assert_int_equal(unlink(path), 0);
    free(data);
    end_cache();
}

/* ---- Loaders ------------------------------------------------------------- */

/* Hash of `epochs` epochs; and what the index did in them. */
static uint64_t run(const char *options, uint32_t epochs,
                    struct feedline_stats *stats)
{
    SCOPED_LOADER l = fixture_open(images.files, options);
    uint64_t hash = fixture_run(l, epochs);
    *stats = fixture_stats(l);
    return hash;
}

TEST_WITH(later_epochs_and_runs_enter, setup, teardown)
{
    struct feedline_stats stats;
    begin_cache();
    uint64_t plain = run("jpeg_index=false shuffle=true", 3, &stats);
    assert_int_equal(stats.jpeg_mcus + stats.jpeg_index_bytes, 0);
    /* One worker, and no fourth epoch, of which some is made beforehand. */
    const char *exact = "shuffle=true epochs=3 workers=1";
    assert_true(run(exact, 3, &stats) == plain);
    if (stats.jpeg_mcus == 0)
        test_skip("the images go another way here");
    assert_true(stats.jpeg_mcus_jumped > 0);
    uint64_t jumped = stats.jpeg_mcus_jumped;
    run("shuffle=true epochs=1", 1, &stats);
    assert_int_equal(stats.jpeg_mcus, 0); /* it would not come back */

    exact = "shuffle=true epochs=3 workers=1 jpeg_index=true";
    assert_true(run(exact, 3, &stats) == plain);
    assert_true(stats.jpeg_mcus_jumped == jumped);
    assert_true(run(exact, 3, &stats) == plain);
    assert_true(stats.jpeg_mcus_jumped > jumped); /* in the first, too */
    assert_true(run("shuffle=true jpeg_index=true workers=3", 3, &stats) ==
                plain);
    jumped = stats.jpeg_mcus_jumped;
    run("shuffle=true jpeg_index=true world=2 rank=1", 1, &stats);
    assert_true(stats.jpeg_mcus_jumped > 0);
    end_cache();
}

TEST_MAIN("entry_store")
