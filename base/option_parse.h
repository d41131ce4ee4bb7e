/* SPDX-License-Identifier: Apache-2.0 */
/* The text side of option tables, for option.c and option_ini.c. */
#ifndef FDL_BASE_OPTION_PARSE_H
#define FDL_BASE_OPTION_PARSE_H

#include "base/option.h"

/* Every field of *out is written; out->text is the caller's to free. EINVAL,
 * ERANGE or, for a STRING, ENOMEM. */
int32_t fdl_option_parse(const struct fdl_option *row, const char *text,
                         struct fdl_option_value *out);

/* Whether an INT, SIZE, TIME, BOOL or ENUM may have this value: ERANGE. */
int32_t fdl_option_check_number(const struct fdl_option *row, int64_t value);

/* Length of choice `index` of "a|b|c", which starts at *out; 0: there are not
 * that many. */
size_t fdl_option_choice_at(const char *choices, int64_t index,
                            const char **out);

/* Takes the quotes off the text that starts with '"' at s, and the backslashes
 * off \" and \\, in place. Returns what follows the closing quote; NULL, and
 * nothing is changed, if there is none. */
char *fdl_option_unquote(char *s);

#endif
