/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files that claim to be large: each is refused, or decoded, before there
 * is memory for what it claims. docs/limits.md has what is limited, and how.
 */
#include "tests/decode/rig.h"
#include "tests/peak_memory.h"

#include <zlib.h>

#define MIB         (UINT64_C(1) << 20)
#define FILE_BYTES  (256 * 1024)
#define USUAL_LIMIT UINT64_C(178956970) /* of max_pixels */

/* ---- Files --------------------------------------------------------------- */

struct file {
    uint8_t data[FILE_BYTES];
    size_t n;
};

static void put(struct file *f, const void *data, size_t n)
{
    assert_true(f->n + n <= FILE_BYTES);
    memcpy(f->data + f->n, data, n);
    f->n += n;
}

static void put_be(struct file *f, uint32_t x, int bytes)
{
    while (bytes-- > 0) {
        uint8_t byte = (uint8_t)(x >> 8 * bytes);
        put(f, &byte, 1);
    }
}

static void put_le(struct file *f, uint32_t x, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        uint8_t byte = (uint8_t)(x >> 8 * i);
        put(f, &byte, 1);
    }
}

static void png_chunk(struct file *f, const char *name, const void *data,
                      size_t n)
{
    put_be(f, (uint32_t)n, 4);
    size_t from = f->n;
    put(f, name, 4);
    put(f, data, n);
    put_be(f, (uint32_t)crc32(0, f->data + from, (uInt)(f->n - from)), 4);
}

/* Eight bits of RGBA. */
static void png_header(struct file *f, uint32_t width, uint32_t height,
                       bool interlaced)
{
    struct file head = {.n = 0};
    put_be(&head, width, 4);
    put_be(&head, height, 4);
    put(&head, (uint8_t[]){8, 6, 0, 0, interlaced}, 5);
    put(f, "\x89PNG\r\n\x1a\n", 8);
    png_chunk(f, "IHDR", head.data, head.n);
}

/* That many zeros, compressed, behind `head`. */
static void png_zeros(struct file *f, const char *name, const char *head,
                      size_t head_bytes, size_t n)
{
    static uint8_t packed[FILE_BYTES / 2];
    uLongf bytes = sizeof(packed) - head_bytes;
    uint8_t *zeros = calloc(1, n);
    assert_non_null(zeros);
    memcpy(packed, head, head_bytes);
    assert_int_equal(compress(packed + head_bytes, &bytes, zeros, n), Z_OK);
    free(zeros);
    png_chunk(f, name, packed, head_bytes + bytes);
}

static void png_end(struct file *f)
{
    png_chunk(f, "IEND", "", 0);
}

/* Up to its first scan; kind: the low byte of SOF. */
static void jpeg_header(struct file *f, uint8_t kind, uint32_t side)
{
    put(f, "\xff\xd8\xff\xdb\0\x43\0", 7);
    for (int i = 0; i < 64; i++)
        put(f, "\x10", 1);
    put(f, (uint8_t[]){0xff, kind, 0, 17, 8}, 5);
    put_be(f, side, 2);
    put_be(f, side, 2);
    put(f, (uint8_t[]){3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0}, 10);
    for (int i = 0; i < 2; i++) { /* one code of one bit, for DC and AC */
        put(f, (uint8_t[]){0xff, 0xc4, 0, 20, (uint8_t)(16 * i), 1}, 6);
        put(f, (uint8_t[16]){0}, 16);
    }
}

/* ---- Decoding ------------------------------------------------------------ */

static int32_t decode(struct fdl_decoder *d, const struct file *f)
{
    struct fdl_encoded bytes = file_of(f->data, f->n);
    struct fdl_image_info info;
    struct fdl_render_cost cost;
    struct fdl_plan plan;
    uint8_t out[3];
    int32_t status = fdl_decoder_open(d, &bytes, &info);
    if (status)
        return status;
    fdl_plan_init(&plan, info.width, info.height);
    fdl_plan_crop(&plan, (struct fdl_box){0, 0, 1, 1});
    struct fdl_output_format one = {1, 1, 3, FEEDLINE_U8, true};
    return fdl_decoder_render(d, &plan, &one, out, &cost);
}

/* Of a file whose place is static, as it is large. */
static int32_t decode_within(const struct file *f, uint64_t max_pixels,
                             uint64_t most)
{
    SCOPED_DECODER d = rig_decoder(
        (struct fdl_decode_limits){.max_pixels = max_pixels, .max_scans = 500});
    peak_begin();
    int32_t status = decode(d, f);
    assert_peak_below(most);
    return status;
}

static struct file file;

TEST(png_above_max_pixels)
{
    png_header(&file, 0x7fffffff, 0x7fffffff, true);
    png_zeros(&file, "IDAT", "", 0, 1000);
    png_end(&file);
    assert_int_equal(decode_within(&file, USUAL_LIMIT, 4 * MIB),
                     FEEDLINE_ERANGE);
}

TEST(png_interlaced_without_its_rows)
{
    png_header(&file, 13000, 13000, true);
    png_zeros(&file, "IDAT", "", 0, 1000);
    png_end(&file);
    assert_int_equal(decode_within(&file, USUAL_LIMIT, 4 * MIB),
                     FEEDLINE_EDECODE);
    assert_non_null(strstr(fdl_last_error(), "13000x13000"));
}

TEST(png_without_its_rows)
{
    png_header(&file, 4000, 4000, false);
    png_zeros(&file, "IDAT", "", 0, 1000);
    png_end(&file);
    assert_int_equal(decode_within(&file, USUAL_LIMIT, 4 * MIB),
                     FEEDLINE_EDECODE);
}

TEST(png_of_one_row_that_is_not_there)
{
    png_header(&file, 170000000, 1, false);
    png_zeros(&file, "IDAT", "", 0, 1000);
    png_end(&file);
    assert_int_equal(decode_within(&file, USUAL_LIMIT, 4 * MIB),
                     FEEDLINE_EDECODE);
    assert_non_null(strstr(fdl_last_error(), "170000000x1"));
}

/* The data end in order, with their first row: the others are zeros, as in
 * Pillow. */
TEST(png_that_claims_more_rows_than_it_has)
{
    png_header(&file, 1000, 170000, false);
    png_zeros(&file, "IDAT", "", 0, 4001);
    png_end(&file);
    assert_int_equal(decode_within(&file, USUAL_LIMIT, 4 * MIB), FEEDLINE_OK);
}

/* What is behind the last row is nobody's. */
TEST(png_with_more_than_its_rows)
{
    png_header(&file, 8, 8, false);
    png_zeros(&file, "IDAT", "", 0, 64 * MIB);
    png_end(&file);
    assert_in_range(file.n, 60000, FILE_BYTES);
    assert_int_equal(decode_within(&file, USUAL_LIMIT, 4 * MIB), FEEDLINE_OK);
}

TEST(png_with_large_texts)
{
    png_header(&file, 8, 8, false);
    png_zeros(&file, "iCCP", "profile\0", 9, 32 * MIB);
    png_zeros(&file, "zTXt", "text\0", 6, 32 * MIB);
    png_zeros(&file, "iTXt", "text\0\1\0\0\0", 9, 32 * MIB);
    png_zeros(&file, "IDAT", "", 0, 8 * 33);
    png_end(&file);
    assert_int_equal(decode_within(&file, USUAL_LIMIT, 4 * MIB), FEEDLINE_OK);
}

TEST(jpeg_above_max_pixels)
{
    jpeg_header(&file, 0xc2, 65500);
    put(&file, "\xff\xda\0\x0c\3\1\0\2\0\3\0\0\0\0\xff\xd9", 16);
    assert_int_equal(decode_within(&file, USUAL_LIMIT, 4 * MIB),
                     FEEDLINE_ERANGE);
}

/* As many rows as there are; the file ends before the first of them does. */
TEST(jpeg_of_one_scan_without_data)
{
    jpeg_header(&file, 0xc0, 13000);
    put(&file, "\xff\xda\0\x0c\3\1\0\2\0\3\0\0\x3f\0", 14);
    assert_int_equal(decode_within(&file, USUAL_LIMIT, 32 * MIB),
                     FEEDLINE_EDECODE);
}

/* Coefficients of all of it, which arithmetic coding needs, are limited by
 * max_pixels: at most 16 bytes for each. */
TEST(jpeg_of_scans_without_data)
{
    jpeg_header(&file, 0xca, 1000);
    put(&file, "\xff\xda\0\x0c\3\1\0\2\0\3\0\0\0\0", 14);
    assert_int_equal(decode_within(&file, MIB, 24 * MIB), FEEDLINE_EDECODE);
}

/* Each of a few bytes, and of all blocks. */
TEST(jpeg_of_many_scans)
{
    jpeg_header(&file, 0xc2, 2000);
    for (int i = 0; i < 1000; i++) {
        put(&file, "\xff\xda\0\x08\1\1\0\1\x3f\0", 10);
        put(&file, "\0\0", 2);
    }
    put(&file, "\xff\xd9", 2);
    assert_int_equal(decode_within(&file, USUAL_LIMIT, 128 * MIB),
                     FEEDLINE_ERANGE);
    assert_non_null(strstr(fdl_last_error(), "500"));
}

/* A canvas of 2^24 pixels each way, and a frame as large. */
TEST(webp_above_max_pixels)
{
    put(&file, "RIFF", 4);
    put_le(&file, 4 + 18 + 14 + 24 + 16, 4);
    put(&file, "WEBPVP8X\x0a\0\0\0\2\0\0\0", 16);
    put_le(&file, 0xffffff, 3);
    put_le(&file, 0xffffff, 3);
    put(&file, "ANIM\6\0\0\0\0\0\0\0\0\0", 14);
    put(&file, "ANMF\x20\0\0\0\0\0\0\0\0\0", 14);
    put_le(&file, 0xffffff, 3);
    put_le(&file, 0xffffff, 3);
    put(&file, "\1\0\0\0VP8L\6\0\0\0\x2f\xff\xff\xff\x0f\0", 18);
    int32_t status = decode_within(&file, USUAL_LIMIT, 4 * MIB);
    assert_true(status == FEEDLINE_ERANGE || status == FEEDLINE_EDECODE);
}

/* 16,383 pixels each way, in the header of the only chunk. */
TEST(webp_of_one_chunk_above_max_pixels)
{
    put(&file, "RIFF\x12\0\0\0WEBPVP8L\6\0\0\0\x2f\xff\xff\xff\x0f\0", 26);
    int32_t status = decode_within(&file, USUAL_LIMIT, 4 * MIB);
    assert_true(status == FEEDLINE_ERANGE || status == FEEDLINE_EDECODE);
}

/* Planes of 65,535 by 65,535 blocks. */
TEST(packed_without_its_blocks)
{
    put(&file,
        "\xf1"
        "fdlp\r\n\x1a\1\0\1\0",
        12);
    put(&file, (uint8_t[16]){0}, 16);
    put_le(&file, 0xffffffff, 4);
    put_le(&file, 0xffffffff, 4);
    put_le(&file, 0, 4);
    assert_int_equal(decode_within(&file, USUAL_LIMIT, 4 * MIB),
                     FEEDLINE_EDECODE);
}

TEST_MAIN("bombs")
