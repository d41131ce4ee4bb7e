/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the control thread; see control.h. */
#ifndef FDL_LOADER_CONTROL_OWN_H
#define FDL_LOADER_CONTROL_OWN_H

#include "base/event.h"
#include "base/lock.h"
#include "base/thread.h"
#include "loader/stream/engine.h"
#include "loader/tune/control.h"
#include "loader/tune/decision_log.h"
#include "loader/tune/decode_trial.h"
#include "loader/tune/job_pages.h"
#include "loader/tune/neighbours.h"
#include "loader/watch/watcher.h"
#include "profiler/measure/histogram.h"
#include "profiler/tuner/tuner.h"

#include <pthread.h>
#include <stdatomic.h>

/* A tail of recent values from a histogram that only grows: what was added
 * since a state that is between `enough` and twice as many values old. */
struct fdl_recent {
    struct fdl_histogram older, newer;
    uint64_t n_newer;
    int64_t tail;
};

/* Counters that restart when the statistics are reset. */
struct fdl_meter_sums {
    int64_t idle_ns, span_ns, copy_ns, copied, make_ns;
    int64_t runq_ns, throttle_ns;
};

/* How workers queued for a core while busy. */
struct fdl_delays {
    int64_t looked_ns;                    /* span of the probe it is from */
    int64_t work_ns, idle_ns;             /* of the workers, then */
    int64_t all_runq_ns, all_throttle_ns; /* counted by then */
    int64_t runq_ns, throttle_ns;         /* of that, at work */
    double runq_rate, throttle_rate;      /* per ns of work, recently */
};

struct fdl_host_busy {
    int64_t busy_ns, now_ns; /* as last probed, and when that was seen */
    double rate;             /* cores */
};

struct fdl_meter {
    struct fdl_meter_sums past, last; /* until the last reset, and since */
    uint32_t resets;
    struct fdl_tuner_reading told; /* what must not decrease */
    struct fdl_delays delays;
    struct fdl_host_busy host;

    int32_t consumer_tid;
    int64_t consumer_cpu_ns, consumer_before_ns;

    int64_t slow_ns; /* when the slow parts were last read */
    struct fdl_recent samples, reads;
    struct fdl_histogram now; /* scratch */
};

/* The share of the granted cores; see control_share.c. */
struct fdl_share {
    bool looks;    /* constant: the number of sharers was not given */
    uint32_t page; /* constant: our own live page; UINT32_MAX: none */

    /* The thread's. */
    struct fdl_neighbours neighbours;
    int64_t find_ns, look_ns; /* when to do so next */

    /* Guarded by the control's lock. */
    double part;     /* our share, 0 to 1 */
    uint32_t others; /* that want some */
};

/* The other ranks of its job; see control_job.c. */
struct fdl_control_job {
    uint64_t number;             /* constant; 0: none, or nothing is told */
    struct fdl_job_pages *pages; /* the thread's; NULL: none are looked at */
    int64_t find_ns, look_ns;    /* when to do so next */

    /* Guarded by the control's lock. */
    struct fdl_tuner_job of_host, brought;
    int64_t brought_ns;
    bool news;
};

/* The last decisions in words, for the live page. */
struct fdl_told {
    uint64_t n; /* ever; line i is at i % FEEDLINE_LIVE_DECISIONS */
    char lines[FEEDLINE_LIVE_DECISIONS][128];
};

struct fdl_control {
    struct fdl_engine *engine;
    struct fdl_watch *watch;
    enum fdl_tuner_mode mode; /* constant */
    uint32_t local_world;     /* constant */
    int64_t created_ns;       /* constant */
    bool warm;                /* constant: it starts from a profile */
    struct fdl_knobs start;   /* constant; io_depth 0: not known */

    /* The caller's of begin and end. */
    struct fdl_thread thread;
    struct fdl_event wake;
    _Atomic bool stopping;

    /* Guarded by the engine's run_lock. */
    struct fdl_meter meter;
    struct fdl_decode_trial decoding; /* decode=auto */
    int64_t granted_ns; /* when the machine was last queried; 0: never */

    /* Written under the engine's run_lock and `lock`. */
    struct fdl_tuner_limits limits;
    char *root;
    bool by_quota;  /* fewer are granted than there are */
    double granted; /* divided by local_world */
    struct fdl_knobs
        began; /* in force at the first begin; workers 0: none yet */
    double began_cores;

    char profile_note[640]; /* constant */

    _Atomic int64_t cpu_ns; /* of threads that ended, and the running one */
    _Atomic uint64_t ticks;

    struct fdl_lock lock; /* guards the rest, for as long as a copy takes */
    double cores;         /* granted, our share of them */
    struct fdl_share share;
    struct fdl_control_job job;
    uint64_t batches;        /* of the last reading */
    struct fdl_tuner *tuner; /* NULL: off, or not begun */
    struct fdl_decision_log log;
    struct fdl_told told;
};

/* The program set a knob, or (given: false) returned it. run_lock is held, the
 * option is set. */
void fdl_control_set_locked(struct fdl_control *c, enum fdl_knob knob,
                            int64_t before, int64_t after, bool given);

/* control_limits.c */
int32_t fdl_control_check_bounds(const struct fdl_options *o);
void fdl_control_start_values(const struct fdl_control *c,
                              struct fdl_knobs *out);

/* Before the first run; io_depth is bounded, but not by its reader. */
void fdl_control_start_limits(struct fdl_control *c,
                              struct fdl_tuner_limits *out);

/* run_lock is held. true: something changed. */
bool fdl_control_limits_locked(struct fdl_control *c, int64_t now);

/* control_share.c; a run begins; then on each tick, without run_lock. */
void fdl_control_share_begin(struct fdl_control *c);
void fdl_control_share(struct fdl_control *c);

/* control_job.c; on each tick, without run_lock; then with both locks; when the
 * control goes. */
void fdl_control_job(struct fdl_control *c);
void fdl_control_job_hear_locked(struct fdl_control *c);
void fdl_control_job_forget(struct fdl_control *c);

/* control_reading.c; run_lock is held, a run is under way. */
void fdl_control_read_locked(struct fdl_control *c, int64_t now,
                             struct fdl_tuner_reading *out);
void fdl_recent_add(struct fdl_recent *r, const struct fdl_histogram *now,
                    uint64_t enough, double quantile);

/* control_decode.c: who decodes, where that is measured. run_lock is held.
 * true: something is tried, and nothing else should be. */
bool fdl_control_decode_locked(struct fdl_control *c,
                               const struct fdl_tuner_reading *reading);
void fdl_control_decode_pause_locked(struct fdl_control *c);

/* When the loader is made. */
void fdl_control_decode_begin(const struct fdl_control *c);

/* control_tell.c: a decision to trace, live page and log. Both locks are held.
 */
void fdl_control_tell_locked(void *control, const struct fdl_decision *d,
                             bool judged);

#endif
