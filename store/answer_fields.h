/* SPDX-License-Identifier: Apache-2.0 */
/* A few named texts of an answer: credentials, errors. */
#ifndef FDL_STORE_ANSWER_FIELDS_H
#define FDL_STORE_ANSWER_FIELDS_H

#include "store/request.h"

#include <stdint.h>

/* Zeroed but for its name. A text longer than the limit makes the reading fail.
 */
#define FDL_FIELD_BYTES 16384u
struct fdl_field {
    const char *name;
    char *text; /* of the heap; NULL: there was none */
};

/* Numbers as they are written; only what the outermost object has. EINVAL,
 * beginning with `what`, with nothing of the text in it; ENOMEM. */
int32_t fdl_fields_json(const struct fdl_text *body, const char *what,
                        struct fdl_field *fields, uint32_t n);

/* Wherever they are; the first of a name. */
int32_t fdl_fields_xml(const struct fdl_text *body, const char *what,
                       struct fdl_field *fields, uint32_t n);

/* Wipes their texts. */
void fdl_fields_free(struct fdl_field *fields, uint32_t n);

#endif
