/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA backend on the double (cuda_double.h): the order of its calls,
 * what it does when each of them fails, and that no slab is overwritten under a
 * copy or a consumer.
 */
#include "base/clock.h"
#include "base/compiler.h"
#include "base/event.h"
#include "base/status.h"
#include "cuda_double.h"
#include "test.h"
#include "transfer/backend.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define N_SLABS    4
#define SLAB_BYTES 8192u

/* Each slab's batch, as a loader holds it. */
struct place {
    struct fdl_slab slab;
    struct fdl_transfer transfer;
    _Atomic bool done, landed;
    int32_t status;
    char reason[256];
};

static struct desk {
    void *backend;
    struct place places[N_SLABS];
    struct fdl_event changed;
    struct fdl_device_times times[64]; /* observed, in order */
    _Atomic uint32_t n_times;
} d;

static const struct fdl_backend_ops *const ops = &fdl_backend_cuda;

static void done(struct fdl_transfer *t, int32_t status, const char *reason)
{
    struct place *p =
        (struct place *)(void *)((char *)t - offsetof(struct place, transfer));
    p->status = status;
    snprintf(p->reason, sizeof(p->reason), "%s", reason);
    assert_false(atomic_load(&p->landed));
    atomic_store(&p->done, true);
    fdl_event_notify(&d.changed, UINT32_MAX);
}

static void landed(struct fdl_transfer *t)
{
    struct place *p =
        (struct place *)(void *)((char *)t - offsetof(struct place, transfer));
    assert_true(atomic_load(&p->done));
    atomic_store(&p->landed, true);
    fdl_event_notify(&d.changed, UINT32_MAX);
}

static void observe(void *user, const struct fdl_device_times *times)
{
    (void)user;
    uint32_t n = atomic_load(&d.n_times);
    d.times[n % FDL_COUNT_OF(d.times)] = *times;
    atomic_store(&d.n_times, n + 1);
}

static void await(_Atomic bool *flag)
{
    for (;;) {
        uint32_t key = fdl_event_prepare(&d.changed);
        if (atomic_load(flag)) {
            fdl_event_cancel(&d.changed);
            return;
        }
        fdl_event_wait(&d.changed, key, -1);
    }
}

static void open_desk(const struct fdl_finish *finish)
{
    struct fdl_backend_config config = {.observe = observe};
    memset(&d, 0, sizeof(d));
    fdl_event_init(&d.changed);
    if (finish)
        config.finish = *finish;
    assert_int_equal(ops->create(&config, &d.backend), FEEDLINE_OK);
    for (uint32_t i = 0; i < N_SLABS; i++)
        assert_int_equal(
            ops->slab_alloc(d.backend, SLAB_BYTES, &d.places[i].slab),
            FEEDLINE_OK);
}

/* Slabs, then the backend; nothing may be left, no rule broken. */
static void close_desk(void)
{
    char faults[2048];
    uint32_t depth = double_depth();
    for (uint32_t i = 0; i < N_SLABS; i++)
        ops->slab_free(d.backend, &d.places[i].slab);
    ops->destroy(d.backend);
    double_check_leaks();
    if (double_faults(faults, sizeof(faults)) > 0)
        fail_msg("%s", faults);
    assert_int_equal(double_depth(), depth);
}

static void set_transfer(struct place *p, uint64_t bytes)
{
    atomic_store(&p->done, false);
    atomic_store(&p->landed, false);
    p->transfer = (struct fdl_transfer){.slab = &p->slab,
                                        .bytes = bytes,
                                        .images = 1,
                                        .done = done,
                                        .landed = landed};
}

static void send(struct place *p, int value)
{
    set_transfer(p, SLAB_BYTES);
    memset(p->slab.host, value, SLAB_BYTES);
    assert_int_equal(ops->submit(d.backend, &p->transfer), FEEDLINE_OK);
}

/* Sends a slab and waits until it has arrived. */
static void land(struct place *p, int value)
{
    send(p, value);
    await(&p->landed);
}

/* A stream of the consumer's waits for it. */
static void wait_for(struct place *p, void *stream)
{
    assert_int_equal(ops->wait(d.backend, &p->transfer, stream), FEEDLINE_OK);
}

static void release(struct place *p)
{
    ops->release(d.backend, &p->transfer);
}

static void await_all(void)
{
    for (uint32_t i = 0; i < N_SLABS; i++)
        await(&d.places[i].landed);
}

static fdl_cuda_stream make_stream(void)
{
    fdl_cuda_stream stream;
    assert_int_equal(cuStreamCreateWithPriority(&stream, 1, 0), 0);
    return stream;
}

static void assert_device_has(const struct place *p, int value)
{
    uint8_t seen[SLAB_BYTES];
    assert_true(double_peek(p->slab.device, seen, SLAB_BYTES));
    for (uint32_t i = 0; i < SLAB_BYTES; i++)
        assert_int_equal(seen[i], value);
}

/* A new process whose main thread uses CUDA itself. */
static void start(void)
{
    double_reset();
    double_use_device(0);
}

static struct double_counters counters(void)
{
    struct double_counters c;
    double_get_counters(&c);
    return c;
}

/* A program that uses CUDA itself, or one that leaves that to the backend. */
static void setup(void)
{
    start();
    open_desk(NULL);
}

static void setup_alone(void)
{
    double_reset();
    open_desk(NULL);
}

static void teardown(void)
{
    close_desk();
}

/* ---- The way of a batch ------------------------------------------------- */

TEST_WITH(one_copy_moves_a_batch, setup_alone, teardown)
{
    assert_int_equal(counters().live_allocations, N_SLABS);
    for (uint32_t i = 0; i < N_SLABS; i++) {
        assert_int_equal((uintptr_t)d.places[i].slab.host % 4096, 0);
        send(&d.places[i], 'a' + (int)i);
    }
    await_all();
    for (uint32_t i = 0; i < N_SLABS; i++) {
        assert_int_equal(d.places[i].status, FEEDLINE_OK);
        assert_device_has(&d.places[i], 'a' + (int)i);
        release(&d.places[i]);
    }
    assert_int_equal(counters().copies, N_SLABS);
    assert_int_equal(counters().bytes, N_SLABS * SLAB_BYTES);
    assert_int_equal(counters().pageable_copies, 0);
    assert_int_equal(counters().synchronisations, 0);
    assert_int_equal(double_depth(), 0); /* nothing was made current here */
}

/* The consumer may have the batch while its copy has not even begun: it waits
 * for who reads the one before it in the slab. */
TEST_WITH(is_handed_over_before_the_copy, setup, teardown)
{
    struct place *p = &d.places[0];
    fdl_cuda_stream reader = make_stream(), stream = make_stream();
    land(p, 1);
    double_pause(reader);
    wait_for(p, reader);
    double_read(reader, p->slab.device, SLAB_BYTES, 0);
    release(p);
    send(p, 2);
    await(&p->done);
    assert_false(atomic_load(&p->landed));
    wait_for(p, stream);
    assert_int_equal(double_read(stream, p->slab.device, SLAB_BYTES, 0), 0);
    release(p);
    double_resume(reader);
    await(&p->landed);
    double_drain();
    cuStreamDestroy(reader);
    cuStreamDestroy(stream);
}

TEST_WITH(parts_go_ahead_and_the_rest_follows, setup, teardown)
{
    struct place *p = &d.places[0];
    for (int round = 1; round <= 3; round++) {
        set_transfer(p, SLAB_BYTES);
        memset(p->slab.host, round, SLAB_BYTES);
        ops->part(d.backend, &p->transfer, 4096, 2048);
        ops->part(d.backend, &p->transfer, 0, 1024);
        assert_int_equal(ops->submit(d.backend, &p->transfer), FEEDLINE_OK);
        await(&p->landed);
        assert_device_has(p, round);
        release(p);
    }
    /* Two parts, and what lies between and behind them. */
    assert_int_equal(counters().copies, 3 * 4);
    assert_int_equal(counters().bytes, 3 * SLAB_BYTES);
}

/* More parts than there is room for move with the rest. */
TEST_WITH(too_many_parts_are_no_loss, setup, teardown)
{
    struct place *p = &d.places[0];
    set_transfer(p, SLAB_BYTES);
    memset(p->slab.host, 9, SLAB_BYTES);
    for (uint32_t i = 0; i < 7; i++)
        ops->part(d.backend, &p->transfer, 1024 * i, 1000);
    assert_int_equal(ops->submit(d.backend, &p->transfer), FEEDLINE_OK);
    await(&p->landed);
    assert_device_has(p, 9);
    release(p);
}

/* The host's clock: nothing takes time but copies, and those the device's. */
static int64_t standing(void)
{
    return INT64_C(1000000000000);
}

TEST(tells_when_everything_happened)
{
    start();
    double_set_clock(standing);
    fdl_clock_replace(standing);
    open_desk(NULL);
    assert_true(double_set("latency_us=3000"));
    fdl_cuda_stream stream = make_stream();
    int64_t before = fdl_now_ns();
    for (uint32_t i = 0; i < N_SLABS; i++)
        send(&d.places[i], (int)i);
    for (uint32_t i = 0; i < N_SLABS; i++) {
        await(&d.places[i].done);
        wait_for(&d.places[i], stream);
        release(&d.places[i]);
    }
    await_all();
    double_drain();
    struct fdl_backend_stats stats;
    ops->stats(d.backend, &stats); /* also tells what is known by now */
    int64_t after = before + N_SLABS * INT64_C(3000000);
    assert_int_equal(stats.pinned_bytes, N_SLABS * SLAB_BYTES);
    assert_int_equal(stats.device_bytes, N_SLABS * SLAB_BYTES);
    assert_int_equal(atomic_load(&d.n_times), N_SLABS);
    int64_t end = before;
    const int64_t slack = 10000; /* events tell ms as a float */
    for (uint32_t i = 0; i < N_SLABS; i++) {
        const struct fdl_device_times *t = &d.times[i];
        assert_true(t->queued >= before && t->queued <= t->start + slack);
        assert_true(t->start >= end - slack &&
                    t->end >= t->start + 3000000 - slack);
        assert_true(t->end <= after + slack);
        assert_int_equal(t->ready, t->end);
        assert_int_equal(t->copying, t->end - t->start);
        assert_true(t->entered >= before - slack);
        assert_int_equal(t->bytes, SLAB_BYTES);
        assert_int_equal(t->copies, 1);
        end = t->end;
    }
    cuStreamDestroy(stream);
    close_desk();
    fdl_clock_replace(NULL);
}

/* As many batches may be ahead of their consumer as there is depth for; each is
 * a step in the end. */
TEST_WITH(tells_of_batches_that_waited_long, setup_alone, teardown)
{
    enum { MANY = 50 };
    static struct place places[MANY];
    struct fdl_backend_stats stats;
    double_use_device(0);
    fdl_cuda_stream stream = make_stream();
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(
            ops->slab_alloc(d.backend, SLAB_BYTES, &places[i].slab),
            FEEDLINE_OK);
        land(&places[i], (int)i);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        wait_for(&places[i], stream);
        release(&places[i]);
    }
    double_drain();
    ops->stats(d.backend, &stats);
    assert_int_equal(atomic_load(&d.n_times), MANY);
    for (uint32_t i = 0; i < MANY; i++)
        assert_true(d.times[i].entered > 0);
    for (uint32_t i = 0; i < MANY; i++)
        ops->slab_free(d.backend, &places[i].slab);
    cuStreamDestroy(stream);
}

static void *ask_for_stats(void *arg)
{
    (void)arg;
    struct fdl_backend_stats stats;
    ops->stats(d.backend, &stats);
    return NULL;
}

/* Somebody looks at an event, and the driver does not answer: batches come and
 * go all the same. */
TEST_WITH(nobody_waits_for_a_question_to_the_driver, setup_alone, teardown)
{
    pthread_t asker;
    double_use_device(0);
    fdl_cuda_stream stream = make_stream();
    land(&d.places[0], 1);
    wait_for(&d.places[0], stream);
    assert_true(double_hold("cuEventQuery"));
    pthread_create(&asker, NULL, ask_for_stats, &d);
    double_await_held();
    send(&d.places[1], 2);
    await(&d.places[1].done);
    wait_for(&d.places[1], stream);
    release(&d.places[0]);
    release(&d.places[1]);
    double_let_go();
    pthread_join(asker, NULL);
    await(&d.places[1].landed);
    cuStreamDestroy(stream);
}

static void *release_first(void *arg)
{
    (void)arg;
    release(&d.places[0]);
    return NULL;
}

/* A consumer's stream is full, and who gives a batch back on it is held up.
 * Another consumer is not, nor are copies and statistics. */
TEST_WITH(a_full_stream_holds_up_nobody_else, setup, teardown)
{
    pthread_t first;
    struct fdl_backend_stats stats;
    fdl_cuda_stream full = make_stream(), other = make_stream();
    struct place *p = d.places;
    for (uint32_t i = 0; i < 2; i++) {
        land(&p[i], (int)i);
    }
    assert_true(double_set("queue=8"));
    double_pause(full);
    wait_for(&p[0], full);
    for (uint32_t i = 1; i < 8; i++) /* and a mark of the wait */
        assert_int_equal(double_read(full, p[0].slab.device, SLAB_BYTES, 0), 0);
    pthread_create(&first, NULL, release_first, &d);
    double_await_full();
    ops->ask(d.backend, fdl_now_ns(), FDL_ASK_ON);
    wait_for(&p[1], other);
    release(&p[1]);
    land(&p[2], 2);
    ops->stats(d.backend, &stats);
    double_resume(full);
    pthread_join(first, NULL);
    double_drain();
    cuStreamDestroy(full);
    cuStreamDestroy(other);
}

/* ---- Streams that wait -------------------------------------------------- */

TEST_WITH(refuses_a_fifth_stream, setup, teardown)
{
    fdl_cuda_stream streams[5];
    land(&d.places[0], 1);
    for (uint32_t i = 0; i < 5; i++) {
        streams[i] = make_stream();
        int32_t status =
            ops->wait(d.backend, &d.places[0].transfer, streams[i]);
        assert_int_equal(status, i < 4 ? FEEDLINE_OK : FEEDLINE_ERANGE);
    }
    /* One that waits already may ask again. */
    wait_for(&d.places[0], streams[2]);
    release(&d.places[0]);
    for (uint32_t i = 0; i < 5; i++)
        cuStreamDestroy(streams[i]);
}

/* The next copy into a slab waits on the device for every reader, also for one
 * that only release_on knows of; the host waits for none. */
TEST_WITH(a_slab_waits_for_all_of_its_readers, setup, teardown)
{
    fdl_cuda_stream streams[3];
    struct place *p = &d.places[0];
    for (uint32_t i = 0; i < 3; i++)
        streams[i] = make_stream();
    for (int round = 0; round < 20; round++) {
        send(p, round);
        await(&p->done);
        for (uint32_t i = 0; i < 2; i++) {
            wait_for(p, streams[i]);
            double_read(streams[i], p->slab.device, SLAB_BYTES, 2000000);
        }
        fdl_cuda_event forked;
        cuEventCreate(&forked, 2);
        cuEventRecord(forked, streams[0]);
        cuStreamWaitEvent(streams[2], forked, 0);
        cuEventDestroy(forked);
        double_read(streams[2], p->slab.device, SLAB_BYTES, 3000000);
        ops->use(d.backend, &p->transfer, streams[2]);
        release(p);
        await(&p->landed); /* host memory is free, the readers go on */
    }
    assert_int_equal(counters().synchronisations, 0);
    double_drain();
    for (uint32_t i = 0; i < 3; i++)
        cuStreamDestroy(streams[i]);
}

/* A stream is marked where it stands: what comes later on it is no reader. */
TEST_WITH(a_use_ends_where_it_was_said, setup, teardown)
{
    fdl_cuda_event never;
    fdl_cuda_stream reader = make_stream(), blocked = make_stream();
    struct place *p = &d.places[0];
    land(p, 1);
    double_read(reader, p->slab.device, SLAB_BYTES, 1000000);
    ops->use(d.backend, &p->transfer, reader);
    double_pause(blocked);
    cuEventCreate(&never, FDL_CUDA_EVENT_NO_TIMING);
    cuEventRecord(never, blocked);
    cuStreamWaitEvent(reader, never, 0);
    release(p);
    land(p, 2);
    assert_device_has(p, 2);
    release(p);
    double_resume(blocked);
    double_drain();
    cuEventDestroy(never);
    cuStreamDestroy(reader);
    cuStreamDestroy(blocked);
}

/* The default stream of a thread that takes the batch; it is given back by
 * another thread, to which that handle is another stream. */
static void *read_on_own_stream(void *arg)
{
    (void)arg;
    struct place *p = &d.places[0];
    double_use_device(0);
    wait_for(p, FDL_CUDA_PER_THREAD);
    double_read(FDL_CUDA_PER_THREAD, p->slab.device, SLAB_BYTES, 20000000);
    return NULL;
}

TEST_WITH(a_slab_waits_for_the_stream_of_another_thread, setup_alone, teardown)
{
    pthread_t reader;
    for (int round = 0; round < 3; round++) {
        struct place *p = &d.places[0];
        land(p, round);
        pthread_create(&reader, NULL, read_on_own_stream, &d);
        pthread_join(reader, NULL);
        release(p);
    }
    land(&d.places[0], 9);
}

/* Of two threads, each of which waits and marks by that handle. */
TEST_WITH(streams_of_threads_are_told_apart, setup_alone, teardown)
{
    pthread_t reader;
    double_use_device(0);
    struct place *p = &d.places[0];
    land(p, 1);
    pthread_create(&reader, NULL, read_on_own_stream, &d);
    pthread_join(reader, NULL);
    wait_for(p, FDL_CUDA_PER_THREAD);
    double_read(FDL_CUDA_PER_THREAD, p->slab.device, SLAB_BYTES, 1000000);
    release(p);
    land(p, 2);
}

/* Behind the batch's own copy, and before the next one into its slab. */
TEST_WITH(copies_in_the_order_of_the_stream, setup, teardown)
{
    void *there[20];
    uint8_t seen[SLAB_BYTES];
    assert_true(double_set("latency_us=200"));
    fdl_cuda_stream stream = make_stream();
    struct place *p = &d.places[0];
    for (int i = 0; i < 20; i++) {
        assert_int_equal(cuMemAlloc(&there[i], SLAB_BYTES), 0);
        send(p, i);
        await(&p->done);
        wait_for(p, stream);
        assert_int_equal(
            ops->copy(d.backend, there[i], p->slab.device, SLAB_BYTES, stream),
            FEEDLINE_OK);
        release(p);
        await(&p->landed);
    }
    assert_int_equal(counters().synchronisations, 0);
    double_drain();
    for (int i = 0; i < 20; i++) {
        assert_true(double_peek(there[i], seen, SLAB_BYTES));
        for (uint32_t k = 0; k < SLAB_BYTES; k++)
            assert_int_equal(seen[k], i);
        assert_int_equal(cuMemFree(there[i]), 0);
    }
    cuStreamDestroy(stream);
}

/* 40,000 batches (fewer under a sanitizer) with a delay before every second
 * operation, readers of several lengths on two streams, and slabs that go round
 * as fast as they can. */
TEST_WITH(no_slab_is_reused_too_early, setup, teardown)
{
    fdl_cuda_stream streams[2];
    uint32_t n = FDL_TEST_BATCHES;
    assert_true(double_set("delay_us=20,seed=11"));
    for (uint32_t i = 0; i < 2; i++)
        streams[i] = make_stream();
    for (uint32_t i = 0; i < n; i++) {
        struct place *p = &d.places[i % N_SLABS];
        fdl_cuda_stream stream = streams[i / 7 % 2];
        if (i >= N_SLABS)
            await(&p->landed);
        send(p, (int)(i % 251));
        await(&p->done);
        wait_for(p, stream);
        double_read(stream, p->slab.device, SLAB_BYTES, i % 5 * 7000);
        release(p);
    }
    await_all();
    double_drain();
    assert_int_equal(counters().copies, n);
    assert_int_equal(counters().synchronisations, 0);
    for (uint32_t i = 0; i < 2; i++)
        cuStreamDestroy(streams[i]);
}

/* ---- Finishing ---------------------------------------------------------- */

TEST(finishes_behind_the_copy)
{
    enum { W = 7, H = 5, C = 3, PIXELS = W * H * C };
    struct fdl_finish finish = {
        .bytes = PIXELS * sizeof(float),
        .width = W,
        .height = H,
        .channels = C,
        .dtype = FEEDLINE_F32,
    };
    uint32_t seen[PIXELS];
    for (uint32_t i = 0; i < 768; i++)
        finish.table[i / 256][i % 256] = i * 2654435761u;
    start();
    open_desk(&finish);
    struct place *p = &d.places[0];
    set_transfer(p, SLAB_BYTES);
    for (uint32_t i = 0; i < PIXELS; i++)
        ((uint8_t *)p->slab.host)[i] = (uint8_t)(i * 31);
    assert_int_equal(ops->submit(d.backend, &p->transfer), FEEDLINE_OK);
    await(&p->landed);
    assert_int_equal(counters().kernels, 1);
    assert_true(double_peek(p->slab.finished, seen, sizeof(seen)));
    for (uint32_t y = 0; y < W * H; y++)
        for (uint32_t c = 0; c < C; c++) {
            uint8_t x = (uint8_t)((y * C + c) * 31);
            assert_int_equal(seen[c * W * H + y], finish.table[c][x]);
        }
    release(p);
    close_desk();
}

/* ---- Failures ----------------------------------------------------------- */

TEST(a_full_device_is_no_end)
{
    static const char *const limits[] = {"memory=20k", "pinned=20k"};
    for (size_t i = 0; i < FDL_COUNT_OF(limits); i++) {
        struct fdl_backend_config config = {.device = 0};
        struct fdl_slab slabs[4] = {{.host = NULL}};
        void *backend;
        double_reset();
        assert_int_equal(ops->create(&config, &backend), FEEDLINE_OK);
        assert_true(double_set(limits[i]));
        int32_t status = FEEDLINE_OK;
        uint32_t n = 0;
        while (n < 4 && status >= 0)
            status = ops->slab_alloc(backend, SLAB_BYTES, &slabs[n++]);
        assert_int_equal(status, FEEDLINE_ENOMEM);
        assert_non_null(strstr(fdl_last_error(), "memory for a batch"));
        assert_int_equal(n, 3);
        assert_null(slabs[2].host);
        for (uint32_t k = 0; k < 2; k++)
            ops->slab_free(backend, &slabs[k]);
        ops->destroy(backend);
        double_check_leaks();
        assert_int_equal(double_faults(NULL, 0), 0);
    }
}

/* All that a consumer does with a batch; each may fail, with words. */
static void use_once(struct place *p, fdl_cuda_stream stream, void *there)
{
    fdl_clear_error();
    int32_t status = ops->wait(d.backend, &p->transfer, stream);
    if (status >= 0)
        status = ops->copy(d.backend, there, p->slab.finished,
                           3 * sizeof(float), stream);
    if (status >= 0)
        status = ops->finish(d.backend, &p->transfer, there, stream);
    ops->use(d.backend, &p->transfer, NULL);
    if (status < 0)
        assert_true(*fdl_last_error());
}

/* Each function of the driver fails, at each of its calls: an error with
 * words, nothing left, nothing hangs. */
TEST(every_call_may_fail)
{
    static const char *const names[] = {
        "cuStreamCreateWithPriority",
        "cuEventCreate",
        "cuEventRecord",
        "cuMemcpyHtoDAsync",
        "cuMemcpyDtoDAsync",
        "cuStreamWaitEvent",
        "cuEventSynchronize",
        "cuMemAllocFromPoolAsync",
        "cuMemFreeAsync",
        "cuMemPoolCreate",
        "cuMemPoolSetAttribute",
        "cuMemPoolTrimTo",
        "cuMemPoolDestroy",
        "cuMemHostRegister",
        "cuEventElapsedTime",
        "cuEventQuery",
        "cuCtxGetStreamPriorityRange",
        "cuLaunchKernel",
        "cuCtxPushCurrent",
    };
    for (size_t i = 0; i < FDL_COUNT_OF(names); i++) {
        uint64_t calls = 1;
        for (uint64_t n = 1; n <= calls; n++) {
            struct fdl_backend_config config = {
                .finish = {.bytes = 3 * sizeof(float),
                           .width = 1,
                           .height = 1,
                           .channels = 3,
                           .dtype = FEEDLINE_F32}};
            void *there;
            memset(&d, 0, sizeof(d));
            fdl_event_init(&d.changed);
            start();
            assert_int_equal(cuMemAlloc(&there, 3 * sizeof(float)), 0);
            fdl_cuda_stream stream = make_stream();
            uint32_t depth = double_depth();
            assert_true(double_fail(names[i], n, 999, false));
            uint64_t before = double_calls(names[i]);
            assert_int_equal(ops->create(&config, &d.backend), FEEDLINE_OK);
            struct place *p = &d.places[0];
            int32_t status = ops->slab_alloc(d.backend, SLAB_BYTES, &p->slab);
            for (int round = 0; round < 2 && status >= 0; round++) {
                set_transfer(p, SLAB_BYTES);
                status = ops->submit(d.backend, &p->transfer);
                if (status < 0)
                    break;
                await(&p->done);
                status = p->status;
                if (status >= 0) {
                    use_once(p, stream, there);
                    release(p);
                } else {
                    assert_non_null(strstr(p->reason, "cuda:0: "));
                }
                await(&p->landed);
            }
            if (status < 0)
                assert_true(*fdl_last_error() || *p->reason);
            double_drain();
            ops->slab_free(d.backend, &p->slab);
            ops->destroy(d.backend);
            if (n == 1 && double_calls(names[i]) > before)
                calls = FDL_MIN(double_calls(names[i]) - before + 12, 40u);
            cuMemFree(there);
            cuStreamDestroy(stream);
            assert_int_equal(double_depth(), depth);
            double_check_leaks();
            char faults[1024];
            if (double_faults(faults, sizeof(faults)) > 0)
                fail_msg("%s, call %u: %s", names[i], (unsigned)n, faults);
        }
    }
}

/* A copy is under way when the event behind it fails: its memory is not given
 * back before it is done. */
TEST_WITH(a_failed_batch_has_settled, setup_alone, teardown)
{
    assert_true(double_set("latency_us=20000"));
    assert_true(double_fail("cuEventRecord", 2, 999, false));
    land(&d.places[0], 1);
    assert_int_equal(d.places[0].status, FEEDLINE_EDEVICE);
    memset(d.places[0].slab.host, 2, SLAB_BYTES);
    ops->slab_free(d.backend, &d.places[0].slab);
}

/* What was moved ahead of a batch that fails is not taken for part of the next
 * one in its slab. */
TEST_WITH(a_failed_batch_leaves_no_parts, setup, teardown)
{
    struct place *p = &d.places[0];
    assert_true(double_fail("cuMemcpyHtoDAsync", 2, 999, false));
    set_transfer(p, SLAB_BYTES);
    memset(p->slab.host, 1, SLAB_BYTES);
    ops->part(d.backend, &p->transfer, 0, 1024);
    ops->part(d.backend, &p->transfer, 1024, 1024);
    while (double_calls("cuMemcpyHtoDAsync") < 2)
        sched_yield();
    double_drain();
    assert_int_equal(ops->submit(d.backend, &p->transfer), FEEDLINE_OK);
    await(&p->landed);
    assert_int_equal(p->status, FEEDLINE_EDEVICE);
    ops->begin(d.backend);
    land(p, 2);
    assert_int_equal(p->status, FEEDLINE_OK);
    assert_device_has(p, 2);
    release(p);
}

/* The run fails while the driver is asked to move a part: the batch ends behind
 * that, as its slab may be freed then. */
TEST_WITH(a_batch_fails_behind_its_parts, setup, teardown)
{
    struct place *p = &d.places[1];
    land(&d.places[0], 1);
    assert_true(double_hold("cuMemcpyHtoDAsync"));
    set_transfer(p, SLAB_BYTES);
    ops->part(d.backend, &p->transfer, 0, 1024);
    double_await_held();
    assert_true(double_fail("cuCtxPushCurrent", 1, 999, false));
    release(&d.places[0]);
    assert_int_equal(ops->submit(d.backend, &p->transfer), FEEDLINE_OK);
    assert_false(atomic_load(&p->landed));
    double_let_go();
    await(&p->landed);
    assert_int_equal(p->status, FEEDLINE_EDEVICE);
}

/* A batch whose release fails is forgotten with its slab: the next call of
 * next() marks no stream of it. */
TEST_WITH(a_failed_release_leaves_no_stream, setup, teardown)
{
    fdl_cuda_stream stream = make_stream();
    land(&d.places[0], 1);
    wait_for(&d.places[0], stream);
    assert_true(double_fail("cuCtxPushCurrent", 1, 999, false));
    release(&d.places[0]);
    cuStreamDestroy(stream);
    ops->slab_free(d.backend, &d.places[0].slab);
    ops->begin(d.backend);
    uint64_t marks = double_calls("cuEventRecord");
    ops->ask(d.backend, 1, FDL_ASK_ANEW);
    assert_int_equal(double_calls("cuEventRecord"), marks);
}

/* A thread of the backend that could not enter the context is no use for this
 * run, and may enter it for the next one. */
TEST(threads_enter_again)
{
    uint32_t failed = 0;
    for (uint64_t n = 1; n <= 12; n++) {
        struct fdl_backend_config config = {.observe = NULL};
        struct place *p = &d.places[0];
        start();
        memset(&d, 0, sizeof(d));
        fdl_event_init(&d.changed);
        assert_int_equal(ops->create(&config, &d.backend), FEEDLINE_OK);
        assert_true(double_fail("cuCtxPushCurrent", n, 999, false));
        if (ops->slab_alloc(d.backend, SLAB_BYTES, &p->slab) >= 0)
            land(p, 1);
        else
            p->status = FEEDLINE_EDEVICE;
        failed += p->status == FEEDLINE_EDEVICE;
        double_fail_no_more();
        ops->begin(d.backend);
        if (!p->slab.host)
            assert_int_equal(ops->slab_alloc(d.backend, SLAB_BYTES, &p->slab),
                             FEEDLINE_OK);
        land(p, 2);
        if (p->status < 0)
            fail_msg("call %u: %s", (unsigned)n, p->reason);
        assert_device_has(p, 2);
        release(p);
        close_desk();
    }
    assert_true(failed > 2);
}

/* The device breaks while a copy runs: this batch is lost quietly, which its
 * stream notices; the next one has an error. */
TEST(a_lost_device_ends_the_run)
{
    start();
    open_desk(NULL);
    assert_true(double_fail("copy", 2, 700, false));
    land(&d.places[0], 1);
    assert_int_equal(d.places[0].status, FEEDLINE_OK);
    land(&d.places[1], 2);
    set_transfer(&d.places[2], SLAB_BYTES);
    int32_t status = ops->submit(d.backend, &d.places[2].transfer);
    if (status >= 0) {
        await(&d.places[2].landed);
        status = d.places[2].status;
    }
    assert_int_equal(status, FEEDLINE_EDEVICE);
    for (uint32_t i = 0; i < N_SLABS; i++)
        ops->slab_free(d.backend, &d.places[i].slab);
    ops->destroy(d.backend);
    double_reset();
}

TEST_MAIN("cuda backend")
