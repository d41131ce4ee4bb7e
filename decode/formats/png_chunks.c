/* SPDX-License-Identifier: Apache-2.0 */
/*
 *     8 bytes of signature, then chunks: length, name, content, checksum
 */
#include "decode/formats/png_chunks.h"

#include "base/crc32.h"

#include <string.h>

#define SIGNATURE_BYTES 8
#define HEADER_BYTES    8
#define NAME_AT         4 /* in the header */
#define NAME_BYTES      4
#define CHECKSUM_BYTES  4
#define FRAMES_MAX      (1u << 31)

static uint32_t big_endian_32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

/* The chunk at *at, which moves behind it. False: there is none. */
static bool next_chunk(const uint8_t *data, uint64_t size, uint64_t *at,
                       struct fdl_png_chunk *out)
{
    if (*at > size || size - *at < HEADER_BYTES)
        return false;
    const uint8_t *header = data + *at;
    uint64_t n = big_endian_32(header), left = size - *at - HEADER_BYTES;
    *out = (struct fdl_png_chunk){.name = header + 4,
                                  .content = header + HEADER_BYTES,
                                  .size = n < left ? n : left,
                                  .cut = n > left};
    *at += HEADER_BYTES + n + CHECKSUM_BYTES;
    return true;
}

bool fdl_png_is(const struct fdl_png_chunk *c, const char *name)
{
    return memcmp(c->name, name, 4) == 0;
}

static bool has_name(const struct fdl_png_chunk *c)
{
    for (int i = 0; i < 4; i++) {
        uint8_t letter = c->name[i] | 0x20;
        if ((letter < 'a' || letter > 'z') &&
            (c->name[i] < '0' || c->name[i] > '9') && c->name[i] != '_')
            return false;
    }
    return true;
}

/* Of what a header of an animation says; Pillow takes two for none. */
static bool is_animation(const struct fdl_png_walk *w)
{
    return w->animations == 1 && w->frames > 0 && w->frames <= FRAMES_MAX &&
           w->frames + !w->first_is_frame > 1;
}

bool fdl_png_next(struct fdl_png_walk *w, struct fdl_png_chunk *out)
{
    if (w->at == 0)
        w->at = SIGNATURE_BYTES;
    if (!next_chunk(w->data, w->size, &w->at, out) || fdl_png_is(out, "IEND") ||
        !has_name(out))
        return false;
    if (fdl_png_is(out, "IDAT")) {
        w->pixels = true;
    } else if (fdl_png_is(out, "acTL") && !w->pixels && out->size >= 4) {
        w->animations++;
        w->frames = big_endian_32(out->content);
    } else if (fdl_png_is(out, "fcTL")) {
        if (w->pixels && is_animation(w))
            return false;
        w->first_is_frame |= !w->pixels;
    }
    return true;
}

bool fdl_png_has_sum(const struct fdl_png_walk *w,
                     const struct fdl_png_chunk *c)
{
    return !c->cut && w->at <= w->size &&
           fdl_crc32(0, c->name, NAME_BYTES + c->size) ==
               big_endian_32(c->content + c->size);
}

uint64_t fdl_png_cut_chunk(const uint8_t *data, uint64_t size)
{
    struct fdl_png_walk w = {.data = data, .size = size};
    struct fdl_png_chunk c;
    while (fdl_png_next(&w, &c)) {
        if (c.cut)
            return (uint64_t)(c.name - data) - NAME_AT;
    }
    return 0;
}

bool fdl_png_is_sound(const uint8_t *data, uint64_t size)
{
    struct fdl_png_walk w = {.data = data, .size = size, .at = SIGNATURE_BYTES};
    struct fdl_png_chunk c;
    while (next_chunk(data, size, &w.at, &c)) {
        if (!fdl_png_has_sum(&w, &c))
            return false;
        if (fdl_png_is(&c, "IEND"))
            return true;
    }
    return false;
}
