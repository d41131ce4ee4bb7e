/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MixUp (Zhang et al., 2018) and CutMix (Yun et al., 2019) of the finished
 * images of a batch, as torchvision v2 and timm do them: to the bit, for the
 * same drawn values. Here are the draws and the targets; mix_finish.h has the
 * pixels.
 *
 *     torchvision   image i and the one before it; one draw for the batch
 *     timm          image i and count - 1 - i; one draw for the batch, for each
 *                   pair, or for each image
 *
 * What is drawn for an image follows from its number, so any thread may ask for
 * any image.
 */
#ifndef FDL_DECODE_MIX_H
#define FDL_DECODE_MIX_H

#include "base/choice.h"

#include <feedline/targets.h>

#include <stdbool.h>
#include <stdint.h>

#define FDL_MIX_LIKE_CHOICES(C)                                                \
  C(FDL_MIX_TORCHVISION, "torchvision")                                        \
  C(FDL_MIX_TIMM, "timm")
enum fdl_mix_like { FDL_CHOICE_VALUES(FDL_MIX_LIKE_CHOICES) };

#define FDL_MIX_MODE_CHOICES(C)                                                \
  C(FDL_MIX_BATCH, "batch")                                                    \
  C(FDL_MIX_PAIR, "pair")                                                      \
  C(FDL_MIX_ELEM, "elem")
enum fdl_mix_mode { FDL_CHOICE_VALUES(FDL_MIX_MODE_CHOICES) };

/* The arguments; decode/ops/op_mix.c describes them. */
struct fdl_mix {
    enum fdl_mix_like like;
    enum fdl_mix_mode mode;
    double mixup_alpha, cutmix_alpha;
    double p, switch_prob;
    double cutmix_min, cutmix_max;
    bool correct_lam;
    double label_smoothing;
    uint32_t num_classes;
};

/* Names the draws of a batch: the places in the epoch, over all ranks, of its
 * first image and from one image to the next. */
struct fdl_mix_key {
    uint64_t seed, epoch, place, step;
};

/* Of a batch. */
struct fdl_mix_batch {
    struct fdl_mix_key key;
    uint32_t count;        /* images */
    int32_t width, height; /* of each */
};

struct feedline_image_mix fdl_mix_draw(const struct fdl_mix *m,
                                       const struct fdl_mix_batch *b,
                                       uint32_t image);

/* The image that this one is the partner of. */
uint32_t fdl_mix_partner_of(const struct fdl_mix *m, uint32_t image,
                            uint32_t count);

/* target: [num_classes], of an image with label `own` and a partner with label
 * `other`; both are below num_classes. */
void fdl_mix_target(const struct fdl_mix *m,
                    const struct feedline_image_mix *mix, int64_t own,
                    int64_t other, float *target);

#endif
