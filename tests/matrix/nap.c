/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping, computing, drawing; see nap.h. */
#include "nap.h"

#include <errno.h>
#include <time.h>

#define BURN_ROUND 256u /* of a few ns: well below what is asked for */

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t real_now(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static void real_sleep(int64_t due_ns)
{
    struct timespec due = {.tv_sec = (time_t)(due_ns / 1000000000),
                           .tv_nsec = (long)(due_ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
        continue;
}

static const struct nap_clock real = {real_now, real_sleep};
static const struct nap_clock *by = &real;

void nap_by(const struct nap_clock *clock)
{
    by = clock ? clock : &real;
}

int64_t nap_now(void)
{
    return by->now_ns();
}

int64_t nap_until(int64_t due_ns)
{
    int64_t begin = nap_now();
    if (due_ns <= begin)
        return 0;
    by->sleep_until(due_ns);
    return nap_now() - begin;
}

int64_t nap(int64_t ns)
{
    return ns > 0 ? nap_until(nap_now() + ns) : 0;
}

void burn(int64_t cpu_ns)
{
    int64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
    volatile uint32_t sink = 0;
    while (cpu_ns > 0 && clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
        for (uint32_t i = 0; i < BURN_ROUND; i++)
            sink = sink * 1664525u + i;
}
