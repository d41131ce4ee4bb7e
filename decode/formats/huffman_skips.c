/* SPDX-License-Identifier: Apache-2.0 */
/* Made per image, and from every place of a table, so without branches. */
#include "decode/formats/huffman_skips.h"

#include <string.h>

#define SIZE  (1u << FDL_LOOK_BITS)
#define NEVER 64 /* bits */

/* Skips, and the bits that have to be known for each. */
struct table {
    uint16_t at[SIZE];
    uint8_t known[SIZE];
};

static void make_ones(struct table *t, const struct fdl_huffman *h)
{
    for (uint32_t i = 0; i < SIZE; i++) {
        uint16_t entry = h->look[i];
        unsigned total = FDL_LOOK_TOTAL(entry);
        bool has = entry != 0 && total <= FDL_SKIP_BITS;
        t->at[i] = (uint16_t)(has ? fdl_skip_of(entry) : FDL_SKIP_NONE);
        t->known[i] = (uint8_t)(has ? total - FDL_LOOK_VALUE(entry) : NEVER);
    }
}

/* The skip of bits i, which is of one symbol, and what comes behind it. */
static void extend(struct table *to, const struct table *ones,
                   const struct table *rest, uint32_t i)
{
    uint32_t one = ones->at[i], taken = FDL_SKIP_LENGTH(one);
    uint32_t behind = i << taken & (SIZE - 1);
    uint32_t next = rest->at[behind], known = taken + rest->known[behind];
    bool has = known <= FDL_LOOK_BITS && one < FDL_SKIP_NONE &&
               taken + FDL_SKIP_LENGTH(next) <= FDL_SKIP_BITS;
    to->at[i] = (uint16_t)(has ? one + next : to->at[i]);
    to->known[i] = (uint8_t)(has ? known : to->known[i]);
}

void fdl_huffman_make_skips(struct fdl_huffman_skips *t,
                            const struct fdl_huffman *h)
{
    struct table ones, twos, threes;
    make_ones(&ones, h);
    twos = ones;
    for (uint32_t i = 0; i < SIZE; i++)
        extend(&twos, &ones, &ones, i);
    threes = twos;
    for (uint32_t i = 0; i < SIZE; i++)
        extend(&threes, &ones, &twos, i);
    memcpy(t->at, threes.at, sizeof(t->at));
}
