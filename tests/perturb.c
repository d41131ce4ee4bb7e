/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that dawdle wherever they hand something over. Linked to a test by
 * feedline_perturbed_test(), which puts these functions in front of the
 * library's: each gives way or sleeps for some microseconds before and after,
 * as numbers say that are drawn for each thread from FDL_TEST_SEED. So threads
 * meet in orders that an undisturbed machine hardly ever shows, and the thread
 * sanitizer sees them. Nothing here orders memory: that would hide races.
 */
#include "base/event.h"
#include "dice.h"
#include "loader/read/window.h"
#include "loader/stream/ring.h"
#include "test.h"
#include "wrap.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#define LONGEST_NS 60000

static uint64_t seed;
static _Atomic uint64_t n_threads;
static _Thread_local struct dice dice; /* 0: not seeded yet */

__attribute__((constructor)) static void begin(void)
{
    seed = test_seed();
}

/* Half of the time nothing, else a step back in the queue, and now and then a
 * sleep. */
static void dawdle(void)
{
    if (dice.state == 0)
        dice.state = seed + atomic_fetch_add_explicit(&n_threads, 1,
                                                      memory_order_relaxed);
    uint32_t what = dice_below(&dice, 16);
    if (what < 7) {
        sched_yield();
    } else if (what == 7) {
        struct timespec pause = {.tv_nsec = dice_below(&dice, LONGEST_NS)};
        nanosleep(&pause, NULL);
    }
}

/* ---- Of a value, and of none --------------------------------------------- */

#define GETS(type, name, given, ...)                                           \
  WRAP(type, name, __VA_ARGS__)                                                \
  {                                                                            \
    dawdle();                                                                  \
    type got = __real_##name given;                                            \
    dawdle();                                                                  \
    return got;                                                                \
  }

#define DOES(name, given, ...)                                                 \
  WRAP(void, name, __VA_ARGS__)                                                \
  {                                                                            \
    dawdle();                                                                  \
    __real_##name given;                                                       \
    dawdle();                                                                  \
  }

GETS(int, pthread_mutex_lock, (m), pthread_mutex_t *m)
GETS(int, pthread_mutex_unlock, (m), pthread_mutex_t *m)

GETS(uint32_t, fdl_event_prepare, (ev), struct fdl_event *ev)
DOES(fdl_event_cancel, (ev), struct fdl_event *ev)
GETS(bool, fdl_event_wait, (ev, key, timeout_ns), struct fdl_event *ev,
     uint32_t key, int64_t timeout_ns)
DOES(fdl_event_notify, (ev, n), struct fdl_event *ev, uint32_t n)

GETS(struct fdl_read *, fdl_window_claim, (w), struct fdl_window *w)
GETS(struct fdl_read *, fdl_window_take, (w), struct fdl_window *w)
GETS(uint32_t, fdl_window_publish, (r), struct fdl_read *r)
DOES(fdl_window_free, (w, r), struct fdl_window *w, struct fdl_read *r)
DOES(fdl_window_issue, (w, end), struct fdl_window *w, uint64_t end)
DOES(fdl_window_close, (w), struct fdl_window *w)

GETS(feedline_batch *, fdl_ring_open, (r, ticket), struct fdl_ring *r,
     uint64_t ticket)
DOES(fdl_ring_sample_done, (b, place), feedline_batch *b, uint32_t place)
DOES(fdl_ring_deliver, (r, b), struct fdl_ring *r, feedline_batch *b)
DOES(fdl_ring_release, (b), feedline_batch *b)
