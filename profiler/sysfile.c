/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of /proc and /sys have no size until they are read, so reading grows a
 * buffer until the end comes. CPU sets come from lists in text, not from
 * sched_getaffinity: the text has no upper limit to guess (CPU_SETSIZE is 1024,
 * and the system call fails where the kernel has more), and tests can write it.
 */
#include "profiler/sysfile.h"

#include "base/compiler.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
