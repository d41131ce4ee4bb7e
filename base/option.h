/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option tables: one row per option, from which C setters, command line,
 * environment, job files, help and bindings are all made.
 *
 * A table is a static const array. Its values live in an fdl_options made for
 * it; code reads them by row number, which the table's owner gives names with
 * an enum. Texts are parsed in one place only, here.
 */
#ifndef FDL_BASE_OPTION_H
#define FDL_BASE_OPTION_H

#include "base/json.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FDL_OPTION_DOUBLES 16 /* most numbers in a FEEDLINE_T_DOUBLES */

struct fdl_options;

struct fdl_option {
    const char *name;              /* lower_snake */
    int32_t type;                  /* enum feedline_option_type */
    uint32_t flags;                /* FEEDLINE_OPT_* */
    int64_t min, max;              /* INT, SIZE, TIME */
    double double_min, double_max; /* DOUBLE, DOUBLES */
    const char *default_text;
    const char *unit;    /* "" if none */
    const char *choices; /* ENUM: "a|b|c"; BOOL: "false|true|more", or NULL */
    const char *help;
    const char *shorthand; /* another name that sets this row, and others that
                              have it; NULL: none */
    /* What its value has to be beyond its range, for fdl_options_check; NULL:
     * nothing. EINVAL. */
    int32_t (*check)(const struct fdl_options *o, uint32_t row);
    bool per_channel; /* DOUBLES: one for all channels, or one for each */
    uint16_t field_at, field_bytes; /* for fdl_options_fill; 0 bytes: none */
};

/* Part of a row: where fdl_options_fill puts its value. A number fits a bool,
 * an enum, and integers of 32 and 64 bits; a DOUBLE a double. */
#define FDL_OPTION_FIELD(type, member)                                         \
  .field_at = offsetof(type, member), .field_bytes = sizeof(((type *)0)->member)

struct fdl_option_value {
    int64_t number;                     /* INT, SIZE, TIME, BOOL, ENUM */
    double doubles[FDL_OPTION_DOUBLES]; /* DOUBLE uses the first */
    uint32_t n_doubles;
    char *text; /* STRING: owned */
};

/* Values of one table. One thread at a time. */
struct fdl_options {
    const char *scope; /* "loader" or an operation, for messages */
    const struct fdl_option *table;
    uint32_t n;
    struct fdl_option_value *values; /* [n] */
};

/* Every option at its default. ENOMEM. */
int32_t fdl_options_init(struct fdl_options *o, const char *scope,
                         const struct fdl_option *table, uint32_t n);
/* `to` is made, as by init. */
int32_t fdl_options_copy(struct fdl_options *to,
                         const struct fdl_options *from);
void fdl_options_fini(struct fdl_options *o);

/* One value of another set of the same table. ENOMEM. */
int32_t fdl_options_take(struct fdl_options *to, const struct fdl_options *from,
                         uint32_t row);

/* Row of `name` ('-' counts as '_'). ENOENT "loader has no option 'x'; the
 * closest is 'y'" (edit distance; no proposal where nothing is close). */
int32_t fdl_options_find(const struct fdl_options *o, const char *name,
                         uint32_t *row);

/* EINVAL: does not parse, with what would; ERANGE: with the range and unit. */
int32_t fdl_options_set(struct fdl_options *o, const char *name,
                        const char *text);
int32_t fdl_options_set_int(struct fdl_options *o, const char *name,
                            int64_t value);
int32_t fdl_options_get_int(const struct fdl_options *o, const char *name,
                            int64_t *out);

/* "a=1 b=2:3", blanks between; all or nothing. NULL is "". */
int32_t fdl_options_set_args(struct fdl_options *o, const char *args);

/* PREFIX_NAME=value for each row; the error names the variable. */
int32_t fdl_options_set_environment(struct fdl_options *o, const char *prefix);

/* [global], then [section] of an ini file: "name = value", '#' and ';' start a
 * comment. All or nothing; the error names file and line. */
int32_t fdl_options_load(struct fdl_options *o, const char *path,
                         const char *section);

/* What the rows check, one after the other, once all values are set. */
int32_t fdl_options_check(const struct fdl_options *o);

/* By row number, for code. */
int64_t fdl_option_int(const struct fdl_options *o, uint32_t row);
double fdl_option_double(const struct fdl_options *o, uint32_t row);
const char *fdl_option_text(const struct fdl_options *o, uint32_t row);
const struct fdl_option_value *fdl_option_value(const struct fdl_options *o,
                                                uint32_t row);

/* The values of all rows that have a field, into the struct that the table
 * binds them to. */
void fdl_options_fill(const struct fdl_options *o, void *out);

/* The name of a value of an ENUM row, in buf. */
const char *fdl_option_choice(const struct fdl_option *row, int64_t value,
                              char *buf, uint64_t capacity);

/* "name": value, for each row, into the open object of j. */
void fdl_options_json(const struct fdl_options *o, struct fdl_json *j);

/* One public description. ERANGE. */
int32_t fdl_option_describe(const struct fdl_option *table, uint32_t n,
                            uint32_t index, struct feedline_option_info *out);

#endif
