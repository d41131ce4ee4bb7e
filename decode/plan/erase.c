/* SPDX-License-Identifier: Apache-2.0 */
/* Noise can begin anywhere in its stream, since only a part of the sample may
 * be there. */
#include "decode/plan/erase.h"

#include "base/compiler.h"

#include <string.h>

/* Draws of one fdl_rng_normal. */
#define NUMBERS_OF_PAIR 4

typedef void erase_fn(const struct fdl_erase_step *e, int32_t c, int32_t x,
                      int32_t y, int32_t n,
                      const struct fdl_output_format *format, void *dst,
                      int32_t to_x, int32_t to_y);

/* The row of `n` pixels in plane c that begins with pixel (x, y) of the box;
 * noise follows the planes and rows of it. */
static void erase_row(const struct fdl_erase_step *e, int32_t c, int32_t x,
                      int32_t y, int32_t n,
                      const struct fdl_output_format *format, void *dst,
                      int32_t to_x, int32_t to_y)
{
    struct fdl_rng rng = e->rng;
    double pair[2];
    uint64_t at = ((uint64_t)(c * e->box.height + y)) * (uint64_t)e->box.width +
                  (uint64_t)x;
    if (e->noise)
        fdl_rng_skip(&rng, at / 2 * NUMBERS_OF_PAIR);
    if (e->noise && at % 2 == 1)
        fdl_rng_normal(&rng, pair);
    for (int32_t i = 0; i < n; i++, at++) {
        if (e->noise && at % 2 == 0)
            fdl_rng_normal(&rng, pair);
        float value = e->noise ? (float)pair[at % 2] : e->value[c];
        fdl_output_store(format, dst, c, to_y, to_x + i, value);
    }
}

/* The same row of elements that are there. */
static void copy_row(const struct fdl_erase_step *e, int32_t c, int32_t x,
                     int32_t y, int32_t n,
                     const struct fdl_output_format *format, void *dst,
                     int32_t to_x, int32_t to_y)
{
    size_t bytes = fdl_dtype_bytes(format->dtype);
    size_t row = (size_t)c * (size_t)e->box.height + (size_t)y;
    size_t at = row * (size_t)e->box.width + (size_t)x;
    const uint8_t *from = (const uint8_t *)e->elements + at * bytes;
    for (int32_t i = 0; i < n; i++, from += bytes) {
        size_t place = fdl_output_place(format, c, to_y, to_x + i);
        memcpy((uint8_t *)dst + place * bytes, from, bytes);
    }
}

static void finish(const struct fdl_step *step,
                   const struct fdl_output_format *format, int32_t x, int32_t y,
                   void *dst)
{
    struct fdl_erase_step e;
    fdl_step_values(step, &e, sizeof(e));
    erase_fn *put_row = e.elements ? copy_row : erase_row;
    int32_t left = FDL_MAX(e.box.x, x), top = FDL_MAX(e.box.y, y);
    int32_t right = FDL_MIN(e.box.x + e.box.width, x + format->width);
    int32_t bottom = FDL_MIN(e.box.y + e.box.height, y + format->height);
    for (int32_t c = 0; c < format->channels && left < right; c++)
        for (int32_t row = top; row < bottom; row++)
            put_row(&e, c, left - e.box.x, row - e.box.y, right - left, format,
                    dst, left - x, row - y);
}

static const struct fdl_step_kind kind = {.finish = finish};

void fdl_plan_erase(struct fdl_plan *plan, const struct fdl_erase_step *e)
{
    fdl_plan_add(plan, &kind, e, sizeof(*e));
}
