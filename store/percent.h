/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text in URLs. What is not unreserved (letters, digits, "-_.~") becomes %XX;
 * that is the form that signatures are computed over.
 */
#ifndef FDL_STORE_PERCENT_H
#define FDL_STORE_PERCENT_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* Adds text; the characters in `keep` stay as they are too. */
void fdl_percent_add(struct fdl_text *t, const char *text, const char *keep);

/* In place. plus: '+' is a space. false, with the text undone in part: a % that
 * two hexadecimal digits do not follow, or a zero byte. */
FDL_NODISCARD bool fdl_percent_undo(char *text, bool plus);

struct fdl_pair {
    const char *name, *value;
};

/* Adds "name=value&...", sorted by name and value as they are encoded. */
void fdl_percent_query(struct fdl_text *t, const struct fdl_pair *pairs,
                       uint32_t n);

#endif
