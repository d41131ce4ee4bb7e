/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window of the image in a new one. Rows are whole copies in their inner part
 * and walked pixel by pixel at the edges, which are short.
 */
#include "decode/plan/frame.h"

#include "base/compiler.h"
#include "base/status.h"

#include <string.h>

int32_t fdl_padding_source(enum fdl_padding padding, int32_t at, int32_t n)
{
    if (at >= 0 && at < n)
        return at;
    if (padding == FDL_PAD_CONSTANT)
        return -1;
    if (padding == FDL_PAD_EDGE || n == 1)
        return at < 0 ? 0 : n - 1;

    /* The pattern repeats: there and back. */
    int64_t once = padding == FDL_PAD_SYMMETRIC ? n : (int64_t)n - 1;
    int64_t place = at % (2 * once);
    if (place < 0)
        place += 2 * once;
    if (place < n)
        return (int32_t)place;
    return (int32_t)(2 * once - place - (padding == FDL_PAD_SYMMETRIC ? 1 : 0));
}

/* Eight bytes of each end at a time, while these do not meet. */
static void mirror_row(uint8_t *row, int32_t n)
{
    uint64_t left, right;
    int32_t i = 0, end = n;
    for (; end - i >= 16; i += 8, end -= 8) {
        memcpy(&left, row + i, 8);
        memcpy(&right, row + end - 8, 8);
        left = __builtin_bswap64(left);
        right = __builtin_bswap64(right);
        memcpy(row + i, &right, 8);
        memcpy(row + end - 8, &left, 8);
    }
    for (int32_t k = end - 1; i < k; i++, k--) {
        uint8_t byte = row[i];
        row[i] = row[k];
        row[k] = byte;
    }
}

/* One row of the box from one of the image, both of one plane. */
static void frame_row(const struct fdl_frame_step *w, const uint8_t *from,
                      int32_t n, uint8_t fill, uint8_t *to)
{
    int32_t width = w->box.width, x = w->box.x;
    int32_t first = FDL_MIN(FDL_MAX(-x, 0), width);
    int32_t end = FDL_MAX(FDL_MIN(n - x, width), first);
    for (int32_t i = 0; i < width; i++) {
        if (i == first && end > first) {
            memcpy(to + first, from + x + first, (size_t)(end - first));
            i = end - 1;
            continue;
        }
        int32_t source = fdl_padding_source(w->padding, x + i, n);
        to[i] = source < 0 ? fill : from[source];
    }
    if (w->mirror_x)
        mirror_row(to, width);
}

int32_t fdl_frame_run(const struct fdl_frame_step *w, struct fdl_canvas *canvas)
{
    struct fdl_image *in = &canvas->image, out;
    int32_t status =
        fdl_canvas_spare(canvas, w->box.width, w->box.height, &out);
    if (status)
        return status;
    for (int32_t c = 0; c < in->channels; c++) {
        for (int32_t y = 0; y < out.height; y++) {
            int32_t place = w->mirror_y ? out.height - 1 - y : y;
            uint8_t *to = fdl_image_row(&out, c, place);
            int32_t row =
                fdl_padding_source(w->padding, w->box.y + y, in->height);
            if (row < 0)
                memset(to, w->fill[c], (size_t)out.width);
            else
                frame_row(w, fdl_image_row(in, c, row), in->width, w->fill[c],
                          to);
        }
    }
    fdl_canvas_swap(canvas, &out);
    return FEEDLINE_OK;
}

static int32_t run(const struct fdl_step *step, struct fdl_canvas *canvas)
{
    struct fdl_frame_step w;
    fdl_step_values(step, &w, sizeof(w));
    return fdl_frame_run(&w, canvas);
}

const struct fdl_step_kind fdl_frame_kind = {.moves = true, .run = run};

static void mirror_rows(const struct fdl_step *step, struct fdl_canvas *canvas,
                        int32_t y, int32_t n)
{
    const struct fdl_image *image = &canvas->image;
    (void)step;
    for (int32_t c = 0; c < image->channels; c++) {
        for (int32_t i = 0; i < n; i++)
            mirror_row(fdl_image_row(image, c, y + i), image->width);
    }
}

const struct fdl_step_kind fdl_mirror_kind = {.moves = true,
                                              .rows = mirror_rows};
