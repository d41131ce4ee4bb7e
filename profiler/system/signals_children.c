/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes, such as the workers of other loaders, and their own: with
 * the start method "forkserver" workers are grandchildren. For each thread the
 * kernel lists the processes it started. A child that has ended and been waited
 * for is part of its parent's sums, so the total never falls:
 *
 *     ours:  cutime + cstime           of each child:  utime + stime
 *                                                    + cutime + cstime
 */
#include "profiler/system/signals.h"
#include "profiler/system/signals_own.h"
#include "profiler/system/sysfile.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* utime is the 12th number behind the name; then stime, cutime, cstime. */
enum { UTIME = 12, FIELDS = 4 };

#define GENERATIONS 3 /* below this process */

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

static bool add_process(const struct fdl_signals *s, const char *pid,
                        struct fdl_children_signals *out)
{
    uint64_t ticks[FIELDS];
    if (!read_process(s, pid, ticks))
        return false;
    out->processes++;
    for (int i = 0; i < FIELDS; i++)
        out->cpu_ns += in_ns(s, ticks[i]);
    add_queue(s, pid, out);
    return true;
}

static void add_children(const struct fdl_signals *s, const char *pid,
                         int generations, struct fdl_children_signals *out);

/* "12 13 14 " */
static void add_children_of_thread(const struct fdl_signals *s, const char *pid,
                                   const char *tid, int generations,
                                   struct fdl_children_signals *out)
{
    char path[64], *rest = NULL;
    snprintf(path, sizeof(path), "/proc/%.10s/task/%.10s/children", pid, tid);
    char *text = fdl_sysfile_read(s->root, path);
    if (!text)
        return;
    for (char *child = strtok_r(text, " \n", &rest); child;
         child = strtok_r(NULL, " \n", &rest))
        if (strlen(child) <= 10 && add_process(s, child, out))
            add_children(s, child, generations - 1, out);
    free(text);
}

static void add_children(const struct fdl_signals *s, const char *pid,
                         int generations, struct fdl_children_signals *out)
{
    char *path;
    if (generations == 0 ||
        asprintf(&path, "%s/proc/%s/task", s->root, pid) < 0)
        return;
    DIR *folder = opendir(path);
    free(path);
    if (!folder)
        return;
    for (struct dirent *e; (e = readdir(folder));)
        if (e->d_name[0] != '.')
            add_children_of_thread(s, pid, e->d_name, generations, out);
    closedir(folder);
}

void fdl_signals_children(struct fdl_signals *s,
                          struct fdl_children_signals *out)
{
    uint64_t own[FIELDS];
    *out = (struct fdl_children_signals){0};
    if (read_process(s, "self", own))
        out->cpu_ns = in_ns(s, own[2]) + in_ns(s, own[3]);
    add_children(s, "self", GENERATIONS, out);
}
