/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of single values: Pillow's ImageOps without alpha. Neighbours of a
 * plan share a step; from its first histogram on they are one table per
 * channel, through which the histogram goes too.
 */
#ifndef FDL_DECODE_POINT_H
#define FDL_DECODE_POINT_H

#include "decode/plan/plan.h"

enum fdl_point {
    FDL_POINT_INVERT,
    FDL_POINT_POSTERIZE,    /* argument: bits to keep, 0 to 8 */
    FDL_POINT_SOLARIZE,     /* argument: values from here on are inverted */
    FDL_POINT_SOLARIZE_ADD, /* argument: added to values below 128 */
    FDL_POINT_AUTOCONTRAST,
    FDL_POINT_AUTOCONTRAST_TENSOR, /* of v2 on uint8 tensors */
    FDL_POINT_EQUALIZE,
    FDL_POINT_BRIGHTNESS, /* argument: the factor; fdl_plan_adjust uses it */
};

/* A uint8_t[256] for each channel, alpha too; it is there until the plan is
 * done. */
void fdl_plan_tables(struct fdl_plan *plan, const uint8_t *tables);

/* Adds it; nothing if it would change nothing. */
void fdl_plan_point(struct fdl_plan *plan, enum fdl_point which,
                    double argument);

#endif
