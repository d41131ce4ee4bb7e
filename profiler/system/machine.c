/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of workers is taken from here, so each fact is the one that binds:
 * a container with 2 of 64 cores has 2, whichever of affinity, cpuset or quota
 * says so. A quota of 3.5 cores counts as 4 usable ones, for the fourth worker
 * still adds half a core; the kernel holds it back where it must.
 */
#include "profiler/system/machine.h"

#include "base/compiler.h"
#include "profiler/system/cgroup.h"
#include "profiler/system/sysfile.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct fdl_machine machine;

/* The first field of the file, "" if there is none. */
static void read_field(const char *root, const char *path, const char *key,
                       char *value, uint64_t capacity)
{
    char *text = fdl_sysfile_read(root, path);
    value[0] = '\0';
    if (text)
        fdl_sysfile_field(text, key, value, capacity);
    free(text);
}

static uint32_t count_processors(const char *cpuinfo)
{
    uint32_t n = 0;
    for (const char *p = cpuinfo; p; p = strchr(p, '\n')) {
        p += *p == '\n';
        n += strncmp(p, "processor", strlen("processor")) == 0;
    }
    return n;
}

static bool read_online(const char *root, struct fdl_cpu_set *out)
{
    char *text = fdl_sysfile_read(root, "/sys/devices/system/cpu/online");
    bool known = text && fdl_cpu_set_parse(out, text);
    free(text);
    return known;
}

/* Narrowed, unless nothing would be left: the two are of different views. */
static void narrow(struct fdl_cpu_set *set, const struct fdl_cpu_set *by)
{
    struct fdl_cpu_set both = *set;
    fdl_cpu_set_intersect(&both, by);
    if (fdl_cpu_set_count(&both) > 0)
        *set = both;
}

static bool read_affinity(const char *root, struct fdl_cpu_set *out)
{
    char *text = fdl_sysfile_read(root, "/proc/self/status");
    char *list = text ? malloc(strlen(text) + 1) : NULL;
    bool known =
        list &&
        fdl_sysfile_field(text, "Cpus_allowed_list", list, strlen(text) + 1) &&
        fdl_cpu_set_parse(out, list);
    free(list);
    free(text);
    return known;
}

/* Affinity, narrowed by the cpuset; the kernel does that itself, save where the
 * file shows another process's view. The affinity of a process that nobody
 * bound has CPUs, too, that could be plugged in but are not there. */
static bool read_allowed(const char *root,
                         const struct fdl_cgroup_limits *cgroup,
                         struct fdl_cpu_set *out)
{
    struct fdl_cpu_set online;
    bool known = read_affinity(root, out);
    if (known && cgroup->has_cpus)
        narrow(out, &cgroup->cpus);
    else if (cgroup->has_cpus)
        *out = cgroup->cpus;
    known |= cgroup->has_cpus;
    if (known && read_online(root, &online))
        narrow(out, &online);
    return known;
}

bool fdl_machine_read_cpus(struct fdl_cpu_set *out, const char *root)
{
    struct fdl_cgroup_limits cgroup;
    fdl_cgroup_read(&cgroup, root);
    return read_allowed(root, &cgroup, out);
}

/* 0: not known. */
static uint32_t count_online(const char *root, const char *cpuinfo)
{
    struct fdl_cpu_set online;
    if (read_online(root, &online))
        return fdl_cpu_set_count(&online);
    return cpuinfo ? count_processors(cpuinfo) : 0;
}

uint32_t fdl_machine_usable(uint32_t cpus, double quota)
{
    if (quota <= 0 || quota >= cpus)
        return cpus;
    uint32_t whole = (uint32_t)quota;
    return whole < quota ? whole + 1 : FDL_MAX(whole, 1u);
}

static void read_cpu_model(const char *cpuinfo, char *out, uint64_t capacity)
{
    static const char *const keys[] = {"model name", "Model", "Hardware", "cpu",
                                       "uarch"};
    char implementer[32];
    char part[32];
    for (size_t i = 0; i < FDL_COUNT_OF(keys); i++)
        if (fdl_sysfile_field(cpuinfo, keys[i], out, capacity) && out[0])
            return;
    if (fdl_sysfile_field(cpuinfo, "CPU implementer", implementer,
                          sizeof(implementer)) &&
        fdl_sysfile_field(cpuinfo, "CPU part", part, sizeof(part)))
        snprintf(out, capacity, "ARM implementer %s part %s", implementer,
                 part);
}

void fdl_machine_read_grant(struct fdl_machine_grant *g,
                            const struct fdl_cpu_set *within, const char *root)
{
    struct fdl_cgroup_limits cgroup;
    struct fdl_cpu_set allowed;
    uint32_t n;
    fdl_cgroup_read(&cgroup, root);
    if (read_allowed(root, &cgroup, &allowed)) {
        if (within)
            narrow(&allowed, within);
        n = fdl_cpu_set_count(&allowed);
    } else {
        n = within ? fdl_cpu_set_count(within) : count_online(root, NULL);
    }
    g->cpus_allowed = FDL_MAX(n, 1u);
    g->cpu_quota = cgroup.cpu_quota;
}

void fdl_machine_read(struct fdl_machine *m, const char *root)
{
    struct fdl_cgroup_limits cgroup;
    struct fdl_cpu_set cpus;
    char ram[64];
    memset(m, 0, sizeof(*m));
    fdl_cgroup_read(&cgroup, root);

    char *cpuinfo = fdl_sysfile_read(root, "/proc/cpuinfo");
    uint32_t online = count_online(root, cpuinfo);
    uint32_t allowed =
        read_allowed(root, &cgroup, &cpus) ? fdl_cpu_set_count(&cpus) : 0;
    m->cpus_online = FDL_MAX(FDL_MAX(online, allowed), 1u);
    m->cpus_allowed = allowed > 0 ? allowed : m->cpus_online;
    m->cpu_quota = cgroup.cpu_quota;
    m->cpus_usable = fdl_machine_usable(m->cpus_allowed, m->cpu_quota);
    if (cpuinfo)
        read_cpu_model(cpuinfo, m->cpu_model, sizeof(m->cpu_model));
    free(cpuinfo);

    read_field(root, "/proc/meminfo", "MemTotal", ram, sizeof(ram));
    m->memory_bytes = strtoull(ram, NULL, 10) * 1024;
    m->memory_limit_bytes = m->memory_bytes;
    if (m->memory_bytes == 0 || cgroup.memory_bytes < m->memory_bytes)
        m->memory_limit_bytes = cgroup.memory_bytes;
    if (m->memory_limit_bytes == UINT64_MAX)
        m->memory_limit_bytes = 0;

    char *kernel = fdl_sysfile_read(root, "/proc/sys/kernel/osrelease");
    if (kernel)
        snprintf(m->kernel, sizeof(m->kernel), "%.*s",
                 (int)strcspn(kernel, "\n"), kernel);
    free(kernel);
}

static void read_once(void)
{
    fdl_machine_read(&machine, "");
}

const struct fdl_machine *fdl_machine_get(void)
{
    pthread_once(&once, read_once);
    return &machine;
}

void fdl_machine_json(const struct fdl_machine *m, const char *key,
                      struct fdl_json *j)
{
    fdl_json_begin_object(j, key);
    fdl_json_string(j, "kernel", m->kernel);
    fdl_json_string(j, "cpu_model", m->cpu_model);
    fdl_json_int(j, "cpus_online", m->cpus_online);
    fdl_json_int(j, "cpus_allowed", m->cpus_allowed);
    fdl_json_int(j, "cpus_usable", m->cpus_usable);
    if (m->cpu_quota > 0)
        fdl_json_double(j, "cpu_quota", m->cpu_quota);
    else
        fdl_json_null(j, "cpu_quota");
    fdl_json_int(j, "memory_bytes", (int64_t)m->memory_bytes);
    fdl_json_int(j, "memory_limit_bytes", (int64_t)m->memory_limit_bytes);
    fdl_json_end_object(j);
}
