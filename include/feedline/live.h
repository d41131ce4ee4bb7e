/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live view: the loaders of other processes. For programs that watch a training
 * run from outside, as loaderbench top does; loading data does not need it.
 * All functions: any thread; statuses and strings as in feedline.h.
 */
#ifndef FEEDLINE_LIVE_H
#define FEEDLINE_LIVE_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A view of another process's loader. A loader keeps a page of statistics in
 * memory that other processes of the same user can map (option live). The page
 * has no file name and disappears with its process, however that ends. */
typedef struct feedline_live feedline_live;

struct feedline_live_info {
    uint32_t struct_size;
    int32_t pid;
    uint32_t loader;         /* which loader of the process, from 0 */
    uint32_t version;        /* of the layout of its page */
    int64_t started_unix_ns; /* when the loader was created, since 1970 */
    char command[64];        /* of the process, without its folder; truncated */
};

/* The loaders that can be watched, ordered by pid and loader. A call with index
 * 0 finds them and keeps the list for this thread; other indices read the list.
 * END: index is past its end. */
FEEDLINE_API int32_t feedline_live_list(uint32_t index,
                                        struct feedline_live_info *out);

/* Begins to watch a loader of a process; feedline_live_detach ends it. ENOENT:
 * no such process or loader, or the loader has no page; EIO: the process is
 * another user's; EINVAL: pid is no process ID, or the page has another
 * version, which the detail names. */
FEEDLINE_API int32_t feedline_live_attach(int32_t pid, uint32_t loader,
                                          feedline_live **out);

#define FEEDLINE_LIVE_DECISIONS 8

/* What a page says. */
struct feedline_live_stats {
    uint32_t struct_size;
    int32_t pid;
    int64_t updated_ns; /* CLOCK_MONOTONIC; written about 4 times a second */
    int64_t started_ns; /* CLOCK_MONOTONIC, of the loader */
    uint32_t batch_size, workers, depth, io_depth;
    uint32_t ready;       /* batches ready for the consumer */
    uint32_t outstanding; /* batches issued and not delivered */
    uint32_t reads;       /* reads in flight */
    uint32_t has_device;  /* 1: batches are copied to a device */
    struct feedline_stats stats;
    struct feedline_wait_stats waits;
    struct feedline_worker_stats threads;

    /* As in feedline_device_stats, if has_device is 1. */
    uint64_t copied_bytes, copy_ns, overlap_ns, span_ns, idle_ns, pinned_bytes;

    /* Machine. Counters run since the start of the process or the machine. */
    double cpu_quota; /* cores; 0: no limit */
    uint32_t cpus_usable;
    uint32_t has_gpu;                          /* 1: NVML could be asked */
    uint64_t process_cpu_ns;                   /* all threads of the process */
    uint64_t throttled_ns;                     /* of the control group */
    uint64_t host_busy_ns, host_total_ns;      /* all cores of the machine */
    uint64_t memory_bytes, memory_limit_bytes; /* of the control group, or of
                                                  the process and the machine */

    /* GPU, as NVML reports it; -1: not known. */
    double gpu_utilization, gpu_memory_utilization; /* 0 to 1 */
    double gpu_power_watts, gpu_power_limit_watts;
    double gpu_temperature; /* degrees Celsius */
    double gpu_sm_clock_mhz;
    double gpu_pcie_rx_gbps; /* 1e9 bytes per second, from host to GPU */
    double gpu_memory_used_bytes, gpu_memory_total_bytes;
    char gpu_throttle[64]; /* "power", "thermal", ..., or "" */

    struct { /* as in feedline_verdict; confidence: 0 to 1 */
        double confidence, predicted_gain;
        char code[32], level[16], sentence[384], action[256];
    } verdict;
    uint32_t n_decisions;   /* how many of `decisions` there are */
    uint32_t stuck_workers; /* workers and reads that hang (stuck_after) */

    /* The tuner's last decisions, in words, the oldest first. */
    char decisions[FEEDLINE_LIVE_DECISIONS][128];

    struct { /* as in tuning.h; mode "": a page of a version without it */
        char mode[16], state[16], limited_by[16];
        uint32_t planned_workers, planned_depth, planned_io_depth;
        uint32_t converged;
        double stall, target;
        uint64_t decisions;
    } tuner;

    char watched[64];    /* what a watch (watch.h) watches; "": the batches are
                            the loader's own */
    char placement[128]; /* which CPUs workers are bound to and where pinned
                            memory lies, for people; "": anywhere, or not
                            known */
    int64_t storage_bytes; /* that storage delivered to reads; -1: not known */

    /* Which process of its job it is: as the options or the launcher say; world
     * 0: a page of a version without it. */
    uint32_t rank, world;
    int64_t synced_ns;  /* of stats.user_ns, in phases in which ranks wait for
                          each other: their names have "sync", "barrier" or
                          "reduce" in them; -1: there is no such phase */
    struct {            /* what its tuner tells other ranks (docs/tuner.md) */
        uint64_t job;   /* the same on all ranks; 0: nothing is told */
        double stall;   /* waits for data, as a fraction of the time */
        double step_ns; /* that a step takes if no rank waits for data; 0: not
                           known */
        uint32_t depth, io_depth;
    } told;
    uint64_t children_cpu_ns; /* of child processes, such as torch's workers,
                                 where a watch looks at them: since its start or
                                 reset */
};

/* A consistent copy of the page. END: the process or its loader is gone; *out
 * then has the last state. One thread at a time per view. EIO: the page is
 * damaged. */
FEEDLINE_API int32_t feedline_live_read(feedline_live *live,
                                        struct feedline_live_stats *out);

/* The page in Prometheus' text format, as feedline_loader_metrics has it of a
 * loader of this process, less what a page lacks: the version, the stages, and
 * all of the tuner. Statuses as above, but END leaves *buf alone; buffers as in
 * feedline_config_json. */
FEEDLINE_API int32_t feedline_live_metrics(feedline_live *live, char *buf,
                                           uint64_t capacity, uint64_t *needed);

FEEDLINE_API void feedline_live_detach(feedline_live *live);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FEEDLINE_LIVE_H */
