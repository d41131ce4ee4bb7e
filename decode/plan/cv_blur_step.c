/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row by row: a Gaussian and a box sum columns to one line, continue it at its
 * ends, and sum along it. A median needs whole rows with their ends repeated.
 */
#include "decode/plan/cv_blur_step.h"

#include "base/compiler.h"
#include "base/status.h"
#include "decode/kernels/levels.h"
#include "decode/plan/cv_rows.h"

#include <math.h>
#include <string.h>

#define SIDE_MAX FDL_CV_KERNEL_MAX

enum blur_kind { GAUSS, BOX, MEDIAN };

struct cv_blur {
    enum blur_kind kind;
    enum fdl_cv_border border; /* of a median: replicate */
    int32_t side[2];           /* width, height */
    double sigma[2];
};

/* ---- Weights ------------------------------------------------------------ */

#define UNIT 256

static double sigma_of(int32_t side, double sigma)
{
    return sigma > 0 ? sigma : 0.15 * side + 0.35;
}

/* What rounding a weight loses is given to the next one, and in the end to the
 * middle. */
static void round_weights(const double *w, int32_t side, double sum,
                          uint16_t *weight)
{
    double lost = 0;
    int32_t left = UNIT;
    for (int32_t i = 0; i < side / 2; i++) {
        double exact = w[i] / sum * UNIT + lost, whole = rint(exact);
        lost = exact - whole;
        weight[i] = weight[side - 1 - i] = (uint16_t)whole;
        left -= 2 * (int32_t)whole;
    }
    weight[side / 2] = (uint16_t)left;
}

/* Small kernels that OpenCV has for no sigma, from the outside. */
static const double small[][4] = {{1},
                                  {0.25, 0.5},
                                  {0.0625, 0.25, 0.375},
                                  {0.03125, 0.109375, 0.21875, 0.28125}};

static void gauss_weights(int32_t side, double sigma, uint16_t *weight)
{
    double w[SIDE_MAX / 2 + 1], sum = 0, s = sigma_of(side, sigma);
    bool known = sigma <= 0 && side / 2 < (int32_t)FDL_COUNT_OF(small);
    for (int32_t i = 0; i <= side / 2; i++) {
        double x = i - (side - 1) / 2.0;
        w[i] = known ? small[side / 2][i] : exp(-0.5 / (s * s) * x * x);
        sum += i < side / 2 ? 2 * w[i] : w[i];
    }
    round_weights(w, side, sum, weight);
}

static void weights_of(const struct cv_blur *s, int32_t axis, uint16_t *weight)
{
    for (int32_t i = 0; i < s->side[axis]; i++)
        weight[i] = 1;
    if (s->kind == GAUSS)
        gauss_weights(s->side[axis], s->sigma[axis], weight);
}

/* ---- Sums --------------------------------------------------------------- */

struct sums {
    const struct cv_blur *s;
    const struct fdl_cv_blur_kernels *kernels;
    uint16_t weight[2][SIDE_MAX];
    uint16_t *line;       /* with room for the margins */
    const uint8_t *zeros; /* a row beyond a constant border */
};

static void continue_ends(const struct sums *p, int32_t n)
{
    uint16_t *line = p->line;
    for (int32_t d = 1; d <= p->s->side[0] / 2; d++) {
        int32_t before = fdl_cv_source(p->s->border, -d, n);
        int32_t behind = fdl_cv_source(p->s->border, n - 1 + d, n);
        line[-d] = before < 0 ? 0 : line[before];
        line[n - 1 + d] = behind < 0 ? 0 : line[behind];
    }
}

static const uint8_t *row_at(const struct sums *p, const struct fdl_image *in,
                             int32_t c, int32_t y)
{
    int32_t at = fdl_cv_source(p->s->border, y, in->height);
    return at < 0 ? p->zeros : fdl_image_row(in, c, at);
}

static void sum_columns(const struct sums *p, const struct fdl_image *in,
                        int32_t c, int32_t y)
{
    const uint8_t *rows[SIDE_MAX];
    int32_t height = p->s->side[1], above = y - height / 2;
    for (int32_t i = 0; i < height; i++)
        rows[i] = row_at(p, in, c, above + i);
    p->kernels->columns(rows, p->weight[1], height, (size_t)in->width, p->line);
}

/* Of a box one row comes with each line, and one goes. */
static void slide_columns(const struct sums *p, const struct fdl_image *in,
                          int32_t c, int32_t y)
{
    int32_t height = p->s->side[1], last = y - height / 2 + height - 1;
    size_t n = (size_t)in->width;
    if (y == 0) {
        memset(p->line, 0, n * sizeof(*p->line));
        for (int32_t i = last - height + 1; i < last; i++)
            p->kernels->slide(p->line, row_at(p, in, c, i), p->zeros, n);
    }
    p->kernels->slide(p->line, row_at(p, in, c, last),
                      y == 0 ? p->zeros : row_at(p, in, c, last - height), n);
}

static void sum_plane(const struct sums *p, const struct fdl_image *in,
                      const struct fdl_image *out, int32_t c)
{
    int32_t width = p->s->side[0], area = width * p->s->side[1];
    const uint16_t *from = p->line - width / 2;
    size_t n = (size_t)in->width;
    for (int32_t y = 0; y < in->height; y++) {
        uint8_t *to = fdl_image_row(out, c, y);
        if (p->s->kind == GAUSS)
            sum_columns(p, in, c, y);
        else
            slide_columns(p, in, c, y);
        continue_ends(p, in->width);
        if (p->s->kind == GAUSS)
            p->kernels->row(from, p->weight[0], width, n, to);
        else if (area % 2 == 0)
            fdl_cv_box_even(from, width, area, n, to);
        else
            p->kernels->box(from, width, area, n, to);
    }
}

static int32_t sum(const struct cv_blur *s, struct fdl_canvas *c,
                   const struct fdl_image *out)
{
    struct sums p = {.s = s, .kernels = fdl_kernels[fdl_cpu_level()].cv_blur};
    size_t elements =
        (size_t)c->image.width + 2 * SIDE_MAX + 2 * FDL_CV_BOX_BLOCK;
    size_t line = elements * sizeof(*p.line);
    uint8_t *memory;
    int32_t status =
        fdl_canvas_scratch(c, FDL_SCRATCH_STEP, line + elements, &memory);
    if (status)
        return status;
    p.line = (uint16_t *)(void *)memory + SIDE_MAX;
    p.zeros = memset(memory + line, 0, elements);
    weights_of(s, 0, p.weight[0]);
    weights_of(s, 1, p.weight[1]);
    for (int32_t i = 0; i < c->image.channels; i++)
        sum_plane(&p, &c->image, out, i);
    return FEEDLINE_OK;
}

/* ---- Medians ------------------------------------------------------------ */

static void median_plane(struct fdl_cv_rows *r, int32_t side, int32_t channel,
                         const struct fdl_image *out)
{
    const struct fdl_cv_blur_kernels *k = fdl_kernels[fdl_cpu_level()].cv_blur;
    size_t n = (size_t)out->width;
    fdl_cv_rows_channel(r, channel);
    for (int32_t y = 0; y < out->height; y++) {
        const uint8_t *rows[SIDE_MAX];
        uint8_t *to = fdl_image_row(out, channel, y);
        fdl_cv_rows_at(r, y, rows);
        if (side <= FDL_CV_CHOICE_MAX)
            k->median(rows, side, n, to);
        else
            fdl_cv_median_wide(rows, side, n, to);
    }
}

static int32_t median(const struct cv_blur *s, struct fdl_canvas *c,
                      const struct fdl_image *out)
{
    struct fdl_cv_rows r;
    int32_t side = s->side[0];
    int32_t status = fdl_cv_rows_begin(&r, c, side / 2, FDL_CV_REPLICATE);
    for (int32_t i = 0; i < c->image.channels && !status; i++)
        median_plane(&r, side, i, out);
    return status;
}

/* ---- The step ----------------------------------------------------------- */

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct cv_blur s;
    struct fdl_image out;
    fdl_step_values(step, &s, sizeof(s));
    int32_t status = fdl_canvas_spare(c, c->image.width, c->image.height, &out);
    if (!status)
        status = s.kind == MEDIAN ? median(&s, c, &out) : sum(&s, c, &out);
    if (!status)
        fdl_canvas_swap(c, &out);
    return status;
}

/* Kernels that are the same from both sides. */
static const struct fdl_step_kind kind = {
    .commutes = FDL_WITH_FLIP,
    .run = run,
};
static const struct fdl_step_kind even_kind = {.run = run};

void fdl_plan_cv_gauss(struct fdl_plan *plan, const int32_t side[2],
                       const double sigma[2], enum fdl_cv_border border)
{
    struct cv_blur s = {.kind = GAUSS, .border = border};
    memcpy(s.side, side, sizeof(s.side));
    memcpy(s.sigma, sigma, sizeof(s.sigma));
    fdl_plan_add(plan, &kind, &s, sizeof(s));
}

void fdl_plan_cv_box(struct fdl_plan *plan, const int32_t side[2],
                     enum fdl_cv_border border)
{
    struct cv_blur s = {.kind = BOX, .border = border};
    bool even = side[0] % 2 == 0 || side[1] % 2 == 0;
    memcpy(s.side, side, sizeof(s.side));
    fdl_plan_add(plan, even ? &even_kind : &kind, &s, sizeof(s));
}

void fdl_plan_cv_median(struct fdl_plan *plan, int32_t side)
{
    struct cv_blur s = {
        .kind = MEDIAN, .border = FDL_CV_REPLICATE, .side = {side, side}};
    if (side > 1) /* else it is the pixel itself */
        fdl_plan_add(plan, &kind, &s, sizeof(s));
}
