/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded images with a pipeline: the pixels are those of the pipeline's own
 * plan for that sample, whatever its operations, the file, the output and the
 * decoder's options are; and what is refused.
 */
#include "decode/recorded_image.h"
#include "make_jpeg.h"
#include "make_png.h"
#include "recorded_steps.h"
#include "tests/decode/rig.h"
#include "tests/dice.h"
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

enum { ROUNDS = 1500, OUT_MAX = 1 << 24 };

static _Alignas(16) uint8_t made[OUT_MAX], wanted[OUT_MAX];

/* ---- Anything ------------------------------------------------------------ */

static const char *const recipes[] = {
    "none", "train", "eval",  "torchvision-v2", "timm-a1",  "deit",
    "mae",  "clip",  "cifar", "coco-det",       "train_u8", "timm-a1_u8"};

static const char *const operations[][2] = {
    {"random_resized_crop", "width=31 height=27"},
    {"random_resized_crop", "size=40 interpolation=bicubic"},
    {"resize", "width=30 height=41 interpolation=lanczos"},
    {"resize", "size=33"},
    {"resize_pad", "size=40"},
    {"scale_jitter", "size=48"},
    {"random_shortest_size", "min_size=20,30 max_size=70"},
    {"random_resize", "min_size=20 max_size=40"},
    {"center_crop", "size=24"},
    {"center_crop", "size=70"},
    {"random_crop", "size=25"},
    {"random_crop", "size=32 padding=4,4,4,4"},
    {"random_crop_or_pad", "size=50"},
    {"pad", "padding=3,1,4,2 fill=9"},
    {"trim_border", NULL},
    {"random_zoom_out", "p=1"},
    {"horizontal_flip", NULL},
    {"vertical_flip", NULL},
    {"random_rotation", "degrees=20"},
    {"random_affine", "degrees=20 translate=0.1,0.2 scale=0.7:1.2"},
    {"random_perspective", "p=1"},
    {"color_jitter", "brightness=0.4 contrast=0.4 saturation=0.4 hue=0.1"},
    {"brightness", "factor=0.5:2"},
    {"contrast", "factor=0.5:2"},
    {"saturation", "factor=0.5:2"},
    {"hue", "factor=-0.2:0.2"},
    {"grayscale", NULL},
    {"random_grayscale", "p=0.5"},
    {"random_invert", NULL},
    {"random_posterize", NULL},
    {"random_solarize", NULL},
    {"random_autocontrast", NULL},
    {"random_equalize", NULL},
    {"random_adjust_sharpness", NULL},
    {"random_channel_permutation", NULL},
    {"random_photometric_distort", NULL},
    {"gaussian_blur", "kernel_size=5 sigma=0.1:2"},
    {"pil_gaussian_blur", "p=1"},
    {"trivial_augment_wide", NULL},
    {"rand_augment", NULL},
    {"auto_augment", NULL},
    {"timm_augment", "config=rand-m9-mstd0.5-inc1"},
    {"random_apply", "count=1 p=0.5"},
    {"random_choice", "count=2"},
    {"random_order", "count=2"},
    {"normalize", NULL},
    {"normalize", "mean=0.5 std=0.25"},
    {"random_erasing", "p=1"},
    {"random_erasing", "p=1 noise=true"},
};

/* Some are refused, where they do not fit those before. */
static struct fdl_pipeline *any_pipeline(struct dice *dice)
{
    uint32_t recipe = dice_below(dice, 2 * FDL_COUNT_OF(recipes));
    struct fdl_pipeline *p =
        rig_recipe(recipe < FDL_COUNT_OF(recipes) ? recipes[recipe] : NULL);
    for (uint32_t n = dice_below(dice, 6); n > 0; n--) {
        const char *const *op =
            operations[dice_below(dice, FDL_COUNT_OF(operations))];
        (void)fdl_pipeline_add(p, op[0], op[1]);
    }
    fdl_clear_error();
    return p;
}

/* A file of a few thousand pixels; *channels: what its mode has, 0: it has to
 * be converted. */
static uint8_t *any_file(struct dice *dice, size_t *size, int32_t *channels)
{
    static const int colours[] = {0, 2, 3, 4, 6};
    static const int32_t of_colours[] = {1, 3, 0, 2, 4};
    uint64_t seed = dice_u64(dice);
    uint32_t kind = dice_below(dice, 8);
    int32_t width = (int32_t)dice_below(dice, 90) + 8;
    int32_t height = (int32_t)dice_below(dice, 70) + 8;
    if (kind < FDL_COUNT_OF(colours)) {
        struct make_png m = {.width = (uint32_t)width,
                             .height = (uint32_t)height,
                             .depth = 8,
                             .colour = colours[kind],
                             .seed = seed};
        *channels = of_colours[kind];
        return make_png(&m, size);
    }
    struct make_jpeg m = make_any(&seed, width, height);
    m.width = width;
    m.height = height;
    *channels = m.components == 4 ? 0 : m.components;
    return make_jpeg(&m, size);
}

static struct fdl_decoder *any_decoder(struct dice *dice)
{
    struct fdl_decode_limits limits = {
        .max_pixels = 1u << 18,
        .fast = dice_below(dice, 4) == 0,
        .columns_first = dice_below(dice, 2),
        .rounding = (enum fdl_rounding)dice_below(dice, 3),
    };
    return rig_decoder(limits);
}

static struct fdl_output_format any_format(struct dice *dice,
                                           const struct fdl_pipeline *p)
{
    static const int32_t dtypes[] = {FEEDLINE_F32, FEEDLINE_F16, FEEDLINE_BF16,
                                     FEEDLINE_U8};
    uint32_t n = fdl_pipeline_normalizes(p) ? 3 : 4;
    return (struct fdl_output_format){
        .channels = (int32_t)dice_below(dice, 4) + 1,
        .dtype = dtypes[dice_below(dice, n)],
        .nhwc = dice_below(dice, 2),
    };
}

static struct fdl_draw_key any_key(struct dice *dice)
{
    return (struct fdl_draw_key){
        .seed = dice_u64(dice),
        .epoch = dice_below(dice, 1000),
        .sample = dice_u64(dice) >> 16,
        .copy = dice_below(dice, 3),
        .view = FDL_EVERY_VIEW,
    };
}

/* ---- One image both ways ------------------------------------------------- */

struct subject {
    struct fdl_decoder *decoder;
    struct fdl_encoded bytes;
    struct fdl_pipeline *pipeline;
    struct fdl_draw_key key; /* .view: of chains, for the way without steps */
    struct fdl_output_format format;
};

#define TOO_LARGE 1 /* for the test */

/* As a loader does it; the size goes to s->format. */
static int32_t without_steps(struct subject *s)
{
    struct fdl_image_info info;
    struct fdl_render_cost cost = {0};
    struct fdl_plan plan;
    s->key.channels = s->format.channels;
    s->format.width = s->format.height = 1;
    int32_t status = fdl_decoder_open(s->decoder, &s->bytes, &info);
    if (!status)
        status = fdl_pipeline_draw(s->pipeline, &s->key, info.width,
                                   info.height, &plan);
    if (!status) {
        s->format.width = fdl_plan_width(&plan);
        s->format.height = fdl_plan_height(&plan);
        status = fdl_output_bytes(&s->format) > OUT_MAX ? TOO_LARGE : 0;
    }
    if (status) {
        fdl_decoder_abort(s->decoder);
        return status;
    }
    return fdl_decoder_render(s->decoder, &plan, &s->format, wanted, &cost);
}

static struct feedline_recorded_image image_of(
    const struct subject *s, const feedline_pipeline *p,
    const struct feedline_recorded_step *steps, uint32_t n)
{
    const struct fdl_output_format *f = &s->format;
    return (struct feedline_recorded_image){
        .struct_size = sizeof(struct feedline_recorded_image),
        .n_steps = n,
        .steps = steps,
        .out = made,
        .out_bytes = fdl_output_bytes(f),
        .dtype = f->dtype,
        .nhwc = f->nhwc,
        .channels = f->channels,
        .height = f->height,
        .width = f->width,
        .pipeline = p,
        .draw_seed = s->key.seed,
        .draw_epoch = s->key.epoch,
        .draw_sample = s->key.sample,
        .draw_copy = s->key.copy,
    };
}

static int32_t render(const struct subject *s,
                      const struct feedline_recorded_image *image)
{
    struct fdl_image_info info;
    struct fdl_render_cost cost = {0};
    return fdl_recorded_render(s->decoder, &s->bytes, image, &info, &cost);
}

static struct feedline_recorded_step convert_to(int32_t channels)
{
    return (struct feedline_recorded_step){
        .op = FEEDLINE_STEP_CONVERT, .n = 1, .value = {channels}};
}

/* Also errors. channels: of the file, as of any_file. Whether there are pixels.
 */
static bool compare(struct subject *s, int32_t channels, bool convert)
{
    char reason[FDL_ERROR_BYTES] = "";
    const feedline_pipeline p = {.pipeline = s->pipeline};
    struct feedline_recorded_step to = convert_to(s->format.channels);
    bool needed = convert || channels != s->format.channels;
    int32_t expected = without_steps(s);
    if (expected == TOO_LARGE)
        return false;
    if (expected)
        snprintf(reason, sizeof(reason), "%s", fdl_last_error());
    struct feedline_recorded_image image = image_of(s, &p, &to, needed);
    memset(made, 0xa5, image.out_bytes);
    int32_t status = render(s, &image);
    if (status != expected ||
        (!expected && memcmp(made, wanted, image.out_bytes) != 0))
        fail_msg("%d: %s, not %d: %s", status, fdl_last_error(), expected,
                 reason);
    return !expected;
}

/* Whether the pipeline is one that makes pixels of this image. */
static bool one_round(struct dice *dice)
{
    size_t size;
    int32_t channels;
    uint8_t *file = any_file(dice, &size, &channels);
    SCOPED_PIPELINE p = any_pipeline(dice);
    SCOPED_DECODER d = any_decoder(dice);
    struct subject s = {.decoder = d,
                        .bytes = file_of(file, size),
                        .pipeline = p,
                        .key = any_key(dice),
                        .format = any_format(dice, p)};
    bool done = fdl_pipeline_check_channels(p, s.format.channels) == 0 &&
                compare(&s, channels, dice_below(dice, 2));
    free(file);
    return done;
}

TEST(pixels_are_those_of_the_pipeline)
{
    uint64_t seed = test_seed();
    uint32_t compared = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct dice dice = {seed + i};
        compared += one_round(&dice);
    }
    printf("%u of %d made\n", compared, ROUNDS);
    assert_true(compared > ROUNDS / 3);
}

/* Refused only where they do not fit others. */
TEST(operations_are_known)
{
    for (size_t i = 0; i < FDL_COUNT_OF(operations); i++) {
        SCOPED_PIPELINE p = rig_recipe(NULL);
        rig_add(p, operations[i][0], operations[i][1]);
    }
}

/* ---- Views --------------------------------------------------------------- */

/* The k-th image is that of view k, where a chain makes each. */
TEST(draws_are_those_of_a_view)
{
    static uint8_t raw[61 * 47 * 3];
    fill_noise(raw, sizeof(raw));
    SCOPED_PIPELINE views = rig_recipe(NULL);
    SCOPED_PIPELINE chain = rig_recipe("torchvision-v2");
    SCOPED_DECODER d = rig_decoder((struct fdl_decode_limits){0});
    const feedline_pipeline p = {.pipeline = chain};
    struct subject s = {.decoder = d,
                        .bytes = raw_of(raw, 61, 47, 3),
                        .pipeline = views,
                        .key = {.seed = 5, .epoch = 3, .sample = 9},
                        .format = {.channels = 3, .dtype = FEEDLINE_F32}};
    assert_int_equal(fdl_pipeline_add_views(views, chain, FEEDLINE_VIEWS_MAX),
                     0);
    for (uint32_t v = 0; v < FEEDLINE_VIEWS_MAX; v += 9) {
        s.key.view = (int32_t)v;
        assert_int_equal(without_steps(&s), FEEDLINE_OK);
        struct feedline_recorded_image image = image_of(&s, &p, NULL, 0);
        assert_int_equal(render(&s, &image), FEEDLINE_OK);
        assert_int_equal(memcmp(made, wanted, image.out_bytes) == 0, v == 0);
        image.draw_view = v;
        assert_int_equal(render(&s, &image), FEEDLINE_OK);
        assert_memory_equal(made, wanted, image.out_bytes);
    }
}

/* ---- Steps --------------------------------------------------------------- */

enum { WIDTH = 61, HEIGHT = 47 };

static uint8_t *noise(void)
{
    static uint8_t pixels[WIDTH * HEIGHT * 3];
    fill_noise(pixels, sizeof(pixels));
    return pixels;
}

#define COUNT FDL_COUNT_OF

/* A subject of noise with the pipeline of these operations. */
static struct subject subject_of(struct fdl_decoder *d, struct fdl_pipeline *p,
                                 int32_t dtype)
{
    return (struct subject){
        .decoder = d,
        .bytes = raw_of(noise(), WIDTH, HEIGHT, 3),
        .pipeline = p,
        .key = {.seed = 1, .sample = 4, .view = FDL_EVERY_VIEW},
        .format = {.channels = 3, .dtype = dtype}};
}

/* What picks pixels comes first: as the pipeline does to an image of those. */
TEST(pixels_are_picked_before)
{
    static const struct feedline_recorded_step steps[] = {
        STEP(CONVERT, 3), STEP(CROP, 5, 7, 55, 40), STEP(TRANSPOSE, 0),
        STEP(CROP, 1, 2, 49, 30)};
    static uint8_t picked[48 * 28 * 3];
    SCOPED_PIPELINE p = rig_recipe("torchvision-v2");
    SCOPED_DECODER d = rig_decoder((struct fdl_decode_limits){0});
    const feedline_pipeline handle = {.pipeline = p};
    for (int32_t y = 0; y < 28; y++)
        for (int32_t x = 0; x < 48; x++)
            memcpy(picked + 3 * (y * 48 + x),
                   noise() + 3 * ((y + 9) * WIDTH + 53 - x), 3);
    for (uint64_t sample = 0; sample < 40; sample++) {
        struct subject s = subject_of(d, p, FEEDLINE_F32);
        s.key.sample = sample;
        s.bytes = raw_of(picked, 48, 28, 3);
        assert_int_equal(without_steps(&s), FEEDLINE_OK);
        s.bytes = raw_of(noise(), WIDTH, HEIGHT, 3);
        struct feedline_recorded_image image =
            image_of(&s, &handle, steps, COUNT(steps));
        if (render(&s, &image))
            fail_msg("%s", fdl_last_error());
        assert_memory_equal(made, wanted, image.out_bytes);
    }
}

/* As a file whose EXIF data is followed. */
TEST(an_image_is_turned_before)
{
    static const struct feedline_recorded_step turn = STEP(TRANSPOSE, 2);
    static uint8_t turned[WIDTH * HEIGHT * 3];
    SCOPED_PIPELINE p = rig_recipe("torchvision-v2");
    SCOPED_DECODER d = rig_decoder((struct fdl_decode_limits){0});
    const feedline_pipeline handle = {.pipeline = p};
    for (int32_t y = 0; y < WIDTH; y++)
        for (int32_t x = 0; x < HEIGHT; x++)
            memcpy(turned + 3 * (y * HEIGHT + x),
                   noise() + 3 * (x * WIDTH + WIDTH - 1 - y), 3);
    struct subject s = subject_of(d, p, FEEDLINE_F32);
    s.bytes = raw_of(turned, HEIGHT, WIDTH, 3);
    assert_int_equal(without_steps(&s), FEEDLINE_OK);
    s.bytes = raw_of(noise(), WIDTH, HEIGHT, 3);
    struct feedline_recorded_image image = image_of(&s, &handle, &turn, 1);
    assert_int_equal(render(&s, &image), FEEDLINE_OK);
    assert_memory_equal(made, wanted, image.out_bytes);
}

/* SCALE in place of the option, with the pipeline's normalize or a step's. */
TEST(floats_are_rounded_as_a_step_says)
{
    static const struct feedline_recorded_step steps[] = {
        STEP(SCALE, 1), STEP(NORMALIZE, .5, .25, .125, .3, .2, .1)};
    SCOPED_PIPELINE with = rig_recipe("train_u8");
    rig_add(with, "normalize", "mean=0.5,0.25,0.125 std=0.3,0.2,0.1");
    SCOPED_PIPELINE without = rig_recipe("train_u8");
    const feedline_pipeline handles[] = {{.pipeline = with},
                                         {.pipeline = without}};
    SCOPED_DECODER multiplies = rig_decoder(
        (struct fdl_decode_limits){.rounding = FDL_ROUNDING_MULTIPLY});
    SCOPED_DECODER d = rig_decoder((struct fdl_decode_limits){0});
    struct subject s = subject_of(multiplies, with, FEEDLINE_F32);
    assert_int_equal(without_steps(&s), FEEDLINE_OK);
    s.decoder = d;
    for (uint32_t i = 0; i < COUNT(handles); i++) {
        struct feedline_recorded_image image =
            image_of(&s, &handles[i], steps, i + 1);
        assert_int_equal(render(&s, &image), FEEDLINE_OK);
        assert_memory_equal(made, wanted, image.out_bytes);
    }
    struct feedline_recorded_image image = image_of(&s, handles, NULL, 0);
    assert_int_equal(render(&s, &image), FEEDLINE_OK);
    assert_memory_not_equal(made, wanted, image.out_bytes);
}

/* The pipeline's bytes are looked up. */
TEST(bytes_are_looked_up_behind)
{
    static uint64_t table[3 * 256];
    static const struct feedline_recorded_step lookup = {
        .op = FEEDLINE_STEP_LOOKUP, .data = table};
    SCOPED_PIPELINE p = rig_recipe("train_u8");
    SCOPED_DECODER d = rig_decoder((struct fdl_decode_limits){0});
    const feedline_pipeline handle = {.pipeline = p};
    struct subject s = subject_of(d, p, FEEDLINE_U8);
    fill_noise((uint8_t *)table, sizeof(table));
    assert_int_equal(without_steps(&s), FEEDLINE_OK);
    struct feedline_recorded_image image = image_of(&s, &handle, &lookup, 1);
    size_t n = (size_t)image.out_bytes;
    image.out_bytes *= sizeof(uint64_t);
    image.element_bytes = sizeof(uint64_t);
    image.dtype = 0;
    assert_true(image.out_bytes <= OUT_MAX * sizeof(uint64_t));
    uint64_t *elements = rig_alloc(image.out_bytes);
    image.out = elements;
    assert_int_equal(render(&s, &image), FEEDLINE_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(elements[i], table[i / (n / 3) * 256 + wanted[i]]);
    free(elements);
}

/* Behind what the pipeline erases. */
TEST(rectangles_are_erased_behind)
{
    static const struct feedline_recorded_step erase =
        STEP(ERASE, 3, 4, 50, 60, -1, -2, -3);
    SCOPED_PIPELINE p = rig_recipe("train");
    rig_add(p, "random_erasing", "p=1 noise=true");
    SCOPED_DECODER d = rig_decoder((struct fdl_decode_limits){0});
    const feedline_pipeline handle = {.pipeline = p};
    struct subject s = subject_of(d, p, FEEDLINE_F32);
    assert_int_equal(without_steps(&s), FEEDLINE_OK);
    struct feedline_recorded_image image = image_of(&s, &handle, &erase, 1);
    assert_int_equal(render(&s, &image), FEEDLINE_OK);
    for (int32_t i = 0; i < 3 * 224 * 224; i++) {
        int32_t x = i % 224, y = i / 224 % 224;
        float got, want;
        memcpy(&want, wanted + (size_t)i * 4, 4);
        memcpy(&got, made + (size_t)i * 4, 4);
        if (x >= 3 && x < 53 && y >= 4 && y < 64)
            want = (float)(-1 - i / (224 * 224));
        assert_true(got == want);
    }
}

/* ---- What is refused ----------------------------------------------------- */

static void expect(int32_t got, int32_t status, const char *words)
{
    if (got != status || !strstr(fdl_last_error(), words))
        fail_msg("%d: %s, not %d: %s", got, fdl_last_error(), status, words);
}

/* Of 224 x 224 floats. */
static struct feedline_recorded_image usual_image(
    const feedline_pipeline *p, const struct feedline_recorded_step *step)
{
    struct subject s = {.format = {224, 224, 3, FEEDLINE_F32, false},
                        .key = {.seed = 1}};
    return image_of(&s, p, step, step != NULL);
}

static int32_t leave(const struct feedline_op_call *call)
{
    (void)call;
    return FEEDLINE_OK;
}

TEST(pipelines_make_one_image_of_one)
{
    static const struct {
        const char *op, *args, *words;
    } bad[] = {
        {"five_crop", "size=224",
         "five_crop in the pipeline of a recorded "
         "image: it makes several images of one"},
        {"mix", "mixup_alpha=1", "there is no batch to mix it with"},
        {"sanitize_boxes", NULL, "there are no objects"},
        {"nearest", NULL, "it is an operation of the program's"},
    };
    static const struct feedline_op_def nearest = {
        .struct_size = sizeof(nearest), .name = "nearest", .run = leave};
    SCOPED_PIPELINE views = rig_recipe("simclr");
    feedline_pipeline p = {.pipeline = views};
    struct feedline_recorded_image image = usual_image(&p, NULL);
    expect(fdl_recorded_check(&image), FEEDLINE_EINVAL,
           "add_views in the pipeline of a recorded image");
    for (size_t i = 0; i < COUNT(bad); i++) {
        SCOPED_PIPELINE own = rig_recipe("train");
        if (i == 3)
            assert_int_equal(fdl_pipeline_register(own, &nearest), 0);
        rig_add(own, bad[i].op, bad[i].args);
        p.pipeline = own;
        expect(fdl_recorded_check(&image), FEEDLINE_EINVAL, bad[i].words);
    }
}

TEST(outputs_are_those_of_the_pipeline)
{
    SCOPED_PIPELINE own = rig_recipe("train");
    const feedline_pipeline p = {.pipeline = own};
    struct feedline_recorded_image image = usual_image(&p, NULL), bad = image;
    assert_int_equal(fdl_recorded_check(&image), FEEDLINE_OK);
    bad.width = 223;
    bad.out_bytes -= 3 * 224 * 4;
    expect(fdl_recorded_check(&bad), FEEDLINE_EINVAL,
           "the pipeline makes images 224x224, but the output is 223x224");
    bad = image;
    bad.dtype = FEEDLINE_U8;
    bad.out_bytes /= 4;
    expect(fdl_recorded_check(&bad), FEEDLINE_EINVAL,
           "normalize in the pipeline makes floats, but the output is of");
    bad = image;
    bad.channels = 4;
    bad.out_bytes = bad.out_bytes / 3 * 4;
    expect(fdl_recorded_check(&bad), FEEDLINE_EINVAL, "normalize");
    bad = image;
    bad.draw_sample = FDL_SAMPLES_MAX;
    expect(fdl_recorded_check(&bad), FEEDLINE_ERANGE, "draw_sample is 2814749");
    bad = image;
    bad.draw_copy = FDL_COPY_NUMBERS;
    expect(fdl_recorded_check(&bad), FEEDLINE_ERANGE, "draw_copy is 65536");
    bad = image;
    bad.draw_view = FEEDLINE_VIEWS_MAX;
    expect(fdl_recorded_check(&bad), FEEDLINE_ERANGE, "draw_view is 64");
    const feedline_pipeline old = {.fork_generation = 7, .pipeline = own};
    bad = image;
    bad.pipeline = &old;
    expect(fdl_recorded_check(&bad), FEEDLINE_EFORK, "before fork()");
}

TEST(some_steps_have_no_place)
{
    static const float table[3 * 256];
    static const struct {
        struct feedline_recorded_step step;
        const char *words;
    } bad[] = {
        {STEP(RESIZE, 30, 30, 2), "step 1 (RESIZE): before a pipeline there"},
        {STEP(BRIGHTNESS, 2), "CONVERT, CROP and TRANSPOSE only"},
        {{.op = FEEDLINE_STEP_LOOKUP, .data = table},
         "step 1 (LOOKUP): it cannot come behind normalize"},
    };
    static const struct feedline_recorded_step scaled[] = {
        PLAIN(SCALE), STEP(NORMALIZE, 0, 0, 0, 1, 1, 1)};
    SCOPED_PIPELINE own = rig_recipe("train");
    SCOPED_PIPELINE late = rig_recipe("train_u8");
    rig_add(late, "random_erasing", NULL);
    feedline_pipeline p = {.pipeline = own};
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct feedline_recorded_image image = usual_image(&p, &bad[i].step);
        expect(fdl_recorded_check(&image), FEEDLINE_EINVAL, bad[i].words);
    }
    struct feedline_recorded_image image = usual_image(&p, scaled);
    assert_int_equal(fdl_recorded_check(&image), FEEDLINE_OK);
    image.n_steps = 2;
    expect(fdl_recorded_check(&image), FEEDLINE_EINVAL,
           "step 2 (NORMALIZE): it cannot come behind normalize");
    p.pipeline = late;
    expect(fdl_recorded_check(&image), FEEDLINE_EINVAL,
           "step 2 (NORMALIZE): it cannot come behind random_erasing");
}

/* Seen only with the image. */
TEST(some_images_do_not_fit)
{
    static const struct {
        struct feedline_recorded_step step;
        const char *words;
    } bad[] = {
        {STEP(CROP, -1, 0, 40, 40), "only cropped inside of its edges"},
        {STEP(CONVERT, 1), "make 1 channels of this image, but its output "},
    };
    SCOPED_PIPELINE own = rig_recipe("train");
    SCOPED_PIPELINE open = rig_recipe("none");
    SCOPED_DECODER d = rig_decoder((struct fdl_decode_limits){0});
    feedline_pipeline p = {.pipeline = own};
    struct subject s = subject_of(d, own, FEEDLINE_F32);
    struct feedline_recorded_image image;
    for (size_t i = 0; i < COUNT(bad); i++) {
        image = usual_image(&p, &bad[i].step);
        expect(render(&s, &image), FEEDLINE_EINVAL, bad[i].words);
    }
    p.pipeline = open;
    image = usual_image(&p, NULL);
    expect(render(&s, &image), FEEDLINE_EINVAL,
           "make this image 61x47, but its output is 224x224");
}

/* Pillow resamples indices, and bits, by nearest. */
TEST(indices_have_to_be_converted)
{
    struct make_png m = {.width = 20, .height = 10, .depth = 1, .colour = 3};
    static const struct feedline_recorded_step to = STEP(CONVERT, 1);
    SCOPED_PIPELINE own = rig_recipe("train_u8");
    SCOPED_DECODER d = rig_decoder((struct fdl_decode_limits){0});
    const feedline_pipeline p = {.pipeline = own};
    for (m.colour = 0; m.colour <= 3; m.colour += 3) {
        size_t size;
        uint8_t *file = make_png(&m, &size);
        struct subject s = {.decoder = d,
                            .bytes = file_of(file, size),
                            .format = {224, 224, 1, FEEDLINE_F32, false}};
        struct feedline_recorded_image image = image_of(&s, &p, &to, 0);
        expect(render(&s, &image), FEEDLINE_EINVAL,
               m.colour ? "a pipeline is not for images of mode P"
                        : "a pipeline is not for images of mode 1");
        image.n_steps = 1;
        assert_int_equal(render(&s, &image), FEEDLINE_OK);
        free(file);
    }
}

/* ---- Several of one file, and memory ------------------------------------- */

TEST(views_are_decoded_once)
{
    static uint8_t parts[2][3 * 40 * 40];
    const struct feedline_recorded_image *list[2];
    struct feedline_recorded_image images[2];
    struct fdl_image_info info;
    struct fdl_render_cost cost = {0};
    SCOPED_PIPELINE own = rig_recipe(NULL);
    rig_add(own, "random_resized_crop", "size=40 scale=0.5:1");
    rig_add(own, "random_rotation", "degrees=20");
    SCOPED_DECODER d = rig_decoder((struct fdl_decode_limits){0});
    const feedline_pipeline p = {.pipeline = own};
    struct subject s = subject_of(d, own, FEEDLINE_U8);
    s.format.width = s.format.height = 40;
    for (uint32_t i = 0; i < 2; i++) {
        images[i] = image_of(&s, &p, NULL, 0);
        images[i].draw_view = i;
        images[i].out = parts[i];
        list[i] = &images[i];
    }
    assert_true(fdl_recorded_render_shared(d, &s.bytes, list, 2, &info, &cost));
    for (uint32_t i = 0; i < 2; i++) {
        images[i].out = made;
        assert_int_equal(render(&s, &images[i]), FEEDLINE_OK);
        assert_memory_equal(made, parts[i], sizeof(parts[i]));
    }
    assert_memory_not_equal(parts[0], parts[1], sizeof(parts[0]));
}

TEST(every_allocation_may_fail)
{
    SCOPED_PIPELINE own = rig_recipe(NULL);
    rig_add(own, "random_resized_crop", "size=40");
    rig_add(own, "random_perspective", "p=1");
    rig_add(own, "gaussian_blur", "kernel_size=5 sigma=1:2");
    rig_add(own, "random_adjust_sharpness", "p=1");
    rig_add(own, "normalize", NULL);
    rig_add(own, "random_erasing", "p=1 noise=true");
    const feedline_pipeline p = {.pipeline = own};
    int failures = 0;
    bool reached = true;
    for (int n = 1; reached; n++) {
        SCOPED_DECODER d = rig_decoder((struct fdl_decode_limits){0});
        struct subject s = subject_of(d, own, FEEDLINE_F32);
        s.format.width = s.format.height = 40;
        struct feedline_recorded_image image = image_of(&s, &p, NULL, 0);
        memory_left = n;
        int32_t status = render(&s, &image);
        reached = memory_left == 0;
        memory_left = 0;
        if (status)
            expect(status, FEEDLINE_ENOMEM, "memory");
        failures += status != FEEDLINE_OK;
        assert_int_equal(render(&s, &image), FEEDLINE_OK);
    }
    assert_true(failures > 5);
}

TEST_MAIN("decode_recorded_draws")
