/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of the XML that stores answer with: elements and their text.
 * Attributes are stepped over, and a document type is refused, so nothing in a
 * page can grow. Each has a limit: how deep, how long a name and a text.
 */
#ifndef FDL_STORE_XML_H
#define FDL_STORE_XML_H

#include <stdint.h>

#define FDL_XML_DEPTH      12u
#define FDL_XML_NAME_BYTES 64u
#define FDL_XML_TEXT_BYTES 16384u /* 1,024 bytes of a key, encoded, and more */

struct fdl_xml {
    const char *names[FDL_XML_DEPTH]; /* from the outermost to this one */
    uint32_t depth;                   /* at least 1 */
    const char *text; /* of this one; if it has elements, behind the last */
};

/* An element has ended. A value below 0 ends the reading. */
typedef int32_t fdl_xml_each(void *user, const struct fdl_xml *element);

/* Reads a document of n bytes. EINVAL: "<what>: at <offset>: <why>"; ENOMEM; or
 * what `each` returned. */
int32_t fdl_xml_read(const char *data, uint64_t n, const char *what,
                     fdl_xml_each *each, void *user);

#endif
