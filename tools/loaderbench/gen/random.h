/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers for generated images, as a pure function of a key: no state,
 * so image 17 is always the same, and integers only, so it is the same on every
 * machine. The mixing step is that of splitmix64.
 */
#ifndef LOADERBENCH_RANDOM_H
#define LOADERBENCH_RANDOM_H

#include <stdint.h>

static inline uint64_t random_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Number `counter` of the sequence called `key`. */
static inline uint64_t random_at(uint64_t key, uint64_t counter)
{
    return random_mix(key + (counter + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* Evenly from [low, high], by the upper 32 bits of `bits`. */
static inline int32_t random_between(uint64_t bits, int32_t low, int32_t high)
{
    uint64_t span = (uint64_t)((int64_t)high - low) + 1;
    return (int32_t)(low + (int64_t)(((bits >> 32) * span) >> 32));
}

#endif
