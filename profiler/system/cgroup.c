/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two files lead to the limits. /proc/self/cgroup says which group the process
 * is in, one line per hierarchy; /proc/self/mountinfo says where each hierarchy
 * is mounted and which of its groups is at the mount point:
 *
 *   4:cpu,cpuacct:/docker/ab12/job             the group
 *   ... /docker/ab12 /sys/fs/cgroup/cpu ...    root and mount point
 *   -> /sys/fs/cgroup/cpu/job, then /sys/fs/cgroup/cpu
 *
 * From the group's folder we go up to the mount point, and the smallest limit
 * on the way counts. Where the group does not lie below the mount's root (a
 * cgroup namespace shows "/" or "/../..", a container may show its host's path)
 * the mount point itself is the nearest group that can be known to be ours.
 *
 * A version 2 hierarchy without controllers (hybrid systems) has none of the
 * files, which counts as no limit, so both versions are always looked at.
 */
#include "profiler/system/cgroup.h"

#include "base/compiler.h"
#include "profiler/system/sysfile.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Version 1 says "no limit" with the largest multiple of a page. */
#define MEMORY_UNLIMITED (UINT64_C(1) << 60)

/* One line of mountinfo, cut in place. */
struct mount {
    char *root;
    char *point;
    char *type;
    char *options;
};

/* A whole decimal number followed by a blank or the end; 0 for anything else,
 * such as "max" and -1. */
static uint64_t parse_count(const char *text)
{
    text += strspn(text, " \t");
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || !strchr(" \t\n", text[digits]))
        return 0;
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    return errno ? 0 : value;
}

/* Microseconds of core time per period. */
static void lower_quota(struct fdl_cgroup_limits *l, const char *quota,
                        const char *period)
{
    uint64_t granted = parse_count(quota);
    uint64_t every = parse_count(period);
    if (granted == 0 || every == 0)
        return;
    double cores = (double)granted / (double)every;
    if (l->cpu_quota <= 0 || cores < l->cpu_quota)
        l->cpu_quota = cores;
}

static void lower_memory(struct fdl_cgroup_limits *l, const char *text)
{
    uint64_t bytes = parse_count(text);
    if (bytes > 0 && bytes < MEMORY_UNLIMITED && bytes < l->memory_bytes)
        l->memory_bytes = bytes;
}

static void narrow_cpus(struct fdl_cgroup_limits *l, const char *text)
{
    struct fdl_cpu_set set;
    if (!fdl_cpu_set_parse(&set, text))
        return;
    if (l->has_cpus)
        fdl_cpu_set_intersect(&l->cpus, &set);
    else
        l->cpus = set;
    l->has_cpus = true;
}

/* The file of a group as text for free(), NULL if there is none. */
static char *read_group(const char *root, const char *folder, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return NULL;
    char *text = fdl_sysfile_read(root, path);
    free(path);
    return text;
}

static void read_cpu(struct fdl_cgroup_limits *l, const char *root,
                     const char *folder)
{
    char *quota = read_group(root, folder, "cpu.cfs_quota_us");
    char *period = read_group(root, folder, "cpu.cfs_period_us");
    if (quota && period)
        lower_quota(l, quota, period);
    free(quota);
    free(period);
}

static void read_memory(struct fdl_cgroup_limits *l, const char *root,
                        const char *folder)
{
    char *text = read_group(root, folder, "memory.limit_in_bytes");
    if (text)
        lower_memory(l, text);
    free(text);
}

static void read_cpuset(struct fdl_cgroup_limits *l, const char *root,
                        const char *folder)
{
    static const char *const names[] = {"cpuset.cpus", "cpuset.effective_cpus"};
    for (size_t i = 0; i < FDL_COUNT_OF(names); i++) {
        char *text = read_group(root, folder, names[i]);
        if (text)
            narrow_cpus(l, text);
        free(text);
    }
}

/* "200000 100000", "max 100000"; the period may be left out. */
static void read_unified(struct fdl_cgroup_limits *l, const char *root,
                         const char *folder)
{
    char *cpu = read_group(root, folder, "cpu.max");
    char *memory = read_group(root, folder, "memory.max");
    char *cpus = read_group(root, folder, "cpuset.cpus.effective");
    const char *period = cpu ? strchr(cpu, ' ') : NULL;
    if (cpu)
        lower_quota(l, cpu, period ? period : "100000");
    if (memory)
        lower_memory(l, memory);
    if (cpus)
        narrow_cpus(l, cpus);
    free(cpu);
    free(memory);
    free(cpus);
}

static const struct {
    const char *name;
    void (*read)(struct fdl_cgroup_limits *l, const char *root,
                 const char *folder);
} controllers[] = {
    {"cpu", read_cpu},
    {"memory", read_memory},
    {"cpuset", read_cpuset},
    {FDL_CGROUP_UNIFIED, read_unified},
};

/* Is `name` one of "a,b,c"? */
static bool in_list(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *p = list; p; p = strchr(p, ',')) {
        p += *p == ',';
        if (strcspn(p, ",") == length && strncmp(p, name, length) == 0)
            return true;
    }
    return false;
}

/* The part of `path` below `root`; NULL if it does not lie there. */
static const char *below(const char *path, const char *root)
{
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(path, root, length) != 0)
        return NULL;
    path += length;
    if (*path != '\0' && *path != '/')
        return NULL;
    if (strncmp(path, "/..", 3) == 0)
        return NULL;
    return strcmp(path, "/") == 0 ? "" : path;
}

/* mountinfo writes blanks and backslashes as three octal digits. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        if (from[0] == '\\' && strspn(from + 1, "01234567") >= 3) {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 +
                         (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* "31 23 0:28 ROOT POINT options [tags...] - TYPE source OPTIONS" */
static bool parse_mount(char *line, struct mount *m)
{
    char *field[5];
    char *rest = line;
    for (size_t i = 0; i < FDL_COUNT_OF(field); i++) {
        field[i] = strsep(&rest, " ");
        if (!rest)
            return false;
    }
    rest = strstr(rest, " - ");
    if (!rest)
        return false;
    rest += 3;
    m->root = field[3];
    m->point = field[4];
    m->type = strsep(&rest, " ");
    if (!rest || !strsep(&rest, " ") || !rest)
        return false;
    m->options = rest;
    unescape(m->root);
    unescape(m->point);
    return true;
}

static bool mount_has(const struct mount *m, const char *controller)
{
    if (strcmp(controller, FDL_CGROUP_UNIFIED) == 0)
        return strcmp(m->type, "cgroup2") == 0;
    return strcmp(m->type, "cgroup") == 0 && in_list(m->options, controller);
}

/* Where the group `path` of a controller is, as "<point><rest>" with the length
 * of the point; NULL if it is not mounted. A mount that contains the group
 * comes before one that does not. */
static char *find_folder(const char *mountinfo, const char *controller,
                         const char *path, size_t *point_length)
{
    char *folder = NULL;
    char *text = strdup(mountinfo);
    char *rest = text;
    bool contained = false;
    for (char *line; !contained && (line = strsep(&rest, "\n"));) {
        struct mount m;
        if (!parse_mount(line, &m) || !mount_has(&m, controller))
            continue;
        const char *tail = below(path, m.root);
        char *candidate;
        if ((folder && !tail) ||
            asprintf(&candidate, "%s%s", m.point, tail ? tail : "") < 0)
            continue;
        contained = tail != NULL;
        free(folder);
        folder = candidate;
        *point_length = strlen(m.point);
    }
    free(text);
    return folder;
}

/* The path of the process in a hierarchy, in place; NULL if it is in none. */
static char *find_group(char *cgroup, const char *controller)
{
    char *rest = cgroup;
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *id = strsep(&line, ":");
        char *names = strsep(&line, ":");
        if (!names || !line || *line != '/')
            continue;
        bool unified = strcmp(id, "0") == 0 && *names == '\0';
        if (strcmp(controller, FDL_CGROUP_UNIFIED) == 0
                ? unified
                : in_list(names, controller))
            return line;
    }
    return NULL;
}

/* The folder of the process's group, from the texts of the two files. */
static char *locate(const char *cgroup, const char *mountinfo,
                    const char *controller, size_t *point_length)
{
    char *text = strdup(cgroup);
    const char *path = text ? find_group(text, controller) : NULL;
    char *folder =
        path ? find_folder(mountinfo, controller, path, point_length) : NULL;
    free(text);
    return folder;
}

char *fdl_cgroup_folder(const char *root, const char *controller,
                        size_t *point_length)
{
    char *cgroup = fdl_sysfile_read(root, "/proc/self/cgroup");
    char *mountinfo = fdl_sysfile_read(root, "/proc/self/mountinfo");
    char *folder = cgroup && mountinfo
                       ? locate(cgroup, mountinfo, controller, point_length)
                       : NULL;
    free(cgroup);
    free(mountinfo);
    return folder;
}

bool fdl_cgroup_up(char *folder, size_t point_length)
{
    if (strlen(folder) <= point_length)
        return false;
    *strrchr(folder, '/') = '\0';
    return true;
}

void fdl_cgroup_read_folder(struct fdl_cgroup_limits *out, const char *root,
                            const char *controller, const char *folder)
{
    struct fdl_cgroup_limits l = {.memory_bytes = UINT64_MAX};
    for (size_t i = 0; i < FDL_COUNT_OF(controllers); i++)
        if (strcmp(controllers[i].name, controller) == 0)
            controllers[i].read(&l, root, folder);
    *out = l;
}

void fdl_cgroup_read(struct fdl_cgroup_limits *out, const char *root)
{
    struct fdl_cgroup_limits l = {.memory_bytes = UINT64_MAX};
    char *cgroup = fdl_sysfile_read(root, "/proc/self/cgroup");
    char *mountinfo = fdl_sysfile_read(root, "/proc/self/mountinfo");
    for (size_t i = 0; cgroup && mountinfo && i < FDL_COUNT_OF(controllers);
         i++) {
        size_t point = 0;
        char *folder = locate(cgroup, mountinfo, controllers[i].name, &point);
        bool more = folder != NULL;
        while (more) {
            controllers[i].read(&l, root, folder);
            more = fdl_cgroup_up(folder, point);
        }
        free(folder);
    }
    free(cgroup);
    free(mountinfo);
    *out = l;
}
