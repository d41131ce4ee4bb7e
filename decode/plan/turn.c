/* SPDX-License-Identifier: Apache-2.0 */
/* Columns become rows, in square blocks: each line of the cache is touched
 * once. */
#include "decode/plan/turn.h"

#include "base/compiler.h"
#include "base/status.h"

#define BLOCK 32

/* Of the image after its sides were swapped. */
struct turn {
    bool mirror_x, mirror_y;
};

/* One block: pixels [x, x_end) x [y, y_end) of a plane. */
struct block {
    int32_t x, y, x_end, y_end;
};

static void turn_block(const struct turn *t, const struct fdl_image *in,
                       const struct fdl_image *out, int32_t c, struct block b)
{
    size_t width = (size_t)in->width;
    for (int32_t y = b.y; y < b.y_end; y++) { /* of the result */
        int32_t x_in = t->mirror_y ? in->width - 1 - y : y;
        const uint8_t *from = fdl_image_row(in, c, 0) + x_in;
        uint8_t *to = fdl_image_row(out, c, y);
        for (int32_t x = b.x; x < b.x_end; x++) {
            int32_t y_in = t->mirror_x ? in->height - 1 - x : x;
            to[x] = from[(size_t)y_in * width];
        }
    }
}

static int32_t run(const struct fdl_step *step, struct fdl_canvas *canvas)
{
    struct turn t;
    struct fdl_image *in = &canvas->image, out;
    fdl_step_values(step, &t, sizeof(t));
    int32_t status = fdl_canvas_spare(canvas, in->height, in->width, &out);
    if (status)
        return status;
    for (int32_t c = 0; c < in->channels; c++) {
        for (int32_t y = 0; y < out.height; y += BLOCK) {
            for (int32_t x = 0; x < out.width; x += BLOCK) {
                struct block b = {x, y, FDL_MIN(x + BLOCK, out.width),
                                  FDL_MIN(y + BLOCK, out.height)};
                turn_block(&t, in, &out, c, b);
            }
        }
    }
    fdl_canvas_swap(canvas, &out);
    return FEEDLINE_OK;
}

static const struct fdl_step_kind kind = {.moves = true, .run = run};

void fdl_plan_transpose(struct fdl_plan *plan, enum fdl_transpose how)
{
    int32_t width = fdl_plan_width(plan), height = fdl_plan_height(plan);
    if (how == FDL_FLIP_LEFT_RIGHT || how == FDL_ROTATE_180)
        fdl_plan_flip(plan);
    if (how == FDL_FLIP_TOP_BOTTOM || how == FDL_ROTATE_180)
        fdl_plan_flip_vertical(plan);
    if (how < FDL_ROTATE_90 || how == FDL_ROTATE_180)
        return;
    struct turn t = {
        .mirror_x = how == FDL_ROTATE_270 || how == FDL_TRANSVERSE,
        .mirror_y = how == FDL_ROTATE_90 || how == FDL_TRANSVERSE,
    };
    fdl_plan_add(plan, &kind, &t, sizeof(t));
    plan->width = height;
    plan->height = width;
}
