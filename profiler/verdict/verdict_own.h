/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the verdict: the evidence digested once (verdict_facts.c), one
 * function per rule (verdict_rules_*.c), and their wording (verdict_text.c).
 * Everything is double here, so sums of huge or nonsensical counters stay
 * numbers.
 */
#ifndef FDL_PROFILER_VERDICT_OWN_H
#define FDL_PROFILER_VERDICT_OWN_H

#include "base/compiler.h"
#include "profiler/verdict/verdict.h"

#define FED_STALL      0.01
#define MINOR_STALL    0.05
#define MODERATE_STALL 0.20
#define PRIMARY        0.50 /* of the stall */
#define CONTRIBUTING   0.20 /* of the stall */
#define MAX_GAIN       99.0

enum fdl_cause {
    CAUSE_PREP,
    CAUSE_FETCH,
    CAUSE_TRANSFER,
    CAUSE_SLOT,
    CAUSE_WAKE,
    CAUSES
};

/* Of a lock that custom operations share; all 0 if there is none. */
struct fdl_lock_facts {
    double waits;         /* of busy time, waiting for it */
    double calls;         /* of busy time, in operations that use it */
    double held;          /* of wall */
    double gain;          /* throughput grows by this much without it */
    double gain_of_cores; /* and with it, if none queued for a core */
};

/* How the workers' busy time divides; fractions that sum to 1. */
enum fdl_part {
    PART_CORE,     /* on a core */
    PART_OWN,      /* queueing for one, behind each other and the consumer */
    PART_FOREIGN,  /* behind other threads of this process */
    PART_OTHERS,   /* behind other processes */
    PART_THROTTLE, /* the CPU quota was spent */
    PART_SLEEP,    /* asleep */
    PART_LOCK,     /* taken from that and from queueing: for a shared lock */
    PARTS
};

/* The evidence, digested. Unknown numbers are -1, as there. */
struct fdl_facts {
    const struct fdl_evidence *e;
    const struct fdl_terms *terms;
    bool device;       /* its clock counts, not the host's: */
    double stalled_ns; /* S = stalled / of */
    double of_ns;
    double stall;            /* S */
    double host_stall;       /* wait / wall */
    double cause_ns[CAUSES]; /* of the host's waits */
    double share[CAUSES];    /* of the stall; they sum to 1 at most */
    enum fdl_cause cause;    /* the largest */
    bool bus_full;           /* copies or kernels that decode fill the span:
                                then it is TRANSFER */
    bool decode_full;        /* the latter */
    double workers, cpus;    /* at least 1 */
    double granted;          /* cores: the lesser of cpus and quota */
    double part[PARTS];
    bool queues_most;  /* queueing for cores is the largest part */
    double wants_core; /* fraction of its time that a worker needs a core, if
                                 it never queues; 1 if unknown */
    double demand;     /* cores that workers and consumer would use then */
    double outside;    /* of our cores, taken by other processes */
    double filling;    /* workers that fill the cores others leave */
    double saturated_workers; /* whole ones, the last of which is of use */
    double useful_workers;    /* more than these would not help, see
                                 verdict_split.c */
    bool scales;              /* false: the tuner saw that more do not help */
    double steps_ns;          /* wall, less the program's pauses in which the
                                 workers had nothing to do; the workers': */
    double blocked;           /* of their time then, no room for output */
    double off_core;          /* of busy time, queueing for a core */
    struct fdl_lock_facts lock;
    double worker_cores; /* used by the workers, in steps_ns */
    double cores_taken;  /* of the usable ones, by everything known */
    double throttled;    /* of wall */
    double step_ns;      /* of the consumer's own time; 0 if not known */
    double ready;        /* of calls, batch ready */
    double passed;       /* of long waits, later batch ready */
};

#define GPU_FULL 0.9 /* of its memory: said, as people look for it */

/* A verdict being written. */
struct fdl_draft {
    struct fdl_verdict v;
    double weight;       /* fraction of the time that it explains */
    const char *instead; /* action if another verdict rules out `moves` */
    bool aside;          /* `moves` are its second choice: not for the tuner */
    struct {
        const char *key, *text; /* text NULL: value */
        double value;
    } notes[12];
    uint32_t n_notes;
};

/* A phrase, by value: sentences are assembled from several. */
struct fdl_phrase {
    char at[72];
};

/* ---- verdict_facts.c ---- */

void fdl_facts_digest(const struct fdl_evidence *e, struct fdl_facts *f);

/* part / whole in 0..1; 0 where either is not positive. */
double fdl_facts_ratio(double part, double whole);

/* Of the workers' time, what a device would spare them if it decoded. */
double fdl_facts_device_part(const struct fdl_evidence *e);
bool fdl_facts_known(double value);

/* The most that throughput grows if saved_ns of of_ns are saved. */
double fdl_facts_gain(double saved_ns, double of_ns);

/* What the stall's clock lost to a cause. */
double fdl_facts_lost(const struct fdl_facts *f, enum fdl_cause cause);

/* ---- verdict_split.c ---- */

/* The split of the workers' time, and what it implies for their number; after
 * everything but the lock's part is digested. */
void fdl_facts_digest_split(struct fdl_facts *f);
void fdl_facts_digest_room(struct fdl_facts *f);

/* The largest part except `but`; PARTS if none has CONTRIBUTING. */
enum fdl_part fdl_facts_largest(const struct fdl_facts *f, enum fdl_part but);

/* Whether `cores` is much of the granted ones: 20 %, at least half a core. */
bool fdl_facts_many(const struct fdl_facts *f, double cores);

/* ---- verdict_rules_*.c: a rule that applies fills the draft; true ---- */

/* The causes of a stall: each always finds a code. */
void fdl_judge_prep(const struct fdl_facts *f, struct fdl_draft *d);
void fdl_judge_fetch(const struct fdl_facts *f, struct fdl_draft *d);
void fdl_judge_transfer(const struct fdl_facts *f, struct fdl_draft *d);
void fdl_judge_slot(const struct fdl_facts *f, struct fdl_draft *d);
void fdl_judge_wake(const struct fdl_facts *f, struct fdl_draft *d);

/* The wait for a watched loader's batches. */
void fdl_judge_outside(const struct fdl_facts *f, struct fdl_draft *d);

/* Who has the cores; true: that is what delays the workers. */
bool fdl_judge_throttled(const struct fdl_facts *f, struct fdl_draft *d);
bool fdl_judge_cores(const struct fdl_facts *f, struct fdl_draft *d);

/* Advice shared by several rules: on a quota that is used up, and on slots held
 * by the consumer. */
void fdl_act_on_quota(const struct fdl_facts *f, struct fdl_draft *d);
void fdl_act_on_held(const struct fdl_facts *f, struct fdl_draft *d);

/* The second part, if it has a fifth of the workers' time. */
void fdl_say_second(const struct fdl_facts *f, struct fdl_draft *d,
                    enum fdl_part lead);

/* Of the workers' time, what the costliest operation takes, if that is enough
 * to be told; else 0. Then the others do nothing. */
double fdl_told_part(const struct fdl_facts *f);

/* "; "blur": 10.9 ms a sample, 2 % on a core, 88 % of the workers' time" */
void fdl_say_operation(const struct fdl_facts *f, struct fdl_draft *d);

/* " Or make "blur" cheaper, which takes 88 % of the workers' time." */
void fdl_act_on_operation(const struct fdl_facts *f, struct fdl_draft *d);

/* The work itself; always finds a code. */
void fdl_judge_work(const struct fdl_facts *f, struct fdl_draft *d);

/* Images far larger than the result, in addition to another cause. */
bool fdl_judge_large(const struct fdl_facts *f, struct fdl_draft *d);

/* Single slow samples or too little depth; asked before prep and fetch. */
bool fdl_judge_variance(const struct fdl_facts *f, struct fdl_draft *d);

/* A lock that custom operations share; for prep. Digested last; runq: how long
 * workers queued for a core, ns. */
void fdl_facts_digest_lock(struct fdl_facts *f, double runq);
bool fdl_judge_lock(const struct fdl_facts *f, struct fdl_draft *d);

/* It is held nearly all the time: a consumer in the same interpreter waits for
 * it too, and samples that wait for it look slow. */
bool fdl_lock_is_taken(const struct fdl_facts *f);

/* Whatever the stall is. */
bool fdl_judge_stuck(const struct fdl_facts *f, struct fdl_draft *d);
bool fdl_judge_unused(const struct fdl_facts *f, struct fdl_draft *d);
/* "FED" to "HIGH", of the fraction of the time that is lost to waiting. */
const char *fdl_level_of(double stall);

bool fdl_judge_handover(const struct fdl_facts *f, struct fdl_draft *d);
bool fdl_judge_gaps(const struct fdl_facts *f, struct fdl_draft *d);
bool fdl_judge_launches(const struct fdl_facts *f, struct fdl_draft *d);
bool fdl_judge_capped(const struct fdl_facts *f, struct fdl_draft *d);
bool fdl_judge_kernels(const struct fdl_facts *f, struct fdl_draft *d);
bool fdl_judge_world(const struct fdl_facts *f, struct fdl_draft *d);
bool fdl_judge_interference(const struct fdl_facts *f, struct fdl_draft *d);
bool fdl_judge_start(const struct fdl_facts *f, struct fdl_draft *d);
bool fdl_judge_quota(const struct fdl_facts *f, struct fdl_draft *d);
bool fdl_judge_period(const struct fdl_facts *f, struct fdl_draft *d);
bool fdl_judge_gpu_bound(const struct fdl_facts *f, struct fdl_draft *d);
bool fdl_judge_too_many(const struct fdl_facts *f, struct fdl_draft *d);
bool fdl_judge_fed(const struct fdl_facts *f, struct fdl_draft *d);

/* ---- verdict_limits.c ---- */

/* Lowers the predicted gain to what workers and cores can do once the cause is
 * gone, and with it so many ns of the consumer's time, and says so; after the
 * sentence's end. */
void fdl_limit_gain(const struct fdl_facts *f, struct fdl_draft *d,
                    double gone);

/* Gains of one action, each with the number that it needs, 0: not known. So
 * many reads at once; the same where few are slow, with so many batches ahead;
 * batches for the reads that are permitted; cores of a quota. */
double fdl_limit_reads(const struct fdl_facts *f, struct fdl_draft *d);
double fdl_limit_slow_reads(const struct fdl_facts *f, struct fdl_draft *d,
                            double *depth);
double fdl_limit_samples(const struct fdl_facts *f, struct fdl_draft *d);
double fdl_limit_quota(const struct fdl_facts *f, struct fdl_draft *d);

/* The gain if nobody else had the workers' cores: other threads of the process,
 * else other processes. And if workers never slept. */
double fdl_limit_alone(const struct fdl_facts *f, bool foreign);
double fdl_limit_awake(const struct fdl_facts *f);

/* ---- verdict_advice.c ---- */

/* Resolves contradictions among the n drafts; the first one has precedence. */
void fdl_advice_settle(const struct fdl_facts *f, struct fdl_draft *all,
                       uint32_t n);

/* ---- verdict_text.c ---- */

struct fdl_phrase fdl_say_number(double value, bool tenths);
struct fdl_phrase fdl_say_duration(double ns);
struct fdl_phrase fdl_say_percent(double part);
struct fdl_phrase fdl_say_count(double n, const char *noun, const char *nouns);
struct fdl_phrase fdl_say_workers(const struct fdl_facts *f);
struct fdl_phrase fdl_say_cores(const struct fdl_facts *f);
struct fdl_phrase fdl_say_name(const char *name); /* printable, quoted */

/* An option as the program's interface names it: "depth", "prefetch_factor";
 * and set to a number or to auto: "workers=6", "num_workers=6". */
struct fdl_term fdl_say_option(const struct fdl_facts *f, const char *option);
struct fdl_term fdl_say_memory(const struct fdl_facts *f); /* its budget */
struct fdl_term fdl_say_set(const struct fdl_facts *f, const char *option,
                            double value);
struct fdl_term fdl_say_word(const struct fdl_facts *f, const char *option,
                             const char *word);

/* Both append. */
void fdl_say(struct fdl_draft *d, const char *fmt, ...) FDL_PRINTF(2, 3);
void fdl_act(struct fdl_draft *d, const char *fmt, ...) FDL_PRINTF(2, 3);

/* Appends an optional clause, all of it or nothing, so that what must follow
 * still fits. */
void fdl_say_clause(struct fdl_draft *d, const char *fmt, ...) FDL_PRINTF(2, 3);

/* The same after the full stop, where only a remark on the GPU's memory may
 * follow. */
void fdl_say_last(const struct fdl_facts *f, struct fdl_draft *d,
                  const char *fmt, ...) FDL_PRINTF(3, 4);

/* The action names a number of workers, above or below the one in force. */
void fdl_move_workers(const struct fdl_facts *f, struct fdl_draft *d,
                      double to);

/* "The consumer waited 12 % of the time (1.2 s of 10.0 s)" */
void fdl_say_stall(const struct fdl_facts *f, struct fdl_draft *d);

/* A deciding number; omitted if unknown. */
void fdl_note(struct fdl_draft *d, const char *key, double value);
void fdl_note_name(struct fdl_draft *d, const char *key, const char *text);

/* Writes stall, share, batches and the notes to v.evidence. */
void fdl_say_evidence(const struct fdl_facts *f, struct fdl_draft *d);

#endif
