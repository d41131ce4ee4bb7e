/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of this host, by their live pages; see top_job.h. */
#include "tools/loaderbench/tool.h"
#include "tools/loaderbench/top/top_job.h"

#include <feedline/live.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A loader of the job. */
struct watched {
    feedline_live *live;
    struct feedline_live_stats before;
};

struct all {
    struct watched *watched;
    size_t n, capacity;
};

static bool read_page(feedline_live *live, struct feedline_live_stats *out)
{
    out->struct_size = sizeof(*out);
    return feedline_live_read(live, out) == FEEDLINE_OK;
}

/* Takes the view over. false: no memory. */
static bool keep(struct all *a, feedline_live *live,
                 const struct feedline_live_stats *now)
{
    if (a->n == a->capacity) {
        size_t more = 2 * a->capacity + 16;
        void *p = realloc(a->watched, more * sizeof(*a->watched));
        if (!p) {
            feedline_live_detach(live);
            return false;
        }
        a->watched = p;
        a->capacity = more;
    }
    a->watched[a->n++] = (struct watched){live, *now};
    return true;
}

/* 0: there is none. */
static int32_t parent_of(int32_t pid)
{
    char path[32], text[512], *end;
    int parent = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    /* PID (NAME) STATE PARENT: a name may have brackets of its own. */
    if (fgets(text, sizeof(text), f) && (end = strrchr(text, ')')) != NULL &&
        sscanf(end + 1, " %*c %d", &parent) != 1)
        parent = 0;
    fclose(f);
    return parent;
}

static bool is_below(int32_t pid, int32_t of)
{
    for (int depth = 0; pid > 1 && depth < 64; depth++, pid = parent_of(pid))
        if (pid == of)
            return true;
    return false;
}

/* What all ranks of the job are below, if `pid` is one of them or what started
 * them; 0: any. */
static int32_t root_of(int32_t pid)
{
    struct feedline_live_info info = {.struct_size = sizeof(info)};
    for (uint32_t i = 0; feedline_live_list(i, &info) == FEEDLINE_OK; i++)
        if (info.pid == pid && parent_of(pid) > 1)
            return parent_of(pid);
    return pid;
}

/* Every loader below `root` whose process is one of several. */
static bool attach(struct all *a, int32_t root)
{
    struct feedline_live_info info = {.struct_size = sizeof(info)};
    for (uint32_t i = 0; feedline_live_list(i, &info) == FEEDLINE_OK; i++) {
        struct feedline_live_stats now;
        feedline_live *live;
        if ((root && !is_below(info.pid, root)) ||
            feedline_live_attach(info.pid, info.loader, &live) < 0)
            continue;
        if (!read_page(live, &now) || now.world < 2)
            feedline_live_detach(live);
        else if (!keep(a, live, &now))
            return false;
    }
    return true;
}

static double ms(uint64_t before, uint64_t now, double steps)
{
    return now > before ? (double)(now - before) / 1e6 / steps : 0;
}

static void measure(struct job_rank *r, const struct feedline_live_stats *a,
                    const struct feedline_live_stats *b)
{
    double seconds = (double)(b->updated_ns - a->updated_ns) / 1e9;
    if (b->stats.batches <= a->stats.batches || seconds <= 0)
        return;
    r->steps = (double)(b->stats.batches - a->stats.batches);
    r->step = ms(a->stats.wall_ns, b->stats.wall_ns, r->steps);
    r->wait = ms(a->stats.wait_ns, b->stats.wait_ns, r->steps);
    r->images = (double)(b->stats.samples - a->stats.samples) / seconds;
    r->synced = NAN;
    if (b->synced_ns >= 0)
        r->synced = ms((uint64_t)(a->synced_ns > 0 ? a->synced_ns : 0),
                       (uint64_t)b->synced_ns, r->steps);
}

/* Of a process with several loaders it is the one at work that counts. */
static bool add(struct job *j, const struct feedline_live_stats *before,
                const struct feedline_live_stats *now)
{
    struct job_rank found = {
        .rank = now->rank, .world = now->world, .pid = now->pid};
    struct job_rank *r = NULL;
    measure(&found, before, now);
    memcpy(found.code, now->verdict.code, sizeof(found.code));
    if (gethostname(found.host, sizeof(found.host) - 1) != 0)
        found.host[0] = '\0';
    for (size_t i = 0; i < j->n; i++)
        if (j->ranks[i].pid == now->pid)
            r = &j->ranks[i];
    if (r && r->steps >= found.steps)
        return true;
    if (!r)
        r = job_add(j);
    if (r)
        *r = found;
    return r != NULL;
}

int job_of_pages(struct job *out, int32_t pid, double seconds)
{
    struct all a = {0};
    bool ok = attach(&a, pid ? root_of(pid) : 0);
    if (ok && a.n == 0) {
        tool_say("no process of yours has a loader of a job of several ranks "
                 "(option world, or a launcher's variables)");
        return TOOL_ENVIRONMENT;
    }
    if (ok)
        tool_sleep_until(tool_seconds() + seconds);
    for (size_t i = 0; i < a.n; i++) {
        struct feedline_live_stats now;
        if (ok && read_page(a.watched[i].live, &now))
            ok = add(out, &a.watched[i].before, &now);
        feedline_live_detach(a.watched[i].live);
    }
    free(a.watched);
    job_sort(out);
    if (!ok)
        return tool_no_memory();
    return tool_interrupted() ? TOOL_INTERRUPTED : TOOL_DONE;
}
