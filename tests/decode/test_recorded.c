/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of samples: what is folded, and what memory they take. Pixels are
 * compared with Pillow's by recorded_parity.py. */
#include "decode/decoder_state.h"
#include "make_png.h"
#include "recorded_programs.h"
#include "tests/wrap_memory.h"

#include <errno.h>
#include <math.h>

WRAP(void *, aligned_alloc, size_t align, size_t n)
{
    return memory_fails(n) ? NULL : __real_aligned_alloc(align, n);
}

WRAP(int, posix_memalign, void **p, size_t align, size_t n)
{
    return memory_fails(n) ? ENOMEM : __real_posix_memalign(p, align, n);
}

/* ---- What is planned ---------------------------------------------------- */

static struct fdl_plan plan_of(const struct feedline_recorded_step *steps,
                               size_t n)
{
    struct fdl_decoder *d = rig_decoder((struct fdl_decode_limits){0});
    struct fdl_encoded bytes = raw_of(noise(), WIDTH, HEIGHT, 3);
    struct feedline_recorded_image image = {
        .n_steps = (uint32_t)n, .steps = steps, .channels = 3};
    struct fdl_image_info info;
    struct fdl_plan plan;
    assert_int_equal(fdl_decoder_open(d, &bytes, &info), FEEDLINE_OK);
    if (fdl_recorded_plan(d, &image, &plan))
        fail_msg("%s", fdl_last_error());
    fdl_decoder_destroy(d);
    return plan;
}

TEST(usual_programs_are_one_pass)
{
    struct feedline_recorded_step steps[] = {
        STEP(CONVERT, 3),
        STEP(CROP, 3, 2, 33, 28),
        STEP(RESIZE, 20, 17, 2),
        STEP(TRANSPOSE, 0),
        STEP(CROP, 1, 1, 19, 15),
        STEP(TRANSPOSE, 3),
        PLAIN(SCALE),
        STEP(NORMALIZE, .5, .5, .5, .5, .5, .5)};
    struct fdl_plan plan = plan_of(steps, COUNT(steps));
    assert_int_equal(plan.n_steps, 0);
    assert_int_equal(fdl_plan_width(&plan), 18);
    assert_int_equal(fdl_plan_height(&plan), 14);
}

/* A step of its own only where the pixels would not be the same. */
TEST(steps_are_added_where_they_must)
{
    struct feedline_recorded_step again[] = {STEP(RESIZE, 20, 17, 2),
                                             STEP(RESIZE, 10, 10, 2)};
    struct feedline_recorded_step later[] = {
        STEP(RESIZE, 20, 17, 2), STEP(CONVERT, 1), STEP(CONVERT, 3)};
    struct feedline_recorded_step turned[] = {STEP(TRANSPOSE, 2),
                                              STEP(RESIZE, 9, 9, 3)};
    struct feedline_recorded_step cropped[] = {
        STEP(CROP, 0, 0, 40, 29), STEP(TRANSPOSE, 2), STEP(RESIZE, 9, 9, 3)};
    assert_int_equal(plan_of(again, 1).n_steps, 0);
    assert_int_equal(plan_of(again, 2).n_steps, 1);
    assert_int_equal(plan_of(later, 3).n_steps, 2);
    assert_int_equal(plan_of(turned, 2).n_steps, 0); /* as the file is read */
    assert_int_equal(plan_of(cropped, 3).n_steps, 2);
}

TEST(steps_have_room)
{
    struct feedline_recorded_step steps[FEEDLINE_RECORDED_STEPS_MAX];
    for (size_t i = 0; i < COUNT(steps); i++)
        steps[i] = (struct feedline_recorded_step)STEP(
            RESIZE, 10 + (double)(i % 2), 10, 2);
    struct feedline_recorded_image image =
        program(steps, COUNT(steps), 3, 11, 10);
    assert_int_equal(carry_out(&image), FEEDLINE_OK);

    /* One that takes two may find no room. */
    steps[0] = (struct feedline_recorded_step)STEP(CONVERT, 2);
    for (size_t i = 1; i < COUNT(steps); i++)
        steps[i] = (struct feedline_recorded_step)STEP(PAD, -1, 2, 1, -2, 1);
    image = program(steps, COUNT(steps), 2, WIDTH, HEIGHT);
    expect(carry_out(&image), FEEDLINE_ERANGE, "more than 64 that are done");
}

/* What a part is made of is decoded, with what its edges reach. */
TEST(parts_are_resampled_in_one_pass)
{
    struct feedline_recorded_step part = STEP(RESIZE, 9, 9, 3, 10, 8, 25.5, 20);
    struct fdl_plan plan = plan_of(&part, 1);
    assert_int_equal(plan.n_steps, 0);
    struct fdl_box reach = fdl_geometry_reach(&plan.geometry);
    assert_in_range(reach.x, 0, 6);
    assert_in_range(reach.y, 0, 5);
    assert_in_range(reach.x + reach.width, 29, 33);
    assert_in_range(reach.y + reach.height, 23, 26);
    plan = plan_of(NULL, 0);
    reach = fdl_geometry_reach(&plan.geometry);
    assert_int_equal(reach.width, WIDTH);
    assert_int_equal(reach.height, HEIGHT);
}

/* ---- What comes out ----------------------------------------------------- */

/* The engine may not tell one pass from two: in between lies an image. */
TEST(second_resampling_is_that_of_the_first_result)
{
    struct feedline_recorded_step both[] = {STEP(RESIZE, 23, 50, 3),
                                            STEP(RESIZE, 60, 9, 1)};
    uint8_t between[23 * 50 * 3], want[60 * 9 * 3];
    struct feedline_recorded_image image = program(both, 1, 3, 23, 50);
    assert_int_equal(carry_out(&image), FEEDLINE_OK);
    memcpy(between, out, sizeof(between));

    struct fdl_decoder *d = rig_decoder((struct fdl_decode_limits){0});
    struct fdl_encoded bytes = raw_of(between, 23, 50, 3);
    struct fdl_image_info info;
    struct fdl_render_cost cost;
    image = program(both + 1, 1, 3, 60, 9);
    assert_int_equal(fdl_recorded_render(d, &bytes, &image, &info, &cost), 0);
    memcpy(want, out, sizeof(want));
    fdl_decoder_destroy(d);

    image = program(both, 2, 3, 60, 9);
    assert_int_equal(carry_out(&image), FEEDLINE_OK);
    assert_memory_equal(out, want, sizeof(want));
}

static struct feedline_recorded_step any_part(struct dice *dice, int32_t width,
                                              int32_t height)
{
    struct feedline_recorded_step s = STEP(RESIZE, 9, 7, 2, 0, 0, 1, 1);
    double x = dice_between(dice, 0, width), y = dice_between(dice, 0, height);
    s.value[0] = dice_below(dice, 40) + 1;
    s.value[1] = dice_below(dice, 40) + 1;
    s.value[2] = dice_below(dice, 6);
    s.value[3] = dice_below(dice, 3) == 0 ? 0 : x;
    s.value[4] = floor(y);
    s.value[5] = dice_between(dice, x, width) + 1e-3;
    s.value[6] = dice_below(dice, 3) == 0
                     ? height
                     : ceil(dice_between(dice, y, height) + 1e-3);
    s.value[5] = FDL_MIN(s.value[5], width);
    s.value[6] = FDL_MIN(s.value[6], height);
    return s;
}

/* A part of what a crop and flips have left, with a crop and a flip behind it.
 */
static void compare_part(struct dice *dice, const uint8_t *file, size_t size)
{
    static uint8_t again[OUT_MAX];
    int32_t channels = (int32_t)dice_below(dice, 4) + 1;
    bool cropped = dice_below(dice, 2);
    struct feedline_recorded_step steps[] = {
        STEP(CONVERT, 0),
        STEP(CROP, 3, 2, 33, 28),
        STEP(TRANSPOSE, dice_below(dice, 4)),
        STEP(BRIGHTNESS, 1),
        any_part(dice, cropped ? 30 : WIDTH, cropped ? 26 : HEIGHT),
        STEP(TRANSPOSE, dice_below(dice, 2))};
    if (steps[2].value[0] == 2) /* what turns is a step of its own */
        steps[2].value[0] = 0;
    steps[0].value[0] = channels;
    if (!cropped) {
        steps[1].value[0] = steps[1].value[1] = 0;
        steps[1].value[2] = WIDTH;
        steps[1].value[3] = HEIGHT;
    }
    struct fdl_decode_limits limits = {.columns_first = dice_below(dice, 2)};
    struct fdl_decoder *d = rig_decoder(limits);
    struct fdl_encoded bytes = file_of(file, size);
    struct fdl_image_info info;
    struct fdl_render_cost cost;
    struct feedline_recorded_image image =
        program(steps, COUNT(steps), channels, (int32_t)steps[4].value[0],
                (int32_t)steps[4].value[1]);
    int32_t status = fdl_recorded_render(d, &bytes, &image, &info, &cost);
    if (status)
        fail_msg("%s", fdl_last_error());
    memcpy(again, out, (size_t)image.out_bytes);
    memmove(steps + 3, steps + 4, 2 * sizeof(steps[0]));
    image.n_steps--;
    assert_int_equal(fdl_recorded_render(d, &bytes, &image, &info, &cost), 0);
    if (memcmp(out, again, (size_t)image.out_bytes) != 0)
        fail_msg("a part of %d channels differs", channels);
    fdl_decoder_destroy(d);
}

/* Behind a step that changes nothing a part is one of an image in memory. */
TEST(parts_are_those_of_the_image_in_memory)
{
    static const int colours[] = {0, 2, 4, 6};
    struct dice dice = {test_seed()};
    for (int i = 0; i < 1000; i++) {
        struct make_png m = {.width = WIDTH,
                             .height = HEIGHT,
                             .depth = 8,
                             .colour = colours[i % 4],
                             .seed = dice_u64(&dice)};
        size_t size;
        uint8_t *file = make_png(&m, &size);
        compare_part(&dice, file, size);
        free(file);
    }
}

/* Taken before or behind what moves pixels, or changes them. */
static void expect_channels(const uint8_t *table)
{
    static const int orders[][4] = {{2, 1, 0, 0}, {1, 1, 2, 0}, {0, 2, 1, 1}};
    struct feedline_recorded_step steps[] = {
        STEP(CHANNELS, 0), STEP(CROP, 3, 2, 33, 28), STEP(TRANSPOSE, 0),
        STEP(CHANNELS, 0)};
    if (table)
        steps[0] = (struct feedline_recorded_step)STEP_OF(POINT, table);
    for (uint32_t n = 1; n <= 4; n++) {
        struct feedline_recorded_step *s = &steps[table ? 3 : 0];
        for (size_t o = 0; o < COUNT(orders); o++) {
            s->n = n;
            for (uint32_t c = 0; c < n; c++)
                s->value[c] = orders[o][c];
            struct feedline_recorded_image image =
                program(steps, table ? 4 : 3, (int32_t)n, 30, 26);
            assert_int_equal(carry_out(&image), FEEDLINE_OK);
            for (int32_t i = 0; i < 30 * 26 * (int32_t)n; i++) {
                int32_t c = i % (int32_t)n, x = i / (int32_t)n % 30;
                int32_t y = i / (int32_t)n / 30, from = orders[o][c];
                uint8_t v = noise()[((y + 2) * WIDTH + 32 - x) * 3 + from];
                assert_int_equal(out[i], table ? table[256 * from + v] : v);
            }
        }
    }
}

TEST(channels_are_taken)
{
    static uint8_t table[3 * 256];
    for (int32_t i = 0; i < 3 * 256; i++)
        table[i] = (uint8_t)(i * 7 + i / 256);
    expect_channels(NULL);
    expect_channels(table);
}

/* The file is read as gray or RGB, and then no mode but itself. */
TEST(ycbcr_is_pillows)
{
    static const uint8_t rgb[6][3] = {{255, 0, 0}, {0, 255, 0},
                                      {0, 0, 255}, {10, 200, 33},
                                      {1, 2, 3},   {254, 253, 7}};
    static const uint8_t want[6][3] = {{76, 84, 255},  {149, 43, 21},
                                       {29, 255, 107}, {124, 76, 46},
                                       {1, 128, 127},  {225, 4, 148}};
    static const uint8_t gray[] = {76, 150, 29, 124, 2, 225};
    struct feedline_recorded_step steps[] = {STEP(CONVERT, 3), STEP(CONVERT, 5),
                                             STEP(CHANNELS, 0),
                                             STEP(CONVERT, 3)};
    struct fdl_decoder *d = rig_decoder((struct fdl_decode_limits){0});
    struct fdl_encoded bytes = raw_of(rgb, 6, 1, 3);
    struct fdl_image_info info;
    struct fdl_render_cost cost;
    struct feedline_recorded_image image = program(steps, 2, 3, 6, 1);
    assert_int_equal(fdl_recorded_render(d, &bytes, &image, &info, &cost), 0);
    assert_memory_equal(out, want, sizeof(want));
    steps[0].value[0] = 1;
    assert_int_equal(fdl_recorded_render(d, &bytes, &image, &info, &cost), 0);
    for (size_t i = 0; i < 6 * 3; i++)
        assert_int_equal(out[i], i % 3 ? 128 : gray[i / 3]);

    /* What is YCbCr already stays as it is. */
    steps[0].value[0] = 3;
    steps[2] = steps[1];
    image = program(steps, 3, 3, 6, 1);
    assert_int_equal(fdl_recorded_render(d, &bytes, &image, &info, &cost), 0);
    assert_memory_equal(out, want, sizeof(want));
    fdl_decoder_destroy(d);

    steps[2] = steps[3];
    image = program(steps, 3, 3, WIDTH, HEIGHT);
    expect(carry_out(&image), FEEDLINE_EINVAL,
           "step 3 (CONVERT): it is not from YCbCr");
    steps[2] = (struct feedline_recorded_step)STEP(COLOR, 2);
    expect(carry_out(&image), FEEDLINE_EINVAL,
           "step 3 (COLOR): it is not for images of mode YCbCr");
}

/* A channel that is resampled alone is one of all that are; alpha, too. */
TEST(a_channel_is_an_image)
{
    struct feedline_recorded_step all[] = {STEP(RESIZE, 23, 17, 3)};
    struct feedline_recorded_step one[] = {STEP(CHANNELS, 1),
                                           STEP(RESIZE, 23, 17, 3)};
    uint8_t want[23 * 17 * 3];
    struct feedline_recorded_image image = program(all, 1, 3, 23, 17);
    assert_int_equal(carry_out(&image), FEEDLINE_OK);
    memcpy(want, out, sizeof(want));
    image = program(one, 2, 1, 23, 17);
    assert_int_equal(carry_out(&image), FEEDLINE_OK);
    for (size_t i = 0; i < 23 * 17; i++)
        assert_int_equal(out[i], want[3 * i + 1]);

    struct feedline_recorded_step alpha[] = {STEP(CONVERT, 4),
                                             STEP(CHANNELS, 3)};
    image = program(alpha, 2, 1, WIDTH, HEIGHT);
    assert_int_equal(carry_out(&image), FEEDLINE_OK);
    for (size_t i = 0; i < WIDTH * HEIGHT; i++)
        assert_int_equal(out[i], 255);
}

/* Of the image as it is then, and before what comes behind. */
TEST(an_image_without_what_is_expected_fails)
{
    static uint8_t dark[3 * 256], wanted[3 * 256], table[256 * 3];
    struct feedline_recorded_step steps[] = {
        STEP_OF(POINT, table), STEP_OF(EXPECT, wanted), STEP(CROP, 1, 1, 9, 9)};
    for (size_t v = 0; v < 256; v++)
        table[2 * 256 + v] = (uint8_t)(v / 2);
    struct feedline_recorded_image image = program(steps, 3, 3, 8, 8);
    expect(carry_out(&image), FEEDLINE_EINVAL, "EXPECT");
    wanted[2 * 256 + 128] = 1; /* half of no byte */
    expect(carry_out(&image), FEEDLINE_EINVAL, "EXPECT");
    wanted[256] = 1; /* as all of the second channel are */
    assert_int_equal(carry_out(&image), FEEDLINE_OK);
    for (size_t i = 0; i < (size_t)8 * 8 * 3; i++) {
        size_t place = ((i / 24 + 1) * WIDTH + i / 3 % 8 + 1) * 3 + 2;
        assert_int_equal(out[i], i % 3 == 2 ? noise()[place] / 2 : 0);
    }
    memcpy(wanted, dark, sizeof(dark));
    wanted[2 * 256 + 127] = 1; /* which some have */
    assert_int_equal(carry_out(&image), FEEDLINE_OK);
}

TEST(lookups_make_elements_of_each_size)
{
    uint64_t table[3 * 256];
    for (size_t bytes = 1; bytes <= 8; bytes *= 2) {
        struct feedline_recorded_step step = STEP_OF(LOOKUP, table);
        struct feedline_recorded_image image =
            program(&step, 1, 3, WIDTH, HEIGHT);
        image.dtype = 0;
        image.element_bytes = (uint32_t)bytes;
        image.out_bytes *= bytes;
        fill_noise((uint8_t *)table, sizeof(table));
        for (image.nhwc = 0; image.nhwc < 2; image.nhwc++) {
            assert_int_equal(carry_out(&image), FEEDLINE_OK);
            for (size_t i = 0; i < WIDTH * HEIGHT * 3; i++) {
                size_t c = i % 3, place = image.nhwc ? i : i / 3 + c * 1200;
                assert_memory_equal(
                    out + place * bytes,
                    (uint8_t *)table + (c * 256 + noise()[i]) * bytes, bytes);
            }
        }
    }
}

/* Of the finished elements, wherever they are. */
TEST(rectangles_are_erased)
{
    struct feedline_recorded_step steps[] = {
        PLAIN(SCALE), STEP(ERASE, 30, -2, 100, 5, 1, 2, 3)};
    struct feedline_recorded_image image =
        floats(program(steps, 2, 3, WIDTH, HEIGHT));
    assert_int_equal(carry_out(&image), FEEDLINE_OK);
    for (int32_t i = 0; i < WIDTH * HEIGHT * 3; i++) {
        int32_t x = i / 3 % WIDTH, y = i / 3 / WIDTH;
        float want = (float)noise()[i] / 255.0f, got;
        if (x >= 30 && y < 3)
            want = (float)(1 + i % 3);
        memcpy(&got, out + (size_t)i * sizeof(got), sizeof(got));
        assert_memory_equal(&got, &want, sizeof(got));
    }
}

/* Rows of a box that reaches over the edges are where they would be without
 * them. */
TEST(rectangles_become_elements_of_others)
{
    static float noise_of[3 * 5 * 100];
    struct feedline_recorded_step steps[] = {PLAIN(SCALE),
                                             STEP(ERASE, 30, -2, 100, 5)};
    for (int32_t i = 0; i < (int32_t)COUNT(noise_of); i++)
        noise_of[i] = (float)i;
    steps[1].data = noise_of;
    struct feedline_recorded_image image =
        floats(program(steps, 2, 3, WIDTH, HEIGHT));
    assert_int_equal(carry_out(&image), FEEDLINE_OK);
    for (int32_t i = 0; i < WIDTH * HEIGHT * 3; i++) {
        int32_t x = i / 3 % WIDTH, y = i / 3 / WIDTH;
        float want = (float)noise()[i] / 255.0f, got;
        if (x >= 30 && y < 3)
            want = (float)((i % 3 * 5 + y + 2) * 100 + x - 30);
        memcpy(&got, out + (size_t)i * sizeof(got), sizeof(got));
        assert_memory_equal(&got, &want, sizeof(got));
    }
    steps[1].data = NULL;
    expect(fdl_recorded_check(&image), FEEDLINE_EINVAL,
           "step 2 (ERASE): 4 values; it takes 4, and one for each of 3");
}

/* What the steps of the next test make of channel c of a pixel. */
static float changed(const uint8_t *pixel, size_t c)
{
    static const size_t from[] = {2, 0, 1};
    float x = (float)pixel[from[c]] * 2 + 0.5F;
    if (from[c] == 0) {
        x = x > 300 ? x - 300 : x;
        x = x < 10 ? x + 300 : x;
    } else if (from[c] == 1) {
        x *= 0.75F;
        x = x > 20 ? x : 20;
        x = x < 200 ? x : 200;
    }
    return x + 3;
}

TEST(floats_are_changed)
{
    float table[3 * 256];
    struct feedline_recorded_step steps[] = {
        STEP_OF(LOOKUP, table),
        STEP(FLOAT_VALUES, 3, 0, 300, -300),
        STEP(FLOAT_VALUES, 4, 0, 10, 300),
        STEP(FLOAT_VALUES, 1, 1, 0.75),
        STEP(FLOAT_VALUES, 2, 1, 20, 200),
        STEP(FLOAT_CHANNELS, 2, 0, 1),
        STEP(FLOAT_VALUES, 0, -1, 3)};
    const uint8_t *pixels = noise();
    for (size_t i = 0; i < COUNT(table); i++)
        table[i] = (float)(i % 256) * 2 + 0.5F;
    struct feedline_recorded_image image =
        floats(program(steps, COUNT(steps), 3, WIDTH, HEIGHT));
    for (image.nhwc = 0; image.nhwc < 2; image.nhwc++) {
        assert_int_equal(carry_out(&image), FEEDLINE_OK);
        for (size_t i = 0; i < WIDTH * HEIGHT * 3; i++) {
            size_t c = i % 3, place = image.nhwc ? i : i / 3 + c * 1200;
            float want = changed(pixels + i / 3 * 3, c), got;
            memcpy(&got, out + place * sizeof(got), sizeof(got));
            assert_memory_equal(&got, &want, sizeof(got));
        }
    }
}

/* Red, the first of three, becomes green, the second; then blue is first. */
TEST(floats_are_converted)
{
    float table[3 * 256] = {0};
    struct feedline_recorded_step steps[] = {
        STEP_OF(LOOKUP, table), STEP(FLOAT_COLOUR, 41),
        STEP(FLOAT_VALUES, 0, 0, 130), STEP(FLOAT_COLOUR, 54)};
    for (size_t i = 0; i < 256; i++)
        table[i] = 240;
    struct feedline_recorded_image image =
        floats(program(steps, COUNT(steps), 3, WIDTH, HEIGHT));
    static const float want[] = {40, 240, 0};
    for (image.nhwc = 0; image.nhwc < 2; image.nhwc++) {
        assert_int_equal(carry_out(&image), FEEDLINE_OK);
        for (size_t i = 0; i < WIDTH * HEIGHT * 3; i++) {
            size_t c = i % 3, place = image.nhwc ? i : i / 3 + c * 1200;
            float got;
            memcpy(&got, out + place * sizeof(got), sizeof(got));
            assert_true(got > want[c] - 1e-3F && got < want[c] + 1e-3F);
        }
    }
}

/* Whatever option rounding says: x / 255, then the mean, then std. */
TEST(floats_are_those_of_to_tensor)
{
    struct feedline_recorded_step steps[] = {
        PLAIN(SCALE), STEP(NORMALIZE, .485, .456, .406, .229, .224, .225)};
    for (size_t n = 0; n <= 2; n++) { /* a mask between images */
        struct feedline_recorded_image image =
            program(steps, n, 3, WIDTH, HEIGHT);
        if (n > 0)
            image = floats(image);
        assert_int_equal(carry_out(&image), FEEDLINE_OK);
        for (size_t i = 0; i < WIDTH * HEIGHT * 3 && n > 0; i++) {
            float want = (float)noise()[i] / 255.0f, got;
            if (n == 2) {
                want = want - (float)steps[1].value[i % 3];
                want = want / (float)steps[1].value[3 + i % 3];
            }
            memcpy(&got, out + i * sizeof(got), sizeof(got));
            assert_memory_equal(&got, &want, sizeof(got));
        }
    }
}

/* As to_dtype of torchvision v2: times 1 / 255, which may be another float. */
TEST(floats_are_those_of_a_factor)
{
    struct feedline_recorded_step scale = STEP(SCALE, 1);
    struct feedline_recorded_image image =
        floats(program(&scale, 1, 3, WIDTH, HEIGHT));
    size_t others = 0;
    assert_int_equal(carry_out(&image), FEEDLINE_OK);
    for (size_t i = 0; i < WIDTH * HEIGHT * 3; i++) {
        float want = (float)noise()[i] * (1.0f / 255.0f), got;
        memcpy(&got, out + i * sizeof(got), sizeof(got));
        assert_memory_equal(&got, &want, sizeof(got));
        others += got != (float)noise()[i] / 255.0f;
    }
    assert_true(others > 0);
}

/* As one of 16 bits. */
TEST(other_modes_have_to_be_converted)
{
    struct make_png m = {.width = 20, .height = 10, .depth = 16, .colour = 0};
    size_t size;
    uint8_t *file = make_png(&m, &size);
    struct fdl_encoded bytes = file_of(file, size);
    struct fdl_decoder *d = rig_decoder((struct fdl_decode_limits){0});
    struct fdl_image_info info;
    struct fdl_render_cost cost;
    struct feedline_recorded_step steps[] = {STEP(GAUSSIAN_BLUR, 2, 2)};
    struct feedline_recorded_image image = program(steps, 1, 1, 20, 10);
    expect(fdl_recorded_render(d, &bytes, &image, &info, &cost),
           FEEDLINE_EINVAL, "I;16");
    fdl_decoder_destroy(d);
    free(file);
}

/* As numpy sees a mask: indices, until they are converted. */
TEST(palettes_are_indices_until_converted)
{
    struct make_png m = {.width = 20, .height = 10, .depth = 4, .colour = 3};
    size_t size;
    uint8_t *file = make_png(&m, &size), indices[20 * 10];
    struct fdl_encoded bytes = file_of(file, size);
    struct fdl_decoder *d = rig_decoder((struct fdl_decode_limits){0});
    struct fdl_image_info info;
    struct fdl_render_cost cost;
    struct feedline_recorded_image image = program(NULL, 0, 1, 20, 10);
    assert_int_equal(fdl_recorded_render(d, &bytes, &image, &info, &cost), 0);
    memcpy(indices, out, sizeof(indices));
    for (size_t i = 0; i < sizeof(indices); i++)
        assert_true(indices[i] < 16);

    /* By the decoder, and by a step. */
    uint8_t colours[20 * 10 * 3];
    struct feedline_recorded_step steps[] = {
        STEP(CONVERT, 3), STEP(CROP, -1, 0, 20, 10), STEP(CROP, 1, 0, 21, 10)};
    image = program(steps, 1, 3, 20, 10);
    assert_int_equal(fdl_recorded_render(d, &bytes, &image, &info, &cost), 0);
    memcpy(colours, out, sizeof(colours));
    struct feedline_recorded_step late[] = {steps[1], steps[2], steps[0]};
    image = program(late, 3, 3, 20, 10);
    assert_int_equal(fdl_recorded_render(d, &bytes, &image, &info, &cost), 0);
    assert_memory_equal(out, colours, sizeof(colours));
    fdl_decoder_destroy(d);
    free(file);
}

/* ---- Several of one file ------------------------------------------------ */

static uint8_t parts[2][OUT_MAX / 4];

/* Two programs whose results go to parts. */
struct pair {
    struct feedline_recorded_image image[2];
    const struct feedline_recorded_image *list[2];
};

static struct pair pair_of(const struct feedline_recorded_step *a, size_t n_a,
                           const struct feedline_recorded_step *b, size_t n_b)
{
    struct pair p = {
        .image = {program(a, n_a, 3, 9, 9), program(b, n_b, 3, 9, 9)}};
    for (int i = 0; i < 2; i++)
        p.image[i].out = parts[i];
    return p;
}

static bool share(struct pair *p, struct fdl_decoder *d,
                  struct fdl_render_cost *cost)
{
    struct fdl_encoded bytes = raw_of(noise(), WIDTH, HEIGHT, 3);
    struct fdl_image_info info;
    for (int i = 0; i < 2; i++)
        p->list[i] = &p->image[i];
    return fdl_recorded_render_shared(d, &bytes, p->list, 2, &info, cost);
}

/* Views of an image: decoded once, and as each would be alone. */
TEST(views_share_what_is_decoded)
{
    struct feedline_recorded_step a[] = {
        STEP(CROP, 5, 5, 35, 25), STEP(RESIZE, 9, 9, 2), STEP(TRANSPOSE, 0)};
    struct feedline_recorded_step b[] = {STEP(CROP, 7, 2, 33, 30),
                                         STEP(RESIZE, 20, 20, 3),
                                         STEP(COLOR, 2), STEP(RESIZE, 9, 9, 2)};
    struct pair p = pair_of(a, COUNT(a), b, COUNT(b));
    struct fdl_decoder *d = rig_decoder((struct fdl_decode_limits){0});
    struct fdl_render_cost cost = {0};
    assert_true(share(&p, d, &cost));
    assert_int_equal(cost.pixels, 30 * 28);
    for (int i = 0; i < 2; i++) {
        p.image[i].out = out;
        assert_int_equal(carry_out(&p.image[i]), FEEDLINE_OK);
        assert_memory_equal(out, parts[i], 9 * 9 * 3);
    }
    fdl_decoder_destroy(d);
}

/* Of parts, with what they reach. */
TEST(parts_share_what_is_decoded)
{
    struct dice dice = {test_seed()};
    struct fdl_decoder *d = rig_decoder((struct fdl_decode_limits){0});
    for (int n = 0; n < 500; n++) {
        struct feedline_recorded_step steps[2][2];
        for (int i = 0; i < 2; i++) {
            steps[i][0] = (struct feedline_recorded_step)STEP(
                TRANSPOSE, dice_below(&dice, 2));
            steps[i][1] = any_part(&dice, WIDTH, HEIGHT);
            steps[i][1].value[0] = steps[i][1].value[1] = 9;
        }
        struct pair p = pair_of(steps[0], 2, steps[1], 2);
        struct fdl_render_cost cost = {0};
        if (!share(&p, d, &cost))
            continue;
        for (int i = 0; i < 2; i++) {
            p.image[i].out = out;
            assert_int_equal(carry_out(&p.image[i]), FEEDLINE_OK);
            assert_memory_equal(out, parts[i], 9 * 9 * 3);
        }
    }
    fdl_decoder_destroy(d);
}

TEST(what_is_not_to_be_shared_is_left)
{
    struct feedline_recorded_step whole[] = {STEP(RESIZE, 9, 9, 2)};
    struct feedline_recorded_step corners[] = {STEP(CROP, 0, 0, 9, 9),
                                               STEP(CROP, 31, 21, 40, 30)};
    struct feedline_recorded_step turned[] = {STEP(TRANSPOSE, 2),
                                              STEP(RESIZE, 9, 9, 2)};
    struct feedline_recorded_step gray[] = {STEP(CONVERT, 1), STEP(CONVERT, 3),
                                            STEP(RESIZE, 9, 9, 2)};
    struct feedline_recorded_step wrong[] = {STEP(RESIZE, 9, 8, 2)};
    struct pair pairs[] = {
        pair_of(corners, 1, corners + 1, 1), pair_of(whole, 1, turned, 2),
        pair_of(whole, 1, gray, 3), pair_of(whole, 1, wrong, 1)};
    struct fdl_decoder *d = rig_decoder((struct fdl_decode_limits){0});
    struct fdl_render_cost cost = {.pixels = 7};
    for (size_t i = 0; i < COUNT(pairs); i++)
        assert_false(share(&pairs[i], d, &cost));
    assert_int_equal(cost.pixels, 7);
    struct pair good = pair_of(whole, 1, whole, 1);
    assert_true(share(&good, d, &cost)); /* the decoder is as before */
    fdl_decoder_destroy(d);
}

/* ---- Memory ------------------------------------------------------------- */

TEST(every_allocation_may_fail)
{
    struct feedline_recorded_step steps[] = {
        STEP(RESIZE, 23, 50, 3),
        STEP(TRANSPOSE, 5),
        STEP(RESIZE, 60, 9, 1),
        STEP(CONVERT, 4),
        STEP(RESIZE, 30, 30, 2, .5, .5, 50, 8),
        STEP(AFFINE, 60, 70, 2, 1, .1, 0, .1, 1, 0),
        STEP(COLOR, 2),
        STEP(GAUSSIAN_BLUR, 1, 9),
        STEP(TENSOR_BLUR, 3, 5, 1, 1),
        STEP(HUE, .1),
        STEP(SHARPNESS, 2),
        STEP(PAD, 9, 9, 9, 9, 2),
        STEP(CROP, 0, 0, 30, 30)};
    struct feedline_recorded_image image =
        program(steps, COUNT(steps), 4, 30, 30);
    struct fdl_encoded bytes = raw_of(noise(), WIDTH, HEIGHT, 3);
    int failures = 0;
    for (int n = 1;; n++) {
        struct fdl_decoder *d = rig_decoder((struct fdl_decode_limits){0});
        struct fdl_image_info info;
        struct fdl_render_cost cost;
        memory_left = n;
        int32_t status = fdl_recorded_render(d, &bytes, &image, &info, &cost);
        bool reached = memory_left == 0;
        memory_left = 0;
        if (status) {
            expect(status, FEEDLINE_ENOMEM, "memory");
            failures++;
        }
        uint64_t held = fdl_decoder_memory(d);
        assert_int_equal(fdl_recorded_render(d, &bytes, &image, &info, &cost),
                         0);
        assert_true(fdl_decoder_memory(d) >= held);
        fdl_decoder_destroy(d);
        if (!reached)
            break;
    }
    assert_true(failures > 10);
}

TEST_MAIN("decode_recorded")
