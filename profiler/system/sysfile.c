/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of /proc and /sys have no size until they are read, so reading grows a
 * buffer until the end comes.
 */
#include "profiler/system/sysfile.h"

#include "base/compiler.h"

#include <ctype.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* mountinfo of a host full of containers is a few hundred KiB. */
#define MAX_BYTES ((size_t)16 << 20)

static char *read_all(FILE *f)
{
    size_t capacity = 4096;
    size_t length = 0;
    char *text = malloc(capacity);
    while (text) {
        length += fread(text + length, 1, capacity - 1 - length, f);
        if (length < capacity - 1 || capacity >= MAX_BYTES)
            break;
        capacity *= 2;
        char *more = realloc(text, capacity);
        if (!more)
            free(text);
        text = more;
    }
    if (!text)
        return NULL;
    text[length] = '\0';
    if (ferror(f)) {
        free(text);
        return NULL;
    }
    return text;
}

char *fdl_sysfile_read(const char *root, const char *path)
{
    char *full = NULL;
    char *text = NULL;
    if (asprintf(&full, "%s%s", root, path) < 0)
        return NULL;
    FILE *f = fopen(full, "re");
    if (f) {
        text = read_all(f);
        fclose(f);
    }
    free(full);
    return text;
}

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t");
}

bool fdl_sysfile_field(const char *text, const char *key, char *value,
                       uint64_t capacity)
{
    size_t key_length = strlen(key);
    for (const char *line = text; line && *line;) {
        const char *end = strchr(line, '\n');
        const char *p = skip_blanks(line + FDL_MIN(key_length, strlen(line)));
        if (strncmp(line, key, key_length) == 0 && *p == ':') {
            p = skip_blanks(p + 1);
            size_t length = strcspn(p, "\n");
            while (length > 0 && isspace((unsigned char)p[length - 1]))
                length--;
            length = FDL_MIN(length, (size_t)capacity - 1);
            memcpy(value, p, length);
            value[length] = '\0';
            return true;
        }
        line = end ? end + 1 : NULL;
    }
    return false;
}

bool fdl_sysfile_number(const char **p, uint64_t *value)
{
    const char *start = skip_blanks(*p);
    char *end;
    if (!isdigit((unsigned char)*start))
        return false;
    unsigned long long number = strtoull(start, &end, 10);
    if (*end == '\0' || !strchr(" \t\n/", *end))
        return false;
    *p = end;
    *value = number;
    return true;
}

bool fdl_sysfile_count(const char *text, const char *key, uint64_t *value)
{
    size_t length = strlen(key);
    for (const char *line = text; line && *line;) {
        const char *end = strchr(line, '\n');
        if (strncmp(line, key, length) == 0 && line[length] == ' ') {
            const char *p = line + length;
            return fdl_sysfile_number(&p, value);
        }
        line = end ? end + 1 : NULL;
    }
    return false;
}

int fdl_sysfile_open(const char *root, const char *path)
{
    char *full;
    if (asprintf(&full, "%s%s", root, path) < 0)
        return -1;
    int fd = open(full, O_RDONLY | O_CLOEXEC);
    free(full);
    return fd;
}

bool fdl_sysfile_again(int fd, char *text, uint64_t capacity)
{
    uint64_t length = 0;
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0 && length < capacity - 1) {
        n = pread(fd, text + length, capacity - 1 - length, (off_t)length);
        length += n > 0 ? (uint64_t)n : 0;
    }
    text[n < 0 ? 0 : length] = '\0';
    return n >= 0;
}
