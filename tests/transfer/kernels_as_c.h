/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words that transfer/cuda/cuda_kernels.cu takes from CUDA, in C: including
 * this and then that file gives its kernels as functions, which do what one
 * thread of a grid does. As no thread waits for another, each block has to run
 * twice: the first time fills what its threads share.
 */
#ifndef FDL_TESTS_TRANSFER_KERNELS_AS_C_H
#define FDL_TESTS_TRANSFER_KERNELS_AS_C_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define UNROLL
#define KERNEL static
#define SHARED static
#define __device__
#define __forceinline__ inline
#define __align__(n)    FDL_ALIGNED(n)
#define __launch_bounds__(n)

static struct {
    uint32_t x;
} blockIdx, threadIdx;

static uint64_t as_c_now; /* the clock; each look takes 32 ns */

static inline void all_threads_are_here(void)
{
}

static inline uint64_t clock_ns(void)
{
    return as_c_now += 32;
}

static inline uint32_t sum_of_products(uint32_t x, float a, uint32_t y, float b)
{
    float p, q;
    memcpy(&p, &x, sizeof(p));
    memcpy(&q, &y, sizeof(q));
    volatile float left = p * a, right = q * b;
    p = left + right;
    memcpy(&x, &p, sizeof(x));
    return x;
}

#endif
