/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/packed/segment_parts.h"

struct writer {
    uint8_t *at;
    uint64_t bits;
    unsigned n;
};

static void put(struct writer *w, uint64_t value, unsigned n)
{
    for (; n > 0; n--, value >>= 1) {
        w->bits |= (value & 1) << w->n;
        if (++w->n == 8) {
            *w->at++ = (uint8_t)w->bits;
            w->bits = w->n = 0;
        }
    }
}

/* The next stream begins on a whole byte. */
static void finish(struct writer *w)
{
    if (w->n > 0)
        put(w, 0, 8 - w->n);
}

static unsigned last_place(const int16_t *block)
{
    unsigned last = 63;
    while (last > 0 && block[fdl_segment_natural[last]] == 0)
        last--;
    return last;
}

static unsigned magnitude(int16_t value)
{
    return (unsigned)(value < 0 ? -value : value);
}

/* Small numbers for small differences of either sign. */
static uint32_t difference(const int16_t (*blocks)[64], unsigned i)
{
    int32_t d = blocks[i][0] - blocks[i - 1][0];
    return d < 0 ? (uint32_t)(-2 * d - 1) : (uint32_t)(2 * d);
}

static void write_dc(struct writer *w, const int16_t (*blocks)[64], unsigned n,
                     uint8_t *bits)
{
    *bits = 0;
    for (unsigned i = 1; i < n; i++) {
        while (difference(blocks, i) >> *bits > 0)
            (*bits)++;
    }
    for (unsigned i = 1; i < n; i++)
        put(w, difference(blocks, i), *bits);
    finish(w);
}

/* The last place is known, so its bit is left out. */
static void write_places(struct writer *w, const int16_t (*blocks)[64],
                         unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned last = last_place(blocks[i]);
        for (unsigned z = 1; z < last; z++)
            put(w, blocks[i][fdl_segment_natural[z]] != 0, 1);
    }
    finish(w);
}

/* What one stream has of one value. */
typedef void part_of_value(struct writer *w, int16_t value);

static void write_sign(struct writer *w, int16_t value)
{
    put(w, value < 0, 1);
}

static void write_large(struct writer *w, int16_t value)
{
    put(w, magnitude(value) > 1, 1);
}

static void write_nibble(struct writer *w, int16_t value)
{
    unsigned m = magnitude(value);
    if (m > 1)
        put(w, FDL_MIN(m - 2, NIBBLE_FULL), 4);
}

static void write_byte(struct writer *w, int16_t value)
{
    unsigned m = magnitude(value);
    if (m >= 2 + NIBBLE_FULL)
        put(w, FDL_MIN(m - 2 - NIBBLE_FULL, BYTE_FULL), 8);
}

static void write_word(struct writer *w, int16_t value)
{
    unsigned m = magnitude(value);
    if (m >= MARKED)
        put(w, m, 16);
}

static void write_parts(struct writer *w, const int16_t (*blocks)[64],
                        unsigned n, part_of_value *part)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = 1; k < 64; k++) {
            if (blocks[i][k] != 0)
                part(w, blocks[i][k]);
        }
    }
    finish(w);
}

size_t fdl_segment_write(const int16_t (*blocks)[64], unsigned n, uint8_t *to)
{
    struct writer w = {.at = to + 1};
    put(&w, (uint16_t)blocks[0][0], 16);
    for (unsigned i = 0; i < n; i++)
        put(&w, last_place(blocks[i]), LAST_BITS);
    finish(&w);
    write_dc(&w, blocks, n, to);
    write_places(&w, blocks, n);
    part_of_value *const parts[] = {write_sign, write_large, write_nibble,
                                    write_byte, write_word};
    for (size_t i = 0; i < FDL_COUNT_OF(parts); i++)
        write_parts(&w, blocks, n, parts[i]);
    return (size_t)(w.at - to);
}
