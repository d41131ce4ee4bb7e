/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the makers of scenarios share: numbers from a seed, and a plain scenario
 * to begin with.
 *
 * A family is thought of in worker-seconds per batch in units of the consumer's
 * step g: `load` 4 means that four workers at full speed just keep up.
 */
#ifndef SIM_FAMILIES_OWN_H
#define SIM_FAMILIES_OWN_H

#include "sim.h"

struct sim_dice {
    uint64_t stream, thrown;
};

struct sim_dice sim_dice_of(uint64_t seed);
double sim_chance(struct sim_dice *d);                      /* in (0, 1) */
double sim_between(struct sim_dice *d, double a, double b); /* even */
double sim_decades(struct sim_dice *d, double a, double b); /* even in log */

/* A step of g seconds, cores, and work of `load` steps, on cores. Nothing goes
 * wrong, bytes are in memory. */
void sim_plain(struct sim_scenario *s, double g, double cores, double load);

/* The bounds that the library would have on such a machine. */
void sim_bounds(struct sim_scenario *s);

/* io_uring or threads, by a number in (0, 1); last of all. */
void sim_choose_reader(struct sim_scenario *s, double chance);

/* A phase from that batch on, all factors 1. */
struct sim_phase *sim_add_phase(struct sim_scenario *s, uint64_t from);

/* Reads whose mean latency is what `in_flight` of them hide. */
void sim_reads(struct sim_scenario *s, double in_flight, double cv);

/* Makers, by file. */
typedef void sim_maker(struct sim_scenario *s, struct sim_dice *d);
sim_maker sim_make_cpu_feasible, sim_make_cpu_saturated, sim_make_contention,
    sim_make_lock, sim_make_lock_bound, sim_make_lock_untold,
    sim_make_gpu_bound, sim_make_sleeping, sim_make_heavy_15, sim_make_heavy_20,
    sim_make_heavy_25, sim_make_high_noise, sim_make_drift,
    sim_make_interference, sim_make_interference_saturated, sim_make_tiny,
    sim_make_huge, sim_make_device, sim_make_copy_bound; /* families_work.c */
sim_maker sim_make_io_latency, sim_make_io_parallel, sim_make_io_bandwidth,
    sim_make_bursty_io, sim_make_io_slow, sim_make_io_hiccup,
    sim_make_epoch_warm, sim_make_epoch_cold; /* families_storage.c */
sim_maker sim_make_quota_down, sim_make_quota_up, sim_make_throttling,
    sim_make_memory, sim_make_neighbour, sim_make_visitors,
    sim_make_crowd_computing, sim_make_crowd_sleeping, sim_make_quota_untold,
    sim_make_hiccup, sim_make_phase_step, sim_make_phase_work,
    sim_make_evaluation, sim_make_checkpoint, sim_make_jitter, sim_make_hung,
    sim_make_two_loaders, sim_make_four_loaders,
    sim_make_big_host; /* families_machine.c */

#endif
