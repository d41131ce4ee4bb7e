/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations. One is one file, decode/ops/op_NAME.c, with its options, its
 * random draws, and what it adds to the plan of a sample: a struct fdl_op.
 *
 * To add one, write that file, which defines fdl_op_NAME (or several that are
 * much alike), and add its line to FDL_OPS. What several files share is in
 * shared_options.h.
 */
#ifndef FDL_DECODE_OP_H
#define FDL_DECODE_OP_H

#include "base/option.h"
#include "base/philox.h"
#include "decode/plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* What an operation decides about those that follow it, its members. */
enum fdl_decides {
    FDL_DECIDES_NOTHING = 0, /* it has none */
    FDL_DECIDES_WHETHER,     /* all are done, or none */
    FDL_DECIDES_WHICH,       /* one is done */
    FDL_DECIDES_ORDER        /* all are done */
};

/* Rows of the options of one that decides; P with FDL_DECIDES_WHETHER. */
enum { FDL_GATE_COUNT, FDL_GATE_P };

struct fdl_op {
    const char *name; /* torchvision's, in lower_snake */
    const char *help; /* one line */
    bool resamples;   /* one pass can do one of these */
    bool pixels;     /* works on the resampled image: nothing resamples after */
    bool maps;       /* by affine or perspective maps */
    bool normalizes; /* pixels are no longer 0 to 1: neither does after */
    bool finished;   /* works on the finished sample: only these after */
    bool mixes;      /* works on the finished batch: nothing after */
    bool objects;    /* is about the objects of a sample */
    uint32_t views;  /* that it makes of an image; 0: it makes none */
    const struct fdl_option *options;
    uint32_t n_options;

    /* Arguments that depend on each other, once each row has been checked;
     * NULL: nothing to check. */
    int32_t (*check)(const struct fdl_options *o);

    /* Operations that are not for all numbers of channels; NULL: nothing to
     * check. Rows that are per_channel are checked without. */
    int32_t (*check_channels)(const struct fdl_options *o, int32_t channels);

    /* Most steps that plan may add; NULL: 1. */
    uint32_t (*steps)(const struct fdl_options *o);

    /* Draws the members that are done, in order, and returns how many; in place
     * of plan where the operation decides. */
    enum fdl_decides decides;
    uint32_t (*choose)(const struct fdl_options *o, struct fdl_rng *rng,
                       const struct fdl_plan *plan, uint32_t *chosen);

    /* Adds to plan. rng is keyed by the sample and this operation's place. */
    int32_t (*plan)(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan);

    /* Size of what comes in -> size of what goes out, 0 where it depends on
     * the image; NULL: unchanged. */
    void (*output_size)(const struct fdl_options *o, int32_t *width,
                        int32_t *height);
};

static inline uint32_t fdl_op_members(const struct fdl_op *op,
                                      const struct fdl_options *o)
{
    return op->decides ? (uint32_t)fdl_option_int(o, FDL_GATE_COUNT) : 0;
}

/* The built-in operations; NULL past the end. */
const struct fdl_op *fdl_op_at(uint32_t index);

/* ENOENT, with the closest name. */
int32_t fdl_op_find(const char *name, const struct fdl_op **out);

/* In the order in which they are listed. */
#define FDL_OPS(OP)                                                            \
  OP(random_resized_crop)                                                      \
  OP(resize)                                                                   \
  OP(resize_pad)                                                               \
  OP(resize_keep_ratio)                                                        \
  OP(scale_jitter)                                                             \
  OP(random_shortest_size)                                                     \
  OP(random_resize)                                                            \
  OP(center_crop)                                                              \
  OP(random_crop)                                                              \
  OP(random_crop_or_pad)                                                       \
  OP(fixed_size_crop)                                                          \
  OP(five_crop)                                                                \
  OP(ten_crop)                                                                 \
  OP(pad)                                                                      \
  OP(trim_border)                                                              \
  OP(random_zoom_out)                                                          \
  OP(random_iou_crop)                                                          \
  OP(sanitize_boxes)                                                           \
  OP(horizontal_flip)                                                          \
  OP(vertical_flip)                                                            \
  OP(random_rotation)                                                          \
  OP(random_affine)                                                            \
  OP(random_perspective)                                                       \
  OP(color_jitter)                                                             \
  OP(brightness)                                                               \
  OP(contrast)                                                                 \
  OP(saturation)                                                               \
  OP(hue)                                                                      \
  OP(grayscale)                                                                \
  OP(random_grayscale)                                                         \
  OP(random_invert)                                                            \
  OP(random_posterize)                                                         \
  OP(random_solarize)                                                          \
  OP(random_autocontrast)                                                      \
  OP(random_equalize)                                                          \
  OP(random_adjust_sharpness)                                                  \
  OP(random_channel_permutation)                                               \
  OP(random_photometric_distort)                                               \
  OP(gaussian_blur)                                                            \
  OP(pil_gaussian_blur)                                                        \
  OP(trivial_augment_wide)                                                     \
  OP(rand_augment)                                                             \
  OP(auto_augment)                                                             \
  OP(timm_augment)                                                             \
  OP(random_apply)                                                             \
  OP(random_choice)                                                            \
  OP(random_order)                                                             \
  OP(normalize)                                                                \
  OP(random_erasing)                                                           \
  OP(mix)

#define FDL_OP_DECLARE(name) extern const struct fdl_op fdl_op_##name;
FDL_OPS(FDL_OP_DECLARE)

#endif
