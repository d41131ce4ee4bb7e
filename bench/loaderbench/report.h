/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page: what JSON documents of the tool say, as one file of HTML that needs
 * nothing else, no network and no script. In parts: report.c reads documents
 * and writes the file, report_check.c refuses what is none, report_page.c puts
 * the sections in order, which are a file each; they stand on report_html.c
 * (text and numbers), report_chart.c (drawings) and report_doc.c (access).
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

/* The head of a document, its title in one line of text, and its date as a
 * cell of a table; name: that of the file. */
void report_head(FILE *f, const json_t *doc, const char *name);
void report_title(FILE *f, const json_t *doc, const char *name);
void report_date_cell(FILE *f, const json_t *doc);

/* Sections of a page; those for which a document has nothing are left out. */
void report_style(FILE *f);
void report_verdict(FILE *f, const json_t *doc);
void report_numbers(FILE *f, const json_t *doc);
void report_ledger(FILE *f, const json_t *doc);
void report_timeline(FILE *f, const json_t *doc);
void report_tune(FILE *f, const json_t *doc);
void report_tuner(FILE *f, const json_t *doc);
void report_stages(FILE *f, const json_t *doc);
void report_workers(FILE *f, const json_t *doc);
void report_headroom(FILE *f, const json_t *doc);
void report_phases(FILE *f, const json_t *doc);
void report_samples(FILE *f, const json_t *doc);
void report_failures(FILE *f, const json_t *doc);
void report_grid(FILE *f, const json_t *doc);
void report_findings(FILE *f, const json_t *doc);
void report_outcome(FILE *f, const json_t *doc);
void report_facts(FILE *f, const json_t *doc);

/* A part of report_stages. */
void report_classes(FILE *f, const json_t *doc);

/* A part of report_samples: those that took longest. */
void report_slow(FILE *f, const json_t *doc);

/* A part of report_tuner: the list of what was decided. */
void report_decisions(FILE *f, const json_t *decisions);

/* A part of report_grid: the same as curves. The distinct values of an option,
 * in order; knee: NULL if it is not among these points. */
struct report_axis {
    double *at;
    size_t n;
};
void report_curves(FILE *f, const json_t *grid, const json_t *knee,
                   const struct report_axis *workers,
                   const struct report_axis *depths);

/* The causes of a wait, in the order of a batch's way; NULL past the last. */
struct report_cause {
    const char *key, *words;
};
const struct report_cause *report_cause(size_t i);

#endif
