/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first directory of a TIFF structure, read as Pillow reads it.
 *
 *     magic, offset of the directory
 *     directory: count, then entries of 12 bytes: tag, type, count, value
 *
 * An entry counts if its type is known, it has a value, and none of its tag has
 * counted before. A value of more than four bytes is elsewhere. Once all of
 * these would take more than the data has, they are passed over; before that,
 * one that is not there ends the directory.
 */
#include "decode/formats/exif.h"

#include <string.h>

#define TAG_ORIENTATION 0x0112
#define TAGS            0x10000
#define HEADER_BYTES    8
#define ENTRY_BYTES     12
#define INLINE_BYTES    4
#define PREFIXES        2 /* some programs write two */

enum tiff_type {
    BYTE = 1,
    ASCII,
    SHORT,
    LONG,
    RATIONAL,
    SBYTE,
    UNDEFINED,
    SSHORT,
    SLONG,
    SRATIONAL,
    FLOAT,
    DOUBLE,
    IFD,
    LONG8 = 16
};

static const uint8_t bytes_of[] = {
    [BYTE] = 1,  [ASCII] = 1,     [SHORT] = 2,  [LONG] = 4,  [RATIONAL] = 8,
    [SBYTE] = 1, [UNDEFINED] = 1, [SSHORT] = 2, [SLONG] = 4, [SRATIONAL] = 8,
    [FLOAT] = 4, [DOUBLE] = 8,    [IFD] = 4,    [LONG8] = 8,
};

struct tiff {
    const uint8_t *data;
    uint64_t size;
    bool big_endian;
};

static uint32_t get_16(const struct tiff *t, uint64_t at)
{
    uint32_t a = t->data[at], b = t->data[at + 1];
    return t->big_endian ? a << 8 | b : b << 8 | a;
}

static uint32_t get_32(const struct tiff *t, uint64_t at)
{
    uint32_t a = get_16(t, at), b = get_16(t, at + 2);
    return t->big_endian ? a << 16 | b : b << 16 | a;
}

static uint64_t get_64(const struct tiff *t, uint64_t at)
{
    uint64_t a = get_32(t, at), b = get_32(t, at + 4);
    return t->big_endian ? a << 32 | b : b << 32 | a;
}

/* Anything but 1 to 8 means nothing. */
static int32_t sane(uint64_t value)
{
    return value >= 1 && value <= 8 ? (int32_t)value : 1;
}

static int32_t sane_real(double value)
{
    for (int32_t i = 1; i <= 8; i++)
        if (value >= i && value <= i)
            return i;
    return 1;
}

static int32_t sane_ratio(uint32_t above, uint32_t below, bool is_signed)
{
    if (is_signed && above > INT32_MAX && below > INT32_MAX) {
        above = -above;
        below = -below;
    } else if (is_signed && (above > INT32_MAX || below > INT32_MAX)) {
        return 1;
    }
    return below > 0 && above % below == 0 ? sane(above / below) : 1;
}

/* The first value of an entry, whose bytes are at `at`. A negative number is
 * none of the small ones, however it is read. */
static int32_t value_of(const struct tiff *t, uint32_t type, uint64_t at)
{
    uint32_t word;
    uint64_t words;
    float single;
    double real;
    switch (type) {
    case SBYTE:
        return sane(t->data[at]);
    case SHORT:
    case SSHORT:
        return sane(get_16(t, at));
    case LONG:
    case SLONG:
    case IFD:
        return sane(get_32(t, at));
    case LONG8:
        return sane(get_64(t, at));
    case RATIONAL:
    case SRATIONAL:
        return sane_ratio(get_32(t, at), get_32(t, at + 4), type == SRATIONAL);
    case FLOAT:
        word = get_32(t, at);
        memcpy(&single, &word, sizeof(single));
        return sane_real((double)single);
    case DOUBLE:
        words = get_64(t, at);
        memcpy(&real, &words, sizeof(real));
        return sane_real(real);
    default: /* bytes and text are no number to Pillow */
        return 1;
    }
}

static bool find_orientation(const struct tiff *t, int32_t *orientation)
{
    uint8_t counted[TAGS / 8] = {0}; /* a bit for each */
    uint64_t at = get_32(t, 4), elsewhere = 0;
    if (at > t->size || t->size - at < 2)
        return false;
    uint32_t count = get_16(t, at);
    at += 2;
    for (; count > 0 && t->size - at >= ENTRY_BYTES;
         count--, at += ENTRY_BYTES) {
        uint32_t tag = get_16(t, at), type = get_16(t, at + 2);
        uint64_t unit = type < sizeof(bytes_of) ? bytes_of[type] : 0;
        uint64_t bytes = unit * get_32(t, at + 4), value = at + 8;
        if (bytes == 0 || (counted[tag / 8] >> tag % 8 & 1))
            continue;
        if (bytes > INLINE_BYTES) {
            elsewhere += bytes;
            if (elsewhere > t->size)
                continue;
            value = get_32(t, value);
            if (value > t->size - bytes)
                break;
        }
        if (tag == TAG_ORIENTATION) {
            *orientation = value_of(t, type, value);
            return true;
        }
        counted[tag / 8] |= (uint8_t)(1 << tag % 8);
    }
    return false;
}

/* The byte order; false: no TIFF. Pillow knows the number behind it in either
 * order, and big-endian also BigTIFF's, which it reads as TIFF. */
static bool read_magic(struct tiff *t)
{
    static const char magics[][5] = {"II*", "II\0*", "MM*", "MM\0*", "MM\0+"};
    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
        if (memcmp(t->data, magics[i], 4) == 0) {
            t->big_endian = magics[i][0] == 'M';
            return true;
        }
    }
    return false;
}

bool fdl_exif_find(const uint8_t *data, uint64_t size, int32_t *orientation)
{
    struct tiff t = {.data = data, .size = size};
    for (int i = 0; i < PREFIXES && fdl_exif_is_prefixed(t.data, t.size); i++) {
        t.data += FDL_EXIF_PREFIX_BYTES;
        t.size -= FDL_EXIF_PREFIX_BYTES;
    }
    if (t.size == 0)
        return false;
    if (t.size < HEADER_BYTES || !read_magic(&t)) {
        *orientation = 1;
        return true;
    }
    return find_orientation(&t, orientation);
}

bool fdl_exif_is_prefixed(const uint8_t *data, uint64_t size)
{
    return size >= FDL_EXIF_PREFIX_BYTES &&
           memcmp(data, "Exif\0", FDL_EXIF_PREFIX_BYTES) == 0;
}

int32_t fdl_xmp_orientation(const uint8_t *text, uint64_t size)
{
    static const char name[] = "tiff:Orientation";
    if (size == 0) /* and no text */
        return 1;
    const uint8_t *at = text, *end = text + size;
    while ((at = memmem(at, (size_t)(end - at), name, sizeof(name) - 1))) {
        at += sizeof(name) - 1;
        const uint8_t *digit = at;
        if (end - at >= 3 && at[0] == '=' && at[1] == '"')
            digit = at + 2;
        else if (end - at >= 2 && at[0] == '>')
            digit = at + 1;
        if (digit > at && *digit >= '0' && *digit <= '9')
            return sane((uint64_t)(*digit - '0'));
    }
    return 1;
}

struct fdl_turn fdl_turn_of(int32_t orientation)
{
    static const struct fdl_turn turns[] = {
        [1] = {false, false, false}, /* as stored */
        [2] = {false, true, false},  /* mirrored left to right */
        [3] = {false, true, true},   /* half a turn */
        [4] = {false, false, true},  /* mirrored top to bottom */
        [5] = {true, false, false},  /* mirrored along the diagonal */
        [6] = {true, false, true},   /* a quarter turn clockwise */
        [7] = {true, true, true},    /* mirrored along the other diagonal */
        [8] = {true, true, false},   /* a quarter turn the other way */
    };
    if (orientation < 1 || orientation > 8)
        orientation = 1;
    return turns[orientation];
}

struct fdl_box fdl_turn_box(const struct fdl_turn *turn,
                            const struct fdl_box *upright, int32_t width,
                            int32_t height)
{
    struct fdl_box b = *upright;
    if (turn->transposed)
        b = (struct fdl_box){upright->y, upright->x, upright->height,
                             upright->width};
    if (turn->reverse_x)
        b.x = width - b.x - b.width;
    if (turn->reverse_y)
        b.y = height - b.y - b.height;
    return b;
}
