/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first directory of a TIFF structure, read as Pillow reads it: entries up
 * to where the data ends, the last one of a tag wins, and any type of whole
 * numbers will do. A value that is not 1 to 8 means nothing.
 *
 *     "II*\0" or "MM\0*", offset of the directory
 *     directory: count, then entries of 12 bytes: tag, type, count, value
 */
#include "decode/formats/exif.h"

#include <string.h>

#define TAG_ORIENTATION 0x0112
#define ENTRY_BYTES     12

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

/* The value of an entry; 0 where it is not a single whole number. */
static uint32_t value_of(const struct tiff *t, uint64_t entry)
{
    enum { BYTE = 1, SHORT = 3, LONG = 4 };
    if (get_32(t, entry + 4) != 1)
        return 0;
    switch (get_16(t, entry + 2)) {
    case BYTE:
        return t->data[entry + 8];
    case SHORT:
        return get_16(t, entry + 8);
    case LONG:
        return get_32(t, entry + 8);
    default:
        return 0;
    }
}

static bool find_orientation(const struct tiff *t, uint32_t *value)
{
    uint64_t at = get_32(t, 4);
    if (at > t->size || t->size - at < 2)
        return false;
    uint32_t count = get_16(t, at);
    bool found = false;
    at += 2;
    for (uint32_t i = 0; i < count && t->size - at >= ENTRY_BYTES; i++) {
        if (get_16(t, at) == TAG_ORIENTATION) {
            *value = value_of(t, at);
            found = true;
        }
        at += ENTRY_BYTES;
    }
    return found;
}

/* Anything but 1 to 8 means nothing. */
static int32_t sane(uint32_t value)
{
    return value >= 1 && value <= 8 ? (int32_t)value : 1;
}

bool fdl_exif_find(const uint8_t *data, uint64_t size, int32_t *orientation)
{
    static const char prefix[] = "Exif\0"; /* and the zero behind it */
    if (size >= sizeof(prefix) && memcmp(data, prefix, sizeof(prefix)) == 0) {
        data += sizeof(prefix);
        size -= sizeof(prefix);
    }
    struct tiff t = {.data = data, .size = size};
    uint32_t value;
    if (size < 8)
        return false;
    t.big_endian = memcmp(data, "MM\0*", 4) == 0;
    if (!t.big_endian && memcmp(data, "II*\0", 4) != 0)
        return false;
    if (!find_orientation(&t, &value))
        return false;
    *orientation = sane(value);
    return true;
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
            return sane((uint32_t)(*digit - '0'));
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
