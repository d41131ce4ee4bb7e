/* SPDX-License-Identifier: Apache-2.0 */
/* Other loaders on our cores; see neighbours.h. */
#include "loader/tune/neighbours.h"

#include "base/cpu_set.h"
#include "base/status.h"
#include "loader/watch/live_reader.h"
#include "profiler/system/sysfile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A smaller want is no load: a thread that watches takes 0.01, as does a full
 * queue of prepared batches that is topped up now and then. */
#define COUNTS 0.1

/* A smaller change of the share is noise, and each makes the tuner measure
 * again. */
#define HYSTERESIS 0.2

#define SPAN_NS   INT64_C(200000000) /* pages are written every 250 ms */
#define STALE_NS  INT64_C(5000000000)
#define SMOOTHING 0.5

/* ---- The same grant ------------------------------------------------------ */

/* Is "cpu" one of "a,b,c"? The list of version 2 is empty, and counts. */
static bool names_cpu(const char *list, size_t length)
{
    if (length == 0)
        return true;
    for (const char *p = list; p < list + length;) {
        size_t word = strcspn(p, ",:");
        if (word == 3 && strncmp(p, "cpu", 3) == 0)
            return true;
        p += word + 1;
    }
    return false;
}

/* The groups for CPU of "4:cpu,cpuacct:/a\n0::/b\n", in place. */
static void keep_cpu_groups(char *text)
{
    char *to = text;
    for (char *line = text; *line;) {
        size_t bytes = strcspn(line, "\n");
        char *next = line + bytes + (line[bytes] == '\n');
        const char *list = memchr(line, ':', bytes);
        const char *group = list ? strchr(list + 1, ':') : NULL;
        if (group && group < line + bytes &&
            names_cpu(list + 1, (size_t)(group - list - 1))) {
            size_t all = (size_t)(next - line);
            memmove(to, line, all);
            to += all;
        }
        line = next;
    }
    *to = '\0';
}

/* For free(). NULL: not known. */
static char *cpu_groups(const char *root, const char *process)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%s/cgroup", process);
    char *text = fdl_sysfile_read(root, path);
    if (text)
        keep_cpu_groups(text);
    return text;
}

static bool same_groups(const char *root, const char *own, int32_t pid)
{
    char name[16];
    snprintf(name, sizeof(name), "%" PRId32, pid);
    char *theirs = own ? cpu_groups(root, name) : NULL;
    bool same = theirs && strcmp(own, theirs) == 0;
    free(theirs);
    return same;
}

/* The fraction of its cores that are ours too. */
static double overlap(int32_t pid)
{
    struct fdl_cpu_set ours, theirs;
    if (!fdl_cpu_set_of_thread(getpid(), &ours) ||
        !fdl_cpu_set_of_thread(pid, &theirs))
        return 0;
    uint32_t all = fdl_cpu_set_count(&theirs);
    fdl_cpu_set_intersect(&theirs, &ours);
    return all ? (double)fdl_cpu_set_count(&theirs) / all : 0;
}

/* 0: it draws from another grant. */
static double weigh(const struct fdl_neighbour_self *self, const char *own,
                    int32_t pid)
{
    if (pid == getpid())
        return 1;
    /* Groups without a limit draw from the machine's cores. */
    if (self->by_quota)
        return same_groups(self->root, own, pid) ? 1 : 0;
    return overlap(pid);
}

/* ---- Found --------------------------------------------------------------- */

static void drop(struct fdl_neighbours *n, uint32_t i)
{
    fdl_live_detach(n->all[i].live);
    n->all[i] = n->all[--n->n];
}

static struct fdl_neighbour *known(struct fdl_neighbours *n,
                                   const struct feedline_live_info *info)
{
    for (uint32_t i = 0; i < n->n; i++)
        if (n->all[i].pid == info->pid && n->all[i].loader == info->loader &&
            n->all[i].started_unix_ns == info->started_unix_ns)
            return &n->all[i];
    return NULL;
}

static struct fdl_neighbour *add(struct fdl_neighbours *n,
                                 const struct feedline_live_info *info,
                                 const struct fdl_neighbour_self *self)
{
    feedline_live *live;
    if (n->n == FDL_NEIGHBOURS_MAX ||
        fdl_live_attach(info->pid, info->loader, &live) < 0)
        return NULL;
    struct fdl_neighbour *x = &n->all[n->n++];
    *x = (struct fdl_neighbour){
        .pid = info->pid,
        .loader = info->loader,
        .started_unix_ns = info->started_unix_ns,
        .live = live,
        .own = info->pid == getpid() && info->loader == self->loader,
    };
    return x;
}

bool fdl_neighbours_find(struct fdl_neighbours *n,
                         const struct fdl_neighbour_self *self)
{
    struct feedline_live_info info;
    char *own = self->by_quota ? cpu_groups(self->root, "self") : NULL;
    bool new = false;
    for (uint32_t i = 0; i < n->n; i++)
        n->all[i].listed = false;
    for (uint32_t i = 0; fdl_live_list(i, &info) == FEEDLINE_OK; i++) {
        double weight = weigh(self, own, info.pid);
        struct fdl_neighbour *x = known(n, &info);
        if (!x && weight > 0) {
            x = add(n, &info, self);
            new = new || (x && !x->own);
        }
        if (x) {
            x->weight = weight;
            x->listed = weight > 0;
        }
    }
    for (uint32_t i = n->n; i-- > 0;)
        if (!n->all[i].listed)
            drop(n, i);
    free(own);
    fdl_clear_error();
    return new;
}

void fdl_neighbours_forget(struct fdl_neighbours *n)
{
    while (n->n > 0)
        drop(n, n->n - 1);
}

/* ---- Looked at ----------------------------------------------------------- */

static double rate(int64_t now, int64_t before, int64_t span)
{
    return (double)(now - before) / (double)span;
}

/* false: its loader is gone. *fresh: it has new numbers. */
static bool read_page(struct fdl_neighbour *x, int64_t now, bool *fresh)
{
    struct feedline_live_stats s;
    *fresh = false;
    if (fdl_live_read(x->live, &s) != FEEDLINE_OK)
        return false;
    if (now - s.updated_ns > STALE_NS) /* stopped: it uses nothing */
        x->want = 0;
    int64_t span = s.updated_ns - x->updated_ns;
    if (span < SPAN_NS)
        return true;
    int64_t cpu = (int64_t)s.threads.cpu_ns;
    int64_t queued = (int64_t)(s.threads.runq_ns + s.threads.throttle_ns);
    int64_t process = (int64_t)s.process_cpu_ns;
    /* Backwards: its statistics were reset. */
    if (x->updated_ns != 0 && cpu >= x->cpu_ns && queued >= x->queued_ns &&
        process >= x->process_ns) {
        x->cpu = rate(cpu, x->cpu_ns, span);
        x->queued = rate(queued, x->queued_ns, span);
        x->process = x->process_ns ? rate(process, x->process_ns, span) : 0;
        *fresh = true;
    }
    x->updated_ns = s.updated_ns;
    x->cpu_ns = cpu;
    x->queued_ns = queued;
    x->process_ns = process;
    return true;
}

/* A process's time outside workers, mainly the consumer's, is attributed to its
 * loaders by their workers' time, as an idle loader has no busy consumer. */
static double outside(const struct fdl_neighbours *n,
                      const struct fdl_neighbour *x)
{
    double cpu = 0, process = 0, loaders = 0;
    for (uint32_t i = 0; i < n->n; i++) {
        if (n->all[i].pid != x->pid)
            continue;
        cpu += n->all[i].cpu;
        process = fmax(process, n->all[i].process);
        loaders++;
    }
    double rest = fmax(process - cpu, 0);
    if (cpu > 0)
        return rest * x->cpu / cpu;
    return x->pid == getpid() ? 0 : rest / loaders;
}

void fdl_neighbours_look(struct fdl_neighbours *n, int64_t now)
{
    bool fresh[FDL_NEIGHBOURS_MAX];
    for (uint32_t i = 0; i < n->n;) {
        if (read_page(&n->all[i], now, &fresh[i]))
            i++;
        else
            drop(n, i);
    }
    for (uint32_t i = 0; i < n->n; i++) {
        struct fdl_neighbour *x = &n->all[i];
        if (!fresh[i])
            continue;
        double want = x->cpu + x->queued + outside(n, x);
        x->want =
            x->known ? (1 - SMOOTHING) * x->want + SMOOTHING * want : want;
        x->known = true;
    }
    fdl_clear_error();
}

uint32_t fdl_neighbours_wants(const struct fdl_neighbours *n,
                              double wants[FDL_NEIGHBOURS_MAX])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n->n; i++)
        if (!n->all[i].own && n->all[i].known)
            wants[count++] = n->all[i].weight * n->all[i].want;
    return count;
}

/* ---- Shared -------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

double fdl_neighbours_share(double granted, double *wants, uint32_t n)
{
    double left = granted;
    uint32_t who = n + 1; /* still to be filled, with us */
    if (n > 1)
        qsort(wants, n, sizeof(*wants), compare);
    for (uint32_t i = 0; i < n && wants[i] < left / who; i++, who--)
        left -= wants[i];
    return left / who;
}

double fdl_neighbours_part(double before, double granted, double *wants,
                           uint32_t *n)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < *n; i++)
        if (wants[i] >= COUNTS)
            wants[count++] = wants[i];
    *n = count;
    if (count == 0 || !(granted > 0))
        return 1;
    double part = fdl_neighbours_share(granted, wants, count) / granted;
    return fabs(part - before) > HYSTERESIS * before ? part : before;
}
