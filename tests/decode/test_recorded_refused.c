/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of samples: what is refused, and how it is said. */
#include "recorded_programs.h"

#include <math.h>

TEST(values_are_checked)
{
    static const struct {
        struct feedline_recorded_step step;
        int32_t status;
        const char *words;
    } bad[] = {
        {{.op = 0}, FEEDLINE_EINVAL, "step 2: there is no operation 0"},
        {{.op = 39}, FEEDLINE_EINVAL, "no operation 39"},
        {{.op = 4000000000u}, FEEDLINE_EINVAL, "no operation 4000000000"},
        {STEP(CONVERT, 6), FEEDLINE_ERANGE,
         "step 2 (CONVERT): the mode is 6; it is from 1 to 5"},
        {STEP(CONVERT, 2.5), FEEDLINE_EINVAL, "2.5, which is not whole"},
        {PLAIN(CONVERT), FEEDLINE_EINVAL, "0 values; it takes 1 to 1"},
        {STEP(CROP, 0, 0, 5), FEEDLINE_EINVAL, "3 values; it takes 4"},
        {STEP(CROP, 5, 0, 5, 9), FEEDLINE_EINVAL, "5, 9 is empty"},
        {STEP(CROP, 5, 9, 9, 9), FEEDLINE_EINVAL, "9, 9 is empty"},
        {STEP(CROP, -1e6, 0, 1, 9), FEEDLINE_ERANGE, "above the limit"},
        {STEP(CROP, 0, 0, 1e7, 9), FEEDLINE_ERANGE, "right is 1e+07"},
        {STEP(CROP, 0, NAN, 9, 9), FEEDLINE_EINVAL, "top is nan"},
        {STEP(RESIZE, 0, 9, 2), FEEDLINE_ERANGE, "width is 0"},
        {STEP(RESIZE, 9, 9, 6), FEEDLINE_ERANGE, "filter is 6"},
        {STEP(RESIZE, 9, 9, 2, 0, 0), FEEDLINE_EINVAL, "7 with a box"},
        {STEP(RESIZE, 9, 9, 2, 1, 1, 1, 2), FEEDLINE_EINVAL, "is empty"},
        {STEP(TRANSPOSE, 7), FEEDLINE_ERANGE, "its number is 7"},
        {STEP(PAD, 1, 1, 1, 1), FEEDLINE_EINVAL, "4 values; it takes 5 to 9"},
        {STEP(PAD, 1, 1, 1, 1, 4), FEEDLINE_ERANGE, "mode is 4"},
        {STEP(PAD, 1, 1, 1, 1, 0, 3, 256), FEEDLINE_ERANGE, "fill is 256"},
        {STEP(PAD, 1, 1, 1, 1, 0, 3, 7), FEEDLINE_EINVAL,
         "fill has 2 numbers, an image of mode RGB 3 channels"},
        {STEP(PAD, -20, 0, -20, 0, 0), FEEDLINE_EINVAL,
         "step 2 (PAD): nothing of 40x30 is left"},
        {STEP(PAD, -40, 0, 90, 0, 1), FEEDLINE_EINVAL, "nothing of 40x30"},
        {STEP(PAD, 90, 0, -40, 0, 1), FEEDLINE_EINVAL, "nothing of 40x30"},
        {STEP(PAD, 0, -30, 0, 90, 1), FEEDLINE_EINVAL, "nothing of 40x30"},
        {STEP(PAD, 0, 90, 0, -30, 1), FEEDLINE_EINVAL, "nothing of 40x30"},
        {STEP(PAD, 0, -15, 0, -15, 0), FEEDLINE_EINVAL, "nothing of 40x30"},
        {STEP(AFFINE, 9, 9, 1, 1, 0, 0, 0, 1, 0), FEEDLINE_ERANGE,
         "filter is 1; it is 0 (nearest)"},
        {STEP(AFFINE, 9, 9, 2, 1, 0, 0, 0, INFINITY, 0), FEEDLINE_EINVAL,
         "a coefficient is inf"},
        {STEP(AFFINE, 9, 9, 2, 1, 0, 0, 0, 1, 0, .5), FEEDLINE_EINVAL,
         "fill is 0.5"},
        {STEP(PERSPECTIVE, 9, 9, 2, 1, 0, 0, 0, 1, 0), FEEDLINE_EINVAL,
         "9 values; it takes 11 to 15"},
        {STEP(BRIGHTNESS, 2e6), FEEDLINE_ERANGE, "the factor is 2e+06"},
        {STEP(HUE, .6), FEEDLINE_ERANGE, "the factor is 0.6"},
        {STEP(GRAYSCALE, 2), FEEDLINE_ERANGE, "channels is 2; it is 1 or 3"},
        {STEP(POSTERIZE, 9), FEEDLINE_ERANGE, "bits is 9"},
        {STEP(INVERT, 1), FEEDLINE_EINVAL, "1 values; it takes 0 to 0"},
        {STEP(GAUSSIAN_BLUR, 2, -1), FEEDLINE_ERANGE, "a radius is -1"},
        {STEP(TENSOR_BLUR, 3, 4, 1, 1), FEEDLINE_EINVAL, "its sides are odd"},
        {STEP(TENSOR_BLUR, 3, 3, 0, 1), FEEDLINE_ERANGE, "sigma is 0"},
        {STEP(TENSOR_BLUR, 3, 61, 1, 1), FEEDLINE_EINVAL,
         "step 2 (TENSOR_BLUR): an image of 40x30 is too small"},
        {PLAIN(POINT), FEEDLINE_EINVAL, "data is NULL"},
        {PLAIN(EXPECT), FEEDLINE_EINVAL, "data is NULL"},
        {STEP(CHANNELS, 4), FEEDLINE_ERANGE, "a channel is 4; it is from 0"},
        {STEP(CHANNELS, 0, 3), FEEDLINE_EINVAL,
         "step 2 (CHANNELS): channel 3 of an image of mode RGB"},
        {PLAIN(CHANNELS), FEEDLINE_EINVAL, "0 values; it takes 1 to 4"},
        {STEP(TENSOR_RESIZE, 9, 9, 1), FEEDLINE_ERANGE,
         "step 2 (TENSOR_RESIZE): filter is 1; it is 0 (nearest), 2"},
        {STEP(TENSOR_GRAYSCALE, 2), FEEDLINE_ERANGE, "it is 1 or 3"},
        {STEP(TENSOR_HUE, -1), FEEDLINE_ERANGE, "the factor is -1"},
        {STEP(ERASE, 0, 0, 1, 1, 2), FEEDLINE_EINVAL, "one for each of 3"},
        {STEP(ERASE, 0, 0, 0, 1, 2, 2, 2), FEEDLINE_ERANGE, "width is 0"},
        {PLAIN(LOOKUP), FEEDLINE_EINVAL, "data is NULL"},
        {STEP(NORMALIZE, 0, 0, 0, 1, 1, 1), FEEDLINE_EINVAL,
         "it comes right behind SCALE"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct feedline_recorded_step steps[] = {STEP(TRANSPOSE, 1),
                                                 bad[i].step};
        struct feedline_recorded_image image =
            program(steps, 2, 3, WIDTH, HEIGHT);
        if (fdl_recorded_check(&image)) /* else it is about the image */
            expect(fdl_recorded_check(&image), bad[i].status, bad[i].words);
        expect(carry_out(&image), bad[i].status, bad[i].words);
    }
}

TEST(order_is_checked)
{
    static const double table[3 * 256];
    static const struct feedline_recorded_step bad[][3] = {
        {PLAIN(SCALE), STEP(TRANSPOSE, 0), PLAIN(SCALE)},
        {STEP(TRANSPOSE, 0), PLAIN(SCALE), PLAIN(SCALE)},
        {STEP(TRANSPOSE, 0), PLAIN(SCALE), STEP_OF(LOOKUP, table)},
        {STEP_OF(LOOKUP, table), PLAIN(SCALE), STEP(TRANSPOSE, 0)},
        {PLAIN(SCALE), STEP(ERASE, 0, 0, 1, 1, 0, 0, 0),
         STEP(NORMALIZE, 0, 0, 0, 1, 1, 1)},
        {PLAIN(SCALE), STEP(NORMALIZE, 0, 0, 0, 1, 1, 1),
         STEP(NORMALIZE, 0, 0, 0, 1, 1, 1)},
    };
    static const char *const words[] = {
        "step 2 (TRANSPOSE): it cannot come behind SCALE",
        "step 3 (SCALE): it cannot come behind SCALE",
        "step 3 (LOOKUP): it cannot come behind SCALE",
        "step 2 (SCALE): it cannot come behind LOOKUP",
        "step 3 (NORMALIZE): it comes right behind SCALE",
        "step 3 (NORMALIZE): it comes right behind SCALE",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct feedline_recorded_image image =
            floats(program(bad[i], 3, 3, WIDTH, HEIGHT));
        expect(fdl_recorded_check(&image), FEEDLINE_EINVAL, words[i]);
    }
    struct feedline_recorded_step std[] = {
        PLAIN(SCALE), STEP(NORMALIZE, 0, 0, 0, 1, 1e-60, 1)};
    struct feedline_recorded_image image =
        floats(program(std, 2, 3, WIDTH, HEIGHT));
    expect(fdl_recorded_check(&image), FEEDLINE_EINVAL, "std of channel 1");
    std[1].n = 2;
    expect(fdl_recorded_check(&image), FEEDLINE_EINVAL, "3 channels take");
    std[0].n = 1;
    std[0].value[0] = 2;
    expect(fdl_recorded_check(&image), FEEDLINE_ERANGE, "its rounding is 2");
}

TEST(outputs_are_checked)
{
    struct feedline_recorded_step scale = PLAIN(SCALE);
    struct feedline_recorded_image good = program(NULL, 0, 3, WIDTH, HEIGHT);
    assert_int_equal(fdl_recorded_check(&good), FEEDLINE_OK);

    struct feedline_recorded_image image = good;
    image.struct_size = 8;
    expect(fdl_recorded_check(&image), FEEDLINE_EINVAL, "struct_size");
    image = good;
    image.n_steps = 65;
    expect(fdl_recorded_check(&image), FEEDLINE_ERANGE, "65 steps");
    image.n_steps = 1;
    expect(fdl_recorded_check(&image), FEEDLINE_EINVAL, "steps is NULL");
    image = good;
    image.out_bytes--;
    expect(fdl_recorded_check(&image), FEEDLINE_EINVAL, "out has 3599 bytes");
    image = good;
    image.out = NULL;
    image.nhwc = 0;
    expect(fdl_recorded_check(&image), FEEDLINE_EINVAL, "out is NULL");
    image.nhwc = 1; /* it may be a part of a canvas */
    assert_int_equal(fdl_recorded_check(&image), FEEDLINE_OK);
    image = good;
    image.channels = 5;
    expect(fdl_recorded_check(&image), FEEDLINE_ERANGE, "5 channels");
    image = good;
    image.channels = 0;
    expect(fdl_recorded_check(&image), FEEDLINE_ERANGE, "0 channels");
    image = good;
    image.width = 0;
    expect(fdl_recorded_check(&image), FEEDLINE_ERANGE, "0x30");
    image.width = 1 << 20;
    expect(fdl_recorded_check(&image), FEEDLINE_ERANGE, "1048576x30");
    image = good;
    image.height = 0;
    expect(fdl_recorded_check(&image), FEEDLINE_ERANGE, "40x0");
    image.height = 1 << 20;
    expect(fdl_recorded_check(&image), FEEDLINE_ERANGE, "40x1048576");
    image = good;
    image.dtype = FEEDLINE_F32;
    expect(fdl_recorded_check(&image), FEEDLINE_EINVAL, "SCALE makes floats");
    image.dtype = 99;
    expect(fdl_recorded_check(&image), FEEDLINE_EINVAL, "data type 99");
    image = good;
    image.element_bytes = 8;
    expect(fdl_recorded_check(&image), FEEDLINE_EINVAL, "only LOOKUP");
    image = program(&scale, 1, 3, WIDTH, HEIGHT);
    expect(fdl_recorded_check(&image), FEEDLINE_EINVAL, "SCALE makes floats");
    image = floats(image);
    image.out = out + 1;
    expect(fdl_recorded_check(&image), FEEDLINE_EINVAL, "not aligned");
}

/* A value has to be one of a type. */
TEST(elements_of_no_type_are_not_erased)
{
    static const double table[3 * 256];
    struct feedline_recorded_step steps[] = {STEP_OF(LOOKUP, table),
                                             STEP(ERASE, 0, 0, 1, 1, 0, 0, 0)};
    struct feedline_recorded_image image = program(steps, 2, 3, WIDTH, HEIGHT);
    image.out_bytes *= 8;
    image.element_bytes = 8;
    image.dtype = FEEDLINE_F32;
    expect(fdl_recorded_check(&image), FEEDLINE_EINVAL,
           "step 2 (ERASE): elements of 8 bytes are not of data type 3");
}

TEST(steps_on_floats_are_for_floats)
{
    static const float table[3 * 256];
    static const struct {
        struct feedline_recorded_step step;
        int32_t status;
        const char *words;
    } bad[] = {
        {STEP(FLOAT_COLOUR, 42), FEEDLINE_ERANGE, "code is 42"},
        {STEP(FLOAT_COLOUR, 40, 1), FEEDLINE_EINVAL, "2 values"},
        {STEP(FLOAT_VALUES, 5, 0, 1), FEEDLINE_ERANGE, "what is done is 5"},
        {STEP(FLOAT_VALUES, 0, 0, 1, 1), FEEDLINE_EINVAL, "here it takes 3"},
        {STEP(FLOAT_VALUES, 2, 0, 1), FEEDLINE_EINVAL, "here it takes 4"},
        {STEP(FLOAT_VALUES, 0, 3, 1), FEEDLINE_EINVAL, "channel 3 of 3"},
        {STEP(FLOAT_VALUES, 0, -2, 1), FEEDLINE_ERANGE, "a channel is -2"},
        {STEP(FLOAT_VALUES, 0, 0, INFINITY), FEEDLINE_EINVAL, "is inf"},
        {STEP(FLOAT_CHANNELS, 0, 1), FEEDLINE_EINVAL, "here it takes 3"},
        {STEP(FLOAT_CHANNELS, 0, 1, 3), FEEDLINE_EINVAL, "channel 3 of 3"},
    };
    struct feedline_recorded_step steps[] = {STEP_OF(LOOKUP, table), {0}};
    struct feedline_recorded_image image =
        floats(program(steps, 2, 3, WIDTH, HEIGHT));
    for (size_t i = 0; i < COUNT(bad); i++) {
        steps[1] = bad[i].step;
        expect(fdl_recorded_check(&image), bad[i].status, bad[i].words);
    }
    steps[1] = (struct feedline_recorded_step)STEP(FLOAT_COLOUR, 40);
    assert_int_equal(fdl_recorded_check(&image), FEEDLINE_OK);
    image.dtype = 0;
    image.element_bytes = 4;
    expect(fdl_recorded_check(&image), FEEDLINE_EINVAL, "data type is 0");
    image = floats(program(steps, 2, 1, WIDTH, HEIGHT));
    expect(fdl_recorded_check(&image), FEEDLINE_EINVAL, "for 3 channels");
}

TEST(steps_are_for_some_modes)
{
    static const uint8_t tables[4 * 256];
    static const struct feedline_recorded_step steps[][2] = {
        {STEP(CONVERT, 4), STEP(POSTERIZE, 3)},
        {STEP(CONVERT, 2), STEP(SOLARIZE, 3)},
        {STEP(CONVERT, 4), PLAIN(INVERT)},
        {STEP(CONVERT, 2), PLAIN(AUTOCONTRAST)},
        {STEP(CONVERT, 4), PLAIN(EQUALIZE)},
        {STEP(CONVERT, 4), STEP(TENSOR_BRIGHTNESS, 1)},
    };
    for (size_t i = 0; i < COUNT(steps); i++) {
        int32_t channels = (int32_t)steps[i][0].value[0];
        struct feedline_recorded_image image =
            program(steps[i], 2, channels, WIDTH, HEIGHT);
        expect(carry_out(&image), FEEDLINE_EINVAL,
               channels == 4 ? "it is not for images of mode RGBA"
                             : "it is not for images of mode LA");
    }
    struct feedline_recorded_step any = STEP_OF(POINT, tables);
    struct feedline_recorded_image image = program(&any, 1, 3, WIDTH, HEIGHT);
    assert_int_equal(carry_out(&image), FEEDLINE_OK);
    for (size_t i = 0; i < image.out_bytes; i++)
        assert_int_equal(out[i], 0);
}

TEST(what_does_not_fit_the_image_is_refused)
{
    struct feedline_recorded_step part = STEP(RESIZE, 9, 9, 2, 0, 0, 41, 9);
    struct feedline_recorded_step huge = STEP(RESIZE, 1000, 1000, 2);
    struct feedline_recorded_step gray = STEP(CONVERT, 1);
    struct feedline_recorded_image image = program(&part, 1, 3, 9, 9);
    expect(carry_out(&image), FEEDLINE_EINVAL,
           "step 1 (RESIZE): the box ends at 41, 9, outside");
    image = program(&huge, 1, 3, 9, 9);
    expect(carry_out(&image), FEEDLINE_ERANGE, "1000x1000 is above the limit");
    image = program(NULL, 0, 3, 9, 7);
    expect(carry_out(&image), FEEDLINE_EINVAL,
           "make this image 40x30, but its output is 9x7");
    image = program(&gray, 1, 3, WIDTH, HEIGHT);
    expect(carry_out(&image), FEEDLINE_EINVAL,
           "make 1 channels of this image, but its output has 3");
}

TEST_MAIN("decode_recorded_refused")
