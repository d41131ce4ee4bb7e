/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that a seed repeats (test_seed): splitmix64. */
#ifndef FDL_TESTS_DICE_H
#define FDL_TESTS_DICE_H

#include <stdint.h>

struct dice {
    uint64_t state;
};

static inline uint64_t dice_u64(struct dice *d)
{
    uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 to n - 1; 0 for n == 0. */
static inline uint32_t dice_below(struct dice *d, uint32_t n)
{
    return (uint32_t)((dice_u64(d) >> 32) * n >> 32);
}

static inline double dice_between(struct dice *d, double low, double high)
{
    return low + (high - low) * (double)(dice_u64(d) >> 11) * 0x1p-53;
}

#endif
