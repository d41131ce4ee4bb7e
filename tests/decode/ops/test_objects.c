/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects move with the image: each operation against where a point of the
 * image goes, and the rules that differ between boxes and keypoints. That the
 * numbers are torchvision's is tests/python/test_objects.py's.
 */
#include "decode/plan/affine.h"
#include "tests/decode/rig.h"

#include <math.h>

#define N 2

static const float some_boxes[4 * N] = {10, 20, 30, 60, 0, 0, 100, 80};
static const float some_points[2 * N] = {10, 20, 99, 79};

struct case_of {
    float boxes[4 * N], points[2 * N];
    uint32_t source[N];
    struct fdl_objects objects;
    struct fdl_plan plan;
};

/* Two objects in an image of 100 x 80. */
static void begin(struct case_of *c)
{
    memcpy(c->boxes, some_boxes, sizeof(some_boxes));
    memcpy(c->points, some_points, sizeof(some_points));
    c->source[0] = 0;
    c->source[1] = 1;
    c->objects = (struct fdl_objects){N, 1, c->boxes, c->points, c->source};
    fdl_plan_init(&c->plan, 100, 80);
    c->plan.objects = &c->objects;
}

static void check(const float *have, float a, float b, float c, float d)
{
    const float want[4] = {a, b, c, d};
    for (int i = 0; i < 4; i++)
        if (fabsf(have[i] - want[i]) > 1e-3f)
            fail_msg("value %d is %g and not %g", i, (double)have[i],
                     (double)want[i]);
}

TEST(crop_keeps_boxes_inside_and_not_keypoints)
{
    struct case_of c;
    begin(&c);
    fdl_plan_crop(&c.plan, (struct fdl_box){20, 10, 50, 40});
    check(c.boxes, 0, 10, 10, 40);
    check(c.boxes + 4, 0, 0, 50, 40);
    check(c.points, -10, 10, 79, 69);
}

TEST(resize_is_by_the_ratio_of_each_side)
{
    struct case_of c;
    begin(&c);
    fdl_plan_resize(&c.plan, 50, 160, FDL_FILTER_BOX);
    check(c.boxes, 5, 40, 15, 120);
    check(c.points, 5, 40, 49.5f, 158);
    assert_int_equal(c.plan.geometry.filter, FDL_FILTER_BOX);
    fdl_plan_resize(&c.plan, 25, 40, FDL_FILTER_BILINEAR); /* once more */
    assert_int_equal(c.plan.geometry.filter, FDL_FILTER_BOX);
    check(c.boxes, 2.5f, 10, 7.5f, 30);
}

/* A box reaches from edge to edge, a keypoint from the first pixel to the last.
 */
TEST(flips)
{
    struct case_of c;
    begin(&c);
    fdl_plan_flip(&c.plan);
    check(c.boxes, 70, 20, 90, 60);
    check(c.points, 89, 20, 0, 79);
    fdl_plan_flip_vertical(&c.plan);
    check(c.boxes, 70, 20, 90, 60);
    check(c.boxes + 4, 0, 0, 100, 80);
    check(c.points, 89, 59, 0, 0);
}

TEST(windows_may_reach_over_the_edges)
{
    static const uint8_t fill[4];
    struct case_of c;
    begin(&c);
    assert_int_equal(fdl_plan_window(&c.plan,
                                     (struct fdl_box){-5, 30, 120, 100},
                                     FDL_PAD_CONSTANT, fill),
                     FEEDLINE_OK);
    check(c.boxes, 15, 0, 35, 30);
    check(c.boxes + 4, 5, 0, 105, 50);
    check(c.points, 15, -10, 104, 49);
    assert_int_equal(
        fdl_plan_window(&c.plan, (struct fdl_box){0, 0, FDL_OP_SIDE_MAX + 1, 1},
                        FDL_PAD_CONSTANT, fill),
        FEEDLINE_ERANGE);
    check(c.boxes, 15, 0, 35, 30);
}

/* By whole pixels, which is a window; by halves, which is not. */
TEST(affine_maps)
{
    static const uint8_t fill[4];
    static const double whole[6] = {1, 0, 4, 0, 1, -8};
    static const double half[6] = {1, 0, 4.5, 0, 1, -8};
    static const double none[6] = {1, 0, 0, 0, 1, 0};
    struct case_of c;
    begin(&c);
    fdl_plan_affine(&c.plan, whole, FDL_MAP_BILINEAR, fill);
    check(c.boxes, 6, 28, 26, 68);
    check(c.boxes + 4, 0, 8, 96, 80);
    begin(&c);
    fdl_plan_affine(&c.plan, half, FDL_MAP_BILINEAR, fill);
    check(c.boxes, 5.5f, 28, 25.5f, 68);
    check(c.points, 5.5f, 28, 94.5f, 87);
    begin(&c);
    c.boxes[6] = 101; /* from the table, beyond the edge */
    fdl_plan_affine(&c.plan, none, FDL_MAP_BILINEAR, fill);
    check(c.boxes + 4, 0, 0, 100, 80);
}

/* Counter-clockwise: left goes down. Turned by quarters or not, boxes are those
 * of their corners. */
TEST(rotations)
{
    static const uint8_t fill[4];
    struct case_of c;
    begin(&c);
    fdl_plan_rotate(&c.plan, 180, FDL_MAP_NEAREST, fill);
    check(c.boxes, 70, 20, 90, 60);
    begin(&c);
    fdl_plan_rotate(&c.plan, 90, FDL_MAP_NEAREST, fill);
    check(c.boxes, 30, 60, 70, 80); /* (x, y) to (10 + y, 90 - x) */
    check(c.points, 30, 80, 89, -9);
    begin(&c);
    fdl_plan_crop(&c.plan, (struct fdl_box){0, 0, 80, 80});
    fdl_plan_rotate(&c.plan, 90, FDL_MAP_NEAREST, fill);
    check(c.boxes, 20, 50, 60, 70);
    begin(&c);
    fdl_plan_rotate(&c.plan, 360, FDL_MAP_NEAREST, fill);
    check(c.boxes, 10, 20, 30, 60);
}

TEST(perspective_divides)
{
    static const uint8_t fill[4];
    static const double twice[8] = {0.5, 0, 0, 0, 0.5, 0, 0, 0};
    static const double deep[8] = {1, 0, 0, 0, 1, 0, 0.01, 0};
    struct case_of c;
    begin(&c);
    fdl_plan_perspective(&c.plan, twice, FDL_MAP_BILINEAR, fill);
    check(c.boxes, 20, 40, 60, 80);
    check(c.points, 20, 40, 198, 158);
    begin(
        &c); /* source x = x / (1 + x / 100): x = source / (1 - source / 100) */
    fdl_plan_perspective(&c.plan, deep, FDL_MAP_BILINEAR, fill);
    check(c.boxes, 11.11111f, 22.22222f, 42.85714f, 80);
}

/* A map that has no opposite leaves nothing of them, and no NaN. */
TEST(what_cannot_be_mapped_is_empty)
{
    static const uint8_t fill[4];
    static const double flat[8] = {0};
    struct case_of c;
    begin(&c);
    fdl_plan_perspective(&c.plan, flat, FDL_MAP_BILINEAR, fill);
    for (int i = 0; i < 4 * N; i++)
        assert_true(c.boxes[i] >= 0 && c.boxes[i] <= 100);
}

TEST(operations_move_them)
{
    SCOPED_PIPELINE p = rig_recipe(NULL);
    struct case_of c;
    struct fdl_plan plan;
    struct fdl_draw_key key = {
        .channels = 3, .view = FDL_EVERY_VIEW, .objects = &c.objects};
    begin(&c);
    rig_add(p, "resize", "width=200 height=80");
    rig_add(p, "horizontal_flip", "p=1");
    rig_add(p, "center_crop", "width=100 height=80");
    assert_int_equal(fdl_pipeline_draw(p, &key, 100, 80, &plan), FEEDLINE_OK);
    check(c.boxes, 90, 20, 100, 60);
    check(c.boxes + 4, 0, 0, 100, 80);
    check(c.points, 129, 20, -49, 79);
}

static bool is_small(const float box[4], const void *most)
{
    return box[2] - box[0] < *(const float *)most;
}

TEST(dropped_objects_leave_the_others_in_order)
{
    float most = 50;
    struct case_of c;
    begin(&c);
    fdl_objects_keep(&c.objects, is_small, &most);
    assert_int_equal(c.objects.n, 1);
    assert_int_equal(c.source[0], 0);
    begin(&c);
    fdl_objects_void(&c.objects, 1);
    c.boxes[2] = 90;
    fdl_objects_keep(&c.objects, is_small, &most);
    assert_int_equal(c.objects.n, 1);
    assert_int_equal(c.source[0], 1);
    check(c.boxes, 0, 0, 0, 0);
    assert_true(c.points[0] == 99 && c.points[1] == 79);
}

/* ---- Operations about objects -------------------------------------------- */

/* By one operation, for a sample; an image of 100 x 80. */
static void run_op(struct case_of *c, const char *op, const char *args,
                   uint64_t sample)
{
    SCOPED_PIPELINE p = rig_recipe(NULL);
    struct fdl_draw_key key = {.sample = sample,
                               .channels = 3,
                               .view = FDL_EVERY_VIEW,
                               .objects = &c->objects};
    rig_add(p, op, args);
    assert_int_equal(fdl_pipeline_draw(p, &key, 100, 80, &c->plan),
                     FEEDLINE_OK);
}

TEST(sanitize_drops_what_is_small_or_outside)
{
    static const struct {
        float box[4];
        const char *args;
        bool stays;
    } cases[] = {
        {{10, 20, 11, 21}, "", true},
        {{10, 20, 10.5f, 60}, "", false},
        {{10, 20, 60, 20.5f}, "", false},
        {{30, 20, 10, 60}, "", false},
        {{10, 20, 30, 60}, "min_size=20 min_area=800", true},
        {{10, 20, 30, 60}, "min_size=20.5", false},
        {{10, 20, 30, 60}, "min_area=801", false},
        {{-0.5f, 20, 30, 60}, "", false},
        {{10, -0.5f, 30, 60}, "", false},
        {{10, 20, 100.5f, 60}, "", false},
        {{10, 20, 30, 80.5f}, "", false},
        {{0, 0, 0, 0}, "", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct case_of c;
        begin(&c);
        memcpy(c.boxes, cases[i].box, sizeof(cases[i].box));
        run_op(&c, "sanitize_boxes", cases[i].args, i);
        assert_int_equal(c.objects.n, cases[i].stays ? 2 : 1);
        assert_int_equal(c.source[c.objects.n - 1], 1);
    }
}

/* Of 1000 crops; the first box is 800 pixels, the second all 8000. */
TEST(iou_crops_overlap_a_box_by_the_share)
{
    uint32_t crops = 0, without = 0;
    for (uint64_t sample = 0; sample < 1000; sample++) {
        struct case_of c;
        begin(&c);
        run_op(&c, "random_iou_crop", "overlaps=0.3", sample);
        struct fdl_box box = c.plan.geometry.box;
        float shape = (float)box.width / (float)box.height;
        assert_true(shape >= 0.5f && shape <= 2);
        assert_true(box.width >= 30 && box.height >= 24);
        bool has_first = box.x < 20 && 20 < box.x + box.width && box.y < 40 &&
                         40 < box.y + box.height;
        bool has_second = box.x < 50 && 50 < box.x + box.width && box.y < 40 &&
                          40 < box.y + box.height;
        assert_true(has_first || has_second);
        assert_int_equal(c.boxes[2] > 0, has_first);
        assert_int_equal(c.boxes[6] > 0, has_second);
        assert_true(!has_second || c.boxes[6] == (float)box.width);
        assert_true(has_first || box.width * box.height >= 2400);
        crops += box.width < 100 || box.height < 80;
        without += !has_first;
    }
    assert_true(crops > 990 && without > 100 && without < 900);
}

TEST(iou_crop_may_leave_the_image)
{
    for (uint64_t sample = 0; sample < 20; sample++) {
        struct case_of c;
        begin(&c);
        run_op(&c, "random_iou_crop", "overlaps=1", sample);
        check(c.boxes, 10, 20, 30, 60);
        begin(&c);
        c.objects.n = 0; /* nothing to overlap */
        run_op(&c, "random_iou_crop", "overlaps=0.5", sample);
        assert_int_equal(fdl_plan_width(&c.plan), 100);
        begin(&c);
        c.boxes[0] = 300; /* no crop has their middles */
        c.boxes[4] = 300;
        run_op(&c, "random_iou_crop", "overlaps=0 trials=3", sample);
        assert_int_equal(fdl_plan_width(&c.plan), 100);
    }
}

TEST_MAIN("decode_objects")
