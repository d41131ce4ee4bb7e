/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the threads of a loader run. On a machine with several NUMA nodes,
 * workers that write batches from another node than the GPU's send every byte
 * over the link between the sockets, and so does the GPU when it reads them. So
 * they are bound to the CPUs near the GPU, but only where that leaves them
 * enough cores: too few cost more than the distance does.
 *
 *     the process's mask, the cpuset and what is online    machine.h
 *       and CPUs near the GPU                              sysfs
 *       enough?       16 CPUs, and half of what it would have unbound; or all
 *                     of that, or as many as there are workers, if it is fewer
 *
 * Ranks that share the machine count as spread evenly over its nodes.
 */
#ifndef FDL_PROFILER_AFFINITY_H
#define FDL_PROFILER_AFFINITY_H

#include "base/cpu_set.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_affinity_question {
    const char *asked;    /* "auto", "none", or a list of CPUs */
    const char *pci;      /* of the GPU, "0000:1b:00.0"; NULL: there is none */
    uint32_t workers;     /* that the program asks for; 0: any number */
    uint32_t local_world; /* processes that share the machine, at least 1 */
};

struct fdl_affinity {
    bool bound;
    struct fdl_cpu_set cpus; /* if bound: where threads run */
    struct fdl_cpu_set near; /* CPUs near the GPU that this process may use, */
    bool knows_near;         /* if several nodes are, and the GPU's is known */
    int32_t node;            /* of the GPU; -1: not known */
    uint32_t ranks;          /* that share the CPUs */
    uint32_t usable;         /* CPUs or quota for all of them, at least 1 */
    uint32_t share;          /* for this one, at least 1 */
    char reason[160];        /* why it is so, for people */
};

/* root: as in machine.h. EINVAL: asked is none of these; ERANGE: it lists no
 * CPU that this process may use. */
int32_t fdl_affinity_choose(const struct fdl_affinity_question *q,
                            const char *root, struct fdl_affinity *out);

/* The node of a PCI device; -1: not known. */
int32_t fdl_affinity_node_of(const char *root, const char *pci);

/* The CPUs of a node that this process may use; none where not known. */
void fdl_affinity_of_node(const char *root, int32_t node,
                          struct fdl_cpu_set *out);

/* For tests: the root of loaders that are created from now on; lives on. */
void fdl_affinity_set_root(const char *root);
const char *fdl_affinity_root(void);

#endif
