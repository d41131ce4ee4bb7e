/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is among the buffers of a canvas. */
#include "decode/plan/canvas.h"

#include "base/compiler.h"
#include "base/memory.h"
#include "base/status.h"
#include "decode/kernels/alpha.h"
#include "decode/kernels/levels.h"

#include <stdatomic.h>

static int32_t image_in(struct fdl_scratch *buffer, int32_t width,
                        int32_t height, int32_t channels, struct fdl_image *out)
{
    size_t plane;
    if (!fdl_mul_size((size_t)width, (size_t)height, &plane))
        return fdl_fail_memory(UINT64_MAX, "an image");
    int32_t status = fdl_scratch_grow_rows(buffer, plane, (size_t)channels,
                                           FDL_PLANE_ALIGN, "an image");
    if (!status)
        *out = (struct fdl_image){buffer->data, width, height, channels, plane};
    return status;
}

int32_t fdl_canvas_begin(struct fdl_canvas *c, int32_t width, int32_t height,
                         int32_t channels)
{
    c->turn = 0;
    c->view = 0;
    c->lines = NULL;
    c->kernels = fdl_kernels[fdl_cpu_level()].blend;
    return image_in(&c->images[0], width, height, channels, &c->image);
}

void fdl_canvas_tell(const struct fdl_canvas *c, uint32_t step)
{
    if (c->step)
        atomic_store_explicit(c->step, step, memory_order_relaxed);
}

/* Nothing is copied: its buffer leaves the turn, and another one comes in. */
void fdl_canvas_keep(struct fdl_canvas *c)
{
    struct fdl_scratch *now = &c->images[c->turn], other = c->apart;
    fdl_assert(c->image.data == now->data);
    c->apart = *now;
    *now = other;
    c->kept = c->image;
}

void fdl_canvas_begin_view(struct fdl_canvas *c, uint32_t view)
{
    c->image = c->kept;
    c->view = view;
}

void fdl_canvas_fini(struct fdl_canvas *c)
{
    for (size_t i = 0; i < FDL_COUNT_OF(c->images); i++)
        fdl_scratch_fini(&c->images[i]);
    for (size_t i = 0; i < FDL_SCRATCHES; i++)
        fdl_scratch_fini(&c->scratch[i]);
    fdl_scratch_fini(&c->apart);
    fdl_axis_fini(&c->horizontal);
    fdl_axis_fini(&c->vertical);
}

uint64_t fdl_canvas_memory(const struct fdl_canvas *c)
{
    uint64_t sum = c->images[0].bytes + c->images[1].bytes + c->apart.bytes;
    for (size_t i = 0; i < FDL_SCRATCHES; i++)
        sum += c->scratch[i].bytes;
    return sum + fdl_axis_memory(&c->horizontal) +
           fdl_axis_memory(&c->vertical);
}

int32_t fdl_canvas_spare(struct fdl_canvas *c, int32_t width, int32_t height,
                         struct fdl_image *out)
{
    return fdl_canvas_spare_of(c, width, height, c->image.channels, out);
}

int32_t fdl_canvas_spare_of(struct fdl_canvas *c, int32_t width, int32_t height,
                            int32_t channels, struct fdl_image *out)
{
    return image_in(&c->images[1 - c->turn], width, height, channels, out);
}

void fdl_canvas_swap(struct fdl_canvas *c, const struct fdl_image *image)
{
    c->image = *image;
    c->turn = 1 - c->turn;
}

int32_t fdl_canvas_scratch(struct fdl_canvas *c, enum fdl_canvas_scratch which,
                           size_t bytes, uint8_t **out)
{
    int32_t status =
        fdl_scratch_grow(&c->scratch[which], bytes, "scratch of an operation");
    if (!status)
        *out = c->scratch[which].data;
    return status;
}

void fdl_canvas_multiply(const struct fdl_image *image)
{
    size_t colours = FDL_COLOURS(image->channels);
    for (size_t c = 0; c < colours; c++)
        fdl_alpha_multiply(image->data + c * image->plane, image->plane, 1,
                           image->data + colours * image->plane);
}

void fdl_canvas_divide(const struct fdl_image *image)
{
    size_t colours = FDL_COLOURS(image->channels);
    for (size_t c = 0; c < colours; c++)
        fdl_alpha_divide(image->data + c * image->plane, image->plane,
                         image->data + colours * image->plane);
}

void fdl_canvas_luma(const struct fdl_canvas *c, bool tensor, uint8_t *out)
{
    const struct fdl_image *image = &c->image;
    const uint8_t *r = image->data, *g = r + image->plane;
    const uint8_t *b = g + image->plane;
    if (tensor)
        c->kernels->torch_luma(r, g, b, image->plane, out);
    else
        c->kernels->luma(r, g, b, image->plane, out);
}
