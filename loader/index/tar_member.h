/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a tar archive, one after the other: v7, ustar, GNU's long
 * names and base-256 numbers, pax (POSIX.1-2008 "pax Interchange Format").
 * The first block of zeros ends it; what follows is ignored, or read on.
 */
#ifndef FDL_LOADER_TAR_MEMBER_H
#define FDL_LOADER_TAR_MEMBER_H

#include "base/name_table.h"
#include "base/text.h"
#include "loader/index/shard.h"

#define FDL_TAR_BLOCK 512u

enum fdl_tar_type {
    FDL_TAR_FILE,
    FDL_TAR_HARD_LINK, /* to `link`, an earlier member; has no bytes */
    FDL_TAR_DIRECTORY,
    FDL_TAR_OTHER /* symbolic links, devices and what is unknown */
};

struct fdl_tar_member {
    const char *name, *link; /* valid until the next one is read */
    enum fdl_tar_type type;
    uint64_t begin, size; /* its bytes, inside the archive */
    struct fdl_sum sum;   /* of them; zip has one, tar none */
};

/* What extended headers say instead of the header. */
struct fdl_tar_extended {
    struct fdl_text name, link;
    uint64_t size;
    bool has_name, has_link, has_size, sparse;
};

/* Starts with shard, at, end and begin set and the rest zeroed. */
struct fdl_tar {
    struct fdl_shard *shard;
    uint64_t at, end; /* what is left of the archive */
    uint64_t begin;
    bool ignore_zeros; /* as tar's --ignore-zeros: for archives in a row */
    bool ended;        /* an end mark was seen */
    struct fdl_tar_extended next, all; /* of the next member, of all to come */
    struct fdl_text name, link;        /* of the header */
};

/* Whether a header could begin so; bytes: at least FDL_TAR_BLOCK. */
bool fdl_tar_is_header(const uint8_t *block);

/* *more: false at the end mark. EINVAL: cut, damaged or a sparse file. */
int32_t fdl_tar_next(struct fdl_tar *t, struct fdl_tar_member *m, bool *more);
void fdl_tar_free(struct fdl_tar *t);

/* Whether another archive follows behind the end mark, as `cat a.tar b.tar`
 * leaves one. */
int32_t fdl_tar_has_another(struct fdl_tar *t, bool *out);

/* Where the files of an archive are, by name: for hard links, which are rare.
 * Its headers are read again, up to the link that is followed. */
struct fdl_tar_links {
    struct fdl_tar walk; /* without a shard: not begun */
    struct fdl_name_table names;
    struct fdl_tar_place {
        uint64_t begin, size; /* 0: no file */
    } * places;               /* by the number of the name */
    uint64_t capacity;
};

/* Sets begin and size of m, the hard link that t is behind. *found: its target
 * is a file before it. ENOMEM, EIO. */
int32_t fdl_tar_links_follow(struct fdl_tar_links *l, const struct fdl_tar *t,
                             struct fdl_tar_member *m, bool *found);
void fdl_tar_links_free(struct fdl_tar_links *l);

#endif
