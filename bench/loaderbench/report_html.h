/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text and numbers of the page. Whatever comes from a document passes through
 * html_text; a number is a <data> element: what is shown is rounded, its value
 * is what the document says, and data-key is where. Nothing here asks for the
 * locale: the tool never sets one.
 */
#ifndef LOADERBENCH_REPORT_HTML_H
#define LOADERBENCH_REPORT_HTML_H

#include <jansson.h>
#include <stdio.h>

enum html_form {
    HTML_COUNT,   /* 12 345 */
    HTML_NUMBER,  /* 12.3 */
    HTML_PERCENT, /* of a fraction: 12.3 % */
    HTML_GAIN,    /* of a fraction: as tool_gain prints it */
    HTML_SECONDS, /* 1.23 s, 4.5 ms */
    HTML_BYTES    /* 1.2 MiB */
};

#define HTML_SHOWN 40 /* bytes for a number, at most */

/* Escaped; what is no UTF-8, or a control character, is U+FFFD. */
void html_text(FILE *f, const char *text);

/* As it is shown, without any markup. NAN is an en dash. */
void html_shown(double value, enum html_form form, char out[HTML_SHOWN]);

/* key: where in the document, NULL for what was computed. */
void html_value(FILE *f, const char *key, double value, enum html_form form);

/* What is said of any value of a document: words, numbers, lists, objects. */
void html_any(FILE *f, const json_t *value);

/* <section><h2>title</h2>, and its end. */
void html_section(FILE *f, const char *title);
void html_section_end(FILE *f);

/* A table that scrolls by itself where the screen is narrow. Columns are
 * "Name|#Items|#p50 ms": with # for numbers. */
void html_table(FILE *f, const char *label, const char *columns);
void html_table_end(FILE *f);
void html_cell(FILE *f, double value, enum html_form form);
void html_text_cell(FILE *f, const char *text);

/* A key in words: "memory_limit_bytes" is "memory limit", whose values have the
 * form of bytes. */
void html_words(FILE *f, const char *key);
enum html_form html_form_of(const char *key);

#endif
