/* SPDX-License-Identifier: Apache-2.0 */
/* Options that operations with borders share: how wide, which colour, which
 * pixels. */
#ifndef FDL_DECODE_PADDING_H
#define FDL_DECODE_PADDING_H

#include "base/option.h"
#include "decode/geometry.h"
#include "decode/plan.h"

/* Widest border. */
#define FDL_PADDING_MAX 65500

#define FDL_OPTION_PADDING(text)                                               \
  {                                                                            \
    .name = "padding", .type = FEEDLINE_T_DOUBLES,                             \
    .double_max = FDL_PADDING_MAX, .default_text = text, .unit = "pixels",     \
    .help = "border: all sides; left and right, top and bottom; or left, "     \
            "top, right, bottom"                                               \
  }
#define FDL_OPTION_FILL                                                        \
  {                                                                            \
    .name = "fill", .type = FEEDLINE_T_DOUBLES, .double_max = 255,             \
    .default_text = "0", .unit = "",                                           \
    .help = "colour of what is not in the image, per channel or one for all"   \
  }
#define FDL_OPTION_PADDING_MODE /* choices as in enum fdl_padding */           \
  {                                                                            \
    .name = "padding_mode", .type = FEEDLINE_T_ENUM,                           \
    .default_text = "constant", .unit = "",                                    \
    .choices = "constant|edge|reflect|symmetric",                              \
    .help = "what the border shows: fill, the last pixel, or the image "       \
            "mirrored without or with it"                                      \
  }

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
