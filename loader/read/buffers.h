/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read buffers: a stack without a lock. What was given back last is taken
 * first, so as many buffers exist as were ever in use at once, and the next
 * file lands in cache lines that are still warm.
 *
 * All of their memory is counted, and never above an allowance, but for this:
 * one buffer may always be had, or nothing would ever be read. Memory that lies
 * idle in the stack goes first. Who gets none waits for `room`, and holds
 * nothing while it does: what others hold is decoded and given back without it.
 */
#ifndef FDL_LOADER_BUFFERS_H
#define FDL_LOADER_BUFFERS_H

#include "base/event.h"
#include "base/lock.h"

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
};

struct fdl_buffers {
    struct fdl_buffer *all;
    uint32_t n;
    /* Place of the top, from 1, and above it a count of changes: without it a
     * buffer taken and given back would look as if nothing had happened. */
    _Atomic uint64_t top;
    _Atomic uint64_t memory; /* of all buffers */
    _Atomic uint64_t idle;   /* of it, in the stack */
    _Atomic uint64_t allowance;
    struct fdl_event room;    /* some memory was given back */
    struct fdl_lock trimming; /* held while the stack is searched */
};

int32_t fdl_buffers_init(struct fdl_buffers *b, uint32_t n);
void fdl_buffers_fini(struct fdl_buffers *b);

/* NULL: all n are in use. */
struct fdl_buffer *fdl_buffers_take(struct fdl_buffers *b);
void fdl_buffers_give(struct fdl_buffers *b, struct fdl_buffer *buffer);

/* Counts `bytes` more; false: there is no room for them. exempt: there is. */
bool fdl_buffers_claim(struct fdl_buffers *b, uint64_t bytes, bool exempt);
void fdl_buffers_unclaim(struct fdl_buffers *b, uint64_t bytes);

/* Idle memory beyond it is freed; what is in use goes when it is given back. */
void fdl_buffers_set_allowance(struct fdl_buffers *b, uint64_t bytes);

/* Whether more is counted than may be. */
bool fdl_buffers_is_over(const struct fdl_buffers *b);

#endif
