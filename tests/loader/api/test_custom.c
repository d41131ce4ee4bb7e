/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Custom operations through the public interface: what a run function is given,
 * what its result does, what the statistics say of it, and shared objects.
 */
#include "fair_lock.h"
#include "loader/loader.h"
#include "loader/report/evidence.h"
#include "tests/loader/fixture.h"

#include <feedline/draws.h>

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#define N    24
#define SIDE 16

FIXTURE_IMAGES(N)

static struct feedline_op_def op_of(
    const char *name, int32_t (*run)(const struct feedline_op_call *),
    void *user)
{
    return (struct feedline_op_def){.struct_size =
                                        sizeof(struct feedline_op_def),
                                    .name = name,
                                    .run = run,
                                    .user = user};
}

static feedline_pipeline *pipeline_of(void)
{
    feedline_pipeline *p;
    assert_ok(feedline_pipeline_create("none", &p));
    assert_ok(feedline_pipeline_add(p, "resize", "width=16 height=16"));
    return p;
}

static void add(feedline_pipeline *p, const struct feedline_op_def *def)
{
    assert_ok(feedline_pipeline_register(p, def));
    assert_ok(feedline_pipeline_add(p, def->name, NULL));
}

#define OPTIONS "dtype=u8 layout=nhwc batch_size=8 epochs=1 "

/* Resized, and then what the program defines. */
static feedline_loader *loader_of(const struct feedline_op_def *def,
                                  const char *options)
{
    char operations[64];
    snprintf(operations, sizeof(operations), "resize width=16 height=16;%s",
             def->name);
    return fixture_with(images.ds, def, operations, OPTIONS "%s", options);
}

/* Takes the pipeline. */
static feedline_loader *loader_with(feedline_pipeline *p, const char *workers)
{
    static const char *const fixed[][2] = {{"dtype", "u8"},
                                           {"layout", "nhwc"},
                                           {"batch_size", "8"},
                                           {"epochs", "1"}};
    feedline_config *cfg;
    feedline_loader *l;
    assert_ok(feedline_config_create(&cfg));
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
        assert_ok(feedline_config_set(cfg, fixed[i][0], fixed[i][1]));
    assert_ok(feedline_config_set(cfg, "workers", workers));
    assert_ok(feedline_loader_create(cfg, images.ds, p, &l));
    feedline_pipeline_destroy(p);
    feedline_config_destroy(cfg);
    return l;
}

/* ---- What a function sees ----------------------------------------------- */

struct seen {
    _Atomic uint32_t calls;
    _Atomic uint32_t wrong;
};

/* The first row says what was drawn and asked for. */
static int32_t look(const struct feedline_op_call *call)
{
    struct seen *seen = call->user;
    const struct feedline_image *image = &call->image;
    bool right = call->struct_size == sizeof(*call) && call->place == 1 &&
                 image->width == SIDE && image->height == SIDE &&
                 image->channels == 3 && image->row_bytes >= 3 * SIDE &&
                 call->scratch && (uintptr_t)call->scratch % 64 == 0;
    memset(call->scratch, 0xa5, 1000);
    image->data[0] = (uint8_t)call->sample_index;
    image->data[1] = (uint8_t)feedline_rng_u32(call->rng);
    image->data[2] = (uint8_t)call->epoch;
    atomic_fetch_add(&seen->calls, 1);
    if (!right)
        atomic_fetch_add(&seen->wrong, 1);
    return FEEDLINE_OK;
}

TEST_WITH(calls_are_complete_and_repeat, setup, teardown)
{
    struct seen seen = {0};
    struct feedline_op_def def = op_of("look", look, &seen);
    def.scratch_bytes = 1000;
    uint64_t hash[2];
    for (int i = 0; i < 2; i++) {
        SCOPED_LOADER l = loader_of(&def, i ? "workers=5" : "workers=1");
        hash[i] = fixture_run(l, 1);
    }
    assert_int_equal(seen.calls, 2 * N);
    assert_int_equal(seen.wrong, 0);
    assert_int_equal(hash[0], hash[1]);
}

TEST_WITH(pixels_are_changed_in_place, setup, teardown)
{
    struct seen seen = {0};
    struct feedline_op_def def = op_of("look", look, &seen);
    def.scratch_bytes = 1000;
    SCOPED_LOADER l = loader_of(&def, "workers=2");
    feedline_batch *b;
    uint32_t n = 0;
    while (feedline_loader_next(l, -1, &b) == FEEDLINE_OK) {
        struct feedline_batch_info info = fixture_info(b);
        const uint8_t *pixels = info.images.data;
        for (uint32_t i = 0; i < info.count; i++, n++)
            assert_int_equal(pixels[i * SIDE * SIDE * 3], info.sample_index[i]);
        feedline_batch_release(b);
    }
    assert_int_equal(n, N);
}

/* ---- Sleeping and burning ----------------------------------------------- */

/* Sample 0 waits until three others have been through. */
static int32_t wait_for_others(const struct feedline_op_call *call)
{
    struct seen *seen = call->user;
    if (call->sample_index != 0) {
        atomic_fetch_add(&seen->calls, 1);
        return FEEDLINE_OK;
    }
    while (atomic_load(&seen->calls) < 3)
        usleep(100);
    return FEEDLINE_OK;
}

TEST_WITH(one_that_waits_blocks_no_other, setup, teardown)
{
    struct seen seen = {0};
    struct feedline_op_def def =
        op_of("wait_for_others", wait_for_others, &seen);
    SCOPED_LOADER l = loader_of(&def, "workers=2");
    fixture_run(l, 1); /* would not end if the others had to wait */
    assert_int_equal(seen.calls, N - 1);
}

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int32_t nap(const struct feedline_op_call *call)
{
    (void)call;
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    return FEEDLINE_OK;
}

static int32_t burn(const struct feedline_op_call *call)
{
    struct timespec now;
    (void)call;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    int64_t until = now.tv_sec * 1000000000 + now.tv_nsec + 3000000;
    while (now.tv_sec * 1000000000 + now.tv_nsec < until)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return FEEDLINE_OK;
}

TEST_WITH(sleep_is_not_taken_for_work, setup, teardown)
{
    struct feedline_op_def def = op_of("nap", nap, NULL);
    feedline_pipeline *p = pipeline_of();
    add(p, &def);
    def.name = "burn";
    def.run = burn;
    add(p, &def);
    SCOPED_LOADER l = loader_with(p, "1");
    int64_t began = monotonic_ns();
    fixture_run(l, 1);
    uint64_t took = (uint64_t)(monotonic_ns() - began);

    struct feedline_stage_stats napped = {.struct_size = sizeof(napped)};
    struct feedline_stage_stats burnt = napped, augment = napped;
    assert_int_equal(feedline_loader_stage_count(l), FEEDLINE_STAGE_COUNT + 2);
    assert_string_equal(feedline_loader_stage_name(l, 1), "decode");
    assert_string_equal(feedline_loader_stage_name(l, FEEDLINE_STAGE_COUNT),
                        "nap");
    assert_string_equal(feedline_loader_stage_name(l, FEEDLINE_STAGE_COUNT + 1),
                        "burn");
    assert_null(feedline_loader_stage_name(l, FEEDLINE_STAGE_COUNT + 2));
    assert_ok(
        feedline_loader_get_stage_stats(l, FEEDLINE_STAGE_COUNT, &napped));
    assert_ok(
        feedline_loader_get_stage_stats(l, FEEDLINE_STAGE_COUNT + 1, &burnt));
    assert_ok(
        feedline_loader_get_stage_stats(l, FEEDLINE_STAGE_AUGMENT, &augment));
    assert_error(
        feedline_loader_get_stage_stats(l, FEEDLINE_STAGE_COUNT + 2, &burnt),
        FEEDLINE_ERANGE, "there are 7");

    const uint64_t all = N * UINT64_C(3000000);
    assert_int_equal(napped.items, N);
    assert_true(napped.busy_ns >= all);
    assert_true(napped.cpu_ns < all / 2);
    assert_true(burnt.busy_ns >= all);
    assert_true(burnt.cpu_ns >= all);
    assert_true(burnt.cpu_ns <= burnt.busy_ns + all / 10);
    /* One worker: none of it is in there, too. */
    assert_true(napped.busy_ns + burnt.busy_ns + augment.busy_ns <= took);

    const char *json = fixture_json(l);
    assert_non_null(strstr(json, "\"nap\""));
    assert_non_null(strstr(json, "cpu_seconds"));
    assert_ok(feedline_loader_reset_stats(l));
    assert_ok(
        feedline_loader_get_stage_stats(l, FEEDLINE_STAGE_COUNT + 1, &burnt));
    assert_int_equal(burnt.busy_ns, 0);
    assert_int_equal(burnt.cpu_ns, 0);
}

/* ---- A lock that all calls share ---------------------------------------- */

static struct fair_lock shared = FAIR_LOCK;

/* 2 ms behind the lock, and all since the call began was waiting for it. */
static int32_t behind_a_lock(const struct feedline_op_call *call)
{
    int64_t called = monotonic_ns();
    fair_lock_take(&shared);
    feedline_op_waited(call, monotonic_ns() - call->begin_ns);
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    fair_lock_give(&shared);
    return call->begin_ns > 0 && call->begin_ns <= called ? FEEDLINE_OK
                                                          : FEEDLINE_EUSER;
}

static struct feedline_stage_stats stage_of(feedline_loader *l, uint32_t i)
{
    return fixture_stage(l, FEEDLINE_STAGE_COUNT + i);
}

static void assert_shown(feedline_loader *l, bool locked)
{
    static char text[65536];
    uint64_t needed;
    assert_ok(
        feedline_loader_stats_table(l, NULL, 0, text, sizeof(text), &needed));
    assert_int_equal(strstr(text, "Lock %") != NULL, locked);
    assert_non_null(strstr(fixture_json(l), "\"lock_seconds\""));
}

TEST_WITH(waits_for_a_lock_are_told, setup, teardown)
{
    struct feedline_op_def def = op_of("nap", nap, NULL);
    feedline_pipeline *p = pipeline_of();
    add(p, &def);
    def.name = "locked";
    def.run = behind_a_lock;
    add(p, &def);
    SCOPED_LOADER l = loader_with(p, "4");
    fixture_run(l, 1);
    struct feedline_stage_stats napped = stage_of(l, 0),
                                locked = stage_of(l, 1);
    assert_int_equal(napped.lock_ns, 0);
    assert_true(locked.lock_ns > 0);
    assert_true(locked.lock_ns + N * UINT64_C(2000000) <= locked.busy_ns);
    assert_shown(l, true);
    assert_ok(feedline_loader_reset_stats(l));
    assert_int_equal(stage_of(l, 1).lock_ns, 0);
    assert_shown(l, false);
}

/* More than there was, and less than nothing. */
static int32_t boast(const struct feedline_op_call *call)
{
    feedline_op_waited(call, -1000000000);
    feedline_op_waited(call, call->sample_index % 2 ? INT64_MAX : 0);
    feedline_op_waited(call, INT64_MAX);
    return FEEDLINE_OK;
}

TEST_WITH(no_call_waits_longer_than_it_takes, setup, teardown)
{
    struct feedline_op_def def = op_of("boast", boast, NULL);
    SCOPED_LOADER l = loader_of(&def, "workers=2");
    fixture_run(l, 1);
    struct feedline_stage_stats s = stage_of(l, 0);
    assert_int_equal(s.lock_ns, s.busy_ns);
}

/* 3 ms on a core behind the lock. */
static int32_t burn_behind_a_lock(const struct feedline_op_call *call)
{
    fair_lock_take(&shared);
    feedline_op_waited(call, monotonic_ns() - call->begin_ns);
    burn(call);
    fair_lock_give(&shared);
    return FEEDLINE_OK;
}

/* Four workers and one lock, in one run: where epochs are started, that is a
 * verdict too. 96 batches. */
static feedline_loader *run_locked(
    int32_t (*run)(const struct feedline_op_call *))
{
    struct feedline_op_def def = op_of("locked", run, NULL);
    feedline_loader *l =
        fixture_with(images.ds, &def, "resize width=16 height=16;locked",
                     "workers=4 batch_size=2 dtype=u8");
    fixture_run(l, 8);
    return l;
}

/* What is found on a machine where nobody else has cores: the time passed, but
 * nobody stood in a queue. */
static void judge_alone(feedline_loader *l, struct fdl_evidence *e,
                        struct fdl_verdict v[FDL_VERDICTS_MAX])
{
    fdl_evidence_gather(&l->sources, e);
    struct fdl_evidence alone = *e;
    alone.worker_sleep_ns += alone.worker_runq_ns;
    alone.worker_runq_ns = 0;
    fdl_verdict_judge(&alone, v);
    if (strcmp(v[0].code, "LOCK_BOUND") != 0)
        fail_msg("%s: %s %s", v[0].code, v[0].sentence, v[0].evidence);
}

TEST_WITH(the_verdict_names_the_lock, setup, teardown)
{
    struct fdl_evidence e;
    struct fdl_verdict v[FDL_VERDICTS_MAX];
    SCOPED_LOADER l = run_locked(behind_a_lock);
    judge_alone(l, &e, v);
    assert_non_null(strstr(v[0].sentence, "\"locked\""));
    assert_int_equal(v[0].tuner, 0);
}

TEST_WITH(whoever_has_the_lock_may_need_a_core, setup, teardown)
{
    struct fdl_evidence e;
    struct fdl_verdict v[FDL_VERDICTS_MAX];
    SCOPED_LOADER l = run_locked(burn_behind_a_lock);
    judge_alone(l, &e, v);
    assert_true(e.lock.calls >= 8 * N); /* more are under way */
    assert_true(e.lock.waits > 0 && e.lock.waits <= e.lock.calls);
    assert_true(e.lock.cpu_ns >= 8 * N * INT64_C(3000000));
    assert_true(e.lock.wait_ns < e.lock.wall_ns);
    assert_string_equal(e.lock.name, "locked");
}

/* ---- Failing ------------------------------------------------------------ */

/* Sample 3 is an I/O error, samples 5 and 6 numbers that mean nothing. */
static int32_t refuse(const struct feedline_op_call *call)
{
    if (call->sample_index == 3)
        return FEEDLINE_EIO;
    if (call->sample_index == 6)
        return -12345;
    return call->sample_index == 5 ? 77 : FEEDLINE_OK;
}

TEST_WITH(errors_are_of_the_sample, setup, teardown)
{
    struct feedline_op_def def = op_of("refuse", refuse, NULL);
    feedline_loader *l = loader_of(&def, "workers=3 on_error=zero");
    feedline_batch *b = fixture_next(l);
    struct feedline_batch_info info = fixture_info(b);
    for (uint32_t i = 0; i < info.count; i++) {
        bool odd = i == 5 || i == 6;
        assert_int_equal(info.sample_status[i], i == 3 ? FEEDLINE_EIO
                                                : odd  ? FEEDLINE_EUSER
                                                       : FEEDLINE_OK);
    }
    feedline_batch_release(b);
    fixture_run(l, 1);
    struct feedline_stage_stats stats = fixture_stage(l, FEEDLINE_STAGE_COUNT);
    assert_int_equal(stats.errors, 3);
    assert_int_equal(stats.items, N);
    feedline_loader_destroy(l);

    l = loader_of(&def, "workers=3");
    assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_EIO,
                 "refuse returned EIO");
    feedline_loader_destroy(l);
}

/* ---- Registering -------------------------------------------------------- */

TEST_WITH(bad_definitions_are_refused, setup, teardown)
{
    feedline_pipeline *p = pipeline_of();
    const struct feedline_op_def good = {
        .struct_size = sizeof(good),
        .name = "good",
        .run = refuse,
    };
    struct feedline_op_def def = good;
    def.struct_size = 8;
    assert_error(feedline_pipeline_register(p, &def), FEEDLINE_EINVAL,
                 "sizeof");
    def.struct_size = offsetof(struct feedline_op_def, label) - 1;
    assert_error(feedline_pipeline_register(p, &def), FEEDLINE_EINVAL,
                 "sizeof");
    def = good;
    def.flags = 1;
    assert_error(feedline_pipeline_register(p, &def), FEEDLINE_EABI, "flags");
    def = good;
    def.run = NULL;
    assert_error(feedline_pipeline_register(p, &def), FEEDLINE_EINVAL, "run");
    def = good;
    def.name = NULL;
    assert_error(feedline_pipeline_register(p, &def), FEEDLINE_EINVAL, "name");
    def.name = "Good";
    assert_error(feedline_pipeline_register(p, &def), FEEDLINE_EINVAL, "Good");
    def.name = "resize";
    assert_error(feedline_pipeline_register(p, &def), FEEDLINE_EINVAL,
                 "already");
    assert_error(feedline_pipeline_register(p, NULL), FEEDLINE_EINVAL, "def");
    assert_error(feedline_pipeline_register(NULL, &good), FEEDLINE_EINVAL,
                 "pipeline");
    assert_ok(feedline_pipeline_register(p, &good));
    assert_error(feedline_pipeline_register(p, &good), FEEDLINE_EINVAL,
                 "already");
    assert_error(feedline_pipeline_add(p, "good", "x=1"), FEEDLINE_ENOENT, "x");
    assert_ok(feedline_pipeline_add(p, "good", ""));
    assert_error(feedline_pipeline_add(p, "random_resized_crop", NULL),
                 FEEDLINE_EINVAL, "after resize");
    for (char name[] = "op_0"; name[3] < '7'; name[3]++) {
        def.name = name; /* copied */
        assert_ok(feedline_pipeline_register(p, &def));
    }
    def.name = "one_more";
    assert_error(feedline_pipeline_register(p, &def), FEEDLINE_ERANGE,
                 "at most 8");
    feedline_pipeline_destroy(p);
}

/* Programs that were built before definitions had labels. */
TEST_WITH(a_shorter_definition_is_taken, setup, teardown)
{
    struct feedline_op_def def = {
        .struct_size = offsetof(struct feedline_op_def, label),
        .name = "older",
        .run = refuse,
        .label = "not to be read",
    };
    SCOPED_LOADER l = loader_of(&def, "workers=1 on_error=zero");
    fixture_run(l, 1);
    const char *text = fixture_json(l);
    assert_non_null(strstr(text, "\"label\":\"older\""));
    assert_null(strstr(text, "not to be read"));
}

static uint64_t run_plugin(const char *workers, bool twice)
{
    feedline_pipeline *p = pipeline_of();
    assert_ok(feedline_pipeline_load(p, CUSTOM_PLUGIN));
    for (int i = 0; i < (twice ? 2 : 0); i++)
        assert_ok(feedline_pipeline_add(p, "invert", NULL));
    assert_ok(feedline_pipeline_add(p, "sign", NULL));
    feedline_loader *l = loader_with(p, workers);
    uint64_t hash = fixture_run(l, 1);
    feedline_loader_destroy(l);
    return hash;
}

TEST_WITH(shared_objects_bring_operations, setup, teardown)
{
    feedline_pipeline *p = pipeline_of();
    assert_error(feedline_pipeline_load(p, "/no/such.so"), FEEDLINE_ENOENT,
                 "/no/such.so");
    char path[256];
    fixture_path(&images, 0, path, sizeof(path));
    assert_error(feedline_pipeline_load(p, path), FEEDLINE_EINVAL, path);
    assert_error(feedline_pipeline_load(p, "libm.so.6"), FEEDLINE_ENOENT,
                 "feedline_op_register");
    assert_ok(feedline_pipeline_load(p, CUSTOM_PLUGIN));
    assert_error(feedline_pipeline_load(p, CUSTOM_PLUGIN), FEEDLINE_EINVAL,
                 "already"); /* passed on */
    feedline_pipeline_destroy(p);

    /* The draws of `sign` are of its place, so two inversions, which take
     * themselves back, change them; the number of workers does not. */
    uint64_t once = run_plugin("1", false);
    assert_int_equal(once, run_plugin("4", false));
    assert_int_not_equal(once, run_plugin("2", true));
}

/* ---- What was drawn ----------------------------------------------------- */

TEST_WITH(draws_are_listed, setup, teardown)
{
    feedline_pipeline *p;
    assert_ok(feedline_pipeline_create("train", &p));
    SCOPED_LOADER l;
    assert_ok(feedline_loader_create(NULL, images.ds, p, &l));
    char a[1024], b[1024];
    uint64_t needed, size;
    assert_ok(
        feedline_loader_draw_json(l, 3, 4, 0, 0, 500, 375, NULL, 0, &needed));
    assert_ok(feedline_loader_draw_json(l, 3, 4, 0, 0, 500, 375, a, sizeof(a),
                                        &size));
    assert_int_equal(needed, size);
    assert_int_equal(needed, strlen(a) + 1);
    assert_non_null(strstr(a, "random_resized_crop"));
    assert_non_null(strstr(a, "normalize"));
    assert_ok(feedline_loader_draw_json(l, 3, 4, 0, 0, 500, 375, b, sizeof(b),
                                        &size));
    assert_string_equal(a, b);
    assert_ok(feedline_loader_draw_json(l, 4, 4, 0, 0, 500, 375, b, sizeof(b),
                                        &size));
    assert_string_not_equal(a, b);
    assert_error(feedline_loader_draw_json(l, 0, 0, 0, 0, 0, 1, b, 9, &size),
                 FEEDLINE_EINVAL, "pixels");
    assert_error(feedline_loader_draw_json(l, 0, 0, 0, 0, 9, 9, b, 9, &size),
                 FEEDLINE_ERANGE, "");
    assert_error(feedline_loader_draw_json(l, 0, 0, 0, 0, 9, 9, b, 9, NULL),
                 FEEDLINE_EINVAL, "needed");
    feedline_pipeline_destroy(p);
}

/* user: how many there should be. The last one of the last pixel is set. */
static int32_t mark(const struct feedline_op_call *call)
{
    const struct feedline_image *image = &call->image;
    const int32_t *channels = call->user;
    int32_t end = SIDE * SIDE * image->channels;
    if (image->channels != *channels)
        return FEEDLINE_EINVAL;
    if (image->channels % 2 == 0 && image->data[end - 1] != 255)
        return FEEDLINE_EDECODE;
    image->data[end - 1] = 77;
    return FEEDLINE_OK;
}

TEST_WITH(images_have_the_channels_of_the_batch, setup, teardown)
{
    static const char *const numbers[] = {"channels=1", "channels=2",
                                          "channels=3", "channels=4"};
    for (int32_t channels = 1; channels <= 4; channels++) {
        struct feedline_op_def def = op_of("mark", mark, &channels);
        SCOPED_LOADER l = loader_of(&def, numbers[channels - 1]);
        feedline_batch *b = fixture_next(l);
        struct feedline_batch_info info = fixture_info(b);
        assert_int_equal(info.images.shape[3], channels);
        const uint8_t *pixels = info.images.data;
        int32_t bytes = SIDE * SIDE * channels;
        for (uint32_t i = 1; i <= info.count; i++)
            assert_int_equal(pixels[(int32_t)i * bytes - 1], 77);
        if (channels % 2 == 0)
            assert_int_equal(pixels[channels - 1], 255);
        feedline_batch_release(b);
    }
}

TEST_MAIN("custom")
