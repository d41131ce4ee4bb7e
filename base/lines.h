/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a text file, one after the other: a piece of the file is in
 * memory at a time, however long it is. It is read and not mapped, so a file
 * that becomes shorter meanwhile is just that. One thread at a time.
 */
#ifndef FDL_BASE_LINES_H
#define FDL_BASE_LINES_H

#include <stdbool.h>
#include <stdint.h>

struct fdl_lines {
    const char *path; /* borrowed */
    int fd;
    char *text; /* a piece of the file */
    uint64_t capacity;
    uint64_t begin, end; /* what of it is not yet given out */
    uint64_t at;         /* of text, in the file */
    bool finished;       /* nothing is left to be read */
};

/* One line: `bytes` bytes and a NUL in place of its end. It may be changed, and
 * stays until the next one is asked for. */
struct fdl_line {
    char *text; /* NULL: there are no more */
    uint64_t bytes;
    uint64_t at; /* in the file */
};

/* ENOENT, EIO, ENOMEM. */
int32_t fdl_lines_open(struct fdl_lines *l, const char *path);
int32_t fdl_lines_next(struct fdl_lines *l, struct fdl_line *out);

/* Of what was opened or zeroed. */
void fdl_lines_close(struct fdl_lines *l);

#endif
