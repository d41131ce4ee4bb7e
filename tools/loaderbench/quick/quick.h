/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench without a command: the first minute. quick_data.c finds images,
 * quick.c has doctor, run and headroom look at them, quick_text.c tells what
 * came of it, and a page of HTML has all of it.
 */
#ifndef LOADERBENCH_QUICK_H
#define LOADERBENCH_QUICK_H

#include <feedline/feedline.h>

#include <jansson.h>
#include <stdint.h>

/* ---- quick_data.c ------------------------------------------------------- */

enum quick_kind {
    QUICK_GIVEN, /* by the user: a data set as it is */
    QUICK_FOUND, /* below a folder: one that is a data set, or all images */
    QUICK_MADE   /* photos in a temporary folder */
};

struct quick_data {
    enum quick_kind kind;
    char *uri;
    char *where; /* for people, and for the next command line */
    feedline_dataset *dataset;
    char *temporary; /* folder, removed by free; NULL: none */
};

/* uri: NULL: the current folder, or photos that are made. An exit status; free
 * in any case. */
int quick_data_find(const char *uri, struct quick_data *out);
void quick_data_free(struct quick_data *d);

/* ---- quick_text.c ------------------------------------------------------- */

/* The document for people, on standard output: "data" and "run", as far as it
 * is known before anything is measured, and then the rest. */
void quick_text_found(const json_t *doc);
void quick_text(const json_t *doc);

#endif
