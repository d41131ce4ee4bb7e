/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include "base/grow.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_READ_BYTES 65536 /* of fdl_file_load, if the size is unknown */

int32_t fdl_fail_path(const char *path, int error)
{
    if (error == ENOENT || error == ENOTDIR)
        return fdl_fail(FEEDLINE_ENOENT, "%s: no such file or folder", path);
    return fdl_fail(FEEDLINE_EIO, "%s: %s", path, strerror(error));
}

/* Reads until the end, as a list may come through a pipe and a file may grow.
 * *buf has *capacity bytes and is the caller's in any case. */
static int32_t read_all(const char *path, int fd, void **buf,
                        uint64_t *capacity, uint64_t *bytes)
{
    uint64_t length = 0;
    for (;;) {
        int32_t status = fdl_array_reserve(buf, capacity, length + 1, 1, path);
        if (status)
            return status;
        ssize_t n = read(fd, (char *)*buf + length, *capacity - length - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fdl_fail_path(path, errno);
        if (n == 0)
            break;
        length += (uint64_t)n;
    }
    ((char *)*buf)[length] = '\0';
    *bytes = length;
    return FEEDLINE_OK;
}

int32_t fdl_file_load(const char *path, char **out, uint64_t *bytes)
{
    int32_t status = FEEDLINE_OK;
    void *buf = NULL;
    uint64_t capacity = FIRST_READ_BYTES;

    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fdl_fail_path(path, errno);

    /* One byte more than the file has, so that its end is seen without growing,
     * and one for the NUL. */
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        capacity = (uint64_t)st.st_size + 2;
    buf = malloc(capacity);
    if (!buf) {
        status = fdl_fail_memory(capacity, path);
        goto out;
    }
    status = read_all(path, fd, &buf, &capacity, bytes);
    if (status)
        goto out;
    *out = buf;
    buf = NULL;
out:
    free(buf);
    close(fd);
    return status;
}
