/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MCUs of a JPEG that are not needed: what matters of them is where they end,
 * what their first values add up to, and that they are sound. So symbols are
 * taken several at a time (huffman_skips.h), and nothing is stored.
 *
 *     above and beside a crop    #######################
 *                                ###[      ]############     # skipped
 *                                ###[      ]
 *
 * Nothing here judges: whatever is unusual about an MCU, it is left to who
 * decodes symbol by symbol.
 */
#ifndef FDL_DECODE_JPEG_SKIP_H
#define FDL_DECODE_JPEG_SKIP_H

#include "decode/formats/huffman_skips.h"

#include <stdint.h>

/* A block of an MCU. */
struct fdl_jpeg_skip_block {
    const struct fdl_huffman *dc, *ac;
    const struct fdl_huffman_skips *skips; /* ac's */
    int32_t component;                     /* in the scan */
};

struct fdl_jpeg_skip {
    const uint8_t *data; /* unstuffed */
    uint64_t bit;        /* the next one */
    int32_t *last_dc;    /* of each component */
    const struct fdl_jpeg_skip_block *blocks;
    uint32_t n_blocks;
};

/* Goes over n MCUs, or fewer: up to one that is not sound, or that begins
 * behind bit number `limit`. How many. From the limit on there is an MCU's most
 * and two windows (jpeg_bits.h) to be read. */
uint64_t fdl_jpeg_skip(struct fdl_jpeg_skip *s, uint64_t n, uint64_t limit);

#endif
