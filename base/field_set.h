/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and kinds of the fields of samples, numbered from 0 on; and what a
 * sample has of one: a part of a file, or a number.
 */
#ifndef FDL_BASE_FIELD_SET_H
#define FDL_BASE_FIELD_SET_H

#include "base/checksum.h"
#include "base/grow.h"

#include <feedline/fields.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define FDL_FIELD_UNKNOWN 0 /* no sample has said what kind it is of */

/* Zeroed memory is an empty set. */
struct fdl_field_set {
    struct fdl_strings text;
    uint64_t at[FEEDLINE_FIELDS_MAX];
    int32_t kind[FEEDLINE_FIELDS_MAX];
    uint32_t width[FEEDLINE_FIELDS_MAX]; /* of vectors of numbers; 0: none */
    uint32_t n;
};

/* EINVAL: too many, no name, or one that is there; ENOMEM. */
int32_t fdl_field_set_add(struct fdl_field_set *s, const char *name,
                          int32_t kind);

/* Adds "txt,json", of unknown kinds. */
int32_t fdl_field_set_parse(struct fdl_field_set *s, const char *text);
int32_t fdl_field_set_copy(struct fdl_field_set *to,
                           const struct fdl_field_set *from);
void fdl_field_set_free(struct fdl_field_set *s);

const char *fdl_field_set_name(const struct fdl_field_set *s, uint32_t i);

/* Its number, -1: there is none. */
int32_t fdl_field_set_find(const struct fdl_field_set *s, const char *name);

static inline bool fdl_field_is_number(int32_t kind)
{
    return kind == FEEDLINE_FIELD_INT || kind == FEEDLINE_FIELD_FLOAT;
}

#define FDL_NO_FILE UINT32_MAX

struct fdl_cell {
    uint64_t word;      /* where its bytes begin; or the bits of the number */
    uint32_t file;      /* FDL_NO_FILE: the sample has no such field */
    uint32_t length;    /* in bytes */
    struct fdl_sum sum; /* of those */
};

/* The bits of a number that is missing. */
static inline uint64_t fdl_field_nothing(int32_t kind)
{
    return kind == FEEDLINE_FIELD_INT ? UINT64_C(1) << 63
                                      : UINT64_C(0x7ff8000000000000);
}

static inline uint64_t fdl_field_word(double number)
{
    uint64_t word;
    memcpy(&word, &number, sizeof(word));
    return word;
}

#endif
