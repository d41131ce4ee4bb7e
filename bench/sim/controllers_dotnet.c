/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hill climbing of .NET's thread pool (dotnet/runtime,
 * PortableThreadPool.HillClimbing.cs), with its constants. The number of
 * threads is a control setting plus a square wave, two samples low and two
 * high. Over the last samples the component of throughput at the wave's
 * frequency is held against that of the threads (Goertzel's filter): in phase
 * means that threads help. Adjacent frequencies say how much of it is noise,
 * and noise also sets the height of the wave.
 *
 * Given for free: as much depth as memory allows, up to 64 batches, and as many
 * reads; it may go down to one thread, where the pool keeps one for each core.
 */
#include "bench/sim/controllers_own.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#define PERIOD        4   /* samples of one wave */
#define HISTORY       32u /* samples: 8 waves */
#define BIAS          0.15
#define SIGNAL_NOISE  3.0
#define PER_SECOND    4.0  /* threads of gain */
#define PER_SAMPLE    20.0 /* threads, most of a move and of a wave */
#define SMOOTHING     0.01 /* of the noise */
#define SAMPLE_ERROR  0.15
#define BUSY          0.95 /* of the cores: no more threads */
#define INTERVAL_LOW  10   /* ms, of a sample at random from ... */
#define INTERVAL_HIGH 200
#define INTERVAL_MORE 0.010 /* s, until a sample is accurate enough */
#define DEPTH_GIVEN   64u   /* batches */

struct self {
    struct fdl_tuner_reading since, last; /* of the sample under way */
    bool started;
    double rate[HISTORY], threads[HISTORY];
    uint64_t samples;
    double setting, noise;
    double interval, wanted; /* s: drawn, and until the next sample */
    uint32_t workers;
    uint64_t random;
};

/* A clock or a counter that stands still or runs backwards makes a span of
 * nothing, never a negative one. */
static double seconds_of(const struct self *s)
{
    int64_t ns = s->last.now_ns - s->since.now_ns;
    return ns > 0 ? (double)ns / 1e9 : 0;
}

static double samples_of(const struct self *s)
{
    uint64_t now = s->last.samples, then = s->since.samples;
    return now > then ? (double)(now - then) : 0;
}

static uint32_t clamped(double value, uint32_t low, uint32_t high)
{
    if (!(value > low))
        return low;
    return value < high ? (uint32_t)value : high;
}

/* That many workers, and as many batches and reads as the bounds and the memory
 * have room for: reads get an eighth of the memory at most, batches what is
 * left, and fewer workers are given where they alone are too many. */
static struct fdl_knobs roomy(const struct fdl_tuner_limits *limits,
                              double workers)
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
    double room = DEPTH_GIVEN;
    if (limits->memory_bytes && limits->batch_bytes)
        room = fmin(room, k.depth + floor(left / (double)limits->batch_bytes));
    k.depth = clamped(room, limits->depth_min, limits->depth_max);
    return k;
}

static double draw_interval(struct self *s)
{
    s->random = s->random * UINT64_C(6364136223846793005) +
                UINT64_C(1442695040888963407);
    uint64_t span = INTERVAL_HIGH - INTERVAL_LOW + 1;
    return 1e-3 * (double)(INTERVAL_LOW + ((s->random >> 33) % span));
}

static void *create(const struct sim_facts *facts, struct fdl_knobs *knobs)
{
    struct self *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->workers = (uint32_t)fmax(1, ceil(facts->quota));
    s->setting = s->workers;
    s->interval = s->wanted = draw_interval(s);
    *knobs = roomy(&facts->limits, s->workers);
    s->workers = knobs->workers;
    return s;
}

/* Goertzel's filter over the last n samples. */
static double complex wave(const struct self *s, const double *values,
                           uint64_t n, double period)
{
    double w = 2 * acos(-1) / period, twice = 2 * cos(w), a = 0, b = 0;
    for (uint64_t i = s->samples - n; i < s->samples; i++) {
        double next = twice * a - b + values[i % HISTORY];
        b = a;
        a = next;
    }
    return (a - b * cos(w) + b * sin(w) * I) / (double)n;
}

static double mean(const struct self *s, const double *values, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = s->samples - n; i < s->samples; i++)
        sum += values[i % HISTORY];
    return sum / (double)n;
}

/* By which part of all threads it should move: -1 ... 1, trusted or not. Also
 * the real part of the ratio, for the next interval. */
static double direction(struct self *s, double *real)
{
    uint64_t n = s->samples - 1 < HISTORY ? s->samples - 1 : HISTORY;
    n -= n % PERIOD;
    *real = 0;
    if (n <= PERIOD)
        return 0;
    double rate = mean(s, s->rate, n), threads = mean(s, s->threads, n);
    if (!(rate > 0) || !(threads > 0))
        return 0;
    double waves = (double)n / PERIOD;
    double below = (double)n / (waves + 1), above = (double)n / (waves - 1);
    double complex up = wave(s, s->rate, n, PERIOD) / rate;
    double error = cabs(wave(s, s->rate, n, below)) / rate;
    if (above <= (double)n)
        error = fmax(error, cabs(wave(s, s->rate, n, above)) / rate);
    double complex push = wave(s, s->threads, n, PERIOD) / threads;
    s->noise =
        s->noise > 0 ? SMOOTHING * error + (1 - SMOOTHING) * s->noise : error;
    if (cabs(push) > 0)
        *real = creal((up - BIAS * push) / push);
    double noise = fmax(s->noise, error);
    double trust = noise > 0 ? cabs(push) / noise / SIGNAL_NOISE : 1;
    return fmax(-1, fmin(1, *real)) * fmin(1, trust);
}

/* Cores that workers and consumer used, of those granted. */
static double usage(const struct self *s, const struct sim_facts *facts)
{
    const struct fdl_tuner_reading *a = &s->since, *b = &s->last;
    int64_t ns =
        b->cpu_ns + b->consumer_cpu_ns - a->cpu_ns - a->consumer_cpu_ns;
    return (double)ns / 1e9 / (seconds_of(s) * facts->quota);
}

static void climb(struct self *s, const struct sim_facts *facts)
{
    double seconds = seconds_of(s), real;
    uint64_t at = s->samples % HISTORY;
    s->rate[at] = samples_of(s) / seconds;
    s->threads[at] = s->workers;
    s->samples++;

    double move = direction(s, &real);
    move = copysign(move * move, move) * PER_SECOND * seconds;
    move = fmin(move, PER_SAMPLE);
    if (move > 0 && usage(s, facts) > BUSY)
        move = 0;
    s->setting += move;
    double high = floor(0.5 + 2 * s->setting * s->noise * SIGNAL_NOISE);
    high = fmax(1, fmin(high, PER_SAMPLE));
    double least = facts->limits.workers_min, most = facts->limits.workers_max;
    s->setting = fmax(least, fmin(s->setting, most - high));
    double next = s->setting + (s->samples / (PERIOD / 2) % 2 ? high : 0);
    uint32_t workers = (uint32_t)fmax(least, fmin(next, most));
    if (workers != s->workers)
        s->interval = draw_interval(s);
    s->workers = workers;
    s->wanted = s->interval;
    if (real < 0 && next <= least)
        s->wanted = s->interval * 10 * fmin(-real, 1);
}

static void observe(void *self, const struct sim_facts *facts,
                    const struct fdl_tuner_reading *r, struct fdl_knobs *knobs)
{
    struct self *s = self;
    if (!s->started)
        s->since = *r;
    s->started = true;
    s->last = *r;
    double seconds = seconds_of(s);
    if (seconds <= 0 || seconds < s->wanted)
        return;
    /* Each thread but one may have been within a piece of work. */
    if (s->samples && s->workers - 1 >= SAMPLE_ERROR * samples_of(s)) {
        s->wanted = seconds + INTERVAL_MORE;
        return;
    }
    climb(s, facts);
    s->since = s->last;
    *knobs = roomy(&facts->limits, s->workers);
    s->workers = knobs->workers;
}

const struct sim_controller sim_dotnet = {
    .name = "dotnet",
    .about = "hill climbing of the thread pool by a square wave (.NET, "
             "PortableThreadPool.HillClimbing.cs); depth and reads are given",
    .create = create,
    .observe = observe,
    .destroy = free};
