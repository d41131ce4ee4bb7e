/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time that is really spent: asleep or on a core. All of it says how long that
 * was, by its own clock reads, for a sleep is never as short as it was asked to
 * be.
 */
#ifndef FDL_TESTS_NAP_H
#define FDL_TESTS_NAP_H

#include <stdint.h>

#define US INT64_C(1000)
#define MS INT64_C(1000000)

/* CLOCK_MONOTONIC, or what is in its place. */
int64_t nap_now(void);

struct nap_clock {
    int64_t (*now_ns)(void);
    void (*sleep_until)(int64_t due_ns);
};

/* NULL restores. While there are no other threads. */
void nap_by(const struct nap_clock *clock);

/* Sleeps; returns for how long. */
int64_t nap_until(int64_t due_ns);
int64_t nap(int64_t ns);

/* Computes for that much CPU time of this thread, however long it takes. */
void burn(int64_t cpu_ns);

#endif
