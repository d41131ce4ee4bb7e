/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where results go: files, which are tried before anything is measured and
 * replaced as a whole, and standard output, whose errors count.
 */
#ifndef LOADERBENCH_OUTPUT_H
#define LOADERBENCH_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/* First thing in main: a descriptor 0, 1 or 2 that was closed must not become
 * that of the next file, and a reader that went away is an error like any. */
void output_begin(void);

/* Last thing in main: the exit status, which is TOOL_ENVIRONMENT if not all of
 * standard output could be written. */
int output_end(int rc);

/* Can `path` be written? Changes nothing. An exit status; `option`, the one
 * that the path was given with, is named in the message. "-" is fine. */
int output_check(const char *option, const char *path);

/* May a report be printed? Not with --quiet, and not where the document or the
 * page goes to standard output. json, report: their paths, or NULL. */
bool output_is_free(bool quiet, const char *json, const char *report);

/* The file is there whole or, if this fails, as it was before. "-" is standard
 * output; what is no regular file (a pipe, a terminal) is written to. An exit
 * status. */
int output_write(const char *path, const char *text, size_t bytes);

#endif
