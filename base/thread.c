/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads. A new thread inherits the signal mask of its maker, so the mask is
 * closed around pthread_create: there is no moment in which the thread could
 * run a handler of the program. Faults stay open: they hit the thread that
 * made them, and a blocked one kills the process before a crash reporter sees
 * it.
 *
 * The thread gives itself its name before anything else, so that traces and
 * debuggers never see one without.
 */
#include "base/thread.h"

#include "base/compiler.h"
#include "base/cpu_set.h"
#include "base/log.h"
#include "base/status.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_BYTES 16 /* the kernel's TASK_COMM_LEN, NUL included */

/* The least that a thread gets for its stack, of which it touches what it
 * needs: docs/life.md has what was measured. The usual 8 MiB stay. */
#define STACK_BYTES ((size_t)1 << 20)

struct birth {
    char name[NAME_BYTES];
    const struct fdl_cpu_set *cpus;
    void *(*run)(void *);
    void *arg;
    sigset_t open; /* signals of the program's threads */
};

static _Thread_local bool is_ours;
static _Thread_local sigset_t open_signals; /* if it is */

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static _Atomic uint32_t fork_generation;
static void (*_Atomic watcher)(const char *name);

static void bind(const struct fdl_cpu_set *cpus)
{
    static _Atomic bool told;
    char list[64];
    int error = cpus ? fdl_cpu_set_bind(cpus) : 0;
    if (error == 0 ||
        atomic_exchange_explicit(&told, true, memory_order_relaxed))
        return;
    fdl_cpu_set_print(cpus, list, sizeof(list));
    fdl_log(FDL_LOG_WARNING,
            "threads cannot be bound to CPUs %s: %s; they run unbound", list,
            strerror(error));
}

static void *thread_main(void *arg)
{
    struct birth birth = *(struct birth *)arg;
    free(arg);
    is_ours = true;
    open_signals = birth.open;
    bind(birth.cpus);
    pthread_setname_np(pthread_self(), birth.name);
    /* acquire: pairs with the release in fdl_thread_watch. */
    void (*born)(const char *name) =
        atomic_load_explicit(&watcher, memory_order_acquire);
    if (born)
        born(birth.name);
    return birth.run(birth.arg);
}

static void block_signals(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE,
                                 SIGILL,  SIGSYS, SIGTRAP};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < FDL_COUNT_OF(faults); i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, before);
}

/* What the system gives by itself follows `ulimit -s`, which may be little. */
static int create(pthread_t *handle, struct birth *birth)
{
    pthread_attr_t attr;
    size_t bytes = 0;
    int error = pthread_attr_init(&attr);
    if (error)
        return error;
    pthread_attr_getstacksize(&attr, &bytes);
    if (bytes < STACK_BYTES)
        pthread_attr_setstacksize(&attr, STACK_BYTES);
    error = pthread_create(handle, &attr, thread_main, birth);
    pthread_attr_destroy(&attr);
    return error;
}

int32_t fdl_thread_start(struct fdl_thread *t, const char *name,
                         void *(*run)(void *), void *arg)
{
    return fdl_thread_start_on(t, NULL, name, run, arg);
}

int32_t fdl_thread_start_on(struct fdl_thread *t,
                            const struct fdl_cpu_set *cpus, const char *name,
                            void *(*run)(void *), void *arg)
{
    struct birth *birth = malloc(sizeof(*birth));
    if (!birth)
        return fdl_fail_memory(sizeof(*birth), "a thread");
    snprintf(birth->name, sizeof(birth->name), "%s", name);
    birth->cpus = cpus;
    birth->run = run;
    birth->arg = arg;

    sigset_t before;
    pthread_t handle;
    block_signals(&before);
    birth->open = is_ours ? open_signals : before;
    int err = create(&handle, birth);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err) {
        free(birth);
        return fdl_fail(err == ENOMEM ? FEEDLINE_ENOMEM : FEEDLINE_ESTATE,
                        "thread %s: %s (see ulimit -u and the cgroup's "
                        "pids.max)",
                        name, strerror(err));
    }
    t->handle = handle;
    t->running = true;
    return FEEDLINE_OK;
}

void fdl_thread_open_signals(void)
{
    if (is_ours)
        pthread_sigmask(SIG_SETMASK, &open_signals, NULL);
}

void fdl_thread_block_signals(void)
{
    if (is_ours)
        block_signals(NULL);
}

void fdl_thread_watch(void (*born)(const char *name))
{
    /* release: pairs with the acquire in thread_main. */
    atomic_store_explicit(&watcher, born, memory_order_release);
}

void fdl_thread_join(struct fdl_thread *t)
{
    if (!t->running)
        return;
    pthread_join(t->handle, NULL);
    t->running = false;
}

/* Runs in the child, on its only thread. */
static void count_fork(void)
{
    atomic_fetch_add_explicit(&fork_generation, 1, memory_order_relaxed);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

FDL_HOT uint32_t fdl_fork_generation(void)
{
    pthread_once(&fork_once, watch_forks);
    return atomic_load_explicit(&fork_generation, memory_order_relaxed);
}

FDL_HOT int32_t fdl_thread_id(void)
{
    static _Thread_local struct {
        uint32_t generation; /* a child's thread has another number */
        int32_t id;          /* 0: not asked for yet */
    } own;
    uint32_t generation = fdl_fork_generation();
    if (own.id == 0 || own.generation != generation) {
        own.generation = generation;
        own.id = (int32_t)gettid();
    }
    return own.id;
}
