/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data sets of pixels that the program has: what comes out is what is there, in
 * any layout and number of channels, with Pillow's rules between gray and RGB;
 * and what does not make a data set is refused.
 */
#include "base/compiler.h"
#include "loader/dataset/dataset.h"
#include "tests/loader/fixture.h"

#define N      10u
#define HEIGHT 7
#define WIDTH  5
#define AREA   ((size_t)HEIGHT * WIDTH)

/* N images of `channels`, noise. The caller frees. */
static uint8_t *noise(size_t channels)
{
    size_t bytes = N * AREA * channels;
    uint8_t *pixels = malloc(bytes);
    uint32_t x = 1;
    assert_non_null(pixels);
    for (size_t i = 0; i < bytes; i++) {
        x = x * 1664525u + 1013904223u;
        pixels[i] = (uint8_t)(x >> 24);
    }
    return pixels;
}

static feedline_dataset *open_pixels(const uint8_t *pixels, int32_t channels)
{
    static const int64_t labels[N] = {5, -1, 7, 0, 2, 2, 9, 1000000007, 3, 4};
    feedline_dataset *ds;
    assert_ok(feedline_dataset_open_pixels(pixels, labels, N, HEIGHT, WIDTH,
                                           channels, &ds));
    return ds;
}

/* The pixel (y, x) of image i as it has to come: L of RGB is Pillow's. */
static uint8_t wanted(const uint8_t *pixels, int32_t from, int32_t to, size_t i,
                      size_t at, size_t c)
{
    const uint8_t *p = pixels + (i * AREA + at) * (size_t)from;
    if (from == 3 && to == 1)
        return (
            uint8_t)((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >>
                     16);
    return from == 1 ? p[0] : p[c];
}

static void check_epoch(feedline_loader *l, const uint8_t *pixels, int32_t from,
                        int32_t to, bool nhwc)
{
    feedline_batch *b;
    uint32_t seen = 0;
    while (feedline_loader_next(l, -1, &b) == FEEDLINE_OK) {
        struct feedline_batch_info info = fixture_info(b);
        for (uint32_t k = 0; k < info.count; k++, seen++) {
            size_t bytes, channels = (size_t)to;
            const uint8_t *got = fixture_image(&info, k, &bytes);
            size_t i = (size_t)info.sample_index[k];
            assert_int_equal(bytes, AREA * channels);
            for (size_t at = 0; at < AREA; at++)
                for (size_t c = 0; c < channels; c++)
                    assert_int_equal(
                        got[nhwc ? at * channels + c : c * AREA + at],
                        wanted(pixels, from, to, i, at, c));
        }
        feedline_batch_release(b);
    }
    assert_int_equal(seen, N);
}

TEST(pixels_come_as_they_are)
{
    static const char *const readers[] = {"auto", "pread", "memory"};
    for (uint32_t i = 0; i < 24; i++) {
        int32_t from = i & 1 ? 3 : 1, to = i & 2 ? 3 : 1;
        bool nhwc = i & 4;
        uint8_t *pixels = noise((size_t)from);
        feedline_dataset *ds = open_pixels(pixels, from);
        feedline_loader *l = fixture_with(
            ds, NULL, "",
            "dtype=u8 batch_size=4 channels=%d reader=%s layout=%s "
            "shuffle=true",
            to, readers[i / 8], nhwc ? "nhwc" : "nchw");
        check_epoch(l, pixels, from, to, nhwc);
        feedline_loader_destroy(l);
        feedline_dataset_close(ds);
        free(pixels);
    }
}

TEST(samples_have_names_and_labels)
{
    uint8_t *pixels = noise(3);
    feedline_dataset *ds = open_pixels(pixels, 3), *plain;
    struct feedline_sample_info info = {.struct_size = sizeof(info)};
    uint64_t count;
    assert_ok(feedline_dataset_get_count(ds, &count));
    assert_int_equal(count, N);
    assert_ok(feedline_dataset_get_sample(ds, 7, &info));
    assert_string_equal(info.path, "pixels:7");
    assert_int_equal(info.label, 1000000007);
    assert_int_equal(feedline_dataset_class_count(ds), 0);
    assert_ok(feedline_dataset_open_pixels(pixels, NULL, N, HEIGHT, WIDTH, 3,
                                           &plain));
    assert_ok(feedline_dataset_get_sample(plain, 7, &info));
    assert_int_equal(info.label, 0);
    feedline_dataset_close(plain);
    feedline_dataset_close(ds);
    free(pixels);
}

/* Every byte, every label and every side counts, and nothing else does. */
TEST(the_fingerprint_is_of_the_content)
{
    uint8_t *pixels = noise(3), *same = noise(3);
    int64_t labels[3] = {1, 2, 3};
    uint64_t prints[6];
    static const int32_t sides[2][2] = {{HEIGHT, WIDTH}, {WIDTH, HEIGHT}};
    for (uint32_t i = 0; i < FDL_COUNT_OF(prints); i++) {
        feedline_dataset *ds;
        const int32_t *side = sides[i == 2];
        if (i == 3)
            same[3 * AREA * 3 - 1] ^= 1;
        if (i == 4)
            same[3 * AREA * 3 - 1] ^= 1, labels[1]++;
        if (i == 5)
            labels[1]--;
        assert_ok(feedline_dataset_open_pixels(i ? same : pixels, labels, 3,
                                               side[0], side[1], 3, &ds));
        prints[i] = ds->fingerprint;
        feedline_dataset_close(ds);
    }
    assert_true(prints[0] == prints[1] && prints[0] == prints[5]);
    for (uint32_t i = 2; i < 5; i++)
        for (uint32_t k = 0; k < i; k++)
            assert_true(prints[i] != prints[k]);
    free(same);
    free(pixels);
}

TEST(what_is_no_image_is_refused)
{
    static const uint8_t pixels[16];
    static const struct {
        uint64_t count;
        int32_t height, width, channels;
        const char *words;
    } rows[] = {
        {0, 1, 1, 1, "no images"},
        {1, 1, 1, 2, "2 channels"},
        {1, 1, 1, 4, "4 channels"},
        {1, 1, 1, 0, "0 channels"},
        {1, 0, 1, 1, "pixels of 1 x 0 images"},
        {1, 1, -3, 1, "pixels of -3 x 1 images"},
        {1, 65536, 1, 1, "65535"},
        {UINT64_MAX, 2, 2, 3, "18446744073709551615 images"},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        feedline_dataset *ds;
        assert_error(feedline_dataset_open_pixels(pixels, NULL, rows[i].count,
                                                  rows[i].height, rows[i].width,
                                                  rows[i].channels, &ds),
                     FEEDLINE_EINVAL, rows[i].words);
        assert_null(ds);
    }
    feedline_dataset *ds;
    assert_error(feedline_dataset_open_pixels(NULL, NULL, 1, 1, 1, 1, &ds),
                 FEEDLINE_EINVAL, "pixels is NULL");
    assert_error(feedline_dataset_open_pixels(pixels, NULL, 1, 1, 1, 1, NULL),
                 FEEDLINE_EINVAL, "out is NULL");
}

TEST_MAIN("open_pixels")
