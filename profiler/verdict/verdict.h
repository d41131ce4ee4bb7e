/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns evidence into verdicts, each with one action: a pure function. No two
 * verdicts contradict each other.
 *
 * Levels by stall S: FED < 1 %, MINOR < 5 %, MODERATE < 20 %, HIGH. S is the
 * host's wait / wall or, once a device has a span, the device's own idle / span
 * (profiler/measure/device.h): the host queues work and runs ahead, and while
 * it waits for a slot that the GPU still uses, nothing starves.
 *
 * Causes of the stall are prep (PREP + WORKER_WAIT), fetch (FETCH +
 * FETCH_QUEUE), transfer (TRANSFER + TRANSFER_QUEUE), slot (SLOT + NOT_ISSUED)
 * and wake. With a device, SLOT is not a cause, and idle time beyond the host's
 * waits counts as transfer. The largest cause, and each with 20 % of the stall,
 * gets a verdict from the first rule that applies.
 *
 * Prep is judged by where the workers' time went (verdict_split.c): on a core;
 * queueing for one behind each other, behind other threads of the process or
 * behind other processes; throttled by the quota; asleep; waiting for a lock.
 * The largest part leads; the second is named if it has 20 %. Time in which
 * they had nothing to do because the program paused, as for an evaluation, is
 * left out, also of what is "blocked".
 *
 *   prep      CPU_THROTTLED             quota used up for 5 % of wall, or 1 %
 *                                       with fewer workers than cores; no part
 *                                       other than computing takes more
 *             HEAD_OF_LINE              a later batch ready at half of the long
 *                                       waits, workers blocked for 5 %; this
 *                                       rule and the next three do not apply if
 *                                       others have half of the workers' time
 *             DEPTH_LIMITED             workers blocked for 20 %; or 5 %, fast
 *                                       enough on average (1.1), and the tail
 *                                       of a batch's time exceeds depth * step
 *             CONSUMER_HOLDS_SLOTS      blocked for 20 % although depth * step
 *                                       is twice that tail: slots are missing
 *             MEMORY_LIMITED            the same, without budget for more depth
 *             LOCK_BOUND                20 % of busy time waiting for a lock
 *                                       shared by all calls of a custom
 *                                       operation, and losing it would gain
 *                                       more than a core for each, see
 *                                       verdict_rules_lock.c
 *             FOREIGN_CPU               queueing leads, or 90 % of the cores
 *                                       are taken, and other threads of the
 *                                       process used 20 % of them (at least
 *                                       half a core), more than other processes
 *             OVERSUBSCRIBED            queueing leads, otherwise
 *             LOCK_BOUND                sleep leads, and the tuner saw more
 *                                       workers get no more done
 *             PREP_BOUND_TUNABLE        more workers would help; or sleep leads
 *             LARGE_IMAGES              16 times the pixels of the result; also
 *                                       in addition to another cause of prep
 *             PREP_BOUND_CPU_SATURATED  otherwise
 *   fetch     COLD_CACHE                first epoch 3 times the later ones, for
 *                                       the consumer and per read; or, before
 *                                       those, 5-95 % of reads slow
 *             HEAD_OF_LINE to MEMORY_LIMITED as above
 *             SMALL_FILES               mean file < 32 KiB, 80 % of a read's
 *                                       time is independent of bytes, and
 *                                       neither more reads in flight nor a
 *                                       deeper queue helped
 *             FETCH_BW_BOUND            a read waits for the bytes ahead of it,
 *                                       at the rate of all reads; or with
 *                                       half as many more reads in flight the
 *                                       rate grew by at most 5 % per doubling;
 *                                       or a trial of the tuner gained nothing
 *             FETCH_LATENCY_BOUND       otherwise
 *   transfer  DEVICE_DECODE_BOUND       kernels that decode take 80 % of the
 *                                       span, whatever the cause, and more of
 *                                       it than copies
 *             XFER_BOUND                copies are half of the stall and below
 *                                       half of the ceiling; or 80 % of the
 *                                       span, whatever the cause
 *             COPY_NOT_OVERLAPPED       copies are half of the stall, less than
 *                                       20 % overlapping work of 20 % of the
 *                                       span
 *             XFER_BOUND                otherwise
 *   slot      MEMORY_LIMITED            the budget allows no more depth
 *             CONSUMER_HOLDS_SLOTS      SLOT is the larger part
 *             DEPTH_LIMITED             otherwise
 *   wake      CPU_THROTTLED, FOREIGN_CPU as for prep; OVERSUBSCRIBED if workers
 *                                       queued for 10 % of their time or, where
 *                                       that is unknown, are as many as cores
 *             OUT_OF_SCOPE              otherwise; or no cause has 20 %
 *
 * In addition, for any S unless stated:
 *
 *   WORKER_STUCK            a worker or a read hangs, see stuck_workers
 *   INSUFFICIENT_DATA       < 8 batches, or < 64 in less than 1 s; alone,
 *                           unless a batch waits for a worker that is stuck
 *   GPU_UNUSED              GPU at 0 % for 10 s and 10 batches
 *   GPU_CAPPED              limited by temperature; or by power, below 90 % of
 *                           its clock
 *   SLOW_START              S >= 1 %, a fifth of the stall in first batches (of
 *                           the run, of epochs of 8 batches or more) that took
 *                           3 times what a batch usually takes, wait and step
 *   GPU_KERNEL_INEFFICIENT  S < 1 %, utilisation >= 50 %, SM activity < 50 %
 *   HANDOVER_BOUND          something with a name had finished batches in hand
 *                           for 5 % of wall
 *   CONSUMER_HOST_BOUND     gaps, less what the quota caused, >= 10 % of wall;
 *                           or S < 5 %, utilisation < 50 %
 *   CPU_THROTTLED           5 % of wall; 1 % where S >= 1 %
 *   INTERFERENCE            steps 5 % longer with the most workers, 4 sigma
 *   PERIODIC_STALL          S >= 1 %, autocorrelation of waits >= 0.5
 *   COMM_OR_STRAGGLER       S < 1 %, several ranks
 *   GPU_BOUND               S < 1 %, workers blocked for 20 %, 99 % of calls
 *                           ready (or a device's S), utilisation >= 50 % if
 *                           known
 *   FED_OVERPROVISIONED     S < 1 %, workers blocked for 50 %, or two more than
 *                           1.1 * work / step
 *   FED                     S < 1 %, neither of the previous two
 *
 * Verdicts are ordered by the fraction of the time that each explains:
 *
 *   WORKER_STUCK            everything, if the next batch waits for it; then it
 *                           also precedes INSUFFICIENT_DATA
 *   GPU_UNUSED              everything
 *   a cause                 S * its share of the stall; for XFER_BOUND by a
 *                           full bus, and DEVICE_DECODE_BOUND, all of S
 *   SLOW_START              S if half of the stall is there; else its part of S
 *   HANDOVER_BOUND          that part of wall
 *   CONSUMER_HOST_BOUND     gaps / wall; 1 - utilisation - S
 *   CPU_THROTTLED           the time the quota was used up / cores, from 5 %
 *   GPU_KERNEL_INEFFICIENT  utilisation * (1 - SM activity)
 *   GPU_CAPPED              1 - clock
 *   INTERFERENCE            its part of the user's time
 *   COMM_OR_STRAGGLER       collective phase / wall, stall of the other rank
 *   LARGE_IMAGES            0.9 of its cause's, without sleep and locks
 *   the others              nothing: they add to what precedes them
 *
 * Ties: GPU_UNUSED and SLOW_START first, then causes, then GPU_CAPPED to
 * LARGE_IMAGES, then those of S < 1 %, then the rest. A code occurs once. So a
 * wait of 3 % ranks below a GPU that is idle for 60 % of the time.
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

/* A lock shared by all calls of custom operations, such as an interpreter's. Of
 * the operations that use it: */
struct fdl_shared_lock {
    int64_t wall_ns, cpu_ns; /* of their calls; part of worker_busy_ns */
    int64_t wait_ns;         /* of wall_ns, for the lock, as they reported */
    uint64_t calls;
    uint64_t waits;   /* of these: for FDL_LONG_WAIT_NS or more */
    const char *name; /* of the one that holds it most; NULL: none */
};

/* The operation that takes most of the workers' time. */
struct fdl_costly_op {
    const char *name; /* "decode", "augment", a custom operation's label:
                         "python (`solarize`)"; NULL: no work done yet */
    int64_t wall_ns;  /* part of worker_busy_ns */
    int64_t cpu_ns;   /* of it; -1: not known */
    uint64_t samples;
};

/* Everything over one window: since the last reset, or the last minute of a
 * run. Unknown doubles are -1, unknown counts and times 0; a rule whose numbers
 * are unknown is skipped. */
struct fdl_evidence {
    /* The consumer. */
    struct fdl_ledger ledger;
    uint64_t batches, samples;
    int64_t wall_ns;
    int64_t user_ns;
    uint64_t calls;        /* of next() that delivered */
    uint64_t ready_calls;  /* whose batch was ready when they were made */
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
    int64_t handover_ns;   /* a binding had finished batches in hand */
    char handover[64];     /* what took that; "": not known */
    const char *phase;     /* that takes most of user time; NULL: no marks */
    int64_t phase_ns;
    const char *long_phase; /* that takes longest each time; NULL: no marks */
    uint32_t world;         /* ranks */
    uint64_t epoch_edges; /* epochs after the first, over which epoch_edge_ns is
                             averaged; 0 with a mean: one */
    double peer_stall;    /* largest S of the other ranks; -1 */

    /* A watched loader, see loader/watch/outside.h. Its inside is unknown, so
     * the ledger has no buckets. */
    const char *outside;          /* its name; NULL: this loader is our own */
    const char *outside_option;   /* its option for workers; NULL: unknown */
    uint32_t outside_processes;   /* children of this process, at most */
    double outside_process_cores; /* used by them; -1 */
    double outside_queued;        /* fraction of the time that each of them, or
                                     else the consumer, waited for a core; -1 */
    int64_t wait_cpu_ns;          /* of the consumer's thread, while waiting */

    /* The workers. */
    uint32_t workers;
    uint32_t cpus_usable;
    uint32_t cpus_allowed; /* whatever a quota grants of them; 0: not known */
    int64_t
        worker_busy_ns;    /* over all workers: cpu + runq + throttle + sleep */
    int64_t worker_cpu_ns; /* 0: not known */
    int64_t worker_runq_ns;
    int64_t worker_throttle_ns;
    int64_t worker_sleep_ns;
    int64_t worker_blocked_ns;
    int64_t custom_ns;    /* of worker_busy_ns, in custom operations */
    int64_t huffman_ns;   /* of worker_busy_ns, for Huffman codes of JPEG */
    bool jpeg_index_off;  /* it could save a part of that */
    bool jpeg_index_used; /* and did so */
    int64_t made_ns; /* of worker_busy_ns: JPEGs' coefficients, transform and
                        colour, and what augmentation takes */
    struct fdl_shared_lock lock;

    /* Depth. */
    uint32_t depth;
    bool memory_limited;       /* a budget allows no deeper ring: */
    const char *memory_option; /* that one; NULL: memory_budget */
    bool tuning;               /* a tuner changes the options that are auto */
    int64_t ticket_tail_ns; /* from issue until ready, 99.6 % quantile; 0: not
                                  known */
    int64_t slow_stall_ns;  /* waits for single slow samples */

    /* Reads. */
    bool reads_storage; /* not the memory reader */
    uint32_t io_depth;
    double mean_file_bytes; /* -1: not known */
    double read_rate;       /* bytes/s over the window, while reads were in
                               flight */
    double read_p50_us, read_p99_us;
    double rate_by_depth;     /* growth of read_rate since io_depth was last
                               raised, 0.05 is 5 %; -1: never raised */
    double latency_by_depth;  /* the same of read_p50_us */
    double first_epoch_fetch; /* fetch share of wall in the first epoch */
    double later_epoch_fetch; /* and in later ones */
    double first_epoch_read;  /* mean time of a read in the first epoch, ns */
    double later_epoch_read;  /* and in later ones */
    struct fdl_costly_op source; /* the program's own reader; a name of NULL:
                                    there is none */
    int64_t source_lock_ns;      /* of its wall_ns, for a lock, as it said */
    bool source_anew;            /* a sample is another one each time */
    double cold_fraction;        /* of reads that were as slow as a device while
                                 others were as fast as memory; -1 */
    double storage_fraction;     /* of their bytes, delivered by storage; -1 */
    double fetch_cold;           /* of FETCH, for those; -1 */
    double data_bytes;           /* all samples; -1 */
    double memory_bytes;         /* what this process may have; -1 */
    double cache_bytes;          /* in force, or what auto would be; -1 */
    bool cache_keeps;            /* in force */

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
    double foreign_cores;  /* cores used by other threads of this process, the
                              consumer's excluded */
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
    int64_t make_ns;     /* of its kernels that decode; 0: the host does */
    uint64_t made;       /* samples that were left to them */
    bool device_could;   /* decode such batches, but was not asked to */
    bool decode_chosen;  /* by measurement (decode=auto) */

    /* NVML; -1: not known. */
    double gpu_utilization, gpu_sm_active;
    double gpu_idle_seconds; /* at utilisation 0 until now */
    double gpu_memory_used;  /* fraction */
    bool gpu_power_capped, gpu_thermal_capped;
    double gpu_clock; /* of its maximum */

    /* What the work is. */
    struct fdl_costly_op op;
    double source_pixels; /* of an image as it is stored, mean; -1 */
    double output_pixels; /* of the result, all views; -1 */

    /* The consumer's waits, once the run is under way. */
    double usual_wait_ns;     /* median, without first batches of runs and
                               epochs; -1: there were no others */
    uint64_t epoch_batches;   /* of an epoch, for this rank; 0: not known */
    int64_t gap_throttled_ns; /* of gap_ns, throttled by the quota */

    /* The tuner, and what it may change. */
    uint32_t tried_workers; /* its last trial of more; 0: none */
    uint32_t tried_from;    /* than so many; 0: not known */
    bool trying;            /* under way: tried_workers are in force */
    double tried_gain;      /* measured throughput, 0.25 is a quarter more */
    double tried_error;     /* its standard error */
    double tried_predicted; /* what it was begun for; NAN: not known */
    bool more_reads_failed; /* its last trial of more gained nothing */
    bool workers_auto, depth_auto, io_auto;
    uint32_t workers_max; /* its upper bound; 0: not known */

    /* The machine. */
    double cpu_quota; /* cores granted by a quota; -1: none */

    /* Reads. One of b bytes, sent while a bytes were in flight, took
     * read_fixed_ns + b * read_byte_ns + a * read_ahead_ns. */
    double reads_under_way;             /* mean, while there were any */
    double read_fixed_ns, read_byte_ns; /* -1: sizes or times do not show it */
    double read_ahead_ns;
    double read_byte_error_ns; /* standard error of read_byte_ns */
    double read_rate_now;      /* bytes/s in the last seconds; -1 */

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
    double predicted_gain;   /* of the action, the first if it names several;
                                at most what the next limit allows, see
                                verdict_limits.c; 0.25 is a quarter more
                                throughput */
    double share;            /* of the stall; 0: not a cause of it */
    bool tuner; /* the action turns knobs of the tuner: some of `moves` */
    struct fdl_moves moves;
    double workers_to; /* the number of workers advised; 0: none */
    const char *part;  /* of the stall: "prep" "fetch" "transfer" "slot" "wake",
                          static; "": not a cause of it */
    char sentence[384];
    char action[256];
    char evidence[896]; /* the deciding numbers, as one JSON object */
};

#define FDL_VERDICTS_MAX 6u

/* Initial evidence: everything unknown. */
void fdl_evidence_init(struct fdl_evidence *e);

/* The verdict, followed by the others that apply, largest first. Returns how
 * many, at least 1. Pure; any thread. */
uint32_t fdl_verdict_judge(const struct fdl_evidence *e,
                           struct fdl_verdict out[FDL_VERDICTS_MAX]);

#endif
