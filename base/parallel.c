/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parallel.h"

#include "base/atomic.h"
#include "base/cpu_set.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"

#include <stdbool.h>
#include <stdlib.h>

#define THREADS_PER_CPU 2u
#define MAX_THREADS     64u

/* What the threads share. */
struct work {
    int32_t (*each)(void *arg, uint64_t i);
    void *arg;
    uint64_t n;
    _Atomic uint64_t next;
    _Atomic bool failed; /* no more are begun */
    struct outcome {
        int32_t status;
        char *error; /* its line; NULL: no memory for it */
    } * outcomes;    /* [n] */
};

static void *parallel_main(void *arg)
{
    struct work *w = arg;
    while (!fdl_load(&w->failed)) {
        uint64_t i =
            atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (i >= w->n)
            break;
        int32_t status = w->each(w->arg, i);
        if (status == FEEDLINE_OK)
            continue;
        w->outcomes[i].status = status;
        w->outcomes[i].error = fdl_strdup(fdl_last_error());
        atomic_store_explicit(&w->failed, true, memory_order_relaxed);
    }
    return NULL;
}

static void run(struct work *w, const char *name, uint32_t wanted)
{
    struct fdl_thread threads[MAX_THREADS];
    uint32_t n = 0;
    wanted = (uint32_t)FDL_MIN((uint64_t)FDL_MIN(wanted, MAX_THREADS), w->n);
    while (n + 1 < wanted &&
           fdl_thread_start(&threads[n], name, parallel_main, w) == FEEDLINE_OK)
        n++;
    fdl_clear_error();
    parallel_main(w);
    for (uint32_t i = 0; i < n; i++)
        fdl_thread_join(&threads[i]);
}

/* The first error; frees them all. */
static int32_t outcome_of(const struct work *w)
{
    int32_t status = FEEDLINE_OK;
    for (uint64_t i = 0; i < w->n; i++) {
        const struct outcome *o = &w->outcomes[i];
        if (status == FEEDLINE_OK && o->status < 0)
            status = o->error ? fdl_fail(o->status, "%s", o->error)
                              : fdl_fail_memory(FDL_ERROR_BYTES, "an error");
        free(o->error);
    }
    return status;
}

int32_t fdl_parallel(const char *name, uint64_t n,
                     int32_t (*each)(void *arg, uint64_t i), void *arg)
{
    struct fdl_cpu_set cpus;
    uint32_t threads = MAX_THREADS;
    if (fdl_cpu_set_of_thread(0, &cpus))
        threads = THREADS_PER_CPU * fdl_cpu_set_count(&cpus);
    return fdl_parallel_waits(name, threads, n, each, arg);
}

int32_t fdl_parallel_waits(const char *name, uint32_t threads, uint64_t n,
                           int32_t (*each)(void *arg, uint64_t i), void *arg)
{
    struct work w = {.each = each, .arg = arg, .n = n};
    w.outcomes = calloc(FDL_MAX(n, 1), sizeof(*w.outcomes));
    if (!w.outcomes)
        return fdl_fail_memory(n * sizeof(*w.outcomes), "threads' outcomes");
    run(&w, name, threads);
    int32_t status = outcome_of(&w);
    free(w.outcomes);
    return status;
}
