/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/index/shard_remote.h"

#include "base/text_hash.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES ((uint64_t)64 << 10)
#define MOST_BYTES  ((uint64_t)8 << 20)

/* A gap that costs less to read than a request takes. */
#define NEAR_BYTES ((uint64_t)1 << 20)

/* The stamp of an index cache: old, and of this object alone. */
static void make_state(struct fdl_shard *s)
{
    const char *tag = atomic_load_explicit(&s->tag, memory_order_relaxed);
    uint64_t hash = fdl_hash_text(tag ? tag : "");
    s->state.st_size = (off_t)s->size;
    s->state.st_ino = (ino_t)hash;
    s->state.st_mtim = (struct timespec){.tv_sec = 1};
    s->state.st_ctim = (struct timespec){.tv_sec = 1};
}

int32_t fdl_shard_remote_open(struct fdl_shard *s, const char *path)
{
    int32_t status = fdl_store_open(path, &s->store);
    if (status)
        return status;
    s->ahead = FIRST_BYTES;
    status = fdl_get_bytes(s->store, path, &s->tag, 0, FIRST_BYTES, &s->size,
                           (char **)&s->buffer, &s->have);
    if (status)
        return status;
    s->at = 0;
    s->capacity = s->have;
    make_state(s);
    return FEEDLINE_OK;
}

void fdl_shard_remote_close(struct fdl_shard *s)
{
    fdl_store_close(s->store);
    free(atomic_load_explicit(&s->tag, memory_order_relaxed));
    s->store = NULL;
    atomic_init(&s->tag, NULL);
}

int32_t fdl_shard_remote_load(struct fdl_shard *s, uint64_t offset, uint64_t n)
{
    uint64_t end = s->at + s->have, size;
    char *bytes;
    bool follows = offset >= s->at && offset <= end + NEAR_BYTES;
    s->ahead = follows ? FDL_MIN(2 * s->ahead, MOST_BYTES) : FIRST_BYTES;
    uint64_t wanted = FDL_MIN(FDL_MAX(n, s->ahead), s->size - offset);
    int32_t status = fdl_get_bytes(s->store, s->path, &s->tag, offset, wanted,
                                   &size, &bytes, &wanted);
    if (status)
        return status;
    free(s->buffer);
    s->buffer = (uint8_t *)bytes;
    s->capacity = wanted;
    s->at = offset;
    s->have = wanted;
    return FEEDLINE_OK;
}
