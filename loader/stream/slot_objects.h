/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of a batch: from the table of the data set to the slab of fields,
 * laid out for each sample, where its plan moves them; once all are there, what
 * is left of them is joined behind, array by array:
 *
 *     slab  | sample 7: labels boxes points source | sample 2: ... | caption...
 *           | first | labels | source | boxes | points       of the whole batch
 */
#ifndef FDL_LOADER_SLOT_OBJECTS_H
#define FDL_LOADER_SLOT_OBJECTS_H

#include "decode/plan/object_moves.h"
#include "loader/dataset/dataset.h"
#include "loader/stream/slot.h"

#include <feedline/objects.h>

/* Of one sample, while it is worked on. */
struct fdl_laid_objects {
    struct fdl_objects objects;
    uint64_t at; /* in the slab */
    uint8_t *memory;
};

/* Those of the data set's sample `index`, as its table has them. ENOMEM. */
int32_t fdl_slot_objects_take(const feedline_dataset *ds, uint64_t index,
                              feedline_batch *b, struct fdl_laid_objects *out);

/* Once more, where they were before a plan moved them. */
void fdl_slot_objects_lay(const feedline_dataset *ds, uint64_t index,
                          struct fdl_laid_objects *out);

/* As the plan left them, they are those at `place`. */
void fdl_slot_objects_put(const feedline_dataset *ds, uint64_t index,
                          const feedline_batch *b, uint32_t place,
                          const struct fdl_laid_objects *from);

/* After the last sample: joins all at `at` in the slab, which has room for so
 * many bytes there. */
uint64_t fdl_slot_objects_bytes(const feedline_batch *b);
void fdl_slot_objects_join(feedline_batch *b, uint64_t at);

/* Once they are joined. */
void fdl_slot_objects_get(const feedline_batch *b,
                          struct feedline_batch_objects *out);

#endif
