/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The elastic pool of workers. Each has its decoder and its counters. Threads
 * are started up to the largest number ever requested; those above `active` are
 * parked between two samples and cost nothing.
 */
#ifndef FDL_LOADER_WORKER_H
#define FDL_LOADER_WORKER_H

#include "base/event.h"
#include "base/thread.h"
#include "decode/decoder.h"
#include "loader/read/window.h"
#include "loader/stream/progress.h"
#include "loader/stream/worker_recorded.h"
#include "profiler/measure/stage.h"
#include "profiler/measure/timebook.h"

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* Of a worker's thread. */
enum fdl_worker_life {
    FDL_WORKER_UNBORN = 0, /* it has none */
    FDL_WORKER_LIVING,
    FDL_WORKER_DONE /* it ended, and is not joined yet */
};

struct fdl_engine;

struct fdl_worker {
    struct fdl_engine *engine;
    void *books;           /* the observer's, of this worker */
    struct fdl_stage read; /* what it reads itself; written by it only */
    struct fdl_recorded_made made; /* of its sample; of one that is not
                                      recorded width and height alone */
    struct fdl_recorded_memory recorded;
    struct fdl_decoder *decoder;
    struct fdl_decoder *masks;     /* its own, where there are masks */
    struct fdl_entry_notes *notes; /* NULL: there is no JPEG index */
    uint8_t *payload;              /* of a job; NULL: the host decodes all */
    uint32_t payload_bytes;        /* of that memory */
    const uint8_t *mask;           /* encoded, in the slab of fields */
    uint64_t mask_bytes;
    struct fdl_read spare; /* reads replacements */
    struct fdl_read part;  /* reads fields that are far from their image */
    struct fdl_thread thread;
    uint32_t id;
    struct fdl_timebook time; /* the thread's, without gaps */
    struct fdl_progress at;   /* the current sample */

    /* Written under the loader's `settings`. */
    _Atomic uint32_t life;        /* enum fdl_worker_life */
    _Atomic int32_t tid;          /* of the running thread; 0: none */
    int64_t born_ns, died_ns;     /* of that thread */
    int64_t past_ns;              /* total life of joined ones */
    clockid_t cpu_clock;          /* if there is a tid */
    _Atomic uint64_t past_cpu_ns; /* of threads that have ended */

    const char *exited_in; /* where the thread ended early */
    _Atomic uint64_t scratch_bytes;
};

struct fdl_pool {
    struct fdl_worker **workers; /* [n_workers], made once, kept */
    _Atomic uint32_t n_workers;
    _Atomic uint32_t active;
    struct fdl_event unpark;
    struct fdl_event ended;              /* a thread did */
    _Atomic(struct fdl_worker *) exited; /* its thread ended early */
};

/* All workers ever created, which exist for any thread. */
static inline uint32_t fdl_pool_born(const struct fdl_pool *pool)
{
    /* acquire: pairs with fdl_pool_set_active. */
    return atomic_load_explicit(&pool->n_workers, memory_order_acquire);
}

/* The thread of a struct fdl_worker. */
void *fdl_worker_main(void *worker);

int32_t fdl_pool_init(struct fdl_pool *pool);

/* Workers 0 .. active-1 work, the others park; starts threads that are
 * missing. On error fewer are active, and at least as many as before. */
int32_t fdl_pool_set_active(struct fdl_engine *l, uint32_t active);

/* EUSER: a worker's thread ended early, as when a custom operation calls
 * pthread_exit; names the operation. */
int32_t fdl_pool_check(const struct fdl_pool *pool);

/* Joins every thread; the window is closed. Counters stay. */
void fdl_pool_stop(struct fdl_engine *l);

/* Total wall time of all threads' lives, from before they were started; and how
 * many there are. Any thread. */
int64_t fdl_pool_lived_ns(struct fdl_engine *l, int64_t now, uint32_t *threads);
void fdl_pool_fini(struct fdl_pool *pool);

#endif
