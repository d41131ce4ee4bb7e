/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of any host, by what their option stats_log writes where all hosts
 * see it; see top_job.h. */
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/tool.h"
#include "tools/loaderbench/top/top_job.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A process's last two lines. */
struct process {
    json_t *before, *now;
};

struct logs {
    struct process *of;
    size_t n, capacity;
};

static bool same_process(const json_t *a, const json_t *b)
{
    return doc_or_0(a, "pid") == doc_or_0(b, "pid") &&
           strcmp(doc_text(a, "host"), doc_text(b, "host")) == 0;
}

/* Takes the line over. false: no memory. */
static bool add_line(struct logs *l, json_t *line)
{
    for (size_t i = 0; i < l->n; i++)
        if (same_process(l->of[i].now, line)) {
            json_decref(l->of[i].before);
            l->of[i].before = l->of[i].now;
            l->of[i].now = line;
            return true;
        }
    if (l->n == l->capacity) {
        size_t more = 2 * l->capacity + 16;
        void *p = realloc(l->of, more * sizeof(*l->of));
        if (!p) {
            json_decref(line);
            return false;
        }
        l->of = p;
        l->capacity = more;
    }
    l->of[l->n++] = (struct process){NULL, line};
    return true;
}

/* Lines that are no JSON, such as the half one that is being written, are
 * passed over. */
static int read_file(struct logs *l, const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    bool ok = true;
    if (!f) {
        tool_say("%s: %s", path, strerror(errno));
        return TOOL_USAGE;
    }
    while (ok && getline(&text, &size, f) > 0) {
        json_t *line = json_loads(text, 0, NULL);
        if (json_is_object(line) && doc_or_0(line, "world") > 1)
            ok = add_line(l, line);
        else
            json_decref(line);
    }
    free(text);
    fclose(f);
    return ok ? TOOL_DONE : tool_no_memory();
}

static bool is_log(const char *name)
{
    size_t n = strlen(name);
    return n > 6 && strcmp(name + n - 6, ".jsonl") == 0;
}

static int read_folder(struct logs *l, const char *path)
{
    DIR *d = opendir(path);
    int rc = TOOL_DONE;
    if (!d) {
        tool_say("%s: %s", path, strerror(errno));
        return TOOL_USAGE;
    }
    for (struct dirent *e; rc == TOOL_DONE && (e = readdir(d)) != NULL;) {
        char file[4096];
        if (!is_log(e->d_name))
            continue;
        snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
        rc = read_file(l, file);
    }
    closedir(d);
    return rc;
}

/* ---- A rank ------------------------------------------------------------- */

/* Seconds in phases in which ranks wait for each other; NAN: there is none. The
 * names: feedline/live.h. */
static double synced_of(const json_t *line)
{
    const json_t *phase;
    double sum = NAN;
    size_t i;
    json_array_foreach(json_object_get(line, "phases"), i, phase)
    {
        const char *name = doc_text(phase, "name");
        if (strstr(name, "sync") || strstr(name, "barrier") ||
            strstr(name, "reduce"))
            sum = (isnan(sum) ? 0 : sum) + doc_or_0(phase, "self_seconds");
    }
    return sum;
}

static double grown(const struct process *p, const char *key)
{
    double before = p->before ? doc_or_0(p->before, key) : 0;
    double now = doc_or_0(p->now, key);
    return now > before ? now - before : 0;
}

/* Whether this process had ended before another one of its rank began, as far
 * as the last lines show: the job was started again. */
static bool is_former(const struct logs *l, const struct process *p)
{
    double rank = doc_or_0(p->now, "rank"), end = doc_or_0(p->now, "time_unix");
    for (size_t i = 0; i < l->n; i++) {
        const struct process *q = &l->of[i];
        const json_t *first = q->before ? q->before : q->now;
        if (q != p && doc_or_0(q->now, "rank") == rank &&
            doc_or_0(first, "time_unix") > end)
            return true;
    }
    return false;
}

#define MOST_RANKS (1u << 20) /* as option world has it */

/* Of a line, which may have been written by anybody. */
static uint32_t count_of(const json_t *line, const char *key, uint32_t most)
{
    double x = doc_or_0(line, key);
    return x > 0 && x <= most ? (uint32_t)x : 0;
}

static bool add_rank(struct job *j, const struct process *p)
{
    struct job_rank *r = job_add(j);
    if (!r)
        return false;
    double seconds = grown(p, "stats.wall_seconds");
    double before = p->before ? synced_of(p->before) : 0;
    r->rank = count_of(p->now, "rank", MOST_RANKS);
    r->world = count_of(p->now, "world", MOST_RANKS);
    r->pid = (int32_t)count_of(p->now, "pid", INT32_MAX);
    snprintf(r->host, sizeof(r->host), "%s", doc_text(p->now, "host"));
    snprintf(r->code, sizeof(r->code), "%s", doc_text(p->now, "verdict.code"));
    r->steps = grown(p, "stats.batches");
    if (r->steps <= 0 || seconds <= 0)
        return true;
    r->step = 1e3 * seconds / r->steps;
    r->wait = 1e3 * grown(p, "stats.wait_seconds") / r->steps;
    r->images = grown(p, "stats.samples") / seconds;
    r->synced =
        1e3 * (synced_of(p->now) - (isnan(before) ? 0 : before)) / r->steps;
    return true;
}

int job_of_logs(struct job *out, const char *path)
{
    struct logs l = {0};
    struct stat st;
    bool folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    int rc = folder ? read_folder(&l, path) : read_file(&l, path);
    for (size_t i = 0; i < l.n; i++) {
        if (rc == TOOL_DONE && !is_former(&l, &l.of[i]) &&
            !add_rank(out, &l.of[i]))
            rc = tool_no_memory();
    }
    for (size_t i = 0; i < l.n; i++) {
        json_decref(l.of[i].before);
        json_decref(l.of[i].now);
    }
    free(l.of);
    job_sort(out);
    if (rc == TOOL_DONE && out->n == 0) {
        tool_say("%s: no line of a job of several ranks (option stats_log)",
                 path);
        return TOOL_DATA;
    }
    return rc;
}
