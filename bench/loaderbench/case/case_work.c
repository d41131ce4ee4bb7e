/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/loaderbench/case/case_work.h"

#include "bench/loaderbench/tool.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define SPIN_TURNS 512 /* between two looks at the clock: about a microsecond */

/* Seconds that this thread's sleeps were too long so far, not made up for. */
static _Thread_local double overslept;

void case_work_init(struct case_work *w, double ms)
{
    memset(w, 0, sizeof(*w));
    w->ms = ms;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->opened, NULL);
}

void case_work_fini(struct case_work *w)
{
    pthread_cond_destroy(&w->opened);
    pthread_mutex_destroy(&w->lock);
}

void case_work_open(struct case_work *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_open = true;
    pthread_cond_broadcast(&w->opened);
    pthread_mutex_unlock(&w->lock);
}

void case_work_shut(struct case_work *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_open = false;
    pthread_mutex_unlock(&w->lock);
}

static void pass(struct case_work *w)
{
    pthread_mutex_lock(&w->lock);
    while (!w->is_open)
        pthread_cond_wait(&w->opened, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

void case_sleep_sharply(void)
{
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

void case_sleep_until(double seconds)
{
    double whole = floor(seconds);
    struct timespec until = {.tv_sec = (time_t)whole,
                             .tv_nsec = (int32_t)((seconds - whole) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) ==
           EINTR) {
    }
}

static double thread_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void spin(double seconds)
{
    double end = thread_seconds() + seconds;
    while (thread_seconds() < end)
        for (volatile uint32_t i = 0; i < SPIN_TURNS; i = i + 1) {
        }
}

/* More than one sleep too late is not made up for: the thread that waits for a
 * core that long has not slept, it has waited. */
static void sleep_exactly(double seconds)
{
    double end = tool_seconds() + seconds - overslept;
    case_sleep_until(end);
    overslept = tool_seconds() - end;
    if (overslept > seconds)
        overslept = seconds;
}

static int32_t run(const struct feedline_op_call *call)
{
    struct case_work *w = call->user;
    double seconds = w->ms * 1e-3;
    if (w->gated)
        pass(w);
    if (w->spin)
        spin(seconds);
    else if (w->exact)
        sleep_exactly(seconds);
    else
        case_sleep_until(tool_seconds() + seconds);
    return FEEDLINE_OK;
}

int32_t case_work_register(struct case_work *w, feedline_pipeline *p)
{
    const struct feedline_op_def def = {
        .struct_size = sizeof(def), .name = "work", .run = run, .user = w};
    int32_t status = feedline_pipeline_register(p, &def);
    return status < 0 ? status : feedline_pipeline_add(p, "work", NULL);
}
