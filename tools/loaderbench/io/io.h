/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench io: io.c measures, io_choice.c says what is best, io_text.c tells
 * it.
 */
#ifndef LOADERBENCH_IO_H
#define LOADERBENCH_IO_H

#include <jansson.h>
#include <stdbool.h>

/* A gain below this is noise: then the setting that costs less CPU time. */
#define IO_TIE 0.05

/* "chosen" of a document, from its "points"; NULL: no memory. fits: the data
 * set may stay in memory after the first epoch. */
json_t *io_choose(const json_t *doc, bool fits);

void io_print(const json_t *doc);

#endif
