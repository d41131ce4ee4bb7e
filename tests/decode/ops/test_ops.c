/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pixel operations without a reference library: hues against their definition,
 * what moves pixels against what is written down, plans that fold or do not,
 * orders and arguments that are refused. ops_parity.py has the pixels.
 */
#include "decode/kernels/hue.h"
#include "decode/plan/frame.h"
#include "tests/decode/rig.h"

#include <math.h>

/* ---- Hues --------------------------------------------------------------- */

/* As the definition has it, with divisions and fmod. */
static uint8_t hue_of(int r, int g, int b)
{
    int high = r > g ? (r > b ? r : b) : (g > b ? g : b);
    int low = r < g ? (r < b ? r : b) : (g < b ? g : b);
    float spread = (float)(high - low);
    float rc = (float)(high - r) / spread, gc = (float)(high - g) / spread;
    float bc = (float)(high - b) / spread, h;
    if (r == high)
        h = bc - gc;
    else if (g == high)
        h = (float)(2.0 + (double)rc - (double)bc);
    else
        h = (float)(4.0 + (double)gc - (double)rc);
    return (uint8_t)((double)(float)fmod((double)h / 6.0 + 1.0, 1.0) * 255.0);
}

static uint8_t half_up(double x)
{
    double y = round(x);
    return (uint8_t)(y < 0 ? 0 : y > 255 ? 255 : y);
}

static void back(uint8_t hue, int saturation, int value, uint8_t rgb[3])
{
    double h = (double)(float)hue * 6.0 / 255.0;
    int i = (int)floor(h);
    float f = (float)(h - i), s = (float)((double)(float)saturation / 255.0);
    double v = value;
    uint8_t top = (uint8_t)value, p = half_up(v * (1.0 - (double)s));
    uint8_t q = half_up(v * (1.0 - (double)(s * f)));
    uint8_t t = half_up(v * (1.0 - (double)s * (1.0 - (double)f)));
    const uint8_t all[6][3] = {{top, t, p}, {q, top, p}, {p, top, t},
                               {p, q, top}, {t, p, top}, {top, p, q}};
    memcpy(rgb, all[i % 6], 3);
}

TEST(hues_are_as_defined)
{
    for (int shift = 0; shift < 256; shift += 51) {
        for (int rgb = 0; rgb < 1 << 24; rgb += 61) {
            uint8_t r = (uint8_t)(rgb >> 16), g = (uint8_t)(rgb >> 8);
            uint8_t b = (uint8_t)rgb, want[3] = {r, r, r};
            int high = r > g ? (r > b ? r : b) : (g > b ? g : b);
            int low = r < g ? (r < b ? r : b) : (g < b ? g : b);
            if (high != low) {
                float share = (float)(high - low) / (float)high;
                int saturation = (int)((double)share * 255.0);
                if (saturation > 0)
                    back((uint8_t)(hue_of(r, g, b) + shift), saturation, high,
                         want);
                else
                    memset(want, high, 3);
            }
            fdl_hue_shift(&r, &g, &b, 1, (uint8_t)shift);
            if (r != want[0] || g != want[1] || b != want[2])
                fail_msg("%06x by %d: %02x%02x%02x, not %02x%02x%02x", rgb,
                         shift, r, g, b, want[0], want[1], want[2]);
        }
    }
}

/* ---- Windows ------------------------------------------------------------ */

TEST(edges_come_from_where_they_should)
{
    /* Positions -7 .. 9 of a line of three. */
    static const int8_t want[4][17] = {
        {-1, -1, -1, -1, -1, -1, -1, 0, 1, 2, -1, -1, -1, -1, -1, -1, -1},
        {0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2, 2, 2},
        {1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1},
        {0, 0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1, 2, 2},
    };
    for (int mode = 0; mode < 4; mode++) {
        for (int at = -7; at < 10; at++) {
            int32_t got = fdl_padding_source((enum fdl_padding)mode, at, 3);
            assert_int_equal(got, want[mode][at + 7]);
        }
    }
    assert_int_equal(fdl_padding_source(FDL_PAD_REFLECT, 5, 1), 0);
    assert_int_equal(fdl_padding_source(FDL_PAD_SYMMETRIC, -5, 1), 0);
}

/* ---- Plans -------------------------------------------------------------- */

static void plan_of(const char *const (*ops)[2], struct fdl_plan *plan)
{
    SCOPED_PIPELINE p = rig_pipeline(ops);
    *plan = rig_plan(p, 3, 90, 70);
}

TEST(moves_are_folded_where_they_may)
{
    static const char *const nothing[][2] = {
        {"random_crop", "width=50 height=40"},
        {"horizontal_flip", "p=1"},
        {"color_jitter", NULL},
        {"brightness", NULL},
        {"random_rotation", "degrees=0"},
        {"random_erasing", "p=0"},
        {NULL, NULL}};
    struct fdl_plan plan;
    plan_of(nothing, &plan); /* brightness by 1 is a step all the same */
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.width, 50);

    static const char *const folded[][2] = {
        {"saturation", "factor=0.5"},
        {"horizontal_flip", "p=1"},
        {"center_crop", "width=30 height=20"},
        {"vertical_flip", "p=1"},
        {"normalize", NULL},
        {"random_erasing", "p=1"},
        {NULL, NULL}};
    plan_of(folded, &plan);
    assert_int_equal(plan.n_pixel_steps, 1);
    assert_int_equal(plan.n_steps, 2);
    assert_true(plan.geometry.flip && plan.geometry.flip_vertical);
    assert_int_equal(plan.geometry.window.width, 30);
    assert_int_equal(plan.width, 30);
    assert_int_equal(plan.height, 20);

    static const char *const contrast[][2] = {
        {"contrast", "factor=0.5"},
        {"horizontal_flip", "p=1"},
        {"center_crop", "width=30 height=20"},
        {NULL, NULL}};
    plan_of(contrast, &plan);
    assert_true(plan.geometry.flip);
    assert_int_equal(plan.geometry.window.width, 90);
    assert_int_equal(plan.n_pixel_steps, 2);
    assert_int_equal(plan.width, 30);

    static const char *const rotated[][2] = {
        {"random_rotation", "degrees=10:10"},
        {"horizontal_flip", "p=1"},
        {"vertical_flip", "p=1"},
        {NULL, NULL}};
    plan_of(rotated, &plan);
    assert_false(plan.geometry.flip || plan.geometry.flip_vertical);
    assert_int_equal(plan.n_pixel_steps, 3);

    /* Whole pixels are a window, which a crop may pass. */
    static const char *const moved[][2] = {
        {"random_affine", "degrees=0 translate=1,1 interpolation=bicubic"},
        {NULL, NULL}};
    plan_of(moved, &plan);
    assert_int_equal(plan.n_pixel_steps, 1);
    assert_ptr_equal(plan.steps[0].kind, &fdl_frame_kind);
    static const char *const resting[][2] = {
        {"random_affine", "degrees=0 interpolation=bilinear"}, {NULL, NULL}};
    plan_of(resting, &plan);
    assert_int_equal(plan.n_pixel_steps, 0);

    /* All of the crop lies in the border: one pixel is decoded. */
    static const char *const border[][2] = {{"pad", "padding=200,0,0,0"},
                                            {"random_crop", "width=8 height=8"},
                                            {NULL, NULL}};
    plan_of(border, &plan);
    assert_int_equal(plan.n_pixel_steps, 2);
}

TEST(impossible_orders_are_refused)
{
    static const char *const bad[][3] = {
        {"color_jitter", "resize", "goes before"},
        {"random_crop", "random_resized_crop", "goes before"},
        {"resize_pad", "pad", NULL},
        {"scale_jitter", "resize", "two resamplings"},
        {"random_zoom_out", "random_resize", "goes before"},
        {"random_shortest_size", "random_zoom_out", NULL},
        {"trim_border", "resize", NULL},
        {"random_erasing", "horizontal_flip", "goes before"},
        {"random_erasing", "normalize", "goes before"},
        {"normalize", "hue", "goes before"},
        {"normalize", "pad", "goes before"},
        {"normalize", "horizontal_flip", NULL},
        {"normalize", "resize", "goes before"},
        {"random_resized_crop", "resize", "two resamplings"},
        {"random_erasing", "random_erasing", NULL},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        SCOPED_PIPELINE p = rig_recipe(NULL);
        rig_add(p, bad[i][0], NULL);
        const char *args = strcmp(bad[i][1], "resize") == 0 ? "size=3" : NULL;
        int32_t status = fdl_pipeline_add(p, bad[i][1], args);
        assert_int_equal(status, bad[i][2] ? FEEDLINE_EINVAL : FEEDLINE_OK);
        if (bad[i][2])
            assert_non_null(strstr(fdl_last_error(), bad[i][2]));
    }
}

TEST(bad_arguments_are_refused)
{
    static const char *const bad[][2] = {
        {"brightness", "factor=-1"},
        {"contrast", "factor=2:1"},
        {"saturation", "factor=1,2,3"},
        {"hue", "factor=0.6"},
        {"color_jitter", "brightness=2:1"},
        {"color_jitter", "hue=-0.1"},
        {"color_jitter", "contrast=1,2,3"},
        {"random_grayscale", "p=1.5"},
        {"pad", "padding=1.5"},
        {"pad", "padding=1,2,3"},
        {"pad", "padding=-1"},
        {"pad", "fill=1,2,3,4,5"},
        {"pad", "fill=256"},
        {"random_crop", "width=0"},
        {"random_crop", "pad_if_needed=true padding=1 padding_mode=reflect"},
        {"resize_pad", "fill=0.5"},
        {"resize", "longest=9 size=8"},
        {"resize", "longest=9 width=8 height=8"},
        {"resize", "longest=-1"},
        {"scale_jitter", "scale=2:1"},
        {"random_shortest_size", "min_size=3,4.5"},
        {"random_shortest_size", "min_size=0"},
        {"random_resize", "min_size=9 max_size=9"},
        {"resize_keep_ratio", "longest=1.1"},
        {"resize_keep_ratio", "random_scale_range=2:1"},
        {"resize_keep_ratio", "random_aspect_range=1"},
        {"random_zoom_out", "side_range=0.9:2"},
        {"random_zoom_out", "fill=0.5"},
        {"fixed_size_crop", "fill=1,2,3,4,5"},
        {"resize", "size=8 pixels=tensor interpolation=box"},
        {"random_resized_crop", "pixels=tensor interpolation=nearest"},
        {"random_rotation", "degrees=-3"},
        {"random_rotation", "degrees=3:1"},
        {"random_posterize", "bits=9"},
        {"random_solarize", "threshold=-1"},
        {"random_adjust_sharpness", "sharpness_factor=-1"},
        {"random_photometric_distort", "hue=0.1"},
        {"random_rotation", "center=3"},
        {"random_affine", "translate=0.1"},
        {"random_affine", "translate=0.1,1.1"},
        {"random_affine", "scale=0:1"},
        {"random_affine", "shear=1,2,3"},
        {"random_affine", "shear=1,2,4,3"},
        {"random_affine", "shear=1,2,3,4,5"},
        {"pad", "padding=1,2,3,4,5"},
        {"random_affine", "center=1,2,3"},
        {"random_perspective", "distortion_scale=1.1"},
        {"gaussian_blur", "kernel_size=4"},
        {"gaussian_blur", "kernel_size=3,5,7"},
        {"gaussian_blur", "kernel_size=2.5"},
        {"gaussian_blur", "sigma=0"},
        {"gaussian_blur", "sigma=2:1"},
        {"pil_gaussian_blur", "radius=1,2,3"},
        {"pil_gaussian_blur", "p=-1"},
        {"random_erasing", "scale=0.5:0.1"},
        {"random_erasing", "ratio=1"},
        {"random_erasing", "value=1,2,3,4,5"},
        {"resize", NULL},
        {"resize", "width=3"},
        {"resize", "size=3 width=3 height=3"},
        {"resize", "size=-1"},
        {"center_crop", "width=0"},
        {"center_crop", "size=0"},
        {"random_resized_crop", "scale=0.5"},
        {"random_resized_crop", "scale=0.5:0.1"},
        {"random_resized_crop", "scale=0:1"},
        {"random_resized_crop", "ratio=2:1"},
        {"horizontal_flip", "p=1.5"},
        {"horizontal_flip", "p=maybe"},
        {"normalize", "mean=1,2,3,4,5"},
        {"normalize", "std=0"},
        {"rand_augment", "magnitude=31"},
        {"rand_augment", "num_ops=17"},
        {"rand_augment", "num_magnitude_bins=1"},
        {"auto_augment", "policy=voc"},
        {"trivial_augment_wide", "version=v3"},
        {"trivial_augment_wide", "interpolation=lanczos"},
        {"trivial_augment_wide", "fill=0.5"},
        {"timm_augment", "config=rand-x3"},
        {"timm_augment", "fill=300"},
    };
    SCOPED_PIPELINE p = rig_recipe(NULL);
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        int32_t status = fdl_pipeline_add(p, bad[i][0], bad[i][1]);
        if (status != FEEDLINE_EINVAL && status != FEEDLINE_ERANGE)
            fail_msg("%s %s: %d", bad[i][0], bad[i][1] ? bad[i][1] : "",
                     status);
        assert_true(strlen(fdl_last_error()) > 0);
    }
    struct fdl_plan plan = rig_plan(p, 0, 9, 9); /* and nothing was added */
    assert_int_equal(plan.geometry.window.width, 9);
    assert_int_equal(plan.n_steps, 0);
    rig_add(p, "random_crop", NULL);
    assert_int_equal(first_plan(p, 0, 0, 0, 90, 300, &plan), FEEDLINE_EINVAL);
    assert_non_null(strstr(fdl_last_error(), "pad_if_needed"));
}

/* As many pixels as the kernel reaches over an edge can be reflected there. */
TEST(a_blur_needs_an_image_to_reflect)
{
    SCOPED_PIPELINE p = rig_recipe(NULL);
    struct fdl_plan plan;
    rig_add(p, "gaussian_blur", "kernel_size=3,9");
    assert_int_equal(first_plan(p, 0, 0, 0, 2, 5, &plan), FEEDLINE_OK);
    assert_int_equal(first_plan(p, 0, 0, 0, 1, 5, &plan), FEEDLINE_EINVAL);
    assert_int_equal(first_plan(p, 0, 0, 0, 2, 4, &plan), FEEDLINE_EINVAL);
    assert_non_null(strstr(fdl_last_error(), "too small"));
}

/* Both ways round, never larger, and never nothing. */
TEST(longest_bounds_both_sides)
{
    static const int32_t rows[][4] = {
        {300, 100, 90, 30}, {100, 300, 30, 90}, {91, 90, 90, 89},
        {90, 20, 90, 20},   {5, 80, 5, 80},     {90, 90, 90, 90},
        {9000, 50, 90, 1},  {50, 9000, 1, 90},  {1, 1, 1, 1},
    };
    SCOPED_PIPELINE p = rig_recipe(NULL);
    rig_add(p, "resize", "longest=90");
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        struct fdl_plan plan = rig_plan(p, 0, rows[i][0], rows[i][1]);
        assert_int_equal(fdl_geometry_width(&plan.geometry), rows[i][2]);
        assert_int_equal(fdl_geometry_height(&plan.geometry), rows[i][3]);
    }
}

TEST(a_border_can_be_at_the_end_alone)
{
    static const char *const rows[][3] = {
        {"random_crop", "width=90 height=80 pad_if_needed=end", "0"},
        {"fixed_size_crop", "width=90 height=80", "0"},
        {"random_crop", "width=90 height=80 pad_if_needed=true", "1"},
        {"random_crop_or_pad", "width=90 height=80", "1"},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        SCOPED_PIPELINE p = rig_recipe(NULL);
        struct fdl_frame_step w;
        bool before = false;
        rig_add(p, rows[i][0], rows[i][1]);
        for (uint64_t sample = 0; sample < 20; sample++) {
            struct fdl_plan plan = rig_plan(p, sample, 50, 70);
            assert_int_equal(plan.n_pixel_steps, 1);
            fdl_step_values(&plan.steps[0], &w, sizeof(w));
            before = before || w.box.x < 0 || w.box.y < 0;
        }
        assert_int_equal(before, rows[i][2][0] == '1');
    }
}

TEST(a_border_that_is_all_of_the_image_cannot_be_trimmed)
{
    SCOPED_PIPELINE p = rig_recipe(NULL);
    rig_add(p, "trim_border", "size=3");
    struct fdl_plan plan = rig_plan(p, 0, 7, 9);
    assert_int_equal(fdl_plan_width(&plan), 1);
    assert_int_equal(first_plan(p, 0, 0, 0, 6, 9, &plan), FEEDLINE_EINVAL);
}

/* Alone in a pipeline, an operation is refused for these numbers of channels
 * and no others. */
TEST(channels_that_do_not_fit_are_refused)
{
    static const struct {
        const char *op, *args, *refused;
    } rows[] = {
        {"brightness", "factor=2", ""},
        {"contrast", "factor=2", ""},
        {"saturation", "factor=2", ""},
        {"hue", "factor=0.1", "24"},
        {"color_jitter", "brightness=0.4 saturation=2", ""},
        {"color_jitter", "hue=0.1", "24"},
        {"grayscale", "", "24"},
        {"random_grayscale", "p=0", "24"},
        {"random_invert", "", "24"},
        {"random_posterize", "", "24"},
        {"random_solarize", "", "24"},
        {"random_autocontrast", "", "24"},
        {"random_equalize", "", "24"},
        {"random_adjust_sharpness", "", ""},
        {"random_channel_permutation", "", "24"},
        {"random_photometric_distort", "", "24"},
        {"normalize", "", "24"},
        {"normalize", "mean=0.5 std=0.5", ""},
        {"normalize", "mean=1,2 std=1", "134"},
        {"normalize", "mean=1 std=1,2,3,4", "123"},
        {"pad", "fill=3", ""},
        {"pad", "fill=1,2,3,4", "123"},
        {"random_crop", "fill=1,2", "134"},
        {"center_crop", "fill=1,2", "134"},
        {"random_zoom_out", "fill=1,2,3,4", "123"},
        {"scale_jitter", "", ""},
        {"resize_pad", "fill=1,2,3", "24"},
        {"random_rotation", "fill=1,2,3,4", "123"},
        {"random_erasing", "value=1,2", "134"},
        {"ten_crop", "", ""},
        {"gaussian_blur", "", ""},
        {"pil_gaussian_blur", "", ""},
        {"rand_augment", "", "24"},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        SCOPED_PIPELINE p = rig_recipe(NULL);
        rig_add(p, rows[i].op, rows[i].args);
        for (int32_t channels = 1; channels <= FDL_CHANNELS_MAX; channels++) {
            bool refused = strchr(rows[i].refused, '0' + channels) != NULL;
            int32_t status = fdl_pipeline_check_channels(p, channels);
            if (status != (refused ? FEEDLINE_EINVAL : FEEDLINE_OK))
                fail_msg("%s %s: %d for %d channels", rows[i].op, rows[i].args,
                         status, (int)channels);
            if (refused)
                assert_non_null(strstr(fdl_last_error(), rows[i].op));
        }
    }
}

/* Pixels without alpha get 255, also behind a resampling. */
TEST(what_has_no_alpha_is_opaque)
{
    static const uint8_t pixels[] = {9, 9, 9, 80, 80, 80};
    struct fdl_encoded bytes = raw_of(pixels, 2, 1, 3);
    static const char *const ops[][2] = {
        {"resize", "width=3 height=2 interpolation=nearest"},
        {"brightness", "factor=0.5"},
        {NULL, NULL}};
    SCOPED_DECODER d = rig_decoder((struct fdl_decode_limits){0});
    SCOPED_PIPELINE p = rig_pipeline(ops);
    for (int32_t channels = 1; channels <= FDL_CHANNELS_MAX; channels++) {
        struct fdl_output_format f = {3, 2, channels, FEEDLINE_U8, true};
        struct fdl_plan plan = rig_plan(p, 0, 2, 1);
        uint8_t out[3 * 2 * FDL_CHANNELS_MAX];
        rig_render(d, &bytes, &plan, &f, out);
        for (int32_t i = 0; i < 6; i++) {
            const uint8_t *pixel = out + i * channels;
            assert_int_equal(pixel[0], i % 3 == 0 ? 4 : 40);
            if (channels % 2 == 0)
                assert_int_equal(pixel[channels - 1], 255);
            if (channels > 2)
                assert_int_equal(pixel[2], pixel[0]);
        }
    }
}

/* ---- Erasing ------------------------------------------------------------ */

/* Noise has mean 0 and deviation 1, in every type alike, and repeats. */
/* A step on a part of a sample gives that part of what it gives on the whole.
 */
static void check_part(const struct fdl_step *step,
                       const struct fdl_output_format *whole, const float *want)
{
    enum { X = 31, Y = 17, WIDTH = 151, HEIGHT = 90 };
    struct fdl_output_format f = *whole;
    static float part[3 * WIDTH * HEIGHT];
    f.width = WIDTH;
    f.height = HEIGHT;
    for (size_t i = 0; i < FDL_COUNT_OF(part); i++)
        part[i] = 1000;
    step->kind->finish(step, &f, X, Y, part);
    for (int32_t c = 0; c < f.channels; c++)
        for (int32_t y = 0; y < HEIGHT; y++)
            assert_memory_equal(part + fdl_planar_place(&f, c, y),
                                want + fdl_planar_place(whole, c, Y + y) + X,
                                WIDTH * sizeof(float));
}

TEST(noise_is_normal)
{
    static const char *const ops[][2] = {
        {"random_erasing", "p=1 noise=true scale=0.6:0.6 ratio=1:1"},
        {NULL, NULL}};
    struct fdl_plan plan;
    SCOPED_PIPELINE p = rig_pipeline(ops);
    struct fdl_output_format format = {
        .width = 200,
        .height = 200,
        .channels = 3,
        .dtype = FEEDLINE_F32,
    };
    size_t n = 200 * 200 * 3, erased = 0;
    float *dst = malloc(n * sizeof(float));
    double sum = 0, squares = 0;
    assert_non_null(dst);
    for (size_t i = 0; i < n; i++)
        dst[i] = 1000;
    assert_int_equal(first_plan(p, 1, 2, 3, 200, 200, &plan), FEEDLINE_OK);
    assert_int_equal(plan.n_steps, 1);
    plan.steps[0].kind->finish(&plan.steps[0], &format, 0, 0, dst);
    check_part(&plan.steps[0], &format, dst);
    for (size_t i = 0; i < n; i++) {
        if (dst[i] < 999) {
            erased++;
            sum += (double)dst[i];
            squares += (double)dst[i] * (double)dst[i];
        }
    }
    assert_true(fabs((double)erased - 0.6 * (double)n) < 0.02 * (double)n);
    assert_true(fabs(sum / (double)erased) < 0.02);
    assert_true(fabs(squares / (double)erased - 1) < 0.03);
    free(dst);
}

/* timm's: up to three, each with noise of its own and a part of the area. */
TEST(several_are_erased)
{
    static const char *const ops[][2] = {
        {"random_erasing", "p=1 noise=box count=3 scale=0.3:0.3"},
        {NULL, NULL}};
    SCOPED_PIPELINE p = rig_pipeline(ops);
    struct fdl_output_format format = {
        .width = 100, .height = 100, .channels = 1, .dtype = FEEDLINE_F32};
    float *dst = malloc(10000 * sizeof(float));
    uint32_t found[4] = {0};
    assert_non_null(dst);
    for (uint64_t sample = 0; sample < 300; sample++) {
        struct fdl_plan plan;
        float last = 0;
        assert_int_equal(first_plan(p, 1, 2, sample, 100, 100, &plan),
                         FEEDLINE_OK);
        assert_in_range(plan.n_steps, 1, 3);
        found[plan.n_steps]++;
        for (uint32_t i = 0; i < plan.n_steps; i++) {
            size_t erased = 0;
            for (size_t k = 0; k < 10000; k++)
                dst[k] = 1000;
            plan.steps[i].kind->finish(&plan.steps[i], &format, 0, 0, dst);
            for (size_t k = 0; k < 10000; k++) {
                erased += dst[k] < 999;
                if (dst[k] < 999)
                    dst[0] = dst[k];
            }
            assert_in_range(erased, 3000 / plan.n_steps - 150,
                            3000 / plan.n_steps + 150);
            assert_true(dst[0] != last);
            last = dst[0];
        }
    }
    for (int n = 1; n <= 3; n++)
        assert_in_range(found[n], 60, 140);
    free(dst);
}

/* timm draws between two filters; the box is drawn as without that. */
TEST(a_filter_is_drawn)
{
    static const char *const ops[][2] = {
        {"random_resized_crop", "size=9 interpolation=random"}, {NULL, NULL}};
    static const char *const fixed[][2] = {{"random_resized_crop", "size=9"},
                                           {NULL, NULL}};
    struct fdl_pipeline *p = rig_pipeline(ops), *q = rig_pipeline(fixed);
    uint32_t bicubic = 0;
    for (uint64_t sample = 0; sample < 400; sample++) {
        struct fdl_plan a, b;
        assert_int_equal(first_plan(p, 1, 2, sample, 64, 48, &a), FEEDLINE_OK);
        assert_int_equal(first_plan(q, 1, 2, sample, 64, 48, &b), FEEDLINE_OK);
        assert_memory_equal(&a.geometry.box, &b.geometry.box,
                            sizeof(a.geometry.box));
        bicubic += a.geometry.filter == FDL_FILTER_BICUBIC;
        assert_true(a.geometry.filter == FDL_FILTER_BICUBIC ||
                    a.geometry.filter == FDL_FILTER_BILINEAR);
    }
    assert_in_range(bicubic, 150, 250);
    fdl_pipeline_destroy(p);
    fdl_pipeline_destroy(q);
}

TEST_MAIN("decode_ops")
