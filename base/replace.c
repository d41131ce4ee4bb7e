/* SPDX-License-Identifier: Apache-2.0 */
#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void fdl_replace_begin(struct fdl_replace *r, const char *path, unsigned mode)
{
    static _Atomic uint32_t begun; /* several may be in progress */
    r->path = path;
    r->fd = -1;
    r->used = 0;
    do {
        int length = snprintf(
            r->beside, sizeof(r->beside), "%s.tmp.%ld.%" PRIu32, path,
            (long)getpid(),
            atomic_fetch_add_explicit(&begun, 1, memory_order_relaxed));
        if (length < 0 || (size_t)length >= sizeof(r->beside)) {
            r->error = ENAMETOOLONG;
            return;
        }
        /* Another host or a killed process may have had this number. */
        r->fd = open(r->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    } while (r->fd < 0 && errno == EEXIST);
    r->error = r->fd < 0 ? errno : 0;
}

static void write_out(struct fdl_replace *r, const char *at, size_t n)
{
    while (n > 0 && !r->error) {
        ssize_t wrote = write(r->fd, at, n);
        if (wrote < 0 && errno != EINTR)
            r->error = errno;
        at += wrote > 0 ? wrote : 0;
        n -= wrote > 0 ? (size_t)wrote : 0;
    }
}

void fdl_replace_write(struct fdl_replace *r, const void *data, size_t n)
{
    if (n > sizeof(r->buffer) - r->used) {
        write_out(r, r->buffer, r->used);
        r->used = 0;
    }
    if (n > sizeof(r->buffer)) {
        write_out(r, data, n);
        return;
    }
    if (n > 0)
        memcpy(r->buffer + r->used, data, n);
    r->used += n;
}

int fdl_replace_end(struct fdl_replace *r)
{
    if (r->fd < 0)
        return r->error;
    write_out(r, r->buffer, r->used);
    if (!r->error && fsync(r->fd) < 0 && errno != EINVAL)
        r->error = errno;
    if (close(r->fd) < 0 && !r->error)
        r->error = errno;
    if (!r->error && rename(r->beside, r->path) < 0)
        r->error = errno;
    if (r->error)
        unlink(r->beside);
    r->fd = -1;
    return r->error;
}
