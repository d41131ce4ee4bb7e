/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes, as workers of other loaders are. The kernel has a list for
 * each thread, of those that it started. A child that ended and was waited for
 * is in the parent's own sums, so the total never falls:
 *
 *     ours:  cutime + cstime           of each child:  utime + stime
 *                                                    + cutime + cstime
 */
#include "base/compiler.h"
#include "profiler/signals.h"
#include "profiler/signals_own.h"
#include "profiler/sysfile.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* utime is the 12th number behind the name; then stime, cutime, cstime. */
enum { UTIME = 12, FIELDS = 4 };

static bool read_ticks(const char *text, uint64_t ticks[FIELDS])
{
    const char *p = strrchr(text, ')');
    for (int i = 0; i < UTIME && p; i++) {
        p = strchr(p, ' ');
        p = p ? p + 1 : NULL;
    }
    for (int i = 0; i < FIELDS; i++)
        if (!p || !fdl_sysfile_number(&p, &ticks[i]))
            return false;
    return true;
}

static bool read_process(const struct fdl_signals *s, const char *pid,
                         uint64_t ticks[FIELDS])
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    char *text = fdl_sysfile_read(s->root, path);
    bool read = text && read_ticks(text, ticks);
    free(text);
    return read;
}

/* "ran queued times" */
static void add_queue(const struct fdl_signals *s, const char *pid,
                      struct fdl_children_signals *out)
{
    char path[64];
    uint64_t ran, queued;
    snprintf(path, sizeof(path), "/proc/%s/schedstat", pid);
    char *text = fdl_sysfile_read(s->root, path);
    const char *p = text;
    if (text && fdl_sysfile_number(&p, &ran) && fdl_sysfile_number(&p, &queued))
        out->queued_ns += queued;
    free(text);
}

static uint64_t in_ns(const struct fdl_signals *s, uint64_t ticks)
{
    return fdl_signals_scale(ticks, s->tick_ns);
}

static void add_child(const struct fdl_signals *s, const char *pid,
                      struct fdl_children_signals *out)
{
    uint64_t ticks[FIELDS];
    if (!read_process(s, pid, ticks))
        return;
    out->processes++;
    for (int i = 0; i < FIELDS; i++)
        out->cpu_ns += in_ns(s, ticks[i]);
    add_queue(s, pid, out);
}

/* "12 13 14 " */
static void add_children_of(const struct fdl_signals *s, const char *tid,
                            struct fdl_children_signals *out)
{
    char path[64], *rest = NULL;
    snprintf(path, sizeof(path), "/proc/self/task/%.16s/children", tid);
    char *text = fdl_sysfile_read(s->root, path);
    if (!text)
        return;
    for (char *pid = strtok_r(text, " \n", &rest); pid;
         pid = strtok_r(NULL, " \n", &rest))
        if (strlen(pid) <= 10)
            add_child(s, pid, out);
    free(text);
}

void fdl_signals_children(struct fdl_signals *s,
                          struct fdl_children_signals *out)
{
    uint64_t own[FIELDS];
    char *path;
    *out = (struct fdl_children_signals){0};
    if (read_process(s, "self", own))
        out->cpu_ns = in_ns(s, own[2]) + in_ns(s, own[3]);
    if (asprintf(&path, "%s/proc/self/task", s->root) < 0)
        return;
    DIR *folder = opendir(path);
    free(path);
    if (!folder)
        return;
    for (struct dirent *e; (e = readdir(folder));)
        if (e->d_name[0] != '.')
            add_children_of(s, e->d_name, out);
    closedir(folder);
}
