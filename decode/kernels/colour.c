/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rare conversions: CMYK files, and gray output from colour files. They run on
 * a strip that is in the cache, in place, since the result is never longer.
 */
#include "decode/kernels/colour.h"

/* a * b / 255, rounded: exact for bytes. */
static uint32_t mul_255(uint32_t a, uint32_t b)
{
    uint32_t t = a * b + 128;
    return (t + (t >> 8)) >> 8;
}

void fdl_cmyk_to_rgb(uint8_t *row, size_t n)
{
    const uint8_t *in = row;
    for (size_t i = 0; i < n; i++, in += 4, row += 3) {
        uint32_t black = in[3];
        uint32_t cyan = 255u - in[0], magenta = 255u - in[1];
        uint32_t yellow = 255u - in[2];
        row[0] = (uint8_t)(black - mul_255(cyan, black));
        row[1] = (uint8_t)(black - mul_255(magenta, black));
        row[2] = (uint8_t)(black - mul_255(yellow, black));
    }
}

void fdl_rgb_to_gray(uint8_t *row, size_t n)
{
    const uint8_t *in = row;
    for (size_t i = 0; i < n; i++, in += 3)
        row[i] = (uint8_t)((in[0] * 19595u + in[1] * 38470u + in[2] * 7471u +
                            0x8000u) >>
                           16);
}
