/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last pass with AVX2, FMA and F16C. Planes are readable in whole vectors,
 * so the end of a row is computed like the rest and only stored with care.
 *
 * Rows of f32 of large samples, and planes of bytes, go past the caches, which
 * would first read what is overwritten: batches of them do not stay there until
 * they are used, and what does stay is of use to other threads.
 */
#include "base/compiler.h"
#include "decode/kernels/finish.h"

#include <immintrin.h>
#include <string.h>

#define AVX2  FDL_TARGET("avx2,fma,f16c")
#define BLOCK 16 /* pixels that are interleaved at once */

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

/* In whole vectors; how many bytes. */
AVX2 static size_t stream_bytes(uint8_t *to, const uint8_t *from, size_t n)
{
    size_t x = 0;
    for (; x + sizeof(__m256i) <= n; x += sizeof(__m256i))
        _mm256_stream_si256((__m256i *)(void *)(to + x),
                            _mm256_loadu_si256((const __m256i *)(from + x)));
    return x;
}

static void copy_past(uint8_t *to, const uint8_t *from, size_t n)
{
    size_t x = 0;
    if ((uintptr_t)to % sizeof(__m256i) == 0)
        x = stream_bytes(to, from, n);
    memcpy(to + x, from + x, n - x);
}

static void u8_nchw_past(const uint8_t *const planes[],
                         const struct fdl_affine *affine,
                         const struct fdl_output_format *f, int32_t row,
                         void *dst)
{
    (void)affine;
    for (int32_t c = 0; c < f->channels; c++)
        copy_past((uint8_t *)dst + fdl_planar_place(f, c, row), planes[c],
                  (size_t)f->width);
}

/* ---- Pixels to planes --------------------------------------------------- */

/* Byte k of plane c is byte 3 k + c of the pixels: for each of their vectors
 * the shuffle that puts it there. */
#define Z -1
static const int8_t apart[3][3][16] FDL_ALIGNED(16) = {
    {{0, 3, 6, 9, 12, 15, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},
     {Z, Z, Z, Z, Z, Z, 2, 5, 8, 11, 14, Z, Z, Z, Z, Z},
     {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 1, 4, 7, 10, 13}},
    {{1, 4, 7, 10, 13, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},
     {Z, Z, Z, Z, Z, 0, 3, 6, 9, 12, 15, Z, Z, Z, Z, Z},
     {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 2, 5, 8, 11, 14}},
    {{2, 5, 8, 11, 14, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},
     {Z, Z, Z, Z, Z, 1, 4, 7, 10, 13, Z, Z, Z, Z, Z, Z},
     {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 0, 3, 6, 9, 12, 15}},
};
#undef Z

AVX2 static void split(const uint8_t *pixels, size_t n,
                       uint8_t *const planes[3])
{
    size_t x = 0;
    for (; x + BLOCK <= n; x += BLOCK) {
        const uint8_t *from = pixels + 3 * x;
        for (size_t c = 0; c < 3; c++) {
            __m128i bytes = pick(from, apart[c][0]);
            bytes = _mm_or_si128(bytes, pick(from + 16, apart[c][1]));
            bytes = _mm_or_si128(bytes, pick(from + 32, apart[c][2]));
            _mm_storeu_si128((__m128i *)(planes[c] + x), bytes);
        }
    }
    uint8_t *const rest[3] = {planes[0] + x, planes[1] + x, planes[2] + x};
    fdl_finish_split(pixels + 3 * x, n - x, rest);
}

/* ---- Numbers ------------------------------------------------------------ */

enum kind { F32, F16, BF16 };

FDL_INLINE size_t bytes_of(enum kind kind)
{
    return kind == F32 ? sizeof(float) : sizeof(uint16_t);
}

/* What eight bytes are computed with; of NHWC, of the channels in turn. */
struct numbers {
    __m256 scale, bias, rest, mean, std, inverse;
};

/* See by_remainder in finish.c. */
AVX2 FDL_INLINE __m256 eight(const uint8_t *from, const struct numbers *n,
                             bool steps)
{
    __m256 x = _mm256_cvtepi32_ps(
        _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)from)));
    if (!steps)
        return _mm256_fmadd_ps(x, n->scale, n->bias);
    __m256 unit = _mm256_fmadd_ps(x, n->scale, _mm256_mul_ps(x, n->rest));
    __m256 centred = _mm256_sub_ps(unit, n->mean);
    __m256 near = _mm256_mul_ps(centred, n->inverse);
    __m256 remainder = _mm256_fnmadd_ps(near, n->std, centred);
    return _mm256_fmadd_ps(remainder, n->inverse, near);
}

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

AVX2 FDL_INLINE void store_eight(uint8_t *to, __m256 y, enum kind kind)
{
    if (kind == F32) {
        _mm256_storeu_si256((__m256i *)to, _mm256_castps_si256(y));
        return;
    }
    __m128i bits = kind == F16 ? _mm256_cvtps_ph(y, _MM_FROUND_TO_NEAREST_INT)
                               : upper_halves(y);
    _mm_storeu_si128((__m128i *)to, bits);
}

/* y: mixed with these by m; NULL: nothing is mixed. Without FMA, which would
 * round once less. */
AVX2 FDL_INLINE __m256 mixed(const uint8_t *from, const uint8_t *y,
                             const struct fdl_finish_mix *m,
                             const struct numbers *n, bool steps)
{
    __m256 value = eight(from, n, steps);
    if (!y)
        return value;
    return _mm256_add_ps(
        _mm256_mul_ps(value, _mm256_set1_ps(m->own)),
        _mm256_mul_ps(eight(y, n, steps), _mm256_set1_ps(m->other)));
}

/* The first elements of a row, in whole vectors. How many. */
AVX2 FDL_INLINE size_t stream_row(const uint8_t *from, size_t width,
                                  const struct numbers *n, float *to,
                                  bool steps)
{
    size_t x = 0;
    for (; x + 8 <= width; x += 8)
        _mm256_stream_ps(to + x, eight(from + x, n, steps));
    return x;
}

AVX2 FDL_INLINE void planar_row(const uint8_t *from, const uint8_t *y,
                                const struct fdl_finish_mix *m, size_t width,
                                const struct numbers *n, uint8_t *to,
                                enum kind kind, bool steps, bool past)
{
    size_t size = bytes_of(kind), x = 0;
    if (kind == F32 && past && (uintptr_t)to % sizeof(__m256) == 0)
        x = stream_row(from, width, n, (float *)(void *)to, steps);
    for (; x + 8 <= width; x += 8)
        store_eight(to + x * size,
                    mixed(from + x, y ? y + x : NULL, m, n, steps), kind);
    if (x < width) {
        uint8_t end[8 * sizeof(float)];
        store_eight(end, mixed(from + x, y ? y + x : NULL, m, n, steps), kind);
        memcpy(to + x * size, end, (width - x) * size);
    }
}

AVX2 FDL_INLINE void planar(const uint8_t *const planes[],
                            const struct fdl_finish_mix *m,
                            const struct fdl_affine *affine,
                            const struct fdl_output_format *f, int32_t row,
                            void *dst, enum kind kind)
{
    bool past = kind == F32 && !m && fdl_finish_is_large(f);
    for (int32_t c = 0; c < f->channels; c++) {
        struct numbers n = {.scale = _mm256_set1_ps(affine->scale[c]),
                            .bias = _mm256_set1_ps(affine->bias[c]),
                            .rest = _mm256_set1_ps(affine->rest),
                            .mean = _mm256_set1_ps(affine->mean[c]),
                            .std = _mm256_set1_ps(affine->std[c]),
                            .inverse = _mm256_set1_ps(affine->inverse[c])};
        uint8_t *to =
            (uint8_t *)dst + fdl_planar_place(f, c, row) * bytes_of(kind);
        const uint8_t *y = m ? m->y[c] : NULL;
        if (affine->way == FDL_AFFINE_STEPS)
            planar_row(planes[c], y, m, (size_t)f->width, &n, to, kind, true,
                       past);
        else
            planar_row(planes[c], y, m, (size_t)f->width, &n, to, kind, false,
                       past);
    }
}

/* rgbrgbrg, brgbrgbr, gbrgrgb: 24 numbers are whole pixels of 2, 3 and 4
 * channels. */
struct pattern {
    struct numbers of[3];
};

/* Numbers of channels, in the order that `channel` has them. */
AVX2 FDL_INLINE __m256 in_turn(const float *numbers, const uint8_t *channel)
{
    float found[8];
    for (int i = 0; i < 8; i++)
        found[i] = numbers[channel[i]];
    return _mm256_loadu_ps(found);
}

AVX2 FDL_INLINE void make_pattern(struct pattern *p,
                                  const struct fdl_affine *affine,
                                  size_t channels, bool steps)
{
    uint8_t channel[24];
    for (size_t i = 0; i < sizeof(channel); i++)
        channel[i] = i < channels ? (uint8_t)i : channel[i - channels];
    for (size_t i = 0; i < FDL_COUNT_OF(p->of); i++) {
        struct numbers *n = &p->of[i];
        n->scale = in_turn(affine->scale, channel + 8 * i);
        n->bias = in_turn(affine->bias, channel + 8 * i);
        if (!steps)
            continue;
        n->rest = _mm256_set1_ps(affine->rest);
        n->mean = in_turn(affine->mean, channel + 8 * i);
        n->std = in_turn(affine->std, channel + 8 * i);
        n->inverse = in_turn(affine->inverse, channel + 8 * i);
    }
}

AVX2 FDL_INLINE void packed_block(const uint8_t *const planes[],
                                  const struct fdl_finish_mix *m, size_t x,
                                  size_t channels, const struct pattern *p,
                                  uint8_t *to, enum kind kind, bool steps,
                                  bool past)
{
    uint8_t bytes[BLOCK * FDL_CHANNELS_MAX], y[sizeof(bytes)];
    interleave_block(planes, x, channels, bytes);
    if (m)
        interleave_block(m->y, x, channels, y);
    for (size_t i = 0; i < 2 * channels; i++) {
        __m256 value =
            mixed(bytes + 8 * i, m ? y + 8 * i : NULL, m, &p->of[i % 3], steps);
        if (past)
            _mm256_stream_ps((float *)(void *)to + 8 * i, value);
        else
            store_eight(to + 8 * i * bytes_of(kind), value, kind);
    }
}

AVX2 FDL_INLINE void packed_row(const uint8_t *const planes[],
                                const struct fdl_finish_mix *m, size_t width,
                                size_t channels, const struct pattern *p,
                                uint8_t *to, enum kind kind, bool steps,
                                bool past)
{
    size_t pixel = channels * bytes_of(kind), x = 0;
    for (; x + BLOCK <= width; x += BLOCK)
        packed_block(planes, m, x, channels, p, to + x * pixel, kind, steps,
                     past);
    if (x < width) {
        uint8_t end[BLOCK * FDL_CHANNELS_MAX * sizeof(float)];
        packed_block(planes, m, x, channels, p, end, kind, steps, false);
        memcpy(to + x * pixel, end, (width - x) * pixel);
    }
}

AVX2 FDL_INLINE void packed(const uint8_t *const planes[],
                            const struct fdl_finish_mix *m,
                            const struct fdl_affine *affine,
                            const struct fdl_output_format *f, int32_t row,
                            void *dst, enum kind kind, bool steps)
{
    size_t width = (size_t)f->width, channels = (size_t)f->channels;
    struct pattern p;
    make_pattern(&p, affine, channels, steps);
    uint8_t *to =
        (uint8_t *)dst + (size_t)row * width * channels * bytes_of(kind);
    bool past = kind == F32 && !m && fdl_finish_is_large(f) &&
                (uintptr_t)to % sizeof(__m256) == 0;
    if (channels == 3 && past)
        packed_row(planes, m, width, 3, &p, to, kind, steps, true);
    else if (channels == 3)
        packed_row(planes, m, width, 3, &p, to, kind, steps, false);
    else if (channels == 4)
        packed_row(planes, m, width, 4, &p, to, kind, steps, false);
    else
        packed_row(planes, m, width, 2, &p, to, kind, steps, false);
}

/* Both layouts of one type. */
#define NUMBERS(type, kind)                                                    \
  AVX2 static void type##_nchw(                                                \
      const uint8_t *const planes[], const struct fdl_affine *affine,          \
      const struct fdl_output_format *f, int32_t row, void *dst)               \
  {                                                                            \
    if (affine->way == FDL_AFFINE_TABLE)                                       \
      fdl_finish_c.type##_nchw(planes, affine, f, row, dst);                   \
    else                                                                       \
      planar(planes, NULL, affine, f, row, dst, kind);                         \
  }                                                                            \
  AVX2 static void type##_nhwc(                                                \
      const uint8_t *const planes[], const struct fdl_affine *affine,          \
      const struct fdl_output_format *f, int32_t row, void *dst)               \
  {                                                                            \
    if (affine->way == FDL_AFFINE_TABLE)                                       \
      fdl_finish_c.type##_nhwc(planes, affine, f, row, dst);                   \
    else if (affine->way == FDL_AFFINE_STEPS)                                  \
      packed(planes, NULL, affine, f, row, dst, kind, true);                   \
    else                                                                       \
      packed(planes, NULL, affine, f, row, dst, kind, false);                  \
  }
NUMBERS(f32, F32)
NUMBERS(f16, F16)
NUMBERS(bf16, BF16)

AVX2 static void mix(const uint8_t *const x[], const struct fdl_finish_mix *m,
                     const struct fdl_affine *affine,
                     const struct fdl_output_format *f, int32_t row, float *dst)
{
    if (affine->way == FDL_AFFINE_TABLE)
        fdl_finish_c.mix(x, m, affine, f, row, dst);
    else if (!f->nhwc || f->channels == 1)
        planar(x, m, affine, f, row, dst, F32);
    else if (affine->way == FDL_AFFINE_STEPS)
        packed(x, m, affine, f, row, dst, F32, true);
    else
        packed(x, m, affine, f, row, dst, F32, false);
}

const struct fdl_finish_kernels fdl_finish_avx2 = {
    .u8_nchw = fdl_finish_planes,
    .u8_nchw_past = u8_nchw_past,
    .u8_nhwc = u8_nhwc,
    .f16_nchw = f16_nchw,
    .f16_nhwc = f16_nhwc,
    .bf16_nchw = bf16_nchw,
    .bf16_nhwc = bf16_nhwc,
    .f32_nchw = f32_nchw,
    .f32_nhwc = f32_nhwc,
    .mix = mix,
    .split = split,
};
