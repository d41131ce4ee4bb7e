/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event count, on one private futex.
 *
 *     waiter                                notifier
 *     W1  waiters += 1    (acq_rel)         N1  make it true
 *     W2  key = sequence  (acquire)         N2  waiters += 0    (acq_rel)
 *     W3  is it true?                       N3  sequence += 1   (release)
 *     W4  sleep while sequence == key       N4  wake
 *
 * W1 and N2 are read-modify-writes of one word, so one comes first.
 *   N2 first: W1 reads what N2 wrote, W3 sees N1.
 *   W1 first: N2 sees a waiter and goes on to N3. If W2 reads what N3 wrote,
 *     W3 sees N1; if it does not, W4 finds another sequence or is woken.
 *
 * The two RMWs do the work of two sequentially consistent fences. They cost
 * the same on x86 and, unlike fences, ThreadSanitizer understands them.
 */
#include "base/event.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(ATOMIC_INT_LOCK_FREE == 2,
               "notify is called from signal handlers");
_Static_assert(sizeof(_Atomic uint32_t) == 4, "the kernel's futex word");

static long futex(_Atomic uint32_t *word, int operation, uint32_t value,
                  const struct timespec *timeout)
{
    return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value,
                   timeout, NULL, 0);
}

void fdl_event_init(struct fdl_event *ev)
{
    atomic_init(&ev->sequence, 0);
    atomic_init(&ev->waiters, 0);
}

uint32_t fdl_event_prepare(struct fdl_event *ev)
{
    /* acq_rel: pairs with the one in notify, see above. */
    atomic_fetch_add_explicit(&ev->waiters, 1, memory_order_acq_rel);
    /* acquire: pairs with the release of `sequence` in notify. */
    return atomic_load_explicit(&ev->sequence, memory_order_acquire);
}

void fdl_event_cancel(struct fdl_event *ev)
{
    atomic_fetch_sub_explicit(&ev->waiters, 1, memory_order_relaxed);
}

bool fdl_event_wait(struct fdl_event *ev, uint32_t key, int64_t timeout_ns)
{
    struct timespec limit = {.tv_sec = (time_t)(timeout_ns / 1000000000),
                             .tv_nsec = (long)(timeout_ns % 1000000000)};
    int saved = errno;
    /* FUTEX_WAIT takes a relative time of CLOCK_MONOTONIC. It compares and
     * goes to sleep in one step, and also ends by EAGAIN and EINTR. */
    long result =
        futex(&ev->sequence, FUTEX_WAIT, key, timeout_ns < 0 ? NULL : &limit);
    bool in_time = result == 0 || errno != ETIMEDOUT;
    errno = saved;

    /* acquire: pairs with the acq_rel in notify, so that a caller may look at
     * what it waited for right away. */
    atomic_fetch_sub_explicit(&ev->waiters, 1, memory_order_acquire);
    return in_time;
}

void fdl_event_notify(struct fdl_event *ev, uint32_t n)
{
    /* acq_rel: pairs with the one in prepare, see above. */
    if (atomic_fetch_add_explicit(&ev->waiters, 0, memory_order_acq_rel) == 0)
        return;

    /* release: pairs with the acquire of `sequence` in prepare. */
    atomic_fetch_add_explicit(&ev->sequence, 1, memory_order_release);
    int saved = errno;
    futex(&ev->sequence, FUTEX_WAKE, FDL_MIN(n, (uint32_t)INT_MAX), NULL);
    errno = saved;
}
