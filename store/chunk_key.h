/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of an object in a chunk cache (chunk_cache.h): hashes (SHA-256), so
 * a folder shows neither locations nor what signs them.
 *
 * What follows '?' names objects too, but for the parts that only sign it: a
 * URL that is signed anew is the same object.
 */
#ifndef FDL_STORE_CHUNK_KEY_H
#define FDL_STORE_CHUNK_KEY_H

#include "store/sha256.h"

struct fdl_chunk_key {
    char path[64];              /* "GROUP/OBJECT", of its location */
    struct fdl_digest identity; /* of that, and of its ETag */
};

#define FDL_CHUNK_GROUP_BYTES 17 /* with a NUL */

/* query: "?..." or NULL. */
void fdl_chunk_key_make(const char *location, const char *query,
                        const char *tag, struct fdl_chunk_key *out);

/* Of all objects whose locations are the same up to the last '/'. */
void fdl_chunk_group(const char *location, char out[FDL_CHUNK_GROUP_BYTES]);

#endif
