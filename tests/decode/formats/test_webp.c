/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of WebP files, lossy with every filter and lossless, with and without
 * alpha, alone and as a frame somewhere in an animation, beside the same parts
 * of the whole image as libwebp decodes it. And what is damaged is so whatever
 * the part.
 */
#include "decode/formats/format.h"
#include "tests/decode/parts.h"
#include "tests/dice.h"

#include <webp/decode.h>
#include <webp/encode.h>

#define SIDE_MOST 90

struct picture {
    int32_t width, height; /* of the canvas */
    struct fdl_box frame;
    WebPMemoryWriter alone; /* the frame as a file of its own */
    uint8_t *file;
    size_t size;
};

/* ---- Files -------------------------------------------------------------- */

static void put_24(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 3; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint8_t *put_chunk(uint8_t *to, const char *name, size_t size)
{
    memcpy(to, name, 4);
    put_24(to + 4, (uint32_t)size);
    to[7] = 0;
    return to + 8;
}

/* What is in a file behind its header, and behind VP8X if it has that. */
static const uint8_t *content_of(const WebPMemoryWriter *alone, size_t *size)
{
    size_t at = memcmp(alone->mem + 12, "VP8X", 4) == 0 ? 30 : 12;
    *size = alone->size - at;
    return alone->mem + at;
}

static void animate(struct picture *p)
{
    size_t n;
    const uint8_t *content = content_of(&p->alone, &n);
    p->size = 12 + 18 + 14 + 24 + n;
    p->file = rig_alloc(p->size);
    memset(p->file, 0, p->size);
    uint8_t *to = put_chunk(p->file, "RIFF", p->size - 8);
    memcpy(to, "WEBP", 4);
    to = put_chunk(to + 4, "VP8X", 10);
    to[0] = 0x12; /* animated, with alpha */
    put_24(to + 4, (uint32_t)p->width - 1);
    put_24(to + 7, (uint32_t)p->height - 1);
    to = put_chunk(to + 10, "ANIM", 6);
    to = put_chunk(to + 6, "ANMF", 16 + n);
    put_24(to, (uint32_t)p->frame.x / 2);
    put_24(to + 3, (uint32_t)p->frame.y / 2);
    put_24(to + 6, (uint32_t)p->frame.width - 1);
    put_24(to + 9, (uint32_t)p->frame.height - 1);
    memcpy(to + 16, content, n);
}

static WebPConfig any_config(struct dice *d)
{
    WebPConfig c;
    assert_true(WebPConfigInit(&c));
    c.lossless = dice_below(d, 4) == 0;
    c.quality = (float)dice_below(d, 101);
    c.method = (int)dice_below(d, 3);
    c.filter_type = (int)dice_below(d, 2);
    c.filter_strength = (int)dice_below(d, 101);
    c.filter_sharpness = (int)dice_below(d, 8);
    c.partitions = (int)dice_below(d, 4);
    c.segments = 1 + (int)dice_below(d, 4);
    return c;
}

/* Slopes with noise and edges. */
static void draw(struct dice *d, uint8_t *rgba, int32_t width, int32_t height)
{
    uint32_t noise = 1 + dice_below(d, 90), slope = dice_below(d, 9);
    for (int32_t i = 0; i < width * height * 4; i++) {
        uint32_t x = (uint32_t)(i / 4 % width), y = (uint32_t)(i / 4 / width);
        uint32_t edge = (x ^ y) & 16 ? 60 : 0;
        rgba[i] = (uint8_t)(x * slope + y * (uint32_t)(i % 4) + edge +
                            dice_below(d, noise));
    }
}

static void encode(struct dice *d, struct picture *p)
{
    static uint8_t rgba[SIDE_MOST * SIDE_MOST * 4];
    WebPConfig config = any_config(d);
    WebPPicture picture;
    assert_true(WebPPictureInit(&picture));
    picture.width = p->frame.width;
    picture.height = p->frame.height;
    picture.use_argb = config.lossless;
    draw(d, rgba, picture.width, picture.height);
    int imported =
        dice_below(d, 3) == 0
            ? WebPPictureImportRGBA(&picture, rgba, 4 * picture.width)
            : WebPPictureImportRGBX(&picture, rgba, 4 * picture.width);
    assert_true(imported);
    WebPMemoryWriterInit(&p->alone);
    picture.writer = WebPMemoryWrite;
    picture.custom_ptr = &p->alone;
    assert_true(WebPEncode(&config, &picture));
    WebPPictureFree(&picture);
}

static struct picture picture_of(struct dice *d, bool animated)
{
    struct picture p = {.frame = {0, 0, 1 + (int32_t)dice_below(d, SIDE_MOST),
                                  1 + (int32_t)dice_below(d, SIDE_MOST)}};
    if (animated) {
        p.frame.x = 2 * (int32_t)dice_below(d, 20);
        p.frame.y = 2 * (int32_t)dice_below(d, 20);
    }
    encode(d, &p);
    p.width = p.frame.x + p.frame.width + (int32_t)dice_below(d, 9) * animated;
    p.height =
        p.frame.y + p.frame.height + (int32_t)dice_below(d, 9) * animated;
    if (animated) {
        animate(&p);
    } else {
        p.file = rig_copy(p.alone.mem, p.alone.size);
        p.size = p.alone.size;
    }
    return p;
}

static void end_picture(struct picture *p)
{
    WebPMemoryWriterClear(&p->alone);
    free(p->file);
}

/* ---- Parts -------------------------------------------------------------- */

static const struct fdl_decode_limits limits = {.max_pixels = 1u << 20};

static void *decoder_of(const struct fdl_deadline *none)
{
    void *webp;
    assert_false(fdl_format_webp.create(&limits, none, &webp));
    return webp;
}

/* The whole frame as libwebp has it, NULL if it has none. */
static uint8_t *whole_of(const uint8_t *file, size_t size, bool alpha)
{
    int width, height;
    return alpha ? WebPDecodeRGBA(file, size, &width, &height)
                 : WebPDecodeRGB(file, size, &width, &height);
}

static const uint8_t *pixel_of(const struct picture *p, const uint8_t *whole,
                               size_t pixel, int32_t x, int32_t y)
{
    static const uint8_t nothing[4] = {0};
    x -= p->frame.x;
    y -= p->frame.y;
    if (x < 0 || x >= p->frame.width || y < 0 || y >= p->frame.height)
        return nothing;
    return whole + ((size_t)y * (size_t)p->frame.width + (size_t)x) * pixel;
}

/* A part of an open image. */
static int32_t read_part(void *webp, const struct fdl_box *need, size_t pixel,
                         uint8_t *rows)
{
    struct fdl_box have;
    int32_t status = fdl_format_webp.begin(webp, need, &have);
    if (status)
        return status;
    assert_memory_equal(&have, need, sizeof(have));
    size_t stride = (size_t)have.width * pixel;
    int32_t half = have.height / 2;
    assert_false(fdl_format_webp.read(webp, rows, stride, half));
    return fdl_format_webp.read(webp, rows + (size_t)half * stride, stride,
                                have.height - half);
}

static void check_part(void *webp, const struct picture *p,
                       const struct fdl_box *need, bool alpha)
{
    struct fdl_image_info info;
    struct fdl_encoded bytes = file_of(p->file, p->size);
    assert_false(fdl_format_webp.open(webp, &bytes, &info));
    assert_int_equal(info.width, p->width);
    alpha = alpha && fdl_format_webp.alpha(webp, 4);
    size_t pixel = alpha ? 4 : 3;
    uint8_t *whole = whole_of(p->alone.mem, p->alone.size, alpha);
    uint8_t *rows =
        rig_alloc((size_t)need->width * (size_t)need->height * pixel);
    assert_false(read_part(webp, need, pixel, rows));
    const uint8_t *got = rows;
    for (int32_t y = need->y; y < need->y + need->height; y++) {
        for (int32_t x = need->x; x < need->x + need->width; x++, got += pixel)
            assert_memory_equal(got, pixel_of(p, whole, pixel, x, y), pixel);
    }
    fdl_format_webp.abort(webp);
    WebPFree(whole);
    free(rows);
}

static void check_parts(bool animated, int rounds)
{
    const struct fdl_deadline none = {0};
    struct dice d = {test_seed()};
    uint64_t state = test_seed();
    void *webp = decoder_of(&none);
    for (int round = 0; round < rounds; round++) {
        struct picture p = picture_of(&d, animated);
        for (int k = 0; k < 6; k++) {
            struct fdl_box need = part_of(&state, p.width, p.height);
            check_part(webp, &p, &need, dice_below(&d, 2));
        }
        end_picture(&p);
    }
    fdl_format_webp.destroy(webp);
}

TEST(parts_are_those_of_the_whole)
{
    check_parts(false, 150);
}

TEST(parts_of_an_animation_are_those_of_its_first_frame)
{
    check_parts(true, 100);
}

/* ---- Damage ------------------------------------------------------------- */

/* Of the pixels' bytes: it is the container that demux checks. */
static void damage(struct dice *d, struct picture *p)
{
    size_t n;
    const uint8_t *content = content_of(&p->alone, &n);
    size_t first = (size_t)(content - p->alone.mem) + 18;
    for (uint32_t k = 1 + dice_below(d, 30); k > 0 && p->size > first; k--)
        p->file[first + dice_below(d, (uint32_t)(p->size - first))] =
            (uint8_t)dice_u64(d);
}

/* Of a method that there is none of: from 1.4 on libwebp says of that that it
 * has no memory. */
TEST(a_damaged_alpha_header_is_damage)
{
    const struct fdl_deadline none = {0};
    struct dice d = {test_seed()};
    void *webp = decoder_of(&none);
    for (int seen = 0; seen < 5;) {
        struct picture p = picture_of(&d, false);
        uint8_t *alpha = memmem(p.file, p.size, "ALPH", 4);
        struct fdl_image_info info;
        struct fdl_encoded bytes = file_of(p.file, p.size);
        struct fdl_box all = {0, 0, p.width, p.height};
        if (alpha) {
            uint8_t *rows = rig_alloc((size_t)p.width * (size_t)p.height * 4);
            alpha[8] |= 3;
            assert_false(fdl_format_webp.open(webp, &bytes, &info));
            bool is_kept = fdl_format_webp.alpha(webp, 4);
            assert_true(is_kept);
            assert_int_equal(read_part(webp, &all, 4, rows), FEEDLINE_EDECODE);
            fdl_format_webp.abort(webp);
            free(rows);
            seen++;
        }
        end_picture(&p);
    }
    fdl_format_webp.destroy(webp);
}

TEST(what_is_damaged_is_so_whatever_the_part)
{
    const struct fdl_deadline none = {0};
    struct dice d = {test_seed()};
    uint64_t state = test_seed();
    void *webp = decoder_of(&none);
    int refused = 0, rounds = 600;
    for (int round = 0; round < rounds; round++) {
        struct picture p = picture_of(&d, false);
        damage(&d, &p);
        struct fdl_image_info info;
        struct fdl_encoded bytes = file_of(p.file, p.size);
        struct fdl_box need = part_of(&state, p.width, p.height);
        uint8_t *whole = whole_of(p.file, p.size, false);
        if (fdl_format_webp.open(webp, &bytes, &info) == 0) {
            uint8_t *rows =
                rig_alloc((size_t)need.width * (size_t)need.height * 3);
            int32_t status = read_part(webp, &need, 3, rows);
            assert_int_equal(status, whole ? 0 : FEEDLINE_EDECODE);
            if (whole)
                assert_memory_equal(rows,
                                    pixel_of(&p, whole, 3, need.x, need.y), 3);
            free(rows);
            refused += status != 0;
            fdl_format_webp.abort(webp);
        }
        WebPFree(whole);
        end_picture(&p);
    }
    assert_in_range(refused, rounds / 50, rounds - rounds / 50);
    fdl_format_webp.destroy(webp);
}

TEST_MAIN("decode_webp")
