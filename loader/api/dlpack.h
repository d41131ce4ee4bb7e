/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches as DLPack tensors.
 *
 * DLPack is an agreement on the layout of a few structs: whoever gets a tensor
 * uses its memory, and calls its deleter when done. The declarations here are
 * ours, after version 1.0 of that agreement (github.com/dmlc/dlpack,
 * include/dlpack/dlpack.h); dlpack.c checks where each member lies.
 *
 *     loader            consumer            another library
 *       |                  |                      |
 *       +---- next ------->| 1 reference          |
 *       |                  +------ export ------->| 1 more
 *       |                release                  |
 *       |                  .                    uses it, on any thread
 *       |<------------ the slot is free ------ deleter
 */
#ifndef FDL_LOADER_DLPACK_H
#define FDL_LOADER_DLPACK_H

#include <feedline/feedline.h>

#include <stdbool.h>
#include <stdint.h>

enum fdl_dl_device_type { FDL_DL_CPU = 1, FDL_DL_CUDA = 2 };

enum fdl_dl_code {
    FDL_DL_INT = 0,
    FDL_DL_UINT = 1,
    FDL_DL_FLOAT = 2,
    FDL_DL_BFLOAT = 4
};

struct fdl_dl_tensor {
    void *data;
    int32_t device_type; /* enum fdl_dl_device_type */
    int32_t device_id;
    int32_t ndim;
    uint8_t code; /* enum fdl_dl_code */
    uint8_t bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides; /* in elements */
    uint64_t byte_offset;
};

/* DLManagedTensor: what there was before version 1.0. */
struct fdl_dl_managed {
    struct fdl_dl_tensor tensor;
    void *context; /* the deleter's */
    void (*deleter)(struct fdl_dl_managed *self);
};

/* DLManagedTensorVersioned. */
struct fdl_dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct fdl_dl_versioned *self);
    uint64_t flags; /* 0: may be written, and is no copy */
    struct fdl_dl_tensor tensor;
};

/* *out: a struct fdl_dl_versioned, or a struct fdl_dl_managed, of images or of
 * labels (enum feedline_part); it holds the batch until its deleter is called.
 * EINVAL: images of different sizes; ENOMEM. */
int32_t fdl_dlpack_export(feedline_batch *b, uint32_t part, bool versioned,
                          void **out);

#endif
