/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file says it is found out once, when the reader is opened; after that
 * a reading is one pread for each file, into a buffer on the stack.
 *
 *   throttling   cpu.stat of the group whose quota is the smallest on the way
 *                up, for a parent that is out of time holds back its children
 *                and only its own file says so; with no quota, of the nearest
 *   memory       the same with the memory limit; without a group, our RSS
 *   pressure     the group's *.pressure where version 2 has one, else
 *                /proc/pressure: the machine's
 *   host         the first line of /proc/stat
 *
 * Counters never fall: a file that cannot be read any more (the process was
 * moved to another group), or idle time that the kernel corrected, leaves the
 * last value standing, so that no subtraction wraps round.
 */
#include "profiler/system/signals.h"

#include "base/compiler.h"
#include "base/memory.h"
#include "base/status.h"
#include "profiler/system/cgroup.h"
#include "profiler/system/signals_own.h"
#include "profiler/system/sysfile.h"

#include <ctype.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What is wanted stands at the beginning of each file; /proc/stat of a large
 * machine is the only one that is longer. */
#define TEXT_BYTES 2048

static const char *const pressure_names[FDL_N_PRESSURE] = {"cpu", "io",
                                                           "memory"};

/* Which of the groups on the way up is asked. */
enum choice { NEAREST, SMALLEST_QUOTA, SMALLEST_MEMORY };

/* ---- Finding the files -------------------------------------------------- */

static double limit_of(enum choice choice, const struct fdl_cgroup_limits *l)
{
    if (choice == SMALLEST_QUOTA && l->cpu_quota > 0)
        return l->cpu_quota;
    if (choice == SMALLEST_MEMORY && l->memory_bytes != UINT64_MAX)
        return (double)l->memory_bytes;
    return DBL_MAX;
}

/* The file `name` of a group, if it can be read and holds `word`. */
static int open_group(const char *root, const char *folder, const char *name,
                      const char *word)
{
    char text[TEXT_BYTES];
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return -1;
    int fd = fdl_sysfile_open(root, path);
    free(path);
    if (fd >= 0 && fdl_sysfile_again(fd, text, sizeof(text)) &&
        strstr(text, word))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int find_group_file(const char *root, const char *controller,
                           const char *name, const char *word,
                           enum choice choice)
{
    size_t point = 0;
    char *folder = fdl_cgroup_folder(root, controller, &point);
    double smallest = DBL_MAX;
    int found = -1;
    bool more = folder != NULL;
    while (more) {
        struct fdl_cgroup_limits limits;
        fdl_cgroup_read_folder(&limits, root, controller, folder);
        double limit = limit_of(choice, &limits);
        int fd = -1;
        if (found < 0 || limit < smallest)
            fd = open_group(root, folder, name, word);
        if (fd >= 0) {
            if (found >= 0)
                close(found);
            found = fd;
            smallest = limit;
        }
        more = fdl_cgroup_up(folder, point);
    }
    free(folder);
    return found;
}

static void find_throttle(struct fdl_signals *s)
{
    s->throttle = find_group_file(s->root, "cpu", "cpu.stat", "throttled_time",
                                  SMALLEST_QUOTA);
    s->throttle_in_ns = s->throttle >= 0;
    if (s->throttle < 0)
        s->throttle = find_group_file(s->root, FDL_CGROUP_UNIFIED, "cpu.stat",
                                      "throttled_usec", SMALLEST_QUOTA);
}

static void find_memory(struct fdl_signals *s)
{
    struct fdl_cgroup_limits limits;
    fdl_cgroup_read(&limits, s->root);
    if (limits.memory_bytes != UINT64_MAX)
        s->memory_limit_bytes = limits.memory_bytes;
    s->memory = find_group_file(s->root, "memory", "memory.usage_in_bytes", "",
                                SMALLEST_MEMORY);
    if (s->memory < 0)
        s->memory = find_group_file(s->root, FDL_CGROUP_UNIFIED,
                                    "memory.current", "", SMALLEST_MEMORY);
    s->memory_in_pages = s->memory < 0;
    if (s->memory < 0)
        s->memory = fdl_sysfile_open(s->root, "/proc/self/statm");
}

static void find_pressure(struct fdl_signals *s)
{
    for (size_t i = 0; i < FDL_N_PRESSURE; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%s.pressure", pressure_names[i]);
        s->pressure[i] =
            find_group_file(s->root, FDL_CGROUP_UNIFIED, name, "some", NEAREST);
        snprintf(name, sizeof(name), "/proc/pressure/%s", pressure_names[i]);
        if (s->pressure[i] < 0)
            s->pressure[i] = fdl_sysfile_open(s->root, name);
    }
}

/* ---- Reading them ------------------------------------------------------- */

uint64_t fdl_signals_scale(uint64_t value, uint64_t unit)
{
    return value > UINT64_MAX / unit ? UINT64_MAX : value * unit;
}

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void grow(uint64_t *counter, uint64_t value)
{
    *counter = FDL_MAX(*counter, value);
}

static void read_throttle(struct fdl_signals *s)
{
    char text[TEXT_BYTES];
    uint64_t time;
    uint64_t count;
    if (!fdl_sysfile_again(s->throttle, text, sizeof(text)) ||
        !fdl_sysfile_count(
            text, s->throttle_in_ns ? "throttled_time" : "throttled_usec",
            &time))
        return;
    s->last.has_throttle = true;
    grow(&s->last.throttled_ns,
         fdl_signals_scale(time, s->throttle_in_ns ? 1 : 1000));
    if (fdl_sysfile_count(text, "nr_periods", &count))
        grow(&s->last.periods, count);
    if (fdl_sysfile_count(text, "nr_throttled", &count))
        grow(&s->last.throttled_periods, count);
}

static void read_memory(struct fdl_signals *s)
{
    char text[TEXT_BYTES];
    const char *p = text;
    uint64_t value;
    if (!fdl_sysfile_again(s->memory, text, sizeof(text)) ||
        !fdl_sysfile_number(&p, &value))
        return;
    if (s->memory_in_pages && !fdl_sysfile_number(&p, &value))
        return;
    s->last.has_memory = true;
    s->last.memory_bytes =
        fdl_signals_scale(value, s->memory_in_pages ? s->page_bytes : 1);
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123", in microseconds. */
static bool read_pressure(int fd, uint64_t *ns)
{
    char text[TEXT_BYTES];
    uint64_t value;
    if (!fdl_sysfile_again(fd, text, sizeof(text)) ||
        strncmp(text, "some ", 5) != 0)
        return false;
    text[strcspn(text, "\n") + 1] = '\0';
    const char *p = strstr(text, " total=");
    if (!p)
        return false;
    p += strlen(" total=");
    if (!isdigit((unsigned char)*p) || !fdl_sysfile_number(&p, &value))
        return false;
    grow(ns, fdl_signals_scale(value, 1000));
    return true;
}

static void read_pressures(struct fdl_signals *s)
{
    bool any =
        read_pressure(s->pressure[FDL_PRESSURE_CPU], &s->last.pressure_cpu_ns);
    any |= read_pressure(s->pressure[FDL_PRESSURE_IO], &s->last.pressure_io_ns);
    any |= read_pressure(s->pressure[FDL_PRESSURE_MEMORY],
                         &s->last.pressure_memory_ns);
    s->last.has_pressure |= any;
}

/* "cpu user nice system idle iowait irq softirq steal guest guest_nice", in
 * ticks; guests are in user and nice already. */
static void read_host(struct fdl_signals *s)
{
    enum { IDLE = 3, IOWAIT, STEAL = 7 };
    char text[TEXT_BYTES];
    const char *p = text + 4;
    uint64_t busy = 0;
    uint64_t total = 0;
    if (!fdl_sysfile_again(s->host, text, sizeof(text)) ||
        strncmp(text, "cpu ", 4) != 0)
        return;
    for (int i = 0; i <= STEAL; i++) {
        uint64_t ticks;
        if (!fdl_sysfile_number(&p, &ticks)) {
            if (i <= IDLE)
                return;
            break; /* an old kernel: there are no more */
        }
        total = add(total, ticks);
        if (i != IDLE && i != IOWAIT)
            busy = add(busy, ticks);
    }
    s->last.has_host = true;
    grow(&s->last.host_busy_ns, fdl_signals_scale(busy, s->tick_ns));
    grow(&s->last.host_total_ns, fdl_signals_scale(total, s->tick_ns));
}

/* "0.20 0.18 0.12 3/80 11206": 3 want to run, we among them. */
static void read_running(struct fdl_signals *s)
{
    char text[TEXT_BYTES];
    uint64_t running;
    if (!fdl_sysfile_again(s->load, text, sizeof(text)))
        return;
    const char *p = text;
    for (int i = 0; i < 3 && p; i++) {
        p = strchr(p, ' ');
        p = p ? p + 1 : NULL;
    }
    if (p && fdl_sysfile_number(&p, &running) && *p == '/')
        s->last.running = (uint32_t)FDL_MIN(running, UINT32_MAX);
}

/* "12 (name) S 1 ..." where the name may hold blanks and brackets; utime and
 * stime are the 12th and 13th behind it. */
bool fdl_signals_stat_ticks(const char *text, uint64_t *ticks)
{
    const char *p = strrchr(text, ')');
    uint64_t user;
    uint64_t system;
    for (int i = 0; i < 12 && p; i++) {
        p = strchr(p, ' ');
        p = p ? p + 1 : NULL;
    }
    if (!p || !fdl_sysfile_number(&p, &user) ||
        !fdl_sysfile_number(&p, &system))
        return false;
    *ticks = add(user, system);
    return true;
}

static void read_process(struct fdl_signals *s)
{
    char text[TEXT_BYTES];
    struct timespec t;
    uint64_t ticks;
    if (s->real && clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0)
        grow(&s->last.process_cpu_ns,
             (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
    else if (fdl_sysfile_again(s->stat, text, sizeof(text)) &&
             fdl_signals_stat_ticks(text, &ticks))
        grow(&s->last.process_cpu_ns, fdl_signals_scale(ticks, s->tick_ns));
}

/* ---- Public ------------------------------------------------------------- */

int32_t fdl_signals_open(const char *root, struct fdl_signals **out)
{
    struct fdl_signals *s = calloc(1, sizeof(*s));
    char *copy = fdl_strdup(root);
    *out = NULL;
    if (!s || !copy) {
        free(s);
        free(copy);
        return fdl_fail_memory(sizeof(*s), "the reader of signals");
    }
    long hz = sysconf(_SC_CLK_TCK);
    long page = sysconf(_SC_PAGESIZE);
    s->root = copy;
    s->real = *root == '\0';
    s->tick_ns = 1000000000u / (uint64_t)(hz > 0 ? hz : 100);
    s->page_bytes = (uint64_t)(page > 0 ? page : 4096);
    find_throttle(s);
    find_memory(s);
    find_pressure(s);
    s->host = fdl_sysfile_open(root, "/proc/stat");
    s->load = fdl_sysfile_open(root, "/proc/loadavg");
    s->stat = s->real ? -1 : fdl_sysfile_open(root, "/proc/self/stat");
    *out = s;
    return FEEDLINE_OK;
}

void fdl_signals_close(struct fdl_signals *s)
{
    if (!s)
        return;
    int files[] = {s->throttle, s->memory, s->host, s->load, s->stat};
    for (size_t i = 0; i < FDL_COUNT_OF(files); i++)
        if (files[i] >= 0)
            close(files[i]);
    for (size_t i = 0; i < FDL_N_PRESSURE; i++)
        if (s->pressure[i] >= 0)
            close(s->pressure[i]);
    free(s->root);
    free(s);
}

void fdl_signals_read(struct fdl_signals *s, struct fdl_system_signals *out)
{
    read_throttle(s);
    read_memory(s);
    read_pressures(s);
    read_host(s);
    read_running(s);
    read_process(s);
    s->last.memory_limit_bytes = s->memory_limit_bytes;
    *out = s->last;
}
