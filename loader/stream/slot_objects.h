/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of a batch. Each sample's are moved in the slab of the fields,
 * where they were laid out for it; once all are there, what is left of them is
 * joined behind, array by array:
 *
 *     slab  | sample 7: labels boxes points source | sample 2: ... | caption...
 *           | first | labels | source | boxes | points       of the whole batch
 */
#ifndef FDL_LOADER_SLOT_OBJECTS_H
#define FDL_LOADER_SLOT_OBJECTS_H

#include "decode/plan/object_moves.h"

#include <feedline/objects.h>

#include <stdint.h>

/* Of the sample at a place: n objects, in memory that was for `room`. */
struct fdl_placed_objects {
    uint64_t at; /* in the slab */
    uint32_t n, room;
};

/* room: of the sample's objects before any was dropped. */
void fdl_slot_objects_set(const feedline_batch *b, uint32_t place, uint64_t at,
                          uint32_t room, const struct fdl_objects *o);

/* Bytes that joining takes; joins them at `at`, a multiple of 8. */
uint64_t fdl_slot_objects_bytes(const feedline_batch *b);
void fdl_slot_objects_join(feedline_batch *b, uint64_t at);
void fdl_slot_objects_get(const feedline_batch *b,
                          struct feedline_batch_objects *out);

#endif
