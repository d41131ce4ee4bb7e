/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of CPUs; see cpu_set.h. */
#include "base/cpu_set.h"

#include "base/compiler.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Text ---------------------------------------------------------------- */

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
    const char *p = text + strspn(text, " \t");
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

void fdl_cpu_set_print(const struct fdl_cpu_set *set, char *text,
                       uint64_t capacity)
{
    uint64_t length = 0;
    text[0] = '\0';
    for (uint32_t cpu = 0; cpu < FDL_CPU_SET_MAX; cpu++) {
        char range[32];
        uint32_t first = cpu;
        if (!fdl_cpu_set_has(set, cpu))
            continue;
        while (fdl_cpu_set_has(set, cpu + 1))
            cpu++;
        const char *comma = length ? "," : "";
        int n =
            first == cpu
                ? snprintf(range, sizeof(range), "%s%u", comma, first)
                : snprintf(range, sizeof(range), "%s%u-%u", comma, first, cpu);
        if (length + (uint64_t)n >= capacity)
            return;
        memcpy(text + length, range, (size_t)n + 1);
        length += (uint64_t)n;
    }
}

/* ---- Sets ---------------------------------------------------------------- */

uint32_t fdl_cpu_set_count(const struct fdl_cpu_set *set)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < FDL_COUNT_OF(set->word); i++)
        for (uint64_t w = set->word[i]; w; w &= w - 1)
            n++;
    return n;
}

bool fdl_cpu_set_has(const struct fdl_cpu_set *set, uint32_t cpu)
{
    return cpu < FDL_CPU_SET_MAX && set->word[cpu / 64] >> cpu % 64 & 1;
}

void fdl_cpu_set_intersect(struct fdl_cpu_set *into,
                           const struct fdl_cpu_set *other)
{
    for (uint32_t i = 0; i < FDL_COUNT_OF(into->word); i++)
        into->word[i] &= other->word[i];
}

/* ---- Threads ------------------------------------------------------------- */

bool fdl_cpu_set_of_thread(int32_t tid, struct fdl_cpu_set *set)
{
    struct fdl_cpu_set found = {{0}};
    if (sched_getaffinity(tid, sizeof(found.word),
                          (cpu_set_t *)(void *)found.word) != 0)
        return false;
    *set = found;
    return true;
}

int fdl_cpu_set_bind(const struct fdl_cpu_set *set)
{
    return sched_setaffinity(0, sizeof(set->word),
                             (const cpu_set_t *)(const void *)set->word) == 0
               ? 0
               : errno;
}
