/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our transform, upsampling and colour against libjpeg-turbo's, on files whose
 * coefficients are written by hand: flat blocks, short ones, full ones, and
 * values that overflow 16 bits on their way, which no photo has.
 */
#include "base/clock.h"
#include "decode/formats/format.h"
#include "decode/formats/jpeg_entropy.h"
#include "decode/formats/jpeg_rows.h"
#include "tests/decode/parts.h"

enum { WIDTH = 67, HEIGHT = 131, BYTES = WIDTH * HEIGHT * 3 };

/* What a photo could have: nothing overflows. */
static bool mild;

/* The kinds of blocks, then how far values go. */
static void fill_block(JCOEF *block, uint64_t *seed, int32_t *dc, int32_t most)
{
    static const uint8_t corner[] = {0, 1, 8, 16, 9, 2, 3, 10, 17, 24};
    int32_t next = *dc + make_within(seed, -FDL_MIN(most, 1000), 1000);
    int32_t limit = mild ? 1500 : 32767;
    if (next >= -limit && next <= limit && make_within(seed, 0, 9))
        *dc = next;
    block[0] = (JCOEF)*dc;
    int32_t kind = make_within(seed, 0, 3);
    for (int32_t n = kind ? make_within(seed, 1, 20) : 0; n > 0; n--) {
        int32_t at = kind == 1   ? corner[make_within(seed, 1, 9)]
                     : kind == 2 ? make_within(seed, 1, 7)
                                 : make_within(seed, 1, 63);
        block[at] = (JCOEF)make_within(seed, -most, most);
    }
}

static void fill(struct jpeg_compress_struct *c, jvirt_barray_ptr *arrays,
                 uint64_t *seed, int32_t most)
{
    for (int i = 0; i < c->num_components; i++) {
        const jpeg_component_info *info = &c->comp_info[i];
        int32_t dc = 0;
        for (JDIMENSION y = 0; y < info->height_in_blocks; y++) {
            JBLOCKARRAY row = c->mem->access_virt_barray((j_common_ptr)c,
                                                         arrays[i], y, 1, TRUE);
            for (JDIMENSION x = 0; x < info->width_in_blocks; x++)
                fill_block(row[0][x], seed, &dc, most);
        }
    }
}

/* Factors of one, of photos, of bytes, or of 16 bits. */
static void set_tables(struct jpeg_compress_struct *c, uint64_t *seed)
{
    static const int32_t most[] = {1, 40, 255, 32767};
    int32_t top = most[mild ? 0 : make_within(seed, 0, 3)];
    for (int i = 0; i < 2; i++) {
        unsigned table[DCTSIZE2];
        for (int k = 0; k < DCTSIZE2; k++)
            table[k] = (unsigned)make_within(seed, 1, top);
        jpeg_add_quant_table(c, i, table, 100, FALSE);
    }
}

/* Of tables that are too coarse for the oldest decoders. */
static void no_message(j_common_ptr c)
{
    (void)c;
}

static uint8_t *make_file(uint64_t *seed, size_t *size)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr err;
    unsigned char *file = NULL;
    unsigned long length = 0;
    c.err = jpeg_std_error(&err);
    err.output_message = no_message;
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &file, &length);
    c.image_width = (JDIMENSION)make_within(seed, 1, WIDTH);
    c.image_height = (JDIMENSION)make_within(seed, 1, HEIGHT);
    c.input_components = make_within(seed, 0, 5) ? 3 : 1;
    c.in_color_space = c.input_components == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(&c);
    set_tables(&c, seed);
    const struct make_sampling *s = &make_samplings[make_within(seed, 0, 4)];
    int h = c.comp_info[0].h_samp_factor = c.input_components == 3 ? s->h : 1;
    int v = c.comp_info[0].v_samp_factor = c.input_components == 3 ? s->v : 1;
    c.restart_interval = make_within(seed, 0, 3) ? 0 : 3;

    jvirt_barray_ptr arrays[3];
    for (int i = 0; i < c.num_components; i++)
        arrays[i] = c.mem->request_virt_barray(
            (j_common_ptr)&c, JPOOL_IMAGE, TRUE,
            (c.image_width + 7) / 8 + (JDIMENSION)h,
            (c.image_height + 7) / 8 + (JDIMENSION)v, (JDIMENSION)v);
    jpeg_write_coefficients(&c, arrays);
    fill(&c, arrays, seed, make_within(seed, 0, 1) && !mild ? 1000 : 30);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    *size = length;
    return file;
}

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
        uint8_t *file = make_file(&seed, &size);
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

TEST(coefficients_become_libjpegs_pixels)
{
    compare_with_libjpeg(3000);
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
                                     &width, 0);
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

TEST_MAIN("decode_transform")
