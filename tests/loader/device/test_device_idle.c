/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device idle against the truth. The test sets the host's clock and the
 * double's, so a case is a timetable: when each batch is made, when the program
 * asks for it, and how long the GPU works on it. The true idle time is then
 * plain arithmetic, and the loader's has to be within 3 points of it.
 *
 *     made     ----------1------------2------------3
 *     next()   [asks     ]=[asks      ]=
 *     GPU                 === 1 ===    === 2 ===
 *                                  idle         idle
 */
#include "base/clock.h"
#include "cuda_double.h"
#include "test.h"

#include <feedline/bench.h>
#include <feedline/custom_op.h>
#include <feedline/exchange.h>
#include <feedline/feedline.h>
#include <feedline/order.h>

#include <math.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#define MS      INT64_C(1000000)
#define COPY_MS 0.5 /* on the bus; in the double's settings below */
#define HOST    MS  /* the program needs to queue a step */
#define BATCH   2u
#define BATCHES 60u /* of an epoch */
#define IMAGES  (BATCH * BATCHES)
#define SIDE    8u

#define assert_ok(call) assert_int_equal((call), FEEDLINE_OK)

static _Atomic int64_t now;
static int64_t clock_now(void)
{
    return atomic_load(&now);
}

/* ---- A loader whose batches are made when the test says ------------------ */

/* How a program hands over. */
enum order {
    WORK_THEN_RELEASE, /* wait, queue the step, release */
    COPY_THEN_RELEASE  /* copy, release, queue the step, as torch's way is */
};

struct program {
    enum order order;
    bool tells;        /* on which stream it computes */
    bool prefetches;   /* takes batches on a side stream */
    bool late;         /* batches are finished as they are copied */
    bool own_order;    /* of epochs, and not a given one */
    double load, step; /* ms: between two batches, on one */
    double lingers;    /* ms: the host does before it asks, without the GPU */
    double pause;      /* ms: between epochs */
    uint32_t epochs;
};

struct scene {
    const struct program *p;
    sem_t made; /* batches */
    uint32_t samples;
    uint8_t *pixels;
    feedline_dataset *dataset;
    feedline_pipeline *pipeline;
    feedline_loader *loader;
    feedline_busy *gpu, *side;
    void *copy;
    int64_t made_at, gpu_free;
    int64_t idle, busy;
    uint32_t steps;
};

static int64_t ns(double ms)
{
    return (int64_t)(ms * (double)MS);
}

/* One worker makes batches in their order. */
static int32_t when_made(const struct feedline_op_call *call)
{
    struct scene *s = call->user;
    if (s->samples++ % BATCH == 0)
        while (sem_wait(&s->made) != 0)
            ;
    return FEEDLINE_OK;
}

static void set_options(feedline_config *cfg, const struct program *p)
{
    const char *const options[][2] = {
        {"device", "cuda:0"},
        {"dtype", p->late ? "f32" : "u8"},
        {"layout", "nhwc"},
        {"workers", "1"},
        {"depth", "4"},
        {"tuner", "off"},
        {"shuffle", "false"},
        {"finish", p->late ? "device" : "host"},
        {"handover", p->late ? "copy" : "share"},
        {"reader", "memory"},
    };
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        assert_ok(feedline_config_set(cfg, options[i][0], options[i][1]));
    assert_ok(
        feedline_config_set(cfg, "order", p->own_order ? "own" : "given"));
    assert_ok(feedline_config_set_int(cfg, "batch_size", BATCH));
    if (p->own_order)
        assert_ok(feedline_config_set_int(cfg, "epochs", p->epochs));
}

static void open_loader(struct scene *s)
{
    struct feedline_op_def def = {.struct_size = sizeof(def),
                                  .name = "when_made",
                                  .run = when_made,
                                  .user = s};
    feedline_config *cfg;
    s->pixels = calloc(IMAGES, SIDE * SIDE * 3);
    assert_ok(feedline_dataset_open_pixels(s->pixels, NULL, IMAGES, SIDE, SIDE,
                                           3, &s->dataset));
    assert_ok(feedline_pipeline_create("none", &s->pipeline));
    assert_ok(feedline_pipeline_register(s->pipeline, &def));
    assert_ok(feedline_pipeline_add(s->pipeline, "when_made", NULL));
    assert_ok(feedline_config_create(&cfg));
    set_options(cfg, s->p);
    assert_ok(feedline_loader_create(cfg, s->dataset, s->pipeline, &s->loader));
    feedline_config_destroy(cfg);
}

static void open_scene(struct scene *s, const struct program *p)
{
    *s = (struct scene){.p = p};
    atomic_store(&now, INT64_C(1000000) * MS);
    fdl_clock_replace(clock_now);
    double_reset();
    assert_true(double_set("latency_us=500"));
    double_set_clock(clock_now);
    double_use_device(0);
    sem_init(&s->made, 0, 0);
    open_loader(s);
    assert_ok(feedline_busy_create("cuda:0", &s->gpu));
    assert_ok(feedline_busy_create("cuda:0", &s->side));
    assert_int_equal(cuMemAlloc(&s->copy, (size_t)BATCH * SIDE * SIDE * 3 * 4),
                     0);
    if (p->tells)
        assert_ok(feedline_loader_set_stream(s->loader,
                                             feedline_busy_stream(s->gpu)));
}

static void close_scene(struct scene *s)
{
    char faults[1024];
    feedline_loader_destroy(s->loader);
    feedline_pipeline_destroy(s->pipeline);
    feedline_dataset_close(s->dataset);
    feedline_busy_destroy(s->gpu);
    feedline_busy_destroy(s->side);
    assert_int_equal(cuMemFree(s->copy), 0);
    free(s->pixels);
    sem_destroy(&s->made);
    double_check_leaks();
    if (double_faults(faults, sizeof(faults)) > 0)
        fail_msg("%s", faults);
    fdl_clock_replace(NULL);
}

/* ---- The program --------------------------------------------------------- */

/* next() is called now, and returns when the batch is made. */
static feedline_batch *take(struct scene *s)
{
    feedline_batch *b;
    if (s->made_at > clock_now()) {
        assert_int_equal(feedline_loader_next(s->loader, 0, &b),
                         FEEDLINE_TIMEOUT);
        atomic_store(&now, s->made_at);
    }
    sem_post(&s->made);
    assert_ok(feedline_loader_next(s->loader, -1, &b));
    return b;
}

static void hand_over(struct scene *s, feedline_batch *b)
{
    const struct program *p = s->p;
    feedline_busy *taker = p->prefetches ? s->side : s->gpu;
    void *stream = feedline_busy_stream(taker);
    if (p->order == COPY_THEN_RELEASE) {
        assert_ok(feedline_batch_copy(b, s->copy, NULL, stream));
        feedline_batch_release(b);
        assert_ok(feedline_busy_work(s->gpu, ns(p->step)));
    } else {
        assert_ok(feedline_batch_wait(b, stream));
        assert_ok(feedline_busy_work(s->gpu, ns(p->step)));
        feedline_batch_release(b);
    }
}

/* What the GPU does meanwhile: it has nothing to do from the later of the call
 * and the end of its work until the batch is there. */
static void note_truth(struct scene *s, int64_t called)
{
    int64_t ready = s->made_at + ns(COPY_MS);
    int64_t from = called > s->gpu_free ? called : s->gpu_free;
    int64_t start = ready > from ? ready : from;
    if (s->steps++ > 0) /* the first wait is the loader's start */
        s->idle += start - from;
    s->busy += ns(s->p->step);
    s->gpu_free = start + ns(s->p->step);
}

static void run_epoch(struct scene *s, uint32_t epoch)
{
    static const uint64_t indices[BATCH] = {0, 1};
    feedline_batch *b;
    if (!s->p->own_order) {
        assert_ok(feedline_loader_begin(s->loader, epoch, 1, 0));
        for (uint32_t i = 0; i < BATCHES; i++)
            assert_ok(feedline_loader_append(s->loader, indices, NULL, BATCH));
        assert_ok(feedline_loader_end(s->loader));
    }
    s->made_at = clock_now();
    for (uint32_t i = 0; i < BATCHES; i++) {
        int64_t called = clock_now();
        s->made_at += ns(s->p->load);
        b = take(s);
        hand_over(s, b);
        note_truth(s, called);
        atomic_fetch_add(&now, HOST + ns(s->p->lingers));
    }
    if (s->p->own_order)
        assert_int_equal(feedline_loader_next(s->loader, -1, &b), FEEDLINE_END);
    if (s->gpu_free > clock_now()) /* as torch.cuda.synchronize does */
        atomic_store(&now, s->gpu_free);
}

/* Percent of the time in which the GPU worked or waited for the loader. */
struct result {
    double truth, measured;
};

static struct result run_program(const struct program *p)
{
    struct feedline_device_stats stats = {.struct_size = sizeof(stats)};
    struct scene s;
    open_scene(&s, p);
    for (uint32_t epoch = 0; epoch < p->epochs; epoch++) {
        run_epoch(&s, epoch);
        atomic_fetch_add(&now, ns(p->pause));
    }
    assert_ok(feedline_busy_wait(s.gpu));
    assert_ok(feedline_busy_wait(s.side));
    while (stats.steps < s.steps) { /* the last ones are being reported */
        assert_ok(feedline_loader_get_device_stats(s.loader, &stats));
        sched_yield();
    }
    struct result r = {
        .truth = 100 * (double)s.idle / (double)(s.idle + s.busy),
        .measured = 100 * (double)stats.idle_ns / (double)stats.span_ns,
    };
    close_scene(&s);
    printf("load %g ms, step %g ms: idle %.1f %%, measured %.1f %%\n", p->load,
           p->step, r.truth, r.measured);
    return r;
}

static void check(const struct program *p)
{
    struct result r = run_program(p);
    assert_true(fabs(r.measured - r.truth) <= 3);
}

static void check_loads(struct program p)
{
    static const double loads[] = {30, 24, 10};
    for (size_t i = 0; i < 3; i++) {
        p.load = loads[i];
        p.step = 20;
        check(&p);
    }
}

/* ---- Cases --------------------------------------------------------------- */

TEST(work_then_release)
{
    check_loads((struct program){.order = WORK_THEN_RELEASE, .epochs = 1});
}

TEST(work_then_release_on_a_told_stream)
{
    check_loads((struct program){
        .order = WORK_THEN_RELEASE, .tells = true, .epochs = 1});
}

TEST(copy_then_release_on_a_told_stream)
{
    check_loads((struct program){
        .order = COPY_THEN_RELEASE, .tells = true, .epochs = 1});
}

/* The kernel is the program's work: the batch is ready when it has arrived. */
TEST(finished_by_the_copy_on_a_told_stream)
{
    check_loads((struct program){
        .order = COPY_THEN_RELEASE, .tells = true, .late = true, .epochs = 1});
}

/* Nobody says where the work is: only waits for copies in flight count. */
TEST(copy_then_release_is_a_lower_bound)
{
    struct program p = {
        .order = COPY_THEN_RELEASE, .load = 30, .step = 20, .epochs = 1};
    struct result r = run_program(&p);
    assert_true(r.measured <= r.truth);
    assert_true(r.measured > 0);
}

TEST(a_pause_between_epochs_is_nobodys_idle)
{
    for (int tells = 0; tells < 2; tells++)
        check_loads((struct program){.order = tells ? COPY_THEN_RELEASE
                                                    : WORK_THEN_RELEASE,
                                     .tells = tells,
                                     .epochs = 3,
                                     .pause = 3000});
}

TEST(a_pause_in_the_own_order_is_nobodys_idle)
{
    for (int tells = 0; tells < 2; tells++)
        check_loads((struct program){.order = WORK_THEN_RELEASE,
                                     .tells = tells,
                                     .own_order = true,
                                     .epochs = 3,
                                     .pause = 3000});
}

/* Between release and next() the host does other things while the GPU has
 * nothing to do: that is no want of images. */
TEST(a_slow_host_is_not_the_loaders_idle)
{
    for (int tells = 0; tells < 2; tells++) {
        struct program p = {.order = WORK_THEN_RELEASE,
                            .tells = tells,
                            .load = 70,
                            .step = 20,
                            .lingers = 60,
                            .epochs = 1};
        struct result r = run_program(&p);
        double wait = p.load - p.lingers - 1 + COPY_MS;
        assert_true(fabs(r.measured - 100 * wait / p.load) <= 3);
    }
}

/* Batches are taken on a side stream, which never works. */
TEST(a_prefetcher_tells_where_it_computes)
{
    check_loads((struct program){.order = COPY_THEN_RELEASE,
                                 .tells = true,
                                 .prefetches = true,
                                 .epochs = 2,
                                 .pause = 100});
}

TEST(a_host_loader_has_no_stream)
{
    feedline_dataset *ds;
    feedline_pipeline *p;
    feedline_loader *l;
    uint8_t *pixels = calloc(IMAGES, SIDE * SIDE * 3);
    assert_ok(
        feedline_dataset_open_pixels(pixels, NULL, IMAGES, SIDE, SIDE, 3, &ds));
    assert_ok(feedline_pipeline_create("none", &p));
    assert_ok(feedline_loader_create(NULL, ds, p, &l));
    assert_ok(feedline_loader_set_stream(l, NULL));
    assert_int_equal(feedline_loader_set_stream(NULL, NULL), FEEDLINE_EINVAL);
    feedline_loader_destroy(l);
    feedline_pipeline_destroy(p);
    feedline_dataset_close(ds);
    free(pixels);
}

TEST_MAIN("device_idle")
