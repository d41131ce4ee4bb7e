/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a PNG that is made of the input, with right checksums, so that
 * what is tried is behind them; beside libpng.
 *
 *     8 bytes    kind, size, how it is compressed and cut into chunks, damage
 *     the rest   palette and rows with their filters, again from the front
 *                where they end too soon
 *
 * A file that was not damaged is decoded, and its pixels are libpng's.
 */
#include "decode/decoder.h"
#include "fuzz.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define SIDE       64
#define FILE_BYTES 131072
#define SIGNATURE  8
#define PASSES     7

static const struct {
    uint8_t colour, depth, samples;
} kinds[] = {
    {0, 1, 1},  {0, 2, 1},  {0, 4, 1}, {0, 8, 1},  {2, 8, 3},
    {2, 16, 3}, {3, 1, 1},  {3, 2, 1}, {3, 4, 1},  {3, 8, 1},
    {4, 8, 2},  {4, 16, 2}, {6, 8, 4}, {6, 16, 4},
};

struct request {
    uint8_t kind, pieces, level, damage;
    uint32_t width, height, at;
    bool interlaced, transparent, trailing;
};

/* ---- The file ------------------------------------------------------------ */

struct file {
    uint8_t *data;
    size_t n;
};

static void put(struct file *f, const void *data, size_t n)
{
    fuzz_check(f->n + n <= FILE_BYTES);
    if (n > 0)
        memcpy(f->data + f->n, data, n);
    f->n += n;
}

static void put_word(struct file *f, uint32_t x)
{
    const uint8_t bytes[] = {(uint8_t)(x >> 24), (uint8_t)(x >> 16),
                             (uint8_t)(x >> 8), (uint8_t)x};
    put(f, bytes, sizeof(bytes));
}

static void put_chunk(struct file *f, const char *name, const uint8_t *data,
                      size_t n)
{
    put_word(f, (uint32_t)n);
    size_t from = f->n;
    put(f, name, 4);
    put(f, data, n);
    put_word(f, (uint32_t)crc32(0, f->data + from, (uInt)(f->n - from)));
}

/* The next byte, from the front again where there is none. */
static uint8_t next(const struct fuzz_input *all, size_t *at)
{
    return all->size ? all->data[(*at)++ % all->size] : 0;
}

static size_t put_rows(uint8_t *to, const struct request *q,
                       const struct fuzz_input *all)
{
    static const uint8_t adam7[PASSES][4] = {
        {0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
        {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    static const uint8_t plain[4] = {0, 0, 1, 1};
    size_t n = 0, at = 0;
    uint32_t bits = kinds[q->kind].samples * kinds[q->kind].depth;
    for (int pass = 0; pass < (q->interlaced ? PASSES : 1); pass++) {
        const uint8_t *p = q->interlaced ? adam7[pass] : plain;
        if (q->width <= p[0] || q->height <= p[1])
            continue;
        uint32_t columns = (q->width - p[0] + p[2] - 1) / p[2];
        uint32_t rows = (q->height - p[1] + p[3] - 1) / p[3];
        for (uint32_t y = 0; y < rows; y++) {
            to[n++] = next(all, &at) % 5;
            for (uint32_t x = 0; x < (columns * bits + 7) / 8; x++)
                to[n++] = next(all, &at);
        }
    }
    return n;
}

static void put_pixels(struct file *f, const struct request *q,
                       const struct fuzz_input *all)
{
    static uint8_t rows[2 * SIDE * (1 + 8 * SIDE)], packed[sizeof(rows) * 2];
    uLongf bytes = sizeof(packed);
    size_t n = put_rows(rows, q, all), at = 0;
    fuzz_check(n <= sizeof(rows));
    fuzz_check(compress2(packed, &bytes, rows, n, q->level % 10) == Z_OK);
    for (uint32_t i = 0; i < q->pieces; i++) {
        size_t piece = i + 1 == q->pieces ? bytes - at : (bytes - at) / 3;
        put_chunk(f, "IDAT", packed + at, piece);
        at += piece;
    }
}

static void put_header(struct file *f, const struct request *q,
                       const struct fuzz_input *all)
{
    struct file header = {(uint8_t[13]){0}, 0};
    uint8_t palette[3 * 256], alpha[6];
    size_t at = 0;
    put_word(&header, q->width);
    put_word(&header, q->height);
    put(&header,
        (uint8_t[]){kinds[q->kind].depth, kinds[q->kind].colour, 0, 0,
                    q->interlaced},
        5);
    put(f, "\x89PNG\r\n\x1a\n", SIGNATURE);
    put_chunk(f, "IHDR", header.data, header.n);
    for (size_t i = 0; i < sizeof(palette); i++)
        palette[i] = next(all, &at);
    for (size_t i = 0; i < sizeof(alpha); i++)
        alpha[i] = i % 2 ? palette[i] : 0;
    if (kinds[q->kind].colour == 3)
        put_chunk(f, "PLTE", palette, (size_t)3 << kinds[q->kind].depth);
    if (q->transparent && kinds[q->kind].colour < 4)
        put_chunk(f, "tRNS", alpha,
                  kinds[q->kind].colour == 3
                      ? FDL_MIN((size_t)1 << kinds[q->kind].depth, 6u)
                      : (size_t)2 * kinds[q->kind].samples);
}

/* With one thing wrong, or none. */
static void damage(struct file *f, const struct request *q)
{
    size_t at = q->at % f->n;
    switch (q->damage % 8) {
    case 1:
        f->n = at; /* cut */
        break;
    case 2:
        f->data[at] ^= (uint8_t)(1u << q->damage / 32);
        break;
    case 3:
        memmove(f->data + at, f->data + at + 1, f->n - at - 1);
        f->n--;
        break;
    default:
        break;
    }
}

/* ---- Decoding ------------------------------------------------------------ */

/* Read by libpng alone. */
static void check_pixels(const struct file *f, const struct request *q,
                         const uint8_t *pixels)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    size_t n = 3 * (size_t)q->width * q->height;
    if (kinds[q->kind].depth == 16 || (q->transparent && !pixels))
        return;
    fuzz_check(png_image_begin_read_from_memory(&image, f->data, f->n));
    image.format = PNG_FORMAT_RGBA; /* alpha is dropped, not blended */
    uint8_t *rgba = malloc(PNG_IMAGE_SIZE(image));
    fuzz_check(rgba);
    fuzz_check(png_image_finish_read(&image, NULL, rgba, 0, NULL));
    for (size_t i = 0; i < n; i++)
        fuzz_check(pixels[i] == rgba[i / 3 * 4 + i % 3]);
    free(rgba);
}

static struct request read_request(struct fuzz_input *in)
{
    struct request q = {.kind = fuzz_byte(in) % FDL_COUNT_OF(kinds)};
    q.width = 1 + fuzz_byte(in) % SIDE;
    q.height = 1 + fuzz_byte(in) % SIDE;
    uint8_t how = fuzz_byte(in);
    q.pieces = 1 + how % 4;
    q.interlaced = how & 16;
    q.transparent = how & 32;
    q.trailing = how & 64;
    q.level = fuzz_byte(in);
    q.damage = fuzz_byte(in);
    q.at = fuzz_word(in);
    return q;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[FILE_BYTES];
    struct fuzz_input in = {data, size};
    struct request q = read_request(&in);
    struct file f = {bytes, 0};
    put_header(&f, &q, &in);
    put_pixels(&f, &q, &in);
    if (q.trailing)
        put_chunk(&f, "tEXt", (const uint8_t *)"a\0b", 3);
    put_chunk(&f, "IEND", NULL, 0);
    damage(&f, &q);
    f.data = malloc(f.n); /* as large as it is */
    fuzz_check(f.data || f.n == 0);
    if (f.n > 0)
        memcpy(f.data, bytes, f.n);
    const struct fdl_decode_limits limits = {.max_pixels = SIDE * SIDE,
                                             .max_scans = 1};
    size_t n = 0;
    uint8_t *pixels = fuzz_decode(&limits, f.data, f.n, NULL, &n);
    fuzz_check(pixels || q.damage % 8 != 0);
    if (q.damage % 8 == 0)
        check_pixels(&f, &q, pixels);
    free(pixels);
    free(f.data);
    return 0;
}
