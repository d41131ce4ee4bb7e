/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one shard holds, in the order in which it holds it. A format adds a
 * sample, then says its label, if it has one:
 *
 *     fdl_listing_add(l, "n01440764/10026.jpg", offset, length);
 *     fdl_listing_class(l, "n01440764");
 *
 * and what it has of the fields that are asked for.
 *
 * One thread at a time.
 */
#ifndef FDL_LOADER_LISTING_H
#define FDL_LOADER_LISTING_H

#include "base/checksum.h"
#include "base/field_set.h"
#include "base/grow.h"
#include "base/name_table.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum fdl_label_kind {
    FDL_LABEL_NONE,   /* nobody said one */
    FDL_LABEL_NUMBER, /* as they are */
    FDL_LABEL_CLASS   /* names; numbered once all shards are known */
};

struct fdl_listed {
    uint64_t offset;  /* in the shard */
    uint64_t name_at; /* in names; empty: it has none */
    int64_t label;    /* FDL_LABEL_CLASS: which of this listing's classes */
    uint32_t length;  /* bytes */
    struct fdl_image_sum sum;
};

/* Something that is no error and that users wonder about later, such as members
 * that are left out: how often, and the first. */
#define FDL_ODDITIES          8u
#define FDL_ODDITY_NAME_BYTES 96u
struct fdl_oddity {
    const char *what; /* "no label", a text that lives on */
    uint64_t count;
    char first[FDL_ODDITY_NAME_BYTES];
};

struct fdl_listing {
    const char *path; /* of the shard, for messages; NULL: not known */
    char *tag;        /* of an object: what it was when it was listed */
    struct fdl_listed *samples;
    uint64_t count, capacity;
    struct fdl_strings names;
    enum fdl_label_kind labels; /* of all its samples */
    uint64_t labelled;          /* samples that have one */
    bool summed;                /* one of them has a checksum */
    struct fdl_name_table classes;
    const struct fdl_field_set *fields; /* asked for; NULL: none */
    uint8_t kinds[FEEDLINE_FIELDS_MAX]; /* found, enum feedline_field_kind */
    struct fdl_cell *cells; /* [count][fields->n], or NULL; file: 0 */
    uint64_t cells_capacity;
    struct fdl_oddity oddities[FDL_ODDITIES];
    uint32_t n_oddities;
};

/* It is empty then: the shard may be listed anew. */
void fdl_listing_free(struct fdl_listing *l);

/* name: "" for none. EINVAL: 4 GiB or more; ENOMEM. */
int32_t fdl_listing_add(struct fdl_listing *l, const char *name,
                        uint64_t offset, uint64_t length);

/* The label of the sample that was added last, once. EINVAL: the others have
 * labels of another kind. */
int32_t fdl_listing_number(struct fdl_listing *l, int64_t label);
int32_t fdl_listing_class(struct fdl_listing *l, const char *name);

/* The label of that sample, by the folder that a member's name is in:
 * "train/ant/1.jpg" is of class "ant". Nothing where it is in none. */
int32_t fdl_listing_class_of_folder(struct fdl_listing *l, const char *member);

/* The checksum of the sample that was added last: of bytes `begin` to `end` of
 * the shard, which its image is in. */
void fdl_listing_sum(struct fdl_listing *l, struct fdl_sum sum, uint64_t begin,
                     uint64_t end);

/* What the sample that was added last has of a field: bytes of the shard, or a
 * number. EINVAL: others have it as another kind, or 4 GiB. */
int32_t fdl_listing_part(struct fdl_listing *l, uint32_t field, int32_t kind,
                         uint64_t offset, uint64_t length);
int32_t fdl_listing_cell(struct fdl_listing *l, uint32_t field, int32_t kind,
                         uint64_t word);

/* The checksum of such bytes, where they have one of their own. */
void fdl_listing_part_sum(struct fdl_listing *l, uint32_t field,
                          struct fdl_sum sum);

/* Forgets the sample that was added last, which has no label yet. */
void fdl_listing_drop(struct fdl_listing *l);

/* what: static. Kinds beyond FDL_ODDITIES are not counted. */
void fdl_listing_odd(struct fdl_listing *l, const char *what,
                     const char *first);

#endif
