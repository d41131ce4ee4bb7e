/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codes of deflate (RFC 1951) as tables: the next bits are the index of an
 * entry, which says what they mean.
 *
 * Pixels are mostly literals, of 5 or 6 bits each. So an entry holds two of
 * them where both fit into the index: what limits the speed is that one look-up
 * waits for the one before it.
 *
 *     bits     0-5     6-7    8-11        12-15  16-31
 *     literals taken   1, 2   first, in 8-15     second, in 16-23
 *     else     taken   0      of a code   kind   base, or where a subtable is
 *
 * What is taken includes the extra bits behind a code, which are added to the
 * base. A code that is longer than the index leads to a subtable, of as many
 * index bits as 8-11 says; entries in there count what is behind the index.
 */
#ifndef FDL_DECODE_DEFLATE_CODES_H
#define FDL_DECODE_DEFLATE_CODES_H

#include <stdbool.h>
#include <stdint.h>

#define FDL_CODE_LONGEST 15u

/* Bits of the index of each kind of table, and room for the subtables: as many
 * entries as any complete code can lead to, and some more. */
#define FDL_LITERAL_BITS  12u
#define FDL_DISTANCE_BITS 9u
#define FDL_LENGTH_BITS   7u
#define FDL_LITERAL_ROOM  ((1u << FDL_LITERAL_BITS) + 512u)
#define FDL_DISTANCE_ROOM ((1u << FDL_DISTANCE_BITS) + 128u)
#define FDL_LENGTH_ROOM   (1u << FDL_LENGTH_BITS)

#define FDL_LITERAL_SYMBOLS  288u
#define FDL_DISTANCE_SYMBOLS 32u
#define FDL_LENGTH_SYMBOLS   19u

enum fdl_code_kind {
    FDL_CODE_BASE, /* a length or distance; of code lengths, a symbol */
    FDL_CODE_END,  /* of a block */
    FDL_CODE_LONG, /* see the subtable */
    FDL_CODE_NONE  /* no code, or one that means nothing */
};

static inline uint32_t fdl_code_taken(uint32_t entry)
{
    return entry & 63;
}

static inline bool fdl_code_is_literal(uint32_t entry)
{
    return (entry & 3u << 6) != 0;
}

static inline uint32_t fdl_code_literals(uint32_t entry)
{
    return entry >> 6 & 3;
}

static inline uint32_t fdl_code_bits(uint32_t entry)
{
    return entry >> 8 & 15;
}

static inline enum fdl_code_kind fdl_code_kind(uint32_t entry)
{
    return (enum fdl_code_kind)(entry >> 12 & 15);
}

static inline uint32_t fdl_code_base(uint32_t entry)
{
    return entry >> 16;
}

/* From the lengths of the codes of n symbols, 0 for none. false: no code has
 * such lengths, or zlib would not take it. `table` has the room above. */
bool fdl_literal_codes(uint32_t *table, const uint8_t *lengths, uint32_t n);
bool fdl_distance_codes(uint32_t *table, const uint8_t *lengths, uint32_t n);
bool fdl_length_codes(uint32_t *table, const uint8_t *lengths);

#endif
