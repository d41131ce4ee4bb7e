/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that is replaced whole or not at all: written beside it, synced,
 * renamed. Others see the old one or the new one, whoever else writes it and
 * however this process ends. What one that was killed left beside it, the next
 * to replace the file takes away. One thread at a time.
 *
 *     fdl_replace_begin(&r, path, 0666);
 *     fdl_replace_write(&r, data, bytes);
 *     int error = fdl_replace_end(&r);
 */
#ifndef FDL_BASE_REPLACE_H
#define FDL_BASE_REPLACE_H

#include <stdbool.h>
#include <stddef.h>

#define FDL_REPLACE_NAME_BYTES   4096
#define FDL_REPLACE_BUFFER_BYTES 16384

struct fdl_replace {
    const char *path;
    int fd;        /* locked, for as long as `beside` is its name */
    int error;     /* errno of the first call that failed, or 0 */
    bool unsynced; /* what is lost with the power is no loss: no fsync */
    char beside[FDL_REPLACE_NAME_BYTES];
    size_t used; /* of the buffer, which small writes go through */
    char buffer[FDL_REPLACE_BUFFER_BYTES];
};

/* path lives until the end. An error is remembered and told at the end. */
void fdl_replace_begin(struct fdl_replace *r, const char *path, unsigned mode);
void fdl_replace_write(struct fdl_replace *r, const void *data, size_t n);

/* errno, with nothing left behind; or 0. */
int fdl_replace_end(struct fdl_replace *r);

#endif
