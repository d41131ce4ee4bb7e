/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event count. The threads look at relaxed atomics, so that only the event
 * itself keeps a wake-up from being lost; waits have no timeout, so a lost one
 * hangs and is found by CTest's limit.
 */
#include "base/clock.h"
#include "base/event.h"
#include "base/thread.h"
#include "test.h"

#include <errno.h>
#include <signal.h>

#define ROUNDS    100000
#define N_THREADS 4

static uint32_t look(_Atomic uint32_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void put(_Atomic uint32_t *word, uint32_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static void wait_until(struct fdl_event *ev, _Atomic uint32_t *word,
                       uint32_t value)
{
    for (;;) {
        uint32_t key = fdl_event_prepare(ev);
        if (look(word) == value) {
            fdl_event_cancel(ev);
            return;
        }
        fdl_event_wait(ev, key, -1);
    }
}

/* ---- Two threads -------------------------------------------------------- */

static struct fdl_event ping, pong;
static _Atomic uint32_t ball;

static void *return_the_ball(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        wait_until(&ping, &ball, 2 * i + 1);
        put(&ball, 2 * i + 2);
        fdl_event_notify(&pong, 1);
    }
    return NULL;
}

TEST(ping_pong)
{
    struct fdl_thread t = {0};
    fdl_event_init(&ping);
    fdl_event_init(&pong);
    put(&ball, 0);
    assert_int_equal(fdl_thread_start(&t, "pong", return_the_ball, NULL), 0);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        put(&ball, 2 * i + 1);
        fdl_event_notify(&ping, 1);
        wait_until(&pong, &ball, 2 * i + 2);
    }
    fdl_thread_join(&t);
    assert_int_equal(look(&ping.waiters), 0);
    assert_int_equal(look(&pong.waiters), 0);
}

/* ---- Many waiters ------------------------------------------------------- */

static struct fdl_event work;
static _Atomic uint32_t tokens, taken, closed;

static bool take_token(void)
{
    uint32_t n = look(&tokens);
    while (n > 0) {
        if (atomic_compare_exchange_weak_explicit(
                &tokens, &n, n - 1, memory_order_relaxed, memory_order_relaxed))
            return true;
    }
    return false;
}

static void *take_tokens(void *arg)
{
    (void)arg;
    for (;;) {
        uint32_t key = fdl_event_prepare(&work);
        bool got = take_token();
        bool end = !got && look(&closed);
        if (!got && !end) {
            fdl_event_wait(&work, key, -1);
            continue;
        }
        fdl_event_cancel(&work);
        if (end)
            return NULL;
        atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed);
    }
}

TEST(one_wake_per_token)
{
    struct fdl_thread t[N_THREADS] = {0};
    fdl_event_init(&work);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(fdl_thread_start(&t[i], "taker", take_tokens, NULL),
                         0);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        atomic_fetch_add_explicit(&tokens, 1, memory_order_relaxed);
        fdl_event_notify(&work, 1);
    }
    /* The last token is awaited before the close, which wakes everybody: a
     * wake-up lost on the way hangs here. */
    while (look(&taken) < ROUNDS)
        sched_yield();
    put(&closed, 1);
    fdl_event_notify(&work, UINT32_MAX);
    for (int i = 0; i < N_THREADS; i++)
        fdl_thread_join(&t[i]);
    assert_int_equal(look(&taken), ROUNDS);
    assert_int_equal(look(&work.waiters), 0);
}

static struct fdl_event gate;
static _Atomic uint32_t generation, arrived;

static void *pass_gates(void *arg)
{
    (void)arg;
    for (uint32_t i = 1; i <= 2000; i++) {
        atomic_fetch_add_explicit(&arrived, 1, memory_order_relaxed);
        wait_until(&gate, &generation, i);
    }
    return NULL;
}

TEST(notify_all_wakes_all)
{
    struct fdl_thread t[N_THREADS] = {0};
    fdl_event_init(&gate);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(fdl_thread_start(&t[i], "gate", pass_gates, NULL), 0);
    for (uint32_t i = 1; i <= 2000; i++) {
        while (look(&arrived) < i * N_THREADS)
            sched_yield();
        put(&generation, i);
        fdl_event_notify(&gate, UINT32_MAX);
    }
    for (int i = 0; i < N_THREADS; i++)
        fdl_thread_join(&t[i]);
    assert_int_equal(look(&arrived), 2000 * N_THREADS);
}

/* ---- Who comes second sees the other ------------------------------------ */

#define SLOTS 512
#define STEPS 1000000

/* Where others use the cores too, each step may cost a time slice. */
#define ENOUGH_NS INT64_C(5000000000)

/* Both threads go through the slots side by side. In each, one makes it true
 * and notifies while the other prepares and looks: afterwards the look has seen
 * it, or the sequence has moved on and the wait, which is left out here, would
 * not sleep. With a plain load of `waiters` in notify this fails on x86, most
 * often within 100000 steps. */
static struct {
    struct fdl_event ev;
    _Atomic uint32_t is_true;
    uint32_t key;
    uint32_t seen;
} slots[SLOTS];

static _Atomic uint32_t notifier_at, waiter_at;
static _Atomic uint32_t n_steps;

/* Spins, so that the two leave at the same moment. */
static void meet(_Atomic uint32_t *own, _Atomic uint32_t *other, uint32_t step)
{
    atomic_store_explicit(own, step, memory_order_release);
    for (uint32_t spins = 0;
         atomic_load_explicit(other, memory_order_acquire) < step; spins++) {
        if (spins > 10000)
            sched_yield();
    }
}

static void *notify_slots(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < look(&n_steps); i++) {
        uint32_t slot = i % SLOTS;
        meet(&notifier_at, &waiter_at, i + 1);
        put(&slots[slot].is_true, 1);
        fdl_event_notify(&slots[slot].ev, 1);
    }
    meet(&notifier_at, &waiter_at, look(&n_steps) + 1);
    return NULL;
}

static void check_slot(uint32_t slot)
{
    if (!slots[slot].seen)
        assert_int_not_equal(look(&slots[slot].ev.sequence), slots[slot].key);
    fdl_event_init(&slots[slot].ev);
    put(&slots[slot].is_true, 0);
}

TEST(neither_side_misses_the_other)
{
    struct fdl_thread t = {0};
    for (uint32_t i = 0; i < SLOTS; i++)
        fdl_event_init(&slots[i].ev);
    put(&n_steps, STEPS);
    int64_t end = fdl_now_ns() + ENOUGH_NS;
    assert_int_equal(fdl_thread_start(&t, "notifier", notify_slots, NULL), 0);
    for (uint32_t i = 0; i < look(&n_steps); i++) {
        uint32_t slot = i % SLOTS;
        /* The notifier is in this step or the next. */
        if (i % SLOTS == 0 && fdl_now_ns() > end && i + 2 < STEPS)
            put(&n_steps, i + 2);
        if (i >= SLOTS)
            check_slot(slot); /* the notifier left it SLOTS steps ago */
        meet(&waiter_at, &notifier_at, i + 1);
        slots[slot].key = fdl_event_prepare(&slots[slot].ev);
        slots[slot].seen = look(&slots[slot].is_true);
    }
    meet(&waiter_at, &notifier_at, look(&n_steps) + 1);
    fdl_thread_join(&t);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        check_slot(slot);
}

/* ---- One thread --------------------------------------------------------- */

TEST(timeout_ends_the_wait)
{
    struct fdl_event ev;
    fdl_event_init(&ev);
    errno = 77;
    assert_false(fdl_event_wait(&ev, fdl_event_prepare(&ev), 0));
    assert_int_equal(errno, 77);

    /* A wait may end early for no reason; then it says so. */
    int64_t begin = fdl_now_ns();
    while (fdl_event_wait(&ev, fdl_event_prepare(&ev), 3000000))
        begin = fdl_now_ns();
    assert_true(fdl_now_ns() - begin >= 3000000);
    assert_int_equal(look(&ev.waiters), 0);
}

TEST(long_timeouts_do_not_overflow)
{
    struct fdl_event ev;
    fdl_event_init(&ev);
    uint32_t key = fdl_event_prepare(&ev);
    fdl_event_notify(&ev, 1);
    assert_true(fdl_event_wait(&ev, key, INT64_MAX));
}

TEST(old_key_does_not_wait)
{
    struct fdl_event ev;
    fdl_event_init(&ev);
    uint32_t key = fdl_event_prepare(&ev);
    fdl_event_notify(&ev, 1);
    assert_true(fdl_event_wait(&ev, key, -1));
    assert_int_equal(look(&ev.waiters), 0);
}

TEST(notify_without_waiters_is_silent)
{
    struct fdl_event ev;
    fdl_event_init(&ev);
    fdl_event_notify(&ev, 1);
    fdl_event_cancel((fdl_event_prepare(&ev), &ev));
    fdl_event_notify(&ev, UINT32_MAX);
    assert_int_equal(look(&ev.sequence), 0);
}

/* ---- From a signal handler ---------------------------------------------- */

static struct fdl_event signalled;
static _Atomic uint32_t signals;

static void on_signal(int number)
{
    (void)number;
    atomic_fetch_add_explicit(&signals, 1, memory_order_relaxed);
    fdl_event_notify(&signalled, UINT32_MAX);
}

static void *await_signal(void *arg)
{
    (void)arg;
    wait_until(&signalled, &signals, 1);
    return NULL;
}

TEST(notify_from_a_handler)
{
    struct fdl_thread t = {0};
    struct sigaction action = {.sa_handler = on_signal};
    fdl_event_init(&signalled);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(fdl_thread_start(&t, "signal", await_signal, NULL), 0);
    while (look(&signalled.waiters) == 0)
        sched_yield();
    errno = 77;
    raise(SIGUSR1);
    assert_int_equal(errno, 77);
    fdl_thread_join(&t);
}

TEST_MAIN("base_event")
