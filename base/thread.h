/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads with a name, an owner, a join, and a stack that suffices whatever
 * `ulimit -s` says. They block all signals but faults,
 * so that a program's handlers run on its own threads. A function of the
 * program's that they call has the signals that the program has: whatever it
 * starts, a process above all, inherits them.
 */
#ifndef FDL_BASE_THREAD_H
#define FDL_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct fdl_thread {
    pthread_t handle;
    bool running; /* started and not joined; owner's thread only */
};

struct fdl_cpu_set;

/* name: cut at 15 bytes. ENOMEM or ESTATE when the system has no more. */
int32_t fdl_thread_start(struct fdl_thread *t, const char *name,
                         void *(*run)(void *), void *arg);

/* Starts a thread that binds itself to `cpus` before anything else, so that its
 * memory is on their node. cpus: NULL: where its creator may run; lives until
 * the join. If the system refuses, the thread runs unbound, and the log has one
 * warning per process. */
int32_t fdl_thread_start_on(struct fdl_thread *t,
                            const struct fdl_cpu_set *cpus, const char *name,
                            void *(*run)(void *), void *arg);

/* Each thread that is started from now on calls `born` with its name before
 * anything else; NULL: none does. For profilers. */
void fdl_thread_watch(void (*born)(const char *name));

/* Around a call of a function of the program's, which may use errno. On threads
 * that were not started here nothing happens. */
void fdl_thread_open_signals(void);
void fdl_thread_block_signals(void);

/* Nothing if it is not running. */
void fdl_thread_join(struct fdl_thread *t);

/* Grows by one in the child of each fork() (pthread_atfork). A handle keeps the
 * value of its birth and is refused where they differ. The first call installs
 * the handler. */
uint32_t fdl_fork_generation(void);

/* The kernel's number of the calling thread, which is asked for once. */
int32_t fdl_thread_id(void);

#endif
