/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/kernels/mix_runs.h"

/* Adding this rounds a float of up to 2^22 to whole numbers, halves to even. */
#define ROUNDS 12582912.0f /* 1.5 * 2^23 */

static void floats(float *to, const float *x, const float *y, size_t n,
                   float own, float other)
{
    for (size_t i = 0; i < n; i++)
        to[i] = x[i] * own + y[i] * other;
}

static void bytes(uint8_t *to, const uint8_t *x, const uint8_t *y, size_t n,
                  float own, float other)
{
    for (size_t i = 0; i < n; i++) {
        float sum = (float)x[i] * own + (float)y[i] * other;
        to[i] = (uint8_t)(int32_t)(sum + ROUNDS - ROUNDS);
    }
}

const struct fdl_mix_kernels fdl_mix_c = {.floats = floats, .bytes = bytes};
