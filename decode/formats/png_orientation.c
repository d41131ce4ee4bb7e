/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EXIF data is in an eXIf chunk, or, as ImageMagick writes it, in a text "Raw
 * profile type exif"; XMP data is in a text "XML:com.adobe.xmp". Texts are
 *
 *     tEXt    keyword, 0, text
 *     zTXt    keyword, 0, method, packed text
 *     iTXt    keyword, 0, packed?, method, language, 0, the keyword in that
 *             language, 0, text, which may be packed
 *
 * Of several with a keyword the last one counts. Pillow keeps the eXIf chunk as
 * "exif" among the texts, so a text of that name takes its place.
 */
#include "decode/formats/png_orientation.h"

#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "base/utf8.h"
#include "decode/formats/exif.h"
#include "decode/formats/png_chunks.h"

#include <string.h>
#include <zlib.h>

#define KEY_EXIF "exif"
#define KEY_RAW  "Raw profile type exif"
#define KEY_XMP  "XML:com.adobe.xmp"

/* What a packed text may take, and all of them together: Pillow refuses a file
 * with more. */
#define UNPACKED_BYTES     (1u << 20)
#define ALL_UNPACKED_BYTES (64u << 20)
#define PIECE_BYTES        1024u

struct span {
    const uint8_t *data;
    uint64_t size;
};

struct reader {
    struct fdl_png_chunk exif, raw, xmp; /* without a name: none */
    struct fdl_png_chunk xmp_bytes;      /* the last iTXt, UTF-8 or not */
    struct fdl_text unpacked, bytes;
    uint64_t unpacked_bytes; /* so far */
    bool no_memory;
};

static struct span span_of(const struct fdl_text *t)
{
    return (struct span){(const uint8_t *)t->data, t->length};
}

static void skip(struct span *s, uint64_t bytes)
{
    s->data += bytes;
    s->size -= bytes;
}

/* Skips up to the first byte `end`, and that byte too. false: there is none. */
static bool skip_behind(struct span *s, uint8_t end)
{
    const uint8_t *at = s->size > 0 ? memchr(s->data, end, s->size) : NULL;
    if (at)
        skip(s, (uint64_t)(at - s->data) + 1);
    return at != NULL;
}

/* ---- Texts -------------------------------------------------------------- */

static void inflate_all(struct reader *r, z_stream *z, int *status)
{
    struct fdl_text *out = &r->unpacked;
    do {
        if (!fdl_text_reserve(out, PIECE_BYTES)) {
            r->no_memory = true;
            *status = Z_MEM_ERROR;
            break;
        }
        z->next_out = (Bytef *)out->data + out->length;
        z->avail_out = (uInt)(out->capacity - out->length);
        *status = inflate(z, Z_SYNC_FLUSH);
        out->length = z->total_out;
    } while (*status == Z_OK && out->length <= UNPACKED_BYTES);
    r->unpacked_bytes += out->length;
}

/* To r->unpacked, also data that ends early. false: it is damaged, or more than
 * it may be. */
static bool unpack(struct reader *r, struct span in)
{
    z_stream z = {.avail_in = (uInt)in.size}; /* chunks have 32 bits */
    fdl_text_clear(&r->unpacked);
    if (r->unpacked_bytes > ALL_UNPACKED_BYTES)
        return false;
    memcpy(&z.next_in, &in.data, sizeof(z.next_in)); /* it is only read */
    int status = inflateInit(&z);
    if (status == Z_OK) {
        inflate_all(r, &z, &status);
        inflateEnd(&z);
    }
    r->no_memory |= status == Z_MEM_ERROR;
    return (status == Z_STREAM_END || status == Z_BUF_ERROR) &&
           r->unpacked.length <= UNPACKED_BYTES;
}

static bool is_utf8(struct span s)
{
    while (s.size > 0) {
        uint8_t next[4] = {0};
        memcpy(next, s.data, FDL_MIN(s.size, sizeof(next)));
        uint32_t bytes = fdl_utf8_next(next, NULL);
        if (bytes == 0 || bytes > s.size)
            return false;
        skip(&s, bytes);
    }
    return true;
}

/* *s: behind the keyword; then the text. false: Pillow passes it over.
 * *utf8: all of it is. */
static bool read_international(struct reader *r, struct span *s, bool *utf8)
{
    if (s->size < 2 || (s->data[0] != 0 && s->data[1] != 0))
        return false;
    bool packed = s->data[0] != 0;
    skip(s, 2);
    struct span words = *s;
    if (!skip_behind(s, 0) || !skip_behind(s, 0))
        return false;
    words.size -= s->size;
    if (packed) {
        if (!unpack(r, *s))
            return false;
        *s = span_of(&r->unpacked);
    }
    *utf8 = is_utf8(words) && is_utf8(*s);
    return true;
}

/* The text of a chunk, until the next one is read; damaged, it is empty. Only
 * of iTXt both answers may be false. */
static bool read_text(struct reader *r, const struct fdl_png_chunk *c,
                      struct span *text, bool *utf8)
{
    struct span s = {c->content, c->size};
    bool ends = skip_behind(&s, 0);
    *utf8 = true;
    if (fdl_png_is(c, "iTXt")) {
        if (!ends || !read_international(r, &s, utf8))
            return false;
    } else if (!ends) {
        s.size = 0;
    } else if (fdl_png_is(c, "zTXt")) {
        skip(&s, FDL_MIN(s.size, 1u));
        s = unpack(r, s) ? span_of(&r->unpacked) : (struct span){0};
    }
    *text = s;
    return true;
}

static bool has_keyword(const struct fdl_png_chunk *c, const char *keyword)
{
    size_t n = strlen(keyword);
    return c->size >= n && memcmp(c->content, keyword, n) == 0 &&
           (c->size == n || c->content[n] == 0);
}

static void take_text(struct reader *r, const struct fdl_png_chunk *c)
{
    struct fdl_png_chunk *of = has_keyword(c, KEY_EXIF)  ? &r->exif
                               : has_keyword(c, KEY_RAW) ? &r->raw
                               : has_keyword(c, KEY_XMP) ? &r->xmp
                                                         : NULL;
    struct span text;
    bool utf8;
    if (!of || !read_text(r, c, &text, &utf8))
        return;
    if (of == &r->xmp && fdl_png_is(c, "iTXt"))
        r->xmp_bytes = *c;
    if (utf8)
        *of = *c;
}

static void find_chunks(struct reader *r, const uint8_t *data, uint64_t size)
{
    struct fdl_png_walk w = {.data = data, .size = size};
    struct fdl_png_chunk c;
    while (fdl_png_next(&w, &c) && !c.cut) {
        if (fdl_png_is(&c, "eXIf"))
            r->exif = c;
        else if (fdl_png_is(&c, "tEXt") || fdl_png_is(&c, "zTXt") ||
                 fdl_png_is(&c, "iTXt"))
            take_text(r, &c);
    }
}

/* ---- Orientation -------------------------------------------------------- */

static int32_t digit_of(uint8_t c)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *at = c ? strchr(digits, c) : NULL;
    int32_t digit = at ? (int32_t)(at - digits) : -1;
    return digit > 15 ? digit - 6 : digit;
}

/* To r->bytes; there may be white space between bytes. */
static bool from_hex(struct reader *r, struct span s)
{
    struct fdl_text *out = &r->bytes;
    if (!fdl_text_reserve(out, s.size / 2)) {
        r->no_memory = true;
        return false;
    }
    while (s.size > 0) {
        uint8_t c = s.data[0];
        if (c == ' ' || (c >= '\t' && c <= '\r')) {
            skip(&s, 1);
            continue;
        }
        int32_t high = digit_of(c), low = s.size > 1 ? digit_of(s.data[1]) : -1;
        if (high < 0 || low < 0)
            return false;
        out->data[out->length++] = (char)(16 * high + low);
        skip(&s, 2);
    }
    return true;
}

/* "\nexif\n   LENGTH\nHEX DIGITS" */
static bool ask_raw(struct reader *r, int32_t *orientation)
{
    struct span s;
    bool utf8;
    if (!r->raw.name || !read_text(r, &r->raw, &s, &utf8) ||
        !skip_behind(&s, '\n') || !skip_behind(&s, '\n') ||
        !skip_behind(&s, '\n'))
        return false;
    if (!from_hex(r, s)) /* on this Pillow raises an exception */
        return true;
    s = span_of(&r->bytes);
    return fdl_exif_find(s.data, s.size, orientation);
}

/* Whether XMP need not be asked. */
static bool ask_exif(struct reader *r, int32_t *orientation)
{
    struct span s = {r->exif.content, r->exif.size};
    bool utf8;
    if (!r->exif.name)
        return ask_raw(r, orientation);
    if (fdl_png_is(&r->exif, "tEXt"))
        read_text(r, &r->exif, &s, &utf8);
    else if (!fdl_png_is(&r->exif, "eXIf")) /* on this, too */
        return true;
    return fdl_exif_find(s.data, s.size, orientation);
}

static int32_t ask_xmp(struct reader *r)
{
    struct span s = {0};
    bool utf8;
    if (r->xmp.name)
        read_text(r, &r->xmp, &s, &utf8);
    if (s.size == 0 && r->xmp_bytes.name)
        read_text(r, &r->xmp_bytes, &s, &utf8);
    return fdl_xmp_orientation(s.data, s.size);
}

int32_t fdl_png_orientation(const uint8_t *data, uint64_t size,
                            int32_t *orientation)
{
    struct reader r = {0};
    find_chunks(&r, data, size);
    *orientation = 1;
    if (!ask_exif(&r, orientation))
        *orientation = ask_xmp(&r);
    fdl_text_free(&r.unpacked);
    fdl_text_free(&r.bytes);
    return r.no_memory ? fdl_fail_memory(UNPACKED_BYTES, "a text in a PNG")
                       : FEEDLINE_OK;
}
