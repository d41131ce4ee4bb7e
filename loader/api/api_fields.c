/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: fields of samples, and masks, which come of them. */
#include "loader/api/api.h"
#include "loader/dataset/dataset.h"
#include "loader/stream/ring.h"

#include <feedline/masks.h>

#include <inttypes.h>

int32_t feedline_dataset_get_field(const feedline_dataset *ds, uint64_t index,
                                   uint32_t field,
                                   struct feedline_sample_field *out)
{
    int32_t status =
        fdl_api_enter_handle(ds, ds ? ds->fork_generation : 0, "data set");
    if (status < 0)
        return status;
    if (index >= ds->count || field >= ds->fields.n)
        return fdl_fail(FEEDLINE_ERANGE,
                        "field %u of sample %llu: the data set has %u fields "
                        "and %llu samples",
                        field, (unsigned long long)index, ds->fields.n,
                        (unsigned long long)ds->count);
    struct feedline_sample_field found;
    fdl_dataset_get_field(ds, index, field, &found);
    return fdl_copy_out(out, &found, sizeof(found));
}

int32_t feedline_batch_get_field(const feedline_batch *b, uint32_t field,
                                 struct feedline_batch_field *out)
{
    int32_t status =
        fdl_api_enter_handle(b, b ? b->ring->fork_generation : 0, "batch");
    if (status < 0)
        return status;
    if (field >= b->ring->fields.n)
        return fdl_fail(FEEDLINE_ERANGE,
                        "field %" PRIu32 " of a batch that has %" PRIu32, field,
                        b->ring->fields.n);
    struct feedline_batch_field found;
    fdl_slot_field_get(b, field, &found);
    return fdl_copy_out(out, &found, sizeof(found));
}

int32_t feedline_batch_get_masks(const feedline_batch *b,
                                 struct feedline_batch_masks *out)
{
    int32_t status =
        fdl_api_enter_handle(b, b ? b->ring->fork_generation : 0, "batch");
    if (status < 0)
        return status;
    if (!b->ring->masks.on)
        return fdl_fail(FEEDLINE_EINVAL,
                        "the loader has no masks: set its option masks");
    struct feedline_batch_masks found;
    fdl_slot_masks_get(b, &found);
    return fdl_copy_out(out, &found, sizeof(found));
}

int32_t feedline_dataset_add_files(feedline_dataset *ds, const char *field,
                                   const char *const *paths)
{
    int32_t status =
        fdl_api_enter_handle(ds, ds ? ds->fork_generation : 0, "data set");
    if (status >= 0)
        status = fdl_api_enter(field, "field");
    if (status >= 0)
        status = fdl_api_enter(paths, "paths");
    return status < 0 ? status : fdl_dataset_add_files(ds, field, paths);
}
