/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PNG files that no program writes and Pillow takes: headers that say odd
 * things, and data that end with a row before the last one.
 * tests/decode/formats/chunk_parity.py asks Pillow.
 */
#include "base/crc32.h"
#include "tests/decode/make_png.h"
#include "tests/decode/rig.h"

enum { SIDE = 40, ROW = 3 * SIDE, HEIGHT_AT = 20, SIZE_AT = 8, NAME_AT = 12 };
enum { COMPRESSION = 26, INTERLACING = 28, HEADER = 13, CHECKSUM_AT = 29 };

static void put_be(uint8_t *to, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(x >> (24 - 8 * i));
}

static void mend_header(uint8_t *file, uint32_t bytes)
{
    put_be(file + SIZE_AT, bytes);
    put_be(file + NAME_AT + 4 + bytes, fdl_crc32(0, file + NAME_AT, 4 + bytes));
}

/* Rows y to y + n as bytes of RGB. */
static int32_t decode(const uint8_t *file, size_t size, int32_t y, int32_t n,
                      uint8_t *out, bool *truncated)
{
    SCOPED_DECODER d = rig_decoder((struct fdl_decode_limits){0});
    const struct fdl_output_format format = {SIDE, n, 3, FEEDLINE_U8, true};
    struct fdl_encoded bytes = file_of(file, size);
    struct fdl_render_cost cost = {0};
    struct fdl_image_info info;
    struct fdl_plan plan;
    int32_t status = fdl_decoder_open(d, &bytes, &info);
    if (status)
        return status;
    fdl_plan_init(&plan, info.width, info.height);
    fdl_plan_crop(&plan, (struct fdl_box){0, y, SIDE, n});
    status = fdl_decoder_render(d, &plan, &format, out, &cost);
    *truncated = cost.truncated;
    return status;
}

static const struct make_png kinds[] = {
    {.width = SIDE, .height = SIDE, .depth = 8, .colour = 2, .seed = 1},
    {.width = SIDE, .height = SIDE, .depth = 16, .colour = 2, .seed = 2},
    {.width = SIDE, .height = SIDE, .depth = 4, .colour = 0, .seed = 3},
    {.width = SIDE, .height = SIDE, .depth = 16, .colour = 0, .seed = 4},
    {.width = SIDE, .height = SIDE, .depth = 8, .colour = 6, .seed = 5},
    {.width = SIDE,
     .height = SIDE,
     .depth = 8,
     .colour = 2,
     .interlaced = true,
     .seed = 6},
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

static uint8_t expected[ROW * SIDE], got[ROW * 3 * SIDE];

static uint8_t *sound_file(size_t kind, size_t *size)
{
    bool truncated;
    uint8_t *file = make_png(&kinds[kind], size);
    assert_int_equal(decode(file, *size, 0, SIDE, expected, &truncated), 0);
    assert_false(truncated);
    return file;
}

static void check_same(const uint8_t *file, size_t size)
{
    bool truncated;
    memset(got, 1, sizeof(got));
    assert_int_equal(decode(file, size, 0, SIDE, got, &truncated), 0);
    assert_memory_equal(got, expected, sizeof(expected));
    assert_false(truncated);
}

TEST(compression_is_not_asked_for)
{
    size_t size;
    for (size_t kind = 0; kind < KINDS; kind++) {
        uint8_t *file = sound_file(kind, &size);
        file[COMPRESSION] = 7;
        mend_header(file, HEADER);
        check_same(file, size);
        free(file);
    }
}

TEST(any_interlacing_is_the_one_there_is)
{
    size_t size;
    uint8_t *file = sound_file(KINDS - 1, &size);
    file[INTERLACING] = 255;
    mend_header(file, HEADER);
    check_same(file, size);
    free(file);
}

TEST(more_than_the_header_is_left)
{
    enum { MORE = 5 };
    size_t size;
    for (size_t kind = 0; kind < KINDS; kind++) {
        uint8_t *file = sound_file(kind, &size);
        uint8_t *longer = rig_alloc(size + MORE);
        memcpy(longer, file, CHECKSUM_AT);
        memset(longer + CHECKSUM_AT, 9, MORE);
        memcpy(longer + CHECKSUM_AT + MORE, file + CHECKSUM_AT,
               size - CHECKSUM_AT);
        mend_header(longer, HEADER + MORE);
        check_same(longer, size + MORE);
        free(longer);
        free(file);
    }
}

TEST(a_wrong_checksum_of_the_header_is_an_error)
{
    size_t size;
    bool truncated;
    uint8_t *file = sound_file(0, &size);
    file[COMPRESSION] = 7;
    int32_t status = decode(file, size, 0, SIDE, got, &truncated);
    assert_int_equal(status, FEEDLINE_EDECODE);
    rig_check_clean(status);
    free(file);
}

static void check_zeros(const uint8_t *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(rows[i], 0);
}

/* Whichever rows are asked for, the verdict is the same. */
TEST(rows_that_are_not_there_are_zeros)
{
    size_t size;
    bool truncated;
    for (size_t kind = 0; kind < KINDS && !kinds[kind].interlaced; kind++) {
        uint8_t *file = sound_file(kind, &size);
        put_be(file + HEIGHT_AT, 3 * SIDE);
        mend_header(file, HEADER);
        assert_int_equal(decode(file, size, 0, 3 * SIDE, got, &truncated), 0);
        assert_true(truncated);
        assert_memory_equal(got, expected, sizeof(expected));
        check_zeros(got + ROW * SIDE, ROW * 2 * SIDE);
        for (int32_t y = 0; y < 3 * SIDE; y += SIDE / 2) {
            memset(got, 1, sizeof(got));
            assert_int_equal(decode(file, size, y, 1, got, &truncated), 0);
            assert_true(truncated);
            if (y < SIDE)
                assert_memory_equal(got, expected + ROW * y, ROW);
            else
                check_zeros(got, ROW);
        }
        free(file);
    }
}

static void check_refused(const uint8_t *file, size_t size)
{
    bool truncated;
    for (int32_t y = 0; y < 2 * SIDE; y += SIDE / 2) {
        int32_t status = decode(file, size, y, 1, got, &truncated);
        assert_int_equal(status, FEEDLINE_EDECODE);
        rig_check_clean(status);
    }
}

/* Pillow asks for more then. */
TEST(data_that_end_within_a_row_are_an_error)
{
    size_t size;
    uint8_t *file = sound_file(0, &size);
    put_be(file + HEIGHT_AT - 4, SIDE + 1);
    put_be(file + HEIGHT_AT, 2 * SIDE);
    mend_header(file, HEADER);
    check_refused(file, size);
    free(file);
}

/* What is behind the data is read by Pillow, too. */
TEST(a_file_that_ends_in_a_chunk_behind_short_data_is_an_error)
{
    static const uint8_t text[] = {0, 0, 0, 99, 't', 'E', 'X', 't', 'a'};
    size_t size;
    uint8_t *file = sound_file(0, &size);
    put_be(file + HEIGHT_AT, 2 * SIDE);
    mend_header(file, HEADER);
    memcpy(file + size - 12, text, sizeof(text)); /* in place of IEND */
    check_refused(file, size - 12 + sizeof(text));
    free(file);
}

TEST_MAIN("decode_png_odd")
