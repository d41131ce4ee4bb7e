/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of huffman.h in the form that jpeg_entropy.c has in its loop. Indexed
 * by the top bits of a window, they give the length of code and value together,
 * what to subtract from both to have the value, and how many positions of the
 * block it advances.
 */
#ifndef FDL_DECODE_HUFFMAN_STEPS_H
#define FDL_DECODE_HUFFMAN_STEPS_H

#include "decode/formats/huffman.h"

/* How far the code goes that ends a block, and what says that there is no step
 * for a code; others go 16 at most. So from a place before the last one, 62 or
 * less, what came can be told from where it led. */
#define FDL_STEP_END  80
#define FDL_STEP_LONG 160

/* The places that can be led to. */
#define FDL_STEP_PLACES (FDL_STEP_LONG + 63)

/* For each FDL_LOOK_BITS bits. A step is there if a code and the first bit of
 * its value, which is its sign, are no longer. Of photos' symbols one in a
 * hundred is. */
struct fdl_steps {
    uint32_t less[1 << FDL_LOOK_BITS];   /* what to subtract */
    uint8_t length[1 << FDL_LOOK_BITS];  /* 0: no step */
    uint8_t advance[1 << FDL_LOOK_BITS]; /* of FDL_HUFFMAN_AC */
};

struct fdl_huffman_steps {
    struct fdl_huffman codes;
    struct fdl_steps one;
};

/* As fdl_huffman_make. */
bool fdl_huffman_make_steps(struct fdl_huffman_steps *t,
                            const uint8_t counts[17],
                            const uint8_t symbols[256],
                            enum fdl_huffman_kind kind);

/* How far an entry of huffman.h goes, as steps do. */
static inline unsigned fdl_step_advance(uint16_t entry)
{
    unsigned advance = FDL_LOOK_ADVANCE(entry);
    return advance == FDL_LOOK_END ? FDL_STEP_END : advance;
}

#endif
