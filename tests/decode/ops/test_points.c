/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Point operations and sharpness against what Pillow does, one operation after
 * the other on every pixel, at every level of kernels: what is composed into a
 * table must give the same bytes. ops_parity.py compares with Pillow itself.
 */
#include "base/compiler.h"
#include "base/philox.h"
#include "decode/kernels/levels.h"
#include "decode/plan/point.h"
#include "decode/plan/sharpness.h"
#include "test.h"

#include <math.h>

#define SIDE_MAX 40
#define CHAIN    12 /* more than a step holds */

struct planes {
    int32_t width, height, channels;
    uint8_t data[4][SIDE_MAX * SIDE_MAX];
};

static void fill(struct planes *p, struct fdl_rng *rng)
{
    static const uint32_t spans[] = {1, 2, 50, 256};
    p->width = 1 + (int32_t)fdl_rng_below(rng, SIDE_MAX);
    p->height = 1 + (int32_t)fdl_rng_below(rng, SIDE_MAX);
    p->channels = fdl_rng_below(rng, 3) ? 3 : 1;
    for (size_t c = 0; c < 4; c++) {
        uint32_t span = spans[fdl_rng_below(rng, FDL_COUNT_OF(spans))];
        uint32_t low = fdl_rng_below(rng, 257 - span);
        for (size_t i = 0; i < sizeof(p->data[c]); i++)
            p->data[c][i] = (uint8_t)(low + fdl_rng_below(rng, span));
    }
}

/* ---- As the definitions have it ----------------------------------------- */

static int32_t of_histogram(enum fdl_point which, const uint32_t *h, int32_t x)
{
    int32_t low = 0, high = 255;
    while (h[low] == 0)
        low++;
    while (h[high] == 0)
        high--;
    if (which == FDL_POINT_AUTOCONTRAST) {
        if (high <= low)
            return x;
        double scale = 255.0 / (high - low), offset = -low * scale;
        int32_t y = (int32_t)(x * scale + offset);
        return y < 0 ? 0 : y > 255 ? 255 : y;
    }
    if (which == FDL_POINT_AUTOCONTRAST_TENSOR) {
        float scale = (float)(high - low) * (float)(1.0 / 255.0);
        float y = high > low ? (float)(x - low) / scale : (float)x;
        return y > 255.0F ? 255 : (int32_t)y;
    }
    uint32_t sum = 0, before = 0;
    for (int32_t i = 0; i < 256; i++)
        sum += h[i];
    uint32_t step = (sum - h[high]) / 255;
    for (int32_t i = 0; i < x; i++)
        before += h[i];
    if (step == 0)
        return x;
    uint32_t y = (step / 2 + before) / step;
    return y > 255 ? 255 : (int32_t)y;
}

static int32_t of_value(enum fdl_point which, double argument, int32_t x)
{
    switch (which) {
    case FDL_POINT_INVERT:
        return 255 - x;
    case FDL_POINT_POSTERIZE:
        return x & ~((1 << (8 - (int32_t)argument)) - 1);
    case FDL_POINT_SOLARIZE:
        return x < argument ? x : 255 - x;
    case FDL_POINT_SOLARIZE_ADD:
        return x < 128 ? FDL_MIN(255, x + (int32_t)argument) : x;
    default: {
        float y = (float)argument * (float)x;
        return y >= 255.0F ? 255 : (int32_t)y;
    }
    }
}

static void point(struct planes *p, enum fdl_point which, double argument)
{
    size_t n = (size_t)p->width * (size_t)p->height;
    for (int32_t c = 0; c < p->channels; c++) {
        uint32_t h[256] = {0};
        for (size_t i = 0; i < n; i++)
            h[p->data[c][i]]++;
        for (size_t i = 0; i < n; i++) {
            int32_t x = p->data[c][i];
            bool counts =
                which >= FDL_POINT_AUTOCONTRAST && which <= FDL_POINT_EQUALIZE;
            p->data[c][i] = (uint8_t)(counts ? of_histogram(which, h, x)
                                             : of_value(which, argument, x));
        }
    }
}

/* Pillow's float sum, from 0.5 and from the lowest row up. */
static int32_t smooth(const uint8_t *x, int32_t width)
{
    float sum = 0.5F;
    for (int32_t dy = 1; dy >= -1; dy--) {
        float row = 0;
        for (int32_t dx = -1; dx <= 1; dx++)
            row += (dx || dy ? 1.0F / 13.0F : 5.0F / 13.0F) *
                   (float)x[dy * width + dx];
        sum += row;
    }
    return (int32_t)sum;
}

static void sharpen(struct planes *p, float factor)
{
    struct planes in = *p;
    for (int32_t c = 0; c < p->channels; c++) {
        for (int32_t y = 1; y < p->height - 1; y++) {
            for (int32_t x = 1; x < p->width - 1; x++) {
                size_t at = (size_t)(y * p->width + x);
                float base = (float)smooth(&in.data[c][at], p->width);
                float product = factor * ((float)in.data[c][at] - base);
                float v = base + product;
                p->data[c][at] = (uint8_t)(v <= 0     ? 0
                                           : v >= 255 ? 255
                                                      : (int32_t)v);
            }
        }
    }
}

/* ---- The steps ---------------------------------------------------------- */

static void run_plan(const struct fdl_plan *plan, struct fdl_canvas *canvas,
                     struct planes *p)
{
    size_t n = (size_t)p->width * (size_t)p->height;
    assert_int_equal(fdl_canvas_begin(canvas, p->width, p->height, p->channels),
                     0);
    for (int32_t c = 0; c < p->channels; c++)
        memcpy(fdl_image_row(&canvas->image, c, 0), p->data[c], n);
    assert_int_equal(fdl_steps_run(plan->steps, plan->n_steps, canvas), 0);
    for (int32_t c = 0; c < p->channels; c++)
        memcpy(p->data[c], fdl_image_row(&canvas->image, c, 0), n);
}

static double argument_of(enum fdl_point which, struct fdl_rng *rng)
{
    switch (which) {
    case FDL_POINT_POSTERIZE:
        return fdl_rng_below(rng, 9);
    case FDL_POINT_SOLARIZE:
        return fdl_rng_below(rng, 2) ? fdl_rng_below(rng, 257)
                                     : fdl_rng_below(rng, 2600) / 10.0;
    case FDL_POINT_SOLARIZE_ADD:
        return fdl_rng_below(rng, 129);
    default:
        return fdl_rng_below(rng, 300) / 100.0;
    }
}

static void check_chain(struct fdl_canvas *canvas, struct fdl_rng *rng)
{
    struct planes want, got;
    struct fdl_plan plan;
    fill(&want, rng);
    got = want;
    fdl_plan_init(&plan, want.width, want.height);
    uint32_t n = 1 + fdl_rng_below(rng, fdl_rng_below(rng, 4) ? 3 : CHAIN);
    for (uint32_t i = 0; i < n; i++) {
        enum fdl_point which =
            (enum fdl_point)fdl_rng_below(rng, FDL_POINT_BRIGHTNESS + 1);
        double argument = argument_of(which, rng);
        point(&want, which, argument);
        fdl_plan_point(&plan, which, argument);
    }
    assert_true(plan.n_steps <= (n <= 8 ? 1 : 2));
    run_plan(&plan, canvas, &got);
    for (int32_t c = 0; c < want.channels; c++)
        assert_memory_equal(want.data[c], got.data[c], sizeof(want.data[c]));
}

TEST(chains_are_their_operations)
{
    struct fdl_rng rng;
    fdl_rng_init(&rng, test_seed(), 0, 0, 0);
    struct fdl_canvas canvas = {0};
    for (int level = FDL_CPU_C; level < FDL_CPU_LEVELS; level++) {
        fdl_cpu_set_level((enum fdl_cpu_level)level);
        for (int round = 0; round < 500; round++)
            check_chain(&canvas, &rng);
    }
    fdl_canvas_fini(&canvas);
}

TEST(sharpness_is_its_definition)
{
    static const double factors[] = {0, 0.3, 1, 1.9, 40};
    struct fdl_rng rng;
    fdl_rng_init(&rng, test_seed(), 0, 0, 0);
    struct fdl_canvas canvas = {0};
    for (int level = FDL_CPU_C; level < FDL_CPU_LEVELS; level++) {
        fdl_cpu_set_level((enum fdl_cpu_level)level);
        for (int round = 0; round < 300; round++) {
            struct planes want, got;
            struct fdl_plan plan;
            fill(&want, &rng);
            got = want;
            double factor = factors[round % 5];
            sharpen(&want, (float)factor);
            fdl_plan_init(&plan, want.width, want.height);
            fdl_plan_sharpness(&plan, false, factor);
            run_plan(&plan, &canvas, &got);
            for (int32_t c = 0; c < want.channels; c++)
                assert_memory_equal(want.data[c], got.data[c],
                                    sizeof(want.data[c]));
        }
    }
    fdl_canvas_fini(&canvas);
}

/* Every sum of nine pixels that there is. */
TEST(means_of_smooth_are_exact)
{
    for (int level = FDL_CPU_C; level < FDL_CPU_LEVELS; level++) {
        enum fdl_cpu_level now = fdl_cpu_set_level((enum fdl_cpu_level)level);
        for (int32_t sum = 0; sum <= 13 * 255; sum++) {
            uint8_t rows[3][3 + FDL_PLANE_ALIGN] = {{0}};
            uint8_t out[3 + FDL_PLANE_ALIGN];
            int32_t rest = sum;
            rows[1][1] = (uint8_t)FDL_MIN(rest / 5, 255);
            rest -= 5 * rows[1][1];
            for (int32_t i = 0; i < 9; i++) {
                if (i != 4) {
                    rows[i / 3][i % 3] = (uint8_t)FDL_MIN(rest, 255);
                    rest -= rows[i / 3][i % 3];
                }
            }
            fdl_kernels[now].blend->smooth(rows[0], rows[1], rows[2], 3, out);
            assert_int_equal(out[1], (int32_t)(sum / 13.0 + 0.5));
        }
    }
}

/* What may go before them still does, and what may not does not. */
TEST(crops_pass_points_but_no_histogram)
{
    struct fdl_plan plan;
    fdl_plan_init(&plan, 40, 30);
    fdl_plan_point(&plan, FDL_POINT_POSTERIZE, 8); /* nothing */
    fdl_plan_point(&plan, FDL_POINT_SOLARIZE, 255.5);
    assert_int_equal(plan.n_steps, 0);
    fdl_plan_point(&plan, FDL_POINT_INVERT, 0);
    fdl_plan_crop(&plan, (struct fdl_box){2, 3, 30, 20});
    fdl_plan_flip(&plan);
    fdl_plan_point(&plan, FDL_POINT_EQUALIZE, 0); /* of what the crop left */
    fdl_plan_flip(&plan);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(fdl_plan_width(&plan), 30);
    fdl_plan_crop(&plan, (struct fdl_box){1, 1, 10, 10});
    fdl_plan_point(&plan, FDL_POINT_INVERT, 0);
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.geometry.window.width, 30);

    fdl_plan_init(&plan, 40, 30);
    fdl_plan_sharpness(&plan, false, 0.5);
    fdl_plan_flip(&plan);
    assert_int_equal(plan.n_steps, 1);
    fdl_plan_crop(&plan, (struct fdl_box){1, 1, 10, 10});
    assert_int_equal(plan.n_steps, 2);
}

TEST_MAIN("decode_points")
