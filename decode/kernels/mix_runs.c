/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/kernels/mix_runs.h"

/* Adding this rounds a float of up to 2^22 to whole numbers, halves to even. */
#define ROUNDS 12582912.0f /* 1.5 * 2^23 */

/* Elements at once: a compiler that is told how many makes vectors of them. */
#define BLOCK 16

static inline void floats(float *restrict x, const float *restrict y, size_t n,
                          float own, float other)
{
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] * own + y[i] * other;
}

static inline void bytes(uint8_t *restrict x, const uint8_t *restrict y,
                         size_t n, float own, float other)
{
    for (size_t i = 0; i < n; i++) {
        float sum = (float)x[i] * own + (float)y[i] * other;
        x[i] = (uint8_t)(int32_t)(sum + ROUNDS - ROUNDS);
    }
}

void fdl_mix_floats(float *x, const float *y, size_t n, float own, float other)
{
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        floats(x + i, y + i, BLOCK, own, other);
    floats(x + i, y + i, n - i, own, other);
}

void fdl_mix_bytes(uint8_t *x, const uint8_t *y, size_t n, float own,
                   float other)
{
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        bytes(x + i, y + i, BLOCK, own, other);
    bytes(x + i, y + i, n - i, own, other);
}
