/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator: loaders, their consumers and the machine between them, by
 * discrete events, sample by sample.
 *
 *   scenario  what the machine and the work are like, phase by phase
 *   sim_run   one run of it under a controller (controller.h)
 *   sim_find_oracle   what the best fixed workers of each phase would have done
 *
 * What it leaves out: which core a thread is on, memory and its bandwidth (but
 * for kappa), the time that scheduling and measuring take, finishing of batches
 * by the device. So it shows whether the logic of a tuner holds, not how fast a
 * machine is.
 *
 * Everything random belongs to a sample, a batch or a moment and is a function
 * of (seed, its number): two runs with the same seed meet the same work,
 * whatever their controllers do, so that they can be compared to a fraction of
 * a per cent. Times are seconds, as double; what a controller reads is in ns,
 * like in the library.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "controller.h"

#include <stdbool.h>
#include <stdint.h>

#define SIM_PHASES  8u
#define SIM_LOADERS 8u

/* ---- Scenarios ---------------------------------------------------------- */

/* How long something takes. mean 0: nothing. */
struct sim_draw {
    double mean;
    double cv;     /* log-normal; 0: always the mean */
    double pareto; /* > 1: Pareto with this tail index instead, cut at 60
                      times the mean */
};

/* From batch `from` on. Work, sleep and storage change with the batch's number,
 * consumer and cores when it is delivered. All factors of what the scenario
 * says; 1 is no change. */
struct sim_phase {
    uint64_t from;
    double step, work, sleep, latency, cores;
    double hits; /* fraction of reads that the page cache serves */
};

struct sim_scenario {
    char name[48];
    const char *family;
    uint64_t batches; /* that each loader delivers */
    uint32_t batch_size;
    uint32_t loaders; /* at most SIM_LOADERS, alike, in one quota */

    /* A sample. */
    struct sim_draw work;  /* on a core */
    struct sim_draw sleep; /* off the core: a transform that waits */
    double drift;          /* of work: sine of this amplitude, period 700 */
    double lock; /* part of the work that holds a lock which all workers of a
                    loader share, an interpreter's */
    bool lock_untold; /* nobody announces waits for it: they look like sleep */

    /* The consumer: a step on the host, or one on a device. */
    struct sim_draw step;
    double consumer_cores; /* used while it is in its step */
    bool device; /* the step is the device's; the host needs host_step,
                         and runs ahead by at most run_ahead steps */
    double host_step, copy;
    uint32_t run_ahead;
    double pause; /* every pause_every batches: evaluation, checkpoint */
    uint64_t pause_every;
    bool barrier; /* behind each step it stops until it is let go (cluster.h) */

    /* The machine. */
    double cores; /* of the quota, the consumers' included */
    uint32_t host_cores;
    double period;    /* of the quota, CFS; 0: fluid */
    double kappa;     /* contention among workers of a loader */
    double eta;       /* workers slow the consumer: 1 + eta * use of cores */
    double neighbour; /* cores that somebody else takes, unannounced */
    double neighbour_on, neighbour_off; /* mean times of his work and rest */
    bool neighbour_told; /* a loader whose share is taken off the limits */
    double crowd;        /* threads of others that always run: workers get what
                            the scheduler deals to as many as they are */
    uint32_t decent;     /* workers; more would take the cores of others: the
                            oracle has no more either. 0: no matter */
    bool quota_untold;   /* the quota looks like the whole host */

    /* Storage. latency.mean 0: bytes are in memory. */
    struct sim_draw latency;
    bool pread;      /* a thread for each read in flight, instead of io_uring */
    double parallel; /* reads the device serves at once; 0: any */
    double bandwidth;  /* bytes per second, shared by loaders; 0: any */
    double burst_rate; /* fraction of reads that take burst longer */
    double burst;
    uint64_t read_bytes; /* of a sample */

    /* What goes wrong. */
    double hiccup;       /* s, in which workers stop, or storage does ... */
    double hiccup_every; /* ... with such a mean time between them */
    bool hiccup_of_storage;
    double
        hang; /* s; at batch hang_at one worker stays at its sample; INFINITY:
                    for ever */
    uint64_t hang_at;
    double jitter; /* s, of the controller's clock: standard deviation */
    double lost;   /* fraction of its readings that never come */

    struct fdl_tuner_limits limits;
    uint32_t n_phases; /* at least 1; the first begins at 0 */
    struct sim_phase phase[SIM_PHASES];
};

struct sim_dice;

/* Scenarios by family; parameters are drawn within the family's range. */
struct sim_family {
    const char *name;
    const char *about;
    void (*make)(struct sim_scenario *s, struct sim_dice *d);
};

extern const struct sim_family sim_families[];
extern const unsigned sim_n_families;

/* Of the family, named FAMILY/SEED. */
void sim_family_scenario(const struct sim_family *f, uint64_t seed,
                         struct sim_scenario *out);

/* Anything that could be, from a wide distribution; named random/SEED. */
void sim_random_scenario(uint64_t seed, struct sim_scenario *out);

/* What a controller may know of it before the first batch. */
void sim_facts_of(const struct sim_scenario *s, struct sim_facts *out);

/* ---- Runs --------------------------------------------------------------- */

/* Knobs from then on; the first one is where the controller started. */
struct sim_point {
    double seconds;
    uint64_t batch; /* delivered by then */
    uint32_t loader;
    struct fdl_knobs knobs;
};

/* Every SIM_MARK_BATCHES batches of loader 0; the first is at 0. */
#define SIM_MARK_BATCHES 100u
struct sim_mark {
    double seconds, wait; /* since the start */
    double idle;          /* of the device */
};

struct sim_result {
    double seconds;    /* mean over loaders, of all their batches */
    double wait, user; /* of the consumers: fractions of seconds */
    double idle;       /* of the devices; 0 without */
    double stall;      /* idle with devices, else wait */
    double workers, depth, io_depth; /* mean over time and loaders */
    double cpu;                      /* cores used by workers */
    uint64_t changes;                /* of workers, loader 0 */
    uint64_t memory_peak;            /* held, of all loaders the largest */
    uint64_t memory_setting;         /* the most that a setting could take */
    uint64_t memory_budget;          /* 0: none */
    uint64_t violations;             /* settings above the budget */
    uint64_t readings;               /* given to the controllers */
    bool stuck; /* a batch never came: the run was given up */
    struct sim_point *points;
    uint64_t n_points;
    struct sim_mark *marks;
    uint64_t n_marks;
    struct fdl_tuner_reading last; /* loader 0, true, at the end */
    struct fdl_tuner_status
        status; /* of loader 0's controller, if it has one */
    bool has_status;
};

/* controller NULL: the setting stays. start NULL: the static default.
 * Deterministic. false: no memory. */
bool sim_run(const struct sim_scenario *s,
             const struct sim_controller *controller,
             const struct fdl_knobs *start, uint64_t seed,
             struct sim_result *out);
void sim_result_free(struct sim_result *r);

/* ---- Oracle ------------------------------------------------------------- */

/* The best fixed setting of one phase; ties within 0.2 % go to fewer workers.
 */
struct sim_oracle_phase {
    uint64_t from, to; /* batches */
    struct fdl_knobs best;
    uint32_t cheapest_fed; /* workers; 0: none feeds it */
    double rate;           /* batches per second at best */
    double stall;          /* at best */
    uint32_t n;            /* that were tried, by workers, ascending */
    uint32_t workers[48];
    double rates[48];
    double stalls[48];
};

struct sim_oracle {
    double seconds; /* of the whole run: knobs change with the phases */
    double error;   /* standard error of the latter, fraction */
    double workers; /* mean over time */
    double stall;
    uint32_t n_phases;
    struct sim_oracle_phase phase[SIM_PHASES];
};

/* Batches per second with so many workers, between those that were tried by
 * interpolation. */
double sim_oracle_rate(const struct sim_oracle_phase *p, uint32_t workers);

bool sim_find_oracle(const struct sim_scenario *s, uint64_t seed,
                     struct sim_oracle *out);

#endif
