/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches on a GPU, through the public interface, held against those of a
 * loader with device=host: the same bytes, whatever the consumer's streams do.
 * CTest runs the cases on the double of the CUDA driver (FEEDLINE_LIBCUDA),
 * which also watches who touches what when, and, with label gpu, on hardware.
 *
 * The consumer here queues, on a stream of its own, work that takes a while and
 * behind it a copy of the batch back to the host, and gives the batch back at
 * once. So most of a slot's next images are ready before the last ones were
 * read, and a missing wait anywhere shows as wrong bytes.
 */
#include "device_rig.h"

#include <feedline/bench.h>
#include <feedline/targets.h>

#include <sys/wait.h>
#include <unistd.h>

/* ---- The same bytes ----------------------------------------------------- */

static void check_equal(struct rig *r, const char *options, const char *finish,
                        uint32_t n)
{
    struct pair p;
    rig_pair_open(r, &p, "cuda:0", finish, options);
    for (uint32_t i = 0; i < n; i++)
        rig_pair_next(r, &p, 0, r->streams[i % 2]);
    rig_pair_close(r, &p);
}

TEST(equals_host)
{
    static const char *const dtypes[] = {"u8", "f32", "f16", "bf16"};
    static const char *const layouts[] = {"nchw", "nhwc"};
    static const char *const finishes[] = {"host", "device", "auto"};
    SCOPED_RIG r;
    rig_open(&r);
    for (uint32_t i = 0; i < 24; i++) {
        char options[64];
        snprintf(options, sizeof(options), "dtype=%s layout=%s", dtypes[i % 4],
                 layouts[i / 4 % 2]);
        /* u8 has nothing to finish, so it is not asked for. */
        check_equal(&r, options, i % 4 ? finishes[i / 8] : "auto",
                    RIG_BATCHES + 2);
    }
}

/* torchvision's floats, too. */
TEST(equals_host_in_any_rounding)
{
    static const char *const forms[] = {"dtype=f32", "dtype=f32 layout=nhwc",
                                        "dtype=f16", "dtype=bf16"};
    static const char *const roundings[] = {"divide", "multiply"};
    SCOPED_RIG r;
    rig_open(&r);
    for (uint32_t i = 0; i < 8; i++) {
        char options[64];
        snprintf(options, sizeof(options), "%s rounding=%s", forms[i / 2],
                 roundings[i % 2]);
        check_equal(&r, options, "device", RIG_BATCHES);
    }
}

TEST(equals_host_in_any_channels)
{
    static const char *const finishes[] = {"host", "device"};
    SCOPED_RIG r;
    rig_open(&r);
    for (uint32_t i = 0; i < 16; i++) {
        char options[64];
        snprintf(options, sizeof(options), "dtype=%s channels=%u",
                 i / 8 ? "bf16" : "f32", i / 2 % 4 + 1);
        check_equal(&r, options, finishes[i % 2], RIG_BATCHES);
    }
}

TEST(equals_host_in_any_sizes)
{
    SCOPED_RIG r;
    rig_open(&r);
    check_equal(&r, "dtype=u8 max_sample_bytes=200k", "auto", 2 * RIG_BATCHES);
    check_equal(&r, "dtype=u8 layout=nhwc max_sample_bytes=200k", "host",
                RIG_BATCHES);
}

/* Each view has a chain of its own, so the host finishes them. */
TEST(equals_host_in_views)
{
    SCOPED_RIG r;
    rig_open(&r);
    check_equal(&r, "dtype=u8 op=views", "auto", RIG_BATCHES);
    check_equal(&r, "dtype=f32 layout=nhwc op=views", "auto", RIG_BATCHES);
}

/* Mixed in the last pass, wherever that is made, and the targets beside. */
TEST(equals_host_mixed)
{
    SCOPED_RIG r;
    struct pair p;
    rig_open(&r);
    check_equal(&r, "dtype=u8 op=mix", "auto", RIG_BATCHES);
    for (int i = 0; i < 8; i++) {
        static const char *const forms[] = {
            "dtype=f32 op=mix", "dtype=f32 layout=nhwc op=mix",
            "dtype=f16 op=cutmix", "dtype=bf16 layout=nhwc op=cutmix"};
        check_equal(&r, forms[i % 4], i < 4 ? "host" : "device", RIG_BATCHES);
    }
    rig_pair_open(&r, &p, "cuda:0", "device", "op=mix");
    feedline_batch *db = fixture_take(p.device), *hb = fixture_take(p.host);
    struct feedline_batch_targets d = fixture_targets(db),
                                  h = fixture_targets(hb);
    struct feedline_batch_info info = fixture_info(db);
    assert_int_equal(d.soft.device, FEEDLINE_CUDA);
    assert_memory_equal(d.mixes, h.mixes, info.count * sizeof(*d.mixes));
    info.images = d.soft;
    info.image_bytes = info.count * d.classes * sizeof(float);
    assert_ok(feedline_batch_wait(db, r.streams[0]));
    rig_read_back(&r, &info, r.streams[0], &p.echo);
    assert_cuda(r.run.cuda->StreamSynchronize(r.streams[0]));
    assert_memory_equal(p.echo.memory, h.soft.data, info.image_bytes);
    feedline_batch_release(db);
    feedline_batch_release(hb);
    rig_pair_close(&r, &p);
}

/* on_error=zero: zeros, whatever a black pixel would become. */
TEST(equals_host_where_samples_failed)
{
    static const char *const dtypes[] = {"f32", "f16", "bf16"};
    static const uint32_t bad[] = {0, 13, 14, 15, RIG_IMAGES - 1};
    SCOPED_RIG r;
    rig_open(&r);
    for (uint32_t i = 0; i < FDL_COUNT_OF(bad); i++)
        memset(r.images.data[bad[i]], 0, 64);
    for (uint32_t i = 0; i < 6; i++) {
        char options[128];
        snprintf(options, sizeof(options),
                 "on_error=zero dtype=%s layout=%s shuffle=%s", dtypes[i % 3],
                 i / 3 ? "nhwc" : "nchw", i % 2 ? "true" : "false");
        check_equal(&r, options, "device", 2 * RIG_BATCHES);
    }
    check_equal(&r, "on_error=zero dtype=f32 op=five_crop batch_size=10",
                "device", 8);
    check_equal(&r, "on_error=zero dtype=f32 op=mix", "device",
                2 * RIG_BATCHES);
}

/* Large ones go in pieces, as they are filled, also when the stream ends in the
 * middle of one. */
TEST(equals_host_in_parts)
{
    SCOPED_RIG r;
    struct pair p;
    struct feedline_device_stats s = {.struct_size = sizeof(s)};
    rig_open(&r);
    check_equal(&r, "dtype=f16 size=320 batch_size=32", "device", 4);

    rig_pair_open(&r, &p, "cuda:0", "host", "dtype=f32 size=320");
    for (uint32_t epoch = 0; epoch < 8; epoch++) {
        assert_ok(feedline_loader_start(p.device, epoch));
        assert_ok(feedline_loader_start(p.host, epoch));
        for (uint32_t n = rig_draw(&r, 3); n > 0; n--)
            rig_pair_next(&r, &p, 0, r.streams[0]);
    }
    for (uint32_t i = 0; i < RIG_BATCHES; i++)
        rig_pair_next(&r, &p, 0, r.streams[0]);
    assert_ok(feedline_loader_get_device_stats(p.device, &s));
    if (s.copies <= s.batches)
        fail_msg("%llu copies of %llu batches: none went in parts",
                 (unsigned long long)s.copies, (unsigned long long)s.batches);
    rig_pair_close(&r, &p);
}

/* A child stays while the parent fills slots that were pinned before. */
TEST(equals_host_beside_a_child)
{
    struct rig r;
    struct pair p;
    int gate[2], status;
    rig_open(&r);
    rig_pair_open(&r, &p, "cuda:0", "auto", "");
    rig_pair_next(&r, &p, 0, r.streams[0]);
    assert_int_equal(pipe(gate), 0);
    pid_t child = fork();
    if (child == 0) {
        close(gate[1]);
        _exit(read(gate[0], &status, 1) != 0);
    }
    for (uint32_t i = 0; i < 3 * RIG_BATCHES; i++)
        rig_pair_next(&r, &p, 0, r.streams[0]);
    close(gate[0]);
    close(gate[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    rig_pair_close(&r, &p);
    rig_close(&r);
}

/* ---- The reuse hazard --------------------------------------------------- */

#define BATCHES 4000u

/* One batch: read late by one stream or by both, given back at once or, now and
 * then, a few batches later. */
static void hazard_step(struct desk *d, feedline_batch *held[2])
{
    uint32_t first = rig_draw(&d->rig, 2);
    uint32_t n_streams = 1 + (rig_draw(&d->rig, 4) == 0);
    feedline_batch *b = desk_next(d);
    struct feedline_batch_info info = fixture_info(b);
    for (uint32_t k = 0; k < n_streams; k++) {
        uint32_t s = (first + k) % 2;
        assert_ok(feedline_batch_wait(b, feedline_busy_stream(d->busy[s])));
        desk_read_late(d, s, &info);
    }
    uint32_t hold = rig_draw(&d->rig, 8);
    if (hold < 2) {
        feedline_batch *other = held[hold];
        held[hold] = b;
        b = other;
    }
    feedline_batch_release(b);
}

static void run_hazard(const char *options, const char *finish, uint32_t n)
{
    struct desk d;
    feedline_batch *held[2] = {NULL, NULL};
    desk_open(&d, options, finish);
    for (uint32_t i = 0; i < n; i++)
        hazard_step(&d, held);
    for (uint32_t i = 0; i < 2; i++)
        feedline_batch_release(held[i]);
    desk_close(&d);
}

TEST(slot_is_not_reused_too_early)
{
    run_hazard("dtype=u8 depth=4", "auto", TEST_ROUNDS(BATCHES));
}

TEST(finished_slot_is_not_reused_too_early)
{
    run_hazard("dtype=f16 depth=4", "device", TEST_ROUNDS(BATCHES / 2));
}

/* The consumer's work is on a stream that waited for another one. */
TEST(release_on_another_stream)
{
    struct desk d;
    fdl_cuda_event there;
    desk_open(&d, "dtype=u8 depth=3", "auto");
    const struct fdl_cuda_api *cuda = d.rig.run.cuda;
    assert_cuda(cuda->EventCreate(&there, FDL_CUDA_EVENT_NO_TIMING));
    for (uint32_t i = 0; i < TEST_ROUNDS(500); i++) {
        feedline_batch *b = desk_next(&d);
        struct feedline_batch_info info = fixture_info(b);
        void *works = feedline_busy_stream(d.busy[1]);
        assert_ok(feedline_batch_wait(b, d.rig.streams[0]));
        assert_cuda(cuda->EventRecord(there, d.rig.streams[0]));
        assert_cuda(cuda->StreamWaitEvent(works, there, 0));
        desk_read_late(&d, 1, &info);
        feedline_batch_release_on(b, works);
    }
    desk_close(&d);
    assert_cuda(cuda->EventDestroy(there));
}

TEST(four_streams_may_wait)
{
    SCOPED_RIG r;
    struct pair p;
    rig_open(&r);
    rig_pair_open(&r, &p, "cuda:0", "auto", "dtype=u8");
    feedline_batch *b = fixture_take(p.device), *hb = fixture_take(p.host);
    for (uint32_t twice = 0; twice < 2; twice++)
        for (uint32_t s = 0; s < 4; s++)
            assert_ok(feedline_batch_wait(b, r.streams[s]));
    assert_error(feedline_batch_wait(b, r.streams[4]), FEEDLINE_ERANGE, "4");
    for (uint32_t s = 0; s < 4; s++)
        rig_pair_check(&r, &p, b, hb, 0, r.streams[s]);
    feedline_batch_release(b);
    feedline_batch_release(hb);
    rig_pair_close(&r, &p);
}

TEST(host_batches_need_no_stream)
{
    SCOPED_RIG r;
    rig_open(&r);
    SCOPED_LOADER host = rig_loader(r.dataset, "host", "dtype=u8");
    struct feedline_device_stats s = {.struct_size = sizeof(s)};
    for (uint32_t i = 0; i < 3 * RIG_BATCHES; i++) {
        feedline_batch *b = fixture_take(host);
        assert_ok(feedline_batch_wait(b, r.streams[0]));
        if (i % 2)
            feedline_batch_release_on(b, r.streams[0]);
        else
            feedline_batch_release(b);
    }
    assert_error(feedline_loader_get_device_stats(host, &s), FEEDLINE_ESTATE,
                 "host");
}

/* ---- Stopping, positions ------------------------------------------------ */

/* Held batches outlive stop, start and destroy, though copies are under way and
 * a consumer still reads what it gave back. */
static void stop_and_destroy(struct rig *r, uint32_t taken)
{
    feedline_batch *db[3], *hb[3];
    struct feedline_batch_info d[3], h[3];
    struct echo e[3];
    struct pair p;
    feedline_busy *busy;
    rig_pair_open(r, &p, "cuda:0", "auto", "dtype=u8");
    assert_ok(feedline_busy_create("cuda:0", &busy));
    void *stream = feedline_busy_stream(busy);
    for (uint32_t i = 0; i < taken; i++) {
        rig_echo_open(r, &e[i], rig_batch_bytes(p.host));
        db[i] = fixture_take(p.device);
        hb[i] = fixture_take(p.host);
        d[i] = fixture_info(db[i]);
        h[i] = fixture_info(hb[i]);
        assert_ok(feedline_batch_wait(db[i], stream));
        assert_ok(feedline_busy_work(busy, 3000000));
        rig_read_back(r, &d[i], stream, &e[i]);
    }
    feedline_batch_release(db[0]);
    assert_ok(feedline_loader_stop(p.device));
    if (rig_draw(r, 2)) {
        assert_ok(feedline_loader_start(p.device, 3));
        assert_ok(feedline_loader_start(p.host, 3));
        rig_pair_next(r, &p, 0, r->streams[0]);
    }
    feedline_loader_destroy(p.device);
    assert_ok(feedline_busy_wait(busy));
    for (uint32_t i = 0; i < taken; i++) {
        /* The table of a batch is gone with it: nothing of d[0] but numbers. */
        assert_memory_equal(e[i].memory, h[i].images.data,
                            (size_t)h[i].image_bytes);
        if (i > 0) {
            rig_read_back(r, &d[i], stream, &p.echo);
            assert_ok(feedline_busy_wait(busy));
            assert_same_bytes(&d[i], &h[i], &p.echo);
            feedline_batch_release(db[i]);
        }
        feedline_batch_release(hb[i]);
        rig_echo_close(r, &e[i]);
    }
    rig_echo_close(r, &p.echo);
    feedline_busy_destroy(busy);
    feedline_loader_destroy(p.host);
}

TEST(batches_outlive_the_loader)
{
    SCOPED_RIG r;
    rig_open(&r);
    for (uint32_t i = 0; i < TEST_ROUNDS(30); i++)
        stop_and_destroy(&r, 1 + i % 3);
}

/* Work that a stream still has to do when the last of it all is given back. */
TEST(released_last_while_it_is_read)
{
    SCOPED_RIG r;
    rig_open(&r);
    for (uint32_t i = 0; i < 10; i++) {
        feedline_loader *device = rig_loader(r.dataset, "cuda:0", "dtype=u8");
        feedline_loader *host = rig_loader(r.dataset, "host", "dtype=u8");
        feedline_busy *busy;
        struct echo e;
        rig_echo_open(&r, &e, rig_batch_bytes(host));
        assert_ok(feedline_busy_create("cuda:0", &busy));
        void *stream = feedline_busy_stream(busy);
        feedline_batch *b = fixture_take(device), *hb = fixture_take(host);
        struct feedline_batch_info d = fixture_info(b), h = fixture_info(hb);
        assert_ok(feedline_batch_wait(b, stream));
        feedline_loader_destroy(device);
        assert_ok(feedline_busy_work(busy, 5000000));
        rig_read_back(&r, &d, stream, &e);
        feedline_batch_release(b);
        assert_ok(feedline_busy_wait(busy));
        assert_memory_equal(e.memory, h.images.data, (size_t)h.image_bytes);
        feedline_batch_release(hb);
        feedline_loader_destroy(host);
        feedline_busy_destroy(busy);
        rig_echo_close(&r, &e);
    }
}

TEST(goes_on_where_it_was_saved)
{
    SCOPED_RIG r;
    struct pair p;
    rig_open(&r);
    for (uint32_t taken = 0; taken < 2 * RIG_BATCHES; taken += 3) {
        char saved[256];
        uint64_t needed;
        feedline_loader *first = rig_loader(r.dataset, "cuda:0", "dtype=f32");
        for (uint32_t i = 0; i < taken; i++)
            feedline_batch_release(fixture_take(first));
        assert_ok(feedline_loader_save(first, saved, sizeof(saved), &needed));
        feedline_loader_destroy(first);

        rig_pair_open(&r, &p, "cuda:0", "auto", "dtype=f32 depth=2");
        assert_ok(feedline_loader_restore(p.device, saved));
        assert_ok(feedline_loader_restore(p.host, saved));
        for (uint32_t i = 0; i < 4; i++)
            rig_pair_next(&r, &p, 0, r.streams[0]);
        rig_pair_close(&r, &p);
    }
}

/* ---- Several loaders, several devices ----------------------------------- */

TEST(two_loaders_on_one_device)
{
    SCOPED_RIG r;
    struct pair p[2];
    rig_open(&r);
    rig_pair_open(&r, &p[0], "cuda:0", "auto", "dtype=u8 layout=nhwc");
    rig_pair_open(&r, &p[1], "cuda:0", "device", "dtype=f16");
    for (uint32_t i = 0; i < 4 * RIG_BATCHES; i++) {
        uint32_t k = rig_draw(&r, 2);
        rig_pair_next(&r, &p[k], 0, r.streams[k]);
    }
    for (uint32_t k = 0; k < 2; k++)
        rig_pair_close(&r, &p[k]);
}

TEST(two_devices)
{
    SCOPED_RIG r;
    struct pair p[2];
    fdl_cuda_stream streams[2];
    static const char *const names[] = {"cuda:0", "cuda:1"};
    rig_open_driver(&r.run);
    if (feedline_device_count() < 2)
        test_skip("there is one GPU, and two are needed");
    rig_open(&r);
    for (int k = 0; k < 2; k++) {
        rig_use_device(&r, k);
        assert_cuda(r.run.cuda->StreamCreateWithPriority(
            &streams[k], FDL_CUDA_STREAM_NON_BLOCKING, 0));
        rig_pair_open(&r, &p[k], names[k], "auto", "dtype=f32");
    }
    for (uint32_t i = 0; i < 4 * RIG_BATCHES; i++) {
        int k = (int)rig_draw(&r, 2);
        rig_use_device(&r, k);
        rig_pair_next(&r, &p[k], k, streams[k]);
    }
    for (int k = 0; k < 2; k++) {
        rig_use_device(&r, k);
        assert_cuda(r.run.cuda->StreamDestroy(streams[k]));
        rig_pair_close(&r, &p[k]);
    }
    rig_use_device(&r, 0);
}

/* No call leaves another device current than it found; the calls that cannot
 * fail are followed by one that says so. */
TEST(current_device_stays)
{
    struct rig r;
    rig_open(&r);
    const int mine = feedline_device_count() > 1 ? 1 : 0;
    int now;
    struct feedline_device_info device = {.struct_size = sizeof(device)};
    struct feedline_stats stats = {.struct_size = sizeof(stats)};
    struct feedline_device_stats times = {.struct_size = sizeof(times)};
    feedline_loader *l;
    feedline_batch *b;
    feedline_busy *busy;
    rig_use_device(&r, mine);
#define STAYS(call)                                                            \
  do {                                                                         \
    call;                                                                      \
    assert_cuda(r.run.CtxGetDevice(&now));                                     \
    assert_int_equal(now, mine);                                               \
  } while (0)
    STAYS(assert_true(feedline_device_count() > 0));
    STAYS(assert_ok(feedline_device_get_info("cuda:0", &device)));
    STAYS(l = rig_loader(r.dataset, "cuda:0", "dtype=f16 finish=device"));
    STAYS(assert_ok(feedline_loader_start(l, 0)));
    STAYS(assert_ok(feedline_busy_create("cuda:0", &busy)));
    for (uint32_t i = 0; i < 2 * RIG_BATCHES; i++) {
        STAYS(b = fixture_take(l));
        STAYS(fixture_info(b));
        STAYS(assert_ok(feedline_batch_wait(b, feedline_busy_stream(busy))));
        STAYS(assert_ok(feedline_busy_work(busy, 10000)));
        if (i % 2)
            STAYS(feedline_batch_release(b));
        else
            STAYS(feedline_batch_release_on(b, feedline_busy_stream(busy)));
        STAYS(assert_ok(feedline_loader_get_stats(l, &stats)));
        STAYS(assert_ok(feedline_loader_get_device_stats(l, &times)));
    }
    STAYS(assert_ok(feedline_busy_wait(busy)));
    STAYS(feedline_busy_destroy(busy));
    STAYS(assert_ok(feedline_loader_stop(l)));
    STAYS(assert_ok(feedline_loader_start(l, 1)));
    STAYS(b = fixture_take(l));
    STAYS(feedline_loader_destroy(l));
    STAYS(feedline_batch_release(b));
#undef STAYS
    rig_use_device(&r, 0);
    rig_close(&r);
}

TEST_MAIN("device_batches")
