/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps with AVX2, four pixels of the result at a time. The image
 * is copied to pixels of four bytes first, with a border that repeats its edge,
 * so no point is at an edge, and the taps of a row are a single load for all
 * channels:
 *
 *     planes --interleave--> e e e e e
 *                            e r r r e
 *                            e e e e e
 *
 * Bilinear is done in double, a shuffle per side and channel making four
 * doubles: a byte is one as the last byte of the mantissa of 2^52. Gathering
 * from planes takes six gathers of eight where this takes sixteen plain loads.
 *
 * Bicubic is done in float, two pixels of four channels in a register. Where a
 * value comes so near to a whole number that float may be on the wrong side of
 * it, in one pixel of a hundred, the pixel is made again in double, in plain
 * C's order. (Bilinear has as little to compute that float gains nothing.)
 *
 * The nearest of pixels in a line are gathered, sixteen at a time.
 *
 * As in blend_avx2.c the target is without FMA on purpose.
 */
#include "base/compiler.h"
#include "base/memory.h"
#include "decode/kernels/map.h"

#include <immintrin.h>
#include <string.h>

#define AVX2  FDL_TARGET("avx2")
#define BLOCK 4  /* pixels of the result that are made together */
#define PIXEL 4  /* bytes of an interleaved pixel */
#define EDGE  2  /* pixels of the border, all round */
#define WIDE  16 /* pixels that are interleaved together */

/* ---- Interleaving ------------------------------------------------------- */

static size_t pitch_of(const struct fdl_image *in)
{
    return ((size_t)in->width + 2 * EDGE) * PIXEL;
}

static size_t scratch_bytes(const struct fdl_image *in)
{
    size_t bytes;
    return fdl_mul_size(pitch_of(in), (size_t)in->height + 2 * EDGE, &bytes)
               ? bytes
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
    uint8_t *first = to + EDGE * PIXEL;
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
    for (size_t i = 0; i < EDGE; i++) {
        memcpy(to + i * PIXEL, first, PIXEL);
        memcpy(first + (width + i) * PIXEL, first + (width - 1) * PIXEL, PIXEL);
    }
}

static void interleave_image(const struct fdl_image *in, uint8_t *scratch)
{
    size_t pitch = pitch_of(in), end = (size_t)in->height + EDGE;
    for (int32_t y = 0; y < in->height; y++) {
        const uint8_t *planes[PIXEL];
        for (int32_t c = 0; c < PIXEL; c++)
            planes[c] = fdl_image_row(in, FDL_MIN(c, in->channels - 1), y);
        interleave(planes, (size_t)in->width,
                   scratch + (size_t)(y + EDGE) * pitch);
    }
    for (size_t i = 0; i < EDGE; i++) {
        memcpy(scratch + i * pitch, scratch + EDGE * pitch, pitch);
        memcpy(scratch + (end + i) * pitch, scratch + (end - 1) * pitch, pitch);
    }
}

/* ---- Points ------------------------------------------------------------- */

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

/* What is `before` each point. Points outside become 0, which is as good as
 * any. */
AVX2 FDL_INLINE void find_points(const struct line *l, bool perspective,
                                 int32_t x, double before, struct points *p)
{
    const __m256d half = _mm256_set1_pd(before), edge = _mm256_set1_pd(EDGE);
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
    left = _mm256_mul_pd(_mm256_add_pd(left, edge), _mm256_set1_pd(PIXEL));
    top = _mm256_mul_pd(_mm256_add_pd(top, edge), l->pitch);
    __m256d place = _mm256_add_pd(_mm256_add_pd(left, top), whole);
    _mm256_storeu_si256((__m256i *)p->place,
                        _mm256_castpd_si256(_mm256_xor_pd(place, whole)));
}

/* ---- Nearest ------------------------------------------------------------ */

/* In pixels. */
static int32_t pitch_in_pixels(const struct fdl_map_job *job)
{
    return job->in->width + 2 * EDGE;
}

/* Of the image, as copied. */
static const int *first_pixel(const struct fdl_map_job *job)
{
    return (const int *)(const void *)(job->scratch +
                                       EDGE * pitch_of(job->in)) +
           EDGE;
}

/* 16 pixels by their places behind the first one. */
AVX2 FDL_INLINE void take_16(const int *pixels, __m256i low, __m256i high,
                             size_t plane, int32_t channels, uint8_t *to)
{
    const __m256i planes =
        _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,
                         0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    low = _mm256_shuffle_epi8(_mm256_i32gather_epi32(pixels, low, 4), planes);
    high = _mm256_shuffle_epi8(_mm256_i32gather_epi32(pixels, high, 4), planes);
    __m256i ab = _mm256_unpacklo_epi32(low, high);
    __m256i cd = _mm256_unpackhi_epi32(low, high);
    __m128i even = _mm256_castsi256_si128(ab);
    __m128i odd = _mm256_extracti128_si256(ab, 1);
    store_16(to, _mm_unpacklo_epi32(even, odd));
    if (channels > 1) {
        store_16(to + plane, _mm_unpackhi_epi32(even, odd));
        even = _mm256_castsi256_si128(cd);
        odd = _mm256_extracti128_si256(cd, 1);
    }
    if (channels > 2)
        store_16(to + 2 * plane, _mm_unpacklo_epi32(even, odd));
    if (channels > 3)
        store_16(to + 3 * plane, _mm_unpackhi_epi32(even, odd));
}

/* The last 16 may have been among those before them. */
AVX2 static void walk(const struct fdl_map_job *job, struct fdl_map_walk x,
                      struct fdl_map_walk y, uint8_t *to, int64_t n)
{
    if (n < 16) {
        fdl_map_c.walk(job, x, y, to, n);
        return;
    }
    const int *pixels = first_pixel(job);
    const __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i pitch = _mm256_set1_epi32(pitch_in_pixels(job));
    int32_t channels = job->in->channels;
    size_t plane = job->out->plane;
    __m256i x_step = _mm256_set1_epi32((int32_t)x.step);
    __m256i y_step = _mm256_set1_epi32((int32_t)y.step);
    __m256i x_part = _mm256_mullo_epi32(x_step, number);
    __m256i y_part = _mm256_mullo_epi32(y_step, number);
    x_step = _mm256_slli_epi32(x_step, 3);
    y_step = _mm256_slli_epi32(y_step, 3);
    for (int64_t i = 0; i < n; i += 16) {
        int64_t at = FDL_MIN(i, n - 16);
        __m256i px = _mm256_set1_epi32((int32_t)(x.start + at * x.step));
        __m256i py = _mm256_set1_epi32((int32_t)(y.start + at * y.step));
        __m256i place[2];
        px = _mm256_add_epi32(px, x_part);
        py = _mm256_add_epi32(py, y_part);
        for (int k = 0; k < 2; k++) {
            place[k] = _mm256_add_epi32(
                _mm256_mullo_epi32(_mm256_srai_epi32(py, 16), pitch),
                _mm256_srai_epi32(px, 16));
            px = _mm256_add_epi32(px, x_step);
            py = _mm256_add_epi32(py, y_step);
        }
        take_16(pixels, place[0], place[1], plane, channels, to + at);
    }
}

AVX2 static void pick(const struct fdl_map_job *job, int32_t y,
                      const int32_t *from, uint8_t *to, int64_t n)
{
    if (n < 16) {
        fdl_map_c.pick(job, y, from, to, n);
        return;
    }
    const int *row =
        first_pixel(job) + (size_t)y * (size_t)pitch_in_pixels(job);
    for (int64_t i = 0; i < n; i += 16) {
        int64_t at = FDL_MIN(i, n - 16);
        const __m256i *places = (const __m256i *)(const void *)(from + at);
        take_16(row, _mm256_loadu_si256(places), _mm256_loadu_si256(places + 1),
                job->out->plane, job->in->channels, to + at);
    }
}

static void prepare(const struct fdl_map_job *job)
{
    interleave_image(job->in, job->scratch);
}

/* ---- Bilinear ------------------------------------------------------------ */

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
AVX2 FDL_INLINE __m128i mix_channel(__m256i upper, __m256i lower,
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
AVX2 FDL_INLINE void mix_bilinear(const struct fdl_map_job *job,
                                  const struct points *p, int channels,
                                  uint8_t out[PIXEL][BLOCK])
{
    __m256i upper = load_pairs(job->scratch, p->place);
    __m256i lower = load_pairs(job->scratch + pitch_of(job->in), p->place);
    __m128i a = mix_channel(upper, lower, p, 0), b = a, c = a, d = a;
    if (channels > 1) {
        b = mix_channel(upper, lower, p, 1);
        c = mix_channel(upper, lower, p, 2);
    }
    if (channels > 3)
        d = mix_channel(upper, lower, p, 3);
    store_16(out[0],
             _mm_packus_epi16(_mm_packus_epi32(a, b), _mm_packus_epi32(c, d)));
}

/* ---- Bicubic ---------------------------------------------------- */

/* Farther from a whole number than float can be from the exact value: weights
 * are off by 2e-7 and values by less than 320 * 2e-6. */
#define GUARD (1.0f / 1024)

/* Of each tap, for four points. */
struct weights {
    float x[4][BLOCK], y[4][BLOCK];
};

/* Of taps in a line; -1, 0, 1 and 2 pixels behind the point. */
AVX2 FDL_INLINE void weigh(__m256d part, float w[4][BLOCK])
{
    const __m128 one = _mm_set1_ps(1), two = _mm_set1_ps(2);
    __m128 d = _mm256_cvtpd_ps(part), rest = _mm_sub_ps(one, d);
    __m128 dd = _mm_mul_ps(d, d), both = _mm_mul_ps(d, rest);
    __m128 none = _mm_setzero_ps();
    _mm_storeu_ps(w[0], _mm_sub_ps(none, _mm_mul_ps(both, rest)));
    _mm_storeu_ps(w[1], _mm_sub_ps(one, _mm_mul_ps(dd, _mm_sub_ps(two, d))));
    _mm_storeu_ps(w[2], _mm_mul_ps(d, _mm_add_ps(one, both)));
    _mm_storeu_ps(w[3], _mm_sub_ps(none, _mm_mul_ps(both, d)));
}

/* One number for each of two pixels. */
AVX2 FDL_INLINE __m256 of_two(const float *w)
{
    return _mm256_set_m128(_mm_broadcast_ss(w + 1), _mm_broadcast_ss(w));
}

/* The first eight bytes. */
AVX2 FDL_INLINE __m256 to_float(__m128i bytes)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}

AVX2 FDL_INLINE __m256 weighted(__m256 a, __m256 b, __m256 c, __m256 d,
                                const __m256 w[4])
{
    __m256 ab = _mm256_add_ps(_mm256_mul_ps(a, w[0]), _mm256_mul_ps(b, w[1]));
    __m256 cd = _mm256_add_ps(_mm256_mul_ps(c, w[2]), _mm256_mul_ps(d, w[3]));
    return _mm256_add_ps(ab, cd);
}

/* Four pixels in a line for each of two. */
AVX2 FDL_INLINE __m256 weighted_line(__m128i a, __m128i b, const __m256 w[4])
{
    __m128i low = _mm_unpacklo_epi32(a, b), high = _mm_unpackhi_epi32(a, b);
    return weighted(to_float(low), to_float(_mm_srli_si128(low, 8)),
                    to_float(high), to_float(_mm_srli_si128(high, 8)), w);
}

AVX2 FDL_INLINE __m128i load_pixel(const uint8_t *at)
{
    int32_t pixel;
    memcpy(&pixel, at, sizeof(pixel));
    return _mm_cvtsi32_si128(pixel);
}

/* Four pixels below each other. */
AVX2 FDL_INLINE __m128i load_column(const uint8_t *at, size_t pitch)
{
    __m128i a = load_pixel(at), b = load_pixel(at + pitch);
    __m128i c = load_pixel(at + 2 * pitch), d = load_pixel(at + 3 * pitch);
    return _mm_unpacklo_epi64(_mm_unpacklo_epi32(a, b),
                              _mm_unpacklo_epi32(c, d));
}

enum way { BOTH, ROW, COLUMN };

/* at: the upper left one of sixteen. Where a part is 0 in one direction, the
 * result is the other direction's alone. */
AVX2 FDL_INLINE __m256 bicubic_pair(const uint8_t *at, const uint8_t *beside,
                                    size_t pitch, const __m256 x[4],
                                    const __m256 y[4], enum way way)
{
    __m256 line[4];
    if (way == ROW)
        return weighted_line(load_16(at + pitch), load_16(beside + pitch), x);
    if (way == COLUMN)
        return weighted_line(load_column(at + PIXEL, pitch),
                             load_column(beside + PIXEL, pitch), y);
    for (int i = 0; i < 4; i++, at += pitch, beside += pitch)
        line[i] = weighted_line(load_16(at), load_16(beside), x);
    return weighted(line[0], line[1], line[2], line[3], y);
}

AVX2 FDL_INLINE __m256 mix_pair(const uint8_t *at, const uint8_t *beside,
                                size_t pitch, const struct weights *w, int i,
                                enum way way)
{
    __m256 x[4], y[4];
    for (int k = 0; k < 4; k++) {
        x[k] = of_two(&w->x[k][i]);
        y[k] = of_two(&w->y[k][i]);
    }
    return bicubic_pair(at, beside, pitch, x, y, way);
}

/* A bit for each value that may be another one when truncated. Below 0 and
 * above 255 all are alike. */
AVX2 FDL_INLINE unsigned unsure(__m256 v)
{
    __m256 whole =
        _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 off =
        _mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_sub_ps(v, whole));
    __m256 near = _mm256_cmp_ps(off, _mm256_set1_ps(GUARD), _CMP_LT_OQ);
    __m256 low = _mm256_cmp_ps(whole, _mm256_set1_ps(1), _CMP_GE_OQ);
    __m256 high = _mm256_cmp_ps(whole, _mm256_set1_ps(255), _CMP_LE_OQ);
    return (unsigned)_mm256_movemask_ps(
        _mm256_and_ps(near, _mm256_and_ps(low, high)));
}

/* ---- Bicubic, exactly --------------------------------------------------- */

AVX2 FDL_INLINE __m256d to_double(const uint8_t *at)
{
    return _mm256_cvtepi32_pd(_mm_cvtepu8_epi32(load_pixel(at)));
}

/* The sums in the order of plain C. */
AVX2 FDL_INLINE __m256d cubic(const __m256d v[4], __m256d part)
{
    __m256d ab = _mm256_sub_pd(v[0], v[1]), p3 = _mm256_add_pd(ab, ab);
    __m256d p2 = _mm256_sub_pd(v[2], v[0]);
    __m256d p4 = _mm256_sub_pd(v[1], v[0]);
    p3 = _mm256_sub_pd(_mm256_add_pd(p3, v[2]), v[3]);
    p4 = _mm256_add_pd(_mm256_sub_pd(p4, v[2]), v[3]);
    p3 = _mm256_add_pd(p3, _mm256_mul_pd(part, p4));
    p2 = _mm256_add_pd(p2, _mm256_mul_pd(part, p3));
    return _mm256_add_pd(v[1], _mm256_mul_pd(part, p2));
}

/* Whether sixteen pixels are one colour, which then is the result. */
AVX2 FDL_INLINE bool is_flat(const uint8_t *at, size_t pitch)
{
    __m128i first = _mm_shuffle_epi32(load_16(at), 0);
    __m128i off = _mm_setzero_si128();
    for (size_t i = 0; i < 4; i++)
        off = _mm_or_si128(off, _mm_xor_si128(first, load_16(at + i * pitch)));
    return _mm_testz_si128(off, off);
}

/* The pixel at `out` again, exactly. */
AVX2 static void mix_exactly(const uint8_t *at, size_t pitch, double dx,
                             double dy, uint8_t *out)
{
    __m256d x = _mm256_set1_pd(dx), y = _mm256_set1_pd(dy), line[4];
    if (is_flat(at, pitch)) {
        memcpy(out, at, PIXEL);
        return;
    }
    for (int i = 0; i < 4; i++, at += pitch) {
        __m256d v[4];
        for (int k = 0; k < 4; k++)
            v[k] = to_double(at + k * PIXEL);
        line[i] = cubic(v, x);
    }
    __m128i whole = _mm256_cvttpd_epi32(cubic(line, y));
    whole = _mm_packus_epi16(_mm_packs_epi32(whole, whole), whole);
    int32_t pixel = _mm_cvtsi128_si32(whole);
    memcpy(out, &pixel, sizeof(pixel));
}

/* Four interleaved pixels. */
AVX2 FDL_INLINE __m128i mix(const uint8_t *image, size_t pitch,
                            const struct points *p, const struct weights *w,
                            enum way way)
{
    __m256 a =
        mix_pair(image + p->place[0], image + p->place[1], pitch, w, 0, way);
    __m256 b =
        mix_pair(image + p->place[2], image + p->place[3], pitch, w, 2, way);
    __m256i words =
        _mm256_packs_epi32(_mm256_cvttps_epi32(a), _mm256_cvttps_epi32(b));
    __m256i bytes = _mm256_packus_epi16(words, words); /* 0 2 0 2, 1 3 1 3 */
    __m128i pixels = _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes),
                                        _mm256_extracti128_si256(bytes, 1));
    unsigned again = unsure(a) | unsure(b) << 8;
    if (FDL_LIKELY(!again))
        return pixels;
    double dx[BLOCK], dy[BLOCK];
    uint8_t made[PIXEL * BLOCK];
    _mm256_storeu_pd(dx, p->dx);
    _mm256_storeu_pd(dy, p->dy);
    store_16(made, pixels);
    for (size_t i = 0; i < BLOCK; i++) {
        if (again >> i * PIXEL & 15 & (p->inside >> i & 1 ? 15u : 0u))
            mix_exactly(image + p->place[i], pitch, dx[i], dy[i],
                        made + i * PIXEL);
    }
    return load_16(made);
}

AVX2 FDL_INLINE bool are_zero(__m256d x)
{
    __m256d same = _mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_EQ_OQ);
    return _mm256_movemask_pd(same) == (1 << BLOCK) - 1;
}

/* Four pixels, each channel of them in four bytes, from four interleaved. */
AVX2 FDL_INLINE void store_planes(__m128i pixels, uint8_t out[PIXEL][BLOCK])
{
    const __m128i planes =
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    store_16(out[0], _mm_shuffle_epi8(pixels, planes));
}

AVX2 FDL_INLINE void take_nearest(const struct fdl_map_job *job,
                                  const struct points *p,
                                  uint8_t out[PIXEL][BLOCK])
{
    const uint8_t *image = job->scratch;
    __m128i a = load_pixel(image + p->place[0]);
    __m128i b = load_pixel(image + p->place[1]);
    __m128i c = load_pixel(image + p->place[2]);
    __m128i d = load_pixel(image + p->place[3]);
    store_planes(
        _mm_unpacklo_epi64(_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d)),
        out);
}

AVX2 FDL_INLINE void mix_bicubic(const struct fdl_map_job *job,
                                 const struct points *p,
                                 uint8_t out[PIXEL][BLOCK])
{
    size_t pitch = pitch_of(job->in);
    const uint8_t *first = job->scratch - pitch - PIXEL;
    struct weights w;
    __m128i pixels;
    weigh(p->dx, w.x);
    weigh(p->dy, w.y);
    if (are_zero(p->dy))
        pixels = mix(first, pitch, p, &w, ROW);
    else if (are_zero(p->dx))
        pixels = mix(first, pitch, p, &w, COLUMN);
    else
        pixels = mix(first, pitch, p, &w, BOTH);
    store_planes(pixels, out);
}

/* ---- Images ------------------------------------------------------------- */

enum filter { NEAREST, BILINEAR, BICUBIC };

/* `channels` and `filter` are constants where that pays. */
AVX2 FDL_INLINE void map_row(const struct fdl_map_job *job,
                             const struct line *l, int channels,
                             enum filter filter, int32_t y)
{
    const struct fdl_image *out = job->out;
    uint8_t *to = fdl_image_row(out, 0, y);
    for (int32_t x = 0; x < out->width; x += BLOCK, to += BLOCK) {
        struct points p;
        uint8_t block[PIXEL][BLOCK];
        find_points(l, job->perspective, x, filter == NEAREST ? 0.0 : 0.5, &p);
        if (filter == NEAREST)
            take_nearest(job, &p, block);
        else if (filter == BICUBIC)
            mix_bicubic(job, &p, block);
        else
            mix_bilinear(job, &p, channels, block);
        for (int i = 0; p.inside != (1 << BLOCK) - 1 && i < BLOCK; i++) {
            for (int k = 0; !(p.inside >> i & 1) && k < PIXEL; k++)
                block[k][i] = job->fill[k];
        }
        size_t n = (size_t)FDL_MIN(out->width - x, BLOCK);
        for (int c = 0; n == BLOCK && c < channels; c++)
            memcpy(to + (size_t)c * out->plane, block[c], BLOCK);
        for (int c = 0; n < BLOCK && c < channels; c++)
            memcpy(to + (size_t)c * out->plane, block[c], n);
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

AVX2 FDL_INLINE void map(const struct fdl_map_job *job, enum filter filter)
{
    interleave_image(job->in, job->scratch);
    for (int32_t y = 0; y < job->out->height; y++) {
        struct line l;
        prepare_line(job, y, &l);
        if (job->out->channels == 3)
            map_row(job, &l, 3, filter, y);
        else
            map_row(job, &l, job->out->channels, filter, y);
    }
}

AVX2 static void bilinear(const struct fdl_map_job *job)
{
    map(job, BILINEAR);
}

AVX2 static void bicubic(const struct fdl_map_job *job)
{
    map(job, BICUBIC);
}

AVX2 static void perspective(const struct fdl_map_job *job)
{
    map(job, NEAREST);
}

const struct fdl_map_kernels fdl_map_avx2 = {
    .scratch_bytes = scratch_bytes,
    .bilinear = bilinear,
    .bicubic = bicubic,
    .prepare = prepare,
    .walk = walk,
    .pick = pick,
    .perspective = perspective,
};
