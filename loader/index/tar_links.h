/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the files of an archive are, by name: for hard links to something else
 * than an image, which are rare. Read the first time that one is looked for.
 */
#ifndef FDL_LOADER_TAR_LINKS_H
#define FDL_LOADER_TAR_LINKS_H

#include "base/name_table.h"
#include "loader/index/tar_member.h"

struct fdl_tar_links {
    uint64_t begin, end; /* of the archive whose files these are */
    struct fdl_name_table names;
    struct fdl_tar_place {
        uint64_t begin, size;
    } * places; /* by the number of the name */
    uint64_t capacity;
};

/* Sets begin and size of m, a hard link in [begin, end). *found: its target is
 * a file there. ENOMEM, EIO. */
int32_t fdl_tar_links_follow(struct fdl_tar_links *l, struct fdl_shard *s,
                             uint64_t begin, uint64_t end,
                             struct fdl_tar_member *m, bool *found);
void fdl_tar_links_free(struct fdl_tar_links *l);

#endif
