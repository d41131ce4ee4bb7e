/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of masks: they move as the image does, and nothing else is done. Pixels
 * are compared with torchvision's by tests/python/test_masks.py. */
#include "base/status.h"
#include "rig.h"

#include <math.h>

static struct fdl_plan draw(const struct fdl_pipeline *p, uint64_t sample,
                            struct fdl_mask_rule mask)
{
    struct fdl_plan plan;
    struct fdl_draw_key key = {.seed = 1,
                               .sample = sample,
                               .view = FDL_EVERY_VIEW,
                               .channels = mask.on ? 1 : 3,
                               .mask = mask};
    if (fdl_pipeline_draw(p, &key, 61, 47, &plan) != FEEDLINE_OK)
        fail_msg("%s", fdl_last_error());
    return plan;
}

/* Every operation on colours, between those that move. */
static const char *const colourful[][2] = {
    {"random_resized_crop", "size=20 interpolation=bicubic"},
    {"color_jitter", "hue=0.1"},
    {"horizontal_flip", NULL},
    {"random_invert", NULL},
    {"random_equalize", NULL},
    {"random_adjust_sharpness", NULL},
    {"gaussian_blur", "kernel_size=3"},
    {"random_photometric_distort", NULL},
    {"random_grayscale", NULL},
    {"random_crop", "size=15"},
    {"normalize", NULL},
    {"random_erasing", "p=1"},
    {NULL, NULL}};

TEST(colours_add_no_steps)
{
    SCOPED_PIPELINE p = rig_pipeline(colourful);
    for (uint64_t i = 0; i < 100; i++) {
        struct fdl_plan image = draw(p, i, (struct fdl_mask_rule){0});
        struct fdl_plan mask = draw(p, i, (struct fdl_mask_rule){.on = true});
        const struct fdl_geometry *a = &image.geometry, *b = &mask.geometry;
        assert_true(image.n_steps > 1);
        assert_int_equal(mask.n_steps, 0); /* the crop is folded in */
        assert_false(mask.norm.on);
        assert_int_equal(b->filter, FDL_FILTER_NEAREST);
        assert_memory_equal(&a->box, &b->box, sizeof(a->box));
        assert_int_equal(fdl_plan_width(&mask), 15);
    }
}

TEST(what_moves_is_done_with_the_masks_fill)
{
    static const char *const ops[][2] = {
        {"pad", "padding=3 fill=7"},
        {"random_affine", "degrees=30 interpolation=bilinear fill=9"},
        {"random_perspective", "p=1 fill=9"},
        {NULL, NULL}};
    SCOPED_PIPELINE p = rig_pipeline(ops);
    SCOPED_DECODER d = rig_decoder((struct fdl_decode_limits){0});
    uint8_t pixels[61 * 47], out[67 * 53];
    memset(pixels, 1, sizeof(pixels));
    struct fdl_encoded raw = raw_of(pixels, 61, 47, 1);
    struct fdl_output_format f = {67, 53, 1, FEEDLINE_U8, false};
    for (uint64_t i = 0; i < 20; i++) {
        struct fdl_mask_rule rule = {.on = true, .fill = 255};
        struct fdl_plan plan = draw(p, i, rule);
        assert_int_equal(plan.n_steps, 3);
        rig_render(d, &raw, &plan, &f, out);
        bool seen[256] = {false};
        for (size_t k = 0; k < sizeof(out); k++)
            seen[out[k]] = true;
        for (int v = 0; v < 256; v++)
            assert_int_equal(seen[v], v == 1 || v == 255);
    }
}

TEST(what_masks_cannot_follow_is_refused)
{
    static const struct {
        const char *op, *args;
        enum fdl_nearest nearest;
    } bad[] = {
        {"five_crop", "size=9", FDL_NEAREST_PILLOW},
        {"mix", "mixup_alpha=1", FDL_NEAREST_PILLOW},
        {"random_rotation", NULL, FDL_NEAREST_TORCH},
        {"rand_augment", NULL, FDL_NEAREST_TORCH},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        const char *const ops[][2] = {{bad[i].op, bad[i].args}, {NULL, NULL}};
        SCOPED_PIPELINE p = rig_pipeline(ops);
        assert_int_equal(fdl_pipeline_check_mask(p, bad[i].nearest),
                         FEEDLINE_EINVAL);
        assert_non_null(strstr(fdl_last_error(), bad[i].op));
    }
}

/* Where the mask shows what was in the box: left, top, right, bottom; all 0 if
 * nowhere. */
static void find_bright(const uint8_t *mask, int32_t width, int32_t height,
                        int32_t found[4])
{
    memset(found, 0, 4 * sizeof(found[0]));
    for (int32_t i = 0; i < width * height; i++) {
        int32_t x = i % width, y = i / width;
        if (mask[i] != 200)
            continue;
        if (found[2] == 0) {
            found[0] = x;
            found[1] = y;
        }
        found[0] = FDL_MIN(found[0], x);
        found[2] = FDL_MAX(found[2], x + 1);
        found[3] = y + 1;
    }
}

/* A box of the image and a mask that shows it, drawn and moved. */
static void check_box(struct fdl_decoder *d, const struct fdl_pipeline *p,
                      uint64_t sample, const char *op)
{
    static uint8_t pixels[61 * 47], out[300 * 300];
    float box[4] = {12, 10, 30, 33};
    uint32_t source = 0;
    struct fdl_objects objects = {.n = 1, .boxes = box, .source = &source};
    struct fdl_draw_key key = {.seed = 1,
                               .sample = sample,
                               .view = FDL_EVERY_VIEW,
                               .channels = 1,
                               .objects = &objects,
                               .mask = {.on = true}};
    struct fdl_encoded raw = raw_of(pixels, 61, 47, 1);
    struct fdl_plan plan;
    int32_t found[4];
    for (int32_t i = 0; i < 61 * 47; i++) {
        int32_t x = i % 61, y = i / 61;
        pixels[i] = x >= 12 && x < 30 && y >= 10 && y < 33 ? 200 : 1;
    }
    assert_int_equal(fdl_pipeline_draw(p, &key, 61, 47, &plan), FEEDLINE_OK);
    struct fdl_output_format f = {fdl_plan_width(&plan), fdl_plan_height(&plan),
                                  1, FEEDLINE_U8, false};
    assert_true(f.width * f.height <= (int32_t)sizeof(out));
    rig_render(d, &raw, &plan, &f, out);
    find_bright(out, f.width, f.height, found);
    bool gone = box[2] - box[0] < 1 || box[3] - box[1] < 1;
    for (int i = 0; i < 4 && !gone; i++)
        if (fabsf(box[i] - (float)found[i]) > 0.51f)
            fail_msg("%s, sample %d: side %d of the box is at %g, its pixels "
                     "at %d",
                     op, (int)sample, i, (double)box[i], found[i]);
}

/* Sizes that are drawn, and crops of what may be smaller: where pixels of a box
 * go, the box goes. */
TEST(boxes_are_where_masks_show_them)
{
    static const char *const ops[][2] = {
        {"scale_jitter", "width=60 height=80 scale=0.3:2"},
        {"random_shortest_size", "min_size=20,31,77 max_size=90"},
        {"random_resize", "min_size=17 max_size=90"},
        {"random_zoom_out", "p=0.8 side_range=1:3"},
        {"fixed_size_crop", "width=40 height=70"},
        {"random_crop_or_pad", "width=90 height=30"},
        {"trim_border", "size=11"},
        {"resize_keep_ratio", "size=50 random_scale_prob=0.7 "
                              "random_aspect_prob=0.7"},
        {"random_crop", "width=70 height=40 pad_if_needed=true"}};
    SCOPED_DECODER d = rig_decoder((struct fdl_decode_limits){0});
    for (size_t i = 0; i < FDL_COUNT_OF(ops); i++) {
        const char *const one[][2] = {{ops[i][0], ops[i][1]}, {NULL, NULL}};
        SCOPED_PIPELINE p = rig_pipeline(one);
        for (uint64_t sample = 0; sample < 100; sample++)
            check_box(d, p, sample, ops[i][0]);
    }
}

TEST_MAIN("decode_mask")
