/* SPDX-License-Identifier: Apache-2.0 */
/* The orientation tag in data of every kind, also none, and what it does to
 * coordinates. That pixels come upright is the business of reference_parity. */
#include "decode/formats/exif.h"
#include "decode/formats/png_chunks.h"
#include "tests/decode/make_jpeg.h"
#include "tests/decode/rig.h"

/* Two entries, little-endian: a resolution, then the orientation. */
static const uint8_t little[] = {
    'I',  'I', '*', 0, 8, 0, 0, 0, 2, 0,       /* header, count */
    0x1a, 1,   5,   0, 1, 0, 0, 0, 0, 0, 0, 0, /* resolution */
    0x12, 1,   3,   0, 1, 0, 0, 0, 6, 0, 0, 0,
    0,    0,   0,   0, /* orientation, end */
};
static const uint8_t big[] = {
    'M',  'M',  0, '*', 0, 0, 0, 8, 0, 1, /* header, count */
    0x01, 0x12, 0, 3,   0, 0, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0,
};
enum { ENTRY = 22 }; /* of the orientation in `little` */

static int32_t orientation_of(const uint8_t *data, size_t size)
{
    int32_t found = 1;
    fdl_exif_find(data, size, &found);
    return found;
}

TEST(both_byte_orders_are_read)
{
    assert_int_equal(orientation_of(little, sizeof(little)), 6);
    assert_int_equal(orientation_of(big, sizeof(big)), 8);
    uint8_t prefixed[6 + sizeof(big)] = "Exif";
    memcpy(prefixed + 6, big, sizeof(big));
    assert_int_equal(orientation_of(prefixed, sizeof(prefixed)), 8);
}

static int32_t changed(size_t at, uint8_t value)
{
    uint8_t copy[sizeof(little)];
    memcpy(copy, little, sizeof(little));
    copy[at] = value;
    return orientation_of(copy, sizeof(copy));
}

TEST(odd_values_mean_nothing)
{
    assert_int_equal(changed(ENTRY + 8, 8), 8);
    assert_int_equal(changed(ENTRY + 8, 0), 1);
    assert_int_equal(changed(ENTRY + 8, 9), 1);
    assert_int_equal(changed(ENTRY + 9, 1), 1); /* 262 */
    assert_int_equal(changed(ENTRY + 2, 4), 6); /* LONG */
    assert_int_equal(changed(ENTRY + 2, 1), 6); /* BYTE */
    assert_int_equal(changed(ENTRY + 2, 2), 1); /* ASCII */
    assert_int_equal(changed(ENTRY + 4, 2), 1); /* two values */
    assert_int_equal(changed(ENTRY, 0x13), 1);  /* another tag */
    assert_int_equal(changed(8, 1), 1);         /* one entry only */
    assert_int_equal(changed(8, 200), 6);       /* more than there are */
    assert_int_equal(changed(4, 200), 1);       /* directory outside */
    assert_int_equal(changed(7, 255), 1);
    assert_int_equal(changed(2, 0), 1);
}

/* With a sanitizer: nothing outside is read. */
TEST(any_bytes_are_survived)
{
    uint64_t seed = test_seed();
    for (size_t n = 0; n <= sizeof(little); n++) {
        uint8_t *copy = rig_copy(little, n);
        int32_t got = orientation_of(copy, n);
        assert_int_equal(got, n >= ENTRY + 12 ? 6 : 1);
        free(copy);
    }
    for (int round = 0; round < 100000; round++) {
        uint8_t copy[sizeof(little)];
        memcpy(copy, little, sizeof(little));
        for (int i = 0; i < 3; i++)
            copy[make_random(&seed) % sizeof(copy)] =
                (uint8_t)make_random(&seed);
        assert_in_range(orientation_of(copy, sizeof(copy)), 1, 8);
    }
}

static int32_t xmp(const char *text)
{
    return fdl_xmp_orientation((const uint8_t *)text, strlen(text));
}

TEST(xmp_is_read)
{
    assert_int_equal(xmp("<d tiff:Orientation=\"6\"/>"), 6);
    assert_int_equal(xmp("<tiff:Orientation>8</tiff:Orientation>"), 8);
    assert_int_equal(xmp("tiff:Orientation, tiff:Orientation>x, "
                         "tiff:Orientation=\"3\" tiff:Orientation>4"),
                     3);
    assert_int_equal(xmp("tiff:Orientation=\"9\" tiff:Orientation>4"), 1);
    assert_int_equal(xmp("tiff:Orientation=6"), 1);
    assert_int_equal(xmp("tiff:Orientation=\""), 1);
    assert_int_equal(xmp("tiff:Orientation>"), 1);
    assert_int_equal(xmp("tiff:Orientatio"), 1);
    assert_int_equal(xmp(""), 1);
    assert_int_equal(fdl_xmp_orientation(NULL, 0), 1);
    int32_t found = 5;
    assert_true(fdl_exif_find(little, sizeof(little), &found));
    assert_int_equal(found, 6);
    assert_false(fdl_exif_find(little, ENTRY, &found));
    assert_int_equal(found, 6);
}

struct png {
    uint8_t bytes[400];
    size_t size;
};

static void add_chunk(struct png *p, const char *name, const void *data,
                      size_t n)
{
    assert_true(p->size + n + 12 <= sizeof(p->bytes));
    uint8_t *to = p->bytes + p->size;
    memset(to, 0, n + 12); /* with a wrong checksum, which nobody looks at */
    to[3] = (uint8_t)n;
    memcpy(to + 4, name, 4);
    if (n > 0)
        memcpy(to + 8, data, n);
    p->size += n + 12;
}

/* An E is EXIF data that says 6, Q some that says nothing, X XMP that says 8, T
 * the same as a plain text, Z a compressed one, D pixels, . the end. */
static struct png png_of(const char *chunks)
{
    static const char xmp_text[] = "XML:com.adobe.xmp\0\0\0\0\0"
                                   "tiff:Orientation=\"8\"";
    char plain[sizeof(xmp_text)], packed[sizeof(xmp_text)];
    memcpy(plain, xmp_text, sizeof(plain));
    memmove(plain + 18, plain + 22, sizeof(plain) - 22);
    memcpy(packed, xmp_text, sizeof(packed));
    packed[18] = 1;
    struct png p = {.size = 8};
    for (; *chunks; chunks++) {
        switch (*chunks) {
        case 'E':
            add_chunk(&p, "eXIf", little, sizeof(little));
            break;
        case 'Q':
            add_chunk(&p, "eXIf", little, 8);
            break;
        case 'X':
            add_chunk(&p, "iTXt", xmp_text, sizeof(xmp_text) - 1);
            break;
        case 'T':
            add_chunk(&p, "tEXt", plain, sizeof(plain) - 5);
            break;
        case 'Z':
            add_chunk(&p, "iTXt", packed, sizeof(packed) - 1);
            break;
        case 'D':
            add_chunk(&p, "IDAT", "pixels", 6);
            break;
        default:
            add_chunk(&p, "IEND", NULL, 0);
        }
    }
    return p;
}

/* The same answers as Pillow's, which reference_parity.py asks for. */
TEST(png_chunks_are_looked_through)
{
    static const struct {
        const char *chunks;
        int32_t orientation;
    } cases[] = {
        {"D.", 1},   {"ED.", 6},  {"DE.", 6},   {"QDE.", 1},  {"QED.", 6},
        {"XD.", 8},  {"DX.", 8},  {"TD.", 8},   {"ZD.", 1},   {"EXD.", 6},
        {"QXD.", 8}, {"QDX.", 1}, {"XDE.", 6},  {"D.E", 1},   {"DDXE.", 6},
        {".", 1},    {"", 1},     {"XQDE.", 8}, {"DEQX.", 8},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(cases); i++) {
        struct png p = png_of(cases[i].chunks);
        int32_t got = fdl_png_orientation(p.bytes, p.size);
        if (got != cases[i].orientation)
            fail_msg("%s: %d", cases[i].chunks, got);
        assert_int_equal(fdl_png_cut_chunk(p.bytes, p.size), 0);
    }
    struct png p = png_of("XDE.");
    for (size_t n = 0; n <= p.size; n++) {
        uint8_t *copy = rig_copy(p.bytes, n);
        assert_in_range(fdl_png_orientation(copy, n), 1, 8);
        assert_true(fdl_png_cut_chunk(copy, n) < FDL_MAX(n, 1u));
        free(copy);
    }
    assert_int_equal(fdl_png_cut_chunk(p.bytes, 20), 8);
}

/* A JPEG with these APP1 segments: E, Q and X as above, Y XMP that says 3. */
static int32_t jpeg_orientation(const char *segments)
{
    static const char xmp_of[2][64] = {
        "http://ns.adobe.com/xap/1.0/\0tiff:Orientation=\"8\"",
        "http://ns.adobe.com/xap/1.0/\0tiff:Orientation>3<"};
    uint8_t file[8192] = {0xff, 0xd8};
    size_t at = 2, size;
    for (; *segments; segments++) {
        uint8_t content[80] = "Exif";
        bool is_xmp = *segments == 'X' || *segments == 'Y';
        size_t n = is_xmp ? sizeof(xmp_of[0]) : 6 + sizeof(little);
        if (is_xmp)
            memcpy(content, xmp_of[*segments == 'Y'], n);
        else
            memcpy(content + 6, little, *segments == 'E' ? n - 6 : 8);
        memcpy(file + at, (uint8_t[]){0xff, 0xe1, 0, (uint8_t)(n + 2)}, 4);
        memcpy(file + at + 4, content, n);
        at += 4 + n;
    }
    struct make_jpeg m = {.width = 9, .height = 8, .components = 1};
    uint8_t *rest = make_jpeg(&m, &size);
    assert_true(at + size < sizeof(file));
    memcpy(file + at, rest + 2, size - 2);
    free(rest);
    struct fdl_encoded bytes = file_of(file, at + size - 2);
    struct fdl_decoder *d =
        rig_decoder((struct fdl_decode_limits){.apply_exif = true});
    struct fdl_image_info info;
    assert_int_equal(fdl_decoder_open(d, &bytes, &info), FEEDLINE_OK);
    fdl_decoder_destroy(d);
    return info.orientation;
}

TEST(jpeg_xmp_counts_where_exif_says_nothing)
{
    assert_int_equal(jpeg_orientation(""), 1);
    assert_int_equal(jpeg_orientation("X"), 8);
    assert_int_equal(jpeg_orientation("E"), 6);
    assert_int_equal(jpeg_orientation("EX"), 6);
    assert_int_equal(jpeg_orientation("XE"), 6);
    assert_int_equal(jpeg_orientation("QX"), 8);
    assert_int_equal(jpeg_orientation("XQ"), 8);
    assert_int_equal(jpeg_orientation("XY"), 3);
}

/* A pixel of the upright image is where Pillow's transposition took it from. */
TEST(turns_are_pillows)
{
    enum { W = 5, H = 3 }; /* stored */
    static const struct {
        int32_t u, v; /* stored place of the upright (1, 0) */
    } wanted[9] = {
        [1] = {1, 0}, [2] = {W - 2, 0}, [3] = {W - 2, H - 1}, [4] = {1, H - 1},
        [5] = {0, 1}, [6] = {0, H - 2}, [7] = {W - 1, H - 2}, [8] = {W - 1, 1},
    };
    for (int32_t o = 1; o <= 8; o++) {
        struct fdl_turn turn = fdl_turn_of(o);
        assert_int_equal(turn.transposed, o >= 5);
        struct fdl_box one = {1, 0, 1, 1};
        struct fdl_box got = fdl_turn_box(&turn, &one, W, H);
        assert_int_equal(got.x, wanted[o].u);
        assert_int_equal(got.y, wanted[o].v);
        struct fdl_box all = {0, 0, o >= 5 ? H : W, o >= 5 ? W : H};
        got = fdl_turn_box(&turn, &all, W, H);
        assert_true(got.x == 0 && got.y == 0 && got.width == W &&
                    got.height == H);
    }
    assert_false(fdl_turn_of(0).transposed || fdl_turn_of(9).reverse_x);
}

TEST_MAIN("decode_exif")
