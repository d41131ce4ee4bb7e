/* SPDX-License-Identifier: Apache-2.0 */
/* Rings of notes, the schedule, the categories, and the file of a trace. */
#include "base/status.h"
#include "profiler/trace/trace.h"
#include "profiler/trace/trace_file.h"
#include "profiler/trace/trace_json.h"
#include "profiler/trace/trace_schedule.h"
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#define NOTES 400000

static struct fdl_trace_note out[FDL_TRACE_NOTES];
static char folder[64], path[128], partial[160];

static void setup(void)
{
    snprintf(folder, sizeof(folder), "/tmp/feedline-trace-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/t.json", folder);
    snprintf(partial, sizeof(partial), "%s.partial", path);
}

static void teardown(void)
{
    unlink(path);
    unlink(partial);
    rmdir(folder);
}

/* ---- The ring ----------------------------------------------------------- */

/* Note i, of which every field follows from i. */
static void write_note(struct fdl_trace_ring *ring, uint64_t i)
{
    fdl_trace_note(ring, (enum fdl_trace_kind)(i % FDL_TRACE_KINDS),
                   (int64_t)i * 7, (int64_t)i * 11, i, (uint32_t)(i * 13),
                   (uint32_t)(i % 60000));
}

static void check_note(const struct fdl_trace_note *n, uint64_t i)
{
    if (n->begin_ns != (int64_t)i * 7 || n->length != (int64_t)i * 11 ||
        n->ticket != i || n->sample != (uint32_t)(i * 13) ||
        n->kind != i % FDL_TRACE_KINDS || n->arg != i % 60000)
        fail_msg("note %llu is torn", (unsigned long long)i);
}

TEST(notes_come_back_in_order)
{
    struct fdl_trace_ring *ring = fdl_trace_ring_create();
    uint64_t next = 0, lost = 0;
    assert_non_null(ring);
    assert_int_equal(sizeof(struct fdl_trace_note), 32);
    assert_int_equal(fdl_trace_ring_copy(ring, &next, out, &lost), 0);
    for (uint64_t i = 0; i < 100; i++)
        write_note(ring, i);
    assert_int_equal(fdl_trace_ring_copy(ring, &next, out, &lost), 100);
    for (uint64_t i = 0; i < 100; i++)
        check_note(&out[i], i);
    assert_int_equal(next, 100);
    assert_int_equal(fdl_trace_ring_copy(ring, &next, out, &lost), 0);
    assert_int_equal(lost, 0);
    fdl_trace_ring_destroy(ring);
}

/* One place of a full ring is the writer's. */
TEST(what_was_overwritten_is_counted)
{
    struct fdl_trace_ring *ring = fdl_trace_ring_create();
    uint64_t next = 0, lost = 0, written = 3 * FDL_TRACE_NOTES + 5;
    for (uint64_t i = 0; i < written; i++)
        write_note(ring, i);
    uint32_t n = fdl_trace_ring_copy(ring, &next, out, &lost);
    assert_int_equal(n, FDL_TRACE_NOTES - 1);
    assert_int_equal(n + lost, written);
    for (uint32_t i = 0; i < n; i++)
        check_note(&out[i], lost + i);
    fdl_trace_ring_destroy(ring);
}

TEST(runs_are_told_apart)
{
    struct fdl_trace_ring *ring = fdl_trace_ring_create();
    uint64_t next = 0, lost = 0;
    fdl_trace_ring_set_run(ring, 3);
    fdl_trace_note(ring, FDL_TRACE_STEP, 1, 1, 9, 0, 0);
    assert_int_equal(fdl_trace_ring_copy(ring, &next, out, &lost), 1);
    assert_int_equal(out[0].ticket, (UINT64_C(3) << FDL_TRACE_RUN_SHIFT) + 9);
    fdl_trace_ring_destroy(ring);
}

TEST(no_ring_is_no_note)
{
    uint64_t next = 0, lost = 0;
    fdl_trace_note(NULL, FDL_TRACE_STEP, 1, 1, 9, 0, 0);
    assert_int_equal(fdl_trace_ring_copy(NULL, &next, out, &lost), 0);
    assert_int_equal(fdl_trace_ring_bytes(NULL), 0);
    fdl_trace_ring_destroy(NULL);
}

static void *write_many(void *arg)
{
    for (uint64_t i = 0; i < NOTES; i++)
        write_note(arg, i);
    return NULL;
}

/* Whatever a reader gets while the ring is written is whole and in order, and
 * what it does not get is counted. */
TEST(a_copy_is_never_torn)
{
    struct fdl_trace_ring *ring = fdl_trace_ring_create();
    pthread_t writer;
    uint64_t next = 0, lost = 0, got = 0;
    assert_int_equal(pthread_create(&writer, NULL, write_many, ring), 0);
    while (next < NOTES) {
        uint32_t n = fdl_trace_ring_copy(ring, &next, out, &lost);
        for (uint32_t i = 0; i < n; i++)
            check_note(&out[i], next - n + i);
        got += n;
        assert_int_equal(got + lost, next);
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
    fdl_trace_ring_destroy(ring);
}

/* ---- The schedule ------------------------------------------------------- */

/* One letter a step: - none, w warm-up, R record, S the last of a cycle. */
static void check_schedule(struct fdl_trace_schedule s, const char *expected)
{
    char got[64];
    uint32_t n = (uint32_t)strlen(expected);
    for (uint32_t i = 0; i < n; i++)
        got[i] = "-wRS"[fdl_trace_action_at(&s, i)];
    got[n] = '\0';
    assert_string_equal(got, expected);
}

TEST(the_schedule_is_that_of_torch)
{
    check_schedule((struct fdl_trace_schedule){0, 1, 1, 3, 2},
                   "-wRRS-wRRS------");
    check_schedule((struct fdl_trace_schedule){2, 1, 1, 2, 1}, "---wRS-----");
    check_schedule((struct fdl_trace_schedule){0, 0, 0, 1, 0}, "SSSSSS");
    check_schedule((struct fdl_trace_schedule){1, 0, 2, 2, 0}, "-wwRSwwRSww");
    struct fdl_trace_schedule endless = {5, INT64_MAX, INT64_MAX, INT64_MAX, 1};
    assert_int_equal(fdl_trace_action_at(&endless, INT64_MAX), FDL_TRACE_NONE);
    assert_false(fdl_trace_is_over(&endless, UINT64_MAX - 6));
    struct fdl_trace_schedule two = {0, 1, 1, 3, 2};
    assert_false(fdl_trace_is_over(&two, 9));
    assert_true(fdl_trace_is_over(&two, 10));
}

/* ---- Categories --------------------------------------------------------- */

TEST(categories_are_read)
{
    uint32_t mask = 77;
    assert_int_equal(fdl_trace_categories_parse("all", &mask), FEEDLINE_OK);
    assert_int_equal(mask, FDL_CATEGORY_ALL);
    assert_int_equal(fdl_trace_categories_parse("read, tuner ,read", &mask),
                     FEEDLINE_OK);
    assert_int_equal(mask, 1u << FDL_CATEGORY_READ | 1u << FDL_CATEGORY_TUNER);
    static const char *const wrong[][2] = {{"decod", "'decode'"},
                                           {"read,cpy", "'copy'"},
                                           {"read,", "''"},
                                           {"", "''"},
                                           {"zebra", "there are read"}};
    for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        mask = 77;
        assert_int_equal(fdl_trace_categories_parse(wrong[i][0], &mask),
                         FEEDLINE_EINVAL);
        assert_int_equal(mask, 77);
        assert_non_null(strstr(fdl_last_error(), wrong[i][1]));
    }
}

/* ---- The text ----------------------------------------------------------- */

static const char *evil(const void *user, uint32_t i)
{
    (void)user;
    (void)i;
    return "a\"b\\c\n+\xff";
}

static struct fdl_trace_json *make_json(uint32_t categories)
{
    struct fdl_trace_json_config config = {
        .categories = categories,
        .pid = 7,
        .unix_offset_ns = fdl_trace_unix_offset_ns(),
        .process = "feedline",
        .custom = evil,
    };
    struct fdl_trace_json *j;
    assert_int_equal(fdl_trace_json_create(&config, &j), FEEDLINE_OK);
    return j;
}

static const char *text_of(struct fdl_trace_json *j)
{
    const char *text;
    uint64_t length;
    assert_true(fdl_trace_json_text(j, &text, &length));
    if (length == 0)
        return "";
    static char copy[1 << 16];
    assert_true(length < sizeof(copy));
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

static uint32_t times_in(const char *text, const char *word)
{
    uint32_t n = 0;
    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
}

TEST(names_are_quoted)
{
    struct fdl_trace_json *j = make_json(FDL_CATEGORY_ALL);
    struct fdl_trace_note note = {.begin_ns = 5, .kind = FDL_TRACE_CUSTOM};
    struct fdl_trace_part part = {
        .writer = FDL_WRITER_WORKERS, .n = 1, .notes = &note};
    fdl_trace_json_notes(j, &part, 1);
    assert_non_null(strstr(text_of(j), "\"a\\\"b\\\\c\\n+\\ufffd\""));
    fdl_trace_json_destroy(j);
}

/* Reads of two workers that overlap lie on two tracks, one after them does
 * not need a third; the flow runs through the sample that ended last. */
TEST(flows_lead_through_the_last_sample)
{
    struct fdl_trace_note consumer[] = {{.begin_ns = 1000,
                                         .length = 50,
                                         .ticket = 4,
                                         .sample = UINT32_MAX,
                                         .kind = FDL_TRACE_STEP}};
    struct fdl_trace_note first[] = {
        {.begin_ns = 100, .length = 50, .ticket = 4, .kind = FDL_TRACE_READ},
        {.begin_ns = 200, .length = 90, .ticket = 4, .kind = FDL_TRACE_DECODE}};
    struct fdl_trace_note second[] = {
        {.begin_ns = 120,
         .length = 60,
         .ticket = 4,
         .sample = 1,
         .kind = FDL_TRACE_READ},
        {.begin_ns = 300,
         .length = 500,
         .ticket = 4,
         .sample = 1,
         .kind = FDL_TRACE_DECODE},
        {.begin_ns = 190, .length = 10, .ticket = 5, .kind = FDL_TRACE_READ}};
    struct fdl_trace_part parts[] = {
        {.writer = FDL_WRITER_CONSUMER, .n = 1, .notes = consumer},
        {.writer = FDL_WRITER_WORKERS, .n = 2, .notes = first},
        {.writer = FDL_WRITER_WORKERS + 1, .n = 3, .notes = second}};
    struct fdl_trace_json *j = make_json(FDL_CATEGORY_ALL);
    fdl_trace_json_notes(j, parts, 3);
    const char *text = text_of(j);
    assert_non_null(strstr(text, "\"read 0\""));
    assert_non_null(strstr(text, "\"read 1\""));
    assert_null(strstr(text, "\"read 2\""));
    assert_int_equal(times_in(text, "\"ph\":\"s\",\"pid\":7,\"tid\":3001"), 1);
    assert_int_equal(times_in(text, "\"ph\":\"t\",\"pid\":7,\"tid\":1001"), 1);
    assert_int_equal(times_in(text, "\"ph\":\"f\",\"pid\":7,\"tid\":1,"), 1);
    assert_int_equal(times_in(text, "\"id\":4"), 3);
    assert_int_equal(fdl_trace_json_steps(j), 1);
    fdl_trace_json_destroy(j);
}

/* A host that runs ahead of its device: the copy comes after the step. */
TEST(flows_run_forward_in_time)
{
    struct fdl_trace_json_config config = {.categories = FDL_CATEGORY_ALL,
                                           .pid = 7,
                                           .unix_offset_ns =
                                               fdl_trace_unix_offset_ns(),
                                           .process = "feedline",
                                           .has_device = true};
    struct fdl_trace_note decode = {
        .begin_ns = 10, .length = 5, .kind = FDL_TRACE_DECODE};
    struct fdl_trace_note step = {
        .begin_ns = 20, .length = 5, .kind = FDL_TRACE_STEP};
    struct fdl_trace_note copy = {
        .begin_ns = 30, .length = 5, .kind = FDL_TRACE_COPY};
    struct fdl_trace_part before[] = {
        {.writer = FDL_WRITER_CONSUMER, .n = 1, .notes = &step},
        {.writer = FDL_WRITER_WORKERS, .n = 1, .notes = &decode}};
    struct fdl_trace_part after = {
        .writer = FDL_WRITER_DEVICE, .n = 1, .notes = &copy};
    struct fdl_trace_json *j;
    assert_int_equal(fdl_trace_json_create(&config, &j), FEEDLINE_OK);
    fdl_trace_json_notes(j, before, 2);
    assert_null(strstr(text_of(j), "\"ph\":\"s\""));
    fdl_trace_json_notes(j, &after, 1);
    const char *text = text_of(j);
    assert_non_null(strstr(text, "\"ph\":\"t\",\"pid\":7,\"tid\":1,"));
    assert_non_null(strstr(text, "\"ph\":\"f\",\"pid\":7,\"tid\":5000,"));
    fdl_trace_json_destroy(j);
}

TEST(other_categories_are_left_out)
{
    for (uint32_t c = 0; c < FDL_CATEGORIES; c++) {
        struct fdl_trace_note notes[FDL_TRACE_KINDS];
        char word[64];
        memset(notes, 0, sizeof(notes));
        for (uint32_t k = 0; k < FDL_TRACE_KINDS; k++)
            notes[k].kind = (uint16_t)k;
        struct fdl_trace_part part = {
            .writer = FDL_WRITER_WORKERS, .n = FDL_TRACE_KINDS, .notes = notes};
        struct fdl_trace_json *j = make_json(1u << c);
        fdl_trace_json_notes(j, &part, 1);
        snprintf(word, sizeof(word), "\"cat\":\"%s\"",
                 fdl_trace_category_name((enum fdl_trace_category)c));
        const char *text = text_of(j);
        assert_true(times_in(text, word) > 0);
        assert_int_equal(times_in(text, word), times_in(text, "\"cat\":"));
        fdl_trace_json_destroy(j);
    }
}

/* ---- The file ----------------------------------------------------------- */

static char content[1 << 16];

static void read_file(const char *name)
{
    FILE *f = fopen(name, "r");
    assert_non_null(f);
    size_t n = fread(content, 1, sizeof(content) - 1, f);
    content[n] = '\0';
    fclose(f);
}

/* It can be opened at any time: the part so far has its end. */
TEST_WITH(a_file_is_whole_all_the_time, setup, teardown)
{
    struct fdl_trace_file f;
    struct fdl_trace_end end = {.steps = 2, .lost = 1};
    assert_int_equal(fdl_trace_file_open(&f, path, 1 << 20, false),
                     FEEDLINE_OK);
    assert_int_equal(fdl_trace_file_add(&f, "{\"traceEvents\":[1", 17, &end),
                     FEEDLINE_OK);
    read_file(partial);
    assert_int_equal(strncmp(content, "{\"traceEvents\":[1\n],", 20), 0);
    assert_non_null(strstr(content, "\"complete\":false"));
    assert_int_equal(fdl_trace_file_add(&f, ",2", 2, &end), FEEDLINE_OK);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(fdl_trace_file_finish(&f, &end), FEEDLINE_OK);
    assert_int_not_equal(access(partial, F_OK), 0);
    read_file(path);
    assert_int_equal(strncmp(content, "{\"traceEvents\":[1,2\n],", 22), 0);
    assert_non_null(strstr(content, "\"complete\":true,\"steps\":2,"
                                    "\"lost_notes\":1,\"cut\":\"\"}"));
    assert_string_equal(content + strlen(content) - 2, "}\n");
}

TEST_WITH(a_file_ends_at_its_limit, setup, teardown)
{
    struct fdl_trace_file f;
    struct fdl_trace_end end = {0};
    assert_int_equal(fdl_trace_file_open(&f, path, 1000, false), FEEDLINE_OK);
    assert_int_equal(fdl_trace_file_add(&f, "{\"traceEvents\":[1", 17, &end),
                     FEEDLINE_OK);
    memset(content, 'x', 800);
    assert_int_equal(fdl_trace_file_add(&f, content, 800, &end),
                     FEEDLINE_ERANGE);
    assert_non_null(strstr(fdl_last_error(), "limit"));
    assert_int_equal(fdl_trace_file_add(&f, ",2", 2, &end), FEEDLINE_ESTATE);
    assert_int_equal(fdl_trace_file_finish(&f, &end), FEEDLINE_OK);
    read_file(path);
    assert_int_equal(strlen(content), 17 + FDL_TRACE_TAIL);
    assert_non_null(strstr(content, "\"complete\":false"));
    assert_non_null(strstr(content, "trace_limit of 1000 bytes"));
}

static void count_signal(int number)
{
    (void)number;
    fail_msg("SIGXFSZ reached the program");
}

/* A disk that takes no more, with the signal that it sends. */
TEST_WITH(a_full_disk_leaves_what_was_there, setup, teardown)
{
    struct fdl_trace_file f;
    struct fdl_trace_end end = {0};
    struct rlimit before, small = {.rlim_cur = 600, .rlim_max = RLIM_INFINITY};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    assert_int_equal(fdl_trace_file_open(&f, path, 1 << 20, false),
                     FEEDLINE_OK);
    assert_int_equal(fdl_trace_file_add(&f, "{\"traceEvents\":[1", 17, &end),
                     FEEDLINE_OK);
    signal(SIGXFSZ, count_signal);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    memset(content, 'x', 4000);
    bool fitted = fdl_trace_file_add(&f, content, 4000, &end) == FEEDLINE_OK;
    int32_t status = fdl_trace_file_finish(&f, &end);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_false(fitted);
    assert_int_equal(status, FEEDLINE_OK);
    read_file(path);
    assert_int_equal(strlen(content), 17 + FDL_TRACE_TAIL);
    assert_int_equal(strncmp(content, "{\"traceEvents\":[1\n],", 20), 0);
    assert_non_null(strstr(content, "write error"));
}

/* Several loaders with one path, as ranks that share their environment have. */
TEST_WITH(one_name_serves_several, setup, teardown)
{
    struct fdl_trace_file f[3];
    struct fdl_trace_end end = {0};
    char second[160], here[512];
    snprintf(second, sizeof(second), "%s/t.2.json", folder);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(fdl_trace_file_open(&f[i], path, 1000, false),
                         FEEDLINE_OK);
        assert_int_equal(fdl_trace_file_add(&f[i], i ? "b" : "a", 1, &end),
                         FEEDLINE_OK);
    }
    /* What is saved has its own name, and a folder that changes is nothing. */
    assert_non_null(getcwd(here, sizeof(here)));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(fdl_trace_file_open(&f[2], "s.json", 1000, true),
                     FEEDLINE_OK);
    assert_int_equal(chdir(here), 0);
    assert_int_equal(fdl_trace_file_add(&f[2], "c", 1, &end), FEEDLINE_OK);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(fdl_trace_file_finish(&f[i], &end), FEEDLINE_OK);
    read_file(path);
    assert_int_equal(content[0], 'a');
    read_file(second);
    assert_int_equal(content[0], 'b');
    unlink(second);
    snprintf(second, sizeof(second), "%s/s.json", folder);
    read_file(second);
    assert_int_equal(content[0], 'c');
    unlink(second);
    /* The name is free again. */
    assert_int_equal(fdl_trace_file_open(&f[0], path, 1000, false),
                     FEEDLINE_OK);
    assert_int_equal(fdl_trace_file_add(&f[0], "d", 1, &end), FEEDLINE_OK);
    assert_int_equal(fdl_trace_file_finish(&f[0], &end), FEEDLINE_OK);
    read_file(path);
    assert_int_equal(content[0], 'd');
}

TEST_WITH(a_file_that_cannot_be_made, setup, teardown)
{
    struct fdl_trace_file f;
    struct fdl_trace_end end = {0};
    assert_int_equal(fdl_trace_file_open(&f, "/nowhere/t.json", 1 << 20, false),
                     FEEDLINE_EIO);
    assert_non_null(strstr(fdl_last_error(), "/nowhere/t.json.partial"));
    fdl_trace_file_discard(&f);
    assert_int_equal(fdl_trace_file_finish(&f, &end), FEEDLINE_OK);
}

TEST_MAIN("trace")
