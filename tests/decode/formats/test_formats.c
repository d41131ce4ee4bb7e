/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is accepted and what is refused, format by format: damaged PNG and WebP,
 * files that end early, JPEG of kinds that libjpeg does not decode, too much
 * time. Exact pixels are the business of reference_parity.
 */
#include "base/clock.h"
#include "tests/decode/make_jpeg.h"
#include "tests/decode/make_png.h"
#include "tests/decode/rig.h"

#include <feedline/files.h>

enum { SIDE = 40, PIXELS = SIDE * SIDE * 3 };

static struct fdl_decoder *create(void)
{
    return rig_decoder((struct fdl_decode_limits){0});
}

/* The whole image, or its upper part, resampled to SIDE x SIDE. */
static int32_t decode(struct fdl_decoder *d, const uint8_t *data, size_t size,
                      int32_t rows, uint8_t *out, struct fdl_render_cost *cost)
{
    struct fdl_encoded bytes = file_of(data, size);
    struct fdl_render_cost unused;
    struct fdl_box box = {0, 0, INT32_MAX, rows};
    return rig_decode(d, &bytes, box, SIDE, out, cost ? cost : &unused);
}

static void expect(struct fdl_decoder *d, const void *data, size_t size,
                   int32_t status, const char *words)
{
    static uint8_t out[PIXELS];
    int32_t got = decode(d, data, size, INT32_MAX, out, NULL);
    if (got != status || !strstr(fdl_last_error(), words))
        fail_msg("%d: %s, not %d: %s", got, fdl_last_error(), status, words);
}

static struct make_png kind(int i)
{
    static const struct {
        int depth, colour;
    } forms[] = {{8, 2}, {1, 0}, {16, 0}, {1, 3}, {8, 4}, {16, 6}};
    return (struct make_png){
        .width = 33,
        .height = 29,
        .depth = forms[i % 6].depth,
        .colour = forms[i % 6].colour,
        .interlaced = i >= 6,
        .seed = (uint64_t)i,
    };
}
enum { KINDS = 12, TAIL = 20 /* checksums and end */ };

/* A PNG that is cut anywhere before its last pixel is an error; behind that,
 * as in Pillow, it is not. */
TEST(truncated_png_is_an_error)
{
    static uint8_t want[PIXELS], out[PIXELS];
    SCOPED_DECODER d = create();
    for (int i = 0; i < KINDS; i++) {
        struct make_png m = kind(i);
        size_t size;
        uint8_t *file = make_png(&m, &size);
        assert_int_equal(decode(d, file, size, 99, want, NULL), FEEDLINE_OK);
        for (size_t n = 0; n < size; n++) {
            uint8_t *copy = rig_copy(file, n);
            int32_t status = decode(d, copy, n, 99, out, NULL);
            rig_check_clean(status);
            if (status == FEEDLINE_OK && n + TAIL + 2 < size)
                fail_msg("kind %d cut at %zu of %zu", i, n, size);
            if (status == FEEDLINE_OK)
                assert_memory_equal(out, want, sizeof(want));
            else if (n + 16 >= size)
                fail_msg("kind %d cut at %zu of %zu: %s", i, n, size,
                         fdl_last_error());
            free(copy);
        }
        free(file);
    }
}

/* Where chunk `name` begins, from `at` on. */
static size_t find_chunk(const uint8_t *file, size_t size, size_t at,
                         const char *name)
{
    for (; at + 8 < size; at++) {
        if (memcmp(file + at + 4, name, 4) == 0)
            return at;
    }
    fail_msg("no %s", name);
    return 0;
}

static void expect_rows(struct fdl_decoder *d, const uint8_t *file, size_t size,
                        int32_t status)
{
    static uint8_t out[PIXELS];
    static const int32_t rows[] = {1, 10, 28, 29};
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++)
        assert_int_equal(decode(d, file, size, rows[i], out, NULL), status);
}

/* Its checksum, or any of its rows, whichever of them are needed. */
TEST(damage_below_the_crop_of_a_png_counts)
{
    SCOPED_DECODER d = create();
    for (int i = 0; i < KINDS; i++) {
        struct make_png m = kind(i);
        size_t size;
        uint8_t *file = make_png(&m, &size);
        size_t end = find_chunk(file, size, 8, "IEND");
        expect_rows(d, file, size, FEEDLINE_OK);
        file[end - 4] ^= 1; /* of the chunk: Pillow does not look at it */
        expect_rows(d, file, size, FEEDLINE_OK);
        file[end - 5] ^= 1; /* of deflate */
        expect_rows(d, file, size, FEEDLINE_EDECODE);
        assert_non_null(strstr(fdl_last_error(), "incorrect data check"));
        file[end - 5] ^= 1;
        memset(file + end - 30, 0xff, 12);
        expect_rows(d, file, size, FEEDLINE_EDECODE);
        free(file);
    }
}

/* Pillow reads what lies behind the pixels, too, as far as IEND. */
TEST(a_png_that_ends_in_a_chunk_behind_its_pixels_is_cut)
{
    static const uint8_t text[] = {0, 0, 0, 20, 't', 'E', 'X', 't', 'a', 0};
    static uint8_t out[PIXELS];
    SCOPED_DECODER d = create();
    SCOPED_DECODER lenient =
        rig_decoder((struct fdl_decode_limits){.accept_truncated = 1});
    for (int i = 0; i < KINDS; i++) {
        struct make_png m = kind(i);
        size_t size;
        uint8_t *file = make_png(&m, &size);
        size_t end = find_chunk(file, size, 8, "IEND");
        struct fdl_render_cost cost = {0};
        memcpy(file + end, text, sizeof(text));
        expect_rows(d, file, end + sizeof(text), FEEDLINE_EDECODE);
        assert_non_null(strstr(fdl_last_error(), "truncated"));
        assert_int_equal(
            decode(lenient, file, end + sizeof(text), 10, out, &cost), 0);
        assert_true(cost.truncated);
        expect_rows(d, file, end + 7, FEEDLINE_OK); /* no whole header */
        file[end + 4] = '?';                        /* no name of a chunk */
        expect_rows(d, file, end + sizeof(text), FEEDLINE_OK);
        free(file);
    }
}

TEST(damaged_png_is_survived)
{
    static uint8_t want[PIXELS], out[PIXELS];
    uint64_t seed = test_seed();
    struct fdl_decode_limits lenient = {.accept_truncated = 0.3,
                                        .apply_exif = true};
    struct fdl_decoder *decoders[] = {create(), rig_decoder(lenient)};
    struct make_png good_kind = kind(0);
    size_t good_size;
    uint8_t *good = make_png(&good_kind, &good_size);
    assert_int_equal(decode(decoders[0], good, good_size, 99, want, NULL), 0);
    for (int round = 0; round < 6000; round++) {
        struct fdl_decoder *d = decoders[round / KINDS % 2];
        struct make_png m = kind(round % KINDS);
        m.width = 1 + (uint32_t)(make_random(&seed) % 60);
        m.height = 1 + (uint32_t)(make_random(&seed) % 60);
        size_t size;
        uint8_t *file = make_png(&m, &size);
        size_t within = make_random(&seed) & 1 ? size : FDL_MIN(size, 80);
        int changes = 1 + (int)(make_random(&seed) % 5);
        for (int i = 0; i < changes; i++)
            file[make_random(&seed) % within] = (uint8_t)make_random(&seed);
        if (make_random(&seed) % 4 == 0)
            size = make_random(&seed) % size;
        file = realloc(file, size ? size : 1);
        int32_t rows = 1 + (int32_t)(make_random(&seed) % 60);
        rig_check_clean(decode(d, file, size, rows, out, NULL));
        free(file);
        if (round % 50 == 0) {
            assert_int_equal(decode(d, good, good_size, 99, out, NULL), 0);
            assert_memory_equal(want, out, sizeof(want));
        }
    }
    free(good);
    fdl_decoder_destroy(decoders[0]);
    fdl_decoder_destroy(decoders[1]);
}

/* Checksums count up to the pixels, as in Pillow. */
TEST(png_checksums_count_in_the_header)
{
    SCOPED_DECODER d = create();
    struct make_png m = kind(0);
    size_t size;
    uint8_t *file = make_png(&m, &size);
    file[32] ^= 1; /* of IHDR: signature 8, chunk 12 + 13 */
    expect(d, file, size, FEEDLINE_EDECODE, "CRC");
    file[32] ^= 1;
    file[19] ^= 1; /* the width, so the checksum is wrong again */
    expect(d, file, size, FEEDLINE_EDECODE, "offset");
    file[19] ^= 1;
    file[size - 13] ^= 1; /* of IDAT, which has 12 bytes of IEND behind it */
    expect(d, file, size, FEEDLINE_OK, "");
    file[size - 17] ^= 1; /* deflate's own */
    expect(d, file, size, FEEDLINE_EDECODE, "offset");
    free(file);
}

TEST(png_limits_come_first)
{
    SCOPED_DECODER d =
        rig_decoder((struct fdl_decode_limits){.max_pixels = 33 * 28});
    struct make_png m = kind(6);
    size_t size;
    uint8_t *file = make_png(&m, &size);
    expect(d, file, size, FEEDLINE_ERANGE, "PNG of 33x29");
    free(file);
}

/* The part of a file that was there, and how it is counted. */
static void check_fraction(const uint8_t *file, size_t size, size_t cut)
{
    static uint8_t out[PIXELS];
    static const double fractions[] = {0, 0.01, 0.99, 1};
    static const bool accepted[] = {false, true, false, false};
    for (size_t i = 0; i < FDL_COUNT_OF(fractions); i++) {
        struct fdl_decode_limits limits = {.accept_truncated = fractions[i]};
        SCOPED_DECODER d = rig_decoder(limits);
        struct fdl_render_cost cost = {0};
        int32_t status = decode(d, file, cut, INT32_MAX, out, &cost);
        rig_check_clean(status);
        assert_int_equal(status, accepted[i] ? FEEDLINE_OK : FEEDLINE_EDECODE);
        assert_int_equal(cost.truncated, accepted[i]);
        if (!accepted[i])
            assert_non_null(strstr(fdl_last_error(), "truncated"));
        cost.truncated = true;
        assert_int_equal(decode(d, file, size, INT32_MAX, out, &cost), 0);
        assert_false(cost.truncated);
        if (i == 1) { /* the header alone has no rows */
            assert_int_equal(decode(d, file, 20, INT32_MAX, out, &cost),
                             FEEDLINE_EDECODE);
            assert_int_equal(decode(d, file, cut, 2, out, &cost), 0);
            assert_true(
                cost.truncated); /* also where what is wanted is there */
        }
    }
}

TEST(truncated_files_are_accepted_on_request)
{
    size_t size;
    struct make_png png = kind(0);
    uint8_t *file = make_png(&png, &size);
    check_fraction(file, size, size * 2 / 3);
    free(file);
    struct make_jpeg jpeg = {.width = 90, .height = 70, .components = 3};
    file = make_jpeg(&jpeg, &size);
    check_fraction(file, size, size * 2 / 3);
    free(file);
}

/* A cut at every place, in a lenient decoder. */
TEST(every_cut_is_clean_when_accepted)
{
    static uint8_t out[PIXELS];
    SCOPED_DECODER d =
        rig_decoder((struct fdl_decode_limits){.accept_truncated = 0.2});
    for (int i = 0; i < 5; i++) {
        struct make_jpeg m = {.width = 50,
                              .height = 40,
                              .components = i == 4 ? 1 : 3,
                              .h = 1,
                              .v = i == 4 ? 1 : 2,
                              .progressive = i == 1,
                              .separate = i == 2,
                              .arithmetic = i == 3};
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        int accepted = 0;
        for (size_t n = 0; n < size; n++) {
            uint8_t *copy = rig_copy(file, n);
            struct fdl_render_cost cost = {0};
            int32_t status = decode(d, copy, n, INT32_MAX, out, &cost);
            rig_check_clean(status);
            /* Without its end marker a file may have all its rows, and the
             * first one has. */
            bool all = n >= size - 2 && i == 0;
            assert_int_equal(cost.truncated, status == FEEDLINE_OK && !all);
            accepted += status == FEEDLINE_OK;
            free(copy);
        }
        /* Of separate scans only the last may be cut. */
        assert_true(accepted > (int)size / (m.separate ? 20 : 4));
        free(file);
    }
}

/* The marker that says how a JPEG is coded, replaced. */
TEST(undecodable_jpeg_is_named)
{
    static const struct {
        uint8_t marker;
        const char *words;
    } kinds[] = {{0xc3, "lossless JPEG (SOF3)"},
                 {0xc5, "hierarchical JPEG (SOF5)"},
                 {0xc7, "hierarchical lossless JPEG (SOF7)"},
                 {0xcb, "arithmetic-coded lossless JPEG (SOF11)"}};
    SCOPED_DECODER d = create();
    struct make_jpeg m = {.width = 16, .height = 16, .components = 1};
    size_t size, sof = 0;
    uint8_t *file = make_jpeg(&m, &size);
    while (file[sof] != 0xff || file[sof + 1] != 0xc0)
        sof++;
    for (size_t i = 0; i < FDL_COUNT_OF(kinds); i++) {
        /* To libjpeg-turbo 3 both are lossless files with wrong parameters. */
        bool known = make_has_lossless() && (kinds[i].marker & 7) == 3;
        file[sof + 1] = kinds[i].marker;
        expect(d, file, size, FEEDLINE_EDECODE,
               known ? "offset 328: " : kinds[i].words);
    }
    file[sof + 1] = 0xc1;
    file[sof + 4] = 12; /* precision */
    expect(d, file, size, FEEDLINE_EDECODE, "12 bits");
    free(file);
}

static int64_t now_ms;

/* A millisecond for each look at it. */
static int64_t slow_clock(void)
{
    return ++now_ms * 1000000;
}

TEST(slow_images_are_given_up)
{
    static uint8_t out[PIXELS];
    fdl_clock_replace(slow_clock);
    size_t png_size, jpeg_size;
    struct make_png png = kind(6);
    struct make_jpeg jpeg = {
        .width = 64, .height = 64, .components = 3, .progressive = true};
    uint8_t *png_file = make_png(&png, &png_size);
    uint8_t *jpeg_file = make_jpeg(&jpeg, &jpeg_size);
    struct fdl_decoder *d =
        rig_decoder((struct fdl_decode_limits){.max_image_ms = 6});
    const char *words = "took longer than the limit of 6 ms";
    expect(d, png_file, png_size, FEEDLINE_ERANGE, words);
    expect(d, jpeg_file, jpeg_size, FEEDLINE_ERANGE, words);
    fdl_decoder_destroy(d);
    d = rig_decoder((struct fdl_decode_limits){.max_image_ms = 1000});
    assert_int_equal(decode(d, png_file, png_size, 99, out, NULL), 0);
    assert_int_equal(decode(d, jpeg_file, jpeg_size, 99, out, NULL), 0);
    fdl_decoder_destroy(d);
    fdl_clock_replace(NULL);
    free(png_file);
    free(jpeg_file);
}

/* Stored on its side: the size is the upright one, where that is asked for. */
TEST(orientation_turns_the_size)
{
    struct make_png m = kind(0);
    m.exif = rig_on_its_side;
    m.exif_bytes = sizeof(rig_on_its_side);
    size_t size;
    uint8_t *file = make_png(&m, &size);
    for (int apply = 0; apply < 2; apply++) {
        SCOPED_DECODER d =
            rig_decoder((struct fdl_decode_limits){.apply_exif = apply});
        struct fdl_encoded bytes = file_of(file, size);
        struct fdl_image_info info;
        assert_int_equal(fdl_decoder_open(d, &bytes, &info), FEEDLINE_OK);
        assert_int_equal(info.orientation, apply ? 6 : 1);
        assert_int_equal(info.width, apply ? 29 : 33);
        assert_int_equal(info.height, apply ? 33 : 29);
    }
    free(file);
}

TEST(webp_is_decoded_or_refused_by_name)
{
    static uint8_t out[PIXELS];
    struct fdl_decoder *d = create();
    if (!(feedline_features() & FEEDLINE_FEATURE_WEBP)) {
        expect(d, rig_webp, sizeof(rig_webp), FEEDLINE_EDECODE,
               "this is a WebP image, and this feedline was built without");
        fdl_decoder_destroy(d);
        return;
    }
    static const uint8_t first[] = {10, 255, 7}, last[] = {128, 64, 32};
    assert_int_equal(decode(d, rig_webp, sizeof(rig_webp), 99, out, NULL), 0);
    assert_memory_equal(out, first, sizeof(first));
    assert_memory_equal(out + PIXELS - sizeof(last), last, sizeof(last));
    for (size_t n = 12; n < sizeof(rig_webp); n++) {
        uint8_t *copy = rig_copy(rig_webp, n);
        rig_check_clean(decode(d, copy, n, 99, out, NULL));
        free(copy);
    }
    uint64_t seed = test_seed();
    for (int round = 0; round < 20000; round++) {
        uint8_t copy[sizeof(rig_webp)];
        memcpy(copy, rig_webp, sizeof(rig_webp));
        for (int i = 0; i < 2; i++)
            copy[12 + make_random(&seed) % (sizeof(copy) - 12)] =
                (uint8_t)make_random(&seed);
        rig_check_clean(decode(d, copy, sizeof(copy), 99, out, NULL));
    }
    fdl_decoder_destroy(d);
}

struct container {
    uint8_t bytes[400];
    size_t size;
};

static void add_bytes(struct container *c, const void *bytes, size_t n)
{
    assert_true(c->size + n <= sizeof(c->bytes));
    memcpy(c->bytes + c->size, bytes, n);
    c->size += n;
}

static void add_riff(struct container *c, const char *name, const void *content,
                     size_t n)
{
    uint8_t head[8] = {0, 0, 0, 0, (uint8_t)n};
    memcpy(head, name, 4);
    add_bytes(c, head, 8);
    add_bytes(c, content, n);
    add_bytes(c, "", n & 1);
}

/* 4x3 pixels, of which the first frame has two, at (2, 2); the second one has
 * them at the top. flags: of VP8X; 2: it is an animation. */
static struct container animation(uint8_t flags)
{
    const uint8_t canvas[10] = {flags, [4] = 3, [7] = 2};
    uint8_t frame[16 + sizeof(rig_webp) - 12] = {1, 0, 0, 1, 0, 0, 1};
    struct container c = {0};
    add_bytes(&c, "RIFF\0\0\0\0WEBP", 12);
    add_riff(&c, "VP8X", canvas, sizeof(canvas));
    add_riff(&c, "ANIM", (uint8_t[6]){255, 255, 255, 255}, 6);
    memcpy(frame + 16, rig_webp + 12, sizeof(rig_webp) - 12);
    add_riff(&c, "ANMF", frame, sizeof(frame));
    frame[0] = frame[3] = 0;
    add_riff(&c, "ANMF", frame, sizeof(frame));
    add_riff(&c, "XMP ", "tiff:Orientation=\"3\"", 20);
    c.bytes[4] = (uint8_t)(c.size - 8);
    return c;
}

/* As it is, without resampling. */
static int32_t decode_canvas(const struct container *c, bool apply_exif,
                             uint8_t out[36])
{
    struct fdl_decoder *d =
        rig_decoder((struct fdl_decode_limits){.apply_exif = apply_exif});
    struct fdl_encoded bytes = {.data = c->bytes, .size = c->size};
    struct fdl_image_info info;
    struct fdl_render_cost cost;
    fdl_clear_error();
    int32_t status = fdl_decoder_open(d, &bytes, &info);
    if (!status) {
        assert_true(info.width == 4 && info.height == 3);
        struct fdl_plan plan;
        fdl_plan_init(&plan, 4, 3);
        struct fdl_output_format f = {4, 3, 3, FEEDLINE_U8, true};
        status = fdl_decoder_render(d, &plan, &f, out, &cost);
    }
    fdl_decoder_destroy(d);
    return status;
}

TEST(an_animated_webp_is_its_first_frame)
{
    if (!(feedline_features() & FEEDLINE_FEATURE_WEBP))
        test_skip("built without libwebp");
    enum { ANIMATED = 2, XMP = 4 };
    uint8_t out[36], want[36] = {[30] = 10, 255, 7, 128, 64, 32};
    struct container c = animation(ANIMATED);
    assert_int_equal(decode_canvas(&c, true, out), FEEDLINE_OK);
    assert_memory_equal(out, want, sizeof(want));
    c = animation(ANIMATED | XMP);
    assert_int_equal(decode_canvas(&c, false, out), FEEDLINE_OK);
    assert_memory_equal(out, want, sizeof(want));
    assert_int_equal(decode_canvas(&c, true, out), FEEDLINE_OK);
    assert_memory_equal(out + 3, want + 30, 3); /* half a turn */
    assert_memory_equal(out, want + 33, 3);
}

/* Pillow takes no file with a damaged container, be it behind the frame. */
TEST(a_webp_container_is_sound_or_refused)
{
    if (!(feedline_features() & FEEDLINE_FEATURE_WEBP))
        test_skip("built without libwebp");
    uint8_t out[36];
    struct container good = animation(2), c = good;
    c.size -= 5;
    rig_check_clean(decode_canvas(&c, false, out));
    assert_non_null(strstr(fdl_last_error(), "truncated"));
    c = good;
    memcpy(c.bytes + 12 + 18 + 14 + 8 + 46 + 8 + 16 + 8, "no", 2);
    assert_int_equal(decode_canvas(&c, false, out), FEEDLINE_EDECODE);
    assert_non_null(strstr(fdl_last_error(), "damaged"));
    c = good;
    c.bytes[12 + 18 + 14 + 8] = 2; /* the frame leaves the canvas */
    assert_int_equal(decode_canvas(&c, false, out), FEEDLINE_EDECODE);
}

/* Joins the endings that have the flag. */
static const char *endings(uint32_t flag, char *buf, size_t size)
{
    uint32_t flags;
    const char *ending;
    buf[0] = '\0';
    for (uint32_t i = 0; (ending = feedline_image_ending(i, &flags)); i++) {
        if (flags & flag)
            snprintf(buf + strlen(buf), size - strlen(buf), "%s ", ending);
    }
    return buf;
}

TEST(endings_are_listed_once)
{
    char text[256];
    bool has_webp = feedline_features() & FEEDLINE_FEATURE_WEBP;
    assert_string_equal(endings(FEEDLINE_ENDING_DECODED, text, sizeof(text)),
                        has_webp ? ".jpg .jpeg .jpe .jfif .png .webp "
                                 : ".jpg .jpeg .jpe .jfif .png ");
    /* torchvision.datasets.folder.IMG_EXTENSIONS, in another order */
    assert_string_equal(endings(FEEDLINE_ENDING_LISTED, text, sizeof(text)),
                        ".jpg .jpeg .png .webp .ppm .bmp .pgm .tif .tiff ");
    assert_non_null(feedline_image_ending(0, NULL));
    assert_null(feedline_image_ending(UINT32_MAX, NULL));
}

TEST(names_are_listed_in_any_case)
{
    assert_true(fdl_format_lists("a.JPeG"));
    assert_true(fdl_format_lists("a.b.tif"));
    assert_true(fdl_format_lists(".png"));
    assert_false(fdl_format_lists("a.jfif"));
    assert_false(fdl_format_lists("a.jp"));
    assert_false(fdl_format_lists("a.jpgx"));
    assert_false(fdl_format_lists("jpg"));
    assert_false(fdl_format_lists("a."));
}

/* What a format needs to be one. */
TEST(formats_are_whole)
{
    for (size_t i = 0; i < FDL_FORMAT_COUNT; i++) {
        const struct fdl_format *f = fdl_formats[i];
        assert_true(!f->create == !!f->missing);
        assert_true(!f->matches == !f->name);
        assert_null(f->endings[FDL_FORMAT_ENDINGS].text);
        if (f->create)
            assert_true(f->destroy && f->memory && f->open && f->begin &&
                        f->read && f->abort);
    }
}

TEST_MAIN("decode_formats")
