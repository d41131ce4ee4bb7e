/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tuner: what it does, and why. While a loader runs it tunes those of the
 * options workers, depth and io_depth that are auto (option tuner); it never
 * changes what is delivered. For programs that inspect its choice, or start
 * from it the next time; loading data does not need it. All functions: any
 * thread; statuses and strings as in feedline.h.
 */
#ifndef FEEDLINE_TUNING_H
#define FEEDLINE_TUNING_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

struct feedline_tuner_info {
    uint32_t struct_size;
    uint32_t workers, depth, io_depth; /* in force */
    uint32_t finish;    /* where batches are finished: 0 host, 1 device */
    uint32_t converged; /* 1: nothing is left to improve */
    uint32_t planned_workers, planned_depth, planned_io_depth; /* what the
                                        tuner's model asks for; 0: no plan */
    uint32_t on_device;     /* 1: stall is that of the device, 0: of the host */
    const char *mode;       /* "off" "observe" "auto"; static */
    const char *state;      /* "off" "warmup" "measure" "settle" "trial" "hold"
                           "frozen"; static */
    const char *limited_by; /* why it is not fed: "cores" "lock" "memory"
                               "bound" "storage" "transfer" "device" (which
                               decodes); "": it is fed, or not known; static */
    const char *profile;    /* how option tuner_profile was used, in words; ""
                            without one; lives as long as the loader */
    uint64_t converged_batch, converged_ns; /* since which batch, and since when
                                               after the loader's creation */
    uint64_t decisions;                     /* made so far */
    uint64_t trials, kept, rolled_back;     /* trials, and how they ended */
    uint64_t credit_ns;                     /* what further trials may cost */
    uint64_t spent_ns;                      /* what trials have cost */
    double target; /* stall that is acceptable, as a fraction of the time */
    double stall;  /* of the last window, as a fraction of the time */
    double batches_per_second;
    double step_ns;   /* the consumer's own time for a batch */
    double sample_ns; /* a worker's time for a sample, without waits for a core
                       */
    double cpu_share; /* fraction of sample_ns on a core */
    double cores;     /* that are available to workers */
    uint64_t memory_bytes;  /* what the setting may use at most */
    uint64_t memory_budget; /* the limit of that */
};
FEEDLINE_API int32_t feedline_loader_get_tuner(const feedline_loader *l,
                                               struct feedline_tuner_info *out);

/* One change of a knob (workers, depth or io_depth), by the tuner or by the
 * program through feedline_loader_set_int. */
struct feedline_decision {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t id;      /* from 0 */
    uint64_t time_ns; /* after the loader was created */
    uint64_t batch;   /* delivered by then */
    int64_t before, after;
    double predicted; /* change of throughput, 0.25 is a quarter more; NaN:
                         nothing was predicted */
    double measured;  /* NaN: not yet, or never */
    double error;     /* standard error of measured; NaN: not known */
    double stall_before, stall_after; /* fractions; NaN: not known */
    const char *knob;                 /* "workers" "depth" "io_depth"; static */
    const char *reason;  /* "plan_up" "plan_down" "explore_up" "explore_down"
                            "rollback" "guard" "tail" "variance" "shrink"
                            "reads" "latency" "memory" "limit" "job"
                            "applied" "program"; static */
    const char *outcome; /* "pending" "kept" "rolled_back" "rule" "proposed"
                            "abandoned"; static */
    char why[160];       /* in words */
};

/* index: from 0, the oldest of the last 256; END past the last. A pending
 * decision may be judged at the next call. */
FEEDLINE_API int32_t feedline_loader_get_decision(
    const feedline_loader *l, uint32_t index, struct feedline_decision *out);

/* feedline_tuner_info and all decisions as one JSON object: {"mode", "state",
 * "workers", "depth", "io_depth", "finish", "converged_batch" (null: not yet),
 * ..., "decisions": [...]}. Buffers as in feedline_config_json. */
FEEDLINE_API int32_t feedline_loader_tuner_json(const feedline_loader *l,
                                                char *buf, uint64_t capacity,
                                                uint64_t *needed);

/* How the loader is doing, as lines of text for people: the verdict and what
 * to do about it, what each operation costs, and what the tuner did, since the
 * start or reset_stats. Buffers as in feedline_config_json. */
FEEDLINE_API int32_t feedline_loader_explain(const feedline_loader *l,
                                             char *buf, uint64_t capacity,
                                             uint64_t *needed);

/* What the tuner did, as lines of text for people: the settings it started
 * from, what it changed, why, with what effect, and the settings now. Buffers
 * as in feedline_config_json. */
FEEDLINE_API int32_t feedline_loader_tuner_text(const feedline_loader *l,
                                                char *buf, uint64_t capacity,
                                                uint64_t *needed);

/* Writes what the tuner found to `path`, completely or not at all, as JSON that
 * a later loader can start from (option tuner_profile). It has a fingerprint of
 * machine, data set and pipeline; a loader with another one does not use it.
 * ESTATE: the tuner has found nothing yet. EIO names the file. */
FEEDLINE_API int32_t feedline_loader_save_profile(const feedline_loader *l,
                                                  const char *path);

/* A worker that has been at one sample for longer than option stuck_after, or a
 * read that has been in flight for as long. */
struct feedline_stuck_worker {
    uint32_t struct_size;
    uint32_t worker; /* its number, as in thread names; UINT32_MAX: a read that
                        no worker makes */
    int32_t tid;     /* its thread; 0: not known */
    uint32_t reserved;
    uint64_t stuck_ns; /* how long it has been at this sample */
    uint64_t epoch;
    int64_t sample_index;
    char path[256]; /* of the sample, truncated at the front; "" without one */
    char where[32]; /* "read" "decode" "augment" or a custom operation's name
                      */
};

/* The workers and reads that are stuck at the moment of the call. END: index is
 * past the last one. */
FEEDLINE_API int32_t
feedline_loader_get_stuck(const feedline_loader *l, uint32_t index,
                          struct feedline_stuck_worker *out);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FEEDLINE_TUNING_H */
