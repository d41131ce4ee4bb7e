/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's part in objects: from the table of the data set to the slab of the
 * batch, where the plan moves them. */
#ifndef FDL_LOADER_WORKER_OBJECTS_H
#define FDL_LOADER_WORKER_OBJECTS_H

#include "decode/plan/object_moves.h"
#include "loader/dataset/dataset.h"
#include "loader/stream/ring.h"

struct fdl_worker_objects {
    struct fdl_objects objects;
    uint64_t at;
    uint8_t *memory;
};

/* Those of the data set's sample `index`, as its table has them. ENOMEM. */
int32_t fdl_worker_take_objects(const feedline_dataset *ds, uint64_t index,
                                feedline_batch *b,
                                struct fdl_worker_objects *out);

/* Once more, where they were before a plan moved them. */
void fdl_worker_lay_objects(const feedline_dataset *ds, uint64_t index,
                            struct fdl_worker_objects *out);

/* As the plan left them, they are those at `place`. */
void fdl_worker_put_objects(const feedline_dataset *ds, uint64_t index,
                            const feedline_batch *b, uint32_t place,
                            const struct fdl_worker_objects *from);

#endif
