/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tuner: the fewest workers, the depth and the I/O depth with which a
 * consumer does not wait, found while it works. A pure state machine: readings
 * of counters go in, settings come out; no thread, no clock, no I/O. The same
 * object code runs in the library (loader/tune/control.h) and in the simulator
 * (bench/sim).
 *
 *        observe                    propose               applied
 *   reading ---> blocks ---> plan ----------> settings ----------> judge
 *                  ^                                                 |
 *                  +------------- kept, or taken back <--------------+
 *
 * Whoever drives it repeats: observe(a reading); if propose() wants something
 * else than what is in force, apply it and say with applied() what came of it.
 * A reading may come at any time; a few between two batches cost nothing, one
 * every few batches is enough.
 */
#ifndef FDL_PROFILER_TUNER_H
#define FDL_PROFILER_TUNER_H

#include <stdbool.h>
#include <stdint.h>

/* What is tuned. */
struct fdl_knobs {
    uint32_t workers;  /* active */
    uint32_t depth;    /* batches issued and not delivered */
    uint32_t io_depth; /* reads on their way */
};

enum fdl_knob {
    FDL_KNOB_WORKERS = 0,
    FDL_KNOB_DEPTH,
    FDL_KNOB_IO_DEPTH,
    FDL_KNOBS
};

/* What it must stay within, and what things cost. A knob whose least and most
 * are equal is not tuned. */
struct fdl_tuner_limits {
    uint32_t workers_min, workers_max; /* 1 .. FDL_TUNER_WORKERS_MAX */
    uint32_t depth_min, depth_max;
    uint32_t io_depth_min, io_depth_max;
    double cores;      /* granted to this loader and its consumer: affinity and
                         quota, divided by who shares them; > 0 */
    double host_cores; /* of the machine; 0: not known */
    bool shared;   /* others draw from the same, and had their part taken off:
                      more than fill these is theirs */
    double target; /* stall that counts as fed, fraction of wall */

    /* depth * batch_bytes + spare_bytes + (2 io_depth + workers) * read_bytes +
     * workers * worker_bytes <= memory_bytes; 0 where it is not known yet. */
    uint64_t memory_bytes;
    uint64_t batch_bytes, spare_bytes;
    uint64_t read_bytes; /* of the largest file so far */
    uint64_t worker_bytes;
};

#define FDL_TUNER_WORKERS_MAX 1024u

/* Counters that only grow, and gauges. Times in ns. -1 or 0 as said: not
 * known. */
struct fdl_tuner_reading {
    int64_t now_ns;
    uint64_t batches; /* delivered */
    uint64_t samples; /* that workers have finished */

    /* The consumer: wall = user + wait + api. */
    int64_t user_ns, wait_ns, api_ns;
    int64_t away_ns; /* gauge: out of next() for so long now; 0: it is inside */
    int64_t idle_ns, span_ns; /* of its device; span 0: not measured */
    int64_t consumer_cpu_ns;  /* 0: not known */
    int64_t host_busy_ns;     /* of all cores of the machine; -1: not known */

    /* Of wait_ns, what the awaited batch was doing, as in the ledger. */
    int64_t wait_fetch_ns, wait_transfer_ns;

    /* The workers, summed over all. work = cpu + runq + throttle + lock +
     * sleep. */
    int64_t work_ns, cpu_ns;
    int64_t runq_ns;     /* could run, no core; -1: not known */
    int64_t throttle_ns; /* could run, quota spent; -1: not known */
    int64_t lock_ns;     /* waited for a lock that all of them share */
    int64_t blocked_ns;  /* no room for output */
    int64_t starved_ns;  /* no bytes */

    /* Reads. */
    uint64_t reads;
    int64_t read_ns; /* sum of their times on the way */
    uint64_t read_bytes;
    int64_t read_tail_ns; /* gauge: 99 % of recent ones were shorter */

    /* The bus, in times of the device; 0: there is none. */
    uint64_t copied_batches; /* whose times are in: */
    int64_t copy_ns;         /* copies under way */
    int64_t make_ns; /* its kernels that decode the images of these batches */

    /* Gauges of recent batches and samples. */
    int64_t sample_tail_ns;      /* 99.9 % of the times at work on a sample */
    uint32_t ready, outstanding; /* batches: done and waiting; issued and not
                                    delivered */
    uint32_t batch_size;         /* samples */
    uint64_t memory_bytes;       /* held now */
};

/* Where it stands. */
enum fdl_tuner_state {
    FDL_TUNER_WARMUP = 0, /* pools fill, caches warm */
    FDL_TUNER_MEASURE,    /* the first measurement of what is in force */
    FDL_TUNER_SETTLE,     /* something changed, its effect is not there yet */
    FDL_TUNER_TRIAL,      /* something is tried */
    FDL_TUNER_HOLD,       /* nothing to do */
    FDL_TUNER_FROZEN      /* the consumer is away */
};

enum fdl_decision_reason {
    FDL_REASON_PLAN_UP = 0, /* the model says that more workers feed it */
    FDL_REASON_PLAN_DOWN,   /* the model says that fewer are enough */
    FDL_REASON_EXPLORE_UP,  /* the model says nothing; a step is tried */
    FDL_REASON_EXPLORE_DOWN,
    FDL_REASON_ROLLBACK, /* a trial was worse, or no better */
    FDL_REASON_GUARD,    /* an earlier setting did better: back to it */
    FDL_REASON_TAIL,     /* depth covers the slowest batches */
    FDL_REASON_VARIANCE, /* fast enough on average, and still waits */
    FDL_REASON_SHRINK,   /* more than is needed */
    FDL_REASON_READS,    /* reads are what is waited for */
    FDL_REASON_LATENCY,  /* more reads only made each slower */
    FDL_REASON_MEMORY,   /* the budget */
    FDL_REASON_LIMIT,    /* the cores or bounds changed */
    FDL_REASON_JOB,      /* other ranks of the job have more, or wait */
    FDL_REASON_APPLIED,  /* less could be had than was asked for */
    FDL_REASON_PROGRAM,  /* somebody else set it; never the tuner's own */
    FDL_REASONS
};

enum fdl_decision_outcome {
    FDL_OUTCOME_PENDING = 0, /* being measured */
    FDL_OUTCOME_KEPT,
    FDL_OUTCOME_ROLLED_BACK,
    FDL_OUTCOME_RULE,      /* followed a rule, is not judged */
    FDL_OUTCOME_PROPOSED,  /* mode observe: nothing was done */
    FDL_OUTCOME_ABANDONED, /* conditions changed before it could be judged */
    FDL_OUTCOMES
};

#define FDL_DECISION_WHY_BYTES 160

/* One change of one knob. */
struct fdl_decision {
    uint64_t id;     /* from 0, counts all that ever were */
    int64_t time_ns; /* of the readings' clock */
    uint64_t batch;  /* delivered by then */
    enum fdl_knob knob;
    int64_t before, after;
    enum fdl_decision_reason reason;
    enum fdl_decision_outcome outcome;
    double predicted; /* change of throughput, 0.25 is a quarter more; NaN: the
                         model says nothing */
    double measured;  /* NaN: not yet, or never */
    double error;     /* standard error of measured; NaN */
    double stall_before, stall_after; /* fractions; after: NaN until judged */
    int64_t judged_ns;                /* 0: not yet */
    char why[FDL_DECISION_WHY_BYTES]; /* in words, with its numbers */
};

#define FDL_TUNER_DECISIONS 256u /* the last ones are kept */

struct fdl_tuner_status {
    enum fdl_tuner_state state;
    struct fdl_knobs knobs;   /* in force */
    struct fdl_knobs planned; /* what the model asks for */
    bool converged;
    uint64_t converged_batch; /* since when nothing was to be improved */
    int64_t converged_ns;     /* after the first reading */
    uint64_t decisions;       /* ever */
    uint64_t trials, kept, rolled_back, guarded, changes; /* changes of
                                                conditions that were seen */
    uint64_t oddities; /* readings that could not be: a clock or counter that
                          ran backwards; they were left out */
    int64_t credit_ns, spent_ns; /* of exploration: left, and used */
    bool on_device;              /* the stall is the device's */
    double stall;   /* of the last window, or of the long run if that is more */
    double step_ns; /* consumer's own time for a batch, g; median */
    double work_ns; /* of a worker for a sample, cpu + sleep */
    double cpu_share; /* of work_ns, on a core */
    double rate;      /* batches per second, last window */
    double cores;     /* that workers can have: granted less the consumer's */
    uint64_t memory_bytes;  /* that the knobs in force may take */
    const char *limited_by; /* why it is not fed: "cores", "others" (they hold
                               the cores), "lock", "scaling" (more workers
                               brought nothing), "memory", "bound", "storage",
                               "transfer", "device" (its kernels that decode),
                               "" if it is fed or not known; static */
};

/* What ranks of a job tell each other: of one of them, or added up. */
struct fdl_tuner_job {
    uint32_t ranks; /* that it is of; 0: nobody */
    double stall;   /* for data, fractions of the time: the sum of theirs */
    double step_ns; /* that a step takes if no rank waits for data: the least
                       that one of them says; 0: not known */
    struct fdl_knobs most; /* the most that any of them has; workers: 0 */
};

struct fdl_tuner;

/* start: in force now, clamped to the limits. warm: it comes from a profile
 * that fits: it is verified, not explored. NULL: no memory. */
struct fdl_tuner *fdl_tuner_create(const struct fdl_tuner_limits *limits,
                                   const struct fdl_knobs *start, bool warm);
void fdl_tuner_destroy(struct fdl_tuner *t);

/* All of the following: one thread at a time. */

/* Cores, bounds or sizes changed. An equal one is no event. */
void fdl_tuner_set_limits(struct fdl_tuner *t,
                          const struct fdl_tuner_limits *limits);
void fdl_tuner_observe(struct fdl_tuner *t,
                       const struct fdl_tuner_reading *reading);

/* true: *out, which is within the limits, is to be put in force. */
bool fdl_tuner_propose(const struct fdl_tuner *t, struct fdl_knobs *out);

/* What is in force after that, which may be less; or what somebody else set.
 * observed: nothing was done and nothing will be (mode observe). */
void fdl_tuner_applied(struct fdl_tuner *t, const struct fdl_knobs *in_force,
                       bool observed);

/* What this rank has to tell, and what all of its job told, itself among them.
 * Nothing heard: it is alone. Old news does no harm, and is better than none.
 */
void fdl_tuner_tell(const struct fdl_tuner *t, struct fdl_tuner_job *out);
void fdl_tuner_hear(struct fdl_tuner *t, const struct fdl_tuner_job *job);
void fdl_tuner_job_add(struct fdl_tuner_job *to, const struct fdl_tuner_job *a);

/* A run ended, the counters will begin anew: what is under way is abandoned,
 * what was learned stays. */
void fdl_tuner_pause(struct fdl_tuner *t);

void fdl_tuner_get(const struct fdl_tuner *t, struct fdl_tuner_status *out);

/* false: there is none of this id, or not any more. */
bool fdl_tuner_decision(const struct fdl_tuner *t, uint64_t id,
                        struct fdl_decision *out);

const char *fdl_tuner_state_name(enum fdl_tuner_state s);
const char *fdl_knob_name(enum fdl_knob k);
const char *fdl_reason_name(enum fdl_decision_reason r);
const char *fdl_outcome_name(enum fdl_decision_outcome o);

/* Bytes that knobs may take, see the limits. */
uint64_t fdl_knobs_memory(const struct fdl_tuner_limits *limits,
                          const struct fdl_knobs *knobs);

#endif
