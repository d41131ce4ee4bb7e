/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a loader says of its device, told by a backend whose device is made up:
 * memory is the host's, and times are a script.
 */
#include "loader/loader.h"
#include "loader/stream/engine_own.h"
#include "tests/loader/fixture.h"

#include <math.h>

#define N    256
#define MS   INT64_C(1000000)
#define STEP (100 * MS)

FIXTURE_IMAGES(N)

/* ---- The backend -------------------------------------------------------- */

/* A step takes 100 ms: a copy, beside the work on the batch before, and of the
 * wait for it, idle_ms. */
struct scripted {
    struct fdl_backend_config config;
    int64_t n, idle_ms;
};

static int32_t create(const struct fdl_backend_config *config, void **backend)
{
    struct scripted *s = calloc(1, sizeof(*s));
    assert_non_null(s);
    s->config = *config;
    s->idle_ms = *(const int64_t *)config->script;
    *backend = s;
    return FEEDLINE_OK;
}

static void observe(struct scripted *s)
{
    int64_t ready = ++s->n * STEP;
    struct fdl_device_times t = {
        .queued = ready - 30 * MS,
        .start = ready - 20 * MS,
        .end = ready - MS,
        .ready = ready,
        .entered = ready - s->idle_ms * MS,
        .copying = 19 * MS,
        .bytes = 19000000,
        .copies = 2,
    };
    s->config.observe(s->config.observer, &t);
}

/* The last word of the backend, after its loader is gone. */
static void destroy(void *backend)
{
    observe(backend);
    free(backend);
}

static int32_t submit(void *backend, struct fdl_transfer *t)
{
    observe(backend);
    return fdl_backend_host.submit(NULL, t);
}

static void stats(void *backend, struct fdl_backend_stats *out)
{
    (void)backend;
    *out = (struct fdl_backend_stats){
        .pinned_bytes = 1234,
        .device_bytes = 5678,
    };
}

static feedline_loader *open_scripted(feedline_dataset *ds, int64_t idle_ms)
{
    static struct fdl_backend_ops ops;
    feedline_loader *l;
    struct fdl_pipeline *p;
    struct fdl_options options;
    struct fdl_backend_config config = {.script = &idle_ms};
    ops = fdl_backend_host;
    ops.name = "scripted";
    ops.create = create;
    ops.destroy = destroy;
    ops.submit = submit;
    ops.stats = stats;
    assert_ok(fdl_options_init(&options, "loader", fdl_loader_options,
                               FDL_LOADER_OPTIONS));
    assert_ok(fdl_options_set_args(
        &options, "dtype=u8 batch_size=2 depth=2 workers=1 epochs=1"));
    assert_ok(fdl_pipeline_create("none", &p));
    assert_ok(fdl_pipeline_add(p, "resize", "width=16 height=16"));
    assert_ok(fdl_loader_create(&options, ds, p, &ops, &config, &l));
    l->engine->fit.latency_us = 500;
    l->engine->fit.gigabytes_per_second = 2;
    l->engine->fit_known = true;
    fdl_pipeline_destroy(p);
    fdl_options_fini(&options);
    return l;
}

/* ---- Cases -------------------------------------------------------------- */

TEST_WITH(host_loader_has_none, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.ds, "batch_size=4");
    struct feedline_device_stats d = {.struct_size = sizeof(d)}, before = d;
    assert_error(feedline_loader_get_device_stats(l, &d), FEEDLINE_ESTATE,
                 "device=host");
    assert_memory_equal(&d, &before, sizeof(d));
    assert_int_equal(feedline_loader_get_device_stats(NULL, &d),
                     FEEDLINE_EINVAL);
    const char *json = fixture_json(l);
    assert_non_null(strstr(json, "\"device_fraction\":null"));
    assert_non_null(strstr(json, "\"transfer\":null"));
}

TEST_WITH(sums_reach_the_caller, setup, teardown)
{
    SCOPED_LOADER l = open_scripted(images.ds, 10);
    fixture_pass_epoch(l);
    struct feedline_device_stats d = {.struct_size = sizeof(d)};
    assert_ok(feedline_loader_get_device_stats(l, &d));
    assert_int_equal(d.struct_size, sizeof(d));
    assert_int_equal(d.finish, 0);
    assert_int_equal(d.batches, N / 2);
    assert_int_equal(d.copies, N);
    assert_int_equal(d.copied_bytes, N / 2 * UINT64_C(19000000));
    assert_int_equal(d.queue_ns, N / 2 * 10 * MS);
    assert_int_equal(d.copy_ns, N / 2 * 19 * MS);
    assert_int_equal(d.finish_ns, N / 2 * MS);
    assert_int_equal(d.steps, N / 2);
    assert_int_equal(d.span_ns, (N / 2 - 1) * STEP);
    assert_int_equal(d.idle_ns, (N / 2 - 1) * 10 * MS);
    /* From 20 to 10 ms before ready, of 20 to 1. */
    assert_int_equal(d.overlap_ns, (N / 2 - 1) * 10 * MS);
    assert_int_equal(d.pinned_bytes, 1234);
    assert_int_equal(d.device_bytes, 5678);
    assert_true(d.latency_us == 500 && d.gigabytes_per_second == 2);
    assert_string_equal(d.regime, "latency");
    assert_non_null(d.finish_reason);

    assert_ok(feedline_loader_reset_stats(l));
    assert_ok(feedline_loader_get_device_stats(l, &d));
    assert_int_equal(d.batches + d.copies + d.copied_bytes + d.queue_ns +
                         d.copy_ns + d.overlap_ns + d.finish_ns + d.steps +
                         d.span_ns + d.idle_ns,
                     0);
    assert_int_equal(d.pinned_bytes, 1234);

    d.struct_size = offsetof(struct feedline_device_stats, copies);
    d.copies = 77;
    assert_ok(feedline_loader_get_device_stats(l, &d));
    assert_int_equal(d.copies, 77);
}

/* Of a batch from before the reset the backend may tell long after it. */
TEST(what_comes_late_does_not_count)
{
    static const uint64_t tickets[] = {4, 5, 3, 6};
    struct fdl_device_watch *w;
    struct fdl_device_ledger ledger;
    assert_ok(fdl_device_watch_create(&w));
    fdl_device_watch_reset(w, 5);
    for (uint32_t i = 0; i < 4; i++) {
        struct fdl_device_times t = {.ticket = tickets[i],
                                     .start = (i + 1) * MS,
                                     .end = (i + 2) * MS,
                                     .copies = 1};
        fdl_device_watch_observe(w, &t);
    }
    fdl_device_watch_get(w, &ledger);
    assert_int_equal(ledger.batches, 2);
    fdl_device_watch_rewind(w);
    struct fdl_device_times first = {.ticket = 0, .start = MS, .end = 2 * MS};
    fdl_device_watch_observe(w, &first);
    fdl_device_watch_get(w, &ledger);
    assert_int_equal(ledger.batches, 3);
    fdl_device_watch_unref(w);
}

static double json_number(const char *json, const char *key)
{
    const char *at = strstr(json, key);
    assert_non_null(at);
    return strtod(at + strlen(key), NULL);
}

TEST_WITH(json_has_the_transfer, setup, teardown)
{
    SCOPED_LOADER l = open_scripted(images.ds, 10);
    assert_non_null(strstr(fixture_json(l), "\"device_fraction\":null"));
    fixture_pass_epoch(l);
    const char *json = fixture_json(l);
    double fraction = json_number(json, "\"device_fraction\":");
    assert_true(fabs(fraction - 0.1) < 1e-12);
    const char *transfer = strstr(json, "\"transfer\":{");
    assert_non_null(transfer);
    static const struct {
        const char *key;
        double value;
    } members[] = {
        {"\"batches\":", N / 2},
        {"\"copies\":", N},
        {"\"copied_bytes\":", N / 2 * 19e6},
        {"\"queue_seconds\":", N / 2 * 0.010},
        {"\"copy_seconds\":", N / 2 * 0.019},
        {"\"overlap_fraction\":", (N / 2 - 1) * 10.0 / (N / 2 * 19.0)},
        {"\"finish_seconds\":", N / 2 * 0.001},
        {"\"gigabytes_per_second\":", 1},
        {"\"ceiling_gigabytes_per_second\":", 2},
        {"\"latency_us\":", 500},
        {"\"pinned_bytes\":", 1234},
        {"\"device_bytes\":", 5678},
        {"\"steps\":", N / 2},
        {"\"span_seconds\":", (N / 2 - 1) * 0.1},
        {"\"idle_seconds\":", (N / 2 - 1) * 0.01},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(members); i++) {
        double value = json_number(transfer, members[i].key);
        if (fabs(value - members[i].value) > 1e-9 * members[i].value)
            fail_msg("%s %g, not %g", members[i].key, value, members[i].value);
    }
    assert_non_null(strstr(transfer, "\"finish\":\"host\""));
    assert_non_null(strstr(transfer, "\"finish_reason\":\""));
    assert_non_null(strstr(transfer, "\"regime\":\"latency\""));
}

/* The device's clock decides: this host waits, and its GPU does not. */
TEST_WITH(verdict_goes_by_the_device, setup, teardown)
{
    static const struct {
        int64_t idle_ms;
        const char *level;
    } of[] = {{0, "FED"}, {2, "MINOR"}, {10, "MODERATE"}, {40, "HIGH"}};
    for (size_t i = 0; i < FDL_COUNT_OF(of); i++) {
        SCOPED_LOADER l = open_scripted(images.ds, of[i].idle_ms);
        fixture_pass_epoch(l);
        struct feedline_verdict v = fixture_verdict(l);
        print_message("%s: %s\n", v.code, v.sentence);
        assert_string_equal(v.level, of[i].level);
        assert_non_null(strstr(v.sentence, "GPU was idle"));
    }
}

/* A batch that is held keeps the backend, which may still tell something. */
TEST_WITH(backend_may_speak_after_the_loader, setup, teardown)
{
    feedline_loader *l = open_scripted(images.ds, 0);
    feedline_batch *b = fixture_next(l);
    struct fdl_device_watch *watch = fdl_device_watch_ref(l->watch.device);
    struct fdl_device_ledger before, after;
    feedline_loader_destroy(l);
    fdl_device_watch_get(watch, &before);
    feedline_batch_release(b);
    fdl_device_watch_get(watch, &after);
    assert_int_equal(after.batches, before.batches + 1);
    fdl_device_watch_unref(watch);
}

TEST_MAIN("device_stats")
