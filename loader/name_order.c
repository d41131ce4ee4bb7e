/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of file names. UTF-8 sorts by bytes as it does by code point, so
 * for proper names this is strcmp. Names on disk need not be UTF-8, though,
 * and Python reads a stray byte 0xNN as the code point U+DCNN: after most
 * letters, before emoji. Labels and sample numbers depend on it.
 */
#include "loader/dataset_build.h"

/* The code point at *s, which moves behind it. RFC 3629, section 4. */
static uint32_t next_code_point(const unsigned char **s)
{
    const unsigned char *p = *s;
    uint32_t lead = p[0];
    uint32_t n = lead < 0xc2   ? 0
                 : lead < 0xe0 ? 1
                 : lead < 0xf0 ? 2
                 : lead < 0xf5 ? 3
                               : 0;
    /* The second byte has a narrower range after some leads: overlong forms,
     * surrogates, beyond U+10FFFF. */
    uint32_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    uint32_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    uint32_t code = lead & (0x3fu >> n);

    *s = p + 1;
    if (lead < 0x80)
        return lead;
    for (uint32_t i = 1; i <= n; i++) {
        if (p[i] < low || p[i] > high)
            return 0xdc00 + lead;
        code = code << 6 | (p[i] & 0x3fu);
        low = 0x80;
        high = 0xbf;
    }
    if (n == 0)
        return 0xdc00 + lead;
    *s = p + n + 1;
    return code;
}

int fdl_name_compare(const char *a, const char *b)
{
    const unsigned char *start_a = (const unsigned char *)a;
    const unsigned char *start_b = (const unsigned char *)b;
    const unsigned char *pa = start_a, *pb = start_b;
    while (*pa && *pa == *pb) {
        pa++;
        pb++;
    }
    if (*pa < 0x80 && *pb < 0x80)
        return *pa - *pb;

    uint32_t code_a, code_b;
    pa = start_a;
    pb = start_b;
    do {
        code_a = next_code_point(&pa);
        code_b = next_code_point(&pb);
    } while (code_a == code_b && code_a != 0);
    return code_a < code_b ? -1 : code_a > code_b;
}
