/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views: that five and ten crops lie where their definition puts them, and that
 * all views made in one go are those that are made one by one, whatever stands
 * before and behind the operation. ops_parity.py has torchvision's pixels.
 */
#include "base/cpu.h"
#include "tests/decode/rig.h"

#define MAX_BYTES (1 << 18)

struct bench {
    int32_t width, height;
    uint8_t *raw; /* interleaved RGB */
    struct fdl_decoder *decoder;
};

static void bench_init(struct bench *b, int32_t width, int32_t height)
{
    size_t n = 3 * (size_t)width * (size_t)height;
    *b = (struct bench){.width = width, .height = height, .raw = rig_alloc(n)};
    fill_noise(b->raw, n);
    b->decoder = rig_decoder((struct fdl_decode_limits){0});
}

static void bench_fini(struct bench *b)
{
    fdl_decoder_destroy(b->decoder);
    free(b->raw);
}

/* Renders the plan; the bytes of one view. */
static uint64_t render(const struct bench *b, const struct fdl_plan *plan,
                       int32_t dtype, uint8_t *dst)
{
    struct fdl_encoded image = raw_of(b->raw, b->width, b->height, 3);
    struct fdl_output_format format = {
        .width = fdl_plan_width(plan),
        .height = fdl_plan_height(plan),
        .channels = 3,
        .dtype = dtype,
        .nhwc = dtype == FEEDLINE_U8,
    };
    uint64_t bytes = fdl_output_bytes(&format);
    assert_true(bytes * plan->n_views <= MAX_BYTES);
    rig_render(b->decoder, &image, plan, &format, dst);
    return bytes;
}

/* ---- Places ------------------------------------------------------------- */

/* n / 2 rounded, halves to the even number. */
static int32_t middle(int32_t n)
{
    return n / 2 + (n % 2 && n / 2 % 2);
}

/* Pixel of the image, or of its mirror image. */
static const uint8_t *pixel(const struct bench *b, bool mirrored, bool vertical,
                            int32_t x, int32_t y)
{
    if (mirrored && vertical)
        y = b->height - 1 - y;
    else if (mirrored)
        x = b->width - 1 - x;
    return b->raw + 3 * (y * b->width + x);
}

static void check_places(const struct bench *b, int32_t width, int32_t height,
                         uint32_t views, bool vertical)
{
    static uint8_t dst[MAX_BYTES];
    char args[64];
    snprintf(args, sizeof(args), "width=%d height=%d%s", (int)width,
             (int)height, vertical ? " vertical_flip=true" : "");
    const char *const ops[][2] = {{views == 5 ? "five_crop" : "ten_crop", args},
                                  {NULL, NULL}};
    SCOPED_PIPELINE p = rig_pipeline(ops);
    struct fdl_plan plan = rig_plan(p, 3, b->width, b->height);
    assert_int_equal(fdl_pipeline_views(p, NULL), views);
    assert_int_equal(plan.n_views, views);
    render(b, &plan, FEEDLINE_U8, dst);

    const uint8_t *got = dst;
    int32_t right = b->width - width, bottom = b->height - height;
    const int32_t at[5][2] = {{0, 0},
                              {right, 0},
                              {0, bottom},
                              {right, bottom},
                              {middle(right), middle(bottom)}};
    for (uint32_t v = 0; v < views; v++) {
        for (int32_t y = 0; y < height; y++) {
            for (int32_t x = 0; x < width; x++, got += 3)
                assert_memory_equal(got,
                                    pixel(b, v >= 5, vertical, at[v % 5][0] + x,
                                          at[v % 5][1] + y),
                                    3);
        }
    }
}

TEST(crops_lie_where_they_should)
{
    for (int32_t width = 7; width <= 10; width++) {
        for (int32_t height = 4; height <= 6; height++) {
            struct bench b;
            bench_init(&b, width, height);
            for (int32_t w = 1; w <= width; w++) {
                for (int32_t h = 1; h <= height; h++) {
                    check_places(&b, w, h, 5, false);
                    check_places(&b, w, h, 10, false);
                    check_places(&b, w, h, 10, true);
                }
            }
            bench_fini(&b);
        }
    }
}

/* ---- All against each --------------------------------------------------- */

static void check_one_by_one(const char *const (*ops)[2], uint64_t sample)
{
    static uint8_t all[MAX_BYTES], one[MAX_BYTES];
    struct bench b;
    SCOPED_PIPELINE p = rig_pipeline(ops);
    struct fdl_plan plan;
    bench_init(&b, 83, 61);
    int32_t dtype = fdl_pipeline_normalizes(p) ? FEEDLINE_F32 : FEEDLINE_U8;
    struct fdl_draw_key key = {.seed = 7,
                               .epoch = 1,
                               .sample = sample,
                               .copy = 2,
                               .view = FDL_EVERY_VIEW,
                               .channels = 3};
    assert_int_equal(fdl_pipeline_draw(p, &key, b.width, b.height, &plan),
                     FEEDLINE_OK);
    uint64_t bytes = render(&b, &plan, dtype, all);
    uint32_t views = plan.n_views;
    assert_int_equal(views, fdl_pipeline_views(p, NULL));
    for (uint32_t v = 0; v < views; v++) {
        key.view = (int32_t)v;
        assert_int_equal(fdl_pipeline_draw(p, &key, b.width, b.height, &plan),
                         FEEDLINE_OK);
        assert_int_equal(plan.n_views, 1);
        assert_int_equal(render(&b, &plan, dtype, one), bytes);
        if (memcmp(one, all + v * bytes, bytes) != 0)
            fail_msg("%s: view %u differs", ops[0][0], v);
    }
    bench_fini(&b);
}

TEST(views_in_one_go_are_those_one_by_one)
{
    static const char *const pipelines[][8][2] = {
        {{"resize", "size=40"}, {"five_crop", "width=32 height=32"}},
        {{"random_resized_crop", "width=50 height=50"},
         {"horizontal_flip", NULL},
         {"ten_crop", "width=31 height=20"},
         {"normalize", NULL}},
        {{"random_rotation", "degrees=20"},
         {"contrast", "factor=0.5:2"},
         {"ten_crop", "width=31 height=20 vertical_flip=true"},
         {"random_rotation", "degrees=20"},
         {"vertical_flip", NULL},
         {"random_crop", "width=24 height=24 padding=5"}},
        {{"five_crop", "width=60 height=60"},
         {"color_jitter", "brightness=0.4 contrast=0.4 hue=0.1"},
         {"center_crop", "width=33 height=20"},
         {"horizontal_flip", NULL},
         {"normalize", NULL},
         {"random_erasing", "p=1 noise=true"}},
        {{"grayscale", NULL},
         {"horizontal_flip", "p=1"},
         {"five_crop", "width=60 height=60"},
         {"grayscale", NULL}},
    };
    for (int level = FDL_CPU_C; level < FDL_CPU_LEVELS; level++) {
        fdl_cpu_set_level((enum fdl_cpu_level)level);
        for (size_t i = 0; i < FDL_COUNT_OF(pipelines); i++) {
            for (uint64_t sample = 0; sample < 8; sample++)
                check_one_by_one(pipelines[i], sample);
        }
    }
}

TEST(copies_draw_for_themselves)
{
    static const char *const ops[][2] = {
        {"random_resized_crop", "width=9 height=9"}, {NULL, NULL}};
    SCOPED_PIPELINE p = rig_pipeline(ops);
    struct fdl_plan first, plan;
    assert_int_equal(first_plan(p, 5, 6, 7, 900, 700, &first), FEEDLINE_OK);
    for (uint32_t copy = 0; copy < FDL_COPIES_MAX; copy++) {
        struct fdl_draw_key key = {.seed = 5,
                                   .epoch = 6,
                                   .sample = 7,
                                   .copy = copy,
                                   .view = FDL_EVERY_VIEW,
                                   .channels = 3};
        assert_int_equal(fdl_pipeline_draw(p, &key, 900, 700, &plan),
                         FEEDLINE_OK);
        bool same = memcmp(&plan.geometry.box, &first.geometry.box,
                           sizeof(plan.geometry.box)) == 0;
        assert_int_equal(same, copy == 0);
    }
}

TEST(what_cannot_be_is_refused)
{
    static const char *const ops[][2] = {{"five_crop", "width=30 height=20"},
                                         {NULL, NULL}};
    struct fdl_pipeline *p = rig_pipeline(ops);
    struct fdl_plan plan;
    const char *name = NULL;
    assert_int_equal(fdl_pipeline_views(p, &name), 5);
    assert_string_equal(name, "five_crop");
    assert_int_equal(fdl_pipeline_add(p, "ten_crop", NULL), FEEDLINE_EINVAL);
    assert_non_null(strstr(fdl_last_error(), "ten_crop after five_crop"));
    assert_int_equal(fdl_pipeline_add(p, "resize", "size=9"), FEEDLINE_EINVAL);
    for (int32_t view = FDL_EVERY_VIEW; view < 5; view++) {
        struct fdl_draw_key key = {.view = view};
        assert_int_equal(fdl_pipeline_draw(p, &key, 29, 20, &plan),
                         FEEDLINE_EINVAL);
        assert_non_null(strstr(fdl_last_error(), "five_crop: 30x20"));
        assert_int_equal(fdl_pipeline_draw(p, &key, 30, 19, &plan),
                         FEEDLINE_EINVAL);
        assert_int_equal(fdl_pipeline_draw(p, &key, 30, 20, &plan),
                         FEEDLINE_OK);
    }
    fdl_pipeline_destroy(p);
    p = rig_recipe(NULL);
    assert_int_equal(fdl_pipeline_views(p, NULL), 1);
    rig_add(p, "normalize", NULL);
    assert_int_equal(fdl_pipeline_add(p, "ten_crop", NULL), FEEDLINE_EINVAL);
    fdl_pipeline_destroy(p);
}

TEST_MAIN("decode_views")
