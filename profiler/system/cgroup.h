/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the control groups of this process grant: version 1, version 2, or both
 * at once; the group itself and every parent that can be seen.
 */
#ifndef FDL_PROFILER_CGROUP_H
#define FDL_PROFILER_CGROUP_H

#include "base/cpu_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The name of version 2 among the controllers. */
#define FDL_CGROUP_UNIFIED ""

struct fdl_cgroup_limits {
    double cpu_quota;      /* cores; 0: no limit */
    uint64_t memory_bytes; /* UINT64_MAX: no limit */
    bool has_cpus;
    struct fdl_cpu_set cpus; /* if has_cpus */
};

/* Never fails: unreadable files count as no limit. */
void fdl_cgroup_read(struct fdl_cgroup_limits *out, const char *root);

/* The folder of this process's group in the hierarchy of a version 1
 * controller, or of version 2, as a path below the root, for free(). NULL:
 * none. Up goes to its parent; false at the mount point, which is point_length
 * long. */
char *fdl_cgroup_folder(const char *root, const char *controller,
                        size_t *point_length);
bool fdl_cgroup_up(char *folder, size_t point_length);

/* The limits of that folder alone. */
void fdl_cgroup_read_folder(struct fdl_cgroup_limits *out, const char *root,
                            const char *controller, const char *folder);

#endif
