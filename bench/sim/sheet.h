/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of short texts, and what it looks like in a terminal and in Markdown.
 * Its texts are names and numbers of the program's own: nothing is escaped.
 */
#ifndef SIM_SHEET_H
#define SIM_SHEET_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define SHEET_CELL 56u

struct sheet {
    size_t columns;
    size_t filled; /* cells */
    char (*cells)[SHEET_CELL];
    bool failed; /* no memory: it is shown empty */
};

void sheet_init(struct sheet *s, size_t columns);
void sheet_fini(struct sheet *s);

/* Row by row from the left; the first row is the heading, the first column is
 * of names. */
void sheet_add(struct sheet *s, const char *fmt, ...) FDL_PRINTF(2, 3);

void sheet_text(const struct sheet *s, FILE *f);
void sheet_markdown(const struct sheet *s, FILE *f);

#endif
