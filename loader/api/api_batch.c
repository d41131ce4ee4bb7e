/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: batches, and all that one has. */
#include "base/compiler.h"
#include "loader/api/api.h"
#include "loader/api/dlpack.h"
#include "loader/stream/ring.h"
#include "loader/stream/slot_fields.h"
#include "loader/stream/slot_mix.h"
#include "loader/stream/slot_objects.h"
#include "transfer/nvtx.h"

#include <feedline/masks.h>

#include <inttypes.h>
#include <string.h>

/* ---- Its life ----------------------------------------------------------- */

int32_t feedline_batch_get_info(const feedline_batch *b,
                                struct feedline_batch_info *out)
{
    int32_t status = fdl_api_enter_batch(b);
    if (status < 0)
        return status;
    struct feedline_batch_info info = {
        .count = fdl_slot_images(b),
        .views = b->layout->views,
        .epoch = b->range.epoch,
        .sequence = b->range.sequence,
        .position = b->range.position,
        .place = b->range.place,
        .sample_index = fdl_slot_index(b),
        .sample_status = fdl_slot_status(b),
        .wait_ns = b->wait_ns,
    };
    if (fdl_layout_is_various(b->layout)) {
        info.image_offset = fdl_slot_column(b, FDL_COLUMN_OFFSETS);
        info.image_size = fdl_slot_column(b, FDL_COLUMN_SIZES);
    }
    info.image_bytes = fdl_slot_delivered_bytes(b);
    fdl_slot_tensor(b, FEEDLINE_IMAGES, &info.images);
    fdl_slot_tensor(b, FEEDLINE_LABELS, &info.labels);
    return fdl_copy_out(out, &info, sizeof(info));
}

int32_t feedline_batch_wait(feedline_batch *b, void *stream)
{
    int32_t status = fdl_api_enter_batch(b);
    if (status < 0 || !b->ring->backend_ops->wait)
        return status;
    return b->ring->backend_ops->wait(b->ring->backend, &b->transfer, stream);
}

static bool is_ours(const feedline_batch *b)
{
    return b && b->ring->fork_generation == fdl_fork_generation();
}

static void release(feedline_batch *b)
{
    fdl_nvtx_push(FDL_NVTX_RELEASE, b->ticket, b->range.count);
    fdl_ring_release(b);
    fdl_nvtx_pop();
}

FDL_HOT void feedline_batch_release(feedline_batch *b)
{
    if (is_ours(b))
        release(b);
}

/* The stream is marked now, whoever else holds the batch and for how long: what
 * is queued on it later has nothing to do with this batch. */
void feedline_batch_release_on(feedline_batch *b, void *stream)
{
    if (!is_ours(b))
        return;
    if (b->ring->backend_ops->use)
        b->ring->backend_ops->use(b->ring->backend, &b->transfer, stream);
    release(b);
}

/* ---- What it has -------------------------------------------------------- */

int32_t feedline_batch_get_field(const feedline_batch *b, uint32_t field,
                                 struct feedline_batch_field *out)
{
    int32_t status = fdl_api_enter_batch(b);
    if (status < 0)
        return status;
    if (field >= b->kind->fields.n)
        return fdl_fail(FEEDLINE_ERANGE,
                        "field %" PRIu32 " of a batch that has %" PRIu32, field,
                        b->kind->fields.n);
    struct feedline_batch_field found;
    fdl_slot_field_get(b, field, &found);
    return fdl_copy_out(out, &found, sizeof(found));
}

int32_t feedline_batch_get_masks(const feedline_batch *b,
                                 struct feedline_batch_masks *out)
{
    int32_t status = fdl_api_enter_batch(b);
    if (status < 0)
        return status;
    if (!b->kind->masks.on)
        return fdl_fail(FEEDLINE_EINVAL,
                        "the loader has no masks: set its option masks");
    struct feedline_batch_masks found;
    fdl_slot_masks_get(b, &found);
    return fdl_copy_out(out, &found, sizeof(found));
}

int32_t feedline_batch_get_objects(const feedline_batch *b,
                                   struct feedline_batch_objects *out)
{
    int32_t status = fdl_api_enter_batch(b);
    if (status < 0)
        return status;
    if (!b->kind->has_objects)
        return fdl_fail(FEEDLINE_ESTATE,
                        "the batch has no objects: its data set has none");
    struct feedline_batch_objects found;
    fdl_slot_objects_get(b, &found);
    return fdl_copy_out(out, &found, sizeof(found));
}

int32_t feedline_batch_get_targets(const feedline_batch *b,
                                   struct feedline_batch_targets *out)
{
    int32_t status = fdl_api_enter_batch(b);
    if (status < 0)
        return status;
    if (b->layout->classes == 0)
        return fdl_fail(FEEDLINE_ESTATE,
                        "the batch has no soft targets: its pipeline has no "
                        "operation mix");
    struct feedline_batch_targets found;
    fdl_slot_targets(b, &found);
    return fdl_copy_out(out, &found, sizeof(found));
}

int32_t feedline_batch_get_view(const feedline_batch *b, uint32_t view,
                                struct feedline_tensor *out)
{
    int32_t status = fdl_api_enter_batch(b);
    if (status >= 0)
        status = fdl_api_enter(out, "out");
    if (status < 0)
        return status;
    if (fdl_layout_is_various(b->layout))
        return fdl_fail(FEEDLINE_EINVAL,
                        "a ragged batch (max_sample_bytes) is not one tensor; "
                        "image_offset and image_size locate each image");
    if (view >= b->layout->views)
        return fdl_fail(FEEDLINE_ERANGE,
                        "there is no view %" PRIu32 " of %" PRIu32
                        "; views count from 0",
                        view, b->layout->views);
    fdl_slot_tensor(b, FEEDLINE_VIEW + view, out);
    return FEEDLINE_OK;
}

/* ---- For others --------------------------------------------------------- */

int32_t feedline_batch_export(feedline_batch *b, uint32_t part, uint32_t flags,
                              void **out)
{
    int32_t status = fdl_api_enter_out(out);
    if (status >= 0)
        status = fdl_api_enter_batch(b);
    if (status < 0)
        return status;
    bool has_targets = b->layout->classes > 0;
    if (part != FEEDLINE_IMAGES && part != FEEDLINE_LABELS &&
        (part != FEEDLINE_TARGETS || !has_targets) &&
        (part < FEEDLINE_VIEW || part - FEEDLINE_VIEW >= b->layout->views))
        return fdl_fail(FEEDLINE_EINVAL,
                        "a batch has no part %" PRIu32 "; it has images (0), "
                        "labels (1), if it is mixed targets (2) and, from %d "
                        "on, its views",
                        part, FEEDLINE_VIEW);
    if (flags & ~FEEDLINE_DLPACK_VERSIONED)
        return fdl_fail(FEEDLINE_EINVAL, "flags 0x%" PRIx32 " are not known",
                        flags);
    return fdl_dlpack_export(b, part, flags & FEEDLINE_DLPACK_VERSIONED, out);
}

static int32_t copy_part(feedline_batch *b, void *to, const void *from,
                         uint64_t bytes, void *stream)
{
    const struct fdl_backend_ops *ops = b->ring->backend_ops;
    if (!to)
        return FEEDLINE_OK;
    if (ops->copy)
        return ops->copy(b->ring->backend, to, from, bytes, stream);
    memcpy(to, from, (size_t)bytes);
    return FEEDLINE_OK;
}

static int32_t copy_images(feedline_batch *b, void *to, void *stream)
{
    const struct fdl_backend_ops *ops = b->ring->backend_ops;
    if (to && b->layout->late)
        return ops->finish(b->ring->backend, &b->transfer, to, stream);
    return copy_part(b, to, fdl_slot_delivered_images(b),
                     fdl_slot_delivered_bytes(b), stream);
}

int32_t feedline_batch_copy(feedline_batch *b, void *images, void *labels,
                            void *stream)
{
    int32_t status = fdl_api_enter_batch(b);
    if (status < 0)
        return status;
    /* From here on the stream is one of those that the slot waits for. */
    status = feedline_batch_wait(b, stream);
    if (status >= 0)
        status = copy_images(b, images, stream);
    if (status >= 0)
        status = copy_part(b, labels, fdl_slot_delivered_labels(b),
                           fdl_slot_images(b) * sizeof(int64_t), stream);
    return status;
}
