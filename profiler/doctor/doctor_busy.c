/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/doctor/doctor_busy.h"

#include "base/compiler.h"
#include "profiler/system/sysfile.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAST_CORES 0.05

struct process {
    int32_t pid;
    uint64_t started, ticks;
    char name[32];
};

struct fdl_busy_look {
    size_t n, room;
    struct process *all;
};

/* "4711 (name with ) and blanks) R 1 ...": the name ends at the last ')'. */
static bool parse(const char *stat, struct process *p)
{
    const char *open = strchr(stat, '('), *end = strrchr(stat, ')');
    uint64_t user, system;
    if (!open || !end || end < open ||
        sscanf(end + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64
               " %" SCNu64 " %*d %*d %*d %*d %*d %*d %" SCNu64,
               &user, &system, &p->started) != 3)
        return false;
    p->ticks = user + system;
    snprintf(p->name, sizeof(p->name), "%.*s", (int)(end - open - 1), open + 1);
    for (char *c = p->name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?'; /* a name is what its process made it */
    return true;
}

static bool read_process(const char *root, const char *pid, struct process *p)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    char *stat = fdl_sysfile_read(root, path);
    p->pid = (int32_t)strtol(pid, NULL, 10);
    bool read = stat && p->pid > 0 && p->pid != getpid() && parse(stat, p);
    free(stat);
    return read;
}

static bool append(struct fdl_busy_look *look, const struct process *p)
{
    if (look->n == look->room) {
        size_t room = look->room ? 2 * look->room : 256;
        struct process *more = realloc(look->all, room * sizeof(*more));
        if (!more)
            return false;
        look->all = more;
        look->room = room;
    }
    look->all[look->n++] = *p;
    return true;
}

struct fdl_busy_look *fdl_busy_look(const char *root)
{
    char path[512];
    struct fdl_busy_look *look = calloc(1, sizeof(*look));
    snprintf(path, sizeof(path), "%s/proc", root);
    DIR *proc = look ? opendir(path) : NULL;
    if (!proc) {
        free(look);
        return NULL;
    }
    for (struct dirent *e; (e = readdir(proc));) {
        struct process p = {.pid = 0};
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
            read_process(root, e->d_name, &p) && !append(look, &p))
            break; /* of the rest nothing is known */
    }
    closedir(proc);
    return look;
}

void fdl_busy_free(struct fdl_busy_look *look)
{
    if (look)
        free(look->all);
    free(look);
}

/* A number may be given again: it is the same process if it began then. One
 * that was not there has all its time from in between. */
static uint64_t ticks_before(const struct fdl_busy_look *look,
                             const struct process *p)
{
    for (size_t i = 0; i < look->n; i++)
        if (look->all[i].pid == p->pid && look->all[i].started == p->started)
            return FDL_MIN(look->all[i].ticks, p->ticks);
    return 0;
}

static void insert(struct fdl_busy out[FDL_BUSIEST], uint32_t *n,
                   const struct fdl_busy *busy)
{
    uint32_t place = *n;
    while (place > 0 && out[place - 1].cores < busy->cores)
        place--;
    if (place == FDL_BUSIEST)
        return;
    if (*n < FDL_BUSIEST)
        ++*n;
    memmove(&out[place + 1], &out[place], (*n - place - 1) * sizeof(*out));
    out[place] = *busy;
}

uint32_t fdl_busy_between(const struct fdl_busy_look *before,
                          const struct fdl_busy_look *after, double seconds,
                          struct fdl_busy out[FDL_BUSIEST])
{
    uint32_t n = 0;
    double unit = (double)sysconf(_SC_CLK_TCK) * seconds;
    if (!before || !after || unit <= 0)
        return 0;
    for (size_t i = 0; i < after->n; i++) {
        const struct process *p = &after->all[i];
        struct fdl_busy busy = {.pid = p->pid};
        busy.cores = (double)(p->ticks - ticks_before(before, p)) / unit;
        memcpy(busy.name, p->name, sizeof(busy.name));
        if (busy.cores >= LEAST_CORES)
            insert(out, &n, &busy);
    }
    return n;
}
