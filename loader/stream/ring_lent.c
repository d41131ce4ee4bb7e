/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the program's, for the images of batches that are not issued yet:
 * each ticket takes one when it is issued, or else the images of its slot.
 */
#include "base/status.h"
#include "loader/stream/ring.h"
#include "loader/stream/ring_own.h"

#include <inttypes.h>
#include <stdlib.h>

static int32_t check(const struct fdl_ring *r, const void *images,
                     uint64_t bytes)
{
    uint64_t needed = r->kind.layout.batch_size * r->kind.layout.sample_bytes;
    if (r->backend_ops->device != FEEDLINE_CPU)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "memory can be lent to batches in host memory alone, "
                        "and these are on a device");
    if (fdl_layout_is_various(&r->kind.layout))
        return fdl_fail(FEEDLINE_ENOSYS,
                        "memory cannot be lent to ragged batches "
                        "(max_sample_bytes)");
    if (r->kind.layout.chains)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "memory cannot be lent to batches of several chains "
                        "(feedline_pipeline_add_views)");
    if ((uintptr_t)images % FDL_SLAB_ALIGN != 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "lent memory begins at a multiple of %u, and %p is "
                        "none",
                        FDL_SLAB_ALIGN, images);
    if (bytes < needed)
        return fdl_fail(FEEDLINE_ERANGE,
                        "%" PRIu64 " bytes were lent, and the images of a full "
                        "batch take %" PRIu64,
                        bytes, needed);
    return FEEDLINE_OK;
}

static int32_t keep_locked(struct fdl_ring *r, void *images)
{
    if (r->n_lent == FEEDLINE_LENT_MAX)
        return fdl_fail(FEEDLINE_ERANGE,
                        "memory for %d batches is lent already: call next "
                        "before lending more",
                        FEEDLINE_LENT_MAX);
    if (!r->lent) {
        size_t bytes = FEEDLINE_LENT_MAX * sizeof(*r->lent);
        r->lent = malloc(bytes);
        if (!r->lent)
            return fdl_fail_memory(bytes, "the memory that is lent");
    }
    r->lent[r->n_lent++] = images;
    return FEEDLINE_OK;
}

int32_t fdl_ring_lend(struct fdl_ring *r, void *images, uint64_t bytes)
{
    int32_t status = check(r, images, bytes);
    if (status < 0)
        return status;
    fdl_lock(&r->lock);
    status = keep_locked(r, images);
    fdl_unlock(&r->lock);
    return status;
}

void *fdl_ring_take_lent_locked(struct fdl_ring *r)
{
    return r->n_lent > 0 ? r->lent[--r->n_lent] : NULL;
}
