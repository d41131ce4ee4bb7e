/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the ring ask of each other. */
#ifndef FDL_LOADER_RING_OWN_H
#define FDL_LOADER_RING_OWN_H

#include "loader/stream/ring.h"

/* Streams of a GPU read the slots, and the driver makes and frees their memory.
 */
static inline bool fdl_ring_is_on_device(const struct fdl_ring *r)
{
    return r->backend_ops->device == FEEDLINE_CUDA;
}

/* ring.c: gives free slots to the next tickets, as far as depth goes. */
void fdl_ring_issue_locked(struct fdl_ring *r);

/* ring_slots.c: memory for the images of one batch; NULL: none is lent. */
void *fdl_ring_take_lent_locked(struct fdl_ring *r);

/* ring_slots.c: the batch has memory from here to there; on a device always. */
void fdl_ring_take_memory_locked(feedline_batch *b);
void fdl_ring_give_memory_locked(feedline_batch *b);

/* ring_slots.c: the last reference is gone. */
void fdl_ring_free_slots(struct fdl_ring *r);

#endif
