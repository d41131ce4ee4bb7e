/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: boxes, labels and keypoints of objects. */
#include "loader/api/api.h"
#include "loader/dataset/dataset_objects.h"
#include "loader/stream/slot_objects.h"

int32_t feedline_dataset_set_objects(feedline_dataset *ds,
                                     const struct feedline_objects *objects)
{
    struct feedline_objects known;
    int32_t status =
        fdl_api_enter_handle(ds, ds ? ds->fork_generation : 0, "data set");
    if (status >= 0 && objects)
        status = fdl_copy_in(&known, objects, sizeof(known));
    if (status < 0)
        return status;
    if (atomic_load_explicit(&ds->refs, memory_order_relaxed) > 1)
        return fdl_fail(FEEDLINE_ESTATE,
                        "a loader of the data set exists; set its objects "
                        "before that");
    return fdl_dataset_set_objects(ds, objects ? &known : NULL);
}

int32_t feedline_batch_get_objects(const feedline_batch *b,
                                   struct feedline_batch_objects *out)
{
    int32_t status =
        fdl_api_enter_handle(b, b ? b->ring->fork_generation : 0, "batch");
    if (status < 0)
        return status;
    if (!b->ring->has_objects)
        return fdl_fail(FEEDLINE_ESTATE,
                        "the batch has no objects: its data set has none");
    struct feedline_batch_objects found;
    fdl_slot_objects_get(b, &found);
    return fdl_copy_out(out, &found, sizeof(found));
}
