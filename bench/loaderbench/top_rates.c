/* SPDX-License-Identifier: Apache-2.0 */
/* What happened between two readings; see top.h. */
#include "bench/loaderbench/top.h"

#include <stdlib.h>
#include <string.h>

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Of the causes of waits, and of what workers do. */
#define AT(part, field) offsetof(struct feedline_live_stats, part.field)

static const struct {
    const char *name, *key;
    size_t at;
} causes[TOP_CAUSES] = {
    {"not issued yet", "not_issued", AT(waits, not_issued_ns)},
    {"consumer holds slots", "slot", AT(waits, slot_ns)},
    {"read queue", "fetch_queue", AT(waits, fetch_queue_ns)},
    {"reading", "fetch", AT(waits, fetch_ns)},
    {"other batches: cpu", "worker_wait_cpu",
     AT(waits, worker_wait_ns)}, /* less the next three */
    {"other batches: no core", "worker_wait_runq",
     AT(waits, worker_wait_runq_ns)},
    {"other batches: quota", "worker_wait_throttle",
     AT(waits, worker_wait_throttle_ns)},
    {"other batches: asleep", "worker_wait_sleep",
     AT(waits, worker_wait_sleep_ns)},
    {"preparing: cpu", "prep_cpu",
     AT(waits, prep_ns)}, /* less the next three */
    {"preparing: no core", "prep_runq", AT(waits, prep_runq_ns)},
    {"preparing: quota", "prep_throttle", AT(waits, prep_throttle_ns)},
    {"preparing: asleep", "prep_sleep", AT(waits, prep_sleep_ns)},
    {"copy queue", "transfer_queue", AT(waits, transfer_queue_ns)},
    {"copying", "transfer", AT(waits, transfer_ns)},
    {"waking up", "wake", AT(waits, wake_ns)},
    {"not attributed", "residual", AT(waits, residual_ns)},
};
#define WORKER_WAIT 4
#define PREP        8

static const struct {
    const char *name, *key;
    size_t at;
} states[TOP_STATES] = {
    {"cpu", "cpu", AT(threads, cpu_ns)},
    {"no core", "runq", AT(threads, runq_ns)},
    {"quota", "throttle", AT(threads, throttle_ns)},
    {"asleep", "sleep", AT(threads, sleep_ns)},
    {"reading", "read", AT(threads, read_ns)},
    {"blocked", "blocked", AT(threads, blocked_ns)},
    {"starved", "starved", AT(threads, starved_ns)},
    {"parked", "parked", AT(threads, parked_ns)},
    {"other", "residual", AT(threads, residual_ns)},
};

static uint64_t field(const struct feedline_live_stats *s, size_t at)
{
    uint64_t x;
    memcpy(&x, (const char *)s + at, sizeof(x));
    return x;
}

static uint64_t grown(const struct feedline_live_stats *a,
                      const struct feedline_live_stats *b, size_t at)
{
    return less(field(b, at), field(a, at));
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

static void rate_causes(const struct feedline_live_stats *a,
                        const struct feedline_live_stats *b, uint64_t wall,
                        struct top_rates *out)
{
    uint64_t ns[TOP_CAUSES];
    for (size_t i = 0; i < TOP_CAUSES; i++)
        ns[i] = grown(a, b, causes[i].at);
    for (size_t i = 1; i <= 3; i++) {
        ns[WORKER_WAIT] = less(ns[WORKER_WAIT], ns[WORKER_WAIT + i]);
        ns[PREP] = less(ns[PREP], ns[PREP + i]);
    }
    for (size_t i = 0; i < TOP_CAUSES; i++)
        out->causes[i] =
            (struct top_part){causes[i].name, causes[i].key,
                              wall ? (double)ns[i] / (double)wall : 0};
    qsort(out->causes, TOP_CAUSES, sizeof(*out->causes), compare);
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
        .copied_bytes = (double)less(b->copied_bytes, a->copied_bytes) * per,
        .stall = ratio(less(b->stats.wait_ns, a->stats.wait_ns), wall),
        .device_idle = b->has_device ? ratio(less(b->idle_ns, a->idle_ns),
                                             less(b->span_ns, a->span_ns))
                                     : -1,
        .cpu_cores =
            machine && dt > 0
                ? (double)less(b->process_cpu_ns, a->process_cpu_ns) / 1e9 * per
                : -1,
        .machine = ratio(less(b->host_busy_ns, a->host_busy_ns),
                         less(b->host_total_ns, a->host_total_ns)),
        .throttled = (double)less(b->throttled_ns, a->throttled_ns) / 1e9 * per,
    };
    rate_causes(a, b, wall, out);
    uint64_t sum = 0;
    for (size_t i = 0; i < TOP_STATES; i++)
        sum += grown(a, b, states[i].at);
    for (size_t i = 0; i < TOP_STATES; i++)
        out->states[i] =
            (struct top_part){states[i].name, states[i].key,
                              ratio(grown(a, b, states[i].at), sum)};
}
