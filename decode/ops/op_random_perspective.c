/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's RandomPerspective: each corner of the image moves inwards by up
 * to a part of half a side, drawn evenly. torchvision finds the coefficients of
 * the map by least squares in double and keeps them as float32, where another
 * way to solve the same equations differs in a last bit now and then; so they
 * are among what fdl_pipeline_draw_json lists.
 */
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"
#include "decode/plan/affine.h"

#include <math.h>

enum { ROW_DISTORTION, ROW_P, ROW_INTERPOLATION, ROW_FILL, ROWS };

#define N 8 /* unknowns */

static const struct fdl_option options[ROWS] = {
    [ROW_DISTORTION] =
        FDL_OP_DOUBLE("distortion_scale", 0, 1, "0.5", "",
                      "how far corners may move, as a fraction of half a side"),
    [ROW_P] = FDL_OP_PROBABILITY("0.5", "the operation is applied"),
    [ROW_INTERPOLATION] = FDL_OP_MAP_FILTER("bilinear"),
    [ROW_FILL] = FDL_OPTION_FILL,
};

/* Each corner's new place: top left, top right, bottom right, bottom left. */
static void draw_corners(struct fdl_rng *rng, double part, int32_t width,
                         int32_t height, double corner[4][2])
{
    static const bool right[4] = {false, true, true, false};
    static const bool bottom[4] = {false, false, true, true};
    int32_t within_x = (int32_t)(part * (width / 2)) + 1;
    int32_t within_y = (int32_t)(part * (height / 2)) + 1;
    for (uint32_t i = 0; i < 4; i++) {
        int32_t x = (int32_t)fdl_rng_below(rng, (uint32_t)within_x);
        int32_t y = (int32_t)fdl_rng_below(rng, (uint32_t)within_y);
        corner[i][0] = right[i] ? width - within_x + x : x;
        corner[i][1] = bottom[i] ? height - within_y + y : y;
    }
}

static void swap_rows(double a[N + 1], double b[N + 1])
{
    for (int i = 0; i <= N; i++) {
        double v = a[i];
        a[i] = b[i];
        b[i] = v;
    }
}

/* Gauss and Jordan; the right side is the last column. False: no solution. */
static bool solve(double m[N][N + 1])
{
    for (int i = 0; i < N; i++) {
        int best = i;
        for (int k = i + 1; k < N; k++)
            best = fabs(m[k][i]) > fabs(m[best][i]) ? k : best;
        swap_rows(m[i], m[best]);
        if (fabs(m[i][i]) < 1e-9)
            return false;
        for (int k = 0; k < N; k++) {
            double by = m[k][i] / m[i][i];
            for (int c = i; k != i && c <= N; c++)
                m[k][c] -= by * m[i][c];
        }
    }
    return true;
}

/* The map that takes each corner to where it was; see map.h. */
static bool find_map(double corner[4][2], int32_t width, int32_t height,
                     double a[N])
{
    double right = width - 1, bottom = height - 1;
    double was[4][2] = {{0, 0}, {right, 0}, {right, bottom}, {0, bottom}};
    double m[N][N + 1] = {{0}};
    for (int i = 0; i < N; i++) {
        double x = corner[i / 2][0], y = corner[i / 2][1];
        double v = was[i / 2][i % 2], *first = &m[i][i % 2 * 3];
        first[0] = x;
        first[1] = y;
        first[2] = 1;
        m[i][6] = -v * x;
        m[i][7] = -v * y;
        m[i][8] = v;
    }
    bool found = solve(m);
    for (int i = 0; found && i < N; i++)
        a[i] = (float)(m[i][N] / m[i][i]);
    return found;
}

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    int32_t width = fdl_plan_width(plan), height = fdl_plan_height(plan);
    bool warps = fdl_rng_uniform(rng) < fdl_option_double(o, ROW_P);
    double corner[4][2], a[N];
    draw_corners(rng, fdl_option_double(o, ROW_DISTORTION), width, height,
                 corner);
    /* Corners that meet, as in an image of one row, are left alone. */
    warps = warps && find_map(corner, width, height, a);
    fdl_note_bool(plan, "done", warps);
    if (!warps)
        return FEEDLINE_OK;
    fdl_note_list(plan, "coefficients");
    for (int i = 0; i < N; i++)
        fdl_note_double(plan, NULL, a[i]);
    fdl_note_list_end(plan);

    uint8_t fill[4];
    fdl_fill_of(o, ROW_FILL, fill);
    fdl_plan_perspective(
        plan, a, (enum fdl_map_filter)fdl_option_int(o, ROW_INTERPOLATION),
        fill);
    return FEEDLINE_OK;
}

const struct fdl_op fdl_op_random_perspective = {
    .name = "random_perspective",
    .help = "move the corners inwards at random",
    .pixels = true,
    .maps = true,
    .options = options,
    .n_options = ROWS,
    .plan = plan,
};
