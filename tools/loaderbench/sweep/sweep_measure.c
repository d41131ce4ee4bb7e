/* SPDX-License-Identifier: Apache-2.0 */
/* Points and their measurements. */
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/gen/random.h"
#include "tools/loaderbench/sweep/sweep.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Points ------------------------------------------------------------- */

int sweep_add(struct sweep *s, int64_t workers, int64_t depth, int64_t io_depth,
              struct sweep_point **out)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->points[i].workers == workers && s->points[i].depth == depth &&
            s->points[i].io_depth == io_depth) {
            *out = &s->points[i];
            return TOOL_DONE;
        }
    struct sweep_point *more =
        realloc(s->points, (s->n + 1) * sizeof(*s->points));
    if (!more)
        return tool_no_memory();
    s->points = more;
    more[s->n] = (struct sweep_point){workers, depth, io_depth, json_array()};
    *out = &more[s->n++];
    return TOOL_DONE;
}

int sweep_init(struct sweep *s, struct run_setup *setup, const char *uri,
               const struct sweep_axis *workers, const struct sweep_axis *depth,
               const struct sweep_axis *io)
{
    static const struct sweep_axis chosen = {.at = {0}, .n = 1};
    struct sweep_point *unused;
    *s = (struct sweep){.setup = setup, .uri = uri, .rounds = 1};
    int rc = TOOL_DONE;
    if (io->n == 0)
        io = &chosen;
    for (size_t w = 0; w < workers->n; w++)
        for (size_t d = 0; d < depth->n; d++)
            for (size_t i = 0; rc == TOOL_DONE && i < io->n; i++)
                rc = sweep_add(s, workers->at[w], depth->at[d], io->at[i],
                               &unused);
    int32_t status = feedline_config_set(setup->config, "tuner", "off");
    if (rc == TOOL_DONE && status < 0)
        rc = tool_setup_failed(status);
    return rc;
}

void sweep_fini(struct sweep *s)
{
    for (size_t i = 0; i < s->n; i++)
        json_decref(s->points[i].runs);
    free(s->points);
    json_decref(s->settings);
    json_decref(s->config);
}

const struct sweep_point *sweep_find(const struct sweep *s, int64_t workers,
                                     int64_t depth)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->points[i].workers == workers && s->points[i].depth == depth)
            return &s->points[i];
    return NULL;
}

static int by_setting(const void *a, const void *b)
{
    struct sweep_point x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    if (x.workers != y.workers)
        return x.workers < y.workers ? -1 : 1;
    if (x.depth != y.depth)
        return x.depth < y.depth ? -1 : 1;
    return (x.io_depth > y.io_depth) - (x.io_depth < y.io_depth);
}

/* ---- Numbers of a point ------------------------------------------------- */

struct knee_point *sweep_knee_points(const struct sweep *s)
{
    struct knee_point *points = calloc(s->n + 1, sizeof(*points));
    for (size_t i = 0; points && i < s->n; i++) {
        const struct sweep_point *p = &s->points[i];
        double rate = doc_median(p->runs, "images_per_second");
        double device = doc_median(p->runs, "device_fraction");
        points[i] = (struct knee_point){
            .workers = p->workers,
            .depth = p->depth,
            .io_depth = p->io_depth,
            .rate = isnan(rate) ? 0 : rate,
            .stall =
                isnan(device) ? doc_median(p->runs, "host_fraction") : device};
    }
    return points;
}

/* ---- Measuring ---------------------------------------------------------- */

/* Cores that other processes used meanwhile; null: not known. */
static json_t *others_cores(const json_t *run)
{
    double busy = doc_number(run, "signals.host_busy");
    double mine = doc_number(run, "signals.process_cores");
    struct feedline_machine_info m = {.struct_size = sizeof(m)};
    if (isnan(busy) || isnan(mine) || feedline_machine_get_info(&m) < 0)
        return json_null();
    return json_real(fmax(busy * m.cpus_online - mine, 0));
}

/* What is kept of a measurement. */
static json_t *summary(const json_t *run)
{
    static const char *const kept[] = {
        "result.images_per_second", "result.images_per_cpu_second",
        "stall.host_fraction", "stall.device_fraction", "config.io_depth"};
    json_t *out = json_object();
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
        json_object_set(out, strchr(kept[i], '.') + 1,
                        doc_mutable(doc_at(run, kept[i])));
    json_object_set_new(out, "others_cores", others_cores(run));
    return out;
}

/* *counted: it was measured to its end. */
static int measure_point(struct sweep *s, const struct sweep_point *p,
                         json_t **out)
{
    struct run_counts counts = {0};
    int rc = run_set_int(s->setup, "workers", p->workers);
    *out = NULL;
    if (rc == TOOL_DONE)
        rc = run_set_int(s->setup, "depth", p->depth);
    if (rc == TOOL_DONE && p->io_depth)
        rc = run_set_int(s->setup, "io_depth", p->io_depth);
    if (rc == TOOL_DONE)
        rc = run_measure(s->setup, out, &counts);
    if (rc == TOOL_DONE && counts.interrupted) {
        s->interrupted = true;
        json_decref(*out);
        *out = NULL;
    }
    return rc;
}

/* What a run before has measured takes no time. */
static void set_label(struct sweep *s, const struct sweep_point *p, size_t done,
                      size_t all)
{
    struct run_part *part = &s->setup->part;
    part->size = 1 / (double)(all - s->measured_before);
    part->from = (double)(done - s->measured_before) * part->size;
    snprintf(s->setup->label, sizeof(s->setup->label),
             "%zu/%zu, " TOOL_COUNT ", depth %" PRId64 ": ", done + 1, all,
             TOOL_COUNT_OF(p->workers, "worker"), p->depth);
}

/* The order of a round: the same for the same round and number of points. */
static void shuffle(size_t *order, size_t n, uint64_t round)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i > 1; i--) {
        int32_t k = random_between(random_at(round, i), 0, (int32_t)i - 1);
        size_t swap = order[i - 1];
        order[i - 1] = order[k];
        order[k] = swap;
    }
}

static size_t measured(const struct sweep *s)
{
    size_t done = 0;
    for (size_t i = 0; i < s->n; i++) {
        size_t runs = json_array_size(s->points[i].runs);
        done += runs < s->rounds ? runs : (size_t)s->rounds;
    }
    return done;
}

/* Those that have not been measured in this round. */
static int measure_round(struct sweep *s, const size_t *order, uint64_t round)
{
    int rc = TOOL_DONE;
    for (size_t i = 0; rc == TOOL_DONE && i < s->n && !s->interrupted; i++) {
        struct sweep_point *p = &s->points[order[i]];
        json_t *run;
        if (json_array_size(p->runs) > round)
            continue;
        set_label(s, p, measured(s), s->n * (size_t)s->rounds);
        rc = measure_point(s, p, &run);
        if (rc != TOOL_DONE || !run)
            break;
        json_array_append_new(p->runs, summary(run));
        if (!s->config)
            s->config = json_incref(json_object_get(run, "config"));
        json_decref(run);
        if (s->save)
            rc = sweep_save(s, s->save);
    }
    return rc;
}

/* Thrown away: it reads from a disk what the others find in memory. */
static int measure_first(struct sweep *s)
{
    json_t *run;
    if (s->n == 0 || measured(s) == s->n * s->rounds)
        return TOOL_DONE;
    snprintf(s->setup->label, sizeof(s->setup->label), "not counted: ");
    int rc = measure_point(s, &s->points[s->n - 1], &run);
    json_decref(run);
    return rc;
}

int sweep_measure(struct sweep *s)
{
    size_t *order = calloc(s->n + 1, sizeof(*order));
    if (!order)
        return tool_no_memory();
    qsort(s->points, s->n, sizeof(*s->points), by_setting);
    int rc = measure_first(s);
    s->measured_before = measured(s);
    s->setup->part.begin = tool_seconds();
    for (uint64_t round = 0;
         rc == TOOL_DONE && round < s->rounds && !s->interrupted; round++) {
        shuffle(order, s->n, round);
        rc = measure_round(s, order, round);
    }
    s->setup->label[0] = '\0';
    s->setup->part = (struct run_part){0};
    free(order);
    return rc;
}
