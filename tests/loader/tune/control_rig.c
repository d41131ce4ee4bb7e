/* SPDX-License-Identifier: Apache-2.0 */
/* Loaders for tests of the tuner; see control_rig.h. */
#include "control_rig.h"

#include "fair_lock.h"
#include "loader/loader.h"
#include "loader/stream/engine_own.h"
#include "loader/tune/control_own.h"

#include <feedline/custom_op.h>

#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int32_t sleep_a_while(const struct feedline_op_call *call)
{
    const int64_t *ns = call->user;
    struct timespec t = {.tv_sec = (time_t)(*ns / 1000000000),
                         .tv_nsec = (long)(*ns % 1000000000)};
    nanosleep(&t, NULL);
    return FEEDLINE_OK;
}

static int32_t sleep_in_turn(const struct feedline_op_call *call)
{
    static struct fair_lock lock = FAIR_LOCK;
    struct timespec now;
    fair_lock_take(&lock);
    clock_gettime(CLOCK_MONOTONIC, &now);
    feedline_op_waited(call, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec -
                                 call->begin_ns);
    int32_t status = sleep_a_while(call);
    fair_lock_give(&lock);
    return status;
}

static int32_t sleep_under_own_mutex(const struct feedline_op_call *call)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    int32_t status = sleep_a_while(call);
    pthread_mutex_unlock(&lock);
    return status;
}

static feedline_loader *loader_of(
    feedline_dataset *ds, int64_t sleep_ns, const char *options,
    int32_t (*run)(const struct feedline_op_call *call))
{
    static int64_t ns; /* of all of one test */
    struct feedline_op_def def = {
        .struct_size = sizeof(def),
        .name = "sleep_a_while",
        .run = run,
        .user = &ns,
    };
    ns = sleep_ns;
    return fixture_with(ds, &def,
                        "random_resized_crop width=32 height=32;sleep_a_while",
                        "dtype=u8 %s", options);
}

feedline_loader *rig_sleepy(feedline_dataset *ds, int64_t sleep_ns,
                            const char *options)
{
    return loader_of(ds, sleep_ns, options, sleep_a_while);
}

feedline_loader *rig_locked(feedline_dataset *ds, int64_t sleep_ns,
                            const char *options)
{
    return loader_of(ds, sleep_ns, options, sleep_in_turn);
}

feedline_loader *rig_mutex(feedline_dataset *ds, int64_t sleep_ns,
                           const char *options)
{
    return loader_of(ds, sleep_ns, options, sleep_under_own_mutex);
}

struct fdl_tuner_limits rig_limits(feedline_loader *l)
{
    fdl_lock(&l->engine->run_lock);
    struct fdl_tuner_limits limits = l->control->limits;
    fdl_unlock(&l->engine->run_lock);
    return limits;
}

void rig_put(const struct fixture *f, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/machine%s", f->folder, name);
    for (char *p = path + strlen(f->folder) + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        mkdir(path, 0700);
        *p = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

void rig_machine(const struct fixture *f, const char *cpu_max)
{
    rig_put(f, "/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-7\n");
    rig_put(f, "/proc/self/cgroup", "0::/\n");
    rig_put(f, "/proc/self/mountinfo",
            "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    rig_put(f, "/sys/fs/cgroup/cpu.max", cpu_max);
}

struct feedline_tuner_info rig_info(const feedline_loader *l)
{
    struct feedline_tuner_info info = {.struct_size = sizeof(info)};
    assert_ok(feedline_loader_get_tuner(l, &info));
    return info;
}

static bool fits(const char *wanted, const char *is)
{
    return !wanted || strcmp(wanted, is) == 0;
}

struct feedline_decision rig_await(feedline_loader *l, const char *knob,
                                   const char *outcome)
{
    struct feedline_decision d = {.struct_size = sizeof(d)};
    for (;;) {
        for (uint32_t i = 0;
             feedline_loader_get_decision(l, i, &d) == FEEDLINE_OK; i++)
            if (fits(knob, d.knob) && fits(outcome, d.outcome) &&
                strcmp(d.reason, "program") != 0)
                return d;
        fixture_pass(l, 1);
    }
}

uint32_t rig_threads(const char *name)
{
    DIR *folder = opendir("/proc/self/task");
    uint32_t n = 0;
    assert_non_null(folder);
    for (struct dirent *e; (e = readdir(folder));) {
        char path[300], comm[32] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
        FILE *f = fopen(path, "r");
        if (!f)
            continue;
        if (fgets(comm, sizeof(comm), f)) {
            comm[strcspn(comm, "\n")] = '\0';
            n += strcmp(comm, name) == 0;
        }
        fclose(f);
    }
    closedir(folder);
    return n;
}

void rig_await_threads(const char *name, uint32_t n)
{
    while (rig_threads(name) != n)
        usleep(500);
}

char *rig_text(int32_t (*get)(const feedline_loader *, char *, uint64_t,
                              uint64_t *),
               const feedline_loader *l)
{
    uint64_t needed = 0;
    assert_ok(get(l, NULL, 0, &needed));
    uint64_t room = 2 * needed + 4096; /* it may have more to say by now */
    char *text = malloc(room);
    assert_non_null(text);
    assert_ok(get(l, text, room, &needed));
    return text;
}
