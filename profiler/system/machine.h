/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine really grants this process: affinity and cpuset, cgroup CPU
 * quota (v1, v2, hybrid, nested: the smallest up the hierarchy counts), memory
 * limit. Never the host's core count alone.
 *
 * Everything is read through a root folder, "" for the real one, so that tests
 * can lay out any kind of machine as files.
 */
#ifndef FDL_PROFILER_MACHINE_H
#define FDL_PROFILER_MACHINE_H

#include "base/cpu_set.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_machine {
    uint32_t cpus_online;
    uint32_t cpus_allowed;       /* affinity and cpuset */
    uint32_t cpus_usable;        /* min(allowed, ceil(quota)), at least 1 */
    double cpu_quota;            /* cores; 0: no limit */
    uint64_t memory_bytes;       /* RAM; 0: not known */
    uint64_t memory_limit_bytes; /* min(RAM, cgroup limits); 0: not known */
    char kernel[128];
    char cpu_model[128];
};

/* The part that changes while a process runs; nothing else is read for it. */
struct fdl_machine_grant {
    uint32_t cpus_allowed; /* affinity and cpuset, at least 1 */
    double cpu_quota;      /* cores; 0: no limit */
};

/* within: the CPUs that threads are bound to; NULL: they are not. */
void fdl_machine_read_grant(struct fdl_machine_grant *g,
                            const struct fdl_cpu_set *within, const char *root);

/* The CPUs that affinity and cpuset allow and that are online; false: not
 * known. */
bool fdl_machine_read_cpus(struct fdl_cpu_set *out, const char *root);

/* The smaller of `cpus` and the quota (0: none), rounded up. */
uint32_t fdl_machine_usable(uint32_t cpus, double quota);

/* Never fails: unreadable files count as no limit, and as "" for a text. Any
 * thread; allocates while it reads. */
void fdl_machine_read(struct fdl_machine *m, const char *root);

/* As fdl_machine_read("") at the first call; any thread. */
const struct fdl_machine *fdl_machine_get(void);
void fdl_machine_json(const struct fdl_machine *m, const char *key,
                      struct fdl_json *j);

#endif
