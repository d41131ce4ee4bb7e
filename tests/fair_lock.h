/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock that whoever came first gets next, as threads of an interpreter with a
 * lock take turns. A mutex gives no such word: one thread may wait for as long
 * as the others like.
 */
#ifndef FDL_TESTS_FAIR_LOCK_H
#define FDL_TESTS_FAIR_LOCK_H

#include <pthread.h>
#include <stdint.h>

struct fair_lock {
    pthread_mutex_t guard; /* of what follows */
    pthread_cond_t turn;
    uint64_t next, now; /* tickets: the next one, the one that has the lock */
};

#define FAIR_LOCK                                                              \
  {                                                                            \
    .guard = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER       \
  }

static inline void fair_lock_take(struct fair_lock *l)
{
    pthread_mutex_lock(&l->guard);
    uint64_t mine = l->next++;
    while (l->now != mine)
        pthread_cond_wait(&l->turn, &l->guard);
    pthread_mutex_unlock(&l->guard);
}

static inline void fair_lock_give(struct fair_lock *l)
{
    pthread_mutex_lock(&l->guard);
    l->now++;
    pthread_cond_broadcast(&l->turn);
    pthread_mutex_unlock(&l->guard);
}

#endif
