/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in operations, one per file op_*.c; op.c lists them. */
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

extern const struct fdl_op fdl_op_random_resized_crop;
extern const struct fdl_op fdl_op_resize;
extern const struct fdl_op fdl_op_center_crop;
extern const struct fdl_op fdl_op_horizontal_flip;
extern const struct fdl_op fdl_op_vertical_flip;
extern const struct fdl_op fdl_op_normalize;
extern const struct fdl_op fdl_op_brightness;
extern const struct fdl_op fdl_op_contrast;
extern const struct fdl_op fdl_op_saturation;
extern const struct fdl_op fdl_op_hue;
extern const struct fdl_op fdl_op_color_jitter;
extern const struct fdl_op fdl_op_grayscale;
extern const struct fdl_op fdl_op_random_grayscale;
extern const struct fdl_op fdl_op_pad;
extern const struct fdl_op fdl_op_random_crop;
extern const struct fdl_op fdl_op_resize_pad;
extern const struct fdl_op fdl_op_random_rotation;
extern const struct fdl_op fdl_op_random_erasing;

#endif
