/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report: what JSON documents of the tool say, as one page of HTML. In
 * parts: report.c reads documents and writes the file, report_check.c refuses
 * what is none, report_page.c puts into the page of tools/loaderbench/page/
 * what a reader without scripts sees.
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

/* Reads a document and refuses, in words, what is none or lacks what the page
 * needs. The statistics of a loader, as stats() gives them, become a document
 * of `run`. Returns an exit status; the caller drops *doc in any case. */
int report_read(const char *path, json_t **doc);

/* report_read for commands that want a document of `run`; done: what they do
 * with it, for the error. */
int report_read_run(const char *done, const char *path, json_t **doc);

void report_page(FILE *f, json_t *const *docs, const char *const *names,
                 size_t n);

#endif
