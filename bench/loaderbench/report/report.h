/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report: what JSON documents of the tool say, as one page of HTML. In
 * parts: report.c reads documents and writes the file, report_check.c refuses
 * what is none, report_page.c puts into bench/report's page what a reader
 * without scripts sees, on report_doc.c (access).
 */
#ifndef LOADERBENCH_REPORT_H
#define LOADERBENCH_REPORT_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* Writes the page of n documents, whole or not at all, "-" for standard output;
 * names[i] is what docs[i] is called on it. Returns an exit status. */
int report_write(json_t *const *docs, const char *const *names, size_t n,
                 const char *path);

/* Is it a document of ours with all that the page needs? If not, says what is
 * wrong with it. Returns an exit status. */
int report_check(const json_t *doc, const char *name);

void report_page(FILE *f, json_t *const *docs, const char *const *names,
                 size_t n);

#endif
