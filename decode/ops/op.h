/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in operations. To add one, write decode/ops/op_NAME.c, which
 * defines fdl_op_NAME, and add its line to FDL_OPS.
 */
#ifndef FDL_DECODE_OP_H
#define FDL_DECODE_OP_H

#include "decode/pipeline.h"

/* A row of options: enum fdl_filter. */
#define FDL_OP_INTERPOLATION                                                   \
  {                                                                            \
    .name = "interpolation", .type = FEEDLINE_T_ENUM,                          \
    .default_text = "bilinear", .unit = "",                                    \
    .choices = "bilinear|nearest|box|hamming|bicubic|lanczos",                 \
    .help = "the filter, as in Pillow; all but nearest with antialias"         \
  }

/* Rows 0 and 1 of an operation whose result has a fixed size, which goes with
 * fdl_op_fixed_size. "size=N" sets both. */
#define FDL_OP_WIDTH(what)                                                     \
  FDL_OP_FIXED_SIDE("width", "width of " what "; size=N sets both")
#define FDL_OP_HEIGHT(what) FDL_OP_FIXED_SIDE("height", "height of " what)
#define FDL_OP_FIXED_SIDE(key, about)                                          \
  {                                                                            \
    .name = key, .type = FEEDLINE_T_INT, .min = 1, .max = FDL_OP_SIZE_MAX,     \
    .default_text = "224", .unit = "pixels", .shorthand = "size",              \
    .help = about                                                              \
  }

void fdl_op_fixed_size(const struct fdl_options *o, int32_t *width,
                       int32_t *height);

/* A row of options: how likely something is. */
#define FDL_OP_PROBABILITY(text, about)                                        \
  {                                                                            \
    .name = "p", .type = FEEDLINE_T_DOUBLE, .double_max = 1,                   \
    .default_text = text, .unit = "", .help = "probability that " about        \
  }

/* For check_channels: operations that images with alpha cannot have, and rows
 * of 1 number, or one per channel. Of 3 gray images take the first. */
int32_t fdl_op_refuse_alpha(const struct fdl_options *o, int32_t channels);
int32_t fdl_op_check_numbers(const struct fdl_options *o, uint32_t row,
                             int32_t channels);

/* In the order in which they are listed. CMakeLists.txt reads it too. */
#define FDL_OPS(OP)                                                            \
  OP(random_resized_crop)                                                      \
  OP(resize)                                                                   \
  OP(resize_pad)                                                               \
  OP(center_crop)                                                              \
  OP(random_crop)                                                              \
  OP(five_crop)                                                                \
  OP(ten_crop)                                                                 \
  OP(pad)                                                                      \
  OP(horizontal_flip)                                                          \
  OP(vertical_flip)                                                            \
  OP(random_rotation)                                                          \
  OP(color_jitter)                                                             \
  OP(brightness)                                                               \
  OP(contrast)                                                                 \
  OP(saturation)                                                               \
  OP(hue)                                                                      \
  OP(grayscale)                                                                \
  OP(random_grayscale)                                                         \
  OP(normalize)                                                                \
  OP(random_erasing)

#define FDL_OP_DECLARE(name) extern const struct fdl_op fdl_op_##name;
FDL_OPS(FDL_OP_DECLARE)

#endif
