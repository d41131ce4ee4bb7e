/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From numbers to words: a pure function from what was measured to verdicts,
 * each with its evidence and one action. No two of them contradict.
 *
 * Levels by stall S: FED < 1 %, MINOR < 5 %, MODERATE < 20 %, HIGH. S is the
 * host's wait / wall, or, as soon as a device has a span, the device's own idle
 * / span (profiler/measure/device.h): the host queues work and runs ahead, and
 * when it waits for a slot that the GPU still uses, nobody starves.
 *
 * Causes of the stall are prep (PREP + WORKER_WAIT), fetch (FETCH +
 * FETCH_QUEUE), transfer (TRANSFER + TRANSFER_QUEUE), slot (SLOT + NOT_ISSUED)
 * and wake. With a device SLOT is none, and what is idle beyond the host's
 * waits is for the copy. The largest, and each with 20 % of the stall, has a
 * verdict, by the first rule that holds.
 *
 * Preparing is judged by where the workers' time went (verdict_split.c): on a
 * core, queueing for one behind each other, behind other threads of the process
 * or behind other processes, held by the quota, asleep, waiting for a lock. The
 * largest part leads; the next one is named if it has 20 %.
 *
 *   prep      CPU_THROTTLED             quota spent for 5 % of wall, or 1 % and
 *                                       fewer workers than fit the cores; no
 *                                       part but computing takes more
 *             HEAD_OF_LINE              a later batch ready at half of the long
 *                                       waits, workers without room 5 %; this
 *                                       and the next three not where others
 *                                       have half of the workers' time
 *             DEPTH_LIMITED             workers without room 20 %; or 5 %, fast
 *                                       enough on average (1.1), and the tail
 *                                       of a batch's time beyond depth * step
 *             CONSUMER_HOLDS_SLOTS      without room 20 %, though depth * step
 *                                       is twice that tail: slots are missing
 *             MEMORY_LIMITED            without it, and no budget for depth
 *             LOCK_BOUND                20 % of busy time waiting for a lock
 *                                       that all calls of a custom operation
 *                                       share, and more to gain by its end than
 *                                       by cores for all, see
 *                                       verdict_rules_lock.c
 *             FOREIGN_CPU               queueing leads, or 90 % of cores are
 *                                       taken, and other threads of the process
 *                                       used 20 % of them (and half a one), and
 *                                       more than other processes did
 *             OVERSUBSCRIBED            queueing leads, otherwise
 *             LOCK_BOUND                sleep leads, and the tuner saw more
 *                                       workers get no more done
 *             PREP_BOUND_TUNABLE        more workers are of use; or sleep leads
 *             LARGE_IMAGES              16 times the pixels of what is made of
 *                                       them; also beside another cause of prep
 *             PREP_BOUND_CPU_SATURATED  otherwise
 *   fetch     COLD_CACHE                first epoch 3 times the later ones, for
 *                                       the consumer and for a read; or, before
 *                                       these, 5-95 % of reads slow
 *             HEAD_OF_LINE to MEMORY_LIMITED as above
 *             SMALL_FILES               mean file < 32 KiB, 80 % of a read's
 *                                       time does not depend on its size, and
 *                                       reads in flight or a deeper queue gave
 *                                       nothing
 *             FETCH_BW_BOUND            several reads together get the rate at
 *                                       which one passes its bytes; or with
 *                                       half as many reads again under way the
 *                                       rate grew by 5 % at most for each
 *                                       doubling of them; or a trial of the
 *                                       tuner's brought nothing
 *             FETCH_LATENCY_BOUND       otherwise
 *   transfer  XFER_BOUND                copies half of the stall and below half
 *                                       of the ceiling; or 80 % of the span,
 *                                       whatever the cause
 *             COPY_NOT_OVERLAPPED       copies half of the stall, less than
 *                                       20 % beside work of 20 % of the span
 *             XFER_BOUND                otherwise
 *   slot      MEMORY_LIMITED            the budget allows no more depth
 *             CONSUMER_HOLDS_SLOTS      SLOT is the larger part
 *             DEPTH_LIMITED             otherwise
 *   wake      CPU_THROTTLED, FOREIGN_CPU as above; OVERSUBSCRIBED where workers
 *                                       queued for 10 % of their time, or where
 *                                       nothing is known of it and there are as
 *                                       many as cores
 *             OUT_OF_SCOPE              otherwise; or no cause has 20 %
 *
 * Beside them, whatever S is unless it is said:
 *
 *   WORKER_STUCK            a worker or a read hangs, see stuck_workers
 *   INSUFFICIENT_DATA       < 8 batches, or < 64 in less than 1 s; alone, but
 *                           for a batch that waits for a worker that is stuck
 *   GPU_UNUSED              GPU at 0 % for 10 s and 10 batches
 *   GPU_CAPPED              held back by temperature; or by power, below 90 %
 *                           of its clock
 *   SLOW_START              S >= 1 %, a fifth of the stall in first batches (of
 *                           the run, of epochs of 8 batches or more) that took
 *                           3 times what a batch usually takes, wait and step
 *   GPU_KERNEL_INEFFICIENT  S < 1 %, utilisation >= 50 %, SM activity < 50 %
 *   CONSUMER_HOST_BOUND     gaps, without what the quota made of them, >= 10 %
 *                           of wall; or S < 5 %, utilisation < 50 %
 *   CPU_THROTTLED           5 % of wall; 1 % where S >= 1 %
 *   INTERFERENCE            steps 5 % longer with most workers, 4 sigma
 *   PERIODIC_STALL          S >= 1 %, autocorrelation of waits >= 0.5
 *   COMM_OR_STRAGGLER       S < 1 %, several ranks
 *   GPU_BOUND               S < 1 %, workers without room 20 %, 99 % of calls
 *                           ready (or a device's S), utilisation >= 50 % if
 *                           known
 *   FED_OVERPROVISIONED     S < 1 %, workers without room 50 %, or two more
 *                           than 1.1 * work / step
 *   FED                     S < 1 %, neither of the two before
 *
 * Order: by the fraction of the time that a verdict explains.
 *
 *   WORKER_STUCK            more than all, if the next batch waits for it, and
 *                           then before INSUFFICIENT_DATA too
 *   GPU_UNUSED              all
 *   a cause                 S * its share of the stall; XFER_BOUND by a full
 *                           bus all of S
 *   SLOW_START              S if half of the stall is there; else its part of S
 *   CONSUMER_HOST_BOUND     gaps / wall; 1 - utilisation - S
 *   CPU_THROTTLED           the time that the quota was spent / cores, from 5 %
 *   GPU_KERNEL_INEFFICIENT  utilisation * (1 - SM activity)
 *   GPU_CAPPED              1 - clock
 *   INTERFERENCE            its part of the user's time
 *   COMM_OR_STRAGGLER       collective phase / wall, stall of the other rank
 *   LARGE_IMAGES            0.9 of its cause's, without sleep and locks
 *   the others              nothing: an addition to what comes before
 *
 * and where two explain as much, GPU_UNUSED and SLOW_START, then causes, then
 * GPU_CAPPED to LARGE_IMAGES, then those of S < 1 %, then the rest. A code is
 * there once. So a loader that waits 3 % of the time beside a GPU that has
 * nothing to do for 60 % of it is not the first to be looked at.
 *
 * Thresholds of 5 and 20 % of S, 50 us and SM activity 50 % are those of other
 * tools; the rest are starting values.
 */
#ifndef FDL_PROFILER_VERDICT_H
#define FDL_PROFILER_VERDICT_H

#include "base/terms.h"
#include "profiler/measure/ledger.h"

#include <stdbool.h>
#include <stdint.h>

/* A lock that all calls of custom operations share, as those have that are
 * written in the language of an interpreter with one. Of such operations: */
struct fdl_shared_lock {
    int64_t wall_ns, cpu_ns; /* of their calls; part of worker_busy_ns */
    int64_t wait_ns;         /* of wall_ns, for the lock, as they said */
    uint64_t calls;
    uint64_t waits;   /* of these: for FDL_LONG_WAIT_NS or more */
    const char *name; /* of the one that has it most; NULL: none has one */
};

/* The operation that takes most of the workers' time. */
struct fdl_costly_op {
    const char *name; /* "decode", "augment", a custom operation's label:
                         "python (`solarize`)"; NULL: nothing was done yet */
    int64_t wall_ns;  /* part of worker_busy_ns */
    int64_t cpu_ns;   /* of it; -1: not known */
    uint64_t samples;
};

/* All over one window: since the last reset, or the last minute of a run. A
 * double that is not known is -1, a count or a time 0; a rule whose numbers are
 * not known does not speak. */
struct fdl_evidence {
    /* The consumer. */
    struct fdl_ledger ledger;
    uint64_t batches, samples;
    int64_t wall_ns;
    int64_t user_ns, api_ns;
    uint64_t calls;        /* of next() that delivered */
    uint64_t ready_calls;  /* whose batch was there when they came */
    uint64_t long_waits;   /* waits of 50 us or more */
    uint64_t passed_waits; /* of these: a later batch was ready meanwhile */
    int64_t first_batch_ns;
    int64_t epoch_edge_ns;  /* mean wait for the first batch of a later epoch */
    int64_t median_step_ns; /* of the consumer's own time, g */
    double interference;    /* relative growth of g from the fewest workers
                               seen to the most */
    double interference_sigma; /* and its distance from 0 in standard errors */
    uint64_t gaps;             /* see feedline_gap_stats */
    int64_t gap_ns;
    uint32_t gap_period;
    uint32_t stall_period; /* batches; 0: none */
    double stall_strength; /* peak of the autocorrelation of the waits */
    const char *phase;     /* that takes most of user time; NULL: no marks */
    int64_t phase_ns;
    uint32_t world;       /* ranks */
    uint64_t epoch_edges; /* epochs behind the first that epoch_edge_ns is the
                             mean of; 0 with a mean: one */
    double peer_stall;    /* largest S of the other ranks; -1 */

    /* Batches that somebody else makes, see loader/watch/outside.h. Nothing is
     * known of its inside, so the ledger has no buckets. */
    const char *outside;          /* its name; NULL: this loader makes them */
    const char *outside_option;   /* of it, for workers; NULL: none is known */
    uint32_t outside_processes;   /* children of this process, at most */
    double outside_process_cores; /* that they used; -1 */
    double outside_queued;        /* part of the time in which each of them, or
                                     else the consumer, waited for a core; -1 */
    int64_t wait_cpu_ns;          /* the consumer's thread, while it waited */

    /* The workers. */
    uint32_t workers;
    uint32_t cpus_usable;
    int64_t
        worker_busy_ns;    /* over all workers: cpu + runq + throttle + sleep */
    int64_t worker_cpu_ns; /* 0: not known */
    int64_t worker_runq_ns;
    int64_t worker_throttle_ns;
    int64_t worker_sleep_ns;
    int64_t worker_blocked_ns;
    int64_t worker_starved_ns;
    int64_t custom_ns; /* of worker_busy_ns, in custom operations */
    struct fdl_shared_lock lock;

    /* Depth. */
    uint32_t depth;
    bool memory_limited;    /* the budget allows no deeper ring */
    bool tuning;            /* somebody changes what is auto by itself */
    int64_t ticket_mean_ns; /* from issue until ready; 0: not known */
    int64_t ticket_tail_ns; /* the same, its 99.6 % quantile */
    int64_t slow_stall_ns;  /* waits for single slow samples */

    /* Reads. */
    bool reads_storage; /* not the memory reader */
    uint32_t io_depth;
    double mean_file_bytes; /* -1: not known */
    double read_rate;       /* bytes/s over the window, while reads were on
                               their way */
    double best_read_rate;  /* the best second so far */
    double read_p50_us, read_p99_us;
    double rate_by_depth;     /* growth of read_rate since io_depth was last
                               raised, 0.05 is 5 %; -1: never raised */
    double latency_by_depth;  /* the same of read_p50_us */
    double first_epoch_fetch; /* fetch share of wall in the first epoch */
    double later_epoch_fetch; /* and in the ones behind it */
    double first_epoch_read;  /* mean time of a read in the first epoch, ns */
    double later_epoch_read;  /* and in the ones behind it */
    double cold_fraction;     /* of reads that were as slow as a device while
                                 others were as fast as memory; -1 */

    /* Workers and reads that hang, see loader/watch/stuck.h. Of the worst one:
     */
    uint32_t stuck_workers;
    bool stuck_awaited;      /* the next batch waits for it */
    int64_t stuck_ns;        /* at one sample */
    const char *stuck_where; /* "read" "decode" "augment" or a custom
                                operation's name */
    char stuck_path[96];     /* the end of it */

    /* The machine. */
    int64_t throttled_ns;  /* wall time lost to the quota, all cores */
    double host_busy;      /* fraction of the machine's cores */
    double foreign_cores;  /* cores that threads not ours used, of this process,
                              the consumer's left out */
    char foreign_name[16]; /* the busiest of them */
    double consumer_cores; /* of the consumer's thread */
    double outside_cores;  /* cores that other processes used */

    /* The device, see profiler/measure/device.h; false: batches stay on the
     * host. */
    bool has_device;
    int64_t device_idle_ns, device_span_ns;
    int64_t copy_ns, overlap_ns;
    double copy_gbps;    /* of our copies */
    double ceiling_gbps; /* of copies of their size on this bus; 0: unknown */
    uint64_t steps;      /* batches that a stream waited for */

    /* NVML; -1: not known. */
    double gpu_utilization, gpu_sm_active;
    double gpu_idle_seconds; /* at utilisation 0 until now */
    double gpu_memory_used;  /* fraction */
    bool gpu_power_capped, gpu_thermal_capped;
    double gpu_clock; /* of its maximum */

    /* What the work is. */
    struct fdl_costly_op op;
    double source_pixels; /* of an image as it is stored, mean; -1 */
    double output_pixels; /* of what is made of it, all views; -1 */

    /* The consumer's waits, once the run is under way. */
    double usual_wait_ns;     /* median, first batches of runs and epochs left
                               out; -1: there was no other */
    uint64_t epoch_batches;   /* of an epoch, for this rank; 0: not known */
    int64_t gap_throttled_ns; /* of gap_ns, held up by the quota */

    /* The tuner, and what it may change. */
    uint32_t tried_workers; /* its last judged trial of more; 0: there was none
                             */
    double tried_gain;      /* measured throughput, 0.25 is a quarter more */
    bool more_reads_failed; /* its last trial of more brought nothing */
    bool workers_auto, depth_auto, io_auto;
    uint32_t workers_max; /* that it takes at most; 0: not known */

    /* The machine. */
    double cpu_quota; /* cores that a quota grants, -1: there is none */

    /* Reads. A read of b bytes took read_fixed_ns + b * read_byte_ns while
     * reads_under_way of them shared the storage. */
    double read_ops;        /* per second, while reads were on their way */
    double reads_under_way; /* mean, while there were any */
    double read_fixed_ns, read_byte_ns; /* -1: sizes or times tell nothing */
    double read_byte_error_ns;          /* standard error of read_byte_ns */
    double read_rate_now; /* bytes/s in the last seconds; best_read_rate is
                               the best that was kept up for as long; -1 */

    const struct fdl_terms *terms; /* of the program's interface */
};

/* Which way an action turns the knobs: 1 up, -1 down, 0 not at all. */
struct fdl_moves {
    int workers, depth, io_depth;
};

struct fdl_verdict {
    const char *code;  /* of the list above, static */
    const char *level; /* "FED" "MINOR" "MODERATE" "HIGH" "UNKNOWN", static */
    uint32_t confidence_ppm; /* grows with the batches and the cause's share */
    double predicted_gain;   /* at most, if the action removes the cause; 0.25
                                is a quarter more throughput */
    double share;            /* of the stall; 0: not a cause of it */
    bool tuner; /* the action is on knobs that the tuner has: some of `moves` */
    struct fdl_moves moves;
    double workers_to; /* the number of workers advised; 0: none */
    const char *part;  /* of the stall: "prep" "fetch" "transfer" "slot" "wake",
                          static; "": not a cause of it */
    char sentence[384];
    char action[256];
    char evidence[768]; /* the numbers that decided, as one JSON object */
};

#define FDL_VERDICTS_MAX 6u

/* Everything unknown: the evidence to begin from. */
void fdl_evidence_init(struct fdl_evidence *e);

/* The verdict, and behind it the others that hold too, largest first. Returns
 * how many, at least 1. Pure; any thread. */
uint32_t fdl_verdict_judge(const struct fdl_evidence *e,
                           struct fdl_verdict out[FDL_VERDICTS_MAX]);

#endif
