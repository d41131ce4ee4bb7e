/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access to a document by path, "stall.host_fraction". What is not there, or is
 * something else than asked for, is NAN, "" or NULL: what is shown is what
 * there is.
 */
#ifndef LOADERBENCH_DOC_H
#define LOADERBENCH_DOC_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

const json_t *doc_at(const json_t *doc, const char *path);
double doc_number(const json_t *doc, const char *path); /* NAN: none */
double doc_or_0(const json_t *doc, const char *path);
int64_t doc_int(const json_t *doc, const char *path);      /* 0: none */
const char *doc_text(const json_t *doc, const char *path); /* "": none */

/* The numbers at a path in the objects of a list, NULL for no list; the caller
 * frees. NULL: no memory, and *n is 0. */
double *doc_values(const json_t *list, const char *path, size_t *n);

/* Of these numbers the median, NAN: there are none; and half their range as a
 * part of it, NAN: not known, as of one. */
double doc_median(const json_t *list, const char *path);
double doc_noise(const json_t *list, const char *path);

/* A value of a document that is made; null for NAN and infinity, and for NULL
 * or what is no UTF-8, as an argument need not be. */
json_t *doc_known(double x);
json_t *doc_string(const char *text);

/* jansson's iterators want an object that they could change; they do not. */
json_t *doc_mutable(const json_t *object);

#endif
