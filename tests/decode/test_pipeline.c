/* SPDX-License-Identifier: Apache-2.0 */
/* Operations and their composition: arguments, bounds, distributions, and that
 * a plan is a function of (seed, epoch, sample, size) alone. */
#include "decode/kernels/finish.h"
#include "decode/ops/op.h"
#include "tests/decode/make_jpeg.h"
#include "tests/decode/rig.h"

#include <math.h>

static void check_inside(const struct fdl_geometry *g, int32_t width,
                         int32_t height)
{
    assert_in_range(g->box.width, 1, width);
    assert_in_range(g->box.height, 1, height);
    assert_in_range(g->box.x, 0, width - g->box.width);
    assert_in_range(g->box.y, 0, height - g->box.height);
    assert_in_range(g->window.width, 1, g->resize_width);
    assert_in_range(g->window.height, 1, g->resize_height);
    assert_in_range(g->window.x, 0, g->resize_width - g->window.width);
    assert_in_range(g->window.y, 0, g->resize_height - g->window.height);
}

#define ONE(name) +1

TEST(every_operation_is_described)
{
    uint32_t n = 0;
    for (const struct fdl_op *op; (op = fdl_op_at(n)) != NULL; n++) {
        const struct fdl_op *found;
        assert_int_equal(fdl_op_find(op->name, &found), FEEDLINE_OK);
        assert_ptr_equal(op, found);
        assert_true(strlen(op->help) > 0);
        for (uint32_t i = 0; i < op->n_options; i++) {
            assert_non_null(op->options[i].name);
            assert_true(strlen(op->options[i].help) > 0);
        }
    }
    assert_int_equal(n, FDL_OPS(ONE));
}

TEST(unknown_names_get_a_proposal)
{
    const struct fdl_op *op = NULL;
    assert_int_equal(fdl_op_find("resise", &op), FEEDLINE_ENOENT);
    assert_non_null(strstr(fdl_last_error(), "'resize'"));
    assert_null(op);
    assert_int_equal(fdl_op_find("qqqqqqqqqqqq", &op), FEEDLINE_ENOENT);
    struct fdl_pipeline *p = (void *)1;
    assert_int_equal(fdl_pipeline_create("trian", &p), FEEDLINE_ENOENT);
    assert_null(p);
}

/* "size=N" is width and height, and whatever comes later wins. */
TEST(one_size_sets_both_sides)
{
    static const struct {
        const char *op, *args;
        int32_t width, height;
    } rows[] = {
        {"center_crop", "size=12", 12, 12},
        {"random_crop", "size=12", 12, 12},
        {"resize_pad", "size=12", 12, 12},
        {"random_resized_crop", "size=12", 12, 12},
        {"five_crop", "size=12", 12, 12},
        {"ten_crop", "size=12", 12, 12},
        {"center_crop", "size=12 height=7", 12, 7},
        {"center_crop", "height=7 size=12", 12, 12},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        int32_t width = 0, height = 0;
        SCOPED_PIPELINE p = rig_recipe(NULL);
        rig_add(p, rows[i].op, rows[i].args);
        assert_int_equal(fdl_pipeline_output_size(p, 0, 0, &width, &height),
                         FEEDLINE_OK);
        assert_int_equal(width, rows[i].width);
        assert_int_equal(height, rows[i].height);
    }
    SCOPED_PIPELINE p = rig_recipe(NULL);
    assert_int_equal(fdl_pipeline_add(p, "center_crop", "sizes=3"),
                     FEEDLINE_ENOENT);
    assert_non_null(strstr(fdl_last_error(), "'size'"));
}

/* The names of the operations, as "a b c". */
static void names_of(const struct fdl_pipeline *p, char *out, size_t capacity)
{
    static const char mark[] = "\"op\":\"";
    char json[4096];
    uint64_t needed;
    struct fdl_json j;
    fdl_json_init(&j, json, sizeof(json));
    fdl_pipeline_json(p, NULL, &j);
    assert_int_equal(fdl_json_finish(&j, &needed), FEEDLINE_OK);
    out[0] = '\0';
    for (const char *at = strstr(json, mark); at; at = strstr(at, mark)) {
        size_t used = strlen(out);
        at += sizeof(mark) - 1;
        snprintf(out + used, capacity - used, "%s%.*s", used ? " " : "",
                 (int)strcspn(at, "\""), at);
    }
}

/* Whoever names a recipe did not decide that normalize comes first. */
TEST(pixels_go_before_the_normalize_of_a_recipe)
{
    char names[256];
    SCOPED_PIPELINE p = rig_recipe("train");
    struct fdl_pipeline *copy;
    rig_add(p, "color_jitter", "brightness=0.4");
    rig_add(p, "random_erasing", NULL);
    rig_add(p, "grayscale", NULL);
    names_of(p, names, sizeof(names));
    assert_string_equal(names,
                        "random_resized_crop horizontal_flip color_jitter "
                        "grayscale normalize random_erasing");
    assert_int_equal(fdl_pipeline_copy(p, &copy), FEEDLINE_OK);
    rig_add(copy, "pad", NULL);
    names_of(copy, names, sizeof(names));
    assert_non_null(strstr(names, "grayscale pad normalize"));
    fdl_pipeline_destroy(copy);
    assert_int_equal(fdl_pipeline_add(p, "resize", "size=3"), FEEDLINE_EINVAL);
    assert_true(fdl_pipeline_add(p, "pad", "padding=-1") < 0);
    while (fdl_pipeline_add(p, "grayscale", NULL) == FEEDLINE_OK) {
    }
    assert_non_null(strstr(fdl_last_error(), "at most"));
}

TEST(u8_recipes_do_not_normalize)
{
    static const char *const recipes[][2] = {{"train", "train_u8"},
                                             {"eval", "eval_u8"}};
    for (size_t i = 0; i < FDL_COUNT_OF(recipes); i++) {
        char with[256], without[256];
        struct fdl_pipeline *p = rig_recipe(recipes[i][0]);
        names_of(p, with, sizeof(with));
        fdl_pipeline_destroy(p);
        p = rig_recipe(recipes[i][1]);
        names_of(p, without, sizeof(without));
        assert_false(fdl_pipeline_normalizes(p));
        fdl_pipeline_destroy(p);
        strcat(without, " normalize");
        assert_string_equal(with, without);
    }
}

TEST(recipes_are_known_by_name)
{
    struct fdl_pipeline *p;
    char names[512];
    assert_int_equal(fdl_pipeline_create("timm_a1", &p), FEEDLINE_ENOENT);
    assert_non_null(strstr(fdl_last_error(), "the closest is 'timm-a1'"));
    assert_int_equal(fdl_pipeline_create("eval_u9x!", &p), FEEDLINE_ENOENT);
    assert_non_null(strstr(fdl_last_error(), "none, train, eval, torchvision"));
    p = rig_recipe("deit");
    rig_add(p, "grayscale", NULL);
    names_of(p, names, sizeof(names));
    assert_non_null(strstr(names, "timm_augment grayscale normalize random_e"));
    fdl_pipeline_destroy(p);
    p = rig_recipe("dino");
    assert_int_equal(fdl_pipeline_views(p, NULL), 10);
    fdl_pipeline_destroy(p);
}

TEST(a_pipeline_ends_somewhere)
{
    SCOPED_PIPELINE p = rig_recipe(NULL);
    for (int i = 0; i < FDL_PIPELINE_OPS; i++)
        rig_add(p, "horizontal_flip", NULL);
    assert_int_equal(fdl_pipeline_add(p, "horizontal_flip", NULL),
                     FEEDLINE_ERANGE);
}

TEST(random_resized_crop_stays_inside)
{
    uint64_t seed = test_seed();
    SCOPED_PIPELINE p = rig_recipe("train");
    for (uint64_t i = 0; i < 20000; i++) {
        int32_t width = 1 + (int32_t)(make_random(&seed) % 900);
        int32_t height = 1 + (int32_t)(make_random(&seed) % 900);
        if (i % 7 == 0)
            width = 1;
        if (i % 7 == 1)
            height = 1;
        struct fdl_plan out = rig_plan(p, i, width, height);
        check_inside(&out.geometry, width, height);
        assert_int_equal(out.geometry.resize_width, 224);
        assert_int_equal(out.geometry.window.height, 224);
        assert_true(out.norm.on);
    }
}

/* Area is uniform in the scale's range where the box always fits. */
TEST(random_resized_crop_is_distributed)
{
    enum { N = 40000 };
    SCOPED_PIPELINE p = rig_recipe(NULL);
    rig_add(p, "random_resized_crop", "scale=0.1:0.5 ratio=0.8:1.25");
    double area = 0, shape = 0, x = 0, least = 1, most = 0;
    for (uint64_t i = 0; i < N; i++) {
        struct fdl_geometry g = rig_plan(p, i, 1000, 1000).geometry;
        double share = (double)g.box.width * g.box.height / 1e6;
        area += share;
        least = fmin(least, share);
        most = fmax(most, share);
        shape += log((double)g.box.width / g.box.height);
        x += g.box.x / (1000.0 - g.box.width);
    }
    assert_true(fabs(area / N - 0.3) < 0.003);
    assert_true(least > 0.099 && least < 0.103);
    assert_true(most > 0.497 && most < 0.502);
    assert_true(fabs(shape / N) < 0.003);
    assert_true(fabs(x / N - 0.5) < 0.01);
}

TEST(random_resized_crop_falls_back_to_the_middle)
{
    SCOPED_PIPELINE p = rig_recipe(NULL);
    rig_add(p, "random_resized_crop", "scale=1:1 ratio=0.5:2");
    struct fdl_geometry g = rig_plan(p, 3, 1000, 100).geometry;
    assert_int_equal(g.box.width, 200);
    assert_int_equal(g.box.x, 400);
    assert_int_equal(g.box.height, 100);
    g = rig_plan(p, 3, 100, 1001).geometry;
    assert_int_equal(g.box.height, 200);
    assert_int_equal(g.box.y, 400);
}

TEST(flip_has_its_probability)
{
    static const struct {
        const char *args;
        double p;
    } rows[] = {{"p=0", 0}, {NULL, 0.5}, {"p=0.2", 0.2}, {"p=1", 1}};
    for (size_t r = 0; r < FDL_COUNT_OF(rows); r++) {
        SCOPED_PIPELINE p = rig_recipe(NULL);
        rig_add(p, "horizontal_flip", rows[r].args);
        int flips = 0;
        for (uint64_t i = 0; i < 20000; i++)
            flips += rig_plan(p, i, 4, 4).geometry.flip;
        assert_true(fabs(flips / 20000.0 - rows[r].p) < 0.015);
    }
}

/* torchvision's numbers. */
TEST(resize_rounds_as_torchvision)
{
    static const struct {
        int32_t width, height, new_width, new_height;
    } rows[] = {
        {500, 375, 341, 256}, {375, 500, 256, 341}, {256, 256, 256, 256},
        {1, 3, 256, 768},     {333, 500, 256, 384}, {640, 427, 383, 256},
        {256, 999, 256, 999},
    };
    SCOPED_PIPELINE p = rig_recipe(NULL);
    rig_add(p, "resize", "size=256");
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        struct fdl_geometry g =
            rig_plan(p, 0, rows[i].width, rows[i].height).geometry;
        assert_int_equal(g.resize_width, rows[i].new_width);
        assert_int_equal(g.resize_height, rows[i].new_height);
        int32_t w, h;
        assert_int_equal(
            fdl_pipeline_output_size(p, rows[i].width, rows[i].height, &w, &h),
            FEEDLINE_OK);
        assert_int_equal(w, g.window.width);
        assert_int_equal(h, g.window.height);
    }
    struct fdl_plan out;
    assert_int_equal(first_plan(p, 0, 0, 0, 1, 60000, &out), FEEDLINE_EINVAL);
}

/* Halves go to the even number. */
TEST(center_crop_rounds_as_torchvision)
{
    SCOPED_PIPELINE p = rig_recipe(NULL);
    rig_add(p, "center_crop", "width=10 height=10");
    struct fdl_geometry g = rig_plan(p, 0, 11, 13).geometry;
    assert_int_equal(g.box.x, 0); /* 0.5 */
    assert_int_equal(g.box.y, 2); /* 1.5 */
}

/* Its border is a step, behind which nothing resamples. */
TEST(center_crop_of_a_small_image_has_a_border)
{
    SCOPED_PIPELINE p = rig_recipe(NULL);
    rig_add(p, "center_crop", "width=10 height=10");
    struct fdl_plan out = rig_plan(p, 0, 9, 30);
    assert_int_equal(out.n_pixel_steps, 1);
    assert_int_equal(fdl_plan_width(&out), 10);
    assert_int_equal(fdl_plan_height(&out), 10);
    rig_add(p, "resize", "size=20");
    assert_int_equal(rig_plan(p, 0, 10, 30).n_pixel_steps, 0);
    assert_int_equal(first_plan(p, 0, 0, 0, 9, 30, &out), FEEDLINE_EINVAL);
    assert_non_null(strstr(fdl_last_error(), "put resize first"));
}

TEST(normalize_twice_is_folded)
{
    SCOPED_PIPELINE p = rig_recipe(NULL);
    assert_false(fdl_pipeline_normalizes(p));
    rig_add(p, "normalize", "mean=0.5 std=0.5");
    rig_add(p, "normalize", "mean=1,2,3 std=2");
    assert_true(fdl_pipeline_normalizes(p));
    struct fdl_plan out = rig_plan(p, 0, 4, 4);
    for (int c = 0; c < 3; c++) {
        double x = 0.3, want = ((x - 0.5) / 0.5 - (c + 1)) / 2;
        double got = (x - (double)out.norm.mean[c]) / (double)out.norm.std[c];
        assert_true(fabs(got - want) < 1e-6);
    }
}

TEST(output_size_is_known_or_refused)
{
    int32_t w = -7, h = -7;
    SCOPED_PIPELINE p = rig_recipe(NULL);
    assert_int_equal(fdl_pipeline_output_size(p, 0, 0, &w, &h),
                     FEEDLINE_EINVAL);
    assert_int_equal(w, -7);
    assert_int_equal(fdl_pipeline_output_size(p, 28, 20, &w, &h), FEEDLINE_OK);
    assert_int_equal(w, 28);
    assert_int_equal(h, 20);
    rig_add(p, "resize", "size=64");
    assert_int_equal(fdl_pipeline_output_size(p, 0, 0, &w, &h),
                     FEEDLINE_EINVAL);
    rig_add(p, "center_crop", "width=60 height=50");
    assert_int_equal(fdl_pipeline_output_size(p, 0, 0, &w, &h), FEEDLINE_OK);
    assert_int_equal(w, 60);
    assert_int_equal(h, 50);
}

/* The size that is promised before a batch has memory is the one drawn. */
TEST(output_size_is_that_of_each_draw)
{
    static const struct {
        const char *op, *args;
    } rows[] = {
        {"pad", "padding=1,2,3,4"},
        {"pad", "padding=5"},
        {"resize", "size=31"},
        {"resize_pad", "size=33"},
        {"center_crop", "width=10 height=50"},
        {"random_crop", "width=20 height=10"},
        {"random_resized_crop", "width=9 height=7"},
        {"random_rotation", "degrees=30"},
        {"five_crop", "width=8 height=6"},
        {"ten_crop", "width=8 height=6"},
        {"vertical_flip", ""},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        SCOPED_PIPELINE p = rig_recipe(NULL);
        rig_add(p, rows[i].op, rows[i].args);
        int32_t w, h;
        assert_int_equal(fdl_pipeline_output_size(p, 40, 30, &w, &h),
                         FEEDLINE_OK);
        struct fdl_plan out = rig_plan(p, i, 40, 30);
        assert_int_equal(fdl_plan_width(&out), w);
        assert_int_equal(fdl_plan_height(&out), h);
    }
}

static bool same_plan(const struct fdl_plan *a, const struct fdl_plan *b)
{
    const struct fdl_geometry *g = &a->geometry, *h = &b->geometry;
    return memcmp(&g->box, &h->box, sizeof(g->box)) == 0 &&
           memcmp(&g->window, &h->window, sizeof(g->window)) == 0 &&
           g->flip == h->flip && g->resize_width == h->resize_width;
}

TEST(plans_depend_on_the_key_alone)
{
    SCOPED_PIPELINE p = rig_recipe("train");
    struct fdl_pipeline *copy;
    assert_int_equal(fdl_pipeline_copy(p, &copy), FEEDLINE_OK);
    int same = 0;
    for (uint64_t i = 0; i < 500; i++) {
        struct fdl_plan a, b, c;
        first_plan(p, 7, 3, i, 500, 375, &a);
        first_plan(copy, 7, 3, 499 - i, 500, 375, &b);
        first_plan(copy, 7, 3, i, 500, 375, &b);
        assert_true(same_plan(&a, &b));
        first_plan(p, 7, 4, i, 500, 375, &b);
        first_plan(p, 8, 3, i, 500, 375, &c);
        same += same_plan(&a, &b) + same_plan(&a, &c);
    }
    assert_in_range(same, 0, 1);
    fdl_pipeline_destroy(copy);
}

TEST(json_lists_operations)
{
    SCOPED_PIPELINE p = rig_recipe("eval");
    char text[2048];
    uint64_t needed;
    struct fdl_json j;
    fdl_json_init(&j, text, sizeof(text));
    fdl_pipeline_json(p, NULL, &j);
    assert_int_equal(fdl_json_finish(&j, &needed), FEEDLINE_OK);
    assert_non_null(strstr(text, "\"resize\""));
    assert_non_null(strstr(text, "256"));
    assert_non_null(strstr(text, "\"center_crop\""));
    assert_true(strstr(text, "resize") < strstr(text, "center_crop"));
    assert_true(strstr(text, "center_crop") < strstr(text, "normalize"));
}

TEST(empty_images_are_refused)
{
    SCOPED_PIPELINE p = rig_recipe("train");
    struct fdl_plan out;
    assert_int_equal(first_plan(p, 0, 0, 0, 0, 5, &out), FEEDLINE_EINVAL);
    assert_int_equal(first_plan(p, 0, 0, 0, 5, -1, &out), FEEDLINE_EINVAL);
}

/* Told without an image, and the very numbers that the last pass takes. */
static void check_affine(const struct fdl_pipeline *p, int32_t channels)
{
    static struct fdl_affine want, got;
    struct fdl_plan of_sample = rig_plan(p, 5, 640, 480);
    for (int r = FDL_ROUNDING_ONCE; r <= FDL_ROUNDING_MULTIPLY; r++) {
        enum fdl_rounding rounding = (enum fdl_rounding)r;
        fdl_affine_init(&want, &of_sample.norm, rounding);
        assert_int_equal(fdl_pipeline_affine(p, channels, rounding, &got),
                         FEEDLINE_OK);
        assert_memory_equal(&got, &want, sizeof(want));
    }
}

TEST(the_last_pass_is_known_without_an_image)
{
    struct fdl_pipeline *p = rig_recipe("train");
    check_affine(p, 3);
    fdl_pipeline_destroy(p);

    p = rig_recipe(NULL);
    for (int32_t channels = 1; channels <= 4; channels++)
        check_affine(p, channels);
    rig_add(p, "normalize", "mean=0.5 std=0.25");
    rig_add(p, "normalize", "mean=-1 std=3");
    for (int32_t channels = 1; channels <= 4; channels++)
        check_affine(p, channels);
    fdl_pipeline_destroy(p);
}

TEST(the_last_pass_knows_its_channels)
{
    SCOPED_PIPELINE p = rig_recipe(NULL);
    static struct fdl_affine affine;
    rig_add(p, "normalize", "mean=0.5,0.5,0.5 std=0.25");
    assert_int_equal(fdl_pipeline_affine(p, 4, FDL_ROUNDING_ONCE, &affine),
                     FEEDLINE_EINVAL);
    assert_non_null(strstr(fdl_last_error(), "normalize"));
}

TEST(late_operations_are_named)
{
    struct fdl_pipeline *p = rig_recipe("train");
    assert_null(fdl_pipeline_late_op(p));
    rig_add(p, "random_erasing", "count=3");
    rig_add(p, "mix", "mixup_alpha=1");
    assert_string_equal(fdl_pipeline_late_op(p), "random_erasing");
    assert_int_equal(fdl_pipeline_late_steps(p), 3);
    fdl_pipeline_destroy(p);
    p = rig_recipe("train"); /* mixed where it is finished */
    rig_add(p, "mix", "mixup_alpha=1");
    assert_null(fdl_pipeline_late_op(p));
    assert_int_equal(fdl_pipeline_late_steps(p), 0);
    fdl_pipeline_destroy(p);
}

TEST_MAIN("decode_pipeline")
