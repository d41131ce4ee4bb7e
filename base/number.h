/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doubles as text, the same in every locale: "0.5" is a half also where the
 * program has asked for decimal commas. Any thread.
 */
#ifndef FDL_BASE_NUMBER_H
#define FDL_BASE_NUMBER_H

#include "base/compiler.h"

#include <stdbool.h>

#define FDL_DOUBLE_BYTES 32 /* "-2.2250738585072014e-308" and room */

/* Reads digits[.digits][e[+-]digits] with an optional sign, from the first
 * byte of `text`; *end is what follows. No blanks, no hexadecimal, no names. A
 * value too large becomes an infinity. false: there is no number here. */
FDL_NODISCARD bool fdl_parse_double(const char *text, const char **end,
                                    double *out);

/* The shortest of 15, 16 and 17 digits that reads back equal. */
void fdl_format_double(char buf[FDL_DOUBLE_BYTES], double value);

#endif
