/* SPDX-License-Identifier: Apache-2.0 */
/* A scenario without chance, and a controller that walks at random, for the
 * tests of the simulator. */
#ifndef FDL_TESTS_SIM_PLAIN_H
#define FDL_TESTS_SIM_PLAIN_H

#include "bench/sim/sim.h"

/* A result that is freed where its block ends; clang does not count that as a
 * use. */
#define SCOPED_RESULT                                                          \
  __attribute__((cleanup(sim_result_free), unused)) struct sim_result

/* 2000 batches of 16; a step of g s; work of a batch in seconds on a core; all
 * constant, bytes in memory. */
static inline struct sim_scenario test_plain(double g, double cores,
                                             double work)
{
    struct sim_scenario s = {
        .batches = 2000,
        .batch_size = 16,
        .loaders = 1,
        .work = {.mean = work / 16},
        .step = {.mean = g},
        .run_ahead = 2,
        .cores = cores,
        .host_cores = 64,
        .read_bytes = 100000,
        .limits = {.workers_min = 1,
                   .workers_max = 256,
                   .depth_min = 1,
                   .depth_max = 64,
                   .io_depth_min = 1,
                   .io_depth_max = 256,
                   .cores = cores,
                   .target = 0.01,
                   .batch_bytes = 1 << 20,
                   .read_bytes = 100000,
                   .worker_bytes = 1 << 20},
        .n_phases = 1,
        .phase = {{.step = 1, .work = 1, .sleep = 1, .latency = 1, .cores = 1}},
    };
    return s;
}

/* Sets all knobs to something else at every look; *self counts looks. */
static inline void *test_walk_create(const struct sim_facts *facts,
                                     struct fdl_knobs *knobs)
{
    static uint64_t looks;
    (void)facts;
    (void)knobs;
    looks = 0;
    return &looks;
}

static inline void test_walk(void *self, const struct sim_facts *facts,
                             const struct fdl_tuner_reading *reading,
                             struct fdl_knobs *knobs)
{
    uint64_t *looks = self;
    uint64_t x = ++*looks * 0x9e3779b97f4a7c15u;
    (void)facts;
    (void)reading;
    knobs->workers = (uint32_t)(x >> 32) % 40;
    knobs->depth = (uint32_t)(x >> 40) % 70;
    knobs->io_depth = (uint32_t)(x >> 48) % 80;
}

static const struct sim_controller test_walker = {
    .name = "walk", .create = test_walk_create, .observe = test_walk};

#endif
