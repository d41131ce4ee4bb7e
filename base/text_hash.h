/* SPDX-License-Identifier: Apache-2.0 */
/* A hash of a text that is the same on every machine, so it may be stored. */
#ifndef FDL_BASE_TEXT_HASH_H
#define FDL_BASE_TEXT_HASH_H

#include <stdint.h>

/* FNV-1a. */
static inline uint64_t fdl_hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
