/* SPDX-License-Identifier: Apache-2.0 */
/* One step of a plan: what is done, and the values drawn for it. */
#ifndef FDL_DECODE_STEP_H
#define FDL_DECODE_STEP_H

#include "decode/pixels/output_format.h"
#include "decode/plan/canvas.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Most bytes of drawn values in a step. */
#define FDL_STEP_BYTES 128

/* What may be reordered with a step without changing pixels. */
#define FDL_WITH_FLIP 0x1u
#define FDL_WITH_CROP 0x2u

struct fdl_step;

struct fdl_step_kind {
    uint32_t commutes; /* FDL_WITH_* */
    bool moves;        /* pixels, as they are: masks have this step, too */

    /* A pixel step; NULL in a finished step. */
    int32_t (*run)(const struct fdl_step *step, struct fdl_canvas *canvas);

    /* In place of run: rows [y, y + n) are made in place, each of itself. */
    void (*rows)(const struct fdl_step *step, struct fdl_canvas *canvas,
                 int32_t y, int32_t n);

    /* NULL, or: from now on it makes `box` of its result alone, and gets only
     * that part of its image, which is returned. */
    struct fdl_box (*crop)(struct fdl_step *step, struct fdl_box box);

    /* A finished step; dst: a part of the sample, which has that format and
     * begins with pixel (x, y) of it. */
    void (*finish)(const struct fdl_step *step,
                   const struct fdl_output_format *format, int32_t x, int32_t y,
                   void *dst);
};

struct fdl_step {
    const struct fdl_step_kind *kind;
    _Alignas(16) uint8_t values[FDL_STEP_BYTES]; /* see fdl_step_values */
};

/* Pixel steps, one after the other; neighbours that work on rows do so while
 * these are in the first-level cache. */
int32_t fdl_steps_run(const struct fdl_step *steps, uint32_t n,
                      struct fdl_canvas *canvas);

static inline void fdl_step_values(const struct fdl_step *step, void *values,
                                   size_t bytes)
{
    memcpy(values, step->values, bytes);
}

#endif
