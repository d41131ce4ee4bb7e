/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bits of a JPEG's Huffman data, for the decoders that run on them: a
 * window of 64 of them, filled by one unaligned load from data that was
 * unstuffed before (FF 00 -> FF), and symbols looked up on top of it.
 *
 * Nothing is checked here: a decoder sees to it that there is room for a block
 * and the window behind any place that it reads.
 */
#ifndef FDL_DECODE_JPEG_BITS_H
#define FDL_DECODE_JPEG_BITS_H

#include "base/compiler.h"
#include "decode/formats/huffman.h"

#include <stdint.h>
#include <string.h>

/* What the window reads ahead, and the most that a block takes. */
#define FDL_BITS_WINDOW_BYTES 8
#define FDL_BITS_BLOCK_BYTES                                                   \
  (64 * (FDL_HUFFMAN_CODE_BITS + FDL_HUFFMAN_VALUE_BITS) / 8)

struct fdl_bits {
    uint64_t bits; /* next bit on top */
    int count;     /* that are of use; at least */
    const uint8_t *next;
};

/* ---- Bytes -------------------------------------------------------------- */

FDL_INLINE uint64_t fdl_bits_load(const uint8_t *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof(x));
    return x;
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#  define FDL_BITS_LITTLE_ENDIAN(x) (x)
#  define FDL_BITS_BIG_ENDIAN(x)    __builtin_bswap64(x)
#else
#  define FDL_BITS_LITTLE_ENDIAN(x) __builtin_bswap64(x)
#  define FDL_BITS_BIG_ENDIAN(x)    (x)
#endif

/* Bytes before the first FF of eight; Mycroft's test for a zero byte, on the
 * complement, the first hit of which is never a false one. */
FDL_INLINE unsigned fdl_bits_before_ff(const uint8_t *p)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t x = FDL_BITS_LITTLE_ENDIAN(fdl_bits_load(p));
    uint64_t hits = (~x - ones) & x & ones << 7;
    return hits ? (unsigned)__builtin_ctzll(hits) / 8 : 8;
}

/* ---- Bits --------------------------------------------------------------- */

/* At least 56 bits, if the buffer has them. */
FDL_INLINE void fdl_bits_fill(struct fdl_bits *w)
{
    w->bits |= FDL_BITS_BIG_ENDIAN(fdl_bits_load(w->next)) >> w->count;
    w->next += (63 - w->count) >> 3;
    w->count |= 56;
}

/* The entry of the symbol on top. A look takes at most 21 bits, so two
 * of them, or one and then any other, need the window filled once. */
FDL_INLINE uint16_t fdl_bits_symbol(const struct fdl_huffman *t,
                                    struct fdl_bits *w)
{
    uint16_t entry = t->look[w->bits >> (64 - FDL_LOOK_BITS)];
    if (FDL_UNLIKELY(entry == 0)) {
        fdl_bits_fill(w);
        entry = fdl_huffman_long(t, w->bits);
    }
    return entry;
}

FDL_INLINE void fdl_bits_drop(struct fdl_bits *w, uint16_t entry)
{
    w->bits <<= FDL_LOOK_TOTAL(entry);
    w->count -= (int)FDL_LOOK_TOTAL(entry);
}

/* The value after a code (T.81 F.2.2.1, EXTEND): if its top bit is 0 it stands
 * for itself less 2^n - 1. */
FDL_INLINE int32_t fdl_bits_value(uint64_t bits, uint16_t entry)
{
    unsigned n = FDL_LOOK_VALUE(entry);
    uint64_t aligned = bits << (FDL_LOOK_TOTAL(entry) - n);
    int32_t value = (int32_t)(aligned >> 1 >> (63 - n));
    int32_t is_low = (int32_t) ~((int64_t)aligned >> 63);
    return value + (is_low & (1 - (1 << n)));
}

#endif
