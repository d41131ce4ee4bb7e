/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a tar archive that make one sample, as webdataset groups them:
 * neighbours with the same name up to the first dot of their last part. Or all
 * with the same key, wherever they lie. In the order of their first members.
 */
#ifndef FDL_LOADER_TAR_GROUPS_H
#define FDL_LOADER_TAR_GROUPS_H

#include "base/grow.h"
#include "loader/index/listing.h"

#include <stdbool.h>

struct fdl_tar_group {
    uint64_t key_at, image_at, class_at; /* in names */
    uint64_t offset, size;               /* of the image */
    int64_t number;
    enum fdl_label_kind label;
    bool has_image, has_more; /* members besides image and label */
    bool is_damaged;          /* left out, with damaged=skip */
};

struct fdl_tar_groups {
    struct fdl_strings names;
    struct fdl_tar_group *groups;
    uint64_t n, capacity;
    struct fdl_name_table keys; /* of those that are joined anywhere */
};

void fdl_tar_groups_free(struct fdl_tar_groups *g);

/* Bytes of the key in front of the dot, as webdataset's base_plus_ext; 0: the
 * name has none. */
size_t fdl_tar_key_bytes(const char *name);

/* The group of that key, made if there is none; anywhere: also one that is not
 * the last. Valid until the next call. */
int32_t fdl_tar_groups_join(struct fdl_tar_groups *g, const char *key,
                            bool anywhere, struct fdl_tar_group **out);

#endif
