/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the tuner share, see tuner.h for what it is.
 *
 *   tuner.c         the states, and what comes after what
 *   tuner_read.c    readings -> differences; what cannot be is left out
 *   tuner_window.c  differences -> blocks -> a measurement with its error
 *   tuner_plan.c    a measurement -> the settings that the model asks for
 *   tuner_split.c   what a full memory could hold instead
 *   tuner_trial.c   what is tried next, and what comes of it
 *   tuner_judge.c   two measurements -> better, worse, equal, not known
 *   tuner_arms.c    what earlier settings did, and when to go back to one
 *   tuner_change.c  are these still the same conditions?
 *   tuner_long.c    waits that come in bursts
 *   tuner_pace.c    what ranks of a job tell each other
 *   tuner_job.c     and what they do about it
 *   tuner_apply.c   what is proposed and what comes of it
 *   tuner_log.c     decisions and words
 *   tuner_found.c   what it knows, for those who advise
 */
#ifndef FDL_PROFILER_TUNER_OWN_H
#define FDL_PROFILER_TUNER_OWN_H

#include "base/compiler.h"
#include "profiler/tuner/tuner.h"
#include "profiler/tuner/tuner_found.h"
#include "profiler/tuner/tuner_rules.h"

#include <math.h>
#include <string.h>

/* The constants, each with its reason. Those that end in _BATCHES or _BLOCKS
 * count time in the unit that matters: what the consumer took. */
#define BLOCK_BATCHES 8.0 /* averages the consumer's own noise (5 % to 2 %) */
#define BLOCK_NS                                                               \
  100e6 /* a period of the kernel's quota: shorter blocks
                               see it spent or not, never its mean */
#define LONG_BLOCK_NS       1e9  /* with slow batches: two are enough */
#define WINDOW_BLOCKS       8    /* one look while nothing is tried */
#define MEASURE_BLOCKS      12   /* the most that a first measurement takes */
#define UP_BLOCKS           32   /* and a trial of more */
#define DOWN_BLOCKS         20   /* of fewer: small doubts add up */
#define READ_BLOCKS         16   /* more reads cost little: tried again later */
#define DIVIDE_BLOCKS       64   /* of a full memory, where noise is largest */
#define SETTLE_BATCHES      4.0  /* whose samples were begun before */
#define FDL_TUNER_SETTLE_NS 50e6 /* of readings that are 25 ms apart */
#define DELTA               0.015 /* the smallest change worth deciding */
#define SIGMAS              2.6  /* standard errors of a decision: one in 200 */
#define FED_LOSS            0.02 /* of its pace, for fewer workers when fed */
#define FED_BATCHES         2000.0 /* most that a trial of fewer takes then */
#define PACE_BATCHES        1000.0 /* after which its pace is known, ... */
#define PACE_ERROR          (DELTA / 3) /* or sooner, if it is as exact */
#define BACKOFF_LEAST       4 /* windows from a failed trial to the next */
#define BACKOFF_MOST        512
#define LASTING             32u /* windows of an era that is one of its own */

/* What trials may cost, in steps of the consumer, and as a share of all time.
 * The simulator's gates check it. */
#define CREDIT_START  150.0
#define CREDIT_CHANGE 50.0 /* more for each change of conditions */
#define CREDIT_RATE   0.005
#define CREDIT_TRIAL  50.0 /* without as much none begins that can wait */
#define CLEAR         0.1  /* an error that leaves something to learn */

/* Growth of the counters. */
struct fdl_tuner_sums {
    double wall_ns; /* of the clock */
    double step_ns; /* the consumer's: user + wait + api */
    double own_ns;  /* user + api */
    double wait_ns, idle_ns, span_ns, consumer_cpu_ns, host_busy_ns;
    double fetch_ns, transfer_ns;
    double work_ns, cpu_ns, runq_ns, throttle_ns, lock_ns;
    double blocked_ns, starved_ns;
    double reads, read_ns, read_bytes;
    double batches, samples;
};

/* One measurement. */
struct fdl_tuner_estimate {
    bool valid;
    bool on_device; /* stall and g are the device's */
    unsigned blocks;
    double batches, wall_ns;
    double workers; /* while it was made */
    double rate;    /* X, batches per ns of the consumer's wall */
    double error;   /* standard error of ln rate */
    double stall;
    double g;        /* the consumer's own time for a batch; median of blocks */
    double g_spread; /* standard deviation of ln g between blocks */
    double work;     /* of a worker for a batch, no waits for cores or lock */
    double share;    /* of work, on a core */
    double busy, blocked, starved; /* of the workers' time */
    double queued;          /* of their work, waited for a core or for quota */
    double throttled;       /* of their work, waited for quota */
    double locked;          /* workers that wait for the lock, mean */
    double fetch, transfer; /* of the consumer's waits */
    double cores_used;      /* by workers */
    double consumer_cores;
    double others;  /* cores that anybody else used; 0: nobody, or not known */
    double reads;   /* per batch */
    double read_ns; /* mean time of one on its way; 0: no reads */
};

#define FDL_TUNER_BLOCKS 40

/* Blocks so far, and the one that is being filled. */
struct fdl_tuner_window {
    unsigned n;
    struct fdl_tuner_sums total; /* of closed blocks */
    struct fdl_tuner_sums last;  /* the last of them */
    struct fdl_tuner_sums open;
    double ln_step[FDL_TUNER_BLOCKS]; /* by block, of the last ones */
    double g[FDL_TUNER_BLOCKS];
    double stall[FDL_TUNER_BLOCKS];
};

struct fdl_tuner_arm {
    double rate;
    uint32_t era;    /* of the conditions it was measured in; 0: never */
    unsigned window; /* of that era */
};

enum fdl_tuner_verdict {
    FDL_VERDICT_OPEN = 0,
    FDL_VERDICT_BETTER,
    FDL_VERDICT_WORSE,
    FDL_VERDICT_EQUAL
};

/* Something that is tried. */
struct fdl_tuner_trial {
    bool on;
    bool up;      /* costs more: needs a gain */
    bool divides; /* a full memory, anew: costs neither more nor less */
    enum fdl_knob knob;
    struct fdl_knobs before, after;
    struct fdl_tuner_estimate reference;
    uint64_t batch; /* when it began */
    int64_t now_ns;
    uint64_t decision; /* its id */
};

/* Copies to a device: counts of the first reading, and the mean since. */
struct fdl_tuner_copies {
    bool begun;
    uint64_t batches;
    int64_t ns;
    int64_t made_ns;
    double batch_ns; /* of a batch; 0: not known */
    double make_ns;  /* to decode one on the device, likewise */
};

struct fdl_tuner {
    struct fdl_tuner_limits limits;
    struct fdl_knobs knobs; /* in force */
    struct fdl_knobs want;  /* the target; differs: waits for applied() */
    struct fdl_knobs seen;  /* that was only observed, do not say it again */
    struct fdl_knobs start; /* where it began */
    bool has_seen;
    bool warm;

    enum fdl_tuner_state state;
    enum fdl_tuner_state next; /* behind SETTLE */
    enum fdl_tuner_state thaw; /* behind FROZEN */
    bool go_on;                /* the window of before this SETTLE stays */
    bool rolling_back;         /* this SETTLE still costs what the trial did */
    double settle_batches;     /* SETTLE and WARMUP: still to pass */
    double settle_ns;
    double waited; /* batches, for memory to be given back */

    /* Readings. */
    struct fdl_tuner_reading last;
    bool has_last;
    int64_t now_ns; /* since the first reading, without holes */
    uint64_t batch;
    double elapsed_ns; /* time with the consumer at work */
    bool pause_seen;   /* in the last difference */
    uint64_t oddities;
    bool has_host; /* host_busy_ns is known */
    uint32_t batch_size;

    struct fdl_tuner_window window;
    struct fdl_tuner_estimate best; /* of what is in force, smoothed */
    struct fdl_tuner_estimate latest;
    struct fdl_knobs planned;

    struct fdl_tuner_copies copies;
    struct fdl_tuner_trial trial;
    struct fdl_tuner_more more_workers;
    unsigned held;            /* windows since something was tried */
    unsigned at_arm;          /* windows at these workers */
    double backoff;           /* windows */
    double due;               /* the same, with the jitter of this time */
    unsigned starving_blocks; /* in a row, of one that was fed */
    unsigned era_windows;     /* of this era */
    unsigned abandoned;       /* trials, since one was judged */
    unsigned turn;            /* of exploration: up, down */
    bool replan;              /* a plan is due at once */
    /* What a consumer that is fed took before it was given fewer workers:
     * steps down that each cost too little to be seen add up. */
    struct fdl_tuner_arm fed;
    bool storage_limit, transfer_limit, device_limit;
    bool reads_failed;      /* more of them, under these conditions */
    struct fdl_tuner_flat { /* more than these workers brought nothing */
        uint32_t workers;   /* 0: not seen */
        double work;        /* of a batch, then */
    } flat;
    unsigned splits_tried; /* of enum fdl_tuner_split, with this setting */

    struct fdl_tuner_arm arms[FDL_TUNER_WORKERS_MAX + 1];
    uint32_t era; /* from 1 */

    /* In the long run, odd blocks included, since it was last changed; old
     * ones fade. */
    struct fdl_tuner_long {
        double wait_ns, step_ns;
        double blocks, quiet; /* quiet: within the target */
        double burst_ns;      /* waits of the burst under way ... */
        unsigned length;      /* ... and its blocks */
        double worst_ns;      /* the waits of the longest burst; 0: none */
    } run;

    /* Of a rank: what it tells, and what it heard. Old batches fade. */
    struct fdl_tuner_pace {
        double own_ns, wait_ns;   /* since the last batch */
        double waited_ns;         /* for the last batch */
        double weighted, weights; /* its own times, weighted by these waits */
        double held_ns, wall_ns, batches;
        double worst_ns; /* wait for a batch, with ... */
        uint32_t worst_depth;
        double read_ns; /* the least that a read took on average; 0: none */
    } pace;
    struct fdl_tuner_job job;

    /* References for changes. */
    double ref_g, ref_work, ref_rate; /* 0: none */
    double var_work, var_rate;        /* of the logs */
    double ref_queued, var_queued;    /* of the part itself */
    double ref_others;                /* cores */
    unsigned suspicious;

    double spent_ns;
    double lost_ns;      /* by the trial under way, so far */
    uint64_t asked_from; /* decisions of the last proposal */
    uint64_t trials, kept, rolled_back, guarded, changes;

    bool converged;
    uint64_t converged_batch;
    int64_t converged_ns;
    uint64_t moved_batch; /* the last change of anything */
    int64_t moved_ns;

    uint64_t noise; /* state of the generator */

    uint64_t n_decisions;
    struct fdl_decision decisions[FDL_TUNER_DECISIONS];
};

static inline uint32_t fdl_tuner_clamp(double x, uint32_t least, uint32_t most)
{
    if (!(x > (double)least))
        return least;
    return x >= (double)most ? most : (uint32_t)x;
}

static inline bool fdl_knobs_equal(const struct fdl_knobs *a,
                                   const struct fdl_knobs *b)
{
    return a->workers == b->workers && a->depth == b->depth &&
           a->io_depth == b->io_depth;
}

/* tuner_read.c: the growth since the last reading. false: there is none that
 * could be used; *broken: nor can what was gathered before. */
bool fdl_tuner_difference(struct fdl_tuner *t,
                          const struct fdl_tuner_reading *now,
                          struct fdl_tuner_sums *out, bool *broken);
void fdl_tuner_add(struct fdl_tuner_sums *to, const struct fdl_tuner_sums *a);

/* tuner_window.c */
/* The consumer's wall, and the share of it that it waited. */
double fdl_tuner_block_wall(const struct fdl_tuner_sums *s);
double fdl_tuner_block_stall(const struct fdl_tuner_sums *s);
void fdl_tuner_window_reset(struct fdl_tuner_window *w);

/* true: a block was closed. */
bool fdl_tuner_window_add(struct fdl_tuner_window *w,
                          const struct fdl_tuner_sums *s);
void fdl_tuner_estimate_of(const struct fdl_tuner *t,
                           const struct fdl_tuner_window *w,
                           struct fdl_tuner_estimate *out);
void fdl_tuner_estimate_mix(struct fdl_tuner_estimate *e,
                            const struct fdl_tuner_estimate *with, double a,
                            double of_rate);

/* tuner_plan.c */
double fdl_tuner_cores(const struct fdl_tuner *t,
                       const struct fdl_tuner_estimate *e);
/* Others hold cores that were granted to us. */
bool fdl_tuner_crowded(const struct fdl_tuner *t,
                       const struct fdl_tuner_estimate *e);
/* Workers that are of use: with more of them one would wait for the lock that
 * they share. INFINITY: there is none, or it is hardly ever waited for. */
double fdl_tuner_lock_room(const struct fdl_tuner_estimate *e);
/* More than these are of no use: others hold the cores, there is a lock, or it
 * was found not to scale. */
double fdl_tuner_room(const struct fdl_tuner *t,
                      const struct fdl_tuner_estimate *e);
/* Workers with which they would take all cores, or fill the lock. */
double fdl_tuner_saturation(const struct fdl_tuner *t,
                            const struct fdl_tuner_estimate *e);
/* More are not to be, where others share the cores; else the bound. */
uint32_t fdl_tuner_most_of_share(const struct fdl_tuner *t,
                                 const struct fdl_tuner_estimate *e);
void fdl_tuner_plan(const struct fdl_tuner *t,
                    const struct fdl_tuner_estimate *e, struct fdl_knobs *out);
uint32_t fdl_tuner_depth_for(const struct fdl_tuner *t,
                             const struct fdl_tuner_estimate *e,
                             const struct fdl_knobs *with);
/* Cuts to bounds and memory: depth first, then reads, then workers. */
void fdl_tuner_fit(const struct fdl_tuner_limits *l, struct fdl_knobs *k);
void fdl_tuner_sane_limits(struct fdl_tuner_limits *l);

/* tuner_split.c: other ways to use the same memory. false: there is none of
 * this kind, or memory is not what binds. */
enum fdl_tuner_split {
    FDL_TUNER_SPLIT_FEWER_READS = 0, /* for batches ahead */
    FDL_TUNER_SPLIT_MORE_READS,      /* and the other way */
    FDL_TUNER_SPLIT_FEWER_WORKERS,   /* one, for batches ahead */
    FDL_TUNER_SPLIT_WORKER,          /* one more, for batches ahead */
    FDL_TUNER_SPLITS
};
bool fdl_tuner_split(const struct fdl_tuner *t, enum fdl_tuner_split s,
                     struct fdl_knobs *to);
/* Nothing more goes into the memory. */
bool fdl_tuner_full(const struct fdl_tuner *t);

/* tuner_judge.c */
enum fdl_tuner_verdict fdl_tuner_compare(const struct fdl_tuner_estimate *ref,
                                         const struct fdl_tuner_estimate *e,
                                         double *gain, double *error);
/* Of fewer workers, tried on a consumer that is fed and still is: BETTER says
 * that it can do with them. */
enum fdl_tuner_verdict fdl_tuner_still_fed(const struct fdl_tuner *t,
                                           const struct fdl_tuner_estimate *e);
/* What a consumer took before it was given fewer workers; 0: not known. */
double fdl_tuner_fed_rate(const struct fdl_tuner *t);
bool fdl_tuner_acceptable(const struct fdl_tuner *t,
                          const struct fdl_tuner_estimate *ref,
                          const struct fdl_tuner_estimate *e,
                          enum fdl_tuner_verdict v, bool up);

/* tuner_arms.c */
void fdl_tuner_arm_note(struct fdl_tuner *t, uint32_t workers, double rate,
                        double weight);
/* An earlier one that did clearly better than this; 0: none. */
uint32_t fdl_tuner_arm_better(const struct fdl_tuner *t);
/* Tried under these conditions, and no better than what is in force. */
bool fdl_tuner_arm_useless(const struct fdl_tuner *t, uint32_t workers);

/* tuner_long.c: each closed block; then the stall of them all. */
void fdl_tuner_long_add(struct fdl_tuner *t,
                        const struct fdl_tuner_sums *block);
double fdl_tuner_long_stall(const struct fdl_tuner *t);
/* Batches ahead that would have covered the worst burst of waits; 0: waits do
 * not come in bursts. */
uint32_t fdl_tuner_long_depth(const struct fdl_tuner *t);

/* tuner_pace.c: each difference. */
void fdl_tuner_job_see(struct fdl_tuner *t, const struct fdl_tuner_sums *s);
/* Each closed block. */
void fdl_tuner_job_block(struct fdl_tuner *t, const struct fdl_tuner_sums *s);
/* Settings without what is only tried. */
struct fdl_knobs fdl_tuner_settled(const struct fdl_tuner *t);
/* Of the job: its ranks' waits in all, as a share; a step without waits, 0: not
 * known yet. */
double fdl_tuner_job_stall(const struct fdl_tuner *t);
double fdl_tuner_job_step(const struct fdl_tuner *t);
/* The ranks of the job together wait for more than the target. */
bool fdl_tuner_job_loses(const struct fdl_tuner *t);
/* The stall with which this rank holds up no other. */
double fdl_tuner_target(const struct fdl_tuner *t);
/* It has to do something about this stall. */
bool fdl_tuner_waits(const struct fdl_tuner *t, double stall);
/* While the job loses time: its own time for a batch is not that in which it
 * waits for others. */
void fdl_tuner_job_pace(struct fdl_tuner *t);

/* tuner_job.c */
/* true: depth or reads were raised to what the job needs. */
bool fdl_tuner_follow(struct fdl_tuner *t);

/* tuner_change.c: references of what is in force; then whether a window still
 * fits them, *what in words. */
void fdl_tuner_change_begin(struct fdl_tuner *t,
                            const struct fdl_tuner_estimate *e);
bool fdl_tuner_change_seen(struct fdl_tuner *t,
                           const struct fdl_tuner_estimate *e);

/* tuner_trial.c */
/* Chooses what to do next with what is known of the setting in force; true:
 * something was put into want. */
bool fdl_tuner_next(struct fdl_tuner *t);
/* true: depth was raised to cover hiccups. */
bool fdl_tuner_bridge(struct fdl_tuner *t);
/* A trial's window grew by a block. true: it was judged. */
bool fdl_tuner_trial_step(struct fdl_tuner *t);
/* It ends without a judgement. *back: what is in force, with what was tried or
 * being taken back as it was before. */
void fdl_tuner_trial_abandon(struct fdl_tuner *t, struct fdl_knobs *back);
void fdl_tuner_back_off(struct fdl_tuner *t);
/* What a trial loses against its reference is paid from the credit. */
void fdl_tuner_charge(struct fdl_tuner *t, const struct fdl_tuner_sums *s);
void fdl_tuner_charge_done(struct fdl_tuner *t);
double fdl_tuner_credit(const struct fdl_tuner *t); /* what is left, ns */

/* tuner_apply.c: a state begins; a proposal, and the state behind it. */
void fdl_tuner_enter(struct fdl_tuner *t, enum fdl_tuner_state s);
void fdl_tuner_ask(struct fdl_tuner *t, const struct fdl_knobs *to,
                   enum fdl_tuner_state next);

/* tuner_log.c: one entry; the last argument are its words. */
struct fdl_decision *fdl_tuner_note(struct fdl_tuner *t, enum fdl_knob knob,
                                    const struct fdl_knobs *to,
                                    enum fdl_decision_reason reason,
                                    const char *why, ...) FDL_PRINTF(5, 6);
/* NULL: it is too old. */
struct fdl_decision *fdl_tuner_noted(struct fdl_tuner *t, uint64_t id);
int64_t fdl_knob_get(const struct fdl_knobs *k, enum fdl_knob knob);
void fdl_tuner_knob_set(struct fdl_knobs *k, enum fdl_knob knob, int64_t x);

#endif
