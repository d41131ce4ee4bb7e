/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sticks out of a run: a custom operation sleeps for chosen samples, by a
 * clock that stands still until the consumer waits for them, and the consumer
 * works in chosen steps, by a clock of its own.
 */
#include "base/clock.h"
#include "tests/loader/fixture.h"
#include "tests/matrix/nap.h"
#include "tests/matrix/still_clock.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>

#define IMAGES 60u
#define BATCH  4u

static struct fixture images;

static void setup(void)
{
    fixture_create(&images, IMAGES);
}

static void teardown(void)
{
    fdl_clock_replace(NULL);
    fixture_remove(&images);
}

/* Everything but sleeps takes no time. */
static void setup_still(void)
{
    setup();
    still_clock_begin();
}

static void teardown_still(void)
{
    still_clock_end();
    teardown();
}

/* Of each sample in the first epoch. */
static int64_t sleeps_ns[IMAGES];

static int32_t doze(const struct feedline_op_call *call)
{
    if (call->epoch == 0)
        nap(sleeps_ns[call->sample_index]);
    return FEEDLINE_OK;
}

/* About a millisecond each, and no two the same. */
static void sleep_as_usual(void)
{
    for (uint32_t i = 0; i < IMAGES; i++)
        sleeps_ns[i] = MS + i * US;
}

/* A clock that stands but for what the consumer is said to work. */
static _Atomic int64_t worked_ns;

static int64_t clock_of_work(void)
{
    return INT64_C(1000000000000) + atomic_load(&worked_ns);
}

static void work_ms(int64_t ms)
{
    atomic_fetch_add(&worked_ns, ms * 1000000);
}

static feedline_loader *open_loader(const char *workers)
{
    struct feedline_op_def def = {
        .struct_size = sizeof(def), .name = "doze", .run = doze};
    return fixture_with(images.files, &def, "resize width=16 height=16;doze",
                        "dtype=u8 batch_size=4 reader=pread workers=%s",
                        workers);
}

static struct feedline_slow_sample slow_sample(feedline_loader *l, uint32_t i)
{
    struct feedline_slow_sample s = {.struct_size = sizeof(s)};
    assert_ok(feedline_loader_get_slow(l, i, &s));
    return s;
}

/* That of the data set's sample `index`, which is in the list. */
static struct feedline_slow_sample slow_of(feedline_loader *l, int64_t index)
{
    uint32_t i = 0;
    while (slow_sample(l, i).sample_index != index)
        i++;
    return slow_sample(l, i);
}

static uint64_t wait_ns(const feedline_loader *l)
{
    struct feedline_stats s = fixture_stats(l);
    return s.wait_ns;
}

/* ---- Slow samples ------------------------------------------------------- */

TEST_WITH(slow_samples_are_found, setup_still, teardown_still)
{
    sleep_as_usual();
    sleeps_ns[5] = 60 * MS; /* of batch 1 */
    sleeps_ns[23] = 120 * MS;
    SCOPED_LOADER l = open_loader("2");
    assert_int_equal(feedline_loader_slow_count(l), 0);
    fixture_pass(l, IMAGES / BATCH);
    assert_ok(feedline_loader_stop(l)); /* from here on the list stays */
    assert_int_equal(feedline_loader_slow_count(l), 32);
    uint64_t stall = 0, last = UINT64_MAX;
    for (uint32_t i = 0; i < 32; i++) {
        struct feedline_slow_sample s = slow_sample(l, i);
        assert_true(s.total_ns <= last);
        last = s.total_ns;
        stall += s.stall_ns;
        assert_int_equal(s.total_ns,
                         s.read_ns + s.decode_ns + s.augment_ns + s.custom_ns);
        assert_true(s.sample_index >= 0 && s.sample_index < IMAGES);
        assert_int_equal(s.sequence, s.sample_index / BATCH);
        assert_true(s.epoch <= 1); /* workers are ahead of the consumer */
        assert_true(s.width >= 40 && s.width < 63);
        assert_true(s.height >= 36 && s.height < 53);
        assert_true(s.bytes > 500);
    }
    assert_true(stall <= wait_ns(l));
    struct feedline_slow_sample s = slow_of(l, 23);
    assert_int_equal(s.custom_ns, 120 * MS);
    assert_int_equal(s.stage, FEEDLINE_STAGE_COUNT);
    assert_true(s.stall_ns > 0); /* nothing else took as long */
    struct feedline_sample_info info = {.struct_size = sizeof(info)};
    assert_ok(feedline_dataset_get_sample(images.files, 23, &info));
    assert_string_equal(s.path, info.path);
    assert_int_equal(slow_of(l, 5).custom_ns, 60 * MS);
    struct feedline_slow_sample out = {.struct_size = sizeof(out)};
    assert_error(feedline_loader_get_slow(l, 32, &out), FEEDLINE_ERANGE, "32");
    assert_ok(feedline_loader_reset_stats(l));
    assert_int_equal(feedline_loader_slow_count(l), 0);
}

/* ---- Outliers, and the JSON --------------------------------------------- */

static json_t *json_of(feedline_loader *l)
{
    json_error_t error;
    json_t *doc = json_loads(fixture_json(l), 0, &error);
    if (!doc)
        fail_msg("%s", error.text);
    return doc;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static const char *string(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* The row of a list that has this number. */
static const json_t *by_number(const json_t *list, const char *key, double is)
{
    size_t i = 0;
    while (i < json_array_size(list) &&
           number(json_array_get(list, i), key) != is)
        i++;
    assert_true(i < json_array_size(list));
    return json_array_get(list, i);
}

TEST_WITH(outliers_are_explained, setup_still, teardown_still)
{
    sleep_as_usual();
    sleeps_ns[50] = 150 * MS; /* of batch 12 */
    SCOPED_LOADER l = open_loader("2");
    fixture_pass(l, IMAGES / BATCH);
    json_t *doc = json_of(l);
    const json_t *outliers = json_object_get(doc, "outliers");
    const json_t *last = json_object_get(outliers, "last");
    assert_int_equal(number(outliers, "count"), 1);
    const json_t *found = by_number(last, "sequence", 12);
    assert_true(number(found, "wait_us") > number(found, "alone_us") - 1e-3);
    assert_true(number(found, "alone_us") > number(found, "wait_us") / 2);
    assert_string_equal(string(found, "cause"), "prep");
    assert_int_equal(number(found, "sample_index"), 50);
    const json_t *slow =
        by_number(json_object_get(doc, "slow_samples"), "sample_index", 50);
    assert_string_equal(string(found, "path"), string(slow, "path"));
    assert_string_equal(string(slow, "stage"), "doze");
    assert_true(number(slow, "stall_fraction") > 0);
    assert_true(number(slow, "stall_fraction") <= 1);
    json_decref(doc);
}

/* ---- Gaps --------------------------------------------------------------- */

static struct feedline_gap_stats gaps(const feedline_loader *l)
{
    struct feedline_gap_stats g = {.struct_size = sizeof(g)};
    assert_ok(feedline_loader_get_gaps(l, &g));
    return g;
}

TEST_WITH(gaps_have_a_period, setup, teardown)
{
    memset(sleeps_ns, 0, sizeof(sleeps_ns));
    fdl_clock_replace(clock_of_work);
    SCOPED_LOADER l = open_loader("1");
    assert_int_equal(gaps(l).count, 0);
    for (uint32_t i = 0; i < 100; i++) {
        fixture_pass(l, 1);
        work_ms(i % 20 == 19 ? 60 : 2);
    }
    struct feedline_gap_stats g = gaps(l);
    assert_int_equal(g.count, 4); /* the last has no step behind it */
    assert_int_equal(g.longest_ns, 60000000);
    assert_int_equal(g.median_ns, 2000000);
    assert_int_equal(g.total_ns, 4 * 58000000);
    assert_int_equal(g.period, 20);
    json_t *doc = json_of(l);
    assert_int_equal(number(json_object_get(doc, "gaps"), "count"), g.count);
    json_decref(doc);
    assert_ok(feedline_loader_reset_stats(l));
    assert_int_equal(gaps(l).count, 0);
    assert_int_equal(gaps(l).median_ns, 0);
}

/* What comes between END and the next epoch is one step's. */
TEST_WITH(evaluation_is_a_gap, setup, teardown)
{
    memset(sleeps_ns, 0, sizeof(sleeps_ns));
    fdl_clock_replace(clock_of_work);
    SCOPED_LOADER l = open_loader("1");
    for (uint32_t epoch = 0; epoch < 5;) {
        feedline_batch *b;
        int32_t status = feedline_loader_next(l, -1, &b);
        assert_ok(status);
        feedline_batch_release(b);
        if (status == FEEDLINE_END) {
            work_ms(60);
            assert_ok(feedline_loader_start(l, ++epoch));
        }
    }
    fixture_pass(l, 1);
    struct feedline_gap_stats g = gaps(l);
    assert_int_equal(g.count, 5);
    assert_int_equal(g.period, IMAGES / BATCH);
}

/* ---- Head-room ---------------------------------------------------------- */

static bool near(double a, double b)
{
    double off = a > b ? a - b : b - a;
    return off <= 1e-9 * (1 + (a > 0 ? a : -a));
}

/* Every sample sleeps, the consumer a little: nearly all of it is prep. */
TEST_WITH(headroom_is_of_the_ledger, setup, teardown)
{
    struct feedline_headroom h = {.struct_size = sizeof(h)};
    for (uint32_t i = 0; i < IMAGES; i++)
        sleeps_ns[i] = 2 * MS;
    SCOPED_LOADER l = open_loader("1");
    assert_error(feedline_loader_get_headroom(NULL, &h), FEEDLINE_EINVAL,
                 "loader");
    assert_error(feedline_loader_get_headroom(l, NULL), FEEDLINE_EINVAL, "");
    assert_ok(feedline_loader_get_headroom(l, &h)); /* of nothing */
    assert_true(near(h.batches_per_second, 0) && near(h.fed, 0));
    for (uint32_t i = 0; i < 20; i++) {
        fixture_pass(l, 1);
        nap(MS);
    }
    struct feedline_stats s = fixture_stats(l);
    assert_ok(feedline_loader_get_headroom(l, &h));
    double stall = (double)s.wait_ns / (double)s.wall_ns;
    double fed = 1 / (1 - stall) - 1;
    assert_true(near(h.fed, fed < 99 ? fed : 99));
    assert_true(near(h.batches_per_second, 20e9 / (double)s.wall_ns));
    assert_true(h.fed > 0);
    assert_true(h.two_workers >= 0 && h.two_workers <= h.fed);
    assert_true(h.storage >= 0 && h.storage <= h.fed);
    assert_true(h.transfer >= 0 && h.transfer <= h.fed);
    assert_true(near(h.stages[FEEDLINE_STAGE_TRANSFER], 0));
    assert_true(h.stages[FEEDLINE_STAGE_READ] > 0);
    assert_true(h.stages[FEEDLINE_STAGE_DECODE] > 0);
    assert_true(h.stages[FEEDLINE_STAGE_CONSUME] > h.batches_per_second);
    json_t *doc = json_of(l);
    const json_t *json = json_object_get(doc, "headroom");
    assert_true(near(number(json, "fed"), h.fed));
    assert_true(number(json_object_get(json, "stages"), "consume") > 0);
    json_decref(doc);
}

/* ---- While everything runs ---------------------------------------------- */

static _Atomic int over;

static void *look(void *arg)
{
    feedline_loader *l = arg;
    static char own[1 << 20];
    uint64_t needed;
    while (!atomic_load(&over)) {
        struct feedline_slow_sample s = {.struct_size = sizeof(s)};
        if (feedline_loader_slow_count(l) > 0 &&
            feedline_loader_get_slow(l, 0, &s) == FEEDLINE_OK)
            assert_non_null(s.path);
        gaps(l);
        feedline_loader_stats_json(l, own, sizeof(own), &needed);
        feedline_loader_reset_stats(l);
    }
    return NULL;
}

TEST_WITH(others_look_and_reset, setup, teardown)
{
    pthread_t thread;
    memset(sleeps_ns, 0, sizeof(sleeps_ns));
    SCOPED_LOADER l = open_loader("3");
    atomic_store(&over, 0);
    pthread_create(&thread, NULL, look, l);
    for (int i = 0; i < 300; i++) {
        assert_ok(feedline_loader_phase_begin(l, "step"));
        fixture_pass(l, 1);
        assert_ok(feedline_loader_phase_end(l));
        if (i % 100 == 50)
            assert_ok(feedline_loader_start(l, 0));
    }
    atomic_store(&over, 1);
    pthread_join(thread, NULL);
}

TEST_MAIN("notable")
