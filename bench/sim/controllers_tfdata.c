/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tf.data's AUTOTUNE (tensorflow/core/framework/model.cc,
 * kernels/data/prefetch_autotuner.cc), as its default runs. Two rules that know
 * nothing of each other:
 *
 * - Parallelism. From time to time, 10 ms after the start and then at twice the
 *   interval up to 60 s, a model of the pipeline is optimized: parallelism
 *   starts at 1 and grows by 1 while the modelled time until an element comes
 *   out falls, up to the number of cores or until memory ends. A parallel map
 *   is an M/M/1/K queue: with x the consumer's time for an element, y the
 *   producers' and n the places in its buffer,
 *
 *       wait = y * p,  p = (1 - x/y) / (1 - (x/y)^(n+1)),  1/(n+1) if x = y
 *
 *   The consumer is taken to be infinitely fast, x = 0, which makes p = 1, and
 *   speed-up to be linear, so that y = work / parallelism: the model always
 *   sees a gain. Nothing is verified.
 * - The buffer of batches. It starts at 1, is armed when it was full once, and
 *   doubles when it is then found empty.
 *
 * Cores are those of the host that it may run on: no quota is seen. Given for
 * free: all of the loader's memory budget, where its own is half of the memory
 * that is there; as many reads as fit.
 */
#include "bench/sim/controllers_own.h"

#include <math.h>
#include <stdlib.h>

#define FIRST_INTERVAL 0.010 /* s, model.cc */
#define LAST_INTERVAL  60.0
#define EMA_WEIGHT     0.1 /* of the newest processing time */
#define START_MOST     16u /* parallelism before the first optimization */

struct self {
    struct sim_meter meter;
    double next, interval; /* of the optimization, s of the readings' clock */
    double sample;         /* processing time of one, moving average */
    uint32_t parallelism;
    uint32_t buffer; /* batches */
    bool armed;
    uint64_t batches; /* when the buffer was looked at */
};

/* Bytes that elements and batches in buffers may take. */
static bool has_room(const struct fdl_tuner_limits *limits,
                     uint32_t parallelism, uint32_t buffer)
{
    struct fdl_knobs k = {.workers = parallelism,
                          .depth = buffer,
                          .io_depth = limits->io_depth_min};
    return !limits->memory_bytes ||
           fdl_knobs_memory(limits, &k) <= limits->memory_bytes;
}

/* Batches under way: in the buffer, and in the map. */
static void put(const struct self *s, const struct fdl_tuner_limits *limits,
                uint32_t batch_size, struct fdl_knobs *knobs)
{
    uint32_t size = batch_size ? batch_size : 1;
    uint32_t in_map = (s->parallelism + size - 1) / size;
    *knobs = sim_knobs_roomy(limits, s->parallelism, s->buffer + in_map);
}

static void *create(const struct sim_facts *facts, struct fdl_knobs *knobs)
{
    struct self *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    uint32_t cores = facts->host_cores;
    s->parallelism = cores < START_MOST ? cores : START_MOST;
    s->buffer = 1;
    s->interval = FIRST_INTERVAL;
    put(s, &facts->limits, 0, knobs);
    return s;
}

static double waiting(double x, double y, uint32_t places)
{
    double n = places, p;
    if (x <= 0)
        p = 1;
    else if (fabs(x - y) < 1e-12)
        p = 1 / (n + 1);
    else
        p = (1 - x / y) / (1 - pow(x / y, n + 1));
    return p * y;
}

static void optimize(struct self *s, const struct sim_facts *facts)
{
    const double x = 0;
    uint32_t most = facts->host_cores, n = 1;
    double best = waiting(x, s->sample, n);
    while (n < most && has_room(&facts->limits, n + 1, s->buffer)) {
        double next = waiting(x, s->sample / (n + 1), n + 1);
        if (!(next < best))
            break;
        best = next;
        n++;
    }
    s->parallelism = n;
}

static void measure(struct self *s)
{
    const struct fdl_tuner_reading *a = &s->meter.since, *b = &s->meter.last;
    uint64_t samples = sim_meter_samples(&s->meter);
    int64_t ns = b->work_ns + b->starved_ns - a->work_ns - a->starved_ns;
    if (!samples || ns <= 0)
        return;
    double one = (double)ns / 1e9 / (double)samples;
    s->sample =
        s->sample > 0 ? EMA_WEIGHT * one + (1 - EMA_WEIGHT) * s->sample : one;
    sim_meter_clear(&s->meter);
}

/* Once for each batch that was taken. */
static void look_at_buffer(struct self *s, const struct fdl_tuner_reading *r,
                           const struct fdl_tuner_limits *limits)
{
    if (r->batches <= s->batches)
        return;
    s->batches = r->batches;
    if (!s->armed) {
        s->armed = r->ready >= s->buffer;
    } else if (!r->ready && has_room(limits, s->parallelism, 2 * s->buffer)) {
        s->buffer *= 2;
        s->armed = false;
    }
}

static void observe(void *self, const struct sim_facts *facts,
                    const struct fdl_tuner_reading *r, struct fdl_knobs *knobs)
{
    struct self *s = self;
    if (!s->meter.started)
        s->next = (double)r->now_ns / 1e9 + s->interval;
    sim_meter_add(&s->meter, r);
    look_at_buffer(s, r, &facts->limits);
    measure(s);
    if ((double)r->now_ns / 1e9 >= s->next) {
        if (s->sample > 0)
            optimize(s, facts);
        s->interval = fmin(2 * s->interval, LAST_INTERVAL);
        s->next = (double)r->now_ns / 1e9 + s->interval;
    }
    put(s, &facts->limits, r->batch_size, knobs);
}

const struct sim_controller sim_tf_data = {
    .name = "tf.data",
    .about = "AUTOTUNE: modelled time to minimum, buffer doubles when it runs "
             "empty (TensorFlow, model.cc); sees no quota; reads are given",
    .create = create,
    .observe = observe,
    .destroy = free};
