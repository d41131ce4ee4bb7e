/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of /proc and /sys have no size until they are read, so reading grows a
 * buffer until the end comes. CPU sets come from lists in text, not from
 * sched_getaffinity: the text has no upper limit to guess (CPU_SETSIZE is 1024,
 * and the system call fails where the kernel has more), and tests can write it.
 */
#include "profiler/system/sysfile.h"

#include "base/compiler.h"

#include <ctype.h>
#include <errno.h>
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

/* A decimal number below FDL_CPU_SET_MAX; larger ones are held at it. */
static bool parse_cpu(const char **p, uint32_t *cpu)
{
    char *end;
    if (!isdigit((unsigned char)**p))
        return false;
    errno = 0;
    unsigned long value = strtoul(*p, &end, 10);
    if (errno)
        return false;
    *cpu = (uint32_t)FDL_MIN(value, (unsigned long)FDL_CPU_SET_MAX);
    *p = end;
    return true;
}

bool fdl_cpu_set_parse(struct fdl_cpu_set *set, const char *text)
{
    struct fdl_cpu_set parsed = {{0}};
    const char *p = skip_blanks(text);
    for (;;) {
        uint32_t first;
        uint32_t last;
        if (!parse_cpu(&p, &first))
            return false;
        last = first;
        if (*p == '-') {
            p++;
            if (!parse_cpu(&p, &last) || last < first)
                return false;
        }
        for (uint32_t cpu = first; cpu <= last && cpu < FDL_CPU_SET_MAX; cpu++)
            parsed.word[cpu / 64] |= UINT64_C(1) << cpu % 64;
        if (*p != ',')
            break;
        p++;
    }
    if (p[strspn(p, " \t\n")] != '\0')
        return false;
    *set = parsed;
    return true;
}

uint32_t fdl_cpu_set_count(const struct fdl_cpu_set *set)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < FDL_COUNT_OF(set->word); i++)
        for (uint64_t w = set->word[i]; w; w &= w - 1)
            n++;
    return n;
}

void fdl_cpu_set_intersect(struct fdl_cpu_set *into,
                           const struct fdl_cpu_set *other)
{
    for (uint32_t i = 0; i < FDL_COUNT_OF(into->word); i++)
        into->word[i] &= other->word[i];
}
