/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads come and go and may be hundreds, so their files are opened for each
 * reading: a descriptor kept for each would take away from a process that may
 * have 1024 of them.
 *
 * On the real machine a thread's CPU time is asked of its clock: the kernel
 * brings it up to date, whereas schedstat's first field of a running thread is
 * up to a tick old. The number is the same one.
 */
#include "base/compiler.h"
#include "profiler/system/signals.h"
#include "profiler/system/signals_own.h"
#include "profiler/system/sysfile.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OWN_PREFIX "feedline-"

/* status has two lists of up to 8192 CPUs before the switches. */
#define STATUS_BYTES 16384
#define LINE_BYTES   1024

/* The kernel's number of another thread's CPU clock: what
 * pthread_getcpuclockid makes of a thread, made of its id. */
static clockid_t clock_of(int32_t tid)
{
    enum { PER_THREAD = 4, SCHEDULED = 2 };
    return (clockid_t)(~(uint32_t)tid << 3 | PER_THREAD | SCHEDULED);
}

static bool read_file(const struct fdl_signals *s, int32_t tid,
                      const char *name, char *text, uint64_t capacity)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, name);
    int fd = fdl_sysfile_open(s->root, path);
    bool read = fdl_sysfile_again(fd, text, capacity);
    if (fd >= 0)
        close(fd);
    return read;
}

static bool read_clock(const struct fdl_signals *s, int32_t tid, uint64_t *ns)
{
    struct timespec t;
    if (!s->real || clock_gettime(clock_of(tid), &t) != 0)
        return false;
    *ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    return true;
}

/* "cpu_ns runq_ns times". A kernel that does not count says 0 to all three;
 * a thread that is there has run at least once. */
static bool read_schedstat(const struct fdl_signals *s, int32_t tid,
                           uint64_t *cpu_ns, uint64_t *runq_ns)
{
    char text[LINE_BYTES];
    const char *p = text;
    uint64_t cpu;
    uint64_t runq;
    uint64_t times;
    if (!read_file(s, tid, "schedstat", text, sizeof(text)) ||
        !fdl_sysfile_number(&p, &cpu) || !fdl_sysfile_number(&p, &runq) ||
        !fdl_sysfile_number(&p, &times) || times == 0)
        return false;
    *cpu_ns = cpu;
    *runq_ns = runq;
    return true;
}

static bool read_stat(const struct fdl_signals *s, int32_t tid, uint64_t *ns)
{
    char text[LINE_BYTES];
    uint64_t ticks;
    if (!read_file(s, tid, "stat", text, sizeof(text)) ||
        !fdl_signals_stat_ticks(text, &ticks))
        return false;
    *ns = fdl_signals_scale(ticks, s->tick_ns);
    return true;
}

static bool read_switches(const struct fdl_signals *s, int32_t tid,
                          struct fdl_thread_signals *t)
{
    char text[STATUS_BYTES];
    static const char voluntary[] = "\nvoluntary_ctxt_switches:";
    static const char involuntary[] = "\nnonvoluntary_ctxt_switches:";
    if (!read_file(s, tid, "status", text, sizeof(text)))
        return false;
    const char *v = strstr(text, voluntary);
    const char *i = strstr(text, involuntary);
    if (!v || !i)
        return false;
    v += strlen(voluntary);
    i += strlen(involuntary);
    return fdl_sysfile_number(&v, &t->voluntary) &&
           fdl_sysfile_number(&i, &t->involuntary);
}

bool fdl_signals_thread(struct fdl_signals *s, int32_t tid,
                        struct fdl_thread_signals *out)
{
    struct fdl_thread_signals t = {0};
    uint64_t clock_ns;
    t.has_runq = read_schedstat(s, tid, &t.cpu_ns, &t.runq_ns);
    t.has_switches = read_switches(s, tid, &t);
    bool has_cpu = t.has_runq;
    if (read_clock(s, tid, &clock_ns)) {
        t.cpu_ns = clock_ns;
        has_cpu = true;
    } else if (!has_cpu) {
        has_cpu = read_stat(s, tid, &t.cpu_ns);
    }
    if (!has_cpu)
        return false;
    if (!t.has_switches)
        t.voluntary = t.involuntary = 0;
    *out = t;
    return true;
}

/* ---- Foreign threads ---------------------------------------------------- */

static bool read_foreign(const struct fdl_signals *s, int32_t tid,
                         struct fdl_foreign_thread *out)
{
    char name[LINE_BYTES];
    uint64_t runq_ns;
    if (!read_file(s, tid, "comm", name, sizeof(name)) ||
        strncmp(name, OWN_PREFIX, strlen(OWN_PREFIX)) == 0)
        return false;
    name[strcspn(name, "\n")] = '\0';
    struct fdl_foreign_thread t = {.tid = tid};
    memcpy(t.name, name, FDL_MIN(strlen(name), sizeof(t.name) - 1));
    if (!read_clock(s, tid, &t.cpu_ns) &&
        !read_schedstat(s, tid, &t.cpu_ns, &runq_ns) &&
        !read_stat(s, tid, &t.cpu_ns))
        return false;
    *out = t;
    return true;
}

/* Keeps `list` sorted, the busiest first; the least busy falls off the end. */
static uint32_t insert(struct fdl_foreign_thread list[FDL_FOREIGN_MAX],
                       uint32_t n, const struct fdl_foreign_thread *t)
{
    uint32_t at = n;
    while (at > 0 && list[at - 1].cpu_ns < t->cpu_ns)
        at--;
    if (at == FDL_FOREIGN_MAX)
        return n;
    n = FDL_MIN(n + 1, FDL_FOREIGN_MAX);
    memmove(&list[at + 1], &list[at], (n - at - 1) * sizeof(*list));
    list[at] = *t;
    return n;
}

uint32_t fdl_signals_foreign(struct fdl_signals *s,
                             struct fdl_foreign_thread out[FDL_FOREIGN_MAX])
{
    char *path;
    if (asprintf(&path, "%s/proc/self/task", s->root) < 0)
        return 0;
    DIR *folder = opendir(path);
    uint32_t n = 0;
    free(path);
    if (!folder)
        return 0;
    for (struct dirent *e; (e = readdir(folder));) {
        char *end;
        struct fdl_foreign_thread t;
        long tid = strtol(e->d_name, &end, 10);
        if (tid > 0 && tid <= INT32_MAX && *end == '\0' &&
            read_foreign(s, (int32_t)tid, &t))
            n = insert(out, n, &t);
    }
    closedir(folder);
    return n;
}
