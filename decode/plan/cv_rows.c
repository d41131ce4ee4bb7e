/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row y of the image is in slot y % (2 * margin + 1). What a border takes from
 * elsewhere is less than `margin` rows away and still there; where the image is
 * so low that it goes there and back, all of its rows are. The slot behind
 * these is beyond a constant border.
 */
#include "decode/plan/cv_rows.h"

#include "base/compiler.h"
#include "base/memory.h"
#include "base/status.h"
#include "decode/kernels/cv_blur.h"

#include <string.h>

static int32_t slots_of(const struct fdl_cv_rows *r)
{
    return 2 * r->margin + 1;
}

int32_t fdl_cv_rows_begin(struct fdl_cv_rows *r, struct fdl_canvas *c,
                          int32_t margin, enum fdl_cv_border border)
{
    size_t bytes;
    *r = (struct fdl_cv_rows){
        .image = &c->image, .border = border, .margin = margin};
    r->pitch =
        fdl_plane_bytes(c->image.width + 2 * margin) + FDL_CV_MEDIAN_MORE;
    if (!fdl_mul_size(r->pitch, (size_t)slots_of(r) + 1, &bytes))
        return fdl_fail_memory(UINT64_MAX, "scratch of an operation");
    int32_t status = fdl_canvas_scratch(c, FDL_SCRATCH_STEP, bytes, &r->memory);
    if (!status)
        memset(r->memory + (size_t)slots_of(r) * r->pitch, 0, r->pitch);
    return status;
}

void fdl_cv_rows_channel(struct fdl_cv_rows *r, int32_t channel)
{
    r->channel = channel;
    r->end = 0;
}

static uint8_t *slot_of(const struct fdl_cv_rows *r, int32_t y)
{
    return r->memory + (size_t)(y % slots_of(r)) * r->pitch;
}

static void keep(const struct fdl_cv_rows *r, int32_t y)
{
    const uint8_t *from = fdl_image_row(r->image, r->channel, y);
    uint8_t *to = slot_of(r, y) + r->margin;
    int32_t n = r->image->width;
    memcpy(to, from, (size_t)n);
    for (int32_t d = 1; d <= r->margin; d++) {
        int32_t before = fdl_cv_source(r->border, -d, n);
        int32_t behind = fdl_cv_source(r->border, n - 1 + d, n);
        to[-d] = before < 0 ? 0 : from[before];
        to[n - 1 + d] = behind < 0 ? 0 : from[behind];
    }
}

void fdl_cv_rows_at(struct fdl_cv_rows *r, int32_t y, const uint8_t **rows)
{
    int32_t height = r->image->height;
    for (; r->end < FDL_MIN(y + r->margin + 1, height); r->end++)
        keep(r, r->end);
    const uint8_t *zeros = r->memory + (size_t)slots_of(r) * r->pitch;
    for (int32_t i = 0; i < slots_of(r); i++) {
        int32_t at = fdl_cv_source(r->border, y - r->margin + i, height);
        rows[i] = at < 0 ? zeros : slot_of(r, at);
    }
}
