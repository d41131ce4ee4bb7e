/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of a list whose first line names them: path and label, perhaps offset
 * and length, and then fields.
 *
 *     path<TAB>label<TAB>caption<TAB>width:int<TAB>score:float<TAB>meta:json
 *     a/1.jpg<TAB>7<TAB>two cats<TAB>640<TAB>0.25<TAB>{"lens": "35 mm"}
 *
 * A field without a kind is text, and one of kind file is all of the file
 * that it names, relative to the folder of the list. Text and JSON are no
 * copies but parts of the list, as fields are parts of shards. An empty number
 * is one that is missing.
 */
#ifndef FDL_LOADER_LIST_COLUMNS_H
#define FDL_LOADER_LIST_COLUMNS_H

#include "base/field_set.h"
#include "base/lines.h"

#define FDL_LIST_COLUMNS 64u
#define FDL_LIST_ITSELF  (FDL_NO_FILE - 1) /* the file of such a cell */
#define FDL_LIST_VECTOR  UINT32_MAX /* a width that no line has shown yet */

struct fdl_list_columns {
    uint32_t n; /* 0: none */
    bool parts; /* offset and length are the third and fourth */
    uint32_t of_field[FEEDLINE_FIELDS_MAX]; /* which column each is */
};

/* Whether the first line of a list names columns. */
bool fdl_list_columns_are(const char *line);

/* Reads that line and the kinds of the fields that are asked for. EINVAL: too
 * many columns, or none of a field's name; list: for messages. */
int32_t fdl_list_columns_read(struct fdl_list_columns *c,
                              struct fdl_field_set *fields, const char *list,
                              char *line);

/* Cuts a line into c->n texts, in place; false: it has fewer. TABs beyond them
 * are part of the path, which is the first. */
bool fdl_list_columns_split(const struct fdl_list_columns *c, char *line,
                            char **out);

/* false: the text is no number of that kind. */
bool fdl_list_columns_number(int32_t kind, const char *text, uint64_t *word);

/* What the texts of a line have of each field, vectors aside. The number of
 * fields, or else of one that is no number of its kind. */
uint32_t fdl_list_columns_take(const struct fdl_list_columns *c,
                               const struct fdl_field_set *fields,
                               const struct fdl_line *line, char *const *texts,
                               struct fdl_cell *out);

#endif
