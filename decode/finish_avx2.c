/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last pass with AVX2, FMA and F16C. Planes are readable in whole vectors,
 * so the end of a row is computed like the rest and only stored with care.
 *
 * Streaming stores for f32 were tried, over a ring of 256 outputs: within noise
 * of plain ones (155 and 160 us for all of resample and finish), and another
 * thread would see them only after a fence. Dropped.
 */
#include "base/compiler.h"
#include "decode/finish.h"
#include "decode/levels.h"

#include <immintrin.h>
#include <string.h>

#define AVX2  FDL_TARGET("avx2,fma,f16c")
#define BLOCK 16 /* pixels that are interleaved at once */

static size_t plane_place(const struct fdl_output_format *f, int32_t c,
                          int32_t row)
{
    return ((size_t)c * (size_t)f->height + (size_t)row) * (size_t)f->width;
}

static void u8_nchw(const uint8_t *const planes[],
                    const struct fdl_affine *affine,
                    const struct fdl_output_format *f, int32_t row, void *dst)
{
    (void)affine;
    for (int32_t c = 0; c < f->channels; c++)
        memcpy((uint8_t *)dst + plane_place(f, c, row), planes[c],
               (size_t)f->width);
}

/* Byte k of output vector `v` is byte (16 v + k) / 3 of plane (16 v + k) % 3:
 * shuffles that put each plane's bytes there, and zeros elsewhere. */
#define Z -1
static const int8_t interleave[3][3][16] FDL_ALIGNED(16) = {
    {{0, Z, Z, 1, Z, Z, 2, Z, Z, 3, Z, Z, 4, Z, Z, 5},
     {Z, 0, Z, Z, 1, Z, Z, 2, Z, Z, 3, Z, Z, 4, Z, Z},
     {Z, Z, 0, Z, Z, 1, Z, Z, 2, Z, Z, 3, Z, Z, 4, Z}},
    {{Z, Z, 6, Z, Z, 7, Z, Z, 8, Z, Z, 9, Z, Z, 10, Z},
     {5, Z, Z, 6, Z, Z, 7, Z, Z, 8, Z, Z, 9, Z, Z, 10},
     {Z, 5, Z, Z, 6, Z, Z, 7, Z, Z, 8, Z, Z, 9, Z, Z}},
    {{Z, 11, Z, Z, 12, Z, Z, 13, Z, Z, 14, Z, Z, 15, Z, Z},
     {Z, Z, 11, Z, Z, 12, Z, Z, 13, Z, Z, 14, Z, Z, 15, Z},
     {10, Z, Z, 11, Z, Z, 12, Z, Z, 13, Z, Z, 14, Z, Z, 15}},
};
#undef Z

AVX2 FDL_INLINE __m128i pick(const uint8_t *from, const int8_t *shuffle)
{
    return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)from),
                            _mm_load_si128((const __m128i *)shuffle));
}

/* 16 bytes of each plane, in turn. */
AVX2 FDL_INLINE void store_pairs(__m128i a, __m128i b, uint8_t *to)
{
    _mm_storeu_si128((__m128i *)to, _mm_unpacklo_epi8(a, b));
    _mm_storeu_si128((__m128i *)(to + 16), _mm_unpackhi_epi8(a, b));
}

AVX2 FDL_INLINE void store_fours(__m128i a, __m128i b, __m128i c, __m128i d,
                                 uint8_t *to)
{
    __m128i low = _mm_unpacklo_epi8(a, b), high = _mm_unpackhi_epi8(a, b);
    __m128i low_2 = _mm_unpacklo_epi8(c, d), high_2 = _mm_unpackhi_epi8(c, d);
    _mm_storeu_si128((__m128i *)to, _mm_unpacklo_epi16(low, low_2));
    _mm_storeu_si128((__m128i *)(to + 16), _mm_unpackhi_epi16(low, low_2));
    _mm_storeu_si128((__m128i *)(to + 32), _mm_unpacklo_epi16(high, high_2));
    _mm_storeu_si128((__m128i *)(to + 48), _mm_unpackhi_epi16(high, high_2));
}

AVX2 FDL_INLINE __m128i load(const uint8_t *from)
{
    return _mm_loadu_si128((const __m128i *)from);
}

/* 16 pixels of 2, 3 or 4 channels, a constant. */
AVX2 FDL_INLINE void interleave_block(const uint8_t *const planes[], size_t x,
                                      size_t channels, uint8_t *to)
{
    if (channels == 2) {
        store_pairs(load(planes[0] + x), load(planes[1] + x), to);
        return;
    }
    if (channels == 4) {
        store_fours(load(planes[0] + x), load(planes[1] + x),
                    load(planes[2] + x), load(planes[3] + x), to);
        return;
    }
    for (size_t v = 0; v < 3; v++) {
        __m128i bytes = pick(planes[0] + x, interleave[v][0]);
        bytes = _mm_or_si128(bytes, pick(planes[1] + x, interleave[v][1]));
        bytes = _mm_or_si128(bytes, pick(planes[2] + x, interleave[v][2]));
        _mm_storeu_si128((__m128i *)(to + v * 16), bytes);
    }
}

AVX2 FDL_INLINE void bytes_row(const uint8_t *const planes[], size_t width,
                               size_t channels, uint8_t *to)
{
    size_t x = 0;
    for (; x + BLOCK <= width; x += BLOCK)
        interleave_block(planes, x, channels, to + x * channels);
    if (x < width) {
        uint8_t end[BLOCK * FDL_CHANNELS_MAX];
        interleave_block(planes, x, channels, end);
        memcpy(to + x * channels, end, (width - x) * channels);
    }
}

AVX2 static void u8_nhwc(const uint8_t *const planes[],
                         const struct fdl_affine *affine,
                         const struct fdl_output_format *f, int32_t row,
                         void *dst)
{
    (void)affine;
    size_t width = (size_t)f->width, channels = (size_t)f->channels;
    uint8_t *to = (uint8_t *)dst + (size_t)row * width * channels;
    if (channels == 3)
        bytes_row(planes, width, 3, to);
    else if (channels == 4)
        bytes_row(planes, width, 4, to);
    else
        bytes_row(planes, width, 2, to);
}

AVX2 FDL_INLINE __m256 eight(const uint8_t *from, __m256 scale, __m256 bias)
{
    __m256i x = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)from));
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(x), scale, bias);
}

AVX2 static void f32_nchw(const uint8_t *const planes[],
                          const struct fdl_affine *affine,
                          const struct fdl_output_format *f, int32_t row,
                          void *dst)
{
    size_t width = (size_t)f->width;
    for (int32_t c = 0; c < f->channels; c++) {
        __m256 scale = _mm256_set1_ps(affine->scale[c]);
        __m256 bias = _mm256_set1_ps(affine->bias[c]);
        float *to = (float *)dst + plane_place(f, c, row);
        size_t x = 0;
        for (; x + 8 <= width; x += 8)
            _mm256_storeu_ps(to + x, eight(planes[c] + x, scale, bias));
        if (x < width) {
            float end[8];
            _mm256_storeu_ps(end, eight(planes[c] + x, scale, bias));
            memcpy(to + x, end, (width - x) * sizeof(float));
        }
    }
}

/* rgbrgbrg, brgbrgbr, gbrgbrgb: 24 floats are whole pixels of 2, 3 and 4
 * channels. */
struct pattern {
    __m256 scale[3], bias[3];
};

AVX2 static struct pattern make_pattern(const struct fdl_affine *affine,
                                        int32_t channels)
{
    float scale[24], bias[24];
    for (int i = 0; i < 24; i++) {
        scale[i] = affine->scale[i % channels];
        bias[i] = affine->bias[i % channels];
    }
    struct pattern p;
    for (int i = 0; i < 3; i++) {
        p.scale[i] = _mm256_loadu_ps(scale + 8 * i);
        p.bias[i] = _mm256_loadu_ps(bias + 8 * i);
    }
    return p;
}

AVX2 FDL_INLINE void floats_block(const uint8_t *const planes[], size_t x,
                                  size_t channels, const struct pattern *p,
                                  float *to)
{
    uint8_t bytes[BLOCK * FDL_CHANNELS_MAX];
    interleave_block(planes, x, channels, bytes);
    for (size_t i = 0; i < 2 * channels; i++)
        _mm256_storeu_ps(to + 8 * i,
                         eight(bytes + 8 * i, p->scale[i % 3], p->bias[i % 3]));
}

AVX2 FDL_INLINE void floats_row(const uint8_t *const planes[], size_t width,
                                size_t channels, const struct pattern *p,
                                float *to)
{
    size_t x = 0;
    for (; x + BLOCK <= width; x += BLOCK)
        floats_block(planes, x, channels, p, to + x * channels);
    if (x < width) {
        float end[BLOCK * FDL_CHANNELS_MAX];
        floats_block(planes, x, channels, p, end);
        memcpy(to + x * channels, end, (width - x) * channels * sizeof(float));
    }
}

AVX2 static void f32_nhwc(const uint8_t *const planes[],
                          const struct fdl_affine *affine,
                          const struct fdl_output_format *f, int32_t row,
                          void *dst)
{
    struct pattern p = make_pattern(affine, f->channels);
    size_t width = (size_t)f->width, channels = (size_t)f->channels;
    float *to = (float *)dst + (size_t)row * width * channels;
    if (channels == 3)
        floats_row(planes, width, 3, &p, to);
    else if (channels == 4)
        floats_row(planes, width, 4, &p, to);
    else
        floats_row(planes, width, 2, &p, to);
}

/* ---- 16 bits ------------------------------------------------------------ */

enum half { F16, BF16 };

/* The upper halves of eight floats, rounded as fdl_bf16_of does. */
AVX2 FDL_INLINE __m128i upper_halves(__m256 y)
{
    __m256i bits = _mm256_castps_si256(y);
    __m256i odd =
        _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    bits = _mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff));
    bits = _mm256_srli_epi32(_mm256_add_epi32(bits, odd), 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(bits),
                            _mm256_extracti128_si256(bits, 1));
}

AVX2 FDL_INLINE void store_halves(uint16_t *to, __m256 y, enum half kind)
{
    __m128i bits = kind == F16 ? _mm256_cvtps_ph(y, _MM_FROUND_TO_NEAREST_INT)
                               : upper_halves(y);
    _mm_storeu_si128((__m128i *)to, bits);
}

AVX2 FDL_INLINE void half_nchw(const uint8_t *const planes[],
                               const struct fdl_affine *affine,
                               const struct fdl_output_format *f, int32_t row,
                               uint16_t *dst, enum half kind)
{
    size_t width = (size_t)f->width;
    for (int32_t c = 0; c < f->channels; c++) {
        __m256 scale = _mm256_set1_ps(affine->scale[c]);
        __m256 bias = _mm256_set1_ps(affine->bias[c]);
        uint16_t *to = dst + plane_place(f, c, row);
        size_t x = 0;
        for (; x + 8 <= width; x += 8)
            store_halves(to + x, eight(planes[c] + x, scale, bias), kind);
        if (x < width) {
            uint16_t end[8];
            store_halves(end, eight(planes[c] + x, scale, bias), kind);
            memcpy(to + x, end, (width - x) * sizeof(*to));
        }
    }
}

AVX2 FDL_INLINE void halves_block(const uint8_t *const planes[], size_t x,
                                  size_t channels, const struct pattern *p,
                                  uint16_t *to, enum half kind)
{
    uint8_t bytes[BLOCK * FDL_CHANNELS_MAX];
    interleave_block(planes, x, channels, bytes);
    for (size_t i = 0; i < 2 * channels; i++)
        store_halves(to + 8 * i,
                     eight(bytes + 8 * i, p->scale[i % 3], p->bias[i % 3]),
                     kind);
}

AVX2 FDL_INLINE void halves_row(const uint8_t *const planes[], size_t width,
                                size_t channels, const struct pattern *p,
                                uint16_t *to, enum half kind)
{
    size_t x = 0;
    for (; x + BLOCK <= width; x += BLOCK)
        halves_block(planes, x, channels, p, to + x * channels, kind);
    if (x < width) {
        uint16_t end[BLOCK * FDL_CHANNELS_MAX];
        halves_block(planes, x, channels, p, end, kind);
        memcpy(to + x * channels, end, (width - x) * channels * sizeof(*to));
    }
}

AVX2 FDL_INLINE void half_nhwc(const uint8_t *const planes[],
                               const struct fdl_affine *affine,
                               const struct fdl_output_format *f, int32_t row,
                               uint16_t *dst, enum half kind)
{
    struct pattern p = make_pattern(affine, f->channels);
    size_t width = (size_t)f->width, channels = (size_t)f->channels;
    uint16_t *to = dst + (size_t)row * width * channels;
    if (channels == 3)
        halves_row(planes, width, 3, &p, to, kind);
    else if (channels == 4)
        halves_row(planes, width, 4, &p, to, kind);
    else
        halves_row(planes, width, 2, &p, to, kind);
}

AVX2 static void f16_nchw(const uint8_t *const planes[],
                          const struct fdl_affine *affine,
                          const struct fdl_output_format *f, int32_t row,
                          void *dst)
{
    half_nchw(planes, affine, f, row, dst, F16);
}

AVX2 static void f16_nhwc(const uint8_t *const planes[],
                          const struct fdl_affine *affine,
                          const struct fdl_output_format *f, int32_t row,
                          void *dst)
{
    half_nhwc(planes, affine, f, row, dst, F16);
}

AVX2 static void bf16_nchw(const uint8_t *const planes[],
                           const struct fdl_affine *affine,
                           const struct fdl_output_format *f, int32_t row,
                           void *dst)
{
    half_nchw(planes, affine, f, row, dst, BF16);
}

AVX2 static void bf16_nhwc(const uint8_t *const planes[],
                           const struct fdl_affine *affine,
                           const struct fdl_output_format *f, int32_t row,
                           void *dst)
{
    half_nhwc(planes, affine, f, row, dst, BF16);
}

const struct fdl_finish_kernels fdl_finish_avx2 = {
    .u8_nchw = u8_nchw,
    .u8_nhwc = u8_nhwc,
    .f16_nchw = f16_nchw,
    .f16_nhwc = f16_nhwc,
    .bf16_nchw = bf16_nchw,
    .bf16_nhwc = bf16_nhwc,
    .f32_nchw = f32_nchw,
    .f32_nhwc = f32_nhwc,
};
