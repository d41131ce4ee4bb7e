/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both passes over the canvas, plane by plane, with the kernels of the fused
 * path. A kernel may read far behind a row, so each row is copied in front of
 * the horizontal pass to a line with room behind it.
 */
#include "decode/plan/resize.h"

#include "base/compiler.h"
#include "base/memory.h"
#include "base/status.h"
#include "decode/kernels/alpha.h"
#include "decode/kernels/levels.h"

#include <string.h>

struct passes {
    const struct fdl_resample_kernels *kernels;
    const struct fdl_axis *x, *y;
    uint8_t *line;       /* a row of the image, with room behind it */
    uint8_t *short_line; /* a row of the result */
    uint8_t *rows;       /* between the passes */
    size_t pitch;        /* of those */
    const uint8_t **taps;
};

static struct fdl_axis_key key_of(const struct fdl_resize_step *s, int32_t in,
                                  int32_t out, const struct fdl_span *span)
{
    return (struct fdl_axis_key){.in = in,
                                 .out = out,
                                 .count = out,
                                 .filter = s->filter,
                                 .nearest = s->nearest,
                                 .tensor = s->tensor,
                                 .from = span->from,
                                 .span = span->size};
}

static int32_t prepare_axis(struct fdl_axis *axis,
                            const struct fdl_axis_key *key,
                            const struct fdl_packing *packing)
{
    int32_t status = fdl_axis_prepare(axis, key);
    return status ? status : fdl_axis_pack(axis, packing, 1);
}

static int32_t prepare_tables(const struct fdl_resize_step *s,
                              struct fdl_canvas *c,
                              const struct fdl_resample_kernels *kernels)
{
    const struct fdl_image *in = &c->image;
    struct fdl_axis_key x = key_of(s, in->width, s->width, &s->x);
    struct fdl_axis_key y = key_of(s, in->height, s->height, &s->y);
    int32_t status =
        prepare_axis(&c->horizontal, &x, &kernels->horizontal_packing);
    if (!status)
        status = prepare_axis(&c->vertical, &y, &kernels->vertical_packing);
    return status;
}

/* Two lines, pointers to taps, and the rows between the passes if the
 * horizontal one comes first. */
static int32_t prepare_memory(struct passes *p, struct fdl_canvas *c,
                              bool columns_first)
{
    size_t long_line = fdl_plane_bytes(c->image.width) + FDL_ROW_SLACK +
                       fdl_plane_bytes(p->x->taps + FDL_TAP_BLOCK);
    size_t taps = (size_t)p->y->taps * sizeof(*p->taps), bytes, rows;
    p->pitch = fdl_plane_bytes(p->x->key.count);
    size_t count = columns_first ? 0 : (size_t)p->y->extent;
    uint8_t *at;
    if (!fdl_mul_size(count, p->pitch, &rows) ||
        !fdl_add_size(rows, long_line + p->pitch + taps + FDL_PLANE_ALIGN,
                      &bytes))
        return fdl_fail_memory(UINT64_MAX, "scratch of an operation");
    int32_t status = fdl_canvas_scratch(c, FDL_SCRATCH_STEP, bytes, &at);
    if (status)
        return status;
    p->rows = at;
    p->short_line = at + rows;
    p->line = p->short_line + p->pitch;
    p->taps = (const uint8_t **)(void *)(p->line + long_line);
    return FEEDLINE_OK;
}

/* Output row i from rows that are `pitch` bytes apart, to `line`, if it is not
 * one of them. */
static const uint8_t *vertical(const struct passes *p, int32_t i,
                               const uint8_t *rows, size_t pitch, size_t n,
                               uint8_t *line)
{
    const uint8_t *first = rows + (size_t)p->y->start[i] * pitch;
    int32_t taps = p->y->length[i];
    if (taps == 1)
        return first;
    for (int32_t t = 0; t < taps; t++)
        p->taps[t] = first + (size_t)t * pitch;
    p->kernels->vertical(p->y, i, p->taps, line, fdl_plane_bytes((int32_t)n));
    return line;
}

/* `row`: all of a row of the image; to: as long as a whole number of vectors.
 */
static void horizontal(const struct passes *p, const uint8_t *row, size_t n,
                       uint8_t *to)
{
    if (row != p->line)
        memcpy(p->line, row, n);
    p->kernels->horizontal(p->x, p->line + p->x->origin, 1, to, p->pitch);
}

static void rows_first(const struct passes *p, const uint8_t *in,
                       size_t in_width, uint8_t *out, size_t width)
{
    for (int32_t y = 0; y < p->y->extent; y++)
        horizontal(p, in + (size_t)y * in_width, in_width,
                   p->rows + (size_t)y * p->pitch);
    for (int32_t i = 0; i < p->y->key.count; i++) {
        const uint8_t *row =
            vertical(p, i, p->rows, p->pitch, width, p->short_line);
        memcpy(out + (size_t)i * width, row, width);
    }
}

static void columns_first(const struct passes *p, const uint8_t *in,
                          size_t in_width, uint8_t *out, size_t width)
{
    for (int32_t i = 0; i < p->y->key.count; i++) {
        const uint8_t *row = vertical(p, i, in, in_width, in_width, p->line);
        horizontal(p, row, in_width, p->short_line);
        memcpy(out + (size_t)i * width, p->short_line, width);
    }
}

static void resample(const struct passes *p, const struct fdl_image *in,
                     const struct fdl_image *out, bool columns)
{
    for (int32_t c = 0; c < in->channels; c++) {
        const uint8_t *from = fdl_image_row(in, c, p->y->origin);
        uint8_t *to = fdl_image_row(out, c, 0);
        if (columns)
            columns_first(p, from, (size_t)in->width, to, (size_t)out->width);
        else
            rows_first(p, from, (size_t)in->width, to, (size_t)out->width);
    }
}

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct fdl_resize_step s;
    struct fdl_image *in = &c->image, out;
    fdl_step_values(step, &s, sizeof(s));
    bool mixes = s.filter != FDL_FILTER_NEAREST && !s.tensor;
    bool columns = c->columns_first && mixes &&
                   fdl_columns_first(in->width, in->height, s.width, s.height);
    bool multiplies = mixes && FDL_HAS_ALPHA(in->channels);
    struct passes p = {.kernels = fdl_kernels[fdl_cpu_level()].resample,
                       .x = &c->horizontal,
                       .y = &c->vertical};
    int32_t status = prepare_tables(&s, c, p.kernels);
    if (!status)
        status = prepare_memory(&p, c, columns);
    if (!status)
        status = fdl_canvas_spare(c, s.width, s.height, &out);
    if (status)
        return status;
    if (multiplies)
        fdl_canvas_multiply(in);
    resample(&p, in, &out, columns);
    if (multiplies)
        fdl_canvas_divide(&out);
    fdl_canvas_swap(c, &out);
    return FEEDLINE_OK;
}

const struct fdl_step_kind fdl_resize_kind = {.moves = true, .run = run};
