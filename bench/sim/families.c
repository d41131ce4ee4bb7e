/* SPDX-License-Identifier: Apache-2.0 */
/* The table of families, and what their makers share. */
#include "draw.h"
#include "families_own.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BATCHES    24000u
#define BATCH_SIZE 16u
#define IMAGE      (UINT64_C(224) * 224 * 3)
#define FILE_BYTES UINT64_C(110000) /* ImageNet's mean */

const struct sim_family sim_families[] = {
    {"cpu-feasible", "work on cores, enough of them", sim_make_cpu_feasible},
    {"cpu-saturated", "more work than cores", sim_make_cpu_saturated},
    {"contention", "each worker slows the others", sim_make_contention},
    {"lock", "part of the work under one lock, enough of it", sim_make_lock},
    {"lock-bound", "the same, and the lock is the limit", sim_make_lock_bound},
    {"lock-untold", "a lock that nobody announces is the limit",
     sim_make_lock_untold},
    {"gpu-bound", "hardly any work: one worker is enough", sim_make_gpu_bound},
    {"sleeping", "transforms that sleep: workers far above cores",
     sim_make_sleeping},
    {"heavy-tail-1.5", "Pareto work of samples, index 1.5", sim_make_heavy_15},
    {"heavy-tail-2", "the same, 2", sim_make_heavy_20},
    {"heavy-tail-2.5", "the same, 2.5", sim_make_heavy_25},
    {"high-noise", "work and step vary wildly", sim_make_high_noise},
    {"drift", "work goes up and down by 20 %", sim_make_drift},
    {"interference", "workers slow the consumer", sim_make_interference},
    {"interference-saturated", "the same, short of cores, with contention",
     sim_make_interference_saturated},
    {"tiny", "steps of 2 ms", sim_make_tiny},
    {"huge", "steps of 2 s", sim_make_huge},
    {"device", "steps on a device, asynchronous copies", sim_make_device},
    {"copy-bound", "the bus is the limit", sim_make_copy_bound},
    {"io-latency", "reads take long: many at once", sim_make_io_latency},
    {"io-parallel", "the device serves few reads at once",
     sim_make_io_parallel},
    {"io-bandwidth", "bytes per second are limited", sim_make_io_bandwidth},
    {"bursty-io", "now and then a read takes very long", sim_make_bursty_io},
    {"io-slow", "few bytes per second: depth must not grow", sim_make_io_slow},
    {"io-hiccup", "every 6 to 20 s storage stops for a while",
     sim_make_io_hiccup},
    {"epoch-warm", "the first epoch is cold, later ones are cached",
     sim_make_epoch_warm},
    {"epoch-cold", "the cache is lost at the end of an epoch",
     sim_make_epoch_cold},
    {"quota-down", "cores are taken away and given back", sim_make_quota_down},
    {"quota-up", "cores are added and taken back", sim_make_quota_up},
    {"throttling", "a quota counted in periods of 100 ms", sim_make_throttling},
    {"memory", "a budget of a few batches", sim_make_memory},
    {"neighbour", "somebody else takes cores, unannounced", sim_make_neighbour},
    {"visitors", "another loader comes and goes, with an unannounced lock",
     sim_make_visitors},
    {"crowd-computing", "others hold the cores, workers compute",
     sim_make_crowd_computing},
    {"crowd-sleeping", "others hold the cores, workers mostly sleep",
     sim_make_crowd_sleeping},
    {"quota-untold", "the quota looks like the whole host",
     sim_make_quota_untold},
    {"hiccup", "every 6 to 20 s workers stop for a while", sim_make_hiccup},
    {"phase-step", "the consumer becomes faster, then slower",
     sim_make_phase_step},
    {"phase-work", "samples become expensive, then cheap", sim_make_phase_work},
    {"evaluation", "the consumer is away for a while", sim_make_evaluation},
    {"checkpoint", "the consumer pauses briefly and often",
     sim_make_checkpoint},
    {"jitter", "a bad clock, and readings that get lost", sim_make_jitter},
    {"hung-worker", "a worker stays at one sample", sim_make_hung},
    {"two-loaders", "two loaders in one quota", sim_make_two_loaders},
    {"four-loaders", "four loaders on 64 cores", sim_make_four_loaders},
    {"big-host", "256 cores, eight loaders with a device each",
     sim_make_big_host},
};
const unsigned sim_n_families = sizeof(sim_families) / sizeof(*sim_families);

struct sim_dice sim_dice_of(uint64_t seed)
{
    return (struct sim_dice){.stream =
                                 sim_stream(seed, 0, SIM_STREAM_SCENARIO)};
}

double sim_chance(struct sim_dice *d)
{
    return sim_uniform(d->stream, d->thrown++);
}

double sim_between(struct sim_dice *d, double a, double b)
{
    return a + (b - a) * sim_chance(d);
}

double sim_decades(struct sim_dice *d, double a, double b)
{
    return exp(sim_between(d, log(a), log(b)));
}

/* workers_max is less than the library's 32 for each core: enough for what the
 * families need, and the oracle tries them all. */
void sim_bounds(struct sim_scenario *s)
{
    double per_loader = s->cores / s->loaders;
    uint32_t most = (uint32_t)fmin(512, fmax(64, 4 * per_loader));
    s->limits = (struct fdl_tuner_limits){
        .workers_min = 1,
        .workers_max = most,
        .depth_min = 1,
        .depth_max = 64,
        .io_depth_min = 1,
        .io_depth_max = 256,
        .cores = per_loader,
        .target = 0.01,
        .memory_bytes = UINT64_C(64) << 30,
        .batch_bytes = IMAGE * s->batch_size,
        .spare_bytes = 2 * IMAGE * s->batch_size,
        .read_bytes = s->latency.mean > 0 ? s->read_bytes : 0,
        .worker_bytes = 4 << 20,
    };
}

/* A quarter of all readers are threads; the library takes no more of those. */
void sim_choose_reader(struct sim_scenario *s, double chance)
{
    s->pread = chance < 0.25;
    if (s->pread && s->limits.io_depth_max > 64)
        s->limits.io_depth_max = 64;
}

void sim_plain(struct sim_scenario *s, double g, double cores, double load)
{
    *s = (struct sim_scenario){
        .batches = BATCHES,
        .batch_size = BATCH_SIZE,
        .loaders = 1,
        .work = {.mean = load * g / BATCH_SIZE, .cv = 0.5},
        .step = {.mean = g, .cv = 0.05},
        .consumer_cores = 0.7,
        .run_ahead = 2,
        .cores = cores,
        .host_cores = cores > 32 ? (uint32_t)cores : 32,
        .read_bytes = FILE_BYTES,
    };
    sim_add_phase(s, 0);
    sim_bounds(s);
}

struct sim_phase *sim_add_phase(struct sim_scenario *s, uint64_t from)
{
    struct sim_phase *p = &s->phase[s->n_phases++];
    *p = (struct sim_phase){.from = from,
                            .step = 1,
                            .work = 1,
                            .sleep = 1,
                            .latency = 1,
                            .cores = 1};
    return p;
}

void sim_reads(struct sim_scenario *s, double in_flight, double cv)
{
    double per_second = s->batch_size / s->step.mean;
    s->latency = (struct sim_draw){.mean = in_flight / per_second, .cv = cv};
    sim_bounds(s);
}

void sim_family_scenario(const struct sim_family *f, uint64_t seed,
                         struct sim_scenario *out)
{
    uint64_t own = seed * 0x9e3779b97f4a7c15u;
    for (const char *c = f->name; *c; c++)
        own = own * 31 + (unsigned char)*c;
    struct sim_dice d = sim_dice_of(own);
    f->make(out, &d);
    sim_choose_reader(out, sim_uniform(sim_stream(own, 0, SIM_STREAM_HIT), 0));
    out->family = f->name;
    snprintf(out->name, sizeof(out->name), "%s/%llu", f->name,
             (unsigned long long)seed);
}
