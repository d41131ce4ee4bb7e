/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables for reading JPEG's Huffman codes (ITU-T T.81, annexes C and F), made
 * from a file's own: how many codes of each length, and their symbols. Indexed
 * by the top bits of a window, they give the length of code and value together,
 * the length of the value, and how many positions of the block it advances.
 */
#ifndef FDL_DECODE_HUFFMAN_H
#define FDL_DECODE_HUFFMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FDL_HUFFMAN_CODE_BITS 16 /* longest code */

/* Longest value; T.81 allows no more in files of 8 bits. */
#define FDL_HUFFMAN_VALUE_BITS 11

/* Codes up to this length are found by one look. Of optimised tables for photos
 * one symbol in some hundred has a longer one. */
#define FDL_LOOK_BITS 10

/* An entry of look; 0: no code so short. The length is where a shift by a
 * register looks for it, so nothing comes between the load and the shift. */
#define FDL_LOOK_TOTAL(entry)   ((entry)&63u)
#define FDL_LOOK_VALUE(entry)   ((entry) >> 6 & 15u)
#define FDL_LOOK_ADVANCE(entry) ((unsigned)(entry) >> 10)

/* How far the code goes that ends a block; others go 16 at most. */
#define FDL_LOOK_END 63u

/* What the symbols of a table are. */
enum fdl_huffman_kind {
    FDL_HUFFMAN_DC,   /* lengths of values */
    FDL_HUFFMAN_AC,   /* runs of zeros, and lengths */
    FDL_HUFFMAN_RUNS, /* of progressive scans: what ends a block has a value,
                         too, of how many more are ended */
};

struct fdl_huffman {
    uint16_t look[1 << FDL_LOOK_BITS];

    /* Longer codes: one of length n is below limit[n] (left-aligned), and its
     * symbol is at symbols[offset[n] + code]. */
    uint32_t limit[FDL_HUFFMAN_CODE_BITS + 1];
    int32_t offset[FDL_HUFFMAN_CODE_BITS + 1];

    /* What it was made from. */
    uint8_t counts[FDL_HUFFMAN_CODE_BITS + 1];
    uint8_t symbols[256];
    enum fdl_huffman_kind kind;
    bool made;
};

/* counts[1..16], symbols: as in a DHT segment. Does nothing if t is that
 * already. False: not a table of a sound file. Zeroed memory is a table that is
 * not made. */
bool fdl_huffman_make(struct fdl_huffman *t, const uint8_t counts[17],
                      const uint8_t symbols[256], enum fdl_huffman_kind kind);

/* Whether it is that already. */
bool fdl_huffman_is_of(const struct fdl_huffman *t, const uint8_t counts[17],
                       const uint8_t symbols[256], enum fdl_huffman_kind kind);

/* The entry of a code that is longer than a look, on top of `bits`; 0: there is
 * no such code. */
uint16_t fdl_huffman_long(const struct fdl_huffman *t, uint64_t bits);

#endif
