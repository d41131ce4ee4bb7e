/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/index/shard.h"

#include "base/memory.h"
#include "base/text_hash.h"
#include "loader/index/shard_remote.h"

#define XXH_INLINE_ALL
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* A header, and in most cases the small members behind it (labels). */
#define READ_BYTES 4096u

static int32_t fail_system(const char *path, int error)
{
    return fdl_fail(error == ENOENT || error == ENOTDIR ? FEEDLINE_ENOENT
                                                        : FEEDLINE_EIO,
                    "%s: %s", path, strerror(error));
}

int32_t fdl_shard_open(struct fdl_shard *s, const char *path)
{
    s->path = path;
    if (fdl_store_has(path))
        return fdl_shard_remote_open(s, path);
    /* O_NONBLOCK: a FIFO without a writer must not hang here. */
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (s->fd < 0)
        return fail_system(path, errno);
    if (fstat(s->fd, &s->state) != 0)
        return fail_system(path, errno);
    if (!S_ISREG(s->state.st_mode))
        return fdl_fail(FEEDLINE_EIO, "%s: not a regular file", path);
    s->size = (uint64_t)s->state.st_size;
    return FEEDLINE_OK;
}

void fdl_shard_close(struct fdl_shard *s)
{
    if (s->fd >= 0)
        close(s->fd);
    fdl_shard_remote_close(s);
    free(s->buffer);
    s->fd = -1;
    s->buffer = NULL;
}

bool fdl_shard_has(const struct fdl_shard *s, uint64_t offset, uint64_t length)
{
    return offset <= s->size && length <= s->size - offset;
}

/* The buffer becomes the n bytes from offset on, and what follows them if that
 * is not much. */
static int32_t load(struct fdl_shard *s, uint64_t offset, uint64_t n)
{
    if (s->store)
        return fdl_shard_remote_load(s, offset, n);
    uint64_t wanted = n < READ_BYTES ? READ_BYTES : n;
    if (wanted > s->size - offset)
        wanted = s->size - offset;
    s->have = 0;
    int32_t status =
        fdl_array_reserve(&s->buffer, &s->capacity, wanted, 1, s->path);
    if (status)
        return status;
    s->at = offset;
    while (s->have < wanted) {
        ssize_t got = pread(s->fd, s->buffer + s->have, wanted - s->have,
                            (off_t)(offset + s->have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fdl_fail(FEEDLINE_EIO, "%s: read at %" PRIu64 ": %s",
                            s->path, offset + s->have, strerror(errno));
        if (got == 0)
            return fdl_fail(FEEDLINE_EIO,
                            "%s: shrank to %" PRIu64
                            " bytes while it was indexed",
                            s->path, offset + s->have);
        s->have += (uint64_t)got;
    }
    return FEEDLINE_OK;
}

int32_t fdl_shard_bytes(struct fdl_shard *s, uint64_t offset, uint64_t n,
                        const uint8_t **out)
{
    if (!fdl_shard_has(s, offset, n))
        return fdl_shard_fail(s, offset,
                              "%" PRIu64 " bytes are needed, and the file ends "
                              "after %" PRIu64,
                              n, s->size);
    bool there = offset >= s->at && offset - s->at <= s->have &&
                 n <= s->have - (offset - s->at);
    int32_t status = there ? FEEDLINE_OK : load(s, offset, n);
    if (status == FEEDLINE_OK)
        *out = n > 0 ? s->buffer + (offset - s->at) : s->buffer;
    return status;
}

int32_t fdl_shard_text(struct fdl_shard *s, uint64_t offset, uint64_t n,
                       char **out)
{
    const uint8_t *bytes = NULL;
    int32_t status = fdl_shard_bytes(s, offset, n, &bytes);
    if (status)
        return status;
    char *text = malloc(n + 1);
    if (!text)
        return fdl_fail_memory(n + 1, s->path);
    if (n > 0)
        memcpy(text, bytes, n);
    text[n] = '\0';
    *out = text;
    return FEEDLINE_OK;
}

int32_t fdl_shard_sample(struct fdl_shard *s, uint64_t *hash)
{
    uint64_t blocks = (s->size + READ_BYTES - 1) / READ_BYTES;
    uint64_t draw = fdl_hash_text(s->path), found = s->size;
    int32_t status = FEEDLINE_OK;
    if (s->store) /* its stamp is of its contents */
        blocks = 0;
    for (uint32_t i = 0; blocks > 0 && status == FEEDLINE_OK && i < 4; i++) {
        const uint64_t block[] = {0, draw % blocks, (draw >> 32) % blocks,
                                  blocks - 1};
        const uint8_t *bytes;
        uint64_t at = block[i] * READ_BYTES;
        uint64_t n = FDL_MIN(READ_BYTES, s->size - at);
        status = fdl_shard_bytes(s, at, n, &bytes);
        if (status == FEEDLINE_OK)
            found = XXH64(bytes, n, found);
    }
    if (status == FEEDLINE_OK)
        *hash = found ? found : 1;
    return status;
}

int32_t fdl_shard_fail(const struct fdl_shard *s, uint64_t offset,
                       const char *fmt, ...)
{
    char why[FDL_ERROR_BYTES];
    va_list args;
    va_start(args, fmt);
    fdl_format_line(why, sizeof(why), fmt, args);
    va_end(args);
    return fdl_fail(FEEDLINE_EINVAL, "%s at %" PRIu64 ": %s", s->path, offset,
                    why);
}
