/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ctrl-C without a signal handler: a thread waits for the signals and does what
 * is to be done in plain code, under a lock, so that no loader can be destroyed
 * while it is being interrupted. (A handler would have to find the loader
 * through a global pointer, in the middle of its destruction if need be.)
 */
#include "tools/loaderbench/tool.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Guarded by lock: loader, interrupted, at_exit. wake: interrupted has become
 * true. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake;
static feedline_loader *loader;
static bool interrupted;
static void (*at_exit)(void);

static sigset_t watched(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

static void *watch(void *unused)
{
    (void)unused;
    sigset_t set = watched();
    for (;;) {
        int signal_number;
        if (sigwait(&set, &signal_number))
            continue;
        pthread_mutex_lock(&lock);
        if (interrupted) {
            if (at_exit)
                at_exit();
            _exit(TOOL_INTERRUPTED);
        }
        interrupted = true;
        if (loader)
            feedline_loader_interrupt(loader);
        pthread_cond_broadcast(&wake);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int tool_watch_start(void)
{
    sigset_t set = watched();
    pthread_condattr_t attributes;
    pthread_t thread;
    int error = pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&wake, &attributes);
    pthread_condattr_destroy(&attributes);
    if (!error)
        error = pthread_create(&thread, NULL, watch, NULL);
    if (error) {
        tool_say("signal thread: %s", strerror(error));
        return TOOL_ENVIRONMENT;
    }
    pthread_setname_np(thread, "loaderbench-sig");
    pthread_detach(thread);
    return TOOL_DONE;
}

void tool_watch_loader(feedline_loader *l)
{
    pthread_mutex_lock(&lock);
    loader = l;
    if (l && interrupted)
        feedline_loader_interrupt(l);
    pthread_mutex_unlock(&lock);
}

void tool_at_exit(void (*restore)(void))
{
    pthread_mutex_lock(&lock);
    at_exit = restore;
    pthread_mutex_unlock(&lock);
}

bool tool_interrupted(void)
{
    pthread_mutex_lock(&lock);
    bool answer = interrupted;
    pthread_mutex_unlock(&lock);
    return answer;
}

void tool_sleep_until(double seconds)
{
    double whole = floor(seconds);
    struct timespec until = {.tv_sec = (time_t)whole,
                             .tv_nsec = (int32_t)((seconds - whole) * 1e9)};
    pthread_mutex_lock(&lock);
    while (!interrupted &&
           pthread_cond_timedwait(&wake, &lock, &until) != ETIMEDOUT) {
    }
    pthread_mutex_unlock(&lock);
}
