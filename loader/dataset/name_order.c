/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of file names. UTF-8 sorts by bytes as it does by code point, so
 * for proper names this is strcmp. Names on disk need not be UTF-8, though,
 * and Python reads a stray byte 0xNN as the code point U+DCNN: after most
 * letters, before emoji. Labels and sample numbers depend on it.
 */
#include "base/utf8.h"
#include "loader/dataset/dataset_build.h"

/* The code point at *s, which moves behind it. */
static uint32_t next_code_point(const unsigned char **s)
{
    uint32_t code = 0xdc00u + **s; /* of a stray byte */
    uint32_t bytes = fdl_utf8_next(*s, &code);
    *s += bytes ? bytes : 1;
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
