/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bilinear mapping with AVX2, four pixels of the result at a time, in double.
 * The image is copied to pixels of four bytes first, with a border of one pixel
 * that repeats its edge, so no point is at an edge, and what lies left and
 * right of one is a single load of eight bytes for all channels:
 *
 *     planes --interleave--> e e e e e     two loads for each of four points;
 *                            e r r r e     a shuffle per side and channel makes
 *                            e e e e e     doubles of them
 *
 * A byte becomes a double as the last byte of the mantissa of 2^52. Gathering
 * from planes takes six gathers of eight where this takes sixteen plain loads,
 * and the channels of one pixel as the four doubles of a register, half as many
 * instructions again as this. As in blend_avx2.c the target is without FMA on
 * purpose.
 */
#include "base/compiler.h"
#include "base/memory.h"
#include "decode/kernels/map.h"

#include <immintrin.h>
#include <string.h>

#define AVX2  FDL_TARGET("avx2")
#define BLOCK 4  /* pixels of the result that are made together */
#define PIXEL 4  /* bytes of an interleaved pixel */
#define WIDE  16 /* pixels that are interleaved together */

/* ---- Interleaving ------------------------------------------------------- */

static size_t pitch_of(const struct fdl_image *in)
{
    return ((size_t)in->width + 2) * PIXEL;
}

static size_t scratch_bytes(const struct fdl_image *in)
{
    size_t bytes;
    return fdl_mul_size(pitch_of(in), (size_t)in->height + 2, &bytes) ? bytes
                                                                      : 0;
}

AVX2 FDL_INLINE __m128i load_16(const uint8_t *x)
{
    return _mm_loadu_si128((const __m128i *)x);
}

AVX2 FDL_INLINE void store_16(uint8_t *to, __m128i x)
{
    _mm_storeu_si128((__m128i *)to, x);
}

/* One row; what is behind the last channel of a pixel does not matter. */
AVX2 static void interleave(const uint8_t *const planes[4], size_t width,
                            uint8_t *to)
{
    uint8_t *first = to + PIXEL;
    size_t x = 0;
    for (; x + WIDE <= width; x += WIDE) {
        __m128i a = load_16(planes[0] + x), b = load_16(planes[1] + x);
        __m128i c = load_16(planes[2] + x), d = load_16(planes[3] + x);
        __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d);
        uint8_t *at = first + x * PIXEL;
        store_16(at, _mm_unpacklo_epi16(ab, cd));
        store_16(at + 16, _mm_unpackhi_epi16(ab, cd));
        ab = _mm_unpackhi_epi8(a, b);
        cd = _mm_unpackhi_epi8(c, d);
        store_16(at + 32, _mm_unpacklo_epi16(ab, cd));
        store_16(at + 48, _mm_unpackhi_epi16(ab, cd));
    }
    for (; x < width; x++) {
        for (size_t c = 0; c < PIXEL; c++)
            first[x * PIXEL + c] = planes[c][x];
    }
    memcpy(to, first, PIXEL);
    memcpy(first + width * PIXEL, first + (width - 1) * PIXEL, PIXEL);
}

static void interleave_image(const struct fdl_image *in, uint8_t *scratch)
{
    size_t pitch = pitch_of(in), last = (size_t)in->height + 1;
    for (int32_t y = 0; y < in->height; y++) {
        const uint8_t *planes[PIXEL];
        for (int32_t c = 0; c < PIXEL; c++)
            planes[c] = fdl_image_row(in, FDL_MIN(c, in->channels - 1), y);
        interleave(planes, (size_t)in->width,
                   scratch + (size_t)(y + 1) * pitch);
    }
    memcpy(scratch, scratch + pitch, pitch);
    memcpy(scratch + last * pitch, scratch + (last - 1) * pitch, pitch);
}

/* ---- Mixing ------------------------------------------------------------- */

#define WHOLE 4503599627370496.0 /* 2^52 */

/* Where four pixels of the result come from. */
struct points {
    __m256d dx, dy;        /* behind the upper left one of four */
    uint64_t place[BLOCK]; /* of that; bytes */
    int inside;            /* a bit for each */
};

/* What is the same for a row: of x, y and what a perspective divides by. */
struct line {
    __m256d step[3]; /* per pixel */
    __m256d row[3];  /* what the row adds to it */
    __m256d start[3];
    __m256d width, height, pitch;
};

AVX2 FDL_INLINE __m256d is_within(__m256d v, __m256d end)
{
    return _mm256_and_pd(_mm256_cmp_pd(v, _mm256_setzero_pd(), _CMP_GE_OQ),
                         _mm256_cmp_pd(v, end, _CMP_LT_OQ));
}

AVX2 FDL_INLINE __m256d coordinate(const struct line *l, __m256d x, int i)
{
    return _mm256_add_pd(_mm256_add_pd(_mm256_mul_pd(l->step[i], x), l->row[i]),
                         l->start[i]);
}

/* Points outside become 0, which is as good as any. */
AVX2 FDL_INLINE void find_points(const struct line *l, bool perspective,
                                 int32_t x, struct points *p)
{
    const __m256d half = _mm256_set1_pd(0.5), one = _mm256_set1_pd(1.0);
    const __m256d whole = _mm256_set1_pd(WHOLE);
    __m256d px =
        _mm256_add_pd(_mm256_set1_pd(x), _mm256_setr_pd(0.5, 1.5, 2.5, 3.5));
    __m256d from_x = coordinate(l, px, 0), from_y = coordinate(l, px, 1);
    if (perspective) {
        __m256d over = coordinate(l, px, 2);
        from_x = _mm256_div_pd(from_x, over);
        from_y = _mm256_div_pd(from_y, over);
    }
    __m256d inside = _mm256_and_pd(is_within(from_x, l->width),
                                   is_within(from_y, l->height));
    p->inside = _mm256_movemask_pd(inside);
    from_x = _mm256_sub_pd(_mm256_and_pd(from_x, inside), half);
    from_y = _mm256_sub_pd(_mm256_and_pd(from_y, inside), half);
    __m256d left = _mm256_floor_pd(from_x), top = _mm256_floor_pd(from_y);
    p->dx = _mm256_sub_pd(from_x, left);
    p->dy = _mm256_sub_pd(from_y, top);

    /* from the border's first pixel; a whole number is the mantissa of what it
     * is above 2^52 */
    left = _mm256_mul_pd(_mm256_add_pd(left, one), _mm256_set1_pd(PIXEL));
    top = _mm256_mul_pd(_mm256_add_pd(top, one), l->pitch);
    __m256d place = _mm256_add_pd(_mm256_add_pd(left, top), whole);
    _mm256_storeu_si256((__m256i *)p->place,
                        _mm256_castpd_si256(_mm256_xor_pd(place, whole)));
}

/* Two pixels at each of four places. */
AVX2 FDL_INLINE __m256i load_pairs(const uint8_t *image,
                                   const uint64_t place[BLOCK])
{
    __m128i a = _mm_loadl_epi64((const __m128i *)(image + place[0]));
    __m128i b = _mm_loadl_epi64((const __m128i *)(image + place[1]));
    __m128i c = _mm_loadl_epi64((const __m128i *)(image + place[2]));
    __m128i d = _mm_loadl_epi64((const __m128i *)(image + place[3]));
    return _mm256_set_m128i(_mm_unpacklo_epi64(c, d), _mm_unpacklo_epi64(a, b));
}

/* 2^52 + byte `at` of each eight. */
AVX2 FDL_INLINE __m256d above_whole(__m256i bytes, int at)
{
    const __m256i first = _mm256_setr_epi8(
        0, -1, -1, -1, -1, -1, -1, -1, 8, -1, -1, -1, -1, -1, -1, -1, 0, -1, -1,
        -1, -1, -1, -1, -1, 8, -1, -1, -1, -1, -1, -1, -1);
    __m256i byte = _mm256_shuffle_epi8(
        bytes, _mm256_add_epi8(first, _mm256_set1_epi64x(at)));
    return _mm256_or_pd(_mm256_castsi256_pd(byte), _mm256_set1_pd(WHOLE));
}

/* a + (b - a) * part, both a and b above 2^52. */
AVX2 FDL_INLINE __m256d between_bytes(__m256d a, __m256d b, __m256d part)
{
    __m256d whole = _mm256_mul_pd(_mm256_sub_pd(b, a), part);
    return _mm256_add_pd(_mm256_sub_pd(a, _mm256_set1_pd(WHOLE)), whole);
}

/* Channel c of four pixels as int32. */
AVX2 FDL_INLINE __m128i mix(__m256i upper, __m256i lower,
                            const struct points *p, int c)
{
    __m256d v = between_bytes(above_whole(upper, c),
                              above_whole(upper, c + PIXEL), p->dx);
    __m256d next = between_bytes(above_whole(lower, c),
                                 above_whole(lower, c + PIXEL), p->dx);
    __m256d whole = _mm256_mul_pd(_mm256_sub_pd(next, v), p->dy);
    return _mm256_cvttpd_epi32(_mm256_add_pd(v, whole));
}

/* Four pixels, each channel of them in four bytes. */
AVX2 FDL_INLINE void make_block(const struct fdl_map_job *job,
                                const struct points *p, int channels,
                                uint8_t out[PIXEL][BLOCK])
{
    __m256i upper = load_pairs(job->scratch, p->place);
    __m256i lower = load_pairs(job->scratch + pitch_of(job->in), p->place);
    __m128i a = mix(upper, lower, p, 0), b = a, c = a, d = a;
    if (channels > 1) {
        b = mix(upper, lower, p, 1);
        c = mix(upper, lower, p, 2);
    }
    if (channels > 3)
        d = mix(upper, lower, p, 3);
    store_16(out[0],
             _mm_packus_epi16(_mm_packus_epi32(a, b), _mm_packus_epi32(c, d)));
    for (int i = 0; p->inside != (1 << BLOCK) - 1 && i < BLOCK; i++) {
        for (int k = 0; !(p->inside >> i & 1) && k < PIXEL; k++)
            out[k][i] = job->fill[k];
    }
}

/* `channels` is a constant where that pays. */
AVX2 FDL_INLINE void map_row(const struct fdl_map_job *job,
                             const struct line *l, int channels, int32_t y)
{
    const struct fdl_image *out = job->out;
    uint8_t *to = fdl_image_row(out, 0, y);
    size_t plane = out->plane;
    for (int32_t x = 0; x < out->width; x += BLOCK, to += BLOCK) {
        struct points p;
        uint8_t block[PIXEL][BLOCK];
        find_points(l, job->perspective, x, &p);
        make_block(job, &p, channels, block);
        size_t n = (size_t)FDL_MIN(out->width - x, BLOCK);
        for (int c = 0; n == BLOCK && c < channels; c++)
            memcpy(to + (size_t)c * plane, block[c], BLOCK);
        for (int c = 0; n < BLOCK && c < channels; c++)
            memcpy(to + (size_t)c * plane, block[c], n);
    }
}

AVX2 static void prepare_line(const struct fdl_map_job *job, int32_t y,
                              struct line *l)
{
    for (size_t i = 0; i < 3; i++) {
        const double *a = &job->a[3 * i];
        l->step[i] = _mm256_set1_pd(a[0]);
        l->row[i] = _mm256_set1_pd(a[1] * (y + 0.5));
        l->start[i] = _mm256_set1_pd(i < 2 ? a[2] : 1.0);
    }
    l->width = _mm256_set1_pd(job->in->width);
    l->height = _mm256_set1_pd(job->in->height);
    l->pitch = _mm256_set1_pd((double)pitch_of(job->in));
}

AVX2 static void bilinear(const struct fdl_map_job *job)
{
    interleave_image(job->in, job->scratch);
    for (int32_t y = 0; y < job->out->height; y++) {
        struct line l;
        prepare_line(job, y, &l);
        if (job->out->channels == 3)
            map_row(job, &l, 3, y);
        else
            map_row(job, &l, job->out->channels, y);
    }
}

const struct fdl_map_kernels fdl_map_avx2 = {
    .scratch_bytes = scratch_bytes,
    .bilinear = bilinear,
    .bicubic = fdl_map_bicubic_c,
};
