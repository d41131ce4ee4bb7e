/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read buffers: a stack without a lock. What was given back last is taken
 * first, so as many buffers exist as were ever in use at once, and the next
 * file lands in cache lines that are still warm.
 */
#ifndef FDL_LOADER_BUFFERS_H
#define FDL_LOADER_BUFFERS_H

#include <stdatomic.h>
#include <stdint.h>

/* Its holder owns bytes and capacity. */
struct fdl_buffer {
    uint8_t *bytes; /* NULL until it is first needed */
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
};

int32_t fdl_buffers_init(struct fdl_buffers *b, uint32_t n);
void fdl_buffers_fini(struct fdl_buffers *b);

/* NULL: all n are in use. */
struct fdl_buffer *fdl_buffers_take(struct fdl_buffers *b);
void fdl_buffers_give(struct fdl_buffers *b, struct fdl_buffer *buffer);

#endif
