/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

/* Bytes that a lead byte announces; 0: it is none. */
static uint32_t bytes_of(uint32_t lead)
{
    if (lead < 0x80)
        return 1;
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

uint32_t fdl_utf8_next(const unsigned char *s, uint32_t *code)
{
    uint32_t lead = s[0], bytes = bytes_of(lead);
    /* The second byte has a narrower range after some leads: overlong forms,
     * surrogates, beyond U+10FFFF. */
    uint32_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    uint32_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    uint32_t c = bytes > 1 ? lead & (0x7fu >> bytes) : lead;
    for (uint32_t i = 1; i < bytes; i++) {
        if (s[i] < low || s[i] > high)
            return 0;
        c = c << 6 | (s[i] & 0x3fu);
        low = 0x80;
        high = 0xbf;
    }
    if (code && bytes)
        *code = c;
    return bytes;
}
