/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the system reports while a loader runs: counters that only grow, read as
 * totals from /proc, /sys and the control group, so two readings and a
 * subtraction give a rate. Nothing is required: a missing source leaves its
 * field at 0 and its `has_` false. Everything is read below a root folder, ""
 * for the real one, as in machine.h, so that tests can lay out any machine as
 * files. The reader keeps its files open: a reading costs one pread each.
 */
#ifndef FDL_PROFILER_SIGNALS_H
#define FDL_PROFILER_SIGNALS_H

#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

/* One thread. */
struct fdl_thread_signals {
    uint64_t cpu_ns;  /* schedstat field 1 */
    uint64_t runq_ns; /* schedstat field 2: runnable, not running */
    uint64_t voluntary, involuntary; /* context switches */
    bool has_runq, has_switches;
};

/* A thread of this process that is not the loader's. */
struct fdl_foreign_thread {
    int32_t tid;
    char name[16];
    uint64_t cpu_ns;
};

#define FDL_FOREIGN_MAX 64u /* the busiest are kept */

/* The processes that this one has started, and theirs; the CPU time of those
 * that ended stays in the sum. */
struct fdl_children_signals {
    uint32_t processes; /* alive */
    uint64_t cpu_ns;    /* in ticks of the kernel, mostly 10 ms */

    uint64_t queued_ns; /* main threads of those alive, ever: wanted a core */
};

struct fdl_system_signals {
    bool has_throttle, has_pressure, has_host, has_memory;
    uint64_t throttled_ns; /* of the group, all its cores (v1, v2) */
    uint64_t periods, throttled_periods;
    uint64_t pressure_cpu_ns, pressure_io_ns, pressure_memory_ns; /* "some" */
    uint64_t host_busy_ns, host_total_ns; /* all cores of the machine */
    uint64_t process_cpu_ns;              /* all threads of this process */
    uint64_t memory_bytes;                /* charged to the group, or RSS */
    uint64_t memory_limit_bytes;          /* 0: none */
    uint32_t running; /* threads that want a core, machine */
};

struct fdl_signals; /* open files */

/* Fails with ENOMEM only. */
int32_t fdl_signals_open(const char *root, struct fdl_signals **out);
void fdl_signals_close(struct fdl_signals *s);
void fdl_signals_read(struct fdl_signals *s, struct fdl_system_signals *out);

/* One thread of this process, by its kernel id. false: it has ended. */
bool fdl_signals_thread(struct fdl_signals *s, int32_t tid,
                        struct fdl_thread_signals *out);

/* All threads of this process whose names do not begin with "feedline-", the
 * busiest first; the caller's main thread is among them. A walk through
 * /proc/self/task: once a second at most. Returns how many. */
uint32_t fdl_signals_foreign(struct fdl_signals *s,
                             struct fdl_foreign_thread out[FDL_FOREIGN_MAX]);

/* The children of this process, together. At most once a second. All 0 if the
 * kernel does not report it. */
void fdl_signals_children(struct fdl_signals *s,
                          struct fdl_children_signals *out);

#endif
