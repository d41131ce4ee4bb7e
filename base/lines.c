/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lines.h"

#include "base/file.h"
#include "base/grow.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES (UINT64_C(1) << 20)

int32_t fdl_lines_open(struct fdl_lines *l, const char *path)
{
    *l = (struct fdl_lines){.path = path};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fdl_fail_path(path, errno);
    l->text = malloc(PIECE_BYTES);
    if (!l->text) {
        close(fd);
        return fdl_fail_memory(PIECE_BYTES, path);
    }
    l->capacity = PIECE_BYTES;
    l->fd = fd;
    return FEEDLINE_OK;
}

void fdl_lines_close(struct fdl_lines *l)
{
    if (l->text)
        close(l->fd);
    free(l->text);
    *l = (struct fdl_lines){0};
}

/* More behind what is not given out, which comes to the front. A line longer
 * than the room grows it; one byte stays free for the NUL of the last. */
static int32_t fill(struct fdl_lines *l)
{
    uint64_t left = l->end - l->begin;
    memmove(l->text, l->text + l->begin, left);
    l->at += l->begin;
    l->begin = 0;
    l->end = left;
    int32_t status =
        fdl_array_reserve(&l->text, &l->capacity, left + 1, 1, l->path);
    if (status)
        return status;
    ssize_t n;
    do {
        n = read(l->fd, l->text + left, l->capacity - left - 1);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return fdl_fail_path(l->path, errno);
    l->end += (uint64_t)n;
    l->finished = n == 0;
    return FEEDLINE_OK;
}

static char *find_end(const struct fdl_lines *l)
{
    return memchr(l->text + l->begin, '\n', l->end - l->begin);
}

int32_t fdl_lines_next(struct fdl_lines *l, struct fdl_line *out)
{
    char *stop;
    while (!(stop = find_end(l)) && !l->finished) {
        int32_t status = fill(l);
        if (status)
            return status;
    }
    *out = (struct fdl_line){.text = NULL};
    if (!stop && l->begin == l->end)
        return FEEDLINE_OK;
    char *begin = l->text + l->begin;
    if (!stop)
        stop = l->text + l->end;
    *out = (struct fdl_line){begin, (uint64_t)(stop - begin), l->at + l->begin};
    *stop = '\0';
    l->begin += out->bytes + (l->begin + out->bytes < l->end);
    return FEEDLINE_OK;
}
