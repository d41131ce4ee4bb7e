/* SPDX-License-Identifier: Apache-2.0 */
/* The step that moves pixels without changing them: crop, flip, pad, or all of
 * them at once. Operations ask for it through plan.h. */
#ifndef FDL_DECODE_FRAME_H
#define FDL_DECODE_FRAME_H

#include "base/choice.h"
#include "decode/pixels/geometry.h"
#include "decode/plan/step.h"

#include <stdbool.h>
#include <stdint.h>

/* Edges that a window reaches over. */
#define FDL_PADDING_CHOICES(C)                                                 \
  C(FDL_PAD_CONSTANT, "constant")   /* fill */                                 \
  C(FDL_PAD_EDGE, "edge")           /* the last pixel again */                 \
  C(FDL_PAD_REFLECT, "reflect")     /* mirrored, without the last pixel */     \
  C(FDL_PAD_SYMMETRIC, "symmetric") /* mirrored, with it */
enum fdl_padding { FDL_CHOICE_VALUES(FDL_PADDING_CHOICES) };

struct fdl_frame_step {
    struct fdl_box box; /* of the image; may reach over its edges */
    enum fdl_padding padding;
    bool mirror_x, mirror_y; /* the box */
    uint8_t fill[4];         /* per channel */
};

extern const struct fdl_step_kind fdl_frame_kind;

/* Left becomes right, without values. */
extern const struct fdl_step_kind fdl_mirror_kind;

/* What that step does. ENOMEM. */
int32_t fdl_frame_run(const struct fdl_frame_step *w,
                      struct fdl_canvas *canvas);

/* Where pixel `at` of a line of n comes from, -1: from the fill. */
int32_t fdl_padding_source(enum fdl_padding padding, int32_t at, int32_t n);

#endif
