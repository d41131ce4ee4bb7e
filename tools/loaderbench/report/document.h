/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON documents that the tool writes, and reads again. */
#ifndef LOADERBENCH_DOCUMENT_H
#define LOADERBENCH_DOCUMENT_H

#include <jansson.h>

/* What every document says about its making: called once with the command
 * line, and with the options once they are known, which it takes over. */
void document_made_by(int argc, char **argv);
void document_made_with(json_t *options);
void document_fini(void);

/* An object with "schema_version", "command", "version", "date" (of the start,
 * UTC), "host", "command_line" and "options". */
json_t *document_new(const char *command);

/* To `path`, "-" for standard output. An exit status. */
int document_write(const json_t *doc, const char *path);

/* document_write as the last act of a command: returns `rc`, or the status of
 * writing if that fails. Drops doc. */
int document_deliver(json_t *doc, const char *path, int rc);

/* An exit status: 2 for a file that cannot be read, 3 for one that is no JSON,
 * with line and column. */
int document_read(const char *path, json_t **out);

#endif
