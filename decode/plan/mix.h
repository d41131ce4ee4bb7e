/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MixUp (Zhang et al., 2018) and CutMix (Yun et al., 2019) of the finished
 * images of a batch, as torchvision v2 and timm do them: to the bit, for the
 * same drawn values.
 *
 *     torchvision   image i and the one before it; one draw for the batch
 *     timm          image i and count - 1 - i; one draw for the batch, for each
 *                   pair, or for each image
 *
 * It happens in place, in strips of rows that have nothing to do with each
 * other, so threads may share a batch. A strip needs room for that of one
 * image, which the next one still wants as it was.
 *
 *     torchvision   i = n - 1 ... 0:  x[i] <- x[i], x[i - 1]
 *                   x[0] gets what x[n - 1] was, from the spare image
 *     timm          x[i] <- x[i], x[j];  x[j] <- x[j], what x[i] was
 */
#ifndef FDL_DECODE_MIX_H
#define FDL_DECODE_MIX_H

#include "base/choice.h"
#include "decode/pixels/output_format.h"

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

void fdl_mix_draw(const struct fdl_mix *m, const struct fdl_mix_key *key,
                  uint32_t count, int32_t width, int32_t height,
                  struct feedline_image_mix *out);

/* targets: [count][num_classes]; labels are below num_classes. */
void fdl_mix_targets(const struct fdl_mix *m,
                     const struct feedline_image_mix *mixes,
                     const int64_t *labels, uint32_t count, float *targets);

/* The images of a batch: u8 or f32 where any has MixUp. */
struct fdl_mix_batch {
    enum fdl_mix_like like;
    const struct feedline_image_mix *mixes; /* [count] */
    const struct fdl_output_format *format; /* of each image */
    uint8_t *images, *spare;                /* one image more */
    uint32_t count;
};

/* Strips to do it in: 0 if nothing is mixed. Any order, any threads. */
uint32_t fdl_mix_strips(const struct fdl_mix_batch *b);
void fdl_mix_strip(const struct fdl_mix_batch *b, uint32_t strip);

#endif
