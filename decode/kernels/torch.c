/* SPDX-License-Identifier: Apache-2.0 */
/* Plain C for both levels: what differs is what a compiler may make of it. */
#include "decode/kernels/torch.h"

#include "base/compiler.h"

#include <math.h>
#include <string.h>

#define AVX2 FDL_TARGET("avx2,fma")

/* Pixels at once: a compiler that is told how many makes vectors of them. */
#define BLOCK 16

#define LEVEL   255.0F
#define TO_UNIT ((float)(1.0 / 255.0))
#define SIXTH   ((float)(1.0 / 6.0))
#define FROM    255.999F

/* At most a block; out may be one of the channels. */
FDL_INLINE void luma_of(const uint8_t *r, const uint8_t *g, const uint8_t *b,
                        size_t n, uint8_t *out)
{
    uint8_t y[BLOCK];
    for (size_t i = 0; i < n; i++) {
        float sum = fmaf(g[i], 0.587F, r[i] * 0.2989F);
        y[i] = (uint8_t)(int32_t)fmaf(b[i], 0.114F, sum);
    }
    memcpy(out, y, n);
}

FDL_INLINE void luma(const uint8_t *r, const uint8_t *g, const uint8_t *b,
                     size_t n, uint8_t *out)
{
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        luma_of(r + i, g + i, b + i, BLOCK, out + i);
    luma_of(r + i, g + i, b + i, n - i, out + i);
}

FDL_INLINE uint8_t mix(float base, float x, const struct fdl_torch_blend *blend)
{
    float from = base - blend->part * x;
    float y = fmaf(from, blend->alpha, blend->scale * x);
    y = y < 0.0F ? 0.0F : y;
    return (uint8_t)(int32_t)(y > LEVEL ? LEVEL : y);
}

FDL_INLINE void mix_all(uint8_t *restrict x, const uint8_t *restrict base,
                        size_t n, const struct fdl_torch_blend *blend)
{
    for (size_t i = 0; i < n; i++)
        x[i] = mix(base[i], x[i], blend);
}

FDL_INLINE void line(uint8_t *x, const uint8_t *base, size_t n,
                     const struct fdl_torch_blend *blend)
{
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        mix_all(x + i, base + i, BLOCK, blend);
    mix_all(x + i, base + i, n - i, blend);
}

FDL_INLINE uint8_t byte_of(float x)
{
    x = x < 0.0F ? 0.0F : x;
    x = x > 1.0F ? 1.0F : x;
    return (uint8_t)(int32_t)(x * FROM);
}

/* From 0 to 6. */
FDL_INLINE float turned(float r, float g, float b, float high, float spread,
                        float shift)
{
    float rc = (high - r) / spread, gc = (high - g) / spread;
    float bc = (high - b) / spread;
    float h = r == high   ? bc - gc
              : g == high ? (rc + 2.0F) - bc
                          : (gc + 4.0F) - rc;
    h = h * SIXTH + 1.0F;
    h = (h >= 1.0F ? h - 1.0F : h) + shift;
    h = h >= 1.0F ? h - 1.0F : h;
    return (h < 0.0F ? h + 1.0F : h) * 6.0F;
}

FDL_INLINE void hue(uint8_t *restrict red, uint8_t *restrict green,
                    uint8_t *restrict blue, size_t n, float shift)
{
    for (size_t i = 0; i < n; i++) {
        float r = red[i] * TO_UNIT, g = green[i] * TO_UNIT;
        float b = blue[i] * TO_UNIT;
        float high = FDL_MAX(FDL_MAX(r, g), b), low = FDL_MIN(FDL_MIN(r, g), b);
        float spread = high - low, s = spread / (spread > 0.0F ? high : 1.0F);
        float h = turned(r, g, b, high, spread > 0.0F ? spread : 1.0F, shift);
        int32_t corner = (int32_t)h;
        float faded = s * (h - (float)corner), rest = 1.0F - s;
        uint8_t v = byte_of(high), q = byte_of((1.0F - faded) * high);
        uint8_t t = byte_of((faded + rest) * high), p = byte_of(rest * high);
        const uint8_t turns[7][3] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v},
                                     {t, p, v}, {v, p, q}, {v, t, p}};
        red[i] = turns[corner][0];
        green[i] = turns[corner][1];
        blue[i] = turns[corner][2];
    }
}

/* ---- Levels ------------------------------------------------------------- */

void fdl_torch_luma(const uint8_t *r, const uint8_t *g, const uint8_t *b,
                    size_t n, uint8_t *out)
{
    luma(r, g, b, n, out);
}

void fdl_torch_line(uint8_t *x, const uint8_t *base, size_t n,
                    const struct fdl_torch_blend *blend)
{
    line(x, base, n, blend);
}

void fdl_torch_hue(uint8_t *r, uint8_t *g, uint8_t *b, size_t n, float shift)
{
    hue(r, g, b, n, shift);
}

#if defined(__x86_64__)
AVX2 void fdl_torch_luma_avx2(const uint8_t *r, const uint8_t *g,
                              const uint8_t *b, size_t n, uint8_t *out)
{
    luma(r, g, b, n, out);
}

AVX2 void fdl_torch_line_avx2(uint8_t *x, const uint8_t *base, size_t n,
                              const struct fdl_torch_blend *blend)
{
    line(x, base, n, blend);
}

AVX2 void fdl_torch_hue_avx2(uint8_t *r, uint8_t *g, uint8_t *b, size_t n,
                             float shift)
{
    hue(r, g, b, n, shift);
}
#endif

void fdl_torch_table(float base, const struct fdl_torch_blend *blend,
                     uint8_t table[256])
{
    for (uint32_t i = 0; i < 256; i++)
        table[i] = mix(base, (float)i, blend);
}
