/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors that hold a batch; dlpack.h has the picture.
 *
 * An export is one allocation, of 152 bytes. Places for a few of them in each
 * slot would save it, and nobody would notice: malloc and free are 40 of the
 * 250 ns that an export and its deleter take, once or twice a batch.
 */
#include "loader/api/dlpack.h"

#include "base/status.h"
#include "base/thread.h"
#include "loader/stream/ring.h"

#include <stdlib.h>
#include <string.h>

#define DLPACK_MAJOR 1u
#define DLPACK_MINOR 0u

/* Where members lie is the agreement; on machines with pointers of 8 bytes: */
#define AT(type, member, offset)                                               \
  _Static_assert(sizeof(void *) != 8 ||                                        \
                     offsetof(struct type, member) == (offset),                \
                 #type "." #member)
AT(fdl_dl_tensor, device_type, 8);
AT(fdl_dl_tensor, ndim, 16);
AT(fdl_dl_tensor, code, 20);
AT(fdl_dl_tensor, lanes, 22);
AT(fdl_dl_tensor, shape, 24);
AT(fdl_dl_tensor, strides, 32);
AT(fdl_dl_tensor, byte_offset, 40);
AT(fdl_dl_managed, context, 48);
AT(fdl_dl_managed, deleter, 56);
AT(fdl_dl_versioned, context, 8);
AT(fdl_dl_versioned, deleter, 16);
AT(fdl_dl_versioned, flags, 24);
AT(fdl_dl_versioned, tensor, 32);

struct exported {
    union {
        struct fdl_dl_managed managed;
        struct fdl_dl_versioned versioned;
    } as;
    feedline_batch *batch;
    int64_t shape[4], strides[4];
};

/* ---- Deleters ----------------------------------------------------------- */

/* In the child of a fork() all of it is the parent's, as with every handle. */
static void let_go(struct exported *e)
{
    feedline_batch *b = e->batch;
    if (b->ring->fork_generation != fdl_fork_generation())
        return;
    free(e);
    fdl_ring_release(b);
}

static void delete_managed(struct fdl_dl_managed *self)
{
    let_go(self->context);
}

static void delete_versioned(struct fdl_dl_versioned *self)
{
    let_go(self->context);
}

/* ---- Tensors ------------------------------------------------------------ */

/* Pinned memory is plain memory to whoever reads it; libraries that do not know
 * the type of the former would refuse it. */
static void set_device(const struct feedline_tensor *from,
                       struct fdl_dl_tensor *t)
{
    bool cuda = from->device == FEEDLINE_CUDA;
    t->device_type = cuda ? FDL_DL_CUDA : FDL_DL_CPU;
    t->device_id = cuda ? from->device_id : 0;
}

static void set_type(int32_t dtype, struct fdl_dl_tensor *t)
{
    static const struct {
        uint8_t code, bits;
    } types[] = {
        [FEEDLINE_U8] = {FDL_DL_UINT, 8},
        [FEEDLINE_F16] = {FDL_DL_FLOAT, 16},
        [FEEDLINE_F32] = {FDL_DL_FLOAT, 32},
        [FEEDLINE_I64] = {FDL_DL_INT, 64},
        [FEEDLINE_BF16] = {FDL_DL_BFLOAT, 16},
    };
    t->code = types[dtype].code;
    t->bits = types[dtype].bits;
    t->lanes = 1;
}

static void fill(struct exported *e, const struct feedline_tensor *from,
                 struct fdl_dl_tensor *t)
{
    memcpy(e->shape, from->shape, sizeof(e->shape));
    memcpy(e->strides, from->stride, sizeof(e->strides));
    t->data = from->data;
    t->ndim = from->ndim;
    t->shape = e->shape;
    t->strides = e->strides;
    t->byte_offset = 0;
    set_device(from, t);
    set_type(from->dtype, t);
}

int32_t fdl_dlpack_export(feedline_batch *b, uint32_t part, bool versioned,
                          void **out)
{
    struct feedline_tensor from;
    bool images = part != FEEDLINE_LABELS && part != FEEDLINE_TARGETS;
    if (images && fdl_layout_is_various(b->layout))
        return fdl_fail(FEEDLINE_EINVAL,
                        "a ragged batch (max_sample_bytes) is not one "
                        "tensor; image_offset and image_size locate each "
                        "image");
    if (images && b->layout->late)
        return fdl_fail(FEEDLINE_ESTATE,
                        "the images of this batch are finished as they are "
                        "copied (handover=copy): they cannot be shared");
    struct exported *e = malloc(sizeof(*e));
    if (!e)
        return fdl_fail_memory(sizeof(*e), "an exported tensor");
    fdl_slot_tensor(b, part, &from);
    e->batch = b;
    if (versioned) {
        e->as.versioned = (struct fdl_dl_versioned){.major = DLPACK_MAJOR,
                                                    .minor = DLPACK_MINOR,
                                                    .context = e,
                                                    .deleter = delete_versioned,
                                                    .flags = 0};
        fill(e, &from, &e->as.versioned.tensor);
    } else {
        e->as.managed =
            (struct fdl_dl_managed){.context = e, .deleter = delete_managed};
        fill(e, &from, &e->as.managed.tensor);
    }
    fdl_ring_hold(b);
    *out = &e->as;
    return FEEDLINE_OK;
}
