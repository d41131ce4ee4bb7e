/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Affine and perspective maps, Pillow's transform and rotate to the bit. What
 * moves an image by whole pixels becomes a window of it (plan.h),
 * and what does not move it, nothing.
 */
#ifndef FDL_DECODE_AFFINE_H
#define FDL_DECODE_AFFINE_H

#include "base/choice.h"
#include "decode/plan/plan.h"

#include <stdint.h>

#define FDL_MAP_FILTER_CHOICES(C)                                              \
  C(FDL_MAP_NEAREST, "nearest")                                                \
  C(FDL_MAP_BILINEAR, "bilinear")                                              \
  C(FDL_MAP_BICUBIC, "bicubic")
enum fdl_map_filter { FDL_CHOICE_VALUES(FDL_MAP_FILTER_CHOICES) };

/* A row of options: that. */
#define FDL_OP_MAP_FILTER(text)                                                \
  {                                                                            \
    .name = "interpolation", .type = FEEDLINE_T_ENUM, .default_text = (text),  \
    .unit = "", .choices = FDL_CHOICE_TEXT(FDL_MAP_FILTER_CHOICES),            \
    .help = "filter that interpolates between pixels"                          \
  }

/* Point (x, y) of the result is (a0 x + a1 y + a2, a3 x + a4 y + a5) of the
 * image; with perspective, both over a6 x + a7 y + 1. The result is as large as
 * the image, or width x height. The errors of fdl_plan_window. */
int32_t fdl_plan_affine(struct fdl_plan *plan, const double a[6],
                        enum fdl_map_filter filter, const uint8_t fill[4]);
int32_t fdl_plan_affine_to(struct fdl_plan *plan, const double a[6],
                           enum fdl_map_filter filter, int32_t width,
                           int32_t height, const uint8_t fill[4]);
void fdl_plan_perspective(struct fdl_plan *plan, const double a[8],
                          enum fdl_map_filter filter, const uint8_t fill[4]);
void fdl_plan_perspective_to(struct fdl_plan *plan, const double a[8],
                             enum fdl_map_filter filter, int32_t width,
                             int32_t height, const uint8_t fill[4]);

/* Counter-clockwise about the centre; or about (x, y), which Pillow computes
 * differently even for the centre. */
int32_t fdl_plan_rotate(struct fdl_plan *plan, double degrees,
                        enum fdl_map_filter filter, const uint8_t fill[4]);
int32_t fdl_plan_rotate_about(struct fdl_plan *plan, double degrees,
                              const double point[2], enum fdl_map_filter filter,
                              const uint8_t fill[4]);

/* The map of torchvision's affine, clockwise; angle and shear in degrees. */
void fdl_affine_torchvision(double out[6], double angle,
                            const double translate[2], double scale,
                            const double shear[2], const double center[2]);

#endif
