/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points hold sums and not differences: where the array is full, every other
 * one can be dropped, and what is left is as exact as before.
 */
#include "tools/loaderbench/run/timeline.h"

#include "tools/loaderbench/stat.h"

#include <stdlib.h>
#include <string.h>

#define PERIOD_SECONDS 0.25
#define NS             1e-9

void timeline_init(struct timeline *t)
{
    *t = (struct timeline){.points =
                               calloc(TIMELINE_POINTS, sizeof(*t->points))};
}

void timeline_fini(struct timeline *t)
{
    free(t->points);
    t->points = NULL;
}

static void take(struct timeline *t, const feedline_loader *l, double now,
                 uint64_t images)
{
    struct timeline_point p = {.seconds = now - t->begin, .images = images};
    struct feedline_device_stats d = {.struct_size = sizeof(d)};
    p.stats.struct_size = sizeof(p.stats);
    p.waits.struct_size = sizeof(p.waits);
    feedline_loader_get_stats(l, &p.stats);
    feedline_loader_get_wait_stats(l, &p.waits);
    if (feedline_loader_get_device_stats(l, &d) == FEEDLINE_OK) {
        p.span_ns = d.span_ns;
        p.idle_ns = d.idle_ns;
    }
    feedline_loader_get_int(l, "workers", &p.workers);
    feedline_loader_get_int(l, "depth", &p.depth);
    feedline_loader_get_int(l, "io_depth", &p.io_depth);
    t->points[t->n++] = p;
}

/* Drops every other point; of an even number the last one stays. */
static void thin_out(struct timeline *t)
{
    for (size_t i = 0; i < t->n / 2; i++)
        t->points[i] = t->points[2 * i + 1];
    t->n /= 2;
    t->period *= 2;
}

void timeline_begin(struct timeline *t, double now)
{
    t->n = 0;
    t->begin = now;
    t->period = PERIOD_SECONDS;
    t->next = now + PERIOD_SECONDS;
}

void timeline_note(struct timeline *t, const feedline_loader *l, double now,
                   uint64_t images)
{
    if (!t->points || now < t->next)
        return;
    if (t->n == TIMELINE_POINTS)
        thin_out(t);
    take(t, l, now, images);
    /* The next one on the grid, however long the batch took. */
    while (t->next <= now)
        t->next += t->period;
}

void timeline_end(struct timeline *t, const feedline_loader *l, double now,
                  uint64_t images)
{
    uint64_t noted = t->n ? t->points[t->n - 1].images : 0;
    if (!t->points || images == 0)
        return;
    if (t->n > 0 && noted == images)
        t->n--; /* no batch since: the last point moves here */
    else if (t->n == TIMELINE_POINTS)
        thin_out(t);
    take(t, l, now, images);
}

static double seconds_between(uint64_t before, uint64_t after)
{
    return after > before ? (double)(after - before) * NS : 0;
}

static json_t *buckets_json(const struct feedline_wait_stats *a,
                            const struct feedline_wait_stats *b)
{
    static const char buckets[] = "buckets.";
    struct feedline_stat_info row;
    json_t *grown = json_object();
    for (uint32_t i = 0; stat_row("stall", i, &row); i++) {
        double was = feedline_stat_value(&row, a);
        if (strncmp(row.name, buckets, strlen(buckets)) == 0)
            json_object_set_new(grown, row.name + strlen(buckets),
                                json_real(feedline_stat_value(&row, b) - was));
    }
    return grown;
}

static json_t *point_json(const struct timeline_point *a,
                          const struct timeline_point *b)
{
    double seconds = b->seconds - a->seconds;
    double wall = seconds_between(a->stats.wall_ns, b->stats.wall_ns);
    double wait = seconds_between(a->stats.wait_ns, b->stats.wait_ns);
    double span = seconds_between(a->span_ns, b->span_ns);
    double idle = seconds_between(a->idle_ns, b->idle_ns);
    return json_pack(
        "{s:f, s:f, s:f, s:o, s:o, s:I, s:I, s:I}", "seconds", b->seconds,
        "images_per_second",
        seconds > 0 ? (double)(b->images - a->images) / seconds : 0.0,
        "host_fraction", wall > 0 ? wait / wall : 0.0, "device_fraction",
        span > 0 ? json_real(idle / span) : json_null(), "buckets",
        buckets_json(&a->waits, &b->waits), "workers", (json_int_t)b->workers,
        "depth", (json_int_t)b->depth, "io_depth", (json_int_t)b->io_depth);
}

json_t *timeline_json(const struct timeline *t)
{
    static const struct timeline_point zero;
    json_t *points = json_array();
    for (size_t i = 0; i < t->n; i++)
        json_array_append_new(
            points, point_json(i ? &t->points[i - 1] : &zero, &t->points[i]));
    return points;
}
