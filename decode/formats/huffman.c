/* SPDX-License-Identifier: Apache-2.0 */
/* Making the tables of huffman.h: per image, so it has to be cheap. */
#include "decode/formats/huffman.h"

#include <string.h>

static unsigned value_bits(bool is_ac, unsigned symbol)
{
    return is_ac ? symbol & 15 : symbol;
}

/* What the code of `symbol` does, if it is `length` bits long. */
static uint16_t entry_of(bool is_ac, unsigned symbol, unsigned length)
{
    unsigned value = value_bits(is_ac, symbol);
    unsigned run = is_ac ? symbol >> 4 : 0;
    bool ends = is_ac && value == 0 && run != 15;
    unsigned advance = ends ? FDL_LOOK_END : run + 1;
    return (uint16_t)((length + value) | value << 6 | advance << 10);
}

static void fill(uint16_t *at, size_t n, uint16_t entry)
{
    for (size_t i = 0; i < n; i++)
        at[i] = entry;
}

static bool is_made_from(const struct fdl_huffman *t, const uint8_t counts[17],
                         const uint8_t symbols[256], bool is_ac)
{
    return t->made && t->is_ac == is_ac &&
           memcmp(t->counts, counts, sizeof(t->counts)) == 0 &&
           memcmp(t->symbols, symbols, sizeof(t->symbols)) == 0;
}

bool fdl_huffman_make(struct fdl_huffman *t, const uint8_t counts[17],
                      const uint8_t symbols[256], bool is_ac)
{
    if (is_made_from(t, counts, symbols, is_ac))
        return true;
    t->made = t->can_skip = false;
    memset(t->look, 0, sizeof(t->look));
    uint32_t code = 0;
    int32_t at = 0; /* in symbols */
    for (unsigned length = 1; length <= FDL_HUFFMAN_CODE_BITS; length++) {
        t->offset[length] = at - (int32_t)code;
        for (unsigned i = 0; i < counts[length]; i++, code++, at++) {
            if (code >= 1u << length || at > 255 ||
                value_bits(is_ac, symbols[at]) > FDL_HUFFMAN_VALUE_BITS)
                return false;
            if (length > FDL_LOOK_BITS)
                continue;
            unsigned spare = FDL_LOOK_BITS - length;
            fill(t->look + ((size_t)code << spare), (size_t)1 << spare,
                 entry_of(is_ac, symbols[at], length));
        }
        t->limit[length] = code << (FDL_HUFFMAN_CODE_BITS - length);
        code <<= 1;
    }
    memcpy(t->counts, counts, sizeof(t->counts));
    memcpy(t->symbols, symbols, sizeof(t->symbols));
    t->is_ac = is_ac;
    t->made = true;
    return true;
}

uint16_t fdl_huffman_long(const struct fdl_huffman *t, uint64_t bits)
{
    uint32_t top = (uint32_t)(bits >> (64 - FDL_HUFFMAN_CODE_BITS));
    for (unsigned length = FDL_LOOK_BITS + 1; length <= FDL_HUFFMAN_CODE_BITS;
         length++) {
        if (top >= t->limit[length])
            continue;
        uint32_t code = top >> (FDL_HUFFMAN_CODE_BITS - length);
        int32_t at = t->offset[length] + (int32_t)code;
        return entry_of(t->is_ac, t->symbols[at & 255], length);
    }
    return 0;
}

/* The symbols in the FDL_SKIP_BITS bits on top of `bits`. */
static uint16_t skip_of(const struct fdl_huffman *t, uint32_t bits)
{
    unsigned total = 0, advance = 0;
    while (advance < FDL_SKIP_END && total < FDL_SKIP_BITS) {
        uint16_t entry = t->look[bits << total >> (32 - FDL_LOOK_BITS)];
        unsigned length = FDL_LOOK_TOTAL(entry);
        unsigned goes = FDL_LOOK_ADVANCE(entry);
        bool ends = goes == FDL_LOOK_END;
        if (entry == 0 || (total > 0 && total + length > FDL_SKIP_BITS) ||
            (!ends && advance + goes > 63))
            break;
        total += length;
        advance += ends ? FDL_SKIP_END : goes;
    }
    return (uint16_t)(total | advance << 6);
}

void fdl_huffman_make_skips(struct fdl_huffman *t)
{
    if (t->can_skip)
        return;
    for (uint32_t bits = 0; bits < 1u << FDL_SKIP_BITS; bits++)
        t->skip[bits] = skip_of(t, bits << (32 - FDL_SKIP_BITS));
    t->can_skip = true;
}
