/* SPDX-License-Identifier: Apache-2.0 */
/* Colour enhancement in plain C. */
#include "decode/kernels/blend.h"

#include "decode/kernels/hue.h"

static uint8_t blend(float base, float x, float factor)
{
    float product = factor * (x - base);
    float y = base + product;
    if (y <= 0.0F)
        return 0;
    return y >= 255.0F ? 255 : (uint8_t)y;
}

static void constant(uint8_t *x, size_t n, uint8_t base, float factor)
{
    uint8_t table[256];
    for (uint32_t i = 0; i < 256; i++)
        table[i] = blend(base, (float)i, factor);
    for (size_t i = 0; i < n; i++)
        x[i] = table[x[i]];
}

static void line(uint8_t *x, const uint8_t *base, size_t n, float factor)
{
    for (size_t i = 0; i < n; i++)
        x[i] = blend(base[i], x[i], factor);
}

static void luma(const uint8_t *r, const uint8_t *g, const uint8_t *b, size_t n,
                 uint8_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)((r[i] * 19595u + g[i] * 38470u + b[i] * 7471u +
                            0x8000u) >>
                           16);
}

static uint64_t sum(const uint8_t *x, size_t n)
{
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += x[i];
    return total;
}

static void smooth(const uint8_t *above, const uint8_t *row,
                   const uint8_t *below, size_t n, uint8_t *out)
{
    out[0] = row[0];
    uint32_t left = (uint32_t)above[0] + row[0] + below[0];
    uint32_t centre = (uint32_t)above[1] + row[1] + below[1];
    for (size_t i = 1; i + 1 < n; i++) {
        uint32_t right = (uint32_t)above[i + 1] + row[i + 1] + below[i + 1];
        out[i] = (uint8_t)((left + centre + right + 4u * row[i] + 6) / 13);
        left = centre;
        centre = right;
    }
    out[n - 1] = row[n - 1];
}

const struct fdl_blend_kernels fdl_blend_c = {
    .constant = constant,
    .line = line,
    .luma = luma,
    .sum = sum,
    .hue = fdl_hue_shift,
    .cut = fdl_cut_line,
    .lookup = fdl_lookup,
    .range = fdl_range,
    .smooth = smooth,
    .torch_luma = fdl_torch_luma,
    .torch_line = fdl_torch_line,
    .torch_hue = fdl_torch_hue,
};
