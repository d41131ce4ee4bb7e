/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time stamps. clock_gettime goes through the vDSO where the machine has a
 * usable counter (about 20 ns) and through the kernel where it has not (some
 * virtual machines: hundreds of ns). The profiler subtracts and reports what
 * its own stamps cost, so that price is measured and not assumed.
 */
#include "base/clock.h"

#include "base/compiler.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define COST_ROUNDS 16
#define COST_CALLS  64

static int64_t read_clock(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

FDL_HOT static int64_t monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

/* Relaxed: replaced before threads run, so their start orders it. */
static int64_t (*_Atomic clock_now_ns)(void) = monotonic_ns;

static pthread_once_t cost_once = PTHREAD_ONCE_INIT;
static int64_t cost_ns;

FDL_HOT int64_t fdl_now_ns(void)
{
    return atomic_load_explicit(&clock_now_ns, memory_order_relaxed)();
}

int64_t fdl_thread_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* The fastest round: what it costs when nothing interrupts. */
static void measure_cost(void)
{
    int64_t best = INT64_MAX;
    for (int round = 0; round < COST_ROUNDS; round++) {
        int64_t begin = monotonic_ns();
        int64_t end = begin;
        for (int call = 0; call < COST_CALLS; call++)
            end = monotonic_ns();
        if (end - begin < best)
            best = end - begin;
    }
    cost_ns = best < COST_CALLS ? 1 : best / COST_CALLS;
}

int64_t fdl_clock_cost_ns(void)
{
    pthread_once(&cost_once, measure_cost);
    return cost_ns;
}

void fdl_clock_replace(int64_t (*now_ns)(void))
{
    atomic_store_explicit(&clock_now_ns, now_ns ? now_ns : monotonic_ns,
                          memory_order_relaxed);
}
