/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table that goes over several symbols of a block at once: as many as have
 * their codes in the top FDL_LOOK_BITS bits of a window, three at most, up to
 * the one that ends the block. It gives the bits that they take, with their
 * values, and how many positions of the block they advance; as one number,
 * since a sum of some is asked for both.
 */
#ifndef FDL_DECODE_HUFFMAN_SKIPS_H
#define FDL_DECODE_HUFFMAN_SKIPS_H

#include "decode/formats/huffman.h"

/* The most bits that a skip takes. */
#define FDL_SKIP_BITS 18

#define FDL_SKIP(advance, bits) ((uint32_t)(advance) << 8 | (bits))
#define FDL_SKIP_LENGTHS        UINT32_C(255)
#define FDL_SKIP_LENGTH(skip)   ((skip)&63u)
#define FDL_SKIP_ADVANCE(skip)  ((skip) >> 8)

/* How far the code goes that ends a block; three others go 48 at most, so from
 * a place before the last one, 62 or less, what came can be told from where it
 * led. */
#define FDL_SKIP_END 128u

/* There is no skip: past any last place, and never where a block can end. */
#define FDL_SKIP_NONE FDL_SKIP(64, 0)

struct fdl_huffman_skips {
    uint16_t at[1 << FDL_LOOK_BITS];
};

/* h is made, and of FDL_HUFFMAN_AC. */
void fdl_huffman_make_skips(struct fdl_huffman_skips *t,
                            const struct fdl_huffman *h);

/* Of one symbol, which `entry` of h's tables is of. */
static inline uint32_t fdl_skip_of(uint16_t entry)
{
    unsigned advance = FDL_LOOK_ADVANCE(entry);
    return FDL_SKIP(advance == FDL_LOOK_END ? FDL_SKIP_END : advance,
                    FDL_LOOK_TOTAL(entry));
}

#endif
