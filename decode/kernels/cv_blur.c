/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's blurs in plain C, and what has no vectors. */
#define TARGET

#include "decode/kernels/cv_blur.h"

#include "decode/kernels/cv_blur_loops.h"
#include "decode/kernels/cv_box_loops.h"
#include "decode/kernels/cv_median_loops.h"

#include <stdbool.h>

const struct fdl_cv_blur_kernels fdl_cv_blur_c = {
    .columns = columns_loop,
    .row = row_loop,
    .slide = slide_loop,
    .box = box_loop,
    .filter = filter_loop,
    .median = median_loop,
};

void fdl_cv_filter_rest(const uint8_t *const *taps, const float *weight,
                        int32_t n_taps, size_t from, size_t n, uint8_t *out)
{
    for (size_t i = from; i < n; i++) {
        float sum = 0;
        for (int32_t t = 0; t < n_taps; t++) {
            float product = weight[t] * (float)taps[t][i];
            sum += product;
        }
        out[i] = (uint8_t)FDL_MAX(FDL_MIN(lrintf(sum), 255), 0);
    }
}

#define EVEN_BITS 23

/* 1 / area is rounded; if down, sums are a little greater. */
void fdl_cv_box_even(const uint16_t *in, int32_t taps, int32_t area, size_t n,
                     uint8_t *out)
{
    uint32_t by = (uint32_t)area, part = (1U << EVEN_BITS) / by;
    bool down = 2 * ((1U << EVEN_BITS) % by) < by;
    uint32_t sum = by / 2 + (down ? 1 : 0);
    part += down ? 0 : 1;
    for (int32_t t = 0; t < taps - 1; t++)
        sum += in[t];
    for (size_t i = 0; i < n; i++) {
        sum += in[i + (size_t)taps - 1];
        out[i] = (uint8_t)FDL_MIN((sum * part) >> EVEN_BITS, 255U);
        sum -= in[i];
    }
}

/* How many pixels there are of each value, and below `at`. */
struct counts {
    uint32_t of[256];
    uint32_t below;
    int32_t at;
};

static void count_column(struct counts *c, const uint8_t *const *rows,
                         int32_t side, size_t x, uint32_t by)
{
    for (int32_t y = 0; y < side; y++) {
        uint8_t v = rows[y][x];
        c->of[v] += by;
        c->below += v < c->at ? by : 0;
    }
}

static uint8_t middle_of(struct counts *c, uint32_t half)
{
    while (c->below > half)
        c->below -= c->of[--c->at];
    while (c->below + c->of[c->at] <= half)
        c->below += c->of[c->at++];
    return (uint8_t)c->at;
}

void fdl_cv_median_wide(const uint8_t *const *rows, int32_t side, size_t n,
                        uint8_t *out)
{
    struct counts c = {.at = 128};
    size_t last = (size_t)side - 1;
    for (size_t x = 0; x < last; x++)
        count_column(&c, rows, side, x, 1);
    for (size_t i = 0; i < n; i++) {
        count_column(&c, rows, side, i + last, 1);
        out[i] = middle_of(&c, (uint32_t)(side * side / 2));
        count_column(&c, rows, side, i, (uint32_t)-1);
    }
}
