/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our transform, upsampling and colour against libjpeg-turbo's, on files whose
 * coefficients are written by hand: flat blocks, short ones, full ones, and
 * values that overflow 16 bits on their way, which no photo has.
 */
#include "base/clock.h"
#include "base/compiler.h"
#include "base/cpu.h"
#include "decode/formats/format.h"
#include "decode/formats/jpeg_entropy.h"
#include "decode/formats/jpeg_rows.h"
#include "tests/decode/make_blocks.h"
#include "tests/decode/parts.h"

enum { WIDTH = 67, HEIGHT = 131, BYTES = WIDTH * HEIGHT * 3 };

/* What a photo could have: nothing overflows. */
static bool mild;

/* A part of the image, at a scale. Adds how long it took to `sum`. */
static void decode(void *jpeg, const struct fdl_encoded *bytes, uint64_t seed,
                   uint8_t *pixels, struct fdl_decode_parts *sum)
{
    static uint8_t rows[BYTES];
    const struct fdl_format *f = &fdl_format_jpeg;
    struct fdl_image_info info;
    struct fdl_decode_parts parts;
    struct fdl_box need, have;
    int64_t begin = fdl_now_ns();
    assert_int_equal(f->open(jpeg, bytes, &info), FEEDLINE_OK);
    int32_t shift = make_within(&seed, 0, FDL_SHRINK_MAX);
    int32_t width = ((info.width - 1) >> shift) + 1;
    int32_t height = ((info.height - 1) >> shift) + 1;
    need = part_of(&seed, width, height);
    f->shrink(jpeg, shift);
    assert_int_equal(f->begin(jpeg, &need, &have), FEEDLINE_OK);
    size_t pixel = (size_t)info.channels;
    size_t stride = (size_t)have.width * pixel;
    if (f->read(jpeg, rows, stride, have.height))
        fail_msg("%s", fdl_last_error());
    f->parts(jpeg, &parts);
    assert_true(parts.unpack_ns >= 0 && parts.transform_ns >= 0 &&
                parts.unpack_ns + parts.transform_ns <= fdl_now_ns() - begin);
    f->abort(jpeg);
    memset(pixels, 0, BYTES);
    size_t n = (size_t)need.width * pixel;
    for (int32_t y = 0; y < need.height; y++)
        memcpy(pixels + (size_t)y * n,
               rows + (size_t)(need.y - have.y + y) * stride +
                   (size_t)(need.x - have.x) * pixel,
               n);
    sum->unpack_ns += parts.unpack_ns;
    sum->transform_ns += parts.transform_ns;
    sum->huffman |= parts.huffman;
}

static void compare_with_libjpeg(int rounds)
{
    static uint8_t pixels[2][BYTES];
    uint64_t seed = test_seed();
    static const struct fdl_deadline none;
    void *d[2];
    struct fdl_decode_parts parts[2] = {0};
    for (int i = 0; i < 2; i++) {
        struct fdl_decode_limits limits = {
            .max_pixels = 1u << 16, .max_scans = 1, .libjpeg_huffman = i};
        assert_int_equal(fdl_format_jpeg.create(&limits, &none, &d[i]),
                         FEEDLINE_OK);
    }
    for (int round = 0; round < rounds; round++) {
        size_t size;
        uint8_t *file = make_blocks(&seed, WIDTH, HEIGHT, mild, &size);
        struct fdl_encoded bytes = file_of(file, size);
        uint64_t box = make_random(&seed);
        for (int i = 0; i < 2; i++)
            decode(d[i], &bytes, box, pixels[i], &parts[i]);
        if (memcmp(pixels[0], pixels[1], BYTES) != 0)
            fail_msg("round %d: pixels differ", round);
        free(file);
    }
    bool known = fdl_jpeg_entropy_memory() > 0 && fdl_jpeg_transform();
    for (int i = 0; i < 2; i++) {
        bool ours = known && i == 0;
        assert_int_equal(parts[i].huffman, ours);
        assert_int_equal(parts[i].unpack_ns > 0, ours);
        assert_int_equal(parts[i].transform_ns > 0, ours);
        fdl_format_jpeg.destroy(d[i]);
    }
}

/* What overflows is that of libjpeg-turbo's code for x86, everywhere; its code
 * for ARM saturates elsewhere (transforms_are_the_same_everywhere). */
TEST(coefficients_become_libjpegs_pixels)
{
#if defined(__aarch64__)
    mild = true;
#endif
    compare_with_libjpeg(3000);
    mild = false;
}

/* Where libjpeg-turbo has not run yet, this makes it do without vectors. */
TEST(plain_c_makes_the_same_of_photos)
{
    assert_int_equal(setenv("JSIMD_FORCENONE", "1", 1), 0);
    mild = true;
    compare_with_libjpeg(1000);
    mild = false;
}

static void no_give_up(struct jpeg_decompress_struct *c)
{
    (void)c;
    abort();
}

/* Whether ours takes a file of a kind at a scale. */
static bool is_taken(struct fdl_jpeg_entropy *e, const struct make_jpeg *m,
                     unsigned scale)
{
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr err;
    static struct fdl_jpeg_rows rows;
    size_t size;
    uint8_t *file = make_jpeg(m, &size);
    c.err = jpeg_std_error(&err);
    jpeg_create_decompress(&c);
    jpeg_mem_src(&c, file, size);
    jpeg_read_header(&c, TRUE);
    c.scale_denom = scale;
    jpeg_start_decompress(&c);
    JDIMENSION x = 0, width = c.output_width;
    assert_true(fdl_jpeg_entropy_attach(e, &c, file + size, no_give_up));
    bool taken = fdl_jpeg_rows_begin(&rows, &c, fdl_jpeg_entropy_blocks(e), &x,
                                     &width, 0, c.output_height);
    jpeg_destroy_decompress(&c);
    free(file);
    return taken;
}

/* Chroma of two columns is not interpolated by libjpeg, and 4:1:1 and whatever
 * comes at an eighth not at all. */
TEST(usual_kinds_are_taken)
{
    if (fdl_jpeg_entropy_memory() == 0 || !fdl_jpeg_transform())
        test_skip("built without jpegint.h, or no AVX2");
    struct fdl_jpeg_entropy *e = fdl_jpeg_entropy_create();
    assert_non_null(e);
    for (int i = 0; i < MAKE_SAMPLINGS; i++) {
        const struct make_sampling *s = &make_samplings[i];
        struct make_jpeg m = {
            .width = 5, .height = 1, .components = 3, .h = s->h, .v = s->v};
        assert_int_equal(is_taken(e, &m, 1), s->h <= 2 && s->v <= 2);
        for (unsigned scale = 2; scale <= 4; scale *= 2) {
            m.width = 4 * (int32_t)scale;
            assert_int_equal(is_taken(e, &m, scale),
                             s->h <= 2 && s->v <= 2 && s->h <= s->v);
            m.width++;
            assert_int_equal(is_taken(e, &m, scale), s->h <= 2 && s->v <= 2);
        }
        assert_int_equal(is_taken(e, &m, 8), s->h == s->v && s->h <= 2);
        m.width = 4;
        assert_int_equal(is_taken(e, &m, 1), s->h == 1 && s->v <= 2);
        m.components = 1;
        assert_int_equal(is_taken(e, &m, 1), i == 0);
        m.components = 4;
        if (s->h * s->v <= 4)
            assert_false(is_taken(e, &m, 1));
    }
    fdl_jpeg_entropy_destroy(e);
}

/* Of a pair whose values have up to `bits` bits: transformed by t. */
static void transform_pair(const struct fdl_jpeg_transform *t, int side,
                           uint64_t seed, uint8_t to[8][16])
{
    static int16_t pair[FDL_PAIR_COEFFICIENTS] FDL_ALIGNED(64);
    static const int16_t nothing[FDL_PAIR_COEFFICIENTS];
    uint16_t quant[64];
    unsigned bits = (unsigned)(make_random(&seed) % 17);
    unsigned last = (unsigned)(make_random(&seed) % 64);
    last = make_random(&seed) % 3 ? last : last % 11;
    for (int k = 0; k < 64; k++)
        quant[k] = (uint16_t)(make_random(&seed) % (bits < 9 ? 9 : 2));
    for (unsigned k = 0; k <= last; k++)
        for (int i = 0; i < 2; i++) {
            uint64_t x = make_random(&seed) & ((1u << bits) - 1);
            x = make_random(&seed) % 2 ? 0 - x : x;
            pair[fdl_jpeg_pair_order[k] + 8 * i] = (int16_t)(uint16_t)x;
        }
    uint8_t zero = make_random(&seed) % 2 ? 128 : 0;
    t->pair[side](pair, quant, last, zero, to[0], 16);
    assert_memory_equal(pair, nothing, sizeof(nothing));
}

TEST(levels_transform_alike)
{
    enum fdl_cpu_level top = fdl_cpu_set_level(FDL_CPU_LEVELS - 1);
    if (top < FDL_CPU_AVX512)
        test_skip("one level of the transform");
    const struct fdl_jpeg_transform *best = fdl_jpeg_transform();
    fdl_cpu_set_level(FDL_CPU_AVX2);
    const struct fdl_jpeg_transform *avx2 = fdl_jpeg_transform();
    fdl_cpu_set_level(top);
    assert_ptr_not_equal(best, avx2);
    uint64_t seed = test_seed();
    for (int round = 0; round < 100000; round++) {
        uint8_t want[8][16] = {{0}}, got[8][16] = {{0}};
        uint64_t pair = make_random(&seed);
        transform_pair(avx2, round % 4, pair, want);
        transform_pair(best, round % 4, pair, got);
        assert_memory_equal(got, want, sizeof(want));
    }
}

/* A sum of everything that a transform makes. */
static void add_to(uint64_t *sum, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *sum = (*sum ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
}

static void add_upsampled(uint64_t *sum, const struct fdl_jpeg_transform *t,
                          uint64_t *seed)
{
    enum { N = 40 };
    int8_t rows[2][N + 2 * FDL_TRANSFORM_MARGIN];
    for (size_t i = 0; i < sizeof(rows); i++)
        ((int8_t *)rows)[i] = (int8_t)make_random(seed);
    for (int i = 1; i < 4; i++) {
        int8_t to[2 * N + FDL_TRANSFORM_MARGIN];
        size_t n = N / 2 + make_random(seed) % (N / 2);
        t->upsample[i / 2][i % 2](rows[0] + FDL_TRANSFORM_MARGIN,
                                  rows[1] + FDL_TRANSFORM_MARGIN,
                                  (int)(make_random(seed) % 2), n, to);
        add_to(sum, to, i / 2 ? 2 * n : n);
    }
}

/* The number is what AVX2 and NEON have made. */
TEST(transforms_are_the_same_everywhere)
{
    const struct fdl_jpeg_transform *t = fdl_jpeg_transform();
    if (!t)
        test_skip("this processor has no transform");
    uint64_t seed = 1, sum = 0;
    for (int round = 0; round < 20000; round++) {
        uint8_t pixels[8][16] = {{0}}, colours[3][64 + FDL_TRANSFORM_MARGIN];
        uint8_t rgb[3 * 64];
        transform_pair(t, round % 4, make_random(&seed), pixels);
        add_to(&sum, pixels, sizeof(pixels));
        if (round % 10)
            continue;
        add_upsampled(&sum, t, &seed);
        for (size_t i = 0; i < sizeof(colours); i++)
            ((uint8_t *)colours)[i] = (uint8_t)make_random(&seed);
        t->rgb(colours[0], (const int8_t *)colours[1],
               (const int8_t *)colours[2], 64, rgb);
        add_to(&sum, rgb, sizeof(rgb));
    }
    assert_int_equal(sum, UINT64_C(0xb12c56a508e0a455));
}

TEST(levels_make_the_same_colours)
{
    enum { MOST = 200 };
    enum fdl_cpu_level top = fdl_cpu_set_level(FDL_CPU_LEVELS - 1);
    uint64_t seed = test_seed();
    for (size_t n = 1; n <= MOST && top > FDL_CPU_C; n++) {
        uint8_t planes[3][MOST + FDL_TRANSFORM_MARGIN];
        uint8_t want[3 * MOST + 1], got[3 * MOST + 1];
        for (size_t i = 0; i < sizeof(planes); i++)
            ((uint8_t *)planes)[i] = (uint8_t)make_random(&seed);
        memset(want, 0x55, sizeof(want));
        memset(got, 0x55, sizeof(got));
        for (int level = FDL_CPU_AVX2; level <= (int)top; level++) {
            fdl_cpu_set_level((enum fdl_cpu_level)level);
            fdl_jpeg_transform()->rgb(planes[0], (const int8_t *)planes[1],
                                      (const int8_t *)planes[2], n,
                                      level == FDL_CPU_AVX2 ? want : got);
            if (level > FDL_CPU_AVX2)
                assert_memory_equal(got, want, sizeof(want));
        }
        assert_int_equal(want[3 * n], 0x55);
    }
    fdl_cpu_set_level(top);
}

TEST_MAIN("decode_transform")
