/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a run, inside the simulator: one machine, and loaders on it.
 *
 *   quota.c    the shared things: cores, quota, storage, neighbour
 *   flow.c     one loader: tickets, reads, workers
 *   step.c     its consumer
 *   reading.c  what its controller sees, and what it may set
 *   events.c   the clock: what comes next
 *
 * Work on cores and reads on a device that serves few at once share what there
 * is equally. That costs no event per job: each such place has a clock of its
 * own that runs as fast as one job proceeds there, a job ends when that clock
 * has gone on by its work, and a heap knows which is the first. So an event
 * costs O(log jobs), however many there are.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "draw.h"
#include "heap.h"
#include "sim.h"
#include "tail.h"

#include <math.h>

#define SIM_NEVER INFINITY

/* A sample on its way. */
struct sim_job {
    uint64_t sample;
    double read_start, work_start;
    double locked; /* work with the lock, after that without */
    double sleep;  /* that comes after its work on a core */
    enum {
        SIM_JOB_READ,
        SIM_JOB_PIPE,
        SIM_JOB_CPU,
        SIM_JOB_LOCK, /* waits for it */
        SIM_JOB_HELD, /* on a core, with it */
        SIM_JOB_SLEEP
    } at;
};

/* A batch. Its samples are to be sent, on their way, read, or with a worker;
 * the others are done. */
struct sim_ticket {
    double copied;
    uint32_t unsent, reading, read, working;
    bool ready;
    double work, sleep, latency, hits; /* of its phase */
};

enum sim_stage {
    SIM_STEP = 0, /* busy */
    SIM_SYNC,     /* until the device is no more than run_ahead behind */
    SIM_BARRIER,  /* until the other ranks of the job are there, too */
    SIM_PAUSE,    /* evaluation */
    SIM_WAIT,     /* in next() */
    SIM_END       /* it has all its batches */
};

/* Sums that a reading is made of, seconds; see struct fdl_tuner_reading. */
struct sim_sums {
    double user, wait, api, idle, consumer_cpu;
    double wait_fetch; /* of wait: for reads */
    double host_busy;
    double cpu, runq, throttle, lock, sleep, blocked, starved;
    double read_time, copies;
    uint64_t samples, reads, bytes, copied;
};

struct sim_world;

struct sim_loader {
    struct sim_world *world;
    uint32_t index;
    uint64_t stream[SIM_STREAM_SCENARIO];

    /* Knobs, and who sets them. */
    struct fdl_knobs knobs;
    struct sim_facts facts;
    void *self;
    double next_look;
    uint64_t looks;
    struct sim_watched {
        double runq, throttle, sample_tail, read_tail;
        double next_signals, next_tails;
    } watched; /* what the library looks at less often */

    /* Tickets, a ring by number. */
    struct sim_ticket *ticket;
    uint64_t ticket_mask;
    uint64_t issued, delivered;
    uint32_t n_ready;

    /* Jobs: a pool, and where they are. */
    struct sim_job *job;
    uint32_t *free;
    uint32_t n_free, n_jobs;
    uint64_t claimed; /* samples; the next one to be read */
    uint32_t in_window, n_reading;
    struct sim_heap read;    /* bytes are there, by sample */
    struct sim_heap running; /* on cores, by the end on `clock` */
    double clock;            /* goes on as fast as a job on a core */
    uint32_t n_sleeping;     /* workers at a sample, off the cores */
    struct sim_heap locked;  /* waiting for the lock, by when they came */
    uint64_t lock_asked;     /* how often; also when */
    bool lock_held;

    /* The consumer. */
    enum sim_stage stage;
    double left;             /* of SIM_STEP, at full speed */
    double until;            /* SIM_SYNC, SIM_BARRIER, SIM_PAUSE */
    double own;              /* this step, were nobody to wait for */
    double returned, called; /* from next(), into it */
    double pause;            /* comes after this step */
    double wait_fetch;       /* since called */
    double device_free, copy_free;
    double *step_end; /* of the last run_ahead steps of the device */

    struct sim_sums sum;
    struct sim_tail read_tail, sample_tail;

    /* Rates, as long as nothing changes. */
    double speed; /* of clock */
    double pace;  /* of left */

    /* Of the result. */
    double worker_seconds, depth_seconds, io_seconds, end;
    uint64_t memory_peak;
};

/* Which batches are run, and what else is special. */
struct sim_span {
    uint64_t from, count;
    /* Knobs that are put in force when a batch is delivered; none: NULL. */
    const struct sim_oracle *schedule;
};

enum sim_event_kind {
    SIM_EVENT_LOOK,
    SIM_EVENT_NEIGHBOUR,
    SIM_EVENT_HICCUP,
    SIM_EVENT_THROTTLE,
    SIM_EVENT_PERIOD,
    SIM_EVENT_WORKED,
    SIM_EVENT_CONSUMER,
    SIM_EVENT_SERVED,
    SIM_EVENT_TIMED
};

struct sim_event {
    double in; /* from now */
    enum sim_event_kind kind;
    struct sim_loader *loader;
    bool productive; /* a batch can come of it */
};

/* Storage that several worlds share, whose events are in order of time: reads
 * pass it one by one. */
struct sim_common {
    double free, service; /* s of a read */
};

struct sim_world {
    const struct sim_scenario *s;
    const struct sim_controller *controller;
    struct sim_span span;
    struct sim_result *out;
    uint64_t points_capacity;
    double now;
    double stuck_since; /* nothing but looks since; negative: not so */
    bool failed;        /* no memory */

    struct sim_law work, sleep, step, latency;

    /* Cores. */
    double cores; /* of the quota, now */
    double share; /* of a core that each runnable worker has */
    double use;   /* cores, of the quota's budget */
    double budget, period_end;
    bool throttled;
    double neighbour_next;
    uint64_t neighbour_turns;
    bool neighbour;
    bool stopped; /* by a hiccup */
    double hiccup_next;
    uint64_t hiccups;
    double announced; /* what the controllers think it is ... */
    double announce;  /* ... until they look after this */

    /* Storage: reads that share the device, by the end on storage_clock. */
    struct sim_heap storage;
    double storage_clock, storage_speed;
    double pipe_free;
    struct sim_common *common; /* NULL: none */
    struct sim_event next;

    struct sim_heap timed; /* reads and sleeps that end at a time */

    uint32_t n_loaders;
    struct sim_loader loader[SIM_LOADERS];
};

/* A job of a loader in a heap of the machine. */
static inline uint32_t sim_job_id(const struct sim_loader *l, uint32_t job)
{
    return l->index << 24 | job;
}

/* world.c */
bool sim_world_init(struct sim_world *w, uint64_t seed,
                    const struct fdl_knobs *start);
void sim_world_fini(struct sim_world *w);

/* events.c: what comes next, when that is, and to let it happen. */
void sim_world_begin(struct sim_world *w);
double sim_world_next(struct sim_world *w);
void sim_world_pass(struct sim_world *w);
bool sim_world_run(struct sim_world *w); /* all of it */

/* A run of a part of a scenario, as in sim_run. */
bool sim_run_span(const struct sim_scenario *s,
                  const struct sim_controller *controller,
                  const struct fdl_knobs *start, uint64_t seed,
                  const struct sim_span *span, struct sim_result *out);

/* reading.c */
void sim_announce(struct sim_world *w);

/* quota.c */
const struct sim_phase *sim_phase_of(const struct sim_scenario *s,
                                     uint64_t batch);
void sim_rates(struct sim_world *w);
double sim_others(const struct sim_world *w);
void sim_cores_set(struct sim_world *w, double cores);
void sim_neighbour_turn(struct sim_world *w);
void sim_hiccup_turn(struct sim_world *w);
void sim_period_turn(struct sim_world *w);
void sim_storage_send(struct sim_loader *l, uint32_t job, double latency);
void sim_storage_served(struct sim_loader *l, uint32_t job); /* then the pipe */

/* flow.c */
void sim_flow_read(struct sim_loader *l, uint32_t job);   /* bytes are there */
void sim_flow_worked(struct sim_loader *l, uint32_t job); /* off the core */
void sim_flow_done(struct sim_loader *l, uint32_t job);
void sim_flow_pump(struct sim_loader *l); /* whatever can go on, goes on */
uint64_t sim_flow_memory(const struct sim_loader *l);

/* step.c */
void sim_step_turn(struct sim_loader *l); /* a stage of the consumer ended */
void sim_step_release(struct sim_world *w, double when); /* from the barrier */
bool sim_step_deliver(struct sim_loader *l); /* it has got the next batch */
void sim_step_ready(struct sim_loader *l, struct sim_ticket *t);

/* reading.c */
void sim_reading_true(const struct sim_loader *l,
                      struct fdl_tuner_reading *out);
void sim_look(struct sim_loader *l); /* the controller's turn */
void sim_set_knobs(struct sim_loader *l, const struct fdl_knobs *knobs);

#endif
