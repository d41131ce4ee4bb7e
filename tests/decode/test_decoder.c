/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder as a whole: formats, limits, raw pixels, layouts, levels, reuse
 * after errors. Exact pixels are shown by test_regions.c and pillow_parity. */
#include "base/cpu.h"
#include "decode/pixels/half.h"
#include "make_jpeg.h"
#include "tests/decode/rig.h"

static struct fdl_decoder *create(uint64_t max_pixels, uint32_t max_scans)
{
    return rig_decoder((struct fdl_decode_limits){.max_pixels = max_pixels,
                                                  .max_scans = max_scans});
}

static struct fdl_plan whole(int32_t width, int32_t height)
{
    struct fdl_plan plan;
    fdl_plan_init(&plan, width, height);
    return plan;
}

/* Opens and renders to a new buffer of u8 NHWC or what `f` says. */
static void *render(struct fdl_decoder *d, const struct fdl_encoded *bytes,
                    const struct fdl_plan *plan, struct fdl_output_format f)
{
    f.width = plan->geometry.window.width;
    f.height = plan->geometry.window.height;
    void *out = rig_alloc(fdl_output_bytes(&f));
    struct fdl_render_cost cost = rig_render(d, bytes, plan, &f, out);
    assert_true(cost.pixels > 0 && cost.clock_reads > 0);
    return out;
}

static const struct fdl_output_format u8_nhwc = {0, 0, 3, FEEDLINE_U8, true};

static void expect_error(struct fdl_decoder *d, const void *data, size_t size,
                         int32_t status, const char *words)
{
    struct fdl_encoded bytes = file_of(data, size);
    struct fdl_image_info info = {.width = -7};
    int32_t got = fdl_decoder_open(d, &bytes, &info);
    if (got != status || !strstr(fdl_last_error(), words))
        fail_msg("%d: %s, not %d: %s", got, fdl_last_error(), status, words);
    assert_int_equal(info.width, -7);
}

TEST(content_is_named)
{
    static const char tiff[] = "II*\0\x08\0\0\0";
    static const uint8_t zeros[100], junk[] = {1, 2, 3, 250};
    SCOPED_DECODER d = create(1000, 10);
    expect_error(d, "", 0, FEEDLINE_EDECODE, "an empty file");
    expect_error(d, zeros, sizeof(zeros), FEEDLINE_EDECODE, "a file of zeros");
    expect_error(d, "\x89PNG\r\n\x1a\n...", 11, FEEDLINE_EDECODE, "truncated");
    expect_error(d, "GIF89a", 6, FEEDLINE_EDECODE, "GIF");
    expect_error(d, "RIFF1234WEBPVP8 ", 16, FEEDLINE_EDECODE, "WebP");
    expect_error(d, "BM123", 5, FEEDLINE_EDECODE, "BMP");
    expect_error(d, tiff, 8, FEEDLINE_EDECODE, "TIFF");
    expect_error(d, "<!DOCTYPE html>", 15, FEEDLINE_EDECODE, "HTML");
    expect_error(d, "not found\n", 10, FEEDLINE_EDECODE, "text");
    expect_error(d, junk, sizeof(junk), FEEDLINE_EDECODE, "unknown content");
    expect_error(d, "\xff\xd8", 2, FEEDLINE_EDECODE, "truncated");
    expect_error(d, "\xff\xd8\xff\xd9", 4, FEEDLINE_EDECODE, "offset 4");
}

TEST(limits_are_checked_first)
{
    /* A header that claims 65500 x 65500 pixels. */
    static const uint8_t bomb[] = {
        0xff, 0xd8, 0xff, 0xc0, 0, 11, 8, 0xff, 0xdc, 0xff, 0xdc, 1, 1, 0x11,
        0,    0xff, 0xda, 0,    8, 1,  1, 0,    0,    63,   0,    0, 0};
    SCOPED_DECODER d = create(100 * 100, 10);
    expect_error(d, bomb, sizeof(bomb), FEEDLINE_ERANGE, "65500x65500");

    size_t size;
    struct make_jpeg m = {.width = 101, .height = 100, .components = 3};
    uint8_t *file = make_jpeg(&m, &size);
    expect_error(d, file, size, FEEDLINE_ERANGE, "101x100");
    free(file);
}

TEST(scans_are_limited)
{
    size_t size;
    struct make_jpeg m = {
        .width = 64, .height = 64, .components = 3, .progressive = true};
    uint8_t *file = make_jpeg(&m, &size), out[64 * 64 * 3];
    struct fdl_encoded bytes = file_of(file, size);
    struct fdl_plan plan = whole(64, 64);
    struct fdl_output_format f = {64, 64, 3, FEEDLINE_U8, true};
    struct fdl_image_info info;
    struct fdl_render_cost cost;
    struct fdl_decoder *d = create(1u << 20, 3);
    assert_int_equal(fdl_decoder_open(d, &bytes, &info), FEEDLINE_OK);
    assert_int_equal(fdl_decoder_render(d, &plan, &f, out, &cost),
                     FEEDLINE_ERANGE);
    assert_non_null(strstr(fdl_last_error(), "more than 3 scans"));
    fdl_decoder_destroy(d);

    d = create(1u << 20, 50);
    free(render(d, &bytes, &plan, u8_nhwc));
    fdl_decoder_destroy(d);
    free(file);
}

TEST(raw_pixels_come_back)
{
    static const uint8_t gray[6] = {0, 50, 100, 150, 200, 250};
    SCOPED_DECODER d = create(100, 1);
    struct fdl_encoded bytes = raw_of(gray, 3, 2, 1);
    struct fdl_plan plan = whole(3, 2);
    fdl_geometry_flip(&plan.geometry);
    uint8_t *out = render(d, &bytes, &plan, u8_nhwc);
    static const uint8_t want[18] = {100, 100, 100, 50,  50,  50,
                                     0,   0,   0,   250, 250, 250,
                                     200, 200, 200, 150, 150, 150};
    assert_memory_equal(out, want, sizeof(want));
    free(out);

    struct fdl_image_info info;
    bytes.size = 5;
    assert_int_equal(fdl_decoder_open(d, &bytes, &info), FEEDLINE_EDECODE);
    bytes.raw_channels = 2;
    assert_int_equal(fdl_decoder_open(d, &bytes, &info), FEEDLINE_EINVAL);
    bytes.raw_channels = 3;
    bytes.raw_width = 1000;
    assert_int_equal(fdl_decoder_open(d, &bytes, &info), FEEDLINE_ERANGE);
}

/* Raw pixels of noise, resized by a decoder with the order of Pillow 13. */
static uint8_t *resize_raw(bool columns_first, const uint8_t *data,
                           const int32_t from[2], const int32_t to[2])
{
    struct fdl_decoder *d =
        rig_decoder((struct fdl_decode_limits){.columns_first = columns_first});
    struct fdl_encoded bytes = raw_of(data, from[0], from[1], 3);
    struct fdl_plan plan = whole(from[0], from[1]);
    assert_int_equal(fdl_geometry_resize(&plan.geometry, to[0], to[1]), 0);
    uint8_t *out = render(d, &bytes, &plan, u8_nhwc);
    fdl_decoder_destroy(d);
    return out;
}

/* One pass after the other, each on an image of its own, says in which order
 * they come: the columns first only where they become much shorter. */
TEST(passes_come_in_pillows_order)
{
    static const int32_t sizes[][4] = {
        {40, 60, 90, 50}, {40, 60, 30, 39},  {40, 60, 30, 40},
        {90, 8, 91, 7},   {90, 8, 20, 70},   {3, 200, 200, 3},
        {60, 60, 60, 30}, {33, 65, 129, 64}, {5, 9, 700, 2}};
    for (size_t i = 0; i < FDL_COUNT_OF(sizes); i++) {
        const int32_t *from = sizes[i], *to = sizes[i] + 2;
        size_t n = (size_t)from[0] * (size_t)from[1] * 3;
        uint8_t *data = rig_alloc(n);
        for (size_t k = 0; k < n; k++)
            data[k] = (uint8_t)((k * 2654435761u + i) >> 13);
        bool columns =
            to[1] < from[1] && from[1] - to[1] > 2 * (from[0] - to[0]);
        int32_t between[2] = {columns ? from[0] : to[0],
                              columns ? to[1] : from[1]};
        uint8_t *half = resize_raw(false, data, from, between);
        uint8_t *want = resize_raw(false, half, between, to);
        uint8_t *got = resize_raw(true, data, from, to);
        assert_memory_equal(got, want, (size_t)to[0] * (size_t)to[1] * 3);
        free(data);
        free(half);
        free(want);
        free(got);
    }
}

/* One image in all four forms, on every level: the same numbers. */
TEST(layouts_and_levels_agree)
{
    size_t size;
    struct make_jpeg m = {
        .width = 200, .height = 150, .components = 3, .h = 2, .v = 2};
    uint8_t *file = make_jpeg(&m, &size);
    struct fdl_encoded bytes = file_of(file, size);
    struct fdl_plan plan = whole(200, 150);
    fdl_geometry_crop(&plan.geometry, (struct fdl_box){11, 7, 170, 130});
    assert_int_equal(fdl_geometry_resize(&plan.geometry, 93, 71), 0);
    fdl_geometry_crop(&plan.geometry, (struct fdl_box){2, 3, 85, 60});
    fdl_geometry_flip(&plan.geometry);
    SCOPED_DECODER d = create(1u << 20, 10);
    enum fdl_cpu_level most = fdl_cpu_level();
    fdl_cpu_set_level(FDL_CPU_C);
    uint8_t *base = render(d, &bytes, &plan, u8_nhwc);
    for (int level = 0; level <= (int)most; level++) {
        fdl_cpu_set_level((enum fdl_cpu_level)level);
        for (int form = 0; form < 8; form++) {
            static const int32_t dtypes[] = {FEEDLINE_U8, FEEDLINE_F32,
                                             FEEDLINE_F16, FEEDLINE_BF16};
            struct fdl_output_format f = u8_nhwc;
            f.dtype = dtypes[form / 2];
            f.nhwc = form & 1;
            void *out = render(d, &bytes, &plan, f);
            for (size_t i = 0; i < 85 * 60 * 3; i++) {
                size_t at = f.nhwc ? i : i % 3 * 85 * 60 + i / 3;
                float y = (float)base[i] * (1 / 255.0f);
                if (f.dtype == FEEDLINE_F32)
                    assert_true(((float *)out)[at] == y);
                else if (f.dtype == FEEDLINE_F16)
                    assert_int_equal(((uint16_t *)out)[at], fdl_f16_of(y));
                else if (f.dtype == FEEDLINE_BF16)
                    assert_int_equal(((uint16_t *)out)[at], fdl_bf16_of(y));
                else
                    assert_int_equal(((uint8_t *)out)[at], base[i]);
            }
            free(out);
        }
    }
    fdl_cpu_set_level(most);
    free(base);
    free(file);
}

/* Tables left out of a file come from nowhere else: the result after any
 * other image is the result of a new decoder. */
TEST(reuse_leaves_no_trace)
{
    SCOPED_DECODER used = create(1u << 20, 100);
    uint64_t seed = test_seed();
    for (int i = 0; i < 60; i++) {
        const struct make_sampling *s =
            &make_samplings[make_random(&seed) % MAKE_SAMPLINGS];
        struct make_jpeg m = {
            .width = 1 + (int32_t)(make_random(&seed) % 120),
            .height = 1 + (int32_t)(make_random(&seed) % 120),
            .components = i % 5 == 0   ? 1
                          : i % 5 == 1 ? 4
                                       : 3,
            .h = i % 5 == 1 ? 1 : s->h,
            .v = i % 5 == 1 ? 1 : s->v,
            .progressive = i % 4 == 0,
            .optimize = i % 3 == 0,
            .seed = seed,
        };
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        struct fdl_encoded bytes = file_of(file, size);
        struct fdl_plan plan = whole(m.width, m.height);
        struct fdl_image_info info;
        if (i % 7 == 0) { /* an image that is not finished, a bad one */
            assert_int_equal(fdl_decoder_open(used, &bytes, &info), 0);
            expect_error(used, file, 20, FEEDLINE_EDECODE, "offset");
        }
        SCOPED_DECODER fresh = create(1u << 20, 100);
        uint8_t *a = render(used, &bytes, &plan, u8_nhwc);
        uint8_t *b = render(fresh, &bytes, &plan, u8_nhwc);
        assert_memory_equal(a, b, (size_t)m.width * (size_t)m.height * 3);
        free(a);
        free(b);
        free(file);
    }
}

/* Bytes of the quantisation tables, or of anything else that a file is missing,
 * are not taken from the file before it. */
TEST(missing_tables_are_an_error)
{
    size_t size;
    struct make_jpeg m = {.width = 16, .height = 16, .components = 1};
    uint8_t *file = make_jpeg(&m, &size);
    SCOPED_DECODER d = create(1u << 20, 10);
    struct fdl_encoded bytes = file_of(file, size);
    struct fdl_plan plan = whole(16, 16);
    free(render(d, &bytes, &plan, u8_nhwc));

    for (size_t i = 0; i + 1 < size; i++) { /* DQT becomes a comment */
        if (file[i] == 0xff && file[i + 1] == 0xdb)
            file[i + 1] = 0xfe;
    }
    struct fdl_image_info info;
    struct fdl_output_format f = {16, 16, 3, FEEDLINE_U8, true};
    struct fdl_render_cost cost = {.pixels = 99};
    uint8_t out[16 * 16 * 3];
    assert_int_equal(fdl_decoder_open(d, &bytes, &info), FEEDLINE_OK);
    assert_int_equal(fdl_decoder_render(d, &plan, &f, out, &cost),
                     FEEDLINE_EDECODE);
    assert_non_null(strstr(fdl_last_error(), "uantization table"));
    assert_int_equal(cost.pixels, 99);
    free(file);
}

TEST(size_mismatch_is_refused)
{
    size_t size;
    struct make_jpeg m = {.width = 16, .height = 16, .components = 1};
    uint8_t *file = make_jpeg(&m, &size), out[1];
    SCOPED_DECODER d = create(1u << 20, 10);
    struct fdl_encoded bytes = file_of(file, size);
    struct fdl_plan plan = whole(16, 16);
    struct fdl_image_info info;
    struct fdl_output_format f = {17, 16, 3, FEEDLINE_U8, true};
    struct fdl_render_cost cost;
    assert_int_equal(fdl_decoder_open(d, &bytes, &info), FEEDLINE_OK);
    assert_int_equal(fdl_decoder_render(d, &plan, &f, out, &cost),
                     FEEDLINE_EINVAL);
    assert_non_null(strstr(fdl_last_error(), "17x16"));
    free(file);
}

/* The second image of a size takes no more memory. */
TEST(scratch_memory_settles)
{
    size_t size;
    struct make_jpeg m = {.width = 300, .height = 200, .components = 3};
    uint8_t *file = make_jpeg(&m, &size);
    struct fdl_encoded bytes = file_of(file, size);
    struct fdl_plan plan = whole(300, 200);
    assert_int_equal(fdl_geometry_resize(&plan.geometry, 224, 224), 0);
    SCOPED_DECODER d = create(1u << 20, 10);
    free(render(d, &bytes, &plan, u8_nhwc));
    uint64_t first = fdl_decoder_memory(d);
    assert_in_range(first, 10000, 1000000);
    for (int i = 0; i < 5; i++)
        free(render(d, &bytes, &plan, u8_nhwc));
    assert_int_equal(fdl_decoder_memory(d), first);
    free(file);
}

TEST_MAIN("decode_decoder")
