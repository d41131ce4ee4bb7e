/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rare conversions: CMYK files, gray output from colour files, YCbCr. They run
 * in place: those of rows, the result of which is never longer, on a strip that
 * is in the cache.
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

/* JPEG's weights, of 100,000. */
static const int32_t to_ycbcr[3][3] = {
    {29900, 58700, 11400}, {-16874, -33126, 50000}, {50000, -41869, -8131}};

/* In 64ths, each by itself: halves go up, but from below 0 anything goes to the
 * next greater number. */
static void make_tables(int16_t table[3][3][256])
{
    for (int out = 0; out < 3; out++)
        for (int in = 0; in < 3; in++)
            for (int32_t v = 0; v < 256; v++)
                table[out][in][v] =
                    (int16_t)((to_ycbcr[out][in] * v * 64 + 50000) / 100000);
}

void fdl_rgb_to_ycbcr(uint8_t *const planes[3], size_t n)
{
    int16_t table[3][3][256];
    make_tables(table);
    for (size_t i = 0; i < n; i++) {
        uint8_t in[3] = {planes[0][i], planes[1][i], planes[2][i]};
        for (int out = 0; out < 3; out++) {
            int32_t sum = table[out][0][in[0]] + table[out][1][in[1]] +
                          table[out][2][in[2]];
            planes[out][i] = (uint8_t)((sum >> 6) + (out > 0 ? 128 : 0));
        }
    }
}
