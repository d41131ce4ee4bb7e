/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches on a GPU, through the public interface, held against those of a
 * loader with device=host: the same bytes, whatever the consumer's streams do.
 * CTest runs the cases on the double of the CUDA runtime (FEEDLINE_CUDART),
 * which also watches who touches what when, and, with label gpu, on hardware.
 *
 * The consumer here queues, on a stream of its own, work that takes a while and
 * behind it a copy of the batch back to the host, and gives the batch back at
 * once. So most of a slot's next images are ready before the last ones were
 * read, and a missing wait anywhere shows as wrong bytes.
 */
#include "fixture.h"
#include "test.h"
#include "transfer/cuda_api.h"

#include <dlfcn.h>

#define DEVICE_TO_HOST 2
#define IMAGES         44u
#define BATCH          8u
#define N_BATCHES      6u /* of an epoch; the last one has 4 images */
#define STREAMS        5u

/* Of the runtime that the library uses, whatever file it came from. */
struct runtime {
    const struct fdl_cuda_api *cuda;
    int (*GetDevice)(int *device);
    int (*SetDevice)(int device);
    int (*HostAlloc)(void **memory, size_t bytes, unsigned flags);
    int (*FreeHost)(void *memory);
};

struct rig {
    struct runtime run;
    struct fixture images;
    feedline_dataset *dataset;
    fdl_cuda_stream streams[STREAMS];
    uint64_t seed;
};

/* A batch as it came back: pinned, so that the host waits for no copy. */
struct echo {
    uint8_t *memory; /* images, then labels */
    uint64_t capacity;
};

/* ---- Rig ---------------------------------------------------------------- */

#define assert_cuda(call) assert_int_equal((call), FDL_CUDA_SUCCESS)

static void find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    if (!symbol)
        fail_msg("no %s: %s", name, dlerror());
    memcpy(function, &symbol, sizeof(symbol));
}

static void open_runtime(struct runtime *run)
{
    if (fdl_cuda_load(&run->cuda) < 0) {
        if (getenv("FEEDLINE_CUDART"))
            fail_msg("%s", feedline_last_error());
        test_skip("%s", feedline_last_error());
    }
    Dl_info where;
    void *address;
    memcpy(&address, &run->cuda->MemcpyAsync, sizeof(address));
    assert_int_not_equal(dladdr(address, &where), 0);
    void *library = dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(library);
    find(library, "cudaGetDevice", &run->GetDevice);
    find(library, "cudaSetDevice", &run->SetDevice);
    find(library, "cudaHostAlloc", &run->HostAlloc);
    find(library, "cudaFreeHost", &run->FreeHost);
    dlclose(library);
}

static void rig_open(struct rig *r)
{
    *r = (struct rig){.seed = test_seed()};
    open_runtime(&r->run);
    fixture_create(&r->images, IMAGES);
    r->dataset = fixture_memory(&r->images);
    assert_cuda(r->run.SetDevice(0));
    for (uint32_t i = 0; i < STREAMS; i++)
        assert_cuda(r->run.cuda->StreamCreateWithPriority(
            &r->streams[i], FDL_CUDA_STREAM_NON_BLOCKING, 0));
}

static void rig_close(struct rig *r)
{
    for (uint32_t i = 0; i < STREAMS; i++) {
        assert_cuda(r->run.cuda->StreamSynchronize(r->streams[i]));
        assert_cuda(r->run.cuda->StreamDestroy(r->streams[i]));
    }
    feedline_dataset_close(r->dataset);
    fixture_remove(&r->images);
}

static uint32_t draw(struct rig *r, uint32_t below)
{
    r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->seed >> 33) % below;
}

static void echo_open(const struct rig *r, struct echo *e, uint64_t bytes)
{
    void *memory;
    assert_cuda(r->run.HostAlloc(&memory, (size_t)bytes, 0));
    *e = (struct echo){memory, bytes};
}

static void echo_close(const struct rig *r, struct echo *e)
{
    assert_cuda(r->run.FreeHost(e->memory));
}

/* ---- Loaders and batches ------------------------------------------------ */

/* device: "host", "cuda:0"; options: "key=value key=value", among them "size",
 * of the pipeline's images in place of 36 x 28. */
static feedline_loader *open_loader(feedline_dataset *ds, const char *device,
                                    const char *options)
{
    char text[512], *rest = text, *word;
    char crop[64] = "width=36 height=28";
    feedline_config *cfg;
    feedline_pipeline *p;
    feedline_loader *l;
    snprintf(text, sizeof(text), "seed=7 shuffle=true batch_size=%u %s", BATCH,
             options);
    assert_ok(feedline_config_create(&cfg));
    while ((word = strtok_r(rest, " ", &rest)) != NULL) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        if (strcmp(word, "size") == 0)
            snprintf(crop, sizeof(crop), "width=%s height=%s", value, value);
        else
            assert_ok(feedline_config_set(cfg, word, value));
    }
    assert_ok(feedline_config_set(cfg, "device", device));
    assert_ok(feedline_pipeline_create(NULL, &p));
    if (!strstr(options, "max_sample_bytes="))
        assert_ok(feedline_pipeline_add(p, "random_resized_crop", crop));
    assert_ok(feedline_pipeline_add(p, "horizontal_flip", NULL));
    if (strstr(options, "dtype=") && !strstr(options, "dtype=u8"))
        assert_ok(feedline_pipeline_add(
            p, "normalize",
            strstr(options, "channels=") ? "mean=0.5 std=0.25" : NULL));
    assert_ok(feedline_loader_create(cfg, ds, p, &l));
    feedline_pipeline_destroy(p);
    feedline_config_destroy(cfg);
    return l;
}

/* The next one, past ends of epochs. */
static feedline_batch *next(feedline_loader *l)
{
    feedline_batch *b;
    int32_t status;
    do {
        status = feedline_loader_next(l, -1, &b);
        assert_ok(status);
    } while (status == FEEDLINE_END);
    assert_int_equal(status, FEEDLINE_OK);
    return b;
}

static struct feedline_batch_info look(const feedline_batch *b)
{
    struct feedline_batch_info info = {.struct_size = sizeof(info)};
    assert_ok(feedline_batch_get_info(b, &info));
    return info;
}

/* What is needed to hold any batch of `host`, on any device: its slot has the
 * labels too. */
static uint64_t batch_bytes(const feedline_loader *host)
{
    struct feedline_epoch_info info = {.struct_size = sizeof(info)};
    assert_ok(feedline_loader_get_epoch_info(host, &info));
    return info.batch_bytes;
}

static uint64_t labels_at(const struct feedline_batch_info *info)
{
    return (info->image_bytes + 7) / 8 * 8;
}

/* Queues the copies behind whatever `stream` has to do. */
static void read_back(const struct rig *r, const struct feedline_batch_info *d,
                      fdl_cuda_stream stream, struct echo *e)
{
    uint64_t at = labels_at(d), bytes = d->count * sizeof(int64_t);
    assert_true(at + bytes <= e->capacity);
    memset(e->memory, 0x5a, (size_t)(at + bytes));
    assert_cuda(r->run.cuda->MemcpyAsync(e->memory, d->images.data,
                                         (size_t)d->image_bytes, DEVICE_TO_HOST,
                                         stream));
    assert_cuda(r->run.cuda->MemcpyAsync(
        e->memory + at, d->labels.data, (size_t)bytes, DEVICE_TO_HOST, stream));
}

/* All that can be seen without touching the device. */
static void assert_same_tensor(const struct feedline_tensor *d,
                               const struct feedline_tensor *h, int32_t device)
{
    assert_int_equal(d->device, FEEDLINE_CUDA);
    assert_int_equal(d->device_id, device);
    assert_int_equal(d->dtype, h->dtype);
    assert_int_equal(d->ndim, h->ndim);
    assert_memory_equal(d->shape, h->shape, sizeof(d->shape));
    assert_memory_equal(d->stride, h->stride, sizeof(d->stride));
}

static void assert_same_info(const struct feedline_batch_info *d,
                             const struct feedline_batch_info *h,
                             int32_t device)
{
    assert_same_tensor(&d->images, &h->images, device);
    assert_same_tensor(&d->labels, &h->labels, device);
    assert_int_equal(d->count, h->count);
    assert_int_equal(d->epoch, h->epoch);
    assert_int_equal(d->sequence, h->sequence);
    assert_int_equal(d->position, h->position);
    assert_int_equal(d->image_bytes, h->image_bytes);
    assert_memory_equal(d->sample_index, h->sample_index,
                        h->count * sizeof(int64_t));
    assert_memory_equal(d->sample_status, h->sample_status,
                        h->count * sizeof(int32_t));
    assert_int_equal(d->image_size != NULL, h->image_size != NULL);
    if (h->image_size)
        assert_memory_equal(d->image_size, h->image_size,
                            h->count * sizeof(*h->image_size));
}

/* Every byte of images and labels; the batch of `d` is still held. */
static void assert_same_bytes(const struct feedline_batch_info *d,
                              const struct feedline_batch_info *h,
                              const struct echo *e)
{
    struct feedline_batch_info back = *d;
    back.images.data = e->memory;
    for (uint32_t i = 0; i < h->count; i++) {
        size_t bytes, same;
        const uint8_t *got = fixture_image(&back, i, &bytes);
        const uint8_t *want = fixture_image(h, i, &same);
        assert_int_equal(bytes, same);
        if (memcmp(got, want, bytes) != 0)
            fail_msg("image %u of batch %llu of epoch %llu differs", i,
                     (unsigned long long)h->sequence,
                     (unsigned long long)h->epoch);
    }
    assert_memory_equal(e->memory + labels_at(d), h->labels.data,
                        h->count * sizeof(int64_t));
}

/* The next batches of both, which are given back. */
static void assert_same_next(const struct rig *r, feedline_loader *device,
                             feedline_loader *host, int number,
                             fdl_cuda_stream stream, struct echo *e)
{
    feedline_batch *db = next(device), *hb = next(host);
    struct feedline_batch_info d = look(db), h = look(hb);
    assert_same_info(&d, &h, number);
    assert_ok(feedline_batch_wait(db, stream));
    read_back(r, &d, stream, e);
    assert_cuda(r->run.cuda->StreamSynchronize(stream));
    assert_same_bytes(&d, &h, e);
    feedline_batch_release(db);
    feedline_batch_release(hb);
}

/* ---- The same bytes ----------------------------------------------------- */

static void check_equal(struct rig *r, const char *options, const char *finish,
                        uint32_t n)
{
    char text[256];
    snprintf(text, sizeof(text), "finish=%s %s", finish, options);
    feedline_loader *device = open_loader(r->dataset, "cuda:0", text);
    feedline_loader *host = open_loader(r->dataset, "host", options);
    struct echo e;
    echo_open(r, &e, batch_bytes(host));
    for (uint32_t i = 0; i < n; i++)
        assert_same_next(r, device, host, 0, r->streams[i % 2], &e);
    echo_close(r, &e);
    feedline_loader_destroy(host);
    feedline_loader_destroy(device);
}

static void equals_host(void **state)
{
    (void)state;
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
                    N_BATCHES + 2);
    }
    rig_close(&r);
}

/* Replayed on both: no copy, and the streams take turns. */
static void equals_host_in_replay(void **state)
{
    (void)state;
    static const char *const finishes[] = {"host", "device"};
    struct rig r;
    rig_open(&r);
    for (uint32_t i = 0; i < 4; i++) {
        char options[64];
        snprintf(options, sizeof(options), "dtype=f32 replay=%u", i + 1);
        check_equal(&r, options, finishes[i % 2], 5 * N_BATCHES);
    }
    rig_close(&r);
}

static void equals_host_in_any_channels(void **state)
{
    (void)state;
    static const char *const finishes[] = {"host", "device"};
    struct rig r;
    rig_open(&r);
    for (uint32_t i = 0; i < 16; i++) {
        char options[64];
        snprintf(options, sizeof(options), "dtype=%s channels=%u",
                 i / 8 ? "bf16" : "f32", i / 2 % 4 + 1);
        check_equal(&r, options, finishes[i % 2], N_BATCHES);
    }
    rig_close(&r);
}

static void equals_host_in_any_sizes(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    check_equal(&r, "dtype=u8 max_sample_bytes=200k", "auto", 2 * N_BATCHES);
    check_equal(&r, "dtype=u8 layout=nhwc max_sample_bytes=200k", "host",
                N_BATCHES);
    rig_close(&r);
}

/* Large ones go in pieces, as they are filled, also when the stream ends in the
 * middle of one. */
static void equals_host_in_parts(void **state)
{
    (void)state;
    struct rig r;
    struct echo e;
    struct feedline_device_stats s = {.struct_size = sizeof(s)};
    rig_open(&r);
    check_equal(&r, "dtype=f16 size=320 batch_size=32", "device", 4);

    feedline_loader *device =
        open_loader(r.dataset, "cuda:0", "dtype=f32 size=320 finish=host");
    feedline_loader *host =
        open_loader(r.dataset, "host", "dtype=f32 size=320");
    echo_open(&r, &e, batch_bytes(host));
    for (uint32_t epoch = 0; epoch < 8; epoch++) {
        assert_ok(feedline_loader_start(device, epoch));
        assert_ok(feedline_loader_start(host, epoch));
        for (uint32_t n = draw(&r, 3); n > 0; n--)
            assert_same_next(&r, device, host, 0, r.streams[0], &e);
    }
    for (uint32_t i = 0; i < N_BATCHES; i++)
        assert_same_next(&r, device, host, 0, r.streams[0], &e);
    assert_ok(feedline_loader_get_device_stats(device, &s));
    if (s.copies <= s.batches)
        fail_msg("%llu copies of %llu batches: none went in parts",
                 (unsigned long long)s.copies, (unsigned long long)s.batches);
    echo_close(&r, &e);
    feedline_loader_destroy(host);
    feedline_loader_destroy(device);
    rig_close(&r);
}

/* ---- The reuse hazard --------------------------------------------------- */

#define ECHOES 16u

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
    z->device = open_loader(r->dataset, "cuda:0", text);
    z->host = open_loader(r->dataset, "host", options);
    for (uint32_t s = 0; s < 2; s++)
        assert_ok(feedline_busy_create("cuda:0", &z->busy[s]));
    for (uint32_t i = 0; i < ECHOES; i++) {
        z->expected[i] = malloc((size_t)batch_bytes(z->host));
        for (uint32_t s = 0; s < 2; s++)
            echo_open(r, &z->echo[i][s], batch_bytes(z->host));
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
            echo_close(z->rig, &z->echo[i][s]);
    }
    for (uint32_t s = 0; s < 2; s++)
        feedline_busy_destroy(z->busy[s]);
    feedline_loader_destroy(z->host);
    feedline_loader_destroy(z->device);
}

static void expect_batch(struct hazard *z, uint32_t at)
{
    feedline_batch *b = next(z->host);
    struct feedline_batch_info h = look(b);
    uint64_t labels = labels_at(&h);
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
    uint32_t at = n % ECHOES, first = draw(z->rig, 2);
    uint32_t n_streams = 1 + (draw(z->rig, 4) == 0);
    if (at == 0)
        hazard_verify(z);
    feedline_batch *b = next(z->device);
    struct feedline_batch_info d = look(b);
    for (uint32_t k = 0; k < n_streams; k++) {
        uint32_t s = (first + k) % 2;
        void *stream = feedline_busy_stream(z->busy[s]);
        assert_ok(feedline_batch_wait(b, stream));
        assert_ok(feedline_busy_work(z->busy[s], draw(z->rig, 200000)));
        read_back(z->rig, &d, stream, &z->echo[at][s]);
        z->filled[at][s] = true;
    }
    uint32_t hold = draw(z->rig, 8);
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

static void slot_is_not_reused_too_early(void **state)
{
    (void)state;
    run_hazard("dtype=u8 depth=4", "auto", TEST_DEVICE_BATCHES);
}

static void finished_slot_is_not_reused_too_early(void **state)
{
    (void)state;
    run_hazard("dtype=f16 depth=4", "device", TEST_DEVICE_BATCHES / 2);
}

/* The consumer's work is on a stream that waited for another one. */
static void release_on_another_stream(void **state)
{
    (void)state;
    struct rig r;
    struct hazard z;
    rig_open(&r);
    const struct fdl_cuda_api *cuda = r.run.cuda;
    fdl_cuda_event there;
    assert_cuda(cuda->EventCreateWithFlags(&there, FDL_CUDA_EVENT_NO_TIMING));
    hazard_open(&z, &r, "dtype=u8 depth=3", "auto");
    for (uint32_t i = 0; i < 500; i++) {
        uint32_t at = i % ECHOES;
        if (at == 0)
            hazard_verify(&z);
        feedline_batch *b = next(z.device);
        struct feedline_batch_info d = look(b);
        void *works = feedline_busy_stream(z.busy[1]);
        assert_ok(feedline_batch_wait(b, r.streams[0]));
        assert_cuda(cuda->EventRecord(there, r.streams[0]));
        assert_cuda(cuda->StreamWaitEvent(works, there, 0));
        assert_ok(feedline_busy_work(z.busy[1], 100000));
        read_back(&r, &d, works, &z.echo[at][1]);
        z.filled[at][1] = true;
        feedline_batch_release_on(b, works);
        expect_batch(&z, at);
    }
    hazard_close(&z);
    assert_cuda(cuda->EventDestroy(there));
    rig_close(&r);
}

static void four_streams_may_wait(void **state)
{
    (void)state;
    struct rig r;
    struct echo e;
    rig_open(&r);
    feedline_loader *device = open_loader(r.dataset, "cuda:0", "dtype=u8");
    feedline_loader *host = open_loader(r.dataset, "host", "dtype=u8");
    echo_open(&r, &e, batch_bytes(host));
    feedline_batch *b = next(device), *hb = next(host);
    struct feedline_batch_info d = look(b), h = look(hb);
    for (uint32_t twice = 0; twice < 2; twice++)
        for (uint32_t s = 0; s < 4; s++)
            assert_ok(feedline_batch_wait(b, r.streams[s]));
    assert_error(feedline_batch_wait(b, r.streams[4]), FEEDLINE_ERANGE, "4");
    for (uint32_t s = 0; s < 4; s++) {
        read_back(&r, &d, r.streams[s], &e);
        assert_cuda(r.run.cuda->StreamSynchronize(r.streams[s]));
        assert_same_bytes(&d, &h, &e);
    }
    feedline_batch_release(b);
    feedline_batch_release(hb);
    feedline_loader_destroy(host);
    feedline_loader_destroy(device);
    echo_close(&r, &e);
    rig_close(&r);
}

static void host_batches_need_no_stream(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    feedline_loader *host = open_loader(r.dataset, "host", "dtype=u8");
    struct feedline_device_stats s = {.struct_size = sizeof(s)};
    for (uint32_t i = 0; i < 3 * N_BATCHES; i++) {
        feedline_batch *b = next(host);
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
    feedline_loader *device = open_loader(r->dataset, "cuda:0", "dtype=u8");
    feedline_loader *host = open_loader(r->dataset, "host", "dtype=u8");
    feedline_batch *db[3], *hb[3];
    struct feedline_batch_info d[3], h[3];
    struct echo e[3], more;
    feedline_busy *busy;
    assert_ok(feedline_busy_create("cuda:0", &busy));
    void *stream = feedline_busy_stream(busy);
    echo_open(r, &more, batch_bytes(host));
    for (uint32_t i = 0; i < taken; i++) {
        echo_open(r, &e[i], batch_bytes(host));
        db[i] = next(device);
        hb[i] = next(host);
        d[i] = look(db[i]);
        h[i] = look(hb[i]);
        assert_ok(feedline_batch_wait(db[i], stream));
        assert_ok(feedline_busy_work(busy, 3000000));
        read_back(r, &d[i], stream, &e[i]);
    }
    feedline_batch_release(db[0]);
    assert_ok(feedline_loader_stop(device));
    if (draw(r, 2)) {
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
            read_back(r, &d[i], stream, &more);
            assert_ok(feedline_busy_wait(busy));
            assert_same_bytes(&d[i], &h[i], &more);
            feedline_batch_release(db[i]);
        }
        feedline_batch_release(hb[i]);
        echo_close(r, &e[i]);
    }
    echo_close(r, &more);
    feedline_busy_destroy(busy);
    feedline_loader_destroy(host);
}

static void batches_outlive_the_loader(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    for (uint32_t i = 0; i < 30; i++)
        stop_and_destroy(&r, 1 + i % 3);
    rig_close(&r);
}

/* Work that a stream still has to do when the last of it all is given back. */
static void released_last_while_it_is_read(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    for (uint32_t i = 0; i < 10; i++) {
        feedline_loader *device = open_loader(r.dataset, "cuda:0", "dtype=u8");
        feedline_loader *host = open_loader(r.dataset, "host", "dtype=u8");
        feedline_busy *busy;
        struct echo e;
        echo_open(&r, &e, batch_bytes(host));
        assert_ok(feedline_busy_create("cuda:0", &busy));
        void *stream = feedline_busy_stream(busy);
        feedline_batch *b = next(device), *hb = next(host);
        struct feedline_batch_info d = look(b), h = look(hb);
        assert_ok(feedline_batch_wait(b, stream));
        feedline_loader_destroy(device);
        assert_ok(feedline_busy_work(busy, 5000000));
        read_back(&r, &d, stream, &e);
        feedline_batch_release(b);
        assert_ok(feedline_busy_wait(busy));
        assert_memory_equal(e.memory, h.images.data, (size_t)h.image_bytes);
        feedline_batch_release(hb);
        feedline_loader_destroy(host);
        feedline_busy_destroy(busy);
        echo_close(&r, &e);
    }
    rig_close(&r);
}

static void goes_on_where_it_was_saved(void **state)
{
    (void)state;
    struct rig r;
    struct echo e;
    rig_open(&r);
    for (uint32_t taken = 0; taken < 2 * N_BATCHES; taken += 3) {
        char saved[256];
        uint64_t needed;
        feedline_loader *first = open_loader(r.dataset, "cuda:0", "dtype=f32");
        for (uint32_t i = 0; i < taken; i++)
            feedline_batch_release(next(first));
        assert_ok(feedline_loader_save(first, saved, sizeof(saved), &needed));
        feedline_loader_destroy(first);

        feedline_loader *device =
            open_loader(r.dataset, "cuda:0", "dtype=f32 depth=2");
        feedline_loader *host = open_loader(r.dataset, "host", "dtype=f32");
        assert_ok(feedline_loader_restore(device, saved));
        assert_ok(feedline_loader_restore(host, saved));
        echo_open(&r, &e, batch_bytes(host));
        for (uint32_t i = 0; i < 4; i++)
            assert_same_next(&r, device, host, 0, r.streams[0], &e);
        echo_close(&r, &e);
        feedline_loader_destroy(host);
        feedline_loader_destroy(device);
    }
    rig_close(&r);
}

/* ---- Several loaders, several devices ----------------------------------- */

static void two_loaders_on_one_device(void **state)
{
    (void)state;
    struct rig r;
    struct echo e;
    rig_open(&r);
    feedline_loader *device[2], *host[2];
    static const char *const options[] = {"dtype=u8 layout=nhwc",
                                          "dtype=f16 finish=device"};
    for (uint32_t k = 0; k < 2; k++)
        device[k] = open_loader(r.dataset, "cuda:0", options[k]);
    host[0] = open_loader(r.dataset, "host", "dtype=u8 layout=nhwc");
    host[1] = open_loader(r.dataset, "host", "dtype=f16");
    echo_open(&r, &e, batch_bytes(host[1]));
    for (uint32_t i = 0; i < 4 * N_BATCHES; i++) {
        uint32_t k = draw(&r, 2);
        assert_same_next(&r, device[k], host[k], 0, r.streams[k], &e);
    }
    echo_close(&r, &e);
    for (uint32_t k = 0; k < 2; k++) {
        feedline_loader_destroy(device[k]);
        feedline_loader_destroy(host[k]);
    }
    rig_close(&r);
}

static void two_devices(void **state)
{
    (void)state;
    struct rig r;
    struct echo e;
    fdl_cuda_stream streams[2];
    feedline_loader *device[2], *host[2];
    static const char *const names[] = {"cuda:0", "cuda:1"};
    open_runtime(&r.run);
    if (feedline_device_count() < 2)
        test_skip("there is one GPU, and two are needed");
    rig_open(&r);
    for (int k = 0; k < 2; k++) {
        assert_cuda(r.run.SetDevice(k));
        assert_cuda(r.run.cuda->StreamCreateWithPriority(
            &streams[k], FDL_CUDA_STREAM_NON_BLOCKING, 0));
        device[k] = open_loader(r.dataset, names[k], "dtype=f32");
        host[k] = open_loader(r.dataset, "host", "dtype=f32");
    }
    echo_open(&r, &e, batch_bytes(host[0]));
    for (uint32_t i = 0; i < 4 * N_BATCHES; i++) {
        int k = (int)draw(&r, 2);
        assert_cuda(r.run.SetDevice(k));
        assert_same_next(&r, device[k], host[k], k, streams[k], &e);
    }
    echo_close(&r, &e);
    for (int k = 0; k < 2; k++) {
        assert_cuda(r.run.SetDevice(k));
        assert_cuda(r.run.cuda->StreamDestroy(streams[k]));
        feedline_loader_destroy(device[k]);
        feedline_loader_destroy(host[k]);
    }
    assert_cuda(r.run.SetDevice(0));
    rig_close(&r);
}

/* No call leaves another device current than it found; the calls that cannot
 * fail are followed by one that says so. */
static void current_device_stays(void **state)
{
    (void)state;
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
    assert_cuda(r.run.SetDevice(mine));
#define STAYS(call)                                                            \
  do {                                                                         \
    call;                                                                      \
    assert_cuda(r.run.GetDevice(&now));                                        \
    assert_int_equal(now, mine);                                               \
  } while (0)
    STAYS(assert_true(feedline_device_count() > 0));
    STAYS(assert_ok(feedline_device_get_info("cuda:0", &device)));
    STAYS(l = open_loader(r.dataset, "cuda:0", "dtype=f16 finish=device"));
    STAYS(assert_ok(feedline_loader_start(l, 0)));
    STAYS(assert_ok(feedline_busy_create("cuda:0", &busy)));
    for (uint32_t i = 0; i < 2 * N_BATCHES; i++) {
        STAYS(b = next(l));
        STAYS(look(b));
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
    STAYS(b = next(l));
    STAYS(feedline_loader_destroy(l));
    STAYS(feedline_batch_release(b));
#undef STAYS
    assert_cuda(r.run.SetDevice(0));
    rig_close(&r);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(equals_host),
    cmocka_unit_test(equals_host_in_replay),
    cmocka_unit_test(equals_host_in_any_channels),
    cmocka_unit_test(equals_host_in_any_sizes),
    cmocka_unit_test(equals_host_in_parts),
    cmocka_unit_test(slot_is_not_reused_too_early),
    cmocka_unit_test(finished_slot_is_not_reused_too_early),
    cmocka_unit_test(release_on_another_stream),
    cmocka_unit_test(four_streams_may_wait),
    cmocka_unit_test(host_batches_need_no_stream),
    cmocka_unit_test(batches_outlive_the_loader),
    cmocka_unit_test(released_last_while_it_is_read),
    cmocka_unit_test(goes_on_where_it_was_saved),
    cmocka_unit_test(two_loaders_on_one_device),
    cmocka_unit_test(two_devices),
    cmocka_unit_test(current_device_stays),
};

TEST_MAIN("device_batches", cases)
