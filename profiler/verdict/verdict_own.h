/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the verdict: the evidence digested once (verdict_facts.c), a
 * function for each question (verdict_rules_*.c), and what they write with
 * (verdict_text.c). All is double here: sums of counters that are too large, or
 * of numbers that make no sense, stay numbers.
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

/* Of a lock that custom operations share; all 0 where there is none. */
struct fdl_lock_facts {
    double waits;         /* of busy time, waiting for it */
    double calls;         /* of busy time, in operations that have it */
    double held;          /* of wall */
    double gain;          /* throughput grows by this much without it */
    double gain_of_cores; /* and with it, if nobody queued for a core */
};

/* Where the workers' time at work went, as fractions of it that sum to 1. */
enum fdl_part {
    PART_CORE,     /* on a core */
    PART_OWN,      /* queueing for one, behind each other and the consumer */
    PART_FOREIGN,  /* behind other threads of this process */
    PART_OTHERS,   /* behind other processes */
    PART_THROTTLE, /* the CPU quota was spent */
    PART_SLEEP,    /* off the core by themselves */
    PART_LOCK,     /* of that and of the queueing: for a lock they share */
    PARTS
};

/* The evidence, digested. What is not known is -1, as there. */
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
    bool bus_full;           /* copies fill the span: then it is TRANSFER */
    double workers, cpus;    /* at least 1 */
    double granted;          /* cores: cpus, or the quota if it is less */
    double part[PARTS];
    bool queues_most;  /* for cores, more than they do anything else */
    double wants_core; /* part of the time of a worker that never queues;
                                 1 if not known */
    double demand;     /* cores that workers and consumer would use then */
    double outside;    /* cores that other processes took of ours */
    double saturated_workers; /* so many fill the cores that others leave */
    double useful_workers;    /* more than these would not help, see
                                 verdict_split.c */
    bool scales;              /* false: the tuner saw that more do not help */
    double blocked;           /* of worker time, without room */
    double off_core;          /* of busy time, queueing for a core */
    struct fdl_lock_facts lock;
    double worker_cores; /* used by the workers */
    double cores_taken;  /* of the usable ones, by all that is known */
    double throttled;    /* of wall */
    double step_ns;      /* of the consumer's own time; 0 if not known */
    double ready;        /* of calls, batch there */
    double passed;       /* of long waits, later batch there */
};

/* A verdict being written. */
struct fdl_draft {
    struct fdl_verdict v;
    double weight;       /* fraction of the time that it explains */
    const char *instead; /* action where another verdict rules out `moves` */
    bool aside;          /* `moves` are its second choice: not for the tuner */
    struct {
        const char *key, *text; /* text NULL: value */
        double value;
    } notes[12];
    uint32_t n_notes;
};

/* A phrase, by value: a sentence is put together from several. */
struct fdl_phrase {
    char at[48];
};

/* ---- verdict_facts.c ---- */

void fdl_facts_digest(const struct fdl_evidence *e, struct fdl_facts *f);

/* part / whole in 0..1; 0 where either is not positive. */
double fdl_facts_ratio(double part, double whole);
bool fdl_facts_known(double value);

/* Throughput grows by this much at most if of `of` ns so many are saved. */
double fdl_facts_gain(double saved_ns, double of_ns);

/* What the stall's clock lost by a cause. */
double fdl_facts_lost(const struct fdl_facts *f, enum fdl_cause cause);

/* ---- verdict_split.c ---- */

/* The split of the workers' time and what follows from it for their number;
 * when all else but the lock's part is digested. */
void fdl_facts_digest_split(struct fdl_facts *f);
void fdl_facts_digest_room(struct fdl_facts *f);

/* The largest part but `but`; PARTS if none has CONTRIBUTING. */
enum fdl_part fdl_facts_largest(const struct fdl_facts *f, enum fdl_part but);

/* So many cores of the granted ones: 20 %, and at least half a core. */
bool fdl_facts_many(const struct fdl_facts *f, double cores);

/* ---- verdict_rules_*.c: a rule that speaks fills the draft; true ---- */

/* The causes of a stall: each always finds a code for its part. */
void fdl_judge_prep(const struct fdl_facts *f, struct fdl_draft *d);
void fdl_judge_fetch(const struct fdl_facts *f, struct fdl_draft *d);
void fdl_judge_transfer(const struct fdl_facts *f, struct fdl_draft *d);
void fdl_judge_slot(const struct fdl_facts *f, struct fdl_draft *d);
void fdl_judge_wake(const struct fdl_facts *f, struct fdl_draft *d);

/* The wait for somebody else's batches. */
void fdl_judge_outside(const struct fdl_facts *f, struct fdl_draft *d);

/* Who has the cores; true: that is what holds the workers up. */
bool fdl_judge_throttled(const struct fdl_facts *f, struct fdl_draft *d);
bool fdl_judge_cores(const struct fdl_facts *f, struct fdl_draft *d);

/* Advice that several rules give: on a quota that is spent, and on slots that
 * the consumer holds. */
void fdl_act_on_quota(const struct fdl_facts *f, struct fdl_draft *d);
void fdl_act_on_held(const struct fdl_facts *f, struct fdl_draft *d);

/* What else has a fifth of the workers' time beside the part that leads. */
void fdl_say_second(const struct fdl_facts *f, struct fdl_draft *d,
                    enum fdl_part lead);

/* The operation that has half of the workers' time: "; "blur": 10.9 ms a
 * sample, 2 % on a core, 88 % of the workers' time". */
void fdl_say_operation(const struct fdl_facts *f, struct fdl_draft *d);

/* The work itself; always finds a code. */
void fdl_judge_work(const struct fdl_facts *f, struct fdl_draft *d);

/* Images far larger than what is made of them, beside another cause. */
bool fdl_judge_large(const struct fdl_facts *f, struct fdl_draft *d);

/* Single slow samples or too little depth; before prep and fetch speak. */
bool fdl_judge_variance(const struct fdl_facts *f, struct fdl_draft *d);

/* A lock that custom operations share; for prep. Digested when all else is;
 * runq: how long workers queued for a core, in ns. */
void fdl_facts_digest_lock(struct fdl_facts *f, double runq);
bool fdl_judge_lock(const struct fdl_facts *f, struct fdl_draft *d);

/* Somebody has it nearly all the time: a consumer in the same interpreter waits
 * for it too, and samples that wait for it look slow. */
bool fdl_lock_is_taken(const struct fdl_facts *f);

/* Whatever the stall is. */
bool fdl_judge_stuck(const struct fdl_facts *f, struct fdl_draft *d);
bool fdl_judge_unused(const struct fdl_facts *f, struct fdl_draft *d);
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

/* ---- verdict_advice.c ---- */

/* Makes one judgement of the n drafts, the first one first. */
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
struct fdl_term fdl_say_set(const struct fdl_facts *f, const char *option,
                            double value);
struct fdl_term fdl_say_word(const struct fdl_facts *f, const char *option,
                             const char *word);

/* Both go on with what is there. */
void fdl_say(struct fdl_draft *d, const char *fmt, ...) FDL_PRINTF(2, 3);
void fdl_act(struct fdl_draft *d, const char *fmt, ...) FDL_PRINTF(2, 3);

/* The same for a clause that may be left out: all of it or nothing, so that
 * what must be said after it still fits. */
void fdl_say_clause(struct fdl_draft *d, const char *fmt, ...) FDL_PRINTF(2, 3);

/* The action names a number of workers, above or below that in force. */
void fdl_move_workers(const struct fdl_facts *f, struct fdl_draft *d,
                      double to);

/* "The consumer waited 12 % of the time (1.2 s of 10.0 s)" */
void fdl_say_stall(const struct fdl_facts *f, struct fdl_draft *d);

/* A number that decided; one that is not known is left out. */
void fdl_note(struct fdl_draft *d, const char *key, double value);
void fdl_note_name(struct fdl_draft *d, const char *key, const char *text);

/* Writes stall, share, batches and the notes to v.evidence. */
void fdl_say_evidence(const struct fdl_facts *f, struct fdl_draft *d);

#endif
