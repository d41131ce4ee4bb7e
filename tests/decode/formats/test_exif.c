/* SPDX-License-Identifier: Apache-2.0 */
/* The orientation tag in data of every kind, also none, and what it does to
 * coordinates. That pixels come upright is the business of reference_parity. */
#include "decode/formats/exif.h"
#include "decode/formats/png_chunks.h"
#include "decode/formats/png_orientation.h"
#include "tests/decode/make_jpeg.h"
#include "tests/decode/rig.h"

#include <math.h>
#include <zlib.h>

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
    assert_int_equal(changed(ENTRY, 0x13), 1);  /* another tag */
    assert_int_equal(changed(8, 1), 1);         /* one entry only */
    assert_int_equal(changed(8, 200), 6);       /* more than there are */
    assert_int_equal(changed(4, 200), 1);       /* directory outside */
    assert_int_equal(changed(7, 255), 1);
}

/* little[] has 38 bytes. */
TEST(entries_are_of_many_types)
{
    static const struct {
        uint8_t type, count, value[4];
        int32_t orientation;
    } cases[] = {
        {1, 1, {6}, 1},       /* BYTE */
        {2, 2, {'6'}, 1},     /* ASCII */
        {3, 2, {6, 0, 8}, 6}, /* SHORT: the first of two */
        {3, 2, {1, 0, 8}, 1},
        {4, 1, {6}, 6}, /* LONG */
        {4, 1, {6, 0, 1}, 1},
        {6, 1, {6, 1, 1, 1}, 6}, /* SBYTE */
        {6, 1, {0x86}, 1},
        {7, 1, {6}, 1}, /* UNDEFINED */
        {8, 1, {6}, 6}, /* SSHORT */
        {9, 1, {6}, 6}, /* SLONG */
        {9, 1, {250, 255, 255, 255}, 1},
        {11, 1, {0, 0, 0xc0, 0x40}, 6}, /* FLOAT */
        {11, 1, {1, 0, 0xc0, 0x40}, 1},
        {13, 1, {6}, 6}, /* IFD */
        {3, 0, {6}, 1},  /* no value */
        {14, 1, {6}, 1}, /* no type */
        {99, 1, {6}, 1},
        {5, 1, {30}, 1}, /* RATIONAL: of what is there */
        {5, 1, {31}, 1}, /* outside */
        {5, 9, {0}, 1},
        {3, 19, {22}, 1},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(cases); i++) {
        uint8_t copy[sizeof(little)];
        memcpy(copy, little, sizeof(little));
        copy[ENTRY + 2] = cases[i].type;
        copy[ENTRY + 4] = cases[i].count;
        memcpy(copy + ENTRY + 8, cases[i].value, 4);
        int32_t got = orientation_of(copy, sizeof(copy));
        if (got != cases[i].orientation)
            fail_msg("case %zu: %d", i, got);
    }
}

/* A directory of that entry, and its value behind it. */
static int32_t far_value(uint8_t type, const void *value, size_t n)
{
    uint8_t data[22 + 8 + 4] = {'I',  'I', '*',  0, 8, 0, 0, 0, 1, 0,
                                0x12, 1,   type, 0, 1, 0, 0, 0, 22};
    memcpy(data + 22, value, n);
    return orientation_of(data, 22 + n);
}

TEST(values_of_eight_bytes_are_elsewhere)
{
    const double six = 6, more = 6.5, none = NAN;
    const uint64_t whole = 6, wide = (6ull << 32) + 6;
    assert_int_equal(far_value(5, (uint32_t[]){6, 1}, 8), 6);
    assert_int_equal(far_value(5, (uint32_t[]){18, 3}, 8), 6);
    assert_int_equal(far_value(5, (uint32_t[]){13, 2}, 8), 1);
    assert_int_equal(far_value(5, (uint32_t[]){6, 0}, 8), 1);
    assert_int_equal(far_value(10, (int32_t[]){6, 1}, 8), 6);
    assert_int_equal(far_value(10, (int32_t[]){-12, -2}, 8), 6);
    assert_int_equal(far_value(10, (int32_t[]){-6, 1}, 8), 1);
    assert_int_equal(far_value(10, (int32_t[]){6, -1}, 8), 1);
    assert_int_equal(far_value(10, (int32_t[]){INT32_MIN, INT32_MIN}, 8), 1);
    assert_int_equal(far_value(12, &six, 8), 6);
    assert_int_equal(far_value(12, &more, 8), 1);
    assert_int_equal(far_value(12, &none, 8), 1);
    assert_int_equal(far_value(16, &whole, 8), 6);
    assert_int_equal(far_value(16, &wide, 8), 1);
    assert_int_equal(far_value(12, &six, 7), 1);
}

/* Entries of eight words, in `little`, before the orientation. */
TEST(a_value_that_is_not_there_ends_the_directory)
{
    assert_int_equal(changed(14, 1), 6);  /* a RATIONAL that is there */
    assert_int_equal(changed(18, 30), 6); /* at the end */
    assert_int_equal(changed(18, 31), 1); /* and beyond it */
    assert_int_equal(changed(14, 5), 6);  /* more than all bytes: passed */
    assert_int_equal(changed(14, 0), 6);  /* no value */
    assert_int_equal(changed(12, 0), 6);  /* no type */
}

TEST(of_a_tag_the_first_counts)
{
    uint8_t copy[sizeof(little)];
    memcpy(copy, little, sizeof(little));
    memcpy(copy + 10, copy + ENTRY, 12);
    copy[10 + 8] = 3;
    assert_int_equal(orientation_of(copy, sizeof(copy)), 3);
    copy[10 + 8] = 9;
    assert_int_equal(orientation_of(copy, sizeof(copy)), 1);
    copy[10 + 4] = 0; /* it has no value, and does not count */
    assert_int_equal(orientation_of(copy, sizeof(copy)), 6);
}

static bool is_told(const uint8_t *data, size_t size, int32_t *found)
{
    *found = 5;
    return fdl_exif_find(data, size, found);
}

/* EXIF data that are no TIFF still answer, so XMP is not asked. */
TEST(what_is_no_tiff_says_as_stored)
{
    static const char magics[][5] = {"II*", "II\0*", "II+", "MM\0+", "MMMM"};
    static const bool known[] = {true, true, false, false, false};
    uint8_t copy[2 * 6 + sizeof(little)];
    int32_t found;
    for (size_t i = 0; i < FDL_COUNT_OF(magics); i++) {
        memcpy(copy, little, sizeof(little));
        memcpy(copy, magics[i], 4);
        if (i == 3) /* big-endian, it has no entry */
            assert_false(is_told(copy, sizeof(little), &found));
        else
            assert_true(is_told(copy, sizeof(little), &found));
        assert_int_equal(found, known[i] ? 6 : i == 3 ? 5 : 1);
    }
    memcpy(copy, big, sizeof(big));
    copy[3] = '+'; /* that of BigTIFF */
    assert_true(is_told(copy, sizeof(big), &found));
    assert_int_equal(found, 8);
    for (size_t n = 0; n < 10; n++) {
        assert_int_equal(is_told(little, n, &found), n > 0 && n < 8);
        assert_int_equal(found, n > 0 && n < 8 ? 1 : 5);
    }
    memcpy(copy, "Exif\0\0Exif\0", 12);
    memcpy(copy + 12, little, sizeof(little));
    assert_true(is_told(copy, sizeof(copy), &found));
    assert_int_equal(found, 6);
    assert_false(is_told(copy, 12, &found));
    assert_false(is_told(copy, 6, &found));
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
    uint8_t bytes[800];
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

/* name: with what is before the text; its last zero counts. */
static void add_text(struct png *p, const char *kind, const char *name,
                     size_t name_bytes, const char *text, bool packed)
{
    uint8_t content[240];
    size_t n = strlen(text);
    uLongf bytes = sizeof(content) - name_bytes;
    memcpy(content, name, name_bytes);
    memcpy(content + name_bytes, text, n);
    if (packed)
        assert_int_equal(
            compress(content + name_bytes, &bytes, (const Bytef *)text, n),
            Z_OK);
    add_chunk(p, kind, content, name_bytes + (packed ? bytes : n));
}

#define TEXT(p, kind, name, text, packed)                                      \
  add_text(p, kind, name, sizeof(name), text, packed)

/* `little`, as ImageMagick writes it. */
static void add_raw(struct png *p, const char *kind)
{
    char text[100] = "\nexif\n      38\n";
    for (size_t i = 0; i < sizeof(little); i++)
        sprintf(text + strlen(text), "%02x%s", little[i], i == 20 ? "\n" : "");
    if (kind[0] == 'z')
        TEXT(p, "zTXt", "Raw profile type exif\0", text, true);
    else
        TEXT(p, "tEXt", "Raw profile type exif", text, false);
}

static void add_animation(struct png *p, uint8_t frames)
{
    add_chunk(p, "acTL", (uint8_t[8]){[3] = frames}, 8);
}

#define XMP "XML:com.adobe.xmp"

/* An E is EXIF data that says 6, F some that says 8, Q some that says nothing,
 * B some that is no TIFF; R and r are E as a text, packed or not, h one with a
 * digit too much, e E as a text "exif". X is XMP that says 8, T the same as a
 * plain text, P and I the same as packed ones, Z one that is damaged, Y XMP
 * that says 3, U some that is no UTF-8. D are pixels, . is the end. 1 and 2
 * announce so many frames, c begins one. */
static void add_letter(struct png *p, char letter)
{
    static const char says_8[] = "tiff:Orientation=\"8\"";
    switch (letter) {
    case 'E':
        add_chunk(p, "eXIf", little, sizeof(little));
        break;
    case 'F':
        add_chunk(p, "eXIf", big, sizeof(big));
        break;
    case 'Q':
        add_chunk(p, "eXIf", little, 8);
        break;
    case 'B':
        add_chunk(p, "eXIf", "no TIFF structure", 17);
        break;
    case 'R':
    case 'r':
        add_raw(p, letter == 'R' ? "zTXt" : "tEXt");
        break;
    case 'h':
        TEXT(p, "tEXt", "Raw profile type exif", "\n\n\n4949f", false);
        break;
    case 'e':
        add_chunk(p, "tEXt",
                  "exif\0MM\0*\0\0\0\10\0\1\1\22\0\3\0\0\0\1\0\5\0\0", 5 + 22);
        break;
    case 'X':
        TEXT(p, "iTXt", XMP "\0\0\0\0", says_8, false);
        break;
    case 'T':
        TEXT(p, "tEXt", XMP, says_8, false);
        break;
    case 'P':
        TEXT(p, "zTXt", XMP "\0", says_8, true);
        break;
    case 'I':
        TEXT(p, "iTXt", XMP "\0\1\0\0", says_8, true);
        break;
    case 'Z':
        TEXT(p, "iTXt", XMP "\0\1\0\0", says_8, false);
        break;
    case 'Y':
        TEXT(p, "tEXt", XMP, "tiff:Orientation>3", false);
        break;
    case 'U':
        TEXT(p, "iTXt", XMP "\0\0\0\0", "tiff:Orientation>4\xff", false);
        break;
    case 'D':
        add_chunk(p, "IDAT", "pixels", 6);
        break;
    case '1':
    case '2':
        add_animation(p, (uint8_t)(letter - '0'));
        break;
    case 'c':
        add_chunk(p, "fcTL", "", 1);
        break;
    default:
        add_chunk(p, "IEND", NULL, 0);
    }
}

static struct png png_of(const char *chunks)
{
    struct png p = {.size = 8};
    for (; *chunks; chunks++)
        add_letter(&p, *chunks);
    return p;
}

static int32_t png_orientation(const uint8_t *data, size_t size)
{
    int32_t found;
    assert_int_equal(fdl_png_orientation(data, size, &found), FEEDLINE_OK);
    return found;
}

/* What Pillow answers; orientation_parity.py asks it. */
TEST(png_chunks_are_looked_through)
{
    static const struct {
        const char *chunks;
        int32_t orientation;
    } cases[] = {
        {"D.", 1},    {"ED.", 6},   {"DE.", 6},    {"QDE.", 6},  {"QED.", 6},
        {"EDF.", 8},  {"FED.", 6},  {"XD.", 8},    {"DX.", 8},   {"TD.", 8},
        {"PD.", 8},   {"ID.", 8},   {"ZD.", 1},    {"XZD.", 8},  {"EXD.", 6},
        {"QXD.", 8},  {"QDX.", 8},  {"XDE.", 6},   {"D.E", 1},   {"DDXE.", 6},
        {".", 1},     {"", 1},      {"XQDE.", 6},  {"DEQX.", 8}, {"XYD.", 3},
        {"YXD.", 8},  {"UD.", 4},   {"UYD.", 3},   {"YUD.", 3},  {"RD.", 6},
        {"rD.", 6},   {"DR.", 6},   {"RFD.", 8},   {"FRD.", 8},  {"QRD.", 1},
        {"RXD.", 6},  {"hXD.", 1},  {"BXD.", 1},   {"eD.", 5},   {"EeD.", 5},
        {"eED.", 6},  {"2cDE.", 6}, {"2cDcE.", 1}, {"2DcE.", 1}, {"1cDcE.", 6},
        {"1DcE.", 1}, {"DcE.", 6},  {"22DcE.", 6}, {"D2cE.", 6}, {"2ccDE.", 6},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(cases); i++) {
        struct png p = png_of(cases[i].chunks);
        int32_t got = png_orientation(p.bytes, p.size);
        if (got != cases[i].orientation)
            fail_msg("%s: %d", cases[i].chunks, got);
        assert_int_equal(fdl_png_cut_chunk(p.bytes, p.size), 0);
    }
    struct png p = png_of("XRPIDEr.");
    for (size_t n = 0; n <= p.size; n++) {
        uint8_t *copy = rig_copy(p.bytes, n);
        assert_in_range(png_orientation(copy, n), 1, 8);
        assert_true(fdl_png_cut_chunk(copy, n) < FDL_MAX(n, 1u));
        free(copy);
    }
    assert_int_equal(fdl_png_cut_chunk(p.bytes, 20), 8);
}

/* A megabyte, and what Pillow refuses. */
TEST(a_packed_text_is_read_up_to_a_limit)
{
    enum { LIMIT = 1 << 20, ALL = LIMIT + 100 };
    static uint8_t text[ALL], packed[1 << 14];
    static const char head[] = "zTXt" XMP "\0", says_8[] = "tiff:Orientation>8";
    for (size_t n = LIMIT - 1; n <= LIMIT + 1; n++) {
        size_t begin = 8 + 4 + sizeof(head);
        uLongf bytes = sizeof(packed) - begin;
        memset(text, ' ', ALL);
        memcpy(text + n - sizeof(says_8) + 1, says_8, sizeof(says_8) - 1);
        assert_int_equal(compress(packed + begin, &bytes, text, n), Z_OK);
        memcpy(packed + 12, head, sizeof(head));
        size_t size = sizeof(head) - 4 + bytes;
        packed[10] = (uint8_t)(size >> 8);
        packed[11] = (uint8_t)size;
        int32_t got = png_orientation(packed, begin + bytes);
        assert_int_equal(got, n <= LIMIT ? 8 : 1);
    }
}

/* A JPEG with these APP1 segments: E, Q, B and X as above, Y XMP that says 3, 0
 * EXIF data of no bytes, N none, as its prefix is not right; A and Z are the
 * parts of E. */
static int32_t jpeg_orientation(const char *segments)
{
    static const char xmp_of[2][64] = {
        "http://ns.adobe.com/xap/1.0/\0tiff:Orientation=\"8\"",
        "http://ns.adobe.com/xap/1.0/\0tiff:Orientation>3<"};
    enum { CUT = 25 };
    uint8_t file[8192] = {0xff, 0xd8};
    size_t at = 2, size;
    for (; *segments; segments++) {
        uint8_t content[80] = "Exif";
        const void *from = little;
        size_t n = sizeof(little);
        switch (*segments) {
        case 'Q':
            n = 8;
            break;
        case 'B':
            from = "no TIFF structure";
            n = 17;
            break;
        case 'A':
            n = CUT;
            break;
        case 'Z':
            from = little + CUT;
            n -= CUT;
            break;
        case '0':
            n = 0;
            break;
        case 'N':
            content[5] = 1;
            break;
        }
        memcpy(content + 6, from, n);
        n += 6;
        if (*segments == 'X' || *segments == 'Y') {
            n = sizeof(xmp_of[0]);
            memcpy(content, xmp_of[*segments == 'Y'], n);
        }
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
    assert_int_equal(jpeg_orientation("BX"), 1);
    assert_int_equal(jpeg_orientation("NX"), 8);
    assert_int_equal(jpeg_orientation("0X"), 8);
}

TEST(jpeg_exif_data_goes_on_in_the_next_segment)
{
    assert_int_equal(jpeg_orientation("A"), 1);
    assert_int_equal(jpeg_orientation("AZ"), 6);
    assert_int_equal(jpeg_orientation("AYZX"), 6);
    assert_int_equal(jpeg_orientation("0A0Z0"), 6);
    assert_int_equal(jpeg_orientation("AX"), 8);
    assert_int_equal(jpeg_orientation("AQZ"), 1);
    assert_int_equal(jpeg_orientation("QE"), 1);
    assert_int_equal(jpeg_orientation("0E"), 6);
    assert_int_equal(jpeg_orientation("EEEEEEEEEEEEEEEE"), 6);
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
