/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shard while it is indexed: bytes at an offset, through one small buffer, so
 * that formats that hop from header to header make few reads; and where what
 * is found goes. One thread at a time.
 */
#ifndef FDL_LOADER_SHARD_H
#define FDL_LOADER_SHARD_H

#include "loader/index/listing.h"
#include "store/get.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct fdl_shard {
    const char *path;
    uint64_t size;
    struct stat state; /* as it was opened */
    struct fdl_listing *list;
    const struct fdl_options *options; /* of its format */

    /* A format sets it that read other files as well, such as an index beside
     * the shard: what it found is not kept for the next start. */
    bool others;

    struct fdl_store *store; /* has it; NULL: fd */
    fdl_tag tag;             /* of the object; whoever keeps it sets NULL */
    uint64_t ahead;          /* bytes that the next part of it has */

    int fd;
    uint8_t *buffer; /* the file from `at` on, `have` bytes */
    uint64_t at, have, capacity;
};

/* Opens path. ENOENT, EIO: also where it is no regular file; ENOMEM. */
int32_t fdl_shard_open(struct fdl_shard *s, const char *path);
void fdl_shard_close(struct fdl_shard *s);

/* Whether [offset, offset + length) is inside the file. */
bool fdl_shard_has(const struct fdl_shard *s, uint64_t offset, uint64_t length);

/* n bytes from offset on, valid until the next call. EINVAL: the file ends
 * before; EIO, ENOMEM. */
int32_t fdl_shard_bytes(struct fdl_shard *s, uint64_t offset, uint64_t n,
                        const uint8_t **out);

/* A copy of them, and a NUL; *out for free(). */
int32_t fdl_shard_text(struct fdl_shard *s, uint64_t offset, uint64_t n,
                       char **out);

/* A hash of a few blocks: the first, the last, and two between whose places the
 * path decides; not 0. EIO, ENOMEM. */
int32_t fdl_shard_sample(struct fdl_shard *s, uint64_t *hash);

/* EINVAL: "PATH at OFFSET: ...". */
int32_t fdl_shard_fail(const struct fdl_shard *s, uint64_t offset,
                       const char *fmt, ...) FDL_PRINTF(3, 4);

/* Little-endian numbers of shard headers. */
static inline uint32_t fdl_le32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}
static inline uint64_t fdl_le64(const uint8_t *p)
{
    return fdl_le32(p) | (uint64_t)fdl_le32(p + 4) << 32;
}

#endif
