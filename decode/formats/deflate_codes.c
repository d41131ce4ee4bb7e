/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table for k bits is that for k - 1 twice, and then the codes of k bits: so
 * each code is stored once, and the rest is copied. Pairs of literals are like
 * codes that are as long as both.
 */
#include "decode/formats/deflate_codes.h"

#include "base/compiler.h"

#include <string.h>

#define LITERALS     256u
#define FIRST_LENGTH 257u
#define LENGTHS      29u
#define DISTANCES    30u

/* Lengths without extra bits, from FDL_LENGTH_LEAST on: so many. */
#define SHORT_LENGTHS 8u

/* Codes by length, those of a length by symbol: literals are the first. */
struct codes {
    uint16_t first[FDL_CODE_LONGEST + 2];    /* of each length; then the end */
    uint16_t literals[FDL_CODE_LONGEST + 1]; /* of each length */
    uint16_t symbols[FDL_LITERAL_SYMBOLS];
    uint16_t bits[FDL_LITERAL_SYMBOLS]; /* first bit lowest */
};

struct table {
    uint32_t *entries;
    uint32_t bits, room;
    uint32_t (*entry)(uint32_t symbol, uint32_t bits);
};

/* ---- Entries ------------------------------------------------------------ */

#define ONE_LITERAL  (1u << 24)
#define TWO_LITERALS (2u << 24)
#define OTHER        (1u << 31)
#define IS_LENGTH    (1u << 26)

static uint32_t other_entry(uint32_t taken, uint32_t bits, uint32_t which)
{
    return bits << 27 | OTHER | which << 8 | taken;
}

static uint32_t no_code(void)
{
    return other_entry(0, 0, FDL_CODE_NONE);
}

static uint32_t literal_entry(uint32_t symbol, uint32_t bits)
{
    static const uint8_t base[LENGTHS] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,   10,  12,  14,  16,  20, 24,
        28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 255};
    static const uint8_t extra[LENGTHS] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1,
                                           1, 1, 2, 2, 2, 2, 3, 3, 3, 3,
                                           4, 4, 4, 4, 5, 5, 5, 5, 0};
    if (symbol < LITERALS)
        return ONE_LITERAL | symbol << 8 | bits;
    if (symbol == LITERALS)
        return other_entry(bits, 0, FDL_CODE_END);
    uint32_t i = symbol - FIRST_LENGTH;
    if (i >= LENGTHS)
        return no_code();
    return bits << 27 | IS_LENGTH | (uint32_t)base[i] << 16 | (bits + extra[i]);
}

/* 1, 2, 3, 4, then twice as far with every other one. */
static uint32_t distance_entry(uint32_t symbol, uint32_t bits)
{
    if (symbol >= DISTANCES)
        return no_code();
    uint32_t extra = symbol < 4 ? 0 : symbol / 2 - 1;
    uint32_t base = symbol < 4 ? symbol : (2 + symbol % 2) << extra;
    return bits << 27 | (base + 1) << 8 | (bits + extra);
}

static uint32_t length_entry(uint32_t symbol, uint32_t bits)
{
    return symbol << 8 | bits;
}

/* ---- Codes -------------------------------------------------------------- */

static uint32_t turned(uint32_t code, uint32_t bits)
{
    code = (code & 0x5555) << 1 | (code >> 1 & 0x5555);
    code = (code & 0x3333) << 2 | (code >> 2 & 0x3333);
    code = (code & 0x0f0f) << 4 | (code >> 4 & 0x0f0f);
    code = (code & 0x00ff) << 8 | (code >> 8 & 0x00ff);
    return code >> (16 - bits);
}

/* Bits of what is left of all codes, in codes of the longest length; below 0 if
 * there are too many. */
static int32_t space_left(const uint16_t *count)
{
    int32_t left = 1;
    for (uint32_t k = 1; k <= FDL_CODE_LONGEST && left >= 0; k++)
        left = 2 * left - count[k];
    return left;
}

/* zlib takes codes that are not complete where there is only one code, of one
 * bit, or none. (Not for lengths: but a block of such ones has no end.) */
static bool is_fine(const uint16_t *count, uint32_t used)
{
    int32_t left = space_left(count);
    if (left == 0)
        return true;
    return left > 0 && (used == 0 || (used == 1 && count[1] == 1));
}

static bool sort_codes(struct codes *c, const uint8_t *lengths, uint32_t n)
{
    uint16_t count[FDL_CODE_LONGEST + 1] = {0}, next[FDL_CODE_LONGEST + 1];
    uint16_t at[FDL_CODE_LONGEST + 1];
    for (uint32_t i = 0; i < n; i++)
        count[lengths[i]]++;
    uint32_t used = n - count[0], code = 0, first = 0;
    count[0] = 0;
    if (!is_fine(count, used))
        return false;
    memset(c->literals, 0, sizeof(c->literals));
    for (uint32_t k = 1; k <= FDL_CODE_LONGEST; k++) {
        code = (code + count[k - 1]) << 1;
        next[k] = (uint16_t)code;
        c->first[k] = at[k] = (uint16_t)first;
        first += count[k];
    }
    c->first[FDL_CODE_LONGEST + 1] = (uint16_t)first;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = lengths[i];
        if (k == 0)
            continue;
        c->bits[at[k]] = (uint16_t)turned(next[k]++, k);
        c->symbols[at[k]++] = (uint16_t)i;
        c->literals[k] = (uint16_t)(c->literals[k] + (i < LITERALS));
    }
    return true;
}

/* ---- Tables ------------------------------------------------------------- */

static void put_codes(const struct table *t, const struct codes *c, uint32_t k)
{
    for (uint32_t i = c->first[k]; i < c->first[k + 1]; i++)
        t->entries[c->bits[i]] = t->entry(c->symbols[i], k);
}

/* Behind each of the literals of `one` bits the codes from `i` to `end`; `more`
 * and both symbols go into the entry. */
static void put_behind(uint32_t *entries, const struct codes *c, uint32_t one,
                       uint32_t i, uint32_t end, uint32_t more)
{
    uint32_t first = c->first[one], last = first + c->literals[one];
    for (; first < last && i < end; first++) {
        uint32_t *to = entries + c->bits[first];
        uint32_t entry = more + ((uint32_t)c->symbols[first] << 8);
        for (uint32_t j = i; j < end; j++)
            to[(uint32_t)c->bits[j] << one] =
                entry + ((uint32_t)c->symbols[j] << 16);
    }
}

/* Of k bits together: two literals, or one and a short length. */
static void put_pairs(uint32_t *entries, const struct codes *c, uint32_t k)
{
    for (uint32_t one = 1; one < k; one++) {
        uint32_t two = k - one, i = c->first[two], end = c->first[two + 1];
        uint32_t behind = i + c->literals[two];
        put_behind(entries, c, one, i, behind, TWO_LITERALS | k);
        while (behind < end && c->symbols[behind] < FIRST_LENGTH)
            behind++;
        while (end > behind &&
               c->symbols[end - 1] >= FIRST_LENGTH + SHORT_LENGTHS)
            end--;
        put_behind(entries, c, one, behind, end,
                   (k << 27 | ONE_LITERAL | IS_LENGTH | k) -
                       (FIRST_LENGTH << 16));
    }
}

/* The codes from c->first[t->bits + 1] on: those with the same first bits are
 * neighbours, the shortest first. */
static bool put_long(const struct table *t, const struct codes *c)
{
    uint32_t k = t->bits, size = 1u << k, at = size, bits = 0;
    uint32_t i = c->first[k + 1], end = c->first[FDL_CODE_LONGEST + 1];
    uint32_t *sub = NULL, prefix = size;
    for (; i < end; i++) {
        while (i >= c->first[k + 1])
            k++;
        if ((c->bits[i] & (size - 1)) != prefix) {
            prefix = c->bits[i] & (size - 1);
            bits = k - t->bits;
            uint32_t left = 1u << bits, more = c->first[k + 1] - i;
            while (more < left && t->bits + bits < FDL_CODE_LONGEST) {
                bits++;
                left = 2 * (left - more);
                more = c->first[t->bits + bits + 1] - c->first[t->bits + bits];
            }
            if (at + (1u << bits) > t->room)
                return false;
            t->entries[prefix] = other_entry(t->bits, bits, at);
            sub = t->entries + at;
            at += 1u << bits;
        }
        uint32_t entry = t->entry(c->symbols[i], k - t->bits);
        uint32_t step = 1u << (k - t->bits);
        for (uint32_t x = c->bits[i] >> t->bits; x < 1u << bits; x += step)
            sub[x] = entry;
    }
    return true;
}

static bool fill(const struct table *t, const struct codes *c, bool pairs)
{
    t->entries[0] = no_code();
    for (uint32_t k = 1; k <= t->bits; k++) {
        uint32_t half = 1u << (k - 1);
        memcpy(t->entries + half, t->entries, half * sizeof(t->entries[0]));
        if (pairs)
            put_pairs(t->entries, c, k);
        put_codes(t, c, k);
    }
    return put_long(t, c);
}

bool fdl_literal_codes(uint32_t *table, const uint8_t *lengths, uint32_t n)
{
    struct table t = {table, FDL_LITERAL_BITS, FDL_LITERAL_ROOM, literal_entry};
    struct codes c;
    return sort_codes(&c, lengths, n) && fill(&t, &c, true);
}

bool fdl_distance_codes(uint32_t *table, const uint8_t *lengths, uint32_t n)
{
    struct table t = {table, FDL_DISTANCE_BITS, FDL_DISTANCE_ROOM,
                      distance_entry};
    struct codes c;
    return sort_codes(&c, lengths, n) && fill(&t, &c, false);
}

bool fdl_length_codes(uint32_t *table, const uint8_t *lengths)
{
    struct table t = {table, FDL_LENGTH_BITS, FDL_LENGTH_ROOM, length_entry};
    struct codes c;
    return sort_codes(&c, lengths, FDL_LENGTH_SYMBOLS) && fill(&t, &c, false);
}
