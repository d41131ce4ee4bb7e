/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/stream/worker_objects.h"

#include "loader/dataset/dataset_objects.h"

int32_t fdl_worker_take_objects(const feedline_dataset *ds, uint64_t index,
                                feedline_batch *b,
                                struct fdl_worker_objects *out)
{
    int32_t status = fdl_slot_fields_claim(
        b, fdl_dataset_objects_bytes(ds, index), &out->at, &out->memory);
    if (status == FEEDLINE_OK)
        fdl_worker_lay_objects(ds, index, out);
    return status;
}

void fdl_worker_lay_objects(const feedline_dataset *ds, uint64_t index,
                            struct fdl_worker_objects *out)
{
    fdl_dataset_lay_objects(ds, index, out->memory, &out->objects);
}

void fdl_worker_put_objects(const feedline_dataset *ds, uint64_t index,
                            const feedline_batch *b, uint32_t place,
                            const struct fdl_worker_objects *from)
{
    fdl_dataset_label_objects(ds, index, &from->objects, from->memory);
    fdl_slot_objects_set(b, place, from->at, ds->objects->span[index].n,
                         &from->objects);
}
