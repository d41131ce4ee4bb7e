/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From "PATHS?option=value&..." to what all shards hold: the shards are found,
 * then each is listed by its format, several at a time.
 */
#ifndef FDL_LOADER_INDEX_H
#define FDL_LOADER_INDEX_H

#include "loader/index/index_format.h"

struct fdl_index {
    struct fdl_string_list shards;
    struct fdl_listing *listings; /* [shards.n] */
    struct fdl_field_set *fields; /* asked for, of unknown kinds; or NULL */
    bool needs_fields;            /* of every sample */
};

/* The error is that of the first shard that has one; nothing is left behind
 * then. What is odd goes to the log. */
int32_t fdl_index_build(const struct fdl_index_format *format, const char *spec,
                        struct fdl_index *out);
void fdl_index_free(struct fdl_index *index);

#endif
