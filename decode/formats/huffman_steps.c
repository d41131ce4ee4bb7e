/* SPDX-License-Identifier: Apache-2.0 */
/* Made from the other tables, code by code: per image, so cheaply. */
#include "decode/formats/huffman_steps.h"

#include <string.h>

static unsigned code_length(uint16_t entry)
{
    return FDL_LOOK_TOTAL(entry) - FDL_LOOK_VALUE(entry);
}

/* n steps from `at` on, of a code and the values whose first bit is `sign`. */
static void fill(struct fdl_steps *t, size_t at, size_t n, uint16_t entry,
                 uint32_t code, bool sign)
{
    /* A value whose top bit is 0 stands for itself less 2^n - 1. */
    unsigned value = FDL_LOOK_VALUE(entry);
    uint32_t less = (code << value) + (sign ? 0 : (1u << value) - 1);
    for (size_t i = 0; i < n; i++)
        t->less[at + i] = less;
    memset(t->length + at, FDL_LOOK_TOTAL(entry), n);
    memset(t->advance + at, (int)fdl_step_advance(entry), n);
}

/* All steps of the code that look has at `at`. How many. */
static size_t fill_code(struct fdl_huffman_steps *t, size_t at)
{
    uint16_t entry = t->codes.look[at];
    unsigned length = code_length(entry);
    size_t n = entry == 0 ? 1 : (size_t)1 << (FDL_LOOK_BITS - length);
    uint32_t code = (uint32_t)(at / n);
    if (entry == 0 || length + (FDL_LOOK_VALUE(entry) > 0) > FDL_LOOK_BITS) {
        memset(t->one.length + at, 0, n);
        memset(t->one.advance + at, FDL_STEP_LONG, n);
    } else if (FDL_LOOK_VALUE(entry) == 0) {
        fill(&t->one, at, n, entry, code, true);
    } else {
        fill(&t->one, at, n / 2, entry, code, false);
        fill(&t->one, at + n / 2, n / 2, entry, code, true);
    }
    return n;
}

bool fdl_huffman_make_steps(struct fdl_huffman_steps *t,
                            const uint8_t counts[17],
                            const uint8_t symbols[256],
                            enum fdl_huffman_kind kind)
{
    if (fdl_huffman_is_of(&t->codes, counts, symbols, kind))
        return true;
    if (!fdl_huffman_make(&t->codes, counts, symbols, kind))
        return false;
    for (size_t at = 0; at < 1u << FDL_LOOK_BITS;)
        at += fill_code(t, at);
    return true;
}
