/* SPDX-License-Identifier: Apache-2.0 */
/* Where the threads of a loader run; affinity.h has the rules. */
#include "profiler/system/affinity.h"

#include "base/compiler.h"
#include "base/status.h"
#include "profiler/system/machine.h"
#include "profiler/system/sysfile.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENOUGH 16u /* CPUs; decode more images than a GPU trains with today */

static const char *_Atomic test_root; /* NULL: the real one */

void fdl_affinity_set_root(const char *root)
{
    atomic_store_explicit(&test_root, root, memory_order_relaxed);
}

const char *fdl_affinity_root(void)
{
    const char *root = atomic_load_explicit(&test_root, memory_order_relaxed);
    return root ? root : "";
}

/* ---- The machine --------------------------------------------------------- */

static bool read_list(const char *root, const char *path,
                      struct fdl_cpu_set *out)
{
    char *text = fdl_sysfile_read(root, path);
    bool known = text && fdl_cpu_set_parse(out, text);
    free(text);
    return known;
}

/* NUMA nodes that have CPUs; 0: not known. */
static uint32_t count_nodes(const char *root)
{
    struct fdl_cpu_set nodes;
    if (read_list(root, "/sys/devices/system/node/has_cpu", &nodes) ||
        read_list(root, "/sys/devices/system/node/online", &nodes))
        return fdl_cpu_set_count(&nodes);
    return 0;
}

/* A file of a PCI device, whose folder is named in lower case. */
static void device_path(const char *pci, const char *file, char *out,
                        uint64_t capacity)
{
    char name[32];
    uint32_t n = 0;
    for (; pci[n] && n < sizeof(name) - 1; n++)
        name[n] = (char)tolower((unsigned char)pci[n]);
    name[n] = '\0';
    snprintf(out, capacity, "/sys/bus/pci/devices/%s/%s", name, file);
}

int32_t fdl_affinity_node_of(const char *root, const char *pci)
{
    char path[96];
    device_path(pci, "numa_node", path, sizeof(path));
    char *text = fdl_sysfile_read(root, path);
    const char *p = text;
    uint64_t node = 0;
    bool known = text && fdl_sysfile_number(&p, &node) && node <= INT32_MAX;
    free(text);
    return known ? (int32_t)node : -1;
}

static bool read_node(const char *root, int32_t node, struct fdl_cpu_set *out)
{
    char path[96];
    snprintf(path, sizeof(path),
             "/sys/devices/system/node/node%" PRId32 "/cpulist", node);
    return read_list(root, path, out);
}

void fdl_affinity_of_node(const char *root, int32_t node,
                          struct fdl_cpu_set *out)
{
    struct fdl_cpu_set allowed;
    memset(out, 0, sizeof(*out));
    if (!fdl_machine_read_cpus(&allowed, root) || !read_node(root, node, out))
        return;
    fdl_cpu_set_intersect(out, &allowed);
}

/* false: the system does not say. */
static bool read_near(const char *root, const char *pci, int32_t node,
                      struct fdl_cpu_set *out)
{
    char path[96];
    device_path(pci, "local_cpulist", path, sizeof(path));
    return read_list(root, path, out) || read_node(root, node, out);
}

/* ---- The choice ---------------------------------------------------------- */

struct choice {
    const struct fdl_affinity_question *q;
    const char *root;
    struct fdl_machine_grant grant;
    bool known; /* allowed is */
    struct fdl_cpu_set allowed;
    struct fdl_affinity *out;
};

static void say(struct fdl_affinity *out, const char *fmt, ...)
    FDL_PRINTF(2, 3);

static void say(struct fdl_affinity *out, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(out->reason, sizeof(out->reason), fmt, args);
    va_end(args);
}

/* Of `cpus` CPUs or the quota, for one of the ranks. */
static uint32_t share_of(const struct choice *c, uint32_t cpus, uint32_t ranks)
{
    uint32_t by_quota = fdl_machine_usable(UINT32_MAX, c->grant.cpu_quota);
    return FDL_MAX(FDL_MIN(cpus / ranks, by_quota / c->q->local_world), 1u);
}

static void stay_free(const struct choice *c)
{
    struct fdl_affinity *out = c->out;
    out->bound = false;
    out->ranks = c->q->local_world;
    out->usable = fdl_machine_usable(c->grant.cpus_allowed, c->grant.cpu_quota);
    out->share = share_of(c, c->grant.cpus_allowed, out->ranks);
}

static void bind_to(const struct choice *c, const struct fdl_cpu_set *cpus,
                    uint32_t ranks)
{
    struct fdl_affinity *out = c->out;
    uint32_t n = fdl_cpu_set_count(cpus);
    out->bound = true;
    out->cpus = *cpus;
    out->ranks = ranks;
    out->usable = fdl_machine_usable(n, c->grant.cpu_quota);
    out->share = share_of(c, n, ranks);
}

static uint32_t least(const struct choice *c)
{
    uint32_t all = c->out->share;
    if (c->q->workers > 0)
        return FDL_MIN(c->q->workers, all);
    return FDL_MAX(FDL_MIN(ENOUGH, all), all / 2);
}

/* Known: several nodes, which one is the GPU's, and the CPUs near it. */
static void choose_near(const struct choice *c, uint32_t nodes)
{
    struct fdl_affinity *out = c->out;
    uint32_t n = fdl_cpu_set_count(&out->near);
    uint32_t all = c->grant.cpus_allowed;
    uint32_t ranks = (c->q->local_world + nodes - 1) / nodes;
    char list[64];
    fdl_cpu_set_print(&out->near, list, sizeof(list));
    if (n == 0) {
        say(out, "none of the %u usable CPUs is on NUMA node %d, the GPU's",
            all, out->node);
    } else if (n == all) {
        say(out, "all usable CPUs are on NUMA node %d, the GPU's", out->node);
    } else if (share_of(c, n, ranks) < least(c)) {
        say(out,
            "%u of the %u usable CPUs are on NUMA node %d, the GPU's; too few",
            n, all, out->node);
    } else {
        bind_to(c, &out->near, ranks);
        say(out, "CPUs %s are on NUMA node %d, the GPU's", list, out->node);
    }
}

/* Node and CPUs of the GPU, where there are several nodes. */
static void find_near(const struct choice *c, uint32_t nodes)
{
    struct fdl_affinity *out = c->out;
    struct fdl_cpu_set near;
    if (!c->q->pci)
        return;
    out->node = fdl_affinity_node_of(c->root, c->q->pci);
    if (nodes < 2 || out->node < 0 || !c->known ||
        !read_near(c->root, c->q->pci, out->node, &near))
        return;
    out->knows_near = true;
    out->near = near;
    fdl_cpu_set_intersect(&out->near, &c->allowed);
}

static void choose_auto(const struct choice *c, uint32_t nodes)
{
    struct fdl_affinity *out = c->out;
    if (!c->q->pci)
        say(out, "no GPU is known to be near to");
    else if (nodes < 2)
        say(out, nodes ? "one NUMA node"
                       : "the system does not list its NUMA nodes");
    else if (!out->knows_near)
        say(out, "the system does not say which CPUs are near the GPU (%s)",
            c->q->pci);
    else
        choose_near(c, nodes);
}

static int32_t choose_listed(const struct choice *c)
{
    struct fdl_cpu_set listed;
    char allowed[64];
    if (!fdl_cpu_set_parse(&listed, c->q->asked))
        return fdl_fail(FEEDLINE_EINVAL,
                        "affinity='%s' is neither auto, none nor a list of "
                        "CPUs such as 0-15,32-47",
                        c->q->asked);
    if (c->known) {
        fdl_cpu_set_print(&c->allowed, allowed, sizeof(allowed));
        fdl_cpu_set_intersect(&listed, &c->allowed);
        if (fdl_cpu_set_count(&listed) == 0)
            return fdl_fail(FEEDLINE_ERANGE,
                            "affinity=%s: this process may use none of these "
                            "CPUs; its affinity and cpuset leave %s",
                            c->q->asked, allowed);
    }
    bind_to(c, &listed, 1);
    say(c->out, "option affinity");
    return FEEDLINE_OK;
}

int32_t fdl_affinity_choose(const struct fdl_affinity_question *q,
                            const char *root, struct fdl_affinity *out)
{
    struct fdl_affinity found = {.node = -1};
    struct choice c = {.q = q, .root = root, .out = &found};
    int32_t status = FEEDLINE_OK;
    fdl_machine_read_grant(&c.grant, NULL, root);
    c.known = fdl_machine_read_cpus(&c.allowed, root);
    uint32_t nodes = count_nodes(root);
    find_near(&c, nodes);
    stay_free(&c);
    if (strcmp(q->asked, "none") == 0)
        say(&found, "option affinity");
    else if (strcmp(q->asked, "auto") == 0)
        choose_auto(&c, nodes);
    else
        status = choose_listed(&c);
    if (status >= 0)
        *out = found;
    return status;
}
