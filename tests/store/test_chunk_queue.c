/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs for a thread: each is done once, in order, or was refused; nobody waits,
 * and what waits is bounded. */
#include "base/compiler.h"
#include "base/event.h"
#include "base/thread.h"
#include "store/chunk_queue.h"
#include "test.h"
#include "tests/wrap.h"
#include "tests/wrap_memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#define MOST ((uint64_t)64 << 10)

static bool no_threads;

WRAP(int, pthread_create, pthread_t *t, const pthread_attr_t *attr,
     void *(*run)(void *), void *arg)
{
    return no_threads ? EAGAIN : __real_pthread_create(t, attr, run, arg);
}

/* ---- A queue whose thread waits at a gate -------------------------------- */

static struct fdl_event opened, done;
static _Atomic bool open_gate;
static _Atomic uint64_t n_done, bytes_done, last_offset;

static void await(struct fdl_event *event, bool (*is_true)(void))
{
    for (;;) {
        uint32_t key = fdl_event_prepare(event);
        if (is_true()) {
            fdl_event_cancel(event);
            return;
        }
        fdl_event_wait(event, key, -1);
    }
}

static bool is_open(void)
{
    return atomic_load_explicit(&open_gate, memory_order_acquire);
}

static void let_through(void)
{
    atomic_store_explicit(&open_gate, true, memory_order_release);
    fdl_event_notify(&opened, UINT32_MAX);
}

/* Each job's bytes say where it is. */
static void run(void *user, const struct fdl_chunk_job *job)
{
    assert_ptr_equal(user, &n_done);
    await(&opened, is_open);
    for (uint64_t i = 0; i < job->bytes; i++)
        assert_int_equal(job->data[i], (uint8_t)(job->offset + i));
    atomic_store(&last_offset, job->offset);
    atomic_fetch_add(&bytes_done, job->bytes);
    atomic_fetch_add(&n_done, 1);
    fdl_event_notify(&done, UINT32_MAX);
}

static struct fdl_chunk_queue *create(uint64_t most)
{
    fdl_event_init(&opened);
    fdl_event_init(&done);
    struct fdl_chunk_queue *q = fdl_chunk_queue_create(most, run, &n_done);
    assert_non_null(q);
    return q;
}

static enum fdl_chunk_offer offer(struct fdl_chunk_queue *q, uint64_t offset,
                                  uint64_t bytes)
{
    uint8_t *data = malloc(bytes + 1);
    assert_non_null(data);
    for (uint64_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(offset + i);
    const struct fdl_chunk_job job = {
        .offset = offset, .bytes = bytes, .data = data};
    enum fdl_chunk_offer said = fdl_chunk_queue_offer(q, &job);
    free(data); /* it has a copy */
    return said;
}

/* ---- Cases --------------------------------------------------------------- */

TEST(all_that_waits_is_done)
{
    struct fdl_chunk_queue *q = create(MOST);
    for (uint64_t i = 0; i < 40; i++)
        assert_int_equal(offer(q, i, i * 10), FDL_CHUNK_TAKEN);
    let_through();
    fdl_chunk_queue_destroy(q);
    assert_int_equal(n_done, 40);
    assert_int_equal(last_offset, 39);
    assert_int_equal(bytes_done, 39 * 40 / 2 * 10);
}

TEST(nothing_was_to_be_done)
{
    fdl_chunk_queue_destroy(create(MOST));
    fdl_chunk_queue_destroy(NULL);
}

/* The thread does not get on, and nobody waits for it. */
TEST(what_waits_is_bounded)
{
    struct fdl_chunk_queue *q = create(MOST);
    uint64_t taken = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        if (offer(q, i, 1000) == FDL_CHUNK_TAKEN)
            taken++;
        assert_true(fdl_chunk_queue_bytes(q) <= MOST);
    }
    assert_in_range(taken, MOST / 1200, MOST / 1000);
    for (uint64_t i = 0; i < 10000; i++) /* nothing is not for nothing */
        taken += offer(q, i, 0) == FDL_CHUNK_TAKEN;
    assert_true(fdl_chunk_queue_bytes(q) <= MOST);
    let_through();
    fdl_chunk_queue_destroy(q);
    assert_int_equal(n_done, taken);
}

static bool is_one_done(void)
{
    return atomic_load(&n_done) > 0;
}

TEST(one_is_always_taken)
{
    struct fdl_chunk_queue *q = create(MOST);
    assert_int_equal(offer(q, 1, 5 * MOST), FDL_CHUNK_TAKEN);
    assert_int_equal(offer(q, 2, 1), FDL_CHUNK_NO_ROOM);
    let_through();
    await(&done, is_one_done);
    while (fdl_chunk_queue_bytes(q) > 0)
        sched_yield(); /* it is being freed */
    assert_int_equal(offer(q, 3, 1), FDL_CHUNK_TAKEN);
    fdl_chunk_queue_destroy(q);
    assert_int_equal(n_done, 2);
}

struct crowd {
    struct fdl_chunk_queue *q;
    _Atomic uint64_t taken;
};

static void *offer_many(void *arg)
{
    struct crowd *crowd = arg;
    for (uint64_t i = 0; i < 500; i++)
        if (offer(crowd->q, i, 100 + i) == FDL_CHUNK_TAKEN)
            atomic_fetch_add(&crowd->taken, 1);
    return NULL;
}

TEST(many_threads_offer)
{
    struct crowd crowd = {.q = create(MOST)};
    struct fdl_thread threads[4] = {0};
    let_through();
    for (int i = 0; i < 4; i++)
        assert_int_equal(
            fdl_thread_start(&threads[i], "offers", offer_many, &crowd), 0);
    for (int i = 0; i < 4; i++)
        fdl_thread_join(&threads[i]);
    assert_true(crowd.taken > 0);
    fdl_chunk_queue_destroy(crowd.q);
    assert_int_equal(n_done, crowd.taken);
}

TEST(a_thread_that_cannot_be)
{
    struct fdl_chunk_queue *q = create(MOST);
    no_threads = true;
    assert_int_equal(offer(q, 0, 10), FDL_CHUNK_NO_THREAD);
    assert_int_equal(fdl_chunk_queue_bytes(q), 0);
    no_threads = false;
    let_through();
    assert_int_equal(offer(q, 0, 10), FDL_CHUNK_TAKEN);
    fdl_chunk_queue_destroy(q);
    assert_int_equal(n_done, 1);
}

TEST(memory_that_ends)
{
    memory_left = 1;
    assert_null(fdl_chunk_queue_create(MOST, run, &n_done));
    struct fdl_chunk_queue *q = create(MOST);
    let_through();
    memory_refuses = 20000; /* the copy and not the thread */
    static uint8_t data[20000];
    const struct fdl_chunk_job job = {.bytes = sizeof(data), .data = data};
    assert_int_equal(fdl_chunk_queue_offer(q, &job), FDL_CHUNK_NO_ROOM);
    memory_refuses = 0;
    assert_int_equal(fdl_chunk_queue_bytes(q), 0);
    assert_int_equal(offer(q, 7, 10), FDL_CHUNK_TAKEN);
    fdl_chunk_queue_destroy(q);
    assert_int_equal(n_done, 1);
}

TEST_MAIN("chunk_queue")
