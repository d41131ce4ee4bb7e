/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read buffers: a stack without a lock. The one returned last is taken first,
 * so there are as many buffers as were ever in use at once, and the next file
 * goes to cache lines that are still warm.
 *
 * Their total memory is bounded by an allowance, with one exception: one buffer
 * is always available, or nothing would ever be read. Idle memory in the stack
 * is freed first. A caller that gets no buffer waits on `room` while holding
 * nothing, so progress never depends on it: what others hold is decoded and
 * returned.
 */
#ifndef FDL_LOADER_BUFFERS_H
#define FDL_LOADER_BUFFERS_H

#include "base/event.h"
#include "base/lock.h"
#include "loader/read/slabs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Its holder owns bytes and capacity. */
struct fdl_buffer {
    uint8_t *bytes; /* pages; NULL until they are first needed */
    uint64_t capacity;
    _Atomic uint32_t
        below; /* in the stack: place of the next, from 1; 0: none */
    _Atomic uint32_t users; /* samples whose bytes it has, see gather.h */
};

struct fdl_buffers {
    struct fdl_buffer *all;
    uint32_t n;
    /* Place of the top, from 1, and in the upper bits a count of changes:
     * without it, taking and returning a buffer would look as if nothing had
     * happened. */
    _Atomic uint64_t top;
    _Atomic uint64_t memory; /* of all buffers */
    _Atomic uint64_t idle;   /* of it, in the stack */
    _Atomic uint64_t allowance;
    struct fdl_event room;    /* some memory was returned */
    struct fdl_lock trimming; /* held while the stack is searched */
    struct fdl_slabs slabs;   /* what buffers are made of */
};

int32_t fdl_buffers_init(struct fdl_buffers *b, uint32_t n);
void fdl_buffers_fini(struct fdl_buffers *b);

/* NULL: all n are in use. */
struct fdl_buffer *fdl_buffers_take(struct fdl_buffers *b);
void fdl_buffers_give(struct fdl_buffers *b, struct fdl_buffer *buffer);

/* Counts `bytes` more; false: there is no room. exempt: there always is. */
bool fdl_buffers_claim(struct fdl_buffers *b, uint64_t bytes, bool exempt);
void fdl_buffers_unclaim(struct fdl_buffers *b, uint64_t bytes);

/* Idle memory beyond it is freed; memory in use is freed when it is returned.
 */
void fdl_buffers_set_allowance(struct fdl_buffers *b, uint64_t bytes);

/* Whether the allowance is exceeded. */
bool fdl_buffers_is_over(const struct fdl_buffers *b);

#endif
