/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to be stored in a chunk cache, for a thread of its own: a disk may be
 * slower than the server, and whoever receives from that is not to wait for it.
 *
 *     receiving thread -- a copy --> | job | job | job | --> a thread --> disk
 *
 * A copy, for what came belongs to a worker from then on, which is done with it
 * sooner or later than the disk is. It costs a twentieth of what receiving the
 * bytes does. All copies together are bounded: where the disk does not keep up,
 * what comes is not stored, and is when it comes the next time.
 *
 * Any thread. The thread is started with the first job.
 */
#ifndef FDL_STORE_CHUNK_QUEUE_H
#define FDL_STORE_CHUNK_QUEUE_H

#include "store/chunk_key.h"

#include <stdbool.h>
#include <stdint.h>

/* Part of an object; see fdl_chunk_cache_store. */
struct fdl_chunk_job {
    struct fdl_chunk_key key;
    uint64_t size; /* of the object */
    uint64_t offset, bytes;
    const uint8_t *data;
    bool anew;
};

/* On the queue's thread, one after the other. */
typedef void fdl_chunk_queue_run(void *user, const struct fdl_chunk_job *job);

struct fdl_chunk_queue;

/* most: bytes that wait, but for one job, which is always taken. NULL: no
 * memory. */
struct fdl_chunk_queue *fdl_chunk_queue_create(uint64_t most,
                                               fdl_chunk_queue_run *run,
                                               void *user);

/* What waits is done first. NULL is fine. */
void fdl_chunk_queue_destroy(struct fdl_chunk_queue *q);

enum fdl_chunk_offer {
    FDL_CHUNK_TAKEN,
    FDL_CHUNK_NO_ROOM, /* or no memory */
    FDL_CHUNK_NO_THREAD
};

/* job->data is copied. Never waits for the thread. */
enum fdl_chunk_offer fdl_chunk_queue_offer(struct fdl_chunk_queue *q,
                                           const struct fdl_chunk_job *job);

/* Bytes that wait now. */
uint64_t fdl_chunk_queue_bytes(const struct fdl_chunk_queue *q);

#endif
