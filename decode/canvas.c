/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of a canvas, and the walk over a plan's pixel steps. */
#include "decode/canvas.h"

#include "base/memory.h"
#include "base/status.h"
#include "decode/kernels/levels.h"
#include "decode/kernels/resample.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define KEPT 4 /* of the buffers */

static int32_t grow(struct fdl_canvas *c, uint32_t which, size_t bytes,
                    const char *what)
{
    if (bytes <= c->buffers[which].bytes)
        return FEEDLINE_OK;
    free(c->buffers[which].data);
    c->buffers[which].bytes = 0;
    c->buffers[which].data = fdl_alloc_aligned(bytes);
    if (!c->buffers[which].data)
        return fdl_fail_memory(bytes, what);
    memset(c->buffers[which].data, 0, bytes);
    c->buffers[which].bytes = bytes;
    return FEEDLINE_OK;
}

static int32_t image_in(struct fdl_canvas *c, uint32_t which, int32_t width,
                        int32_t height, int32_t channels, struct fdl_image *out)
{
    size_t plane, bytes;
    if (!fdl_mul_size((size_t)width, (size_t)height, &plane) ||
        !fdl_mul_size(plane, (size_t)channels, &bytes) ||
        !fdl_add_size(bytes, FDL_PLANE_ALIGN, &bytes))
        return fdl_fail_memory(UINT64_MAX, "an image");
    int32_t status = grow(c, which, bytes, "an image");
    if (!status)
        *out = (struct fdl_image){c->buffers[which].data, width, height,
                                  channels, plane};
    return status;
}

int32_t fdl_canvas_begin(struct fdl_canvas *c, int32_t width, int32_t height,
                         int32_t channels)
{
    c->turn = 0;
    c->view = 0;
    c->kernels = fdl_kernels[fdl_cpu_level()].blend;
    return image_in(c, 0, width, height, channels, &c->image);
}

void fdl_canvas_tell(const struct fdl_canvas *c, uint32_t step)
{
    if (c->step)
        atomic_store_explicit(c->step, step, memory_order_relaxed);
}

int32_t fdl_canvas_run(struct fdl_canvas *c, const struct fdl_plan *plan,
                       uint32_t first, uint32_t end,
                       struct fdl_render_cost *cost)
{
    c->cost = cost;
    fdl_canvas_tell(c, FDL_STEP_AUGMENT);
    for (uint32_t i = first; i < end; i++) {
        const struct fdl_step *step = &plan->steps[i];
        int32_t status = step->kind->run(step, c);
        if (status)
            return status;
    }
    return FEEDLINE_OK;
}

/* Nothing is copied: its buffer leaves the turn, and another one comes in. */
void fdl_canvas_keep(struct fdl_canvas *c)
{
    fdl_assert(c->image.data == c->buffers[c->turn].data);
    void *data = c->buffers[KEPT].data;
    size_t bytes = c->buffers[KEPT].bytes;
    c->buffers[KEPT] = c->buffers[c->turn];
    c->buffers[c->turn].data = data;
    c->buffers[c->turn].bytes = bytes;
    c->kept = c->image;
}

void fdl_canvas_begin_view(struct fdl_canvas *c, uint32_t view)
{
    c->image = c->kept;
    c->view = view;
}

void fdl_canvas_fini(struct fdl_canvas *c)
{
    for (size_t i = 0; i < FDL_COUNT_OF(c->buffers); i++)
        free(c->buffers[i].data);
}

uint64_t fdl_canvas_memory(const struct fdl_canvas *c)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < FDL_COUNT_OF(c->buffers); i++)
        bytes += c->buffers[i].bytes;
    return bytes;
}

int32_t fdl_canvas_spare(struct fdl_canvas *c, int32_t width, int32_t height,
                         struct fdl_image *out)
{
    return image_in(c, 1 - c->turn, width, height, c->image.channels, out);
}

void fdl_canvas_swap(struct fdl_canvas *c, const struct fdl_image *image)
{
    c->image = *image;
    c->turn = 1 - c->turn;
}

int32_t fdl_canvas_scratch(struct fdl_canvas *c, enum fdl_canvas_scratch which,
                           size_t bytes, uint8_t **out)
{
    int32_t status = grow(c, which, bytes, "scratch of an operation");
    if (!status)
        *out = c->buffers[which].data;
    return status;
}

uint8_t *fdl_image_row(const struct fdl_image *image, int32_t channel,
                       int32_t y)
{
    size_t row = (size_t)y * (size_t)image->width;
    return image->data + (size_t)channel * image->plane + row;
}
