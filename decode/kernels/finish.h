/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last pass over a row: planar bytes become bytes or numbers in the order
 * of the output, normalised, in their final place.
 *
 *     f32:  y = fma(x, scale, bias)     scale = 1 / (255 std), bias = -mean/std
 *
 * One rounding: at most half a unit in the last place off the exact value. Or
 * three, the same floats as torchvision's (docs/pixels.md):
 *
 *     y = (x / 255 - mean) / std, or (x (1 / 255) - mean) / std
 *
 * f16 and bf16 are that y, rounded once more. All levels give the same bits.
 */
#ifndef FDL_DECODE_FINISH_H
#define FDL_DECODE_FINISH_H

#include "base/cpu.h"
#include "decode/pixels/output_format.h"

#include <stdbool.h>
#include <stdint.h>

enum fdl_affine_way {
    FDL_AFFINE_ONCE = 0, /* fma(x, scale, bias) */
    FDL_AFFINE_STEPS,    /* as torchvision does */
    FDL_AFFINE_TABLE     /* by the table, where steps are not exact */
};

struct fdl_affine {
    enum fdl_affine_way way;
    float scale[FDL_CHANNELS_MAX], bias[FDL_CHANNELS_MAX];

    /* Of steps: 1 / 255 is scale + rest, 1 / std is nearly inverse. */
    float rest, mean[FDL_CHANNELS_MAX];
    float std[FDL_CHANNELS_MAX], inverse[FDL_CHANNELS_MAX];

    /* Tables of any elements in place of y: [channels][256]; NULL: none. See
     * finish_lookup.h. */
    const void *lookup;
    uint8_t split[FDL_CHANNELS_MAX][8][256]; /* each byte of an element */

    /* y of each x, for plain C. */
    float table[FDL_CHANNELS_MAX][256];
    uint16_t f16[FDL_CHANNELS_MAX][256], bf16[FDL_CHANNELS_MAX][256];
};

/* From mean and std, or to 0..1 where norm is not on. */
void fdl_affine_init(struct fdl_affine *affine, const struct fdl_norm *norm,
                     enum fdl_rounding rounding);

/* What each byte of a channel becomes: the bits of f32, f16 or bf16. */
void fdl_affine_bits(const struct fdl_affine *affine, int32_t dtype,
                     uint32_t bits[FDL_CHANNELS_MAX][256]);

/* planes[c]: `width` bytes and readable up to FDL_PLANE_ALIGN, for each of the
 * output's channels; they may be the same. row: its number in the output. */
typedef void (*fdl_finish_fn)(const uint8_t *const planes[],
                              const struct fdl_affine *affine,
                              const struct fdl_output_format *format,
                              int32_t row, void *dst);

/* Behind the last row, before another thread is told of it: rows may be on
 * their way past the caches. */
void fdl_finish_end(void);

/* MixUp of f32: finished x * own + finished y * other, each product and the sum
 * rounded by itself, as torch does it. */
struct fdl_finish_mix {
    const uint8_t *const *y; /* planes, as those of x */
    float own, other;
};

typedef void (*fdl_finish_mix_fn)(const uint8_t *const x[],
                                  const struct fdl_finish_mix *mix,
                                  const struct fdl_affine *affine,
                                  const struct fdl_output_format *format,
                                  int32_t row, float *dst);

/* u8_nchw of every level: planes as they are. */
void fdl_finish_planes(const uint8_t *const planes[],
                       const struct fdl_affine *affine,
                       const struct fdl_output_format *format, int32_t row,
                       void *dst);

/* Those for nhwc take 2 channels or more. */
struct fdl_finish_kernels {
    fdl_finish_fn u8_nchw, u8_nhwc, f16_nchw, f16_nhwc;
    fdl_finish_fn bf16_nchw, bf16_nhwc, f32_nchw, f32_nhwc;
    fdl_finish_fn u8_nchw_past; /* the caches */
    fdl_finish_mix_fn mix;

    /* The way back: n pixels of three bytes, apart from the planes. */
    void (*split)(const uint8_t *pixels, size_t n, uint8_t *const planes[3]);
};

/* split of plain C. */
void fdl_finish_split(const uint8_t *pixels, size_t n,
                      uint8_t *const planes[3]);

/* Of each level; levels.h has them all. */
extern const struct fdl_finish_kernels fdl_finish_c, fdl_finish_avx2,
    fdl_finish_neon;

/* By affine->lookup, elements of that many bytes: 1, 2, 4 or 8; plain C. */
fdl_finish_fn fdl_finish_lookup_c(uint32_t element_bytes, bool nhwc);

/* A sample whose rows go past the caches (finish_avx2.c). */
static inline bool fdl_finish_is_large(const struct fdl_output_format *f)
{
    size_t pixels = (size_t)f->width * (size_t)f->height;
    return pixels * (size_t)f->channels >= (size_t)1 << 16;
}

/* The one for a format, and that for what is delivered and not read again here:
 * large samples of bytes go past the caches then. */
fdl_finish_fn fdl_finish_choose(const struct fdl_finish_kernels *k,
                                const struct fdl_output_format *format);
fdl_finish_fn fdl_finish_choose_last(const struct fdl_finish_kernels *k,
                                     const struct fdl_output_format *format);

#endif
