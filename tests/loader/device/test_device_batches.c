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
    char text[256];
    snprintf(text, sizeof(text), "finish=%s %s", finish, options);
    feedline_loader *device = rig_loader(r->dataset, "cuda:0", text);
    feedline_loader *host = rig_loader(r->dataset, "host", options);
    struct echo e;
    rig_echo_open(r, &e, rig_batch_bytes(host));
    for (uint32_t i = 0; i < n; i++)
        assert_same_next(r, device, host, 0, r->streams[i % 2], &e);
    rig_echo_close(r, &e);
    feedline_loader_destroy(host);
    feedline_loader_destroy(device);
}

TEST(equals_host)
{
    static const char *const dtypes[] = {"u8", "f32", "f16", "bf16"};
    static const char *const layouts[] = {"nchw", "nhwc"};
    static const char *const finishes[] = {"host", "device", "auto"};
    struct rig r;
    rig_open(&r);
    for (uint32_t i = 0; i < 24; i++) {
        char options[64];
        snprintf(options, sizeof(options), "dtype=%s layout=%s", dtypes[i % 4],
                 layouts[i / 4 % 2]);
        /* u8 has nothing to finish, so it is not asked for. */
        check_equal(&r, options, i % 4 ? finishes[i / 8] : "auto",
                    RIG_BATCHES + 2);
    }
    rig_close(&r);
}

/* torchvision's floats, too. */
TEST(equals_host_in_any_rounding)
{
    static const char *const forms[] = {"dtype=f32", "dtype=f32 layout=nhwc",
                                        "dtype=f16", "dtype=bf16"};
    static const char *const roundings[] = {"divide", "multiply"};
    struct rig r;
    rig_open(&r);
    for (uint32_t i = 0; i < 8; i++) {
        char options[64];
        snprintf(options, sizeof(options), "%s rounding=%s", forms[i / 2],
                 roundings[i % 2]);
        check_equal(&r, options, "device", RIG_BATCHES);
    }
    rig_close(&r);
}

TEST(equals_host_in_any_channels)
{
    static const char *const finishes[] = {"host", "device"};
    struct rig r;
    rig_open(&r);
    for (uint32_t i = 0; i < 16; i++) {
        char options[64];
        snprintf(options, sizeof(options), "dtype=%s channels=%u",
                 i / 8 ? "bf16" : "f32", i / 2 % 4 + 1);
        check_equal(&r, options, finishes[i % 2], RIG_BATCHES);
    }
    rig_close(&r);
}

TEST(equals_host_in_any_sizes)
{
    struct rig r;
    rig_open(&r);
    check_equal(&r, "dtype=u8 max_sample_bytes=200k", "auto", 2 * RIG_BATCHES);
    check_equal(&r, "dtype=u8 layout=nhwc max_sample_bytes=200k", "host",
                RIG_BATCHES);
    rig_close(&r);
}

/* Each view has a chain of its own, so the host finishes them. */
TEST(equals_host_in_views)
{
    struct rig r;
    rig_open(&r);
    check_equal(&r, "dtype=u8 op=views", "auto", RIG_BATCHES);
    check_equal(&r, "dtype=f32 layout=nhwc op=views", "auto", RIG_BATCHES);
    rig_close(&r);
}

static struct feedline_batch_targets targets_of(const feedline_batch *b)
{
    struct feedline_batch_targets t = {.struct_size = sizeof(t)};
    assert_ok(feedline_batch_get_targets(b, &t));
    return t;
}

/* Mixed in the last pass, wherever that is made, and the targets beside. */
TEST(equals_host_mixed)
{
    struct rig r;
    struct echo e;
    rig_open(&r);
    check_equal(&r, "dtype=u8 op=mix", "auto", RIG_BATCHES);
    for (int i = 0; i < 8; i++) {
        static const char *const forms[] = {
            "dtype=f32 op=mix", "dtype=f32 layout=nhwc op=mix",
            "dtype=f16 op=cutmix", "dtype=bf16 layout=nhwc op=cutmix"};
        check_equal(&r, forms[i % 4], i < 4 ? "host" : "device", RIG_BATCHES);
    }
    feedline_loader *device =
        rig_loader(r.dataset, "cuda:0", "op=mix finish=device");
    feedline_loader *host = rig_loader(r.dataset, "host", "op=mix");
    rig_echo_open(&r, &e, rig_batch_bytes(host));
    feedline_batch *db = rig_next(device), *hb = rig_next(host);
    struct feedline_batch_targets d = targets_of(db), h = targets_of(hb);
    struct feedline_batch_info info = rig_look(db);
    assert_int_equal(d.soft.device, FEEDLINE_CUDA);
    assert_memory_equal(d.mixes, h.mixes, info.count * sizeof(*d.mixes));
    info.images = d.soft;
    info.image_bytes = info.count * d.classes * sizeof(float);
    assert_ok(feedline_batch_wait(db, r.streams[0]));
    rig_read_back(&r, &info, r.streams[0], &e);
    assert_cuda(r.run.cuda->StreamSynchronize(r.streams[0]));
    assert_memory_equal(e.memory, h.soft.data, info.image_bytes);
    feedline_batch_release(db);
    feedline_batch_release(hb);
    rig_echo_close(&r, &e);
    feedline_loader_destroy(host);
    feedline_loader_destroy(device);
    rig_close(&r);
}

/* on_error=zero: zeros, whatever a black pixel would become. */
TEST(equals_host_where_samples_failed)
{
    static const char *const dtypes[] = {"f32", "f16", "bf16"};
    static const uint32_t bad[] = {0, 13, 14, 15, RIG_IMAGES - 1};
    struct rig r;
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
    rig_close(&r);
}

/* Large ones go in pieces, as they are filled, also when the stream ends in the
 * middle of one. */
TEST(equals_host_in_parts)
{
    struct rig r;
    struct echo e;
    struct feedline_device_stats s = {.struct_size = sizeof(s)};
    rig_open(&r);
    check_equal(&r, "dtype=f16 size=320 batch_size=32", "device", 4);

    feedline_loader *device =
        rig_loader(r.dataset, "cuda:0", "dtype=f32 size=320 finish=host");
    feedline_loader *host = rig_loader(r.dataset, "host", "dtype=f32 size=320");
    rig_echo_open(&r, &e, rig_batch_bytes(host));
    for (uint32_t epoch = 0; epoch < 8; epoch++) {
        assert_ok(feedline_loader_start(device, epoch));
        assert_ok(feedline_loader_start(host, epoch));
        for (uint32_t n = rig_draw(&r, 3); n > 0; n--)
            assert_same_next(&r, device, host, 0, r.streams[0], &e);
    }
    for (uint32_t i = 0; i < RIG_BATCHES; i++)
        assert_same_next(&r, device, host, 0, r.streams[0], &e);
    assert_ok(feedline_loader_get_device_stats(device, &s));
    if (s.copies <= s.batches)
        fail_msg("%llu copies of %llu batches: none went in parts",
                 (unsigned long long)s.copies, (unsigned long long)s.batches);
    rig_echo_close(&r, &e);
    feedline_loader_destroy(host);
    feedline_loader_destroy(device);
    rig_close(&r);
}

/* A child stays while the parent fills slots that were pinned before. */
TEST(equals_host_beside_a_child)
{
    struct rig r;
    struct echo e;
    int gate[2], status;
    rig_open(&r);
    feedline_loader *device = rig_loader(r.dataset, "cuda:0", "");
    feedline_loader *host = rig_loader(r.dataset, "host", "");
    rig_echo_open(&r, &e, rig_batch_bytes(host));
    assert_same_next(&r, device, host, 0, r.streams[0], &e);
    assert_int_equal(pipe(gate), 0);
    pid_t child = fork();
    if (child == 0) {
        close(gate[1]);
        _exit(read(gate[0], &status, 1) != 0);
    }
    for (uint32_t i = 0; i < 3 * RIG_BATCHES; i++)
        assert_same_next(&r, device, host, 0, r.streams[0], &e);
    close(gate[0]);
    close(gate[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    rig_echo_close(&r, &e);
    feedline_loader_destroy(host);
    feedline_loader_destroy(device);
    rig_close(&r);
}

/* ---- The reuse hazard --------------------------------------------------- */

#define BATCHES 4000u
#define ECHOES  16u

struct hazard {
    struct rig *rig;
    feedline_busy *busy[2];
    feedline_loader *device, *host;
    struct echo echo[ECHOES][2];
    bool filled[ECHOES][2]; /* on which streams */
    uint8_t *expected[ECHOES];
    uint64_t bytes[ECHOES]; /* of images and labels */
    feedline_batch *held[2];
};

static void hazard_open(struct hazard *z, struct rig *r, const char *options,
                        const char *finish)
{
    char text[256];
    *z = (struct hazard){.rig = r};
    snprintf(text, sizeof(text), "%s finish=%s", options, finish);
    z->device = rig_loader(r->dataset, "cuda:0", text);
    z->host = rig_loader(r->dataset, "host", options);
    for (uint32_t s = 0; s < 2; s++)
        assert_ok(feedline_busy_create("cuda:0", &z->busy[s]));
    for (uint32_t i = 0; i < ECHOES; i++) {
        z->expected[i] = malloc((size_t)rig_batch_bytes(z->host));
        for (uint32_t s = 0; s < 2; s++)
            rig_echo_open(r, &z->echo[i][s], rig_batch_bytes(z->host));
    }
}

/* What was queued so far is waited for, and compared. */
static void hazard_verify(struct hazard *z)
{
    for (uint32_t s = 0; s < 2; s++)
        assert_ok(feedline_busy_wait(z->busy[s]));
    for (uint32_t i = 0; i < ECHOES; i++) {
        for (uint32_t s = 0; s < 2; s++) {
            if (z->filled[i][s] && memcmp(z->echo[i][s].memory, z->expected[i],
                                          (size_t)z->bytes[i]) != 0)
                fail_msg("a batch was overwritten under its consumer");
            z->filled[i][s] = false;
        }
    }
}

static void hazard_close(struct hazard *z)
{
    for (uint32_t s = 0; s < 2; s++)
        feedline_batch_release(z->held[s]);
    hazard_verify(z);
    for (uint32_t i = 0; i < ECHOES; i++) {
        free(z->expected[i]);
        for (uint32_t s = 0; s < 2; s++)
            rig_echo_close(z->rig, &z->echo[i][s]);
    }
    for (uint32_t s = 0; s < 2; s++)
        feedline_busy_destroy(z->busy[s]);
    feedline_loader_destroy(z->host);
    feedline_loader_destroy(z->device);
}

static void expect_batch(struct hazard *z, uint32_t at)
{
    feedline_batch *b = rig_next(z->host);
    struct feedline_batch_info h = rig_look(b);
    uint64_t labels = rig_labels_at(&h);
    memset(z->expected[at], 0x5a, (size_t)labels);
    memcpy(z->expected[at], h.images.data, (size_t)h.image_bytes);
    memcpy(z->expected[at] + labels, h.labels.data, h.count * sizeof(int64_t));
    z->bytes[at] = labels + h.count * sizeof(int64_t);
    feedline_batch_release(b);
}

/* One batch: read late by one stream or by both, given back at once or, now and
 * then, a few batches later. */
static void hazard_step(struct hazard *z, uint32_t n)
{
    uint32_t at = n % ECHOES, first = rig_draw(z->rig, 2);
    uint32_t n_streams = 1 + (rig_draw(z->rig, 4) == 0);
    if (at == 0)
        hazard_verify(z);
    feedline_batch *b = rig_next(z->device);
    struct feedline_batch_info d = rig_look(b);
    for (uint32_t k = 0; k < n_streams; k++) {
        uint32_t s = (first + k) % 2;
        void *stream = feedline_busy_stream(z->busy[s]);
        assert_ok(feedline_batch_wait(b, stream));
        assert_ok(feedline_busy_work(z->busy[s], rig_draw(z->rig, 200000)));
        rig_read_back(z->rig, &d, stream, &z->echo[at][s]);
        z->filled[at][s] = true;
    }
    uint32_t hold = rig_draw(z->rig, 8);
    if (hold < 2) {
        feedline_batch *other = z->held[hold];
        z->held[hold] = b;
        b = other;
    }
    feedline_batch_release(b);
    expect_batch(z, at);
}

static void run_hazard(const char *options, const char *finish, uint32_t n)
{
    struct rig r;
    struct hazard z;
    rig_open(&r);
    hazard_open(&z, &r, options, finish);
    for (uint32_t i = 0; i < n; i++)
        hazard_step(&z, i);
    hazard_close(&z);
    rig_close(&r);
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
    struct rig r;
    struct hazard z;
    rig_open(&r);
    const struct fdl_cuda_api *cuda = r.run.cuda;
    fdl_cuda_event there;
    assert_cuda(cuda->EventCreate(&there, FDL_CUDA_EVENT_NO_TIMING));
    hazard_open(&z, &r, "dtype=u8 depth=3", "auto");
    for (uint32_t i = 0; i < TEST_ROUNDS(500); i++) {
        uint32_t at = i % ECHOES;
        if (at == 0)
            hazard_verify(&z);
        feedline_batch *b = rig_next(z.device);
        struct feedline_batch_info d = rig_look(b);
        void *works = feedline_busy_stream(z.busy[1]);
        assert_ok(feedline_batch_wait(b, r.streams[0]));
        assert_cuda(cuda->EventRecord(there, r.streams[0]));
        assert_cuda(cuda->StreamWaitEvent(works, there, 0));
        assert_ok(feedline_busy_work(z.busy[1], 100000));
        rig_read_back(&r, &d, works, &z.echo[at][1]);
        z.filled[at][1] = true;
        feedline_batch_release_on(b, works);
        expect_batch(&z, at);
    }
    hazard_close(&z);
    assert_cuda(cuda->EventDestroy(there));
    rig_close(&r);
}

TEST(four_streams_may_wait)
{
    struct rig r;
    struct echo e;
    rig_open(&r);
    feedline_loader *device = rig_loader(r.dataset, "cuda:0", "dtype=u8");
    feedline_loader *host = rig_loader(r.dataset, "host", "dtype=u8");
    rig_echo_open(&r, &e, rig_batch_bytes(host));
    feedline_batch *b = rig_next(device), *hb = rig_next(host);
    struct feedline_batch_info d = rig_look(b), h = rig_look(hb);
    for (uint32_t twice = 0; twice < 2; twice++)
        for (uint32_t s = 0; s < 4; s++)
            assert_ok(feedline_batch_wait(b, r.streams[s]));
    assert_error(feedline_batch_wait(b, r.streams[4]), FEEDLINE_ERANGE, "4");
    for (uint32_t s = 0; s < 4; s++) {
        rig_read_back(&r, &d, r.streams[s], &e);
        assert_cuda(r.run.cuda->StreamSynchronize(r.streams[s]));
        assert_same_bytes(&d, &h, &e);
    }
    feedline_batch_release(b);
    feedline_batch_release(hb);
    feedline_loader_destroy(host);
    feedline_loader_destroy(device);
    rig_echo_close(&r, &e);
    rig_close(&r);
}

TEST(host_batches_need_no_stream)
{
    struct rig r;
    rig_open(&r);
    feedline_loader *host = rig_loader(r.dataset, "host", "dtype=u8");
    struct feedline_device_stats s = {.struct_size = sizeof(s)};
    for (uint32_t i = 0; i < 3 * RIG_BATCHES; i++) {
        feedline_batch *b = rig_next(host);
        assert_ok(feedline_batch_wait(b, r.streams[0]));
        if (i % 2)
            feedline_batch_release_on(b, r.streams[0]);
        else
            feedline_batch_release(b);
    }
    assert_error(feedline_loader_get_device_stats(host, &s), FEEDLINE_ESTATE,
                 "host");
    feedline_loader_destroy(host);
    rig_close(&r);
}

/* ---- Stopping, positions ------------------------------------------------ */

/* Held batches outlive stop, start and destroy, though copies are under way and
 * a consumer still reads what it gave back. */
static void stop_and_destroy(struct rig *r, uint32_t taken)
{
    feedline_loader *device = rig_loader(r->dataset, "cuda:0", "dtype=u8");
    feedline_loader *host = rig_loader(r->dataset, "host", "dtype=u8");
    feedline_batch *db[3], *hb[3];
    struct feedline_batch_info d[3], h[3];
    struct echo e[3], more;
    feedline_busy *busy;
    assert_ok(feedline_busy_create("cuda:0", &busy));
    void *stream = feedline_busy_stream(busy);
    rig_echo_open(r, &more, rig_batch_bytes(host));
    for (uint32_t i = 0; i < taken; i++) {
        rig_echo_open(r, &e[i], rig_batch_bytes(host));
        db[i] = rig_next(device);
        hb[i] = rig_next(host);
        d[i] = rig_look(db[i]);
        h[i] = rig_look(hb[i]);
        assert_ok(feedline_batch_wait(db[i], stream));
        assert_ok(feedline_busy_work(busy, 3000000));
        rig_read_back(r, &d[i], stream, &e[i]);
    }
    feedline_batch_release(db[0]);
    assert_ok(feedline_loader_stop(device));
    if (rig_draw(r, 2)) {
        assert_ok(feedline_loader_start(device, 3));
        assert_ok(feedline_loader_start(host, 3));
        assert_same_next(r, device, host, 0, r->streams[0], &more);
    }
    feedline_loader_destroy(device);
    assert_ok(feedline_busy_wait(busy));
    for (uint32_t i = 0; i < taken; i++) {
        /* The table of a batch is gone with it: nothing of d[0] but numbers. */
        assert_memory_equal(e[i].memory, h[i].images.data,
                            (size_t)h[i].image_bytes);
        if (i > 0) {
            rig_read_back(r, &d[i], stream, &more);
            assert_ok(feedline_busy_wait(busy));
            assert_same_bytes(&d[i], &h[i], &more);
            feedline_batch_release(db[i]);
        }
        feedline_batch_release(hb[i]);
        rig_echo_close(r, &e[i]);
    }
    rig_echo_close(r, &more);
    feedline_busy_destroy(busy);
    feedline_loader_destroy(host);
}

TEST(batches_outlive_the_loader)
{
    struct rig r;
    rig_open(&r);
    for (uint32_t i = 0; i < TEST_ROUNDS(30); i++)
        stop_and_destroy(&r, 1 + i % 3);
    rig_close(&r);
}

/* Work that a stream still has to do when the last of it all is given back. */
TEST(released_last_while_it_is_read)
{
    struct rig r;
    rig_open(&r);
    for (uint32_t i = 0; i < 10; i++) {
        feedline_loader *device = rig_loader(r.dataset, "cuda:0", "dtype=u8");
        feedline_loader *host = rig_loader(r.dataset, "host", "dtype=u8");
        feedline_busy *busy;
        struct echo e;
        rig_echo_open(&r, &e, rig_batch_bytes(host));
        assert_ok(feedline_busy_create("cuda:0", &busy));
        void *stream = feedline_busy_stream(busy);
        feedline_batch *b = rig_next(device), *hb = rig_next(host);
        struct feedline_batch_info d = rig_look(b), h = rig_look(hb);
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
    rig_close(&r);
}

TEST(goes_on_where_it_was_saved)
{
    struct rig r;
    struct echo e;
    rig_open(&r);
    for (uint32_t taken = 0; taken < 2 * RIG_BATCHES; taken += 3) {
        char saved[256];
        uint64_t needed;
        feedline_loader *first = rig_loader(r.dataset, "cuda:0", "dtype=f32");
        for (uint32_t i = 0; i < taken; i++)
            feedline_batch_release(rig_next(first));
        assert_ok(feedline_loader_save(first, saved, sizeof(saved), &needed));
        feedline_loader_destroy(first);

        feedline_loader *device =
            rig_loader(r.dataset, "cuda:0", "dtype=f32 depth=2");
        feedline_loader *host = rig_loader(r.dataset, "host", "dtype=f32");
        assert_ok(feedline_loader_restore(device, saved));
        assert_ok(feedline_loader_restore(host, saved));
        rig_echo_open(&r, &e, rig_batch_bytes(host));
        for (uint32_t i = 0; i < 4; i++)
            assert_same_next(&r, device, host, 0, r.streams[0], &e);
        rig_echo_close(&r, &e);
        feedline_loader_destroy(host);
        feedline_loader_destroy(device);
    }
    rig_close(&r);
}

/* ---- Several loaders, several devices ----------------------------------- */

TEST(two_loaders_on_one_device)
{
    struct rig r;
    struct echo e;
    rig_open(&r);
    feedline_loader *device[2], *host[2];
    static const char *const options[] = {"dtype=u8 layout=nhwc",
                                          "dtype=f16 finish=device"};
    for (uint32_t k = 0; k < 2; k++)
        device[k] = rig_loader(r.dataset, "cuda:0", options[k]);
    host[0] = rig_loader(r.dataset, "host", "dtype=u8 layout=nhwc");
    host[1] = rig_loader(r.dataset, "host", "dtype=f16");
    rig_echo_open(&r, &e, rig_batch_bytes(host[1]));
    for (uint32_t i = 0; i < 4 * RIG_BATCHES; i++) {
        uint32_t k = rig_draw(&r, 2);
        assert_same_next(&r, device[k], host[k], 0, r.streams[k], &e);
    }
    rig_echo_close(&r, &e);
    for (uint32_t k = 0; k < 2; k++) {
        feedline_loader_destroy(device[k]);
        feedline_loader_destroy(host[k]);
    }
    rig_close(&r);
}

TEST(two_devices)
{
    struct rig r;
    struct echo e;
    fdl_cuda_stream streams[2];
    feedline_loader *device[2], *host[2];
    static const char *const names[] = {"cuda:0", "cuda:1"};
    rig_open_driver(&r.run);
    if (feedline_device_count() < 2)
        test_skip("there is one GPU, and two are needed");
    rig_open(&r);
    for (int k = 0; k < 2; k++) {
        rig_use_device(&r, k);
        assert_cuda(r.run.cuda->StreamCreateWithPriority(
            &streams[k], FDL_CUDA_STREAM_NON_BLOCKING, 0));
        device[k] = rig_loader(r.dataset, names[k], "dtype=f32");
        host[k] = rig_loader(r.dataset, "host", "dtype=f32");
    }
    rig_echo_open(&r, &e, rig_batch_bytes(host[0]));
    for (uint32_t i = 0; i < 4 * RIG_BATCHES; i++) {
        int k = (int)rig_draw(&r, 2);
        rig_use_device(&r, k);
        assert_same_next(&r, device[k], host[k], k, streams[k], &e);
    }
    rig_echo_close(&r, &e);
    for (int k = 0; k < 2; k++) {
        rig_use_device(&r, k);
        assert_cuda(r.run.cuda->StreamDestroy(streams[k]));
        feedline_loader_destroy(device[k]);
        feedline_loader_destroy(host[k]);
    }
    rig_use_device(&r, 0);
    rig_close(&r);
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
        STAYS(b = rig_next(l));
        STAYS(rig_look(b));
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
    STAYS(b = rig_next(l));
    STAYS(feedline_loader_destroy(l));
    STAYS(feedline_batch_release(b));
#undef STAYS
    rig_use_device(&r, 0);
    rig_close(&r);
}

TEST_MAIN("device_batches")
