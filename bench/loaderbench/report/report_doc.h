/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access to a document by path, "stall.host_fraction". What is not there, or is
 * something else than asked for, is NAN, "" or NULL: a page shows what there
 * is.
 */
#ifndef LOADERBENCH_REPORT_DOC_H
#define LOADERBENCH_REPORT_DOC_H

#include <jansson.h>

const json_t *doc_at(const json_t *doc, const char *path);
double doc_number(const json_t *doc, const char *path); /* NAN: none */
double doc_or_0(const json_t *doc, const char *path);
const char *doc_text(const json_t *doc, const char *path); /* "": none */

/* jansson's iterators want an object that they could change; they do not. */
json_t *doc_mutable(const json_t *object);

#endif
