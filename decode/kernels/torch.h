/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch's arithmetic of colours of uint8 tensors, which is in float where
 * Pillow's has bytes: lines of them become, where `alpha` is 1 - factor,
 *
 *     luma    fma(b, 0.114, fma(g, 0.587, 0.2989 r)), cut off
 *     blend   fma(base - part x, alpha, scale x), clipped, cut off
 *     hue     through HSV of float, from x / 255 and back by 255.999
 *
 * with the fused operations of torch on a processor with AVX2 and no others.
 * Two levels of the same loops; they are chosen with those of blend.h.
 */
#ifndef FDL_DECODE_TORCH_H
#define FDL_DECODE_TORCH_H

#include <stddef.h>
#include <stdint.h>

struct fdl_torch_blend {
    float part, scale, alpha;
};

void fdl_torch_luma(const uint8_t *r, const uint8_t *g, const uint8_t *b,
                    size_t n, uint8_t *out);
void fdl_torch_luma_avx2(const uint8_t *r, const uint8_t *g, const uint8_t *b,
                         size_t n, uint8_t *out);
void fdl_torch_line(uint8_t *x, const uint8_t *base, size_t n,
                    const struct fdl_torch_blend *blend);
void fdl_torch_line_avx2(uint8_t *x, const uint8_t *base, size_t n,
                         const struct fdl_torch_blend *blend);
void fdl_torch_hue(uint8_t *r, uint8_t *g, uint8_t *b, size_t n, float shift);
void fdl_torch_hue_avx2(uint8_t *r, uint8_t *g, uint8_t *b, size_t n,
                        float shift);

/* What a blend with one base for all pixels makes of each byte. */
void fdl_torch_table(float base, const struct fdl_torch_blend *blend,
                     uint8_t table[256]);

#endif
