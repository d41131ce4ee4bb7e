/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damaged files: cut at every place, and with random bytes changed. Whatever
 * they are, the answer is a picture or one clean error, and the decoder goes on
 * to decode the next image as if nothing had happened. With sanitizers this is
 * also the test that nothing is read or written outside, and nothing leaks.
 */
#include "tests/decode/make_jpeg.h"
#include "tests/decode/rig.h"

enum { SIDE = 60 };

static struct fdl_decoder *create_for(double accept_truncated)
{
    return rig_decoder(
        (struct fdl_decode_limits){.accept_truncated = accept_truncated});
}

static struct fdl_decoder *create(void)
{
    return create_for(0);
}

static bool truncated; /* by the last decode */

/* Crops `box` of whatever size the file says; any status. */
static int32_t decode(struct fdl_decoder *d, const uint8_t *data, size_t size,
                      size_t readable, struct fdl_box box, uint8_t *out)
{
    struct fdl_encoded bytes = {
        .data = data, .size = size, .readable = readable};
    struct fdl_render_cost cost = {0};
    int32_t status = rig_decode(d, &bytes, box, SIDE, out, &cost);
    truncated = cost.truncated;
    return status;
}

static const struct fdl_box all = {0, 0, 65535, 65535};

static struct make_jpeg kind(int i)
{
    return (struct make_jpeg){
        .width = 90,
        .height = 70,
        .components = i == 4 ? 1 : 3,
        .h = i == 4 ? 1 : 1 + i % 2,
        .v = i == 4 ? 1 : 1 + i / 2 % 2,
        .quality = 60,
        .restart = i == 3 ? 5 : 0,
        .progressive = i == 5,
        .arithmetic = i == 6,
        .separate = i == 7,
        .seed = (uint64_t)i,
    };
}
enum { KINDS = 8 };

/* A file that is cut anywhere is an error, as in Pillow. */
TEST(truncated_files_are_errors)
{
    static uint8_t out[SIDE * SIDE * 3];
    SCOPED_DECODER d = create();
    for (int i = 0; i < KINDS; i++) {
        struct make_jpeg m = kind(i);
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        for (size_t n = 0; n<size; n += n> 700 ? 7 : 1) {
            for (int padded = 0; padded < 2; padded++) {
                /* Exactly n bytes, or n and zeros, as readers leave them. */
                size_t readable = n + (padded ? FDL_ENCODED_PADDING : 0);
                uint8_t *copy = calloc(1, readable + 1);
                assert_non_null(copy);
                memcpy(copy, file, n);
                int32_t status = decode(d, copy, n, readable, all, out);
                if (status != FEEDLINE_EDECODE)
                    fail_msg("kind %d cut at %zu of %zu, padded %d: status %d",
                             i, n, size, padded, status);
                rig_check_clean(status);
                free(copy);
            }
        }
        assert_int_equal(decode(d, file, size, size, all, out), FEEDLINE_OK);
        free(file);
    }
}

/* Whether a file is refused does not depend on what is wanted of it. */
TEST(a_cut_below_the_crop_counts)
{
    static uint8_t want[SIDE * SIDE * 3], got[SIDE * SIDE * 3];
    struct make_jpeg m = kind(0);
    size_t size;
    uint8_t *file = make_jpeg(&m, &size);
    struct fdl_decoder *d = create(), *lenient = create_for(0.25);
    struct fdl_box top = {0, 0, 90, 8};
    assert_int_equal(decode(d, file, size, size, top, want), FEEDLINE_OK);
    assert_int_equal(decode(d, file, size / 2, size / 2, top, got),
                     FEEDLINE_EDECODE);
    assert_non_null(strstr(fdl_last_error(), "truncated"));
    assert_int_equal(decode(lenient, file, size / 2, size / 2, top, got),
                     FEEDLINE_OK);
    assert_true(truncated);
    assert_memory_equal(want, got, sizeof(want));
    assert_int_equal(decode(lenient, file, size, size, top, got), FEEDLINE_OK);
    assert_false(truncated);
    free(file);
    fdl_decoder_destroy(d);
    fdl_decoder_destroy(lenient);
}

/* The offset of the first byte of a scan's data. */
static size_t scan_of(const uint8_t *file, size_t size)
{
    for (size_t i = 0; i + 4 < size; i++) {
        if (file[i] == 0xff && file[i + 1] == 0xda)
            return i + 2 + (size_t)file[i + 2] * 256 + file[i + 3];
    }
    fail_msg("no scan");
    return 0;
}

/* A marker in the data, the verdict of libjpeg that reads to the end, and what
 * it says. */
struct marker {
    uint8_t bytes[4];
    int32_t status;
    const char *words;
};

static const struct marker markers[] = {
    {{0xff, 0x99, 1, 1}, FEEDLINE_EDECODE, "marker type 0x99"},
    {{0xff, 0xc4, 0, 9}, FEEDLINE_EDECODE, "offset"}, /* a broken table */
    {{0xff, 0xd8, 1, 1}, FEEDLINE_EDECODE, "SOI"},    /* another image */
    {{0xff, 0xe5, 255, 255}, FEEDLINE_OK, NULL},      /* longer than the rest */
    {{0xff, 0xd9, 1, 1}, FEEDLINE_OK, NULL},          /* an early end */
    {{0xff, 0xfe, 0, 4}, FEEDLINE_OK, NULL},          /* a comment */
    {{0xff, 0xd3, 1, 1}, FEEDLINE_OK, NULL},          /* a restart */
    {{0xff, 0x00, 0xff, 0x00}, FEEDLINE_OK, NULL},    /* data */
};

/* Above the crop, in it, and below it: always the same. */
static void check_marker(const struct make_jpeg *m, const struct marker *marker,
                         size_t part)
{
    static uint8_t out[SIDE * SIDE * 3];
    static const struct fdl_box boxes[] = {
        {0, 0, 90, 8}, {10, 30, 20, 8}, {0, 60, 90, 10}, {0, 0, 90, 70}};
    struct fdl_decoder *d = create(), *lenient = create_for(0.01);
    size_t size;
    uint8_t *file = make_jpeg(m, &size);
    size_t at = scan_of(file, size), place = at + (size - at) * part / 8;
    memcpy(file + place, marker->bytes, sizeof(marker->bytes));
    for (size_t i = 0; i < FDL_COUNT_OF(boxes); i++) {
        int32_t status = decode(d, file, size, size, boxes[i], out);
        if (status != marker->status)
            fail_msg("marker %02x at %zu/8, box %zu: %d %s", marker->bytes[1],
                     part, i, status, fdl_last_error());
        if (status)
            assert_non_null(strstr(fdl_last_error(), marker->words));
        assert_int_equal(decode(lenient, file, size, size, boxes[i], out), 0);
        assert_int_equal(truncated, status != FEEDLINE_OK);
    }
    free(file);
    fdl_decoder_destroy(d);
    fdl_decoder_destroy(lenient);
}

TEST(markers_in_the_data_count_wherever_they_are)
{
    for (int gray = 0; gray < 2; gray++) {
        struct make_jpeg m = kind(gray ? 4 : 0);
        m.arithmetic = gray;
        for (size_t i = 0; i < FDL_COUNT_OF(markers); i++) {
            for (size_t part = 2; part < 7; part += 2)
                check_marker(&m, &markers[i], part);
        }
    }
}

/* Of a crop that needs about all of what is there, the bytes behind the cut say
 * nothing: those of a file reader are zeros, those in memory are not there. */
TEST(padding_changes_no_verdict)
{
    static uint8_t out[2][SIDE * SIDE * 3];
    SCOPED_DECODER d = create_for(0.5);
    int accepted = 0, refused = 0;
    for (int i = 0; i < 5; i++) {
        struct make_jpeg m = kind(i);
        m.width = 64;
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        for (size_t n = size / 3; n <= size; n++) {
            uint8_t *copy = calloc(1, n + FDL_ENCODED_PADDING);
            assert_non_null(copy);
            memcpy(copy, file, n);
            struct fdl_box box = {0, 0, 64, 16 + (int32_t)(n % 4) * 16};
            int32_t bare = decode(d, copy, n, n, box, out[0]);
            int32_t padded =
                decode(d, copy, n, n + FDL_ENCODED_PADDING, box, out[1]);
            if (bare != padded)
                fail_msg("kind %d cut at %zu of %zu: %d, padded %d", i, n, size,
                         bare, padded);
            if (bare == FEEDLINE_OK)
                assert_memory_equal(out[0], out[1], sizeof(out[0]));
            accepted += bare == FEEDLINE_OK;
            refused += bare == FEEDLINE_EDECODE;
            free(copy);
        }
        free(file);
    }
    assert_true(accepted > 100 && refused > 100);
}

/* An end marker in the middle is damage that libjpeg decodes around. */
TEST(early_end_marker_is_accepted)
{
    static uint8_t out[SIDE * SIDE * 3];
    struct make_jpeg m = kind(0);
    size_t size;
    uint8_t *file = make_jpeg(&m, &size);
    size_t at = size * 3 / 4;
    file[at] = 0xff;
    file[at + 1] = 0xd9;
    SCOPED_DECODER d = create();
    assert_int_equal(decode(d, file, at + 2, at + 2, all, out), FEEDLINE_OK);
    free(file);
}

/* The rows of a sequential file are there once a marker ends them, or bytes
 * that are no part of them; what follows may end anywhere, as in Pillow. */
TEST(what_follows_the_rows_may_be_cut)
{
    static const struct tail {
        uint8_t bytes[10];
        size_t n;
        int32_t status;
    } tails[] = {
        {{0}, 0, FEEDLINE_EDECODE},
        {{0}, 2, FEEDLINE_EDECODE},
        {{0}, 10, FEEDLINE_OK},
        {{0xff}, 1, FEEDLINE_EDECODE},
        {{0xff, 0xfe}, 2, FEEDLINE_OK},
        {{0xff, 0xe1, 0, 9, 'a'}, 5, FEEDLINE_OK},
        {{0xff, 0xc4, 0, 9, 7}, 5, FEEDLINE_EDECODE},
        {{0xff, 0xc4, 0, 40, 7}, 5, FEEDLINE_OK},
        {{0xff, 0xc4, 0, 3, 7, 0xff, 0xd9}, 7, FEEDLINE_EDECODE},
    };
    static uint8_t want[SIDE * SIDE * 3], out[SIDE * SIDE * 3];
    static const struct fdl_box boxes[] = {
        {0, 0, 90, 8}, {10, 30, 20, 8}, {0, 60, 90, 10}, {0, 0, 90, 70}};
    SCOPED_DECODER d = create();
    struct make_jpeg m = kind(0);
    size_t size;
    uint8_t *file = make_jpeg(&m, &size), *copy = malloc(size + 10);
    assert_non_null(copy);
    for (size_t i = 0; i < FDL_COUNT_OF(tails); i++) {
        const struct tail *t = &tails[i];
        memcpy(copy, file, size - 2);
        memcpy(copy + size - 2, t->bytes, t->n);
        for (size_t b = 0; b < FDL_COUNT_OF(boxes); b++) {
            decode(d, file, size, size, boxes[b], want);
            int32_t status = decode(d, copy, size - 2 + t->n, size - 2 + t->n,
                                    boxes[b], out);
            if (status != t->status)
                fail_msg("tail %zu, box %zu: %d %s", i, b, status,
                         fdl_last_error());
            if (!status)
                assert_memory_equal(want, out, sizeof(want));
            assert_true(status || !truncated);
        }
    }
    free(copy);
    free(file);
}

TEST(random_damage_is_survived)
{
    static uint8_t want[SIDE * SIDE * 3], out[SIDE * SIDE * 3];
    uint64_t seed = test_seed();
    SCOPED_DECODER d = create();
    struct make_jpeg good_kind = kind(1);
    size_t good_size;
    uint8_t *good = make_jpeg(&good_kind, &good_size);
    assert_int_equal(decode(d, good, good_size, good_size, all, want), 0);
    for (int round = 0; round < 4000; round++) {
        struct make_jpeg m = kind(round % KINDS);
        m.width = 1 + (int32_t)(make_random(&seed) % 100);
        m.height = 1 + (int32_t)(make_random(&seed) % 100);
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        int changes = 1 + (int)(make_random(&seed) % 8);
        size_t within = make_random(&seed) & 1 ? size : FDL_MIN(size, 700);
        for (int i = 0; i < changes; i++)
            file[make_random(&seed) % within] = (uint8_t)make_random(&seed);
        struct fdl_box box = {(int32_t)(make_random(&seed) % 100),
                              (int32_t)(make_random(&seed) % 100),
                              1 + (int32_t)(make_random(&seed) % 100),
                              1 + (int32_t)(make_random(&seed) % 100)};
        size_t readable =
            size + (make_random(&seed) & 1 ? FDL_ENCODED_PADDING : 0);
        rig_check_clean(decode(d, file, size, readable, box, out));
        free(file);
        if (round % 50 == 0) {
            assert_int_equal(decode(d, good, good_size, good_size, all, out),
                             FEEDLINE_OK);
            assert_memory_equal(want, out, sizeof(want));
        }
    }
    free(good);
}

TEST_MAIN("decode_damage")
