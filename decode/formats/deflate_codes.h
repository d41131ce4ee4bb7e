/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codes of deflate (RFC 1951) as tables: the next bits are the index of an
 * entry, which says what they mean.
 *
 * What limits the speed is that one look-up waits for the one before it, and a
 * jump for what it finds. So an entry holds more than one code where they fit
 * into the index: two literals, of 5 or 6 bits each as in most photos, or a
 * literal and the length of a match, as where matches are short and many.
 *
 *     bits      0-5    8-15     16-23       24-25  26  27-30         31
 *     literals  taken  first    second      1, 2   0                 0
 *     length    taken  literal  length - 3  0, 1   1   of the codes  0
 *     other     taken  which: 8-23                     of the index  1
 *
 * and of distances, and of code lengths, which come alone,
 *
 *     bits      0-5    8-23                            27-30         31
 *               taken  base                            of the code   0
 *     other     as above
 *
 * What is taken includes the extra bits behind a code, which are added to the
 * base or length. Other: a code that is longer than the index leads to a
 * subtable, of as many index bits as it says; entries in there count what is
 * behind the index.
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

#define FDL_LENGTH_LEAST 3u

/* What else there is than the place of a subtable. */
#define FDL_CODE_NONE 0u /* no code, or one that means nothing */
#define FDL_CODE_END  1u /* of a block */

static inline uint32_t fdl_code_taken(uint32_t entry)
{
    return entry & 63;
}

static inline uint32_t fdl_code_literals(uint32_t entry)
{
    return entry >> 24 & 3;
}

/* And nothing else. */
static inline bool fdl_code_is_literal(uint32_t entry)
{
    return (entry & (1u << 31 | 1u << 26)) == 0;
}

static inline bool fdl_code_is_length(uint32_t entry)
{
    return (entry & 1u << 26) != 0;
}

static inline bool fdl_code_is_other(uint32_t entry)
{
    return (entry & 1u << 31) != 0;
}

static inline uint32_t fdl_code_bits(uint32_t entry)
{
    return entry >> 27 & 15;
}

static inline uint32_t fdl_code_length(uint32_t entry)
{
    return FDL_LENGTH_LEAST + (entry >> 16 & 255);
}

/* Of a distance; which one of the others. */
static inline uint32_t fdl_code_base(uint32_t entry)
{
    return entry >> 8 & 0xffff;
}

/* Of the others. */
static inline bool fdl_code_is_long(uint32_t entry)
{
    return fdl_code_base(entry) > FDL_CODE_END;
}

/* From the lengths of the codes of n symbols, 0 for none. false: no code has
 * such lengths, or zlib would not take it. `table` has the room above. */
bool fdl_literal_codes(uint32_t *table, const uint8_t *lengths, uint32_t n);
bool fdl_distance_codes(uint32_t *table, const uint8_t *lengths, uint32_t n);
bool fdl_length_codes(uint32_t *table, const uint8_t *lengths);

#endif
