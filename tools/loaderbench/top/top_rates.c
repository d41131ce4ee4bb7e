/* SPDX-License-Identifier: Apache-2.0 */
/* What happened between two readings; see top.h. */
#include "tools/loaderbench/stat.h"
#include "tools/loaderbench/top/top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : -1;
}

static int compare(const void *a, const void *b)
{
    const struct top_part *x = a, *y = b;
    return (x->fraction < y->fraction) - (x->fraction > y->fraction);
}

/* What grew of the rows whose metric is `sum`, by its label. from, to: structs
 * of the part. In out->fraction seconds still; returns how many. */
static size_t grown_parts(const char *part, const char *sum, const void *from,
                          const void *to, struct top_part *out)
{
    struct feedline_stat_info row;
    size_t n = 0;
    for (uint32_t i = 0; n < TOP_PARTS && stat_row(part, i, &row); i++) {
        const char *label = strchr(row.metric, '"');
        double grown =
            feedline_stat_value(&row, to) - feedline_stat_value(&row, from);
        if (!label || strncmp(row.metric, sum, strlen(sum)) != 0)
            continue;
        struct top_part *p = &out[n++];
        p->name = row.title;
        p->fraction = grown > 0 ? grown : 0;
        snprintf(p->key, sizeof(p->key), "%.*s", (int)strcspn(label + 1, "\""),
                 label + 1);
    }
    return n;
}

static void rate_causes(const struct feedline_live_stats *a,
                        const struct feedline_live_stats *b, uint64_t wall,
                        struct top_rates *out)
{
    out->n_causes = grown_parts("stall", "wait_seconds_total", &a->waits,
                                &b->waits, out->causes);
    for (size_t i = 0; i < out->n_causes; i++)
        out->causes[i].fraction *= wall ? 1e9 / (double)wall : 0;
    qsort(out->causes, out->n_causes, sizeof(*out->causes), compare);
}

static void rate_states(const struct feedline_live_stats *a,
                        const struct feedline_live_stats *b,
                        struct top_rates *out)
{
    double sum = 0;
    out->n_states = grown_parts("workers", "worker_seconds_total", &a->threads,
                                &b->threads, out->states);
    for (size_t i = 0; i < out->n_states; i++)
        sum += out->states[i].fraction;
    for (size_t i = 0; i < out->n_states; i++)
        out->states[i].fraction = sum > 0 ? out->states[i].fraction / sum : -1;
}

/* With the workers of a watched loader, which are processes. */
static uint64_t cpu_ns(const struct feedline_live_stats *a,
                       const struct feedline_live_stats *b)
{
    return less(b->process_cpu_ns, a->process_cpu_ns) +
           less(b->children_cpu_ns, a->children_cpu_ns);
}

void top_rates(const struct feedline_live_stats *before,
               const struct feedline_live_stats *now, struct top_rates *out)
{
    static const struct feedline_live_stats zero;
    struct feedline_live_stats begin = zero;
    const struct feedline_live_stats *a = before, *b = now;
    /* A reset, or a loader that took the other's place. */
    if (!a || a->started_ns != b->started_ns ||
        a->stats.wall_ns > b->stats.wall_ns ||
        a->stats.batches > b->stats.batches) {
        begin.updated_ns = b->started_ns;
        /* These counted before the loader was there. */
        begin.process_cpu_ns = b->process_cpu_ns;
        begin.throttled_ns = b->throttled_ns;
        begin.host_total_ns = b->host_total_ns;
        a = &begin;
    }
    double dt = (double)(b->updated_ns - a->updated_ns) / 1e9;
    double per = dt > 0 ? 1 / dt : 0;
    uint64_t wall = less(b->stats.wall_ns, a->stats.wall_ns);
    bool machine = b->host_total_ns > a->host_total_ns;
    *out = (struct top_rates){
        .seconds = dt,
        .images = (double)less(b->stats.samples, a->stats.samples) * per,
        .batches = (double)less(b->stats.batches, a->stats.batches) * per,
        .read_bytes =
            (double)less(b->stats.bytes_read, a->stats.bytes_read) * per,
        .from_storage =
            a->storage_bytes >= 0 && b->storage_bytes >= 0
                ? ratio(less((uint64_t)b->storage_bytes,
                             (uint64_t)a->storage_bytes),
                        less(b->stats.bytes_read, a->stats.bytes_read))
                : -1,
        .copied_bytes = (double)less(b->copied_bytes, a->copied_bytes) * per,
        .stall = ratio(less(b->stats.wait_ns, a->stats.wait_ns), wall),
        .device_idle = b->has_device ? ratio(less(b->idle_ns, a->idle_ns),
                                             less(b->span_ns, a->span_ns))
                                     : -1,
        .cpu_cores = machine && dt > 0 ? (double)cpu_ns(a, b) / 1e9 * per : -1,
        .machine = ratio(less(b->host_busy_ns, a->host_busy_ns),
                         less(b->host_total_ns, a->host_total_ns)),
        .throttled = (double)less(b->throttled_ns, a->throttled_ns) / 1e9 * per,
    };
    rate_causes(a, b, wall, out);
    rate_states(a, b, out);
}
