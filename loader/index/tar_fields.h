/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of samples in tar archives: members by their extensions. What they are
 * follows from that, as in webdataset: txt is text, json JSON, cls an integer.
 */
#ifndef FDL_LOADER_TAR_FIELDS_H
#define FDL_LOADER_TAR_FIELDS_H

#include "loader/index/shard.h"
#include "loader/index/tar_label.h"
#include "loader/index/tar_member.h"

/* Zeroed memory holds none. */
struct fdl_tar_fields {
    struct fdl_cell *cells; /* [rows][fields] */
    uint64_t rows, capacity;
};

void fdl_tar_fields_free(struct fdl_tar_fields *t);

/* Whether a member of group number `group` is a field, *taken, which it then
 * is. name: for errors; text: anything. EINVAL: the group has it twice, or a
 * number that is none. */
int32_t fdl_tar_fields_take(struct fdl_tar_fields *t, struct fdl_shard *s,
                            uint64_t group, const char *extension,
                            const char *name, const struct fdl_tar_member *m,
                            struct fdl_text *text, bool *taken);

/* What a group has, to the sample that was listed last. */
int32_t fdl_tar_fields_add(const struct fdl_tar_fields *t,
                           const struct fdl_shard *s, uint64_t group);

#endif
