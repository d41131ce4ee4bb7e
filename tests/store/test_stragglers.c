/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Downloads in simulated time, from a server that is simulated in place of
 * libcurl: one request in twenty fails or takes a second more, and whoever
 * takes 80 % of what can be brought waits for none of them for long. All of it
 * depends on the seed alone.
 */
#include "base/clock.h"
#include "base/philox.h"
#include "store/downloads.h"
#include "store/patience.h"
#include "test.h"
#include "tests/wrap.h"

#define MS     INT64_C(1000000)
#define SECOND INT64_C(1000000000)

#define BYTES   1000u
#define BATCH   64u
#define RING    16u /* batches ahead */
#define SAMPLES (BATCH * 60)
#define SEEDS   20u
#define MOST    64u /* samples in flight */
#define HANDLES (4 * MOST)

/* Codes of libcurl. */
#define PARTIAL_FILE 18
#define GOT_NOTHING  52
#define WRITE_ERROR  23

/* ---- The server ---------------------------------------------------------- */

enum fate { FINE, SLOW, REFUSED, DROPPED, CUT };

struct handle {
    bool taken, added, ended, told;
    enum fate fate;
    int64_t due_ns; /* its answer */
    char range[64];
    void *private, *write_data, *header_data;
    size_t (*write)(char *, size_t, size_t, void *);
    size_t (*header)(char *, size_t, size_t, void *);
    struct fdl_curl_message message;
};

static struct {
    int64_t now_ns;
    struct fdl_rng dice;
    uint32_t percent; /* of requests that are not fine */
    bool all_slow;    /* the first ones, whatever the dice say */
    uint64_t requests;
    struct handle handles[HANDLES];
    uint32_t n_handles;
} sim;

static int64_t simulated_now(void)
{
    return sim.now_ns;
}

static void *easy_init(void)
{
    struct handle *h = sim.handles;
    while (h->taken)
        h++;
    *h = (struct handle){.taken = true};
    sim.n_handles = FDL_MAX(sim.n_handles, (uint32_t)(h - sim.handles) + 1);
    assert_true(sim.n_handles < HANDLES);
    return h;
}

static void easy_reset(void *easy)
{
    *(struct handle *)easy = (struct handle){.taken = true};
}

static void easy_cleanup(void *easy)
{
    ((struct handle *)easy)->taken = false;
}

static int easy_set(void *easy, int option, ...)
{
    struct handle *h = easy;
    va_list args;
    va_start(args, option);
    if (option == FDL_CURL_OPT_RANGE) {
        const char *range = va_arg(args, const char *);
        snprintf(h->range, sizeof(h->range), "%s", range ? range : "");
    } else if (option == FDL_CURL_OPT_WRITEDATA) {
        h->write_data = va_arg(args, void *);
    } else if (option == FDL_CURL_OPT_HEADERDATA) {
        h->header_data = va_arg(args, void *);
    } else if (option == FDL_CURL_OPT_PRIVATE) {
        h->private = va_arg(args, void *);
    } else if (option == FDL_CURL_OPT_WRITEFUNCTION) {
        h->write = va_arg(args, size_t(*)(char *, size_t, size_t, void *));
    } else if (option == FDL_CURL_OPT_HEADERFUNCTION) {
        h->header = va_arg(args, size_t(*)(char *, size_t, size_t, void *));
    }
    va_end(args);
    return 0;
}

static int easy_get(void *easy, int info, ...)
{
    va_list args;
    va_start(args, info);
    assert_int_equal(info, FDL_CURL_INFO_PRIVATE);
    *va_arg(args, void **) = ((struct handle *)easy)->private;
    va_end(args);
    return 0;
}

static const char *easy_words(int code)
{
    return code == PARTIAL_FILE ? "cut" : "no answer";
}

/* A list of headers is of no interest, and never NULL. */
static struct fdl_curl_list *list_add(struct fdl_curl_list *list,
                                      const char *text)
{
    (void)list;
    return (struct fdl_curl_list *)(uintptr_t)text;
}

static void list_free(struct fdl_curl_list *list)
{
    (void)list;
}

static void *multi_init(void)
{
    return &sim;
}

static int multi_cleanup(void *multi)
{
    (void)multi;
    return 0;
}

static int multi_set(void *multi, int option, ...)
{
    (void)multi;
    (void)option;
    return 0;
}

/* 20 to 22 ms; what fails does it at once. */
static int multi_add(void *multi, void *easy)
{
    struct handle *h = easy;
    (void)multi;
    double chance = fdl_rng_uniform(&sim.dice) * 100;
    uint32_t kind = fdl_rng_below(&sim.dice, 4);
    int64_t takes =
        20 * MS + (int64_t)(fdl_rng_uniform(&sim.dice) * 2 * (double)MS);
    h->fate = chance < sim.percent ? (enum fate)(SLOW + kind) : FINE;
    if (sim.all_slow && sim.requests < MOST / 2)
        h->fate = sim.requests % 8 == 0 ? SLOW : FINE;
    if (h->fate == SLOW)
        takes += SECOND;
    else if (h->fate != FINE)
        takes = MS;
    sim.requests++;
    h->due_ns = sim.now_ns + takes;
    h->added = true;
    h->ended = h->told = false;
    return 0;
}

static int multi_remove(void *multi, void *easy)
{
    (void)multi;
    ((struct handle *)easy)->added = false;
    return 0;
}

static int multi_poll(void *multi, void *more, unsigned n, int timeout_ms,
                      int *ready)
{
    int64_t until = sim.now_ns + timeout_ms * MS;
    (void)multi;
    (void)more;
    (void)n;
    (void)ready;
    for (uint32_t i = 0; i < sim.n_handles; i++)
        if (sim.handles[i].added && !sim.handles[i].ended)
            until = FDL_MIN(until, sim.handles[i].due_ns);
    sim.now_ns = FDL_MAX(sim.now_ns, until);
    return 0;
}

static void say(struct handle *h, const char *fmt, ...) FDL_PRINTF(2, 3);
static void say(struct handle *h, const char *fmt, ...)
{
    char line[128];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    assert_int_equal(h->header(line, 1, (size_t)n, h->header_data), n);
}

static uint8_t byte_at(unsigned offset)
{
    return (uint8_t)(offset * 7 % 251);
}

/* The code of libcurl that it ends with. */
static int serve(struct handle *h)
{
    char body[BYTES];
    unsigned first = 0, last = BYTES - 1;
    if (*h->range)
        assert_true(sscanf(h->range, "%u-%u", &first, &last) >= 1);
    unsigned n = last - first + 1;
    say(h, "HTTP/1.1 %d\r\n", *h->range ? 206 : 200);
    say(h, "Content-Length: %u\r\n", n);
    say(h, "ETag: \"one\"\r\n");
    if (*h->range)
        say(h, "Content-Range: bytes %u-%u/%u\r\n", first, last, BYTES);
    if (h->fate == CUT)
        n /= 2;
    for (unsigned i = 0; i < n; i++)
        body[i] = (char)byte_at(first + i);
    if (n > 0 && h->write(body, 1, n, h->write_data) != n)
        return WRITE_ERROR;
    return h->fate == CUT ? PARTIAL_FILE : FDL_CURL_E_OK;
}

static int answer(struct handle *h)
{
    if (h->fate == DROPPED)
        return GOT_NOTHING;
    if (h->fate != REFUSED)
        return serve(h);
    say(h, "HTTP/1.1 503\r\n");
    return FDL_CURL_E_OK;
}

static int multi_perform(void *multi, int *running)
{
    (void)multi;
    (void)running;
    for (uint32_t i = 0; i < sim.n_handles; i++) {
        struct handle *h = &sim.handles[i];
        if (!h->added || h->ended || h->due_ns > sim.now_ns)
            continue;
        h->message = (struct fdl_curl_message){
            .what = FDL_CURL_DONE, .easy = h, .of.result = answer(h)};
        h->ended = true;
    }
    return 0;
}

static struct fdl_curl_message *multi_info(void *multi, int *left)
{
    (void)multi;
    (void)left;
    for (uint32_t i = 0; i < sim.n_handles; i++) {
        struct handle *h = &sim.handles[i];
        if (h->added && h->ended && !h->told) {
            h->told = true;
            return &h->message;
        }
    }
    return NULL;
}

WRAP(int32_t, fdl_curl_load, const struct fdl_curl **out)
{
    static const struct fdl_curl simulated = {
        .EasyInit = easy_init,
        .EasyReset = easy_reset,
        .EasyCleanup = easy_cleanup,
        .EasySet = easy_set,
        .EasyGet = easy_get,
        .EasyWords = easy_words,
        .ListAdd = list_add,
        .ListFree = list_free,
        .MultiInit = multi_init,
        .MultiCleanup = multi_cleanup,
        .MultiSet = multi_set,
        .MultiAdd = multi_add,
        .MultiRemove = multi_remove,
        .MultiPerform = multi_perform,
        .MultiInfo = multi_info,
        .MultiPoll = multi_poll,
    };
    (void)&__real_fdl_curl_load;
    *out = &simulated;
    return FEEDLINE_OK;
}

/* Else it has one of the clock's and of an address. */
WRAP(void, fdl_patience_init, struct fdl_patience *p, uint64_t seed)
{
    (void)seed;
    __real_fdl_patience_init(p, 1);
}

/* ---- The reader and who takes batches ------------------------------------ */

struct sample {
    struct fdl_download d; /* first */
    uint8_t bytes[BYTES];
    uint32_t number;
    bool busy;
};

static struct {
    struct fdl_store *store;
    struct fdl_downloads *all;
    struct fdl_download_counts counts;
    struct sample samples[MOST];
    uint32_t in_flight, next, landed[SAMPLES / BATCH];
    uint32_t taken;
    int64_t due_ns, longest_ns, waited_ns;
} reader;

static int32_t room(struct fdl_download *d, uint64_t bytes, uint8_t **to)
{
    assert_int_equal(bytes, BYTES);
    *to = ((struct sample *)d)->bytes;
    return FEEDLINE_OK;
}

static void done(struct fdl_download *d)
{
    struct sample *s = (struct sample *)d;
    if (d->status)
        fail_msg("%s", d->why);
    assert_int_equal(d->bytes, BYTES);
    for (unsigned i = 0; i < BYTES; i++)
        if (s->bytes[i] != byte_at(i))
            fail_msg("byte %u", i);
    s->busy = false;
    reader.in_flight--;
    reader.landed[s->number / BATCH]++;
}

static void launch(int64_t length)
{
    struct sample *s = reader.samples;
    while (s->busy)
        s++;
    *s = (struct sample){.number = reader.next++, .busy = true};
    s->d = (struct fdl_download){.store = reader.store,
                                 .path = "http://simulated/x",
                                 .length = length,
                                 .counts = &reader.counts,
                                 .room = room,
                                 .done = done};
    reader.in_flight++;
    fdl_downloads_begin(reader.all, &s->d);
}

/* As reader_remote.c: what waits holds up no other. */
static void fill(uint32_t depth, int64_t length, bool bounded)
{
    uint32_t most =
        depth + FDL_MIN(fdl_downloads_waiting(reader.all), depth / 2);
    uint32_t end = bounded ? (reader.taken + RING) * BATCH : SAMPLES;
    while (reader.in_flight < most && reader.next < FDL_MIN(end, SAMPLES))
        launch(length);
}

/* Takes a batch if it is due and there. pause_ns: of its work on one. */
static bool take(int64_t pause_ns)
{
    uint32_t b = reader.taken;
    if (b == SAMPLES / BATCH || sim.now_ns < reader.due_ns ||
        reader.landed[b] < BATCH)
        return false;
    if (b > 0) {
        int64_t waited = sim.now_ns - reader.due_ns;
        reader.longest_ns = FDL_MAX(reader.longest_ns, waited);
        reader.waited_ns += waited;
    }
    reader.taken++;
    reader.due_ns = sim.now_ns + pause_ns;
    return true;
}

/* One run; how long it took. */
static int64_t run(uint32_t depth, int64_t length, int64_t pause_ns)
{
    const struct fdl_downloads_config config = {0};
    int64_t began = sim.now_ns;
    memset(&reader, 0, sizeof(reader));
    sim.requests = 0;
    assert_int_equal(fdl_store_open("http://simulated", &reader.store),
                     FEEDLINE_OK);
    assert_int_equal(fdl_downloads_create(&config, &reader.all), FEEDLINE_OK);
    while (reader.taken < SAMPLES / BATCH) {
        int64_t due = reader.due_ns - sim.now_ns;
        fill(depth, length, pause_ns > 0);
        fdl_downloads_turn(reader.all, due > 0 ? due : SECOND);
        while (take(pause_ns))
            continue;
    }
    assert_int_equal(reader.in_flight, 0);
    fdl_downloads_destroy(reader.all);
    fdl_store_close(reader.store);
    return sim.now_ns - began;
}

static void begin_with(uint64_t seed, uint32_t percent)
{
    memset(&sim, 0, sizeof(sim));
    sim.now_ns = SECOND;
    sim.percent = percent;
    fdl_rng_init(&sim.dice, seed, 0, 0, 0);
    fdl_clock_replace(simulated_now);
}

static void end(void)
{
    fdl_clock_replace(NULL);
}

/* What a program that takes 80 % of the rate waits for at most, over seeds. */
static int64_t longest_wait(uint32_t depth, int64_t length, bool all_slow)
{
    int64_t longest = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin_with(seed, 5);
        sim.all_slow = all_slow;
        int64_t a_batch = run(depth, length, 0) / (SAMPLES / BATCH);
        run(depth, length, a_batch * 5 / 4);
        print_message("%u at once, seed %u: %.0f ms, %.0f ms in all\n", depth,
                      (unsigned)seed, (double)reader.longest_ns / 1e6,
                      (double)reader.waited_ns / 1e6);
        longest = FDL_MAX(longest, reader.longest_ns);
    }
    return longest;
}

TEST_WITH(objects_of_unknown_length, NULL, end)
{
    assert_true(longest_wait(16, -1, false) < 100 * MS);
    assert_true(longest_wait(32, -1, false) < 100 * MS);
}

TEST_WITH(ranges, NULL, end)
{
    assert_true(longest_wait(16, BYTES, false) < 100 * MS);
    assert_true(longest_wait(32, BYTES, false) < 100 * MS);
}

/* Before anything is known of the server. */
TEST_WITH(some_of_the_first_are_slow, NULL, end)
{
    assert_true(longest_wait(16, -1, true) < 100 * MS);
    assert_true(longest_wait(32, -1, true) < 100 * MS);
}

TEST_WITH(faults_cost_little, NULL, end)
{
    static const uint32_t depths[] = {16, 32};
    for (uint32_t i = 0; i < FDL_COUNT_OF(depths); i++) {
        begin_with(1, 0);
        int64_t without = run(depths[i], -1, 0);
        assert_int_equal(reader.counts.hedges, 0);
        begin_with(1, 5);
        int64_t with = run(depths[i], -1, 0);
        print_message("%.3f\n", (double)without / (double)with);
        assert_true(with < without + without / 10);
        assert_true(reader.counts.hedges > 0);
        assert_true(reader.counts.requests < SAMPLES + SAMPLES / 5);
    }
}

TEST_MAIN("stragglers")
