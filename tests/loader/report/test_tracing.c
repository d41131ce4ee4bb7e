/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace of a loader: what the schedule says is in it, and the stream is the
 * same with it as without, whatever becomes of its file. The format is checked
 * in trace_files.py.
 */
#include "base/clock.h"
#include "base/log.h"
#include "tests/loader/fixture.h"

#include <feedline/traces.h>

#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define N 64 /* 8 batches an epoch */

static struct fixture images;
static char path[128], partial[160];
static char *content;

static void setup(void)
{
    fixture_create(&images, N);
    snprintf(path, sizeof(path), "%s/t.json", images.folder);
    snprintf(partial, sizeof(partial), "%s.partial", path);
}

static void teardown(void)
{
    free(content);
    content = NULL;
    fixture_remove(&images);
}

static void read_trace(void)
{
    struct stat st;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    free(content);
    content = calloc(1, (size_t)st.st_size + 1);
    assert_non_null(content);
    assert_int_equal(fread(content, 1, (size_t)st.st_size, f), st.st_size);
    fclose(f);
}

static uint32_t events(const char *name)
{
    char word[96];
    uint32_t n = 0;
    snprintf(word, sizeof(word), "\"name\":\"%s\",\"args\"", name);
    for (const char *at = content; (at = strstr(at, word)); at++)
        n++;
    return n;
}

static feedline_loader *open_traced(feedline_dataset *ds, const char *options)
{
    char text[400];
    snprintf(text, sizeof(text), "trace=%s workers=2 %s", path, options);
    return fixture_open(ds, text);
}

TEST_WITH(a_schedule_gives_exactly_its_steps, setup, teardown)
{
    feedline_loader *l = open_traced(
        images.ds, "trace_wait=1 trace_warmup=1 trace_active=3 trace_repeat=2");
    fixture_run(l, 2);
    feedline_loader_destroy(l);
    read_trace();
    assert_int_equal(events("step"), 6);
    assert_non_null(strstr(content, "\"complete\":true,\"steps\":6,"
                                    "\"lost_notes\":0"));
    /* Tickets count over epochs, of which each has 8. */
    static const uint32_t recorded[] = {2, 3, 4, 7, 8, 9};
    const char *at = content;
    for (uint32_t i = 0; i < 6; i++) {
        char word[96];
        snprintf(word, sizeof(word),
                 "\"name\":\"step\",\"args\":{\"run\":0,\"batch\":%u}",
                 recorded[i]);
        at = strstr(at, word);
        if (!at)
            fail_msg("no %s in its place", word);
    }
}

/* The last step has no call of next() behind it. */
TEST_WITH(a_loop_that_is_left_ends_its_step, setup, teardown)
{
    feedline_loader *l = open_traced(images.ds, "");
    fixture_pass(l, 3);
    assert_int_equal(access(partial, F_OK), 0);
    feedline_loader_destroy(l);
    assert_int_not_equal(access(partial, F_OK), 0);
    read_trace();
    assert_int_equal(events("step"), 3);
}

/* The file is complete when its last cycle is over, not when the loader ends;
 * without the thread there would be no file yet. */
TEST_WITH(a_trace_that_is_over_is_there, setup, teardown)
{
    SCOPED_LOADER l = open_traced(images.ds, "trace_active=2");
    uint32_t batches = 0;
    while (access(path, F_OK) != 0 && batches < 2000000) {
        feedline_batch *b;
        if (feedline_loader_next(l, -1, &b) == FEEDLINE_OK)
            feedline_batch_release(b);
        batches++;
    }
    read_trace();
    assert_int_equal(events("step"), 2);
}

TEST_WITH(runs_and_changes_are_told, setup, teardown)
{
    feedline_loader *l = open_traced(images.ds, "epochs=1");
    fixture_run(l, 1);
    assert_ok(feedline_loader_start(l, 1));
    assert_ok(feedline_loader_set_int(l, "workers", 3));
    fixture_run(l, 1);
    feedline_loader_destroy(l);
    read_trace();
    assert_int_equal(events("step"), 16);
    assert_non_null(strstr(content, "\"name\":\"step\",\"args\":{\"run\":1,"
                                    "\"batch\":7}"));
    assert_non_null(strstr(content,
                           "\"cat\":\"tuner\",\"name\":\"workers\",\"args\":{"
                           "\"value\":3,\"before\":2,\"reason\":"
                           "\"program\""));
}

TEST_WITH(phases_are_in_the_trace, setup, teardown)
{
    feedline_loader *l = open_traced(images.ds, "");
    for (uint32_t i = 0; i < 3; i++) {
        feedline_batch *b = fixture_next(l);
        assert_ok(feedline_loader_phase_begin(l, "forward \"1\""));
        assert_ok(feedline_loader_phase_begin(l, "loss"));
        assert_ok(feedline_loader_phase_end(l));
        assert_ok(feedline_loader_phase_end(l));
        feedline_batch_release(b);
    }
    feedline_loader_destroy(l);
    read_trace();
    uint32_t inner = 0, outer = 0;
    for (const char *at = content; (at = strstr(at, "\"name\":\"loss\"")); at++)
        inner++;
    for (const char *at = content;
         (at = strstr(at, "\"name\":\"forward \\\"1\\\"\"")); at++)
        outer++;
    assert_int_equal(inner, 3);
    assert_int_equal(outer, 3);
}

TEST_WITH(mistakes_are_named_at_create, setup, teardown)
{
    assert_null(fixture_loader(images.ds, "trace_categories=read,decod"));
    assert_non_null(strstr(feedline_last_error(), "did you mean 'decode'"));
    assert_null(fixture_loader(images.ds, "trace=/nowhere/t.json"));
    assert_non_null(strstr(feedline_last_error(), "/nowhere/t.json.partial"));
}

/* ---- The stream does not notice ----------------------------------------- */

static uint64_t plain_hash(feedline_dataset *ds, uint32_t epochs)
{
    feedline_loader *l = fixture_open(ds, "workers=2");
    uint64_t hash = fixture_run(l, epochs);
    feedline_loader_destroy(l);
    return hash;
}

TEST_WITH(a_limit_ends_the_trace_alone, setup, teardown)
{
    uint64_t expected = plain_hash(images.ds, 60);
    feedline_loader *l =
        open_traced(images.ds, "trace_limit=65536 trace_active=1000000");
    assert_true(fixture_run(l, 60) == expected);
    feedline_loader_destroy(l);
    read_trace();
    assert_true(strlen(content) <= 65536);
    assert_true(strlen(content) > 256);
    assert_non_null(strstr(content, "\"cut\":\"trace_limit of 65536 bytes\""));
}

static char lines[FDL_LOG_LINES * FDL_LOG_LINE_BYTES];

TEST_WITH(a_full_disk_ends_the_trace_alone, setup, teardown)
{
    uint64_t needed, expected = plain_hash(images.ds, 60);
    struct rlimit before, small;
    feedline_loader *l = open_traced(images.ds, "trace_active=1000000");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 20000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    bool same = fixture_run(l, 60) == expected;
    feedline_loader_destroy(l);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_true(same);
    read_trace();
    assert_true(strlen(content) <= 20000);
    assert_non_null(strstr(content, "\"cut\":\"write error"));
    assert_ok(feedline_log_read(lines, sizeof(lines), &needed));
    const char *line = strstr(lines, partial);
    assert_non_null(line);
    assert_null(strstr(line + 1, partial)); /* one line, not many */
}

/* ---- The flight recorder ------------------------------------------------ */

TEST_WITH(what_led_here_can_be_saved, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.files, "workers=2 epochs=1");
    assert_ok(feedline_loader_trace_save(l, path)); /* nothing yet */
    fixture_run(l, 1);
    assert_ok(feedline_loader_trace_save(l, path));
    read_trace();
    assert_int_equal(events("step"), 8);
    assert_int_equal(events("decode"), N);
    assert_int_equal(events("issue"), 8);
    assert_int_equal(events("release"), 8);
    assert_error(feedline_loader_trace_save(l, "/nowhere/t.json"), FEEDLINE_EIO,
                 "/nowhere/t.json");
    assert_error(feedline_loader_trace_save(l, NULL), FEEDLINE_EINVAL, "path");
}

struct saving {
    feedline_loader *loader;
    _Atomic bool stop;
    int32_t status;
};

static void *save_all_the_time(void *arg)
{
    struct saving *s = arg;
    do
        s->status = feedline_loader_trace_save(s->loader, path);
    while (s->status >= 0 && !s->stop);
    return NULL;
}

TEST_WITH(saving_disturbs_nobody, setup, teardown)
{
    uint64_t expected = plain_hash(images.ds, 40);
    struct saving s = {.loader = fixture_open(images.ds, "workers=2")};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, save_all_the_time, &s), 0);
    bool same = fixture_run(s.loader, 40) == expected;
    s.stop = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(same);
    assert_int_equal(s.status, FEEDLINE_OK);
    feedline_loader_destroy(s.loader);
}

TEST_WITH(rings_are_counted_as_memory, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.ds, "workers=2");
    struct feedline_stats before = fixture_stats(l);
    assert_true(before.memory_bytes >= 3 * 4096 * 32);
    fixture_run(l, 1);
    struct feedline_stats after = fixture_stats(l);
    assert_true(after.memory_bytes >= before.memory_bytes + 2 * 4096 * 32);
}

/* ---- Recordings --------------------------------------------------------- */

static void record_steps(feedline_loader *l, uint64_t first, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        fixture_pass(l, 1);
        assert_ok(feedline_loader_record_step(l, first + i));
    }
}

TEST_WITH(a_recording_has_the_steps_of_its_caller, setup, teardown)
{
    feedline_loader *l = fixture_open(images.ds, "workers=2");
    fixture_pass(l, 1);
    assert_ok(feedline_loader_record(l, path, 0));
    record_steps(l, 40, 3);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_ok(feedline_loader_record_end(l, 1));
    fixture_pass(l, 1);
    read_trace();
    assert_non_null(strstr(content, "\"ProfilerStep#40\""));
    assert_non_null(strstr(content, "\"ProfilerStep#42\""));
    assert_null(strstr(content, "\"ProfilerStep#43\""));
    /* The consumer's third began in it, and is not over. */
    assert_int_equal(events("step"), 2);
    assert_non_null(strstr(content, "\"complete\":true,\"steps\":3,"
                                    "\"lost_notes\":0"));
    /* Once more, to the same file; this one ends with the loader. */
    assert_ok(feedline_loader_record(l, path, 0));
    record_steps(l, 43, 1);
    feedline_loader_destroy(l);
    read_trace();
    assert_null(strstr(content, "\"ProfilerStep#42\""));
    assert_non_null(strstr(content, "\"complete\":true,\"steps\":1,"));
}

/* A ring has 4096 notes, and a batch some 12. */
TEST_WITH(a_long_recording_loses_nothing, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.ds, "workers=2 epochs=0");
    assert_ok(feedline_loader_record(l, path, 0));
    for (uint64_t step = 0; step < 900; step++) {
        feedline_batch *b;
        int32_t status = feedline_loader_next(l, -1, &b);
        assert_ok(status);
        if (status == FEEDLINE_OK)
            feedline_batch_release(b);
        assert_ok(feedline_loader_record_step(l, step));
    }
    assert_ok(feedline_loader_record_end(l, 1));
    read_trace();
    assert_non_null(strstr(content, "\"complete\":true,\"steps\":900,"
                                    "\"lost_notes\":0"));
    assert_int_equal(events("step"), 800);
}

/* What the rings still have counts. */
TEST_WITH(a_recording_may_begin_in_the_past, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.ds, "workers=2");
    int64_t since = fdl_now_ns();
    fixture_run(l, 1);
    assert_ok(feedline_loader_record(l, path, since));
    fixture_run(l, 10);
    assert_ok(feedline_loader_record_end(l, 0));
    read_trace();
    assert_int_equal(events("step"), 11 * 8);
    assert_non_null(strstr(content, "\"lost_notes\":0"));
}

TEST_WITH(mistakes_of_recordings_are_named, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.ds, "workers=1");
    assert_error(feedline_loader_record_step(l, 0), FEEDLINE_ESTATE,
                 "not being recorded");
    assert_error(feedline_loader_record_end(l, 0), FEEDLINE_ESTATE,
                 "not being recorded");
    assert_error(feedline_loader_record(l, path, -1), FEEDLINE_ERANGE,
                 "since_ns");
    assert_error(feedline_loader_record(l, path, INT64_MAX), FEEDLINE_ERANGE,
                 "since_ns");
    assert_error(feedline_loader_record(l, "/no/such/folder/t.json", 0),
                 FEEDLINE_EIO, "/no/such/folder/t.json");
    assert_ok(feedline_loader_record(l, path, 0));
    assert_error(feedline_loader_record(l, path, 0), FEEDLINE_ESTATE,
                 "recorded already");
    assert_error(feedline_trace_action(0, 1, 1, 0, 0, 5), FEEDLINE_EINVAL,
                 "at least 1");
    assert_int_equal(feedline_trace_action(2, 1, 1, 2, 1, 1),
                     FEEDLINE_TRACE_NONE);
    assert_int_equal(feedline_trace_action(2, 1, 1, 2, 1, 3),
                     FEEDLINE_TRACE_WARMUP);
    assert_int_equal(feedline_trace_action(2, 1, 1, 2, 1, 5),
                     FEEDLINE_TRACE_RECORD_AND_SAVE);
}

TEST_MAIN("tracing")
