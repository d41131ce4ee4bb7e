/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out pixel steps. */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/plan/step.h"

#define BYTES 16384 /* that are worked on at once: half of the smallest cache */

/* Those of neighbours, some rows at a time. */
static void run_rows(const struct fdl_step *steps, uint32_t n,
                     struct fdl_canvas *canvas)
{
    const struct fdl_image *image = &canvas->image;
    size_t row = (size_t)image->width * (size_t)image->channels;
    int32_t height = image->height;
    int32_t most = (int32_t)FDL_MAX(BYTES / row, (size_t)1);
    for (int32_t y = 0; y < height; y += most) {
        for (uint32_t i = 0; i < n; i++)
            steps[i].kind->rows(&steps[i], canvas, y,
                                FDL_MIN(most, height - y));
    }
}

int32_t fdl_steps_run(const struct fdl_step *steps, uint32_t n,
                      struct fdl_canvas *canvas)
{
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && steps[end].kind->rows;)
            end++;
        if (end > i) {
            run_rows(steps + i, end - i, canvas);
            continue;
        }
        int32_t status = steps[i].kind->run(&steps[i], canvas);
        if (status)
            return status;
        end = i + 1;
    }
    return FEEDLINE_OK;
}
