/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in operations, one per file op_*.c; op.c lists them. */
#ifndef FDL_DECODE_OP_H
#define FDL_DECODE_OP_H

#include "decode/pipeline.h"

extern const struct fdl_op fdl_op_random_resized_crop;
extern const struct fdl_op fdl_op_resize;
extern const struct fdl_op fdl_op_center_crop;
extern const struct fdl_op fdl_op_horizontal_flip;
extern const struct fdl_op fdl_op_normalize;

#endif
