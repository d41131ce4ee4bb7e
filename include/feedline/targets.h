/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Soft targets: what the pipeline's operation "mix" (MixUp, CutMix) makes of
 * the labels of a batch, and what it drew for that. The labels of the batch
 * stay those of the images themselves.
 *
 * Statuses and strings as in feedline.h.
 */
#ifndef FEEDLINE_TARGETS_H
#define FEEDLINE_TARGETS_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

enum feedline_mix_kind {
    FEEDLINE_MIX_NONE = 0,
    FEEDLINE_MIXUP = 1, /* share * image + (1 - share) * partner */
    FEEDLINE_CUTMIX = 2 /* the partner's pixels in the box */
};

/* How one image of a batch was mixed. */
struct feedline_image_mix {
    double share;    /* of its own label in its target; 1 without mixing */
    int32_t kind;    /* enum feedline_mix_kind */
    int32_t partner; /* the other image, by its place in the batch */
    int32_t box[4];  /* of CutMix: left, top, right, bottom, in pixels */
};

struct feedline_batch_targets {
    uint32_t struct_size;
    uint32_t classes;
    struct feedline_tensor soft; /* [count, classes] f32, on the images' device
                                  */
    const struct feedline_image_mix *mixes; /* [count], in host memory */
};

/* Any thread, while the caller holds the batch; what *out points to is valid
 * until it is released. ESTATE: the pipeline does not mix. */
FEEDLINE_API int32_t feedline_batch_get_targets(
    const feedline_batch *b, struct feedline_batch_targets *out);

#ifdef __cplusplus
}
#endif

#endif
