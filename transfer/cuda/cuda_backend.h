/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA backend of one loader, inside.
 *
 *  workers        copy thread                 land thread        consumer
 *  submit --> [jobs] --> stream: wait used                          |
 *                                start                              |
 *                                copy                               |
 *                                end       (make, finish, beside the|
 *                                           next copy)              |
 *                                ready   ----> [steps] wait ready   |
 *                        done ----------------------------------> next()
 *                                              landed               |
 *                        consumer's stream: entered, wait ready <- wait()
 *                                              ...                  |
 *                                           used <----------- release()
 *                                              report: all times known
 *
 * A step is what happened to one batch: its events. It is owned twice, by the
 * slab until the consumer lets go, and by the queue of reports until all of its
 * times were read; then it is used again. The copy thread never waits for the
 * device, and no thread polls: the land thread sleeps in the driver until the
 * oldest copy is done.
 */
#ifndef FDL_TRANSFER_CUDA_BACKEND_H
#define FDL_TRANSFER_CUDA_BACKEND_H

#include "base/event.h"
#include "base/lock.h"
#include "base/status.h"
#include "base/thread.h"
#include "transfer/backend.h"
#include "transfer/cuda/cuda_clock.h"
#include "transfer/cuda/cuda_device.h"
#include "transfer/cuda/cuda_memory.h"
#include "transfer/cuda/cuda_pin.h"

#include <pthread.h>
#include <stdatomic.h>

#define FDL_CUDA_STREAMS 4u /* that may wait for one batch */
#define FDL_CUDA_PARTS   4u /* moved ahead of the rest of a batch */
#define FDL_CUDA_COPIES  (2 * FDL_CUDA_PARTS + 1)

/* Reports that wait for their consumer at most; the oldest goes out without. */
#define FDL_CUDA_REPORTS FDL_BACKEND_DEPTH

/* First in, first out; what is in one begins with its link. */
struct fdl_cuda_link {
    struct fdl_cuda_link *next;
};

struct fdl_cuda_queue {
    struct fdl_cuda_link *first, *last;
};

static inline void fdl_cuda_push(struct fdl_cuda_queue *q,
                                 struct fdl_cuda_link *l)
{
    l->next = NULL;
    if (q->last)
        q->last->next = l;
    else
        q->first = l;
    q->last = l;
}

/* NULL: it is empty. */
static inline void *fdl_cuda_pop(struct fdl_cuda_queue *q)
{
    struct fdl_cuda_link *l = q->first;
    if (l)
        q->first = l->next;
    if (!q->first)
        q->last = NULL;
    return l;
}

struct fdl_cuda_step {
    struct fdl_cuda_link link; /* of the queue that it is in */
    fdl_cuda_event from[FDL_CUDA_COPIES], to[FDL_CUDA_COPIES];
    fdl_cuda_event ready, entered, asked;
    fdl_cuda_event making, made, told; /* where images are made; told: records
                                          are back */
    uint32_t n_copies;                 /* in use */
    uint32_t clock_epoch;
    uint64_t ticket;
    int64_t queued_ns, done_ns;
    int64_t called_ns; /* next(), while has_asked */
    uint64_t bytes;
    bool finishes, makes;
    struct fdl_transfer *transfer; /* until landed */

    /* Guarded by the backend's lock. */
    bool has_entered, has_asked;
    bool resumes;
    bool let_go, reported; /* by the slab's owner; by the queue */
};

struct fdl_cuda_part {
    uint64_t at, bytes;
};

/* Work for the copy thread: a part, or the rest of a batch. */
struct fdl_cuda_job {
    struct fdl_cuda_link link;
    struct fdl_transfer *transfer;
    struct fdl_cuda_part part; /* 0 bytes: the rest */
};

/* A stream of the consumer's. The handle FDL_CUDA_PER_THREAD is a different
 * stream on each thread. */
struct fdl_cuda_user {
    void *stream;
    uint64_t thread; /* whose it is; 0: anybody's */
};

struct fdl_cuda_slab {
    struct fdl_cuda_slab *next;    /* of the spare ones */
    struct fdl_cuda_pinned pinned; /* its host memory */
    struct fdl_cuda_step *step;    /* NULL: not in use */
    struct fdl_cuda_job jobs[FDL_CUDA_PARTS + 1];
    uint32_t n_jobs;
    struct fdl_cuda_part moved[FDL_CUDA_PARTS]; /* copy thread's, as are: */
    uint32_t n_moved;
    bool begun; /* parts of the coming batch were moved */

    struct fdl_lock lock; /* guards the consumer's side: */
    struct fdl_cuda_user streams[FDL_CUDA_STREAMS];
    uint32_t n_streams;
    fdl_cuda_event used[FDL_CUDA_STREAMS + 1]; /* created when first needed */
    struct fdl_cuda_user used_on[FDL_CUDA_STREAMS + 1];
    bool late[FDL_CUDA_STREAMS + 1]; /* to be recorded when the stream's capture
                                        is over, by the copy thread */
    uint32_t n_used;                 /* recorded or late, to be waited for */
};

struct fdl_cuda {
    struct fdl_backend_config config;
    const struct fdl_cuda_device *device; /* NULL before the first slab */
    fdl_cuda_stream stream;               /* of copies */
    fdl_cuda_stream finishing; /* of kernels; NULL where the consumer's is */
    fdl_cuda_stream making;    /* of stages; NULL: there are none */
    void *makers[FDL_MAKERS_MAX];
    void *scratch; /* of stages, on the device */
    struct fdl_cuda_memory memory;
    void *table; /* of finish, on the device */
    struct fdl_cuda_clock clock;
    _Atomic uint32_t clock_epoch;
    struct fdl_thread copy_thread, land_thread;

    struct fdl_lock lock;       /* guards what follows */
    struct fdl_cuda_queue jobs; /* fdl_cuda_job */
    struct fdl_cuda_queue landing, reports, free_steps; /* fdl_cuda_step */
    uint32_t n_reports;
    struct fdl_cuda_slab *spare; /* host parts without a slab, for the next */
    bool open, stopping;
    uint64_t pinned_bytes, device_bytes;
    int32_t failed; /* a status: the run has ended with it */
    char reason[FDL_ERROR_BYTES + 32];

    /* When the consumer's stream ran out of work, see cuda_consumer.c. */
    struct fdl_lock ask_lock; /* behind a slab's; guards: */
    void *stream_told;        /* if is_told: where the consumer computes */
    bool is_told;
    struct fdl_cuda_slab *current; /* waited for and not given back yet */
    bool copied;                   /* from current: its work is not there */
    fdl_cuda_event asked;          /* in turn with those of steps */
    bool has_asked;                /* recorded for the batch to come */
    bool marks;                    /* a thread records it: it alone may */
    uint64_t turn;                 /* calls and batches: which comes next */
    bool resumes;                  /* which is the first of an epoch */
    int64_t called_ns;             /* next() for it */

    struct fdl_event jobs_changed, landing_changed;
    struct fdl_lock report_lock; /* one at a time reads times, or renews the
                                    clock */
};

/* cuda_consumer.c: as in fdl_backend_ops. */
void fdl_cuda_set_stream(void *backend, void *stream);
void fdl_cuda_ask(void *backend, int64_t now, enum fdl_ask how);
int32_t fdl_cuda_wait(void *backend, struct fdl_transfer *t, void *stream);
int32_t fdl_cuda_copy(void *backend, void *to, const void *from, uint64_t bytes,
                      void *stream);
int32_t fdl_cuda_finish_to(void *backend, struct fdl_transfer *t, void *to,
                           void *stream);
void fdl_cuda_use(void *backend, struct fdl_transfer *t, void *stream);
void fdl_cuda_release(void *backend, struct fdl_transfer *t);

/* cuda_finish.c: kernels are loaded, if there is anything to finish, and queued
 * (CUresult), once `stream` waited for the batch's copy. The device is current.
 */
int32_t fdl_cuda_finish_prepare(struct fdl_cuda *c);
int fdl_cuda_finish(const struct fdl_cuda *c, const struct fdl_transfer *t,
                    void *to, fdl_cuda_stream stream);

/* cuda_make.c: the same for what makes images, on the stream `making`, which
 * waits for `copied`; s->made is behind them. Then their records come back. */
int32_t fdl_cuda_makers_prepare(struct fdl_cuda *c);
int fdl_cuda_make(const struct fdl_cuda *c, const struct fdl_transfer *t,
                  struct fdl_cuda_step *s, fdl_cuda_event copied);
int fdl_cuda_bring_back(const struct fdl_cuda *c, const struct fdl_transfer *t,
                        struct fdl_cuda_step *s);

/* cuda.c: a thread that runs what is pushed to a queue, in order, with the
 * device current, until the backend stops and the queue is empty. */
void fdl_cuda_serve(struct fdl_cuda *c, struct fdl_cuda_queue *q,
                    struct fdl_event *changed,
                    void (*run)(struct fdl_cuda *, void *));

/* cuda_copy.c: the copy thread; arg: struct fdl_cuda. And the copy stream goes
 * on once the batch that was in the slab before is used up: CUresult. */
void *fdl_cuda_copy_main(void *arg);
int fdl_cuda_wait_consumers(struct fdl_cuda *c, struct fdl_cuda_slab *own);

/* cuda_land.c: the land thread, and the reports that can go out now; any
 * thread that has the device current. */
void *fdl_cuda_land_main(void *arg);
void fdl_cuda_report(struct fdl_cuda *c);

/* A step with its events; EDEVICE. And back, from one of its two owners. */
int32_t fdl_cuda_step_take(struct fdl_cuda *c, struct fdl_cuda_step **out);
void fdl_cuda_step_destroy(struct fdl_cuda *c, struct fdl_cuda_step *s);
void fdl_cuda_step_let_go(struct fdl_cuda *c, struct fdl_cuda_step *s);

/* The run ends with the error line of this thread: whatever is submitted until
 * the next one begins fails with it, and with "cuda:N: " in front. */
void fdl_cuda_lose(struct fdl_cuda *c, int32_t status);

/* After an error: all that is queued is done, so that memory that a copy may
 * still read or write can be given away. */
void fdl_cuda_settle(struct fdl_cuda *c);

#endif
