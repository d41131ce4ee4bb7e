/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8, as RFC 3629 defines it: no overlong forms, no surrogates, nothing
 * beyond U+10FFFF. */
#ifndef FDL_BASE_UTF8_H
#define FDL_BASE_UTF8_H

#include <stdint.h>

/* Bytes of the character at s, 1 to 4, and its code point; 0 if there is none.
 * Reads past s[0] only as long as the bytes before continue a character, so a
 * NUL ends any text safely. code may be NULL. */
uint32_t fdl_utf8_next(const unsigned char *s, uint32_t *code);

#endif
