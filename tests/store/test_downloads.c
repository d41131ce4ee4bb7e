/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Downloads from a server that fails as it is told: whatever happens, the bytes
 * are those of one object, or there is an error that says what and where.
 */
#include "base/memory.h"
#include "store/get.h"
#include "test.h"
#include "tests/remove_tree.h"
#include "tests/store/server.h"

#include <unistd.h>

#define BYTES   300000u
#define TURN_NS ((int64_t)100000000)
#define SECRET  "X-Amz-Signature=0123456789abcdef"

static char folder[] = "/tmp/feedline-test-XXXXXX";
static char base[64]; /* "http://127.0.0.1:4242" */
static uint8_t *contents;
static struct fdl_store *store;
static struct fdl_downloads *all;
static struct fdl_download_counts counts;
static uint32_t under_way;

struct got {
    struct fdl_download d; /* first */
    uint8_t bytes[BYTES + 1];
    char path[128], query[256];
    uint64_t room, most; /* given; above `most` it fails */
    uint32_t not_yet;    /* times that there is no room */
    bool done;
};

static void write_file(const char *name, uint8_t more)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (uint32_t i = 0; i < BYTES; i++)
        contents[i] = (uint8_t)(i * 7919 >> 5 | 1) + more;
    assert_int_equal(fwrite(contents, 1, BYTES, f), BYTES);
    assert_int_equal(fclose(f), 0);
}

static void end(void)
{
    fdl_downloads_destroy(all);
    fdl_store_close(store);
    free(contents);
    server_stop();
    remove_tree(folder);
}

static void begin_with(const struct fdl_downloads_config *config)
{
    assert_non_null(mkdtemp(folder));
    contents = malloc(BYTES);
    assert_non_null(contents);
    write_file("a", 0);
    snprintf(base, sizeof(base), "http://127.0.0.1:%u",
             server_start(folder, 0));
    assert_int_equal(fdl_store_open(base, &store), FEEDLINE_OK);
    assert_int_equal(fdl_downloads_create(config, &all), FEEDLINE_OK);
}

static void begin(void)
{
    begin_with(&(const struct fdl_downloads_config){.stall_s = 2});
}

static int32_t room(struct fdl_download *d, uint64_t bytes, uint8_t **to)
{
    struct got *g = (struct got *)d;
    if (g->not_yet > 0) {
        g->not_yet--;
        return FDL_DOWNLOAD_NO_ROOM;
    }
    if (bytes > (g->most ? g->most : BYTES))
        return fdl_fail(FEEDLINE_ERANGE, "too large");
    assert_int_equal(g->room, UINT64_MAX); /* once */
    g->room = bytes;
    *to = g->bytes;
    return FEEDLINE_OK;
}

static void done(struct fdl_download *d)
{
    struct got *g = (struct got *)d;
    assert_false(g->done);
    g->done = true;
    under_way--;
}

/* Part of a file, with faults. */
static struct got *ask(const char *name, const char *faults, uint64_t offset,
                       int64_t length, fdl_tag *tag)
{
    struct got *g = calloc(1, sizeof(*g));
    assert_non_null(g);
    snprintf(g->path, sizeof(g->path), "%s/%s", base, name);
    snprintf(g->query, sizeof(g->query), "?%s", faults);
    g->room = UINT64_MAX;
    g->bytes[BYTES] = 0x77;
    g->d = (struct fdl_download){.store = store,
                                 .path = g->path,
                                 .query = *faults ? g->query : NULL,
                                 .offset = offset,
                                 .length = length,
                                 .tag = tag,
                                 .counts = &counts,
                                 .room = room,
                                 .done = done};
    return g;
}

static void wait_for_all(void)
{
    while (under_way > 0)
        fdl_downloads_turn(all, TURN_NS);
}

static void run(struct got *g)
{
    under_way++;
    fdl_downloads_begin(all, &g->d);
    wait_for_all();
    assert_true(g->done);
}

static void check(struct got *g)
{
    uint64_t n = g->d.length < 0 ? BYTES - g->d.offset : (uint64_t)g->d.length;
    if (g->d.status)
        fail_msg("%s", g->d.why);
    assert_int_equal(g->d.bytes, n);
    assert_int_equal(g->room, n);
    assert_memory_equal(g->bytes, contents + g->d.offset, n);
    assert_int_equal(g->bytes[BYTES], 0x77);
    free(g);
}

static void expect(const char *faults, uint64_t offset, int64_t length)
{
    struct got *g = ask("a", faults, offset, length, NULL);
    run(g);
    check(g);
}

static void expect_failure(const char *faults, uint64_t offset, int64_t length,
                           const char *why)
{
    struct got *g = ask("a", faults, offset, length, NULL);
    run(g);
    if (g->d.status != FEEDLINE_EIO)
        fail_msg("%s: %d, %s", faults, (int)g->d.status, g->d.why);
    if (!strstr(g->d.why, why))
        fail_msg("'%s' is not in '%s'", why, g->d.why);
    assert_non_null(strstr(g->d.why, "127.0.0.1:"));
    assert_null(strstr(g->d.why, "?"));
    free(g);
}

/* ---- What is right ------------------------------------------------------- */

TEST_WITH(brings_parts_and_all, begin, end)
{
    expect("", 0, -1);
    expect("", 0, 1);
    expect("", 1, 100);
    expect("", BYTES - 1, 1);
    expect("", 1000, -1);
    expect("", 0, BYTES);
    expect("", 5, 0);
    expect("", BYTES, -1);
    const struct fdl_download_counts *c = &counts;
    assert_int_equal(c->requests, 7);
    assert_int_equal(c->retries, 0);
    assert_int_equal(c->failures, 0);
    assert_int_equal(c->bytes, 3 * BYTES - 1000 + 102);
}

TEST_WITH(many_at_once, begin, end)
{
    struct got *each[64];
    for (uint32_t i = 0; i < 64; i++) {
        each[i] = ask("a", i % 8 ? "" : "delay=50", i * 1000, 3000, NULL);
        under_way++;
        fdl_downloads_begin(all, &each[i]->d);
    }
    wait_for_all();
    for (uint32_t i = 0; i < 64; i++)
        check(each[i]);
}

TEST_WITH(names_are_escaped, begin, end)
{
    write_file("b c+\xc3\xa4%41{}", 3);
    struct got *g = ask("b c+\xc3\xa4%2541{}", "", 0, -1, NULL);
    run(g);
    check(g);
}

TEST_WITH(waits_for_room, begin, end)
{
    struct got *g = ask("a", "", 0, -1, NULL), *h = ask("a", "", 9, 0, NULL);
    g->not_yet = h->not_yet = 5;
    under_way++;
    fdl_downloads_begin(all, &g->d);
    run(h);
    assert_int_equal(g->not_yet + h->not_yet, 0);
    check(g);
    check(h);
}

TEST_WITH(says_that_there_is_no_room, begin, end)
{
    struct got *g = ask("a", "", 0, -1, NULL);
    g->most = 1000;
    run(g);
    assert_int_equal(g->d.status, FEEDLINE_ERANGE);
    assert_string_equal(g->d.why, "too large");
    free(g);
}

TEST_WITH(a_thread_that_waits, begin, end)
{
    uint64_t size, bytes;
    char *text;
    fdl_tag tag = NULL;
    char path[128];
    snprintf(path, sizeof(path), "%s/a", base);
    assert_int_equal(
        fdl_get_bytes(store, path, &tag, 10, 100, &size, &text, &bytes),
        FEEDLINE_OK);
    assert_int_equal(bytes, 100);
    assert_int_equal(size, BYTES);
    assert_memory_equal(text, contents + 10, 100);
    free(text);
    assert_int_equal(
        fdl_get_bytes(store, path, &tag, BYTES - 5, 100, &size, &text, &bytes),
        FEEDLINE_OK);
    assert_int_equal(bytes, 5);
    free(text);
    assert_non_null(tag);
    free(tag);
    snprintf(path, sizeof(path), "%s/none", base);
    assert_int_equal(
        fdl_get_bytes(store, path, NULL, 0, 100, &size, &text, &bytes),
        FEEDLINE_ENOENT);
    assert_non_null(strstr(fdl_last_error(), "/none: "));
}

/* ---- What passes --------------------------------------------------------- */

TEST_WITH(tries_again, begin, end)
{
    static const char *const faults[] = {"status=503",
                                         "status=500&times=2",
                                         "status=429&after=1",
                                         "status=408",
                                         "reset",
                                         "reset&times=2",
                                         "garbage",
                                         "cut=0",
                                         "cut=1000",
                                         "cut=299999",
                                         "cut=70000&times=3",
                                         "cut=100&untagged",
                                         "stall=4000",
                                         "more=10"};
    for (size_t i = 0; i < FDL_COUNT_OF(faults); i++)
        expect(faults[i], 0, -1);
    expect("cut=1000", 500, 20000);
    expect("reset", 500, 20000);
    assert_in_range(counts.retries, 10, 40);
}

/* What came before the connection broke is not asked for again. */
TEST_WITH(goes_on_where_it_was, begin, end)
{
    expect("cut=200000", 0, -1);
    assert_int_equal(counts.requests, 2);
    assert_int_equal(counts.failures, 1);
    assert_in_range(counts.bytes, BYTES, BYTES + 1000);
}

TEST_WITH(without_a_name_it_begins_anew, begin, end)
{
    expect("cut=200000&untagged", 0, -1);
    assert_in_range(counts.bytes, BYTES + 150000, BYTES + 200000);
}

TEST_WITH(gives_up, begin, end)
{
    expect_failure("status=503&times=99", 10, 90,
                   "bytes 10 to 99: HTTP 503: the server has failed, after 6 "
                   "tries");
    expect_failure("cut=10&times=99", 0, -1, ", after 6 tries");
    server_stop();
    expect_failure("", 0, -1, "after 6 tries");
}

/* ---- What does not ------------------------------------------------------- */

TEST_WITH(says_what_is_wrong, begin, end)
{
    static const struct {
        const char *faults, *why;
        uint64_t offset;
        int64_t length;
    } rows[] = {
        {"whole", "does not know ranges", 10, 10},
        {"shift=1", "from 11 on", 10, 10},
        {"short=1&times=99", "got 9", 10, 10},
        {"encoded", "Content-Encoding", 0, -1},
        {"deny", "HTTP 403: access is denied", 10, 10},
        {"status=400", "HTTP 400", 10, 10},
        {"", "which has 300000 bytes", BYTES + 1, 10},
        {"", "got 5, which is all there is", BYTES - 5, 10},
        {"to=https://127.0.0.1:1/a&times=9", "disabled", 0, -1},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++)
        expect_failure(rows[i].faults, rows[i].offset, rows[i].length,
                       rows[i].why);
    struct got *g = ask("missing", "", 0, -1, NULL);
    run(g);
    assert_int_equal(g->d.status, FEEDLINE_ENOENT);
    assert_non_null(strstr(g->d.why, "HTTP 404"));
    free(g);
    assert_true(counts.retries <= 5);
}

TEST_WITH(follows_a_redirect, begin, end)
{
    char faults[128];
    snprintf(faults, sizeof(faults), "to=%s/a", base);
    expect(faults, 100, 1000);
    expect_failure("loop&times=99", 0, -1, "edirect");
}

/* ---- One object ---------------------------------------------------------- */

TEST_WITH(an_object_that_is_replaced, begin, end)
{
    fdl_tag tag = NULL;
    struct got *g = ask("a", "", 0, 100, &tag);
    run(g);
    check(g);
    assert_non_null(tag);
    g = ask("a", "", 100, 100, &tag);
    run(g);
    check(g);
    sleep(1); /* another time in its ETag */
    write_file("a", 1);
    g = ask("a", "", 200, 100, &tag);
    run(g);
    assert_int_equal(g->d.status, FEEDLINE_EIO);
    assert_non_null(
        strstr(g->d.why, "bytes 200 to 299: the object was replaced"));
    assert_non_null(strstr(g->d.why, tag));
    free(g);
    free(tag);
    expect("", 0, 100); /* who does not remember does not mind */
}

/* Servers that do not know If-Match; and between two tries. */
TEST_WITH(an_object_of_another_name, begin, end)
{
    fdl_tag tag = strdup("\"other\"");
    struct got *g = ask("a", "etag=\"x\"&untagged", 0, 100, &tag);
    run(g);
    assert_int_equal(g->d.status, FEEDLINE_EIO);
    assert_non_null(strstr(g->d.why, "it was \"other\", and is 300000 bytes"));
    free(g);
    free(tag);
    expect_failure("cut=1000&etag=\"1\"", 0, -1, "replaced");
}

/* ---- Stragglers ---------------------------------------------------------- */

/* Late is then what takes 0.2 s or more, which no answer takes by itself. */
static void learn_of(int64_t length)
{
    struct got *each[40];
    for (uint32_t i = 0; i < FDL_COUNT_OF(each); i++) {
        each[i] = ask("a", "delay=100&times=99", i, length, NULL);
        under_way++;
        fdl_downloads_begin(all, &each[i]->d);
    }
    wait_for_all();
    for (uint32_t i = 0; i < FDL_COUNT_OF(each); i++)
        check(each[i]);
    counts = (struct fdl_download_counts){0};
}

static void learn(void)
{
    learn_of(1000);
}

TEST_WITH(asks_twice_for_a_straggler, begin, end)
{
    learn();
    expect("delay=3000", 5, 1000);
    const struct fdl_download_counts *c = &counts;
    assert_in_range(c->hedges, 1, 3);
    assert_int_equal(c->hedges_won, 1);
    assert_int_equal(c->retries, 0);
    /* Half of it is there: the other half is asked for. */
    uint64_t before = c->bytes;
    expect("stall=3000", 6, 1000);
    assert_int_equal(c->hedges_won, 2);
    assert_int_equal(c->bytes - before, 1000);
}

/* An object whose size is not known before it comes. */
TEST_WITH(asks_twice_for_a_whole_object, begin, end)
{
    learn_of(-1);
    expect("delay=3000", 0, -1);
    assert_int_equal(counts.hedges_won, 1);
}

/* Nothing is known of the server, and it is silent. */
TEST_WITH(asks_twice_for_the_first, begin, end)
{
    expect("delay=4000", 5, 1000);
    assert_int_equal(counts.hedges_won, 1);
}

/* What was sent before enough was known is late as well. */
TEST_WITH(asks_twice_for_one_of_the_first, begin, end)
{
    struct fdl_download_counts its = {0};
    struct got *g = ask("a", "delay=4000", 5, 1000, NULL);
    g->d.counts = &its;
    under_way++;
    fdl_downloads_begin(all, &g->d);
    for (uint32_t i = 0; i < 40; i++) {
        struct got *h = ask("a", "", i, 1000, NULL);
        under_way++;
        fdl_downloads_begin(all, &h->d);
        while (!h->done)
            fdl_downloads_turn(all, TURN_NS);
        check(h);
    }
    wait_for_all();
    check(g);
    assert_int_equal(its.hedges_won, 1);
}

/* One that is slow, and one that is tried again. */
TEST_WITH(says_who_waits, begin, end)
{
    static const char *const faults[] = {"delay=1500", "status=503&after=1"};
    learn();
    for (uint32_t i = 0; i < FDL_COUNT_OF(faults); i++) {
        uint32_t most = 0;
        struct got *g = ask("a", faults[i], 3, 1000, NULL);
        under_way++;
        assert_int_equal(fdl_downloads_waiting(all), 0);
        fdl_downloads_begin(all, &g->d);
        while (under_way > 0) {
            fdl_downloads_turn(all, TURN_NS / 10);
            most = FDL_MAX(most, fdl_downloads_waiting(all));
        }
        assert_int_equal(most, 1);
        check(g);
        fdl_downloads_turn(all, 0);
    }
}

TEST_WITH(the_first_may_win, begin, end)
{
    learn();
    expect("delay=1500&times=4", 5, 1000);
    const struct fdl_download_counts *c = &counts;
    assert_in_range(c->hedges, 1, 3); /* four at once are enough */
    assert_int_equal(c->hedges_won, 0);
}

/* Two are late, and the third brings it. */
TEST_WITH(asks_three_times, begin, end)
{
    learn();
    expect("delay=3000&times=2", 5, 1000);
    assert_in_range(counts.hedges, 2, 3);
    assert_int_equal(counts.hedges_won, 1);
    assert_int_equal(counts.bytes, 1000);
}

/* The first fails, and the second brings it. */
TEST_WITH(the_second_is_enough, begin, end)
{
    learn();
    expect("delay=1500&status=404", 5, 1000);
    assert_int_equal(counts.hedges_won, 1);
}

TEST_WITH(both_fail, begin, end)
{
    learn();
    expect_failure("delay=500&status=403&times=9", 5, 1000, "HTTP 403");
    expect("delay=500&status=503&times=2", 7, 1000);
}

TEST_WITH(ends_at_any_moment, begin, end)
{
    for (uint32_t round = 0; round < 30; round++) {
        struct got *each[8];
        for (uint32_t i = 0; i < 8; i++) {
            each[i] = ask("a", i % 2 ? "delay=10" : "cut=1000&times=50",
                          i * 100, 50000, NULL);
            under_way++;
            fdl_downloads_begin(all, &each[i]->d);
        }
        for (uint32_t i = 0; i < round; i++)
            fdl_downloads_turn(all, 1000000);
        fdl_downloads_cancel(all, "it is over");
        assert_int_equal(under_way, 0);
        for (uint32_t i = 0; i < 8; i++) {
            if (each[i]->d.status) {
                assert_string_equal(each[i]->d.why, "it is over");
                free(each[i]);
            } else {
                check(each[i]);
            }
        }
    }
}

/* ---- Secrets ------------------------------------------------------------- */

TEST_WITH(nothing_secret_is_said, begin, end)
{
    static const char *const faults[] = {
        SECRET "&status=403", SECRET "&status=503&times=99",
        SECRET "&reset&times=99", SECRET "&garbage&times=99",
        SECRET "&times=9&to=https://x/?" SECRET};
    for (size_t i = 0; i < FDL_COUNT_OF(faults); i++) {
        struct got *g = ask("a", faults[i], 0, 100, NULL);
        run(g);
        assert_int_equal(g->d.status, FEEDLINE_EIO);
        assert_null(strstr(g->d.why, "Signature"));
        assert_null(strstr(fdl_last_error(), "Signature"));
        free(g);
    }
    struct fdl_store *other;
    assert_int_equal(fdl_store_open("https://me:sesame@host/x", &other),
                     FEEDLINE_EINVAL);
    assert_null(strstr(fdl_last_error(), "sesame"));
    assert_null(strstr(fdl_last_error(), "me:"));
    assert_non_null(strstr(fdl_last_error(), "@host"));
}

TEST_MAIN("downloads")
