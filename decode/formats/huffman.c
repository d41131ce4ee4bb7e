/* SPDX-License-Identifier: Apache-2.0 */
/* Making the tables of huffman.h: per image, so it has to be cheap. */
#include "decode/formats/huffman.h"

#include <string.h>

/* Of what ends a block, and is not followed by zeros: the run. */
static bool ends_block(enum fdl_huffman_kind kind, unsigned symbol)
{
    return kind != FDL_HUFFMAN_DC && (symbol & 15) == 0 && symbol != 0xf0;
}

static unsigned value_bits(enum fdl_huffman_kind kind, unsigned symbol)
{
    if (kind == FDL_HUFFMAN_RUNS && ends_block(kind, symbol))
        return symbol >> 4;
    return kind == FDL_HUFFMAN_DC ? symbol : symbol & 15;
}

/* Ends of many blocks have longer values than there are of coefficients. */
static bool is_sound(enum fdl_huffman_kind kind, unsigned symbol)
{
    return ends_block(kind, symbol) ||
           value_bits(kind, symbol) <= FDL_HUFFMAN_VALUE_BITS;
}

/* What the code of `symbol` does, if it is `length` bits long. */
static uint16_t entry_of(enum fdl_huffman_kind kind, unsigned symbol,
                         unsigned length)
{
    unsigned value = value_bits(kind, symbol);
    unsigned run = kind == FDL_HUFFMAN_DC ? 0 : symbol >> 4;
    unsigned advance = ends_block(kind, symbol) ? FDL_LOOK_END : run + 1;
    return (uint16_t)((length + value) | value << 6 | advance << 10);
}

static void fill(uint16_t *at, size_t n, uint16_t entry)
{
    for (size_t i = 0; i < n; i++)
        at[i] = entry;
}

bool fdl_huffman_is_of(const struct fdl_huffman *t, const uint8_t counts[17],
                       const uint8_t symbols[256], enum fdl_huffman_kind kind)
{
    return t->made && t->kind == kind &&
           memcmp(t->counts, counts, sizeof(t->counts)) == 0 &&
           memcmp(t->symbols, symbols, sizeof(t->symbols)) == 0;
}

bool fdl_huffman_make(struct fdl_huffman *t, const uint8_t counts[17],
                      const uint8_t symbols[256], enum fdl_huffman_kind kind)
{
    if (fdl_huffman_is_of(t, counts, symbols, kind))
        return true;
    t->made = false;
    memset(t->look, 0, sizeof(t->look));
    uint32_t code = 0;
    int32_t at = 0; /* in symbols */
    for (unsigned length = 1; length <= FDL_HUFFMAN_CODE_BITS; length++) {
        t->offset[length] = at - (int32_t)code;
        for (unsigned i = 0; i < counts[length]; i++, code++, at++) {
            if (code >= 1u << length || at > 255 ||
                !is_sound(kind, symbols[at]))
                return false;
            if (length > FDL_LOOK_BITS)
                continue;
            unsigned spare = FDL_LOOK_BITS - length;
            fill(t->look + ((size_t)code << spare), (size_t)1 << spare,
                 entry_of(kind, symbols[at], length));
        }
        t->limit[length] = code << (FDL_HUFFMAN_CODE_BITS - length);
        code <<= 1;
    }
    memcpy(t->counts, counts, sizeof(t->counts));
    memcpy(t->symbols, symbols, sizeof(t->symbols));
    t->kind = kind;
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
        return entry_of(t->kind, t->symbols[at & 255], length);
    }
    return 0;
}
