/* SPDX-License-Identifier: Apache-2.0 */
/* What can be said of a canvas before its parts are known. */
#include "base/status.h"
#include "decode/recorded_image.h"

#include <inttypes.h>
#include <math.h>

static int32_t check_weights(const struct feedline_canvas *canvas)
{
    if (canvas->how == FEEDLINE_CANVAS_PASTE)
        return FEEDLINE_OK;
    if (canvas->n_parts == 0)
        return fdl_fail(FEEDLINE_EINVAL, "canvas: a sum of no parts");
    for (uint32_t i = 0; i < canvas->n_parts; i++) {
        if (!isfinite(canvas->parts[i].weight))
            return fdl_fail(FEEDLINE_EINVAL,
                            "canvas: the weight of part %" PRIu32 " is %g",
                            i + 1, canvas->parts[i].weight);
    }
    return FEEDLINE_OK;
}

int32_t fdl_recorded_check_canvas(const struct feedline_canvas *canvas)
{
    int32_t c = canvas->channels, h = canvas->height, w = canvas->width;
    if ((c != 1 && c != 3) || h < 1 || h > FDL_OP_SIDE_MAX || w < 1 ||
        w > FDL_OP_SIDE_MAX)
        return fdl_fail(FEEDLINE_ERANGE,
                        "a canvas of %" PRId32 " channels, %" PRId32 "x%" PRId32
                        ": there are 1 or 3, and sides up to %d",
                        c, w, h, FDL_OP_SIDE_MAX);
    if (canvas->how > FEEDLINE_CANVAS_SUM_F32)
        return fdl_fail(FEEDLINE_EINVAL,
                        "canvas: how is %" PRIu32 "; it is from 0 to %d",
                        canvas->how, FEEDLINE_CANVAS_SUM_F32);
    if (canvas->n_parts > FEEDLINE_CANVAS_PARTS_MAX)
        return fdl_fail(FEEDLINE_ERANGE,
                        "%" PRIu32 " parts; a canvas has %d at most",
                        canvas->n_parts, FEEDLINE_CANVAS_PARTS_MAX);
    if (canvas->n_parts > 0 && !canvas->parts)
        return fdl_fail(FEEDLINE_EINVAL, "canvas: parts is NULL");
    return check_weights(canvas);
}
