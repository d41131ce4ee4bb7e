/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the control groups of this process grant: version 1, version 2, or both
 * at once; the group itself and every parent that can be seen.
 */
#ifndef FDL_PROFILER_CGROUP_H
#define FDL_PROFILER_CGROUP_H

#include "profiler/sysfile.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_cgroup_limits {
    double cpu_quota;      /* cores; 0: no limit */
    uint64_t memory_bytes; /* UINT64_MAX: no limit */
    bool has_cpus;
    struct fdl_cpu_set cpus; /* if has_cpus */
};

/* Never fails: what cannot be read counts as no limit. */
void fdl_cgroup_read(struct fdl_cgroup_limits *out, const char *root);

#endif
