/* SPDX-License-Identifier: Apache-2.0 */
/* A list under a lock, which is held for a few instructions. */
#include "store/chunk_queue.h"

#include "base/atomic.h"
#include "base/event.h"
#include "base/lock.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

/* Memory that is new costs more than the copy that goes there: some is kept. */
#define MOST_SPARE 4u
#define ROOM_STEP  ((uint64_t)16 << 10)

struct entry {
    struct fdl_chunk_job job;
    struct entry *next;
    uint64_t room; /* bytes of data */
    uint8_t data[];
};

struct fdl_chunk_queue {
    uint64_t most;
    fdl_chunk_queue_run *run;
    void *user;
    struct fdl_thread thread;
    struct fdl_event work;

    struct fdl_lock lock; /* of all below */
    struct entry *first, **end;
    struct entry *spare; /* n_spare, the last one used first */
    uint32_t n_spare;
    _Atomic uint64_t bytes; /* promised, and of what is being written */
    bool stops;
};

/* ---- The thread ---------------------------------------------------------- */

/* NULL: there is none; *stops: and none will come. */
static struct entry *pop(struct fdl_chunk_queue *q, bool *stops)
{
    fdl_lock(&q->lock);
    struct entry *e = q->first;
    if (e)
        q->first = e->next;
    if (!q->first)
        q->end = &q->first;
    *stops = q->stops;
    fdl_unlock(&q->lock);
    return e;
}

static struct entry *await(struct fdl_chunk_queue *q)
{
    for (;;) {
        bool stops;
        uint32_t key = fdl_event_prepare(&q->work);
        struct entry *e = pop(q, &stops);
        if (e || stops) {
            fdl_event_cancel(&q->work);
            return e;
        }
        fdl_event_wait(&q->work, key, -1);
    }
}

static uint64_t memory_of(const struct fdl_chunk_job *job)
{
    return sizeof(struct entry) + job->bytes;
}

static void release(struct fdl_chunk_queue *q, const struct fdl_chunk_job *job)
{
    atomic_fetch_sub_explicit(&q->bytes, memory_of(job), memory_order_relaxed);
}

/* Its job is done. What is unusually large goes. */
static void put_aside(struct fdl_chunk_queue *q, struct entry *e)
{
    struct entry *unused = e;
    fdl_lock(&q->lock);
    if (q->n_spare < MOST_SPARE && e->room <= q->most / MOST_SPARE / 2) {
        e->next = q->spare;
        q->spare = e;
        q->n_spare++;
        unused = NULL;
    }
    fdl_unlock(&q->lock);
    free(unused);
}

static void *queue_main(void *arg)
{
    struct fdl_chunk_queue *q = arg;
    struct entry *e;
    while ((e = await(q))) {
        q->run(q->user, &e->job);
        release(q, &e->job);
        put_aside(q, e);
    }
    return NULL;
}

/* ---- Offers -------------------------------------------------------------- */

/* Room for the job, and a thread. */
static enum fdl_chunk_offer promise(struct fdl_chunk_queue *q, uint64_t bytes)
{
    enum fdl_chunk_offer offer = FDL_CHUNK_NO_ROOM;
    fdl_lock(&q->lock);
    uint64_t before = fdl_load(&q->bytes);
    if (before == 0 || (before <= q->most && bytes <= q->most - before))
        offer = FDL_CHUNK_TAKEN;
    if (offer == FDL_CHUNK_TAKEN && !q->thread.running &&
        fdl_thread_start(&q->thread, "feedline-cache", queue_main, q) < 0)
        offer = FDL_CHUNK_NO_THREAD;
    if (offer == FDL_CHUNK_TAKEN)
        atomic_fetch_add_explicit(&q->bytes, bytes, memory_order_relaxed);
    fdl_unlock(&q->lock);
    return offer;
}

/* With room for so many bytes; NULL: no memory. */
static struct entry *get_entry(struct fdl_chunk_queue *q, uint64_t bytes)
{
    fdl_lock(&q->lock);
    struct entry *e = q->spare;
    if (e) {
        q->spare = e->next;
        q->n_spare--;
    }
    fdl_unlock(&q->lock);
    if (e && e->room >= bytes)
        return e;
    free(e);
    uint64_t room = (bytes + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP;
    e = malloc(sizeof(*e) + room);
    if (e)
        e->room = room;
    return e;
}

static void push(struct fdl_chunk_queue *q, struct entry *e)
{
    e->next = NULL;
    fdl_lock(&q->lock);
    *q->end = e;
    q->end = &e->next;
    fdl_unlock(&q->lock);
    fdl_event_notify(&q->work, 1);
}

enum fdl_chunk_offer fdl_chunk_queue_offer(struct fdl_chunk_queue *q,
                                           const struct fdl_chunk_job *job)
{
    enum fdl_chunk_offer offer = promise(q, memory_of(job));
    if (offer != FDL_CHUNK_TAKEN)
        return offer;
    struct entry *e = get_entry(q, job->bytes);
    if (!e) {
        release(q, job);
        return FDL_CHUNK_NO_ROOM;
    }
    e->job = *job;
    e->job.data = e->data;
    if (job->bytes > 0)
        memcpy(e->data, job->data, job->bytes);
    push(q, e);
    return FDL_CHUNK_TAKEN;
}

uint64_t fdl_chunk_queue_bytes(const struct fdl_chunk_queue *q)
{
    return fdl_load(&q->bytes);
}

/* ---- Create and destroy -------------------------------------------------- */

struct fdl_chunk_queue *fdl_chunk_queue_create(uint64_t most,
                                               fdl_chunk_queue_run *run,
                                               void *user)
{
    struct fdl_chunk_queue *q = calloc(1, sizeof(*q));
    if (!q)
        return NULL;
    q->most = most;
    q->run = run;
    q->user = user;
    q->end = &q->first;
    fdl_lock_init(&q->lock, FDL_RANK_CHUNK_QUEUE);
    fdl_event_init(&q->work);
    return q;
}

void fdl_chunk_queue_destroy(struct fdl_chunk_queue *q)
{
    if (!q)
        return;
    fdl_lock(&q->lock);
    q->stops = true;
    fdl_unlock(&q->lock);
    fdl_event_notify(&q->work, 1);
    fdl_thread_join(&q->thread);
    for (struct entry *e; (e = q->spare);) {
        q->spare = e->next;
        free(e);
    }
    fdl_lock_destroy(&q->lock);
    free(q);
}
