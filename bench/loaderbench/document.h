/* SPDX-License-Identifier: Apache-2.0 */
/* Documents that the tool wrote, read again, and files that are replaced as a
 * whole. What goes wrong is said. */
#ifndef LOADERBENCH_DOCUMENT_H
#define LOADERBENCH_DOCUMENT_H

#include <jansson.h>
#include <stddef.h>

/* An exit status: 2 for a file that cannot be read, 3 for one that is no JSON,
 * with line and column. */
int document_read(const char *path, json_t **out);

/* The file is there whole or, if this fails, as it was before. "-" is standard
 * output; what is no regular file (a pipe, a terminal) is written to. */
int document_replace(const char *path, const char *text, size_t bytes);

#endif
