/* SPDX-License-Identifier: Apache-2.0 */
/* The doctor's facts that stand in files, below a root as in machine.h. */
#include "base/compiler.h"
#include "profiler/doctor/doctor_facts.h"
#include "profiler/system/affinity.h"
#include "profiler/system/cgroup.h"
#include "profiler/system/sysfile.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first word of a file, "" if there is none. */
static void read_word(const char *root, const char *path, char *out,
                      size_t capacity)
{
    char *text = fdl_sysfile_read(root, path);
    size_t length = text ? strcspn(text, " \t\n") : 0;
    length = FDL_MIN(length, capacity - 1);
    if (text)
        memcpy(out, text, length);
    out[length] = '\0';
    free(text);
}

static bool read_number(const char *root, const char *path, uint64_t *out)
{
    char *text = fdl_sysfile_read(root, path);
    const char *p = text;
    bool known = text && fdl_sysfile_number(&p, out);
    free(text);
    return known;
}

static void read_cpu(const char *root, struct fdl_doctor_facts *f)
{
    static const char cpufreq[] = "/sys/devices/system/cpu/cpu0/cpufreq";
    char path[96];
    struct fdl_cpu_set nodes;
    snprintf(path, sizeof(path), "%s/scaling_governor", cpufreq);
    read_word(root, path, f->governor, sizeof(f->governor));
    snprintf(path, sizeof(path), "%s/scaling_driver", cpufreq);
    read_word(root, path, f->scaling_driver, sizeof(f->scaling_driver));
    read_word(root,
              "/sys/devices/system/clocksource/clocksource0/"
              "current_clocksource",
              f->clocksource, sizeof(f->clocksource));
    char *text = fdl_sysfile_read(root, "/sys/devices/system/node/online");
    f->numa_nodes =
        text && fdl_cpu_set_parse(&nodes, text) ? fdl_cpu_set_count(&nodes) : 0;
    free(text);
}

/* ---- Memory ------------------------------------------------------------- */

static uint64_t meminfo(const char *text, const char *key)
{
    char value[64] = "";
    if (!text || !fdl_sysfile_field(text, key, value, sizeof(value)))
        return 0;
    uint64_t kib = strtoull(value, NULL, 10);
    return kib > UINT64_MAX / 1024 ? UINT64_MAX : kib * 1024;
}

/* Names of the same things in the two versions. */
struct memory_names {
    const char *controller, *used, *reclaimable;
};

static const struct memory_names memory_names[] = {
    {"memory", "memory.usage_in_bytes", "total_inactive_file"},
    {FDL_CGROUP_UNIFIED, "memory.current", "inactive_file"},
};

/* What a group holds, less the cached files that the kernel gives up first. */
static bool read_group(const char *root, const char *folder,
                       const struct memory_names *names, uint64_t *used)
{
    char path[4096];
    uint64_t all;
    uint64_t files = 0;
    snprintf(path, sizeof(path), "%s/%s", folder, names->used);
    if (!read_number(root, path, &all))
        return false;
    snprintf(path, sizeof(path), "%s/memory.stat", folder);
    char *text = fdl_sysfile_read(root, path);
    if (text)
        fdl_sysfile_count(text, names->reclaimable, &files);
    free(text);
    *used = all - FDL_MIN(files, all);
    return true;
}

static void narrow_by_groups(const char *root, const struct memory_names *names,
                             struct fdl_doctor_facts *f)
{
    size_t point = 0;
    char *folder = fdl_cgroup_folder(root, names->controller, &point);
    bool more = folder != NULL;
    while (more) {
        struct fdl_cgroup_limits limits;
        uint64_t used;
        fdl_cgroup_read_folder(&limits, root, names->controller, folder);
        if (limits.memory_bytes != UINT64_MAX &&
            read_group(root, folder, names, &used)) {
            uint64_t left =
                limits.memory_bytes - FDL_MIN(used, limits.memory_bytes);
            if (!f->has_memory || left < f->memory_free_bytes) {
                f->memory_free_bytes = left;
                f->memory_used_bytes = used;
            }
            f->has_memory = true;
        }
        more = fdl_cgroup_up(folder, point);
    }
    free(folder);
}

/* "some avg10=1.25 avg60=...", percent. */
static void read_pressure(const char *root, struct fdl_doctor_facts *f)
{
    char *text = fdl_sysfile_read(root, "/proc/pressure/memory");
    static const char key[] = "some avg10=";
    f->has_memory_pressure = false;
    if (text && strncmp(text, key, strlen(key)) == 0) {
        char *end;
        double percent = strtod(text + strlen(key), &end);
        f->has_memory_pressure =
            end > text + strlen(key) && percent >= 0 && percent <= 100;
        f->memory_pressure = f->has_memory_pressure ? percent / 100 : 0;
    }
    free(text);
}

/* "always [madvise] never" */
static void read_huge_pages(const char *root, struct fdl_doctor_facts *f)
{
    char *text =
        fdl_sysfile_read(root, "/sys/kernel/mm/transparent_hugepage/enabled");
    const char *from = text ? strchr(text, '[') : NULL;
    const char *to = from ? strchr(from, ']') : NULL;
    f->huge_pages[0] = '\0';
    if (to && to - from <= (int)sizeof(f->huge_pages))
        snprintf(f->huge_pages, sizeof(f->huge_pages), "%.*s",
                 (int)(to - from - 1), from + 1);
    free(text);
}

static void read_memory(const char *root, struct fdl_doctor_facts *f)
{
    uint64_t mode;
    char *text = fdl_sysfile_read(root, "/proc/meminfo");
    uint64_t available = meminfo(text, "MemAvailable");
    f->has_memory = available > 0;
    f->memory_free_bytes = available;
    f->memory_used_bytes =
        f->machine.memory_bytes - FDL_MIN(available, f->machine.memory_bytes);
    f->swap_bytes = meminfo(text, "SwapTotal");
    f->swap_used_bytes =
        f->swap_bytes - FDL_MIN(meminfo(text, "SwapFree"), f->swap_bytes);
    free(text);
    for (size_t i = 0; i < FDL_COUNT_OF(memory_names); i++)
        narrow_by_groups(root, &memory_names[i], f);
    read_pressure(root, f);
    read_huge_pages(root, f);
    f->overcommit = -1;
    if (read_number(root, "/proc/sys/vm/overcommit_memory", &mode) && mode <= 2)
        f->overcommit = (int32_t)mode;
}

/* ---- Threads and disks -------------------------------------------------- */

/* The group that has the fewest threads left. */
static void read_threads(const char *root, const char *controller,
                         struct fdl_doctor_facts *f)
{
    size_t point = 0;
    char *folder = fdl_cgroup_folder(root, controller, &point);
    bool more = folder != NULL;
    while (more) {
        char path[4096];
        uint64_t limit;
        uint64_t now;
        snprintf(path, sizeof(path), "%s/pids.max", folder);
        bool limited = read_number(root, path, &limit) && limit > 0;
        snprintf(path, sizeof(path), "%s/pids.current", folder);
        if (limited && read_number(root, path, &now)) {
            now = FDL_MIN(now, limit);
            if (f->threads_limit == 0 ||
                limit - now < f->threads_limit - f->threads) {
                f->threads_limit = limit;
                f->threads = now;
            }
        }
        more = fdl_cgroup_up(folder, point);
    }
    free(folder);
}

/* Not a disk, or one that never holds a data set. */
static bool is_no_disk(const char *name)
{
    static const char *const prefixes[] = {".",  "loop", "ram", "zram",
                                           "sr", "fd",   "nbd"};
    for (size_t i = 0; i < FDL_COUNT_OF(prefixes); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static void read_disks(const char *root, struct fdl_doctor_facts *f)
{
    char path[4096];
    f->has_read_ahead = false;
    f->read_ahead_bytes = 0;
    snprintf(path, sizeof(path), "%s/sys/block", root);
    DIR *folder = opendir(path);
    if (!folder)
        return;
    for (struct dirent *e; (e = readdir(folder));) {
        uint64_t kib;
        snprintf(path, sizeof(path), "/sys/block/%s/queue/read_ahead_kb",
                 e->d_name);
        if (is_no_disk(e->d_name) || !read_number(root, path, &kib))
            continue;
        uint64_t bytes = FDL_MIN(kib, UINT64_MAX / 1024) * 1024;
        if (!f->has_read_ahead || bytes < f->read_ahead_bytes)
            f->read_ahead_bytes = bytes;
        f->has_read_ahead = true;
    }
    closedir(folder);
}

void fdl_doctor_read(const char *root, struct fdl_doctor_facts *f)
{
    fdl_machine_read(&f->machine, root);
    read_cpu(root, f);
    read_memory(root, f);
    f->threads = f->threads_limit = 0;
    read_threads(root, "pids", f);
    read_threads(root, FDL_CGROUP_UNIFIED, f);
    read_disks(root, f);
}

uint32_t fdl_doctor_cpus_on_node(const char *root, int32_t node)
{
    struct fdl_cpu_set near;
    fdl_affinity_of_node(root, node, &near);
    return fdl_cpu_set_count(&near);
}
