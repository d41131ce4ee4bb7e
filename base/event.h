/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event count: threads sleep until a condition that they check without a
 * lock may have changed.
 *
 *     for (;;) {                                 made_true();
 *         uint32_t key = fdl_event_prepare(ev);  fdl_event_notify(ev, 1);
 *         if (is_true()) {
 *             fdl_event_cancel(ev);
 *             break;
 *         }
 *         fdl_event_wait(ev, key, timeout_ns);
 *     }
 *
 * No wake-up is lost: prepare and notify both do an acquire-release
 * read-modify-write on `waiters`. Whichever comes second sees what the other
 * thread did before its own: either the notifier sees the waiter, or the
 * waiter's check of the condition sees the change. notify makes no system call
 * while nothing waits, and is async-signal-safe.
 */
#ifndef FDL_BASE_EVENT_H
#define FDL_BASE_EVENT_H

#include "base/compiler.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fdl_event {
    _Atomic uint32_t sequence; /* the futex word */
    _Atomic uint32_t waiters;
};

void fdl_event_init(struct fdl_event *ev);

uint32_t fdl_event_prepare(struct fdl_event *ev);
void fdl_event_cancel(struct fdl_event *ev);

/* Ends the prepare. timeout_ns < 0: none. false: the time is over. May return
 * early for no reason. */
bool fdl_event_wait(struct fdl_event *ev, uint32_t key, int64_t timeout_ns);

/* Wakes up to n waiters; UINT32_MAX for all. */
void fdl_event_notify(struct fdl_event *ev, uint32_t n);

#endif
