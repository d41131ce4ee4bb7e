/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/formats/png_whole.h"

#include "base/compiler.h"
#include "base/memory.h"
#include "decode/formats/inflate.h"
#include "decode/formats/png_chunks.h"
#include "decode/formats/png_wave.h"

#include <string.h>

/* A larger image goes row by row: it would not stay in any cache, and each
 * worker would keep its memory. */
#define BYTES_MOST (64u << 20)

/* Filters are undone in so many rows at least, as far as there are some. */
#define ROWS_AT_ONCE FDL_PNG_WIDE_ROWS

/* ---- The compressed data ------------------------------------------------ */

/* The next chunk of pixels; false: there is none. */
static bool next_piece(struct fdl_png_walk *walk, struct fdl_png_chunk *c)
{
    return fdl_png_next(walk, c) && fdl_png_is(c, "IDAT");
}

/* In one piece; NULL: it is not whole, or there is no memory. */
static const uint8_t *stream_of(const struct fdl_png_walk *first,
                                struct fdl_arena *arena, size_t *bytes)
{
    struct fdl_png_walk walk = *first;
    struct fdl_png_chunk c, piece = {0};
    uint32_t n = 0;
    *bytes = 0;
    for (; next_piece(&walk, &c); n++) {
        if (c.cut)
            return NULL;
        *bytes += c.size;
        piece = c;
    }
    if (n == 1)
        return piece.content;
    uint8_t *all = n > 1 ? fdl_arena_take(arena, *bytes) : NULL;
    uint8_t *to = all;
    walk = *first;
    while (all && next_piece(&walk, &c)) {
        memcpy(to, c.content, c.size);
        to += c.size;
    }
    return all;
}

/* zlib, which gives libpng row after row, remembers no more than the window
 * that the stream names, and refuses one that goes back further. */
static bool is_remembered(const uint8_t *stream, size_t bytes, size_t rows)
{
    size_t window = bytes > 0 ? (size_t)256 << (stream[0] >> 4) : 0;
    return window >= FDL_MIN((size_t)32768, rows);
}

/* ---- Opening ------------------------------------------------------------ */

static uint8_t *row_of(const struct fdl_png_whole *w, uint32_t y)
{
    return w->rows.first + y * (w->rows.row_bytes + 1);
}

static bool has_filters(const struct fdl_png_whole *w)
{
    for (uint32_t y = 0; y < w->form.height; y++) {
        if (row_of(w, y)[-1] >= FDL_PNG_FILTERS)
            return false;
    }
    return true;
}

/* Room for the rows, with zeros above them. *bytes: of the rows. */
static bool take_rows(struct fdl_png_whole *w, struct fdl_arena *arena,
                      size_t *bytes)
{
    const struct fdl_png_form *f = &w->form;
    uint64_t row = ((uint64_t)f->width * f->channels * f->bits + 7) / 8;
    if (row * f->height > BYTES_MOST)
        return false;
    *bytes = (size_t)((row + 1) * f->height);
    uint8_t *memory =
        fdl_arena_take(arena, (size_t)row + *bytes + FDL_PNG_BEHIND_ROWS);
    if (!memory)
        return false;
    memset(memory, 0, (size_t)row);
    w->rows =
        (struct fdl_png_rows){.first = memory + row + 1,
                              .row_bytes = (size_t)row,
                              .pixel = FDL_MAX(f->channels * f->bits / 8, 1u)};
    return true;
}

static bool has_inflate(struct fdl_png_whole *w)
{
    if (!w->inflate)
        w->inflate = fdl_inflate_create();
    return w->inflate != NULL;
}

bool fdl_png_whole_open(struct fdl_png_whole *w, struct fdl_arena *arena,
                        const struct fdl_png_form *form, const uint8_t *data,
                        uint64_t size, uint64_t at)
{
    const struct fdl_png_walk pixels = {.data = data, .size = size, .at = at};
    size_t bytes, rows;
    w->form = *form;
    w->next = 0;
    if (!has_inflate(w) || !take_rows(w, arena, &rows))
        return false;
    const uint8_t *stream = stream_of(&pixels, arena, &bytes);
    return stream && is_remembered(stream, bytes, rows) &&
           fdl_inflate_all(w->inflate, stream, bytes, row_of(w, 0) - 1, rows) &&
           has_filters(w);
}

/* ---- Data that end early ------------------------------------------------- */

/* To the first chunk of pixels. */
static bool find_pixels(struct fdl_png_walk *walk)
{
    struct fdl_png_walk next = *walk;
    struct fdl_png_chunk c;
    while (fdl_png_next(&next, &c)) {
        if (fdl_png_is(&c, "IDAT"))
            return true;
        *walk = next;
    }
    return false;
}

/* Behind the first n bytes of the data, which are there. */
static uint64_t place_behind(struct fdl_png_walk pixels, size_t n)
{
    struct fdl_png_chunk c;
    while (next_piece(&pixels, &c) && n > c.size)
        n -= c.size;
    return (uint64_t)(c.content - pixels.data) + n;
}

bool fdl_png_whole_ends(struct fdl_png_whole *w, struct fdl_arena *arena,
                        const uint8_t *data, uint64_t size, uint64_t rows,
                        uint64_t *end)
{
    struct fdl_png_walk pixels = {.data = data, .size = size};
    struct fdl_inflated done;
    size_t bytes;
    if (rows == 0 || rows > BYTES_MOST || !has_inflate(w) ||
        !find_pixels(&pixels))
        return false;
    const uint8_t *stream = stream_of(&pixels, arena, &bytes);
    uint8_t *out = fdl_arena_take(arena, (size_t)rows);
    if (!stream || !out ||
        !fdl_inflate_stream(w->inflate, stream, bytes, out, (size_t)rows,
                            &done) ||
        done.made != rows)
        return false;
    *end = place_behind(pixels, done.read);
    return true;
}

void fdl_png_whole_fini(struct fdl_png_whole *w)
{
    fdl_inflate_destroy(w->inflate);
    w->inflate = NULL;
}

/* ---- Rows --------------------------------------------------------------- */

/* A row whose filter looks at no other one is as good a beginning as any. */
static void unfilter_to(struct fdl_png_whole *w, uint32_t y)
{
    uint32_t first = y;
    while (first > w->next && row_of(w, first)[-1] > FDL_PNG_SUB)
        first--;
    uint32_t n = y - first + 1, left = w->form.height - first;
    n = FDL_MIN((n + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE * ROWS_AT_ONCE, left);
    struct fdl_png_rows rows = w->rows;
    rows.first = row_of(w, first);
    fdl_png_unfilter(&rows, n);
    w->next = first + n;
}

static void unpack(const struct fdl_png_form *f, const uint8_t *row,
                   uint8_t *out)
{
    uint32_t bits = f->bits, each = 8 / bits, mask = (1u << bits) - 1;
    for (uint32_t x = 0; x < f->width; x++) {
        uint32_t shift = 8 - bits - x % each * bits;
        uint32_t level = (uint32_t)row[x / each] >> shift & mask;
        out[x] = (uint8_t)(level * f->scale);
    }
}

/* A loop for each number of channels. */
FDL_INLINE void drop_alpha(const uint8_t *row, uint8_t *out, uint32_t width,
                           size_t wanted)
{
    for (uint32_t x = 0; x < width; x++) {
        for (size_t c = 0; c < wanted; c++)
            out[c] = row[c];
        row += wanted + 1;
        out += wanted;
    }
}

void fdl_png_whole_row(struct fdl_png_whole *w, uint32_t y, uint8_t *out)
{
    const struct fdl_png_form *f = &w->form;
    if (y >= w->next)
        unfilter_to(w, y);
    const uint8_t *row = row_of(w, y);
    if (f->bits < 8)
        unpack(f, row, out);
    else if (f->wanted == f->channels)
        memcpy(out, row, w->rows.row_bytes);
    else if (f->wanted == 1)
        drop_alpha(row, out, f->width, 1);
    else
        drop_alpha(row, out, f->width, 3);
}
