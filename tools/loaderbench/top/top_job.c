/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of a job, judged and shown; see top_job.h. */
#include "tools/loaderbench/top/top_job.h"

#include "tools/loaderbench/cli/cli.h"
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/report/straggler.h"
#include "tools/loaderbench/tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 32 /* ranks, those that wait longest for data */

struct job_rank *job_add(struct job *j)
{
    if (j->n == j->capacity) {
        size_t more = 2 * j->capacity + 16;
        void *p = realloc(j->ranks, more * sizeof(*j->ranks));
        if (!p) {
            j->failed = true;
            return NULL;
        }
        j->ranks = p;
        j->capacity = more;
    }
    struct job_rank *r = &j->ranks[j->n++];
    memset(r, 0, sizeof(*r));
    return r;
}

void job_fini(struct job *j)
{
    free(j->ranks);
    memset(j, 0, sizeof(*j));
}

static int by_number(const void *a, const void *b)
{
    const struct job_rank *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

void job_sort(struct job *j)
{
    if (j->n)
        qsort(j->ranks, j->n, sizeof(*j->ranks), by_number);
}

/* ---- Judged ------------------------------------------------------------- */

/* The ranks that had steps, as straggler.h wants them; *n of them, which[] says
 * where they are from. NULL: no memory. */
static struct straggler_times *times_of(const struct job *j, size_t *which,
                                        size_t *n)
{
    struct straggler_times *times = calloc(j->n + 1, sizeof(*times));
    *n = 0;
    for (size_t i = 0; times && i < j->n; i++) {
        const struct job_rank *r = &j->ranks[i];
        if (r->steps <= 0)
            continue;
        which[*n] = i;
        times[(*n)++] = (struct straggler_times){
            .step = r->step,
            .wait = r->wait,
            .busy = r->step - r->wait - r->synced,
        };
    }
    return times;
}

static double mean_wait(const struct straggler_times *times, size_t n)
{
    double wait = 0, step = 0;
    for (size_t i = 0; i < n; i++) {
        wait += times[i].wait;
        step += times[i].step;
    }
    return step > 0 ? wait / step : 0;
}

static bool all_marked(const struct straggler_times *times, size_t n)
{
    bool all = n > 0;
    for (size_t i = 0; i < n; i++)
        all = all && !isnan(times[i].busy);
    return all;
}

/* What the numbers say, in a sentence. */
static void say(char *out, size_t size, const struct job *j,
                const struct straggler *found, const size_t *which,
                const struct straggler_times *times, size_t n)
{
    const struct job_rank *r =
        found->at < n ? &j->ranks[which[found->at]] : NULL;
    if (n < 2)
        snprintf(out, size, "Fewer than two ranks had a step meanwhile.");
    else if (r && found->loader_at_fault)
        snprintf(out, size,
                 "Rank %u holds up the others: it waits for its loader (%s), "
                 "%.1f ms a step longer than most, and they wait for it in "
                 "theirs.",
                 r->rank, r->code, found->by);
    else if (r)
        snprintf(out, size,
                 "Rank %u holds up the others by %.1f ms a step, and waits for "
                 "data no longer than they do: its loader is not the cause.",
                 r->rank, found->by);
    else if (mean_wait(times, n) > 0.02)
        snprintf(out, size,
                 "All ranks wait for data alike, %.0f %% of the time: no one "
                 "of them holds up the others.",
                 100 * mean_wait(times, n));
    else if (all_marked(times, n))
        snprintf(out, size, "No rank holds up the others.");
    else
        snprintf(out, size,
                 "No rank waits for data longer than the others: if one holds "
                 "them up, its loader is not the cause. A phase named \"sync\" "
                 "around what ranks wait for each other in tells which.");
}

static json_t *straggler_json(const struct job *j)
{
    size_t n, *which = calloc(j->n + 1, sizeof(*which));
    struct straggler_times *times = which ? times_of(j, which, &n) : NULL;
    json_t *object = NULL;
    if (times) {
        char text[384];
        struct straggler found = straggler_find(times, n);
        const struct job_rank *r =
            found.at < n ? &j->ranks[which[found.at]] : NULL;
        say(text, sizeof(text), j, &found, which, times, n);
        object = json_pack(
            "{s:o, s:o, s:o, s:o, s:s}", "rank",
            r ? json_integer(r->rank) : json_null(), "loader_at_fault",
            r ? json_boolean(found.loader_at_fault) : json_null(), "cause",
            r && found.loader_at_fault ? json_string(r->code) : json_null(),
            "ms_a_step", r ? json_real(found.by) : json_null(), "sentence",
            text);
    }
    free(times);
    free(which);
    return object;
}

/* ---- What is wrong with the ranks themselves ---------------------------- */

static json_t *faults_json(const struct job *j)
{
    json_t *faults = json_array();
    for (size_t i = 1; i < j->n; i++) {
        const struct job_rank *a = &j->ranks[i - 1], *b = &j->ranks[i];
        char text[256];
        if (a->rank == b->rank)
            snprintf(text, sizeof(text),
                     "rank %u is there twice: process %d on %s, process %d on "
                     "%s",
                     a->rank, a->pid, a->host, b->pid, b->host);
        else if (a->world != b->world)
            snprintf(text, sizeof(text),
                     "rank %u says that there are %u ranks, rank %u says %u",
                     a->rank, a->world, b->rank, b->world);
        else
            continue;
        json_array_append_new(faults, json_string(text));
    }
    return faults;
}

static json_t *absent_json(const struct job *j)
{
    json_t *absent = json_array();
    uint32_t world = j->n ? j->ranks[0].world : 0;
    size_t i = 0;
    for (uint32_t rank = 0; rank < world; rank++) {
        while (i < j->n && j->ranks[i].rank < rank)
            i++;
        if (i == j->n || j->ranks[i].rank != rank)
            json_array_append_new(absent, json_integer(rank));
    }
    return absent;
}

/* ---- Shown -------------------------------------------------------------- */

static json_t *rank_json(const struct job_rank *r)
{
    bool moved = r->steps > 0;
    return json_pack("{s:I, s:s, s:i, s:s, s:o, s:o, s:o, s:o}", "rank",
                     (json_int_t)r->rank, "host", r->host, "pid", (int)r->pid,
                     "verdict", r->code, "step_ms",
                     doc_known(moved ? r->step : NAN), "wait_ms",
                     doc_known(moved ? r->wait : NAN), "synced_ms",
                     doc_known(moved ? r->synced : NAN), "images_per_second",
                     doc_known(moved ? r->images : NAN));
}

json_t *job_json(const struct job *j)
{
    json_t *doc = document_new("top"), *ranks = json_array();
    for (size_t i = 0; i < j->n; i++)
        json_array_append_new(ranks, rank_json(&j->ranks[i]));
    json_object_set_new(doc, "ranks", ranks);
    json_object_set_new(doc, "world",
                        json_integer(j->n ? j->ranks[0].world : 0));
    json_object_set_new(doc, "absent", absent_json(j));
    json_object_set_new(doc, "faults", faults_json(j));
    json_object_set_new(doc, "straggler", straggler_json(j));
    return doc;
}

static void print_number(const json_t *object, const char *key, int digits)
{
    const json_t *x = json_object_get(object, key);
    if (json_is_number(x))
        printf(" %10.*f", digits, json_number_value(x));
    else
        printf(" %10s", "-");
}

static void print_rank(const json_t *r)
{
    printf("%5.0f", doc_or_0(r, "rank"));
    print_number(r, "images_per_second", 0);
    print_number(r, "step_ms", 2);
    print_number(r, "wait_ms", 2);
    print_number(r, "synced_ms", 2);
    printf("  %-24s %s:%.0f\n", doc_text(r, "verdict"), doc_text(r, "host"),
           doc_or_0(r, "pid"));
}

static int longer_wait(const void *a, const void *b)
{
    double x = doc_or_0(*(json_t *const *)a, "wait_ms");
    double y = doc_or_0(*(json_t *const *)b, "wait_ms");
    return (x < y) - (x > y);
}

/* All of them by number, or of many those that wait longest. */
static void print_ranks(const json_t *ranks)
{
    size_t n = json_array_size(ranks), i;
    json_t **order = calloc(n + 1, sizeof(json_t *)), *r;
    if (!order)
        return;
    json_array_foreach(ranks, i, r) order[i] = r;
    if (n > SHOWN)
        qsort(order, n, sizeof(json_t *), longer_wait);
    printf(" rank   images/s    step ms   waits ms    sync ms  verdict on its "
           "loader   process\n");
    for (i = 0; i < n && i < SHOWN; i++)
        print_rank(order[i]);
    if (n > SHOWN)
        printf("  and %zu more, which wait less for data\n", n - SHOWN);
    free(order);
}

void job_print(const json_t *doc)
{
    const json_t *absent = json_object_get(doc, "absent"), *text;
    size_t i, n = json_array_size(absent);
    print_ranks(json_object_get(doc, "ranks"));
    if (n > 0) {
        printf("Not seen here, of %.0f ranks:", doc_or_0(doc, "world"));
        json_array_foreach(absent, i, text) if (i < 16)
            printf(" %lld", (long long)json_integer_value(text));
        printf("%s\n", n > 16 ? " ..." : "");
    }
    json_array_foreach(json_object_get(doc, "faults"), i, text)
        printf("%s\n", json_string_value(text));
    cli_print("%s", doc_text(doc, "straggler.sentence"));
    fflush(stdout);
}
