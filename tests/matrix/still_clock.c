/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock that stands still; see still_clock.h.
 *
 * All are asleep if each thread is found asleep twice and has not run in
 * between, by the kernel's count of its switches: then there was a moment,
 * after the first look at the last thread and before the second at the first,
 * in which none ran, and nobody but this clock wakes them.
 */
#include "still_clock.h"

#include "base/clock.h"
#include "base/event.h"
#include "nap.h"
#include "tests/test.h"
#include "tests/wrap.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLEEPERS 64u
#define PAUSE_US 20
#define SWITCHES "\nvoluntary_ctxt_switches:\t"

/* Who sleeps, and on what; no event: the place is free. */
struct sleeper {
    struct fdl_event *event;
    int64_t due_ns;
};

static struct {
    pthread_mutex_t lock; /* guards sleepers */
    struct sleeper sleepers[SLEEPERS];
    _Atomic int64_t now_ns;
    _Atomic bool ends, runs;
    pthread_t thread;
} still = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t still_now(void)
{
    return atomic_load(&still.now_ns);
}

/* ---- Sleepers ----------------------------------------------------------- */

static struct sleeper *lie_down(struct fdl_event *event, int64_t due_ns)
{
    uint32_t i = 0;
    pthread_mutex_lock(&still.lock);
    while (i < SLEEPERS - 1 && still.sleepers[i].event)
        i++;
    assert_null(still.sleepers[i].event);
    still.sleepers[i] = (struct sleeper){event, due_ns};
    pthread_mutex_unlock(&still.lock);
    return &still.sleepers[i];
}

static void get_up(struct sleeper *s)
{
    pthread_mutex_lock(&still.lock);
    s->event = NULL;
    pthread_mutex_unlock(&still.lock);
}

bool __real_fdl_event_wait(struct fdl_event *ev, uint32_t key,
                           int64_t timeout_ns);

static bool wait_until(struct fdl_event *ev, uint32_t key, int64_t due_ns)
{
    struct sleeper *s = lie_down(ev, due_ns);
    __real_fdl_event_wait(ev, key, -1);
    get_up(s);
    return still_now() < due_ns;
}

WRAP(bool, fdl_event_wait, struct fdl_event *ev, uint32_t key,
     int64_t timeout_ns)
{
    if (timeout_ns < 0 || !atomic_load(&still.runs))
        return __real_fdl_event_wait(ev, key, timeout_ns);
    return wait_until(ev, key, still_now() + timeout_ns);
}

static void still_sleep(int64_t due_ns)
{
    struct fdl_event own;
    fdl_event_init(&own);
    while (still_now() < due_ns)
        wait_until(&own, fdl_event_prepare(&own), due_ns);
}

/* ---- The clock ---------------------------------------------------------- */

static void read_status(const char *task, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%.16s/status", task);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);
    text[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

/* A thread's switches, or -1 if it is not asleep. */
static int64_t switches_asleep(const char *task)
{
    char text[4096];
    read_status(task, text, sizeof(text));
    const char *state = strstr(text, "\nState:\tS");
    const char *switches = strstr(text, SWITCHES);
    return state && switches ? strtoll(switches + strlen(SWITCHES), NULL, 10)
                             : -1;
}

/* The sum of all other threads' switches and of their numbers, which differs if
 * one has run or another is there; -1: one is not asleep. */
static int64_t look_at_all(void)
{
    int64_t sum = 0;
    long self = syscall(SYS_gettid);
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *e; sum >= 0 && (e = readdir(tasks));) {
        long task = strtol(e->d_name, NULL, 10);
        if (task <= 0 || task == self)
            continue;
        int64_t switches = switches_asleep(e->d_name);
        sum = switches < 0 ? -1 : sum + task * 1000000 + switches;
    }
    closedir(tasks);
    return sum;
}

static bool all_asleep(void)
{
    int64_t before = look_at_all();
    return before >= 0 && look_at_all() == before;
}

/* To the first who is due, if anybody is. */
static void go_on(void)
{
    int64_t next = INT64_MAX;
    pthread_mutex_lock(&still.lock);
    for (uint32_t i = 0; i < SLEEPERS; i++)
        if (still.sleepers[i].event && still.sleepers[i].due_ns < next)
            next = still.sleepers[i].due_ns;
    if (next != INT64_MAX && next > still_now())
        atomic_store(&still.now_ns, next);
    for (uint32_t i = 0; i < SLEEPERS; i++)
        if (still.sleepers[i].event && still.sleepers[i].due_ns <= next)
            fdl_event_notify(still.sleepers[i].event, UINT32_MAX);
    pthread_mutex_unlock(&still.lock);
}

static void *clock_main(void *arg)
{
    (void)arg;
    while (!atomic_load(&still.ends)) {
        if (all_asleep())
            go_on();
        usleep(PAUSE_US);
    }
    return NULL;
}

void still_clock_begin(void)
{
    static const struct nap_clock clock = {still_now, still_sleep};
    char task[16], text[4096];
    snprintf(task, sizeof(task), "%d", (int)getpid());
    read_status(task, text, sizeof(text));
    if (!strstr(text, SWITCHES))
        test_skip("the kernel does not tell how often a thread has run");
    atomic_store(&still.now_ns, nap_now());
    atomic_store(&still.ends, false);
    atomic_store(&still.runs, true);
    nap_by(&clock);
    fdl_clock_replace(still_now);
    assert_int_equal(pthread_create(&still.thread, NULL, clock_main, NULL), 0);
}

void still_clock_end(void)
{
    atomic_store(&still.ends, true);
    pthread_join(still.thread, NULL);
    atomic_store(&still.runs, false);
    nap_by(NULL);
    fdl_clock_replace(NULL);
}
