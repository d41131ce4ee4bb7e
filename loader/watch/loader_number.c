/* SPDX-License-Identifier: Apache-2.0 */
/* A bit for each number; see loader_number.h. */
#include "loader/watch/loader_number.h"

#include <pthread.h>
#include <stdatomic.h>

static _Atomic uint64_t taken[FDL_LOADER_NUMBERS / 64];
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* In the child of a fork(), on its only thread. */
static void forget_numbers(void)
{
    for (uint32_t i = 0; i < FDL_LOADER_NUMBERS / 64; i++)
        atomic_store_explicit(&taken[i], 0, memory_order_relaxed);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_numbers);
}

uint32_t fdl_loader_number_take(void)
{
    pthread_once(&fork_once, watch_forks);
    for (uint32_t i = 0; i < FDL_LOADER_NUMBERS; i++) {
        uint64_t bit = UINT64_C(1) << (i % 64);
        uint64_t before =
            atomic_fetch_or_explicit(&taken[i / 64], bit, memory_order_relaxed);
        if (!(before & bit))
            return i;
    }
    return FDL_LOADER_NUMBERS;
}

void fdl_loader_number_give(uint32_t number)
{
    if (number < FDL_LOADER_NUMBERS)
        atomic_fetch_and_explicit(&taken[number / 64],
                                  ~(UINT64_C(1) << (number % 64)),
                                  memory_order_relaxed);
}
