/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sim/controllers_own.h"

#include <math.h>

void sim_meter_add(struct sim_meter *m, const struct fdl_tuner_reading *r)
{
    if (!m->started) {
        m->since = *r;
        m->started = true;
    } else if (r->batches > m->last.batches) {
        m->ready += r->ready;
        m->deliveries++;
    }
    m->last = *r;
}

void sim_meter_clear(struct sim_meter *m)
{
    m->since = m->last;
    m->ready = 0;
    m->deliveries = 0;
}

double sim_meter_seconds(const struct sim_meter *m)
{
    int64_t ns = m->last.now_ns - m->since.now_ns;
    return ns > 0 ? (double)ns / 1e9 : 0;
}

uint64_t sim_meter_batches(const struct sim_meter *m)
{
    uint64_t now = m->last.batches, then = m->since.batches;
    return now > then ? now - then : 0;
}

uint64_t sim_meter_samples(const struct sim_meter *m)
{
    uint64_t now = m->last.samples, then = m->since.samples;
    return now > then ? now - then : 0;
}

double sim_meter_ready(const struct sim_meter *m)
{
    return m->deliveries ? m->ready / (double)m->deliveries : 0;
}

uint32_t sim_cores_granted(const struct sim_facts *facts)
{
    double cores = ceil(facts->quota);
    return cores > 1 ? (uint32_t)cores : 1;
}

static uint32_t clamped(double value, uint32_t low, uint32_t high)
{
    if (!(value > low))
        return low;
    return value < high ? (uint32_t)value : high;
}

/* Reads get an eighth of the memory at most, batches what is left. */
struct fdl_knobs sim_knobs_roomy(const struct fdl_tuner_limits *limits,
                                 double workers, uint32_t depth)
{
    double budget = (double)limits->memory_bytes;
    struct fdl_knobs k = {
        .workers = clamped(workers, limits->workers_min, limits->workers_max),
        .depth = limits->depth_min,
        .io_depth = limits->io_depth_max};
    if (limits->memory_bytes && limits->read_bytes)
        k.io_depth = clamped(budget / 16 / (double)limits->read_bytes,
                             limits->io_depth_min, limits->io_depth_max);
    while (limits->memory_bytes && k.workers > limits->workers_min &&
           fdl_knobs_memory(limits, &k) > limits->memory_bytes)
        k.workers--;
    double left = budget - (double)fdl_knobs_memory(limits, &k);
    double room = depth;
    if (limits->memory_bytes && limits->batch_bytes)
        room = fmin(room, k.depth + floor(left / (double)limits->batch_bytes));
    k.depth = clamped(room, limits->depth_min, limits->depth_max);
    return k;
}
