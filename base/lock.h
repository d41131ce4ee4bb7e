/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's mutexes. Each has a rank, and a thread that holds some may take
 * only locks of a higher rank, so no two threads can wait for each other.
 * docs/locks.md says what each of them guards.
 *
 * Test builds (FEEDLINE_LOCK_ORDER: sanitizers, Debug) check the order at every
 * lock and abort the process if it is violated. Elsewhere this is a plain
 * pthread_mutex_t.
 */
#ifndef FDL_BASE_LOCK_H
#define FDL_BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>

/* From the first taken to the last: the rows of docs/locks.md, which
 * tests/check_locks compares. */
enum fdl_rank {
    FDL_RANK_NONE,
    FDL_RANK_RUN,
    FDL_RANK_GROWING,
    FDL_RANK_FIT,
    FDL_RANK_LOOKING,
    FDL_RANK_RECORDER,
    FDL_RANK_CONTROL,
    FDL_RANK_SETTINGS,
    FDL_RANK_BOOKS,
    FDL_RANK_CUDA_DEVICES,
    FDL_RANK_CUDA_LIBRARY,
    FDL_RANK_CUDA_REPORT,
    FDL_RANK_CUDA_SLAB,
    FDL_RANK_CUDA_ASK,
    FDL_RANK_CUDA_JOBS,
    FDL_RANK_RING,
    FDL_RANK_SLOW,
    FDL_RANK_READERS,
    FDL_RANK_TURNS,
    FDL_RANK_CALLS,
    FDL_RANK_PIXELS,
    FDL_RANK_STORE,
    FDL_RANK_CHUNKS,
    FDL_RANK_CHUNK_QUEUE,
    FDL_RANK_CHUNK_CHECKED,
    FDL_RANK_SHARDS,
    FDL_RANK_TRIMMING,
    FDL_RANK_SLABS,
    FDL_RANK_DEVICE_WATCH,
    FDL_RANK_MONITOR,
    FDL_RANK_BATCH_ERROR,
    FDL_RANK_FAILURES,
    FDL_RANK_EXCHANGE,
    FDL_RANK_DOCTOR,
    FDL_RANK_IDLE_DOWNLOADS,
    FDL_RANK_IDLE_REQUESTS,
    FDL_RANK_CURL_LIBRARY,
    FDL_RANK_LOG,
};

struct fdl_lock {
    pthread_mutex_t mutex;
#ifdef FDL_LOCK_ORDER
    enum fdl_rank rank;
#endif
};

#ifdef FDL_LOCK_ORDER
#  define FDL_LOCK_INIT(rank)                                                  \
    {                                                                          \
      PTHREAD_MUTEX_INITIALIZER, rank                                          \
    }

/* Before a lock is taken, once it is, and before it is given back. */
void fdl_lock_check(const struct fdl_lock *l);
void fdl_lock_taken(const struct fdl_lock *l);
void fdl_lock_left(const struct fdl_lock *l);
#else
#  define FDL_LOCK_INIT(rank)                                                  \
    {                                                                          \
      PTHREAD_MUTEX_INITIALIZER                                                \
    }

static inline void fdl_lock_check(const struct fdl_lock *l)
{
    (void)l;
}

static inline void fdl_lock_taken(const struct fdl_lock *l)
{
    (void)l;
}

static inline void fdl_lock_left(const struct fdl_lock *l)
{
    (void)l;
}
#endif

static inline void fdl_lock_init(struct fdl_lock *l, enum fdl_rank rank)
{
    pthread_mutex_init(&l->mutex, NULL);
#ifdef FDL_LOCK_ORDER
    l->rank = rank;
#else
    (void)rank;
#endif
}

static inline void fdl_lock_destroy(struct fdl_lock *l)
{
    pthread_mutex_destroy(&l->mutex);
}

static inline void fdl_lock(struct fdl_lock *l)
{
    fdl_lock_check(l);
    pthread_mutex_lock(&l->mutex);
    fdl_lock_taken(l);
}

/* Never waits, so any order is allowed. */
static inline bool fdl_trylock(struct fdl_lock *l)
{
    if (pthread_mutex_trylock(&l->mutex) != 0)
        return false;
    fdl_lock_taken(l);
    return true;
}

static inline void fdl_unlock(struct fdl_lock *l)
{
    fdl_lock_left(l);
    pthread_mutex_unlock(&l->mutex);
}

#endif
