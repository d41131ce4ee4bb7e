/* SPDX-License-Identifier: Apache-2.0 */
/* Plain C: only images that have alpha come here. */
#include "decode/kernels/alpha.h"

#include "base/compiler.h"

void fdl_alpha_split(uint8_t *row, size_t n, int32_t colours, uint8_t *alpha)
{
    const uint8_t *in = row;
    for (size_t i = 0; i < n; i++) {
        for (int32_t c = 0; c < colours; c++)
            *row++ = *in++;
        alpha[i] = *in++;
    }
}

void fdl_alpha_multiply(uint8_t *row, size_t n, int32_t colours,
                        const uint8_t *alpha)
{
    for (size_t i = 0; i < n; i++) {
        for (int32_t c = 0; c < colours; c++, row++) {
            uint32_t t = (uint32_t)*row * alpha[i] + 128;
            *row = (uint8_t)((t + (t >> 8)) >> 8); /* / 255, rounded */
        }
    }
}

void fdl_alpha_divide(uint8_t *plane, size_t n, const uint8_t *alpha)
{
    for (size_t i = 0; i < n; i++) {
        if (alpha[i] > 0 && alpha[i] < 255)
            plane[i] = (uint8_t)FDL_MIN(255u * plane[i] / alpha[i], 255u);
    }
}
