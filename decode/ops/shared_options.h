/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several operations share: rows of their tables, checks of the
 * arguments, and what they mean. */
#ifndef FDL_DECODE_SHARED_OPTIONS_H
#define FDL_DECODE_SHARED_OPTIONS_H

#include "base/option.h"
#include "base/philox.h"
#include "decode/pixels/geometry.h"
#include "decode/plan/frame.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_plan; /* plan/plan.h */

/* Largest side that an option may ask for. */
#define FDL_OP_SIZE_MAX 65500

/* ---- Rows of any kind --------------------------------------------------- */

#define FDL_OP_INT(key, low, high, text, of, about)                            \
  {                                                                            \
    .name = key, .type = FEEDLINE_T_INT, .min = (low), .max = (high),          \
    .default_text = text, .unit = of, .help = about                            \
  }
#define FDL_OP_DOUBLE(key, low, high, text, of, about)                         \
  {                                                                            \
    .name = key, .type = FEEDLINE_T_DOUBLE, .double_min = (low),               \
    .double_max = (high), .default_text = text, .unit = of, .help = about      \
  }
#define FDL_OP_ENUM(key, all, text, about)                                     \
  {                                                                            \
    .name = key, .type = FEEDLINE_T_ENUM, .choices = all,                      \
    .default_text = text, .unit = "", .help = about                            \
  }
/* all: "false|true|more", of which the last one has number `most`. */
#define FDL_OP_SWITCH(key, all, most, text, about)                             \
  {                                                                            \
    .name = key, .type = FEEDLINE_T_BOOL, .choices = all, .max = (most),       \
    .default_text = text, .unit = "", .help = about                            \
  }
#define FDL_OP_BOOL(key, text, about) FDL_OP_SWITCH(key, NULL, 1, text, about)
/* each: how many they are, and what they have to be to each other; NULL. */
#define FDL_OP_DOUBLES(key, low, high, text, of, about, each)                  \
  {                                                                            \
    .name = key, .type = FEEDLINE_T_DOUBLES, .double_min = (low),              \
    .double_max = (high), .default_text = text, .unit = of, .help = about,     \
    .check = each                                                              \
  }
/* A row of numbers: one for all channels, or one for each. */
#define FDL_OP_CHANNELS(key, low, high, text, about, each)                     \
  {                                                                            \
    .name = key, .type = FEEDLINE_T_DOUBLES, .double_min = (low),              \
    .double_max = (high), .default_text = text, .unit = "", .help = about,     \
    .check = each, .per_channel = true                                         \
  }

/* ---- Rows that several have --------------------------------------------- */

/* A row of options: enum fdl_filter. */
#define FDL_OP_INTERPOLATION                                                   \
  FDL_OP_ENUM("interpolation", FDL_CHOICE_TEXT(FDL_FILTER_CHOICES),            \
              "bilinear",                                                      \
              "the filter, as in Pillow; all but nearest with antialias")

/* A row of options: a filter, or "random", which draws one of two with the rng
 * of fdl_op_draw_filter. */
#define FDL_OP_FILTER_OR_RANDOM(C)                                             \
  FDL_FILTER_CHOICES(C) C(FDL_FILTERS, "random")
#define FDL_OP_INTERPOLATION_DRAWN                                             \
  FDL_OP_ENUM("interpolation", FDL_CHOICE_TEXT(FDL_OP_FILTER_OR_RANDOM),       \
              "bilinear",                                                      \
              "the filter, as in Pillow, all but nearest with antialias; "     \
              "random draws bilinear or bicubic, as timm's")
enum fdl_filter fdl_op_draw_filter(const struct fdl_options *o, uint32_t row,
                                   struct fdl_rng *rng,
                                   const struct fdl_plan *plan);
/* Rows of operations that torch does otherwise with uint8 tensors. */
#define FDL_OP_PIXELS                                                          \
  {                                                                            \
    .name = "pixels", .type = FEEDLINE_T_ENUM, .default_text = "pillow",       \
    .unit = "", .choices = "pillow|tensor",                                    \
    .help =                                                                    \
        "round as Pillow does, or as torchvision v2 does on uint8 tensors",    \
    .check = fdl_op_check_pixels                                               \
  }

/* Not all filters are torch's: EINVAL for the others, of operations that have
 * one. */
int32_t fdl_op_check_pixels(const struct fdl_options *o, uint32_t row);

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

/* output_size of one whose result depends on the image. */
void fdl_op_any_size(const struct fdl_options *o, int32_t *width,
                     int32_t *height);

/* A row of options: how likely something is. */
#define FDL_OP_PROBABILITY(text, about)                                        \
  FDL_OP_DOUBLE("p", 0, 1, text, "", "probability that " about)

/* Rows of angles: the largest to both sides, or a range; EINVAL: neither. */
#define FDL_OP_DEGREES_MAX 1e6
#define FDL_OP_DEGREES(text)                                                   \
  FDL_OP_DOUBLES("degrees", -FDL_OP_DEGREES_MAX, FDL_OP_DEGREES_MAX, text,     \
                 "degrees", "largest angle either way, or the range",          \
                 fdl_op_check_sides)
int32_t fdl_op_check_sides(const struct fdl_options *o, uint32_t row);
struct fdl_option_value fdl_op_sides(const struct fdl_options *o, uint32_t row);

/* A row with a point. EINVAL: neither two numbers nor -1, which leaves point as
 * it is and returns false. */
#define FDL_OP_CENTER                                                          \
  FDL_OP_DOUBLES("center", -FDL_OP_SIZE_MAX, FDL_OP_SIZE_MAX, "-1", "pixels",  \
                 "x, y of the fixed point; -1: the centre of the image",       \
                 fdl_op_check_center)
int32_t fdl_op_check_center(const struct fdl_options *o, uint32_t row);
bool fdl_op_center(const struct fdl_options *o, uint32_t row, double point[2]);

/* Rows of ranges: two numbers of which the first is the smaller one; EINVAL:
 * neither. */
#define FDL_OP_RANGE(key, low, high, text, about)                              \
  FDL_OP_DOUBLES(key, low, high, text, "", about, fdl_op_check_range)
int32_t fdl_op_check_range(const struct fdl_options *o, uint32_t row);

bool fdl_op_are_whole(const struct fdl_option_value *v);

/* A row that is per_channel. EINVAL: more numbers than there can be channels.
 */
int32_t fdl_op_check_count(const struct fdl_options *o, uint32_t row);
double fdl_op_number(const struct fdl_options *o, uint32_t row,
                     uint32_t channel);

/* check_channels of operations that images with alpha cannot have. */
int32_t fdl_op_refuse_alpha(const struct fdl_options *o, int32_t channels);

/* Rows that are per_channel. Of 3 numbers gray images take the first. */
int32_t fdl_op_check_numbers(const struct fdl_options *o, int32_t channels);

/* ---- Resampling --------------------------------------------------------- */

/* The size of an image of w x h whose shorter side becomes `size`; what is
 * longer is truncated, as torchvision's int() does. */
void fdl_op_shorter_side(int64_t size, int32_t w, int32_t h, int64_t *width,
                         int64_t *height);

/* Resamples to a size that follows from the image, 1 at least, by the filter of
 * that row. EINVAL: above FDL_OP_SIDE_MAX. */
int32_t fdl_op_resample(const struct fdl_options *o, uint32_t row,
                        struct fdl_rng *rng, struct fdl_plan *plan,
                        int64_t width, int64_t height);

/* ---- Draws -------------------------------------------------------------- */

/* Evenly from the range. */
double fdl_op_draw(struct fdl_rng *rng, double low, double high);

/* 0 to n - 1 in an order, each as likely. */
void fdl_op_draw_order(struct fdl_rng *rng, uint32_t n, uint32_t *order);

/* Moves box to a place that is drawn evenly from all where it is inside. */
void fdl_op_draw_place(struct fdl_rng *rng, int32_t width, int32_t height,
                       struct fdl_box *box);

/* ---- Borders ------------------------------------------------------------ */

/* Widest border. */
#define FDL_PADDING_MAX 65500

#define FDL_OPTION_PADDING(text)                                               \
  FDL_OP_DOUBLES(                                                              \
      "padding", 0, FDL_PADDING_MAX, text, "pixels",                           \
      "border: all sides; left and right, top and bottom; or left, "           \
      "top, right, bottom",                                                    \
      fdl_padding_check)
#define FDL_OPTION_FILL                                                        \
  FDL_OP_CHANNELS("fill", 0, 255, "0",                                         \
                  "colour outside the image, per channel or one for all",      \
                  fdl_fill_check)
#define FDL_OPTION_PADDING_MODE                                                \
  FDL_OP_ENUM("padding_mode", FDL_CHOICE_TEXT(FDL_PADDING_CHOICES),            \
              "constant",                                                      \
              "content of the border: fill, the edge pixel, or the image "     \
              "mirrored without (reflect) or with (symmetric) the edge "       \
              "pixel")

struct fdl_margins {
    int32_t left, top, right, bottom;
};

/* EINVAL: not 1, 2 or 4 whole numbers; not 1 to 4 whole numbers. */
int32_t fdl_padding_check(const struct fdl_options *o, uint32_t row);
int32_t fdl_fill_check(const struct fdl_options *o, uint32_t row);

struct fdl_margins fdl_padding_margins(const struct fdl_options *o,
                                       uint32_t row);
void fdl_padding_grow(const struct fdl_margins *m, struct fdl_box *box);
void fdl_fill_of(const struct fdl_options *o, uint32_t row, uint8_t fill[4]);

#endif
