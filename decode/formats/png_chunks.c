/* SPDX-License-Identifier: Apache-2.0 */
/*
 *     8 bytes of signature, then chunks: length, name, content, checksum
 *
 * Pillow looks behind the pixels only if there is no EXIF data in front of
 * them. Of several chunks of a kind the last one counts.
 */
#include "decode/formats/png_chunks.h"

#include "decode/formats/exif.h"

#include <string.h>

#define SIGNATURE_BYTES 8
#define HEADER_BYTES    8
#define CHECKSUM_BYTES  4

struct chunk {
    const uint8_t *name, *content;
    uint64_t size; /* of content; what is there of it, if it is cut */
    bool cut;
};

struct text {
    const uint8_t *data;
    uint64_t size;
};

static uint32_t big_endian_32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

/* The chunk at *at, which moves behind it. False: there is none. */
static bool next_chunk(const uint8_t *data, uint64_t size, uint64_t *at,
                       struct chunk *out)
{
    if (*at > size || size - *at < HEADER_BYTES)
        return false;
    const uint8_t *header = data + *at;
    uint64_t n = big_endian_32(header), left = size - *at - HEADER_BYTES;
    *out = (struct chunk){.name = header + 4,
                          .content = header + HEADER_BYTES,
                          .size = n < left ? n : left,
                          .cut = n > left};
    *at += HEADER_BYTES + n + CHECKSUM_BYTES;
    return true;
}

static bool is(const struct chunk *c, const char *name)
{
    return memcmp(c->name, name, 4) == 0;
}

static bool has_name(const struct chunk *c)
{
    for (int i = 0; i < 4; i++) {
        uint8_t letter = c->name[i] | 0x20;
        if ((letter < 'a' || letter > 'z') &&
            (c->name[i] < '0' || c->name[i] > '9') && c->name[i] != '_')
            return false;
    }
    return true;
}

uint64_t fdl_png_cut_chunk(const uint8_t *data, uint64_t size)
{
    uint64_t at = SIGNATURE_BYTES, next = at;
    bool pixels = false, animated = false;
    struct chunk c;
    for (; next_chunk(data, size, &next, &c); at = next) {
        bool frame = is(&c, "fcTL") && pixels && animated;
        if (is(&c, "IEND") || frame || !has_name(&c))
            return 0;
        if (c.cut)
            return at;
        pixels |= is(&c, "IDAT");
        animated |= is(&c, "acTL");
    }
    return 0;
}

/* Bit by bit, as only a check of whole data sets asks for it. */
static uint32_t checksum(const uint8_t *data, uint64_t size)
{
    uint32_t sum = UINT32_MAX;
    for (uint64_t i = 0; i < size; i++) {
        sum ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
    }
    return ~sum;
}

bool fdl_png_is_sound(const uint8_t *data, uint64_t size)
{
    uint64_t at = SIGNATURE_BYTES;
    struct chunk c;
    while (next_chunk(data, size, &at, &c)) {
        if (c.cut || at > size ||
            checksum(c.name, 4 + c.size) != big_endian_32(c.content + c.size))
            return false;
        if (is(&c, "IEND"))
            return true;
    }
    return false;
}

/* Takes a text and the zero behind it off the front. */
static bool skip_text(struct text *t)
{
    const uint8_t *end = t->size > 0 ? memchr(t->data, 0, t->size) : NULL;
    if (!end)
        return false;
    t->size -= (uint64_t)(end - t->data) + 1;
    t->data = end + 1;
    return true;
}

/* tEXt: keyword, text. iTXt: keyword, compressed?, how, language, keyword in
 * that, text. */
static bool is_xmp(const struct chunk *c, struct text *out)
{
    static const char keyword[] = "XML:com.adobe.xmp";
    struct text t = {c->content, c->size};
    bool international = is(c, "iTXt");
    if ((!international && !is(c, "tEXt")) || t.size < sizeof(keyword) ||
        memcmp(t.data, keyword, sizeof(keyword)) != 0)
        return false;
    t.data += sizeof(keyword);
    t.size -= sizeof(keyword);
    if (international) {
        if (t.size < 2 || t.data[0] != 0)
            return false;
        t.data += 2;
        t.size -= 2;
        if (!skip_text(&t) || !skip_text(&t))
            return false;
    }
    *out = t;
    return true;
}

int32_t fdl_png_orientation(const uint8_t *data, uint64_t size)
{
    struct text exif = {0}, xmp = {0};
    uint64_t at = SIGNATURE_BYTES;
    struct chunk c;
    while (next_chunk(data, size, &at, &c) && !c.cut && !is(&c, "IEND")) {
        if (is(&c, "IDAT") && exif.data)
            break;
        if (is(&c, "eXIf"))
            exif = (struct text){c.content, c.size};
        else
            is_xmp(&c, &xmp);
    }
    int32_t found = 1;
    if (!exif.data || !fdl_exif_find(exif.data, exif.size, &found))
        found = fdl_xmp_orientation(xmp.data, xmp.size);
    return found;
}
