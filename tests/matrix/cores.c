/* SPDX-License-Identifier: Apache-2.0 */
/* Cores: affinity, precedence, threads that burn, quotas; see cores.h. */
#include "cores.h"

#include "nap.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define PERIOD_US 100000

void cores_confine(void)
{
    cpu_set_t set, one;
    size_t cpu = 0;
    int skip;
    CPU_ZERO(&set);
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return;
    skip = (int)(getpid() % CPU_COUNT(&set));
    while (cpu < CPU_SETSIZE - 1 && (!CPU_ISSET(cpu, &set) || skip-- > 0))
        cpu++;
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0) {
        perror("sched_setaffinity");
        exit(1);
    }
}

static bool put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    bool good = f && fputs(text, f) >= 0;
    if (f && fclose(f) != 0)
        good = false;
    return good;
}

/* Where the kernel groups processes by session (sched_autogroup), a nice value
 * only counts within the session. */
void cores_precede(void)
{
    (void)setsid();
    (void)put("/proc/self/autogroup", "-20");
    (void)!setpriority(PRIO_PROCESS, 0, -20);
}

void cores_prevail(void)
{
    const struct sched_param lowest = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_RR, &lowest) != 0)
        cores_precede();
}

static void *burn_main(void *arg)
{
    pthread_setname_np(pthread_self(), arg);
    for (;;)
        burn(10 * MS);
    return NULL;
}

void cores_burn(const char *name, uint32_t n)
{
    static char copy[16];
    pthread_t thread;
    snprintf(copy, sizeof(copy), "%s", name);
    for (uint32_t i = 0; i < n; i++) {
        int err = pthread_create(&thread, NULL, burn_main, copy);
        if (err) {
            fprintf(stderr, "pthread_create: %s\n", strerror(err));
            exit(1);
        }
        pthread_detach(thread);
    }
}

void cores_neighbours(uint32_t n)
{
    pid_t parent = getpid();
    for (uint32_t i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0) {
            perror("fork");
            exit(1);
        }
        if (pid > 0)
            continue;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent)
            burn(10 * MS);
        _exit(0);
    }
}

/* ---- Quota -------------------------------------------------------------- */

/* Where a group is made: the first that works. */
static const struct {
    const char *root, *quota_file, *weight_file, *most;
    bool v2;
} trees[] = {
    {"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "cpu.shares", "262144", false},
    {"/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_quota_us", "cpu.shares", "262144",
     false},
    {"/sys/fs/cgroup", "cpu.max", "cpu.weight", "10000", true}};

#define TREES (sizeof(trees) / sizeof(trees[0]))

static void group_path(char *path, size_t size, size_t tree, int32_t pid,
                       const char *file)
{
    snprintf(path, size, "%s/feedline-matrix-%d%s%s", trees[tree].root, pid,
             *file ? "/" : "", file);
}

static bool join_group(size_t tree, double part)
{
    char path[128], text[64];
    int32_t pid = (int32_t)getpid();
    int quota = (int)(part * PERIOD_US);
    group_path(path, sizeof(path), tree, pid, "");
    if (mkdir(path, 0700) != 0)
        return false;
    group_path(path, sizeof(path), tree, pid, trees[tree].quota_file);
    snprintf(text, sizeof(text), trees[tree].v2 ? "%d %d" : "%d", quota,
             PERIOD_US);
    if (!put(path, text))
        return false;
    group_path(path, sizeof(path), tree, pid, trees[tree].weight_file);
    (void)put(path, trees[tree].most);
    group_path(path, sizeof(path), tree, pid, "cgroup.procs");
    snprintf(text, sizeof(text), "%d", pid);
    return put(path, text);
}

const char *cores_quota(double part)
{
    for (size_t i = 0; i < TREES; i++)
        if (join_group(i, part))
            return NULL;
    return "no control group may be made here";
}

void cores_forget(int32_t pid)
{
    char path[128];
    for (size_t i = 0; i < TREES; i++) {
        group_path(path, sizeof(path), i, pid, "");
        rmdir(path);
    }
}
