/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of weights, and the numbers of the last pass. Kernels are compared
 * with each other by test_passes.c, and with Pillow by pillow_parity.
 */
#include "base/status.h"
#include "decode/kernels/finish.h"
#include "decode/kernels/levels.h"
#include "decode/kernels/resample.h"
#include "decode/pixels/half.h"
#include "dice.h"
#include "test.h"

#include <math.h>

static struct fdl_axis prepare_key(struct fdl_axis_key key)
{
    struct fdl_axis axis = {0};
    assert_int_equal(fdl_axis_prepare(&axis, &key), FEEDLINE_OK);
    return axis;
}

static struct fdl_axis prepare(int32_t in, int32_t out, int32_t first,
                               int32_t count, bool mirror)
{
    return prepare_key((struct fdl_axis_key){.in = in,
                                             .out = out,
                                             .first = first,
                                             .count = count,
                                             .mirror = mirror});
}

static struct fdl_axis prepare_filter(int32_t in, int32_t out,
                                      enum fdl_filter filter)
{
    return prepare_key((struct fdl_axis_key){
        .in = in, .out = out, .count = out, .filter = filter});
}

static const int32_t *weights(const struct fdl_axis *a, int32_t i)
{
    return a->weight + (size_t)i * (size_t)a->stride;
}

/* Taps stay inside, weights add up to one, the box touches what it says. */
TEST(tables_are_sound)
{
    static const int32_t sizes[] = {1, 2, 3, 7, 8, 31, 224, 225, 500, 4001};
    for (size_t a = 0; a < FDL_COUNT_OF(sizes); a++) {
        for (size_t b = 0; b < FDL_COUNT_OF(sizes); b++) {
            struct fdl_axis t = prepare(sizes[a], sizes[b], 0, sizes[b], false);
            int32_t high = 0;
            for (int32_t i = 0; i < sizes[b]; i++) {
                int64_t sum = 0;
                for (int32_t k = 0; k < t.stride; k++) {
                    assert_true(weights(&t, i)[k] >= 0);
                    assert_true(k < t.length[i] || weights(&t, i)[k] == 0);
                    sum += weights(&t, i)[k];
                }
                assert_in_range(t.length[i], 1, t.taps);
                assert_true(weights(&t, i)[t.length[i] - 1] > 0);
                assert_true(t.start[i] >= 0);
                assert_true(llabs(sum - (1 << 22)) <= t.length[i]);
                high = FDL_MAX(high, t.start[i] + t.length[i]);
            }
            assert_int_equal(high, t.extent);
            assert_true(t.origin + t.extent <= sizes[a]);
            fdl_axis_fini(&t);
        }
    }
}

static void assert_same(const struct fdl_axis *a, const struct fdl_axis *b)
{
    size_t n = (size_t)a->key.count;
    assert_int_equal(a->stride, b->stride);
    assert_int_equal(a->taps, b->taps);
    assert_int_equal(a->origin, b->origin);
    assert_int_equal(a->extent, b->extent);
    assert_memory_equal(a->start, b->start, n * sizeof(*a->start));
    assert_memory_equal(a->length, b->length, n * sizeof(*a->length));
    assert_memory_equal(a->weight, b->weight,
                        n * (size_t)a->stride * sizeof(*a->weight));
}

/* Scales up to where tables are made in another way, and some beyond. */
static struct fdl_axis_key draw_key(struct dice *dice)
{
    int32_t out = 1 + (int32_t)dice_below(dice, 300);
    int32_t first = (int32_t)dice_below(dice, (uint32_t)out);
    struct fdl_axis_key key = {
        .in = 1 + (int32_t)dice_below(dice, 4 * (uint32_t)out),
        .out = out,
        .first = first,
        .count = 1 + (int32_t)dice_below(dice, (uint32_t)(out - first)),
        .mirror = dice_below(dice, 2) != 0,
        .reverse = dice_below(dice, 2) != 0,
    };
    if (dice_below(dice, 3) == 0) {
        key.span = dice_between(dice, 0.3, 1.0) * key.in;
        key.from = dice_between(dice, 0.0, 1.0) * (key.in - key.span);
    }
    return key;
}

TEST(tables_are_the_same_at_every_level)
{
    struct dice dice = {test_seed()};
    enum fdl_cpu_level level = fdl_cpu_level();
    for (int round = 0; round < TEST_ROUNDS(4000); round++) {
        struct fdl_axis_key key = draw_key(&dice);
        struct fdl_axis fast = prepare_key(key);
        fdl_cpu_set_level(FDL_CPU_C);
        struct fdl_axis plain = prepare_key(key);
        fdl_cpu_set_level(level);
        assert_same(&fast, &plain);
        fdl_axis_fini(&fast);
        fdl_axis_fini(&plain);
    }
}

/* What the kernels rely on: every weight within twice ONE, no partial sum of
 * bytes beyond an int32 whatever the bytes are, and one in all. */
static void check_bounds(const struct fdl_axis *t)
{
    const int64_t one = 1 << FDL_WEIGHT_BITS;
    for (int32_t i = 0; i < t->key.count; i++) {
        int64_t above = 0, below = 0;
        assert_in_range(t->length[i], 1, t->taps);
        assert_true(t->start[i] >= 0);
        assert_true(t->start[i] + t->length[i] <= t->extent);
        for (int32_t k = 0; k < t->length[i]; k++) {
            int64_t w = weights(t, i)[k];
            assert_true(llabs(w) < 2 * one);
            above += FDL_MAX(w, 0);
            below += FDL_MIN(w, 0);
        }
        assert_true(llabs(above + below - one) <= t->length[i]);
        assert_true(255 * above + one / 2 < INT32_MAX);
        assert_true(255 * below > INT32_MIN);
    }
    assert_true(t->origin + t->extent <= t->key.in);
}

TEST(filters_stay_within_bounds)
{
    struct dice dice = {test_seed()};
    for (int f = 0; f < FDL_FILTERS; f++) {
        enum fdl_filter filter = (enum fdl_filter)f;
        for (int32_t in = 1; in <= 40; in++) {
            for (int32_t out = 1; out <= 90; out++) {
                struct fdl_axis t = prepare_filter(in, out, filter);
                check_bounds(&t);
                fdl_axis_fini(&t);
            }
        }
        for (int round = 0; round < 60; round++) {
            int32_t in = 1 + (int32_t)dice_below(&dice, 5000);
            int32_t out = 1 + (int32_t)dice_below(&dice, 700);
            struct fdl_axis t = prepare_filter(in, out, filter);
            check_bounds(&t);
            fdl_axis_fini(&t);
        }
    }
}

/* At the same size every filter hands its samples through. */
TEST(filters_keep_an_equal_size)
{
    for (int f = 0; f < FDL_FILTERS; f++) {
        struct fdl_axis t = prepare_filter(77, 77, (enum fdl_filter)f);
        assert_int_equal(t.taps, 1);
        for (int32_t i = 0; i < 77; i++) {
            assert_int_equal(t.start[i], i);
            assert_int_equal(weights(&t, i)[0], 1 << FDL_WEIGHT_BITS);
        }
        fdl_axis_fini(&t);
    }
}

/* Taps reach twice and three times as far, and the outer ones are negative. */
TEST(filters_reach_as_far_as_they_should)
{
    static const int32_t taps[FDL_FILTERS] = {2, 1, 1, 2, 4, 6};
    for (int f = 0; f < FDL_FILTERS; f++) {
        struct fdl_axis t = prepare_filter(100, 300, (enum fdl_filter)f);
        assert_int_equal(t.taps, taps[f]);
        fdl_axis_fini(&t);
    }
    struct fdl_axis t = prepare_filter(100, 200, FDL_FILTER_BICUBIC);
    /* output 101 is centred on 50.75: taps at -1.25, -0.25, 0.75, 1.75 */
    static const double want[] = {-0.0703125, 0.8671875, 0.2265625, -0.0234375};
    assert_int_equal(t.start[101], 49);
    for (int k = 0; k < 4; k++)
        assert_int_equal(weights(&t, 101)[k],
                         (int32_t)lround(want[k] * (1 << FDL_WEIGHT_BITS)));
    fdl_axis_fini(&t);
}

TEST(nearest_takes_the_sample_below_the_centre)
{
    struct fdl_axis t = prepare_filter(10, 4, FDL_FILTER_NEAREST);
    static const int32_t want[] = {1, 3, 6, 8}; /* 1.25 3.75 6.25 8.75 */
    for (int i = 0; i < 4; i++)
        assert_int_equal(t.origin + t.start[i], want[i]);
    assert_int_equal(t.extent, 8);
    fdl_axis_fini(&t);
}

TEST(torch_takes_the_sample_at_the_start)
{
    struct fdl_axis_key key = {.in = 10,
                               .out = 4,
                               .count = 4,
                               .filter = FDL_FILTER_NEAREST,
                               .nearest = FDL_NEAREST_TORCH};
    struct fdl_axis t = {0};
    static const int32_t want[] = {0, 2, 5, 7}; /* 0 2.5 5 7.5 */
    assert_int_equal(fdl_axis_prepare(&t, &key), FEEDLINE_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(t.origin + t.start[i], want[i]);
    key = (struct fdl_axis_key){.in = 49,
                                .out = 47,
                                .first = 46,
                                .count = 1,
                                .filter = FDL_FILTER_NEAREST,
                                .nearest = FDL_NEAREST_TORCH};
    assert_int_equal(fdl_axis_prepare(&t, &key), FEEDLINE_OK);
    assert_int_equal(t.origin + t.start[0], 47); /* 46 * 49 / 47 = 47.96 */
    fdl_axis_fini(&t);
}

/* A box that begins inside a sample: the same as four times as many samples,
 * each quarter of which is the same, as far as the centres of outputs go. */
TEST(a_box_moves_the_outputs)
{
    struct fdl_axis_key key = {
        .in = 12, .out = 4, .count = 4, .from = 0.5, .span = 8};
    struct fdl_axis t = {0};
    assert_int_equal(fdl_axis_prepare(&t, &key), FEEDLINE_OK);
    for (int i = 0; i < 4; i++) { /* centres at 1.5, 3.5: on a sample */
        assert_int_equal(t.length[i], 3);
        assert_int_equal(t.origin + t.start[i], 2 * i);
        assert_int_equal(weights(&t, i)[0], 1 << 20);
        assert_int_equal(weights(&t, i)[1], 1 << 21);
        assert_int_equal(weights(&t, i)[2], 1 << 20);
    }
    key.span = 0;
    key.from = 0;
    assert_int_equal(fdl_axis_prepare(&t, &key), FEEDLINE_OK);
    assert_true(t.taps > 3); /* the table was made anew */
    fdl_axis_fini(&t);
}

TEST(identity_has_one_tap)
{
    struct fdl_axis t = prepare(100, 100, 20, 50, false);
    assert_int_equal(t.taps, 1);
    assert_int_equal(t.origin, 20);
    assert_int_equal(t.extent, 50);
    assert_int_equal(weights(&t, 0)[0], 1 << 22);
    fdl_axis_fini(&t);
}

/* By every filter, in any part of the samples, in either order. */
TEST(identity_is_mirrored_and_reversed)
{
    for (int i = 0; i < FDL_FILTERS * 8; i++) {
        struct fdl_axis_key key = {.in = 90,
                                   .out = 90,
                                   .first = 7,
                                   .count = 60,
                                   .mirror = i & 1,
                                   .reverse = i & 2,
                                   .tensor = i & 4,
                                   .filter = (enum fdl_filter)(i / 8),
                                   .span = i & 1 ? 90 : 0};
        struct fdl_axis t = prepare_key(key);
        assert_int_equal(t.taps, 1);
        assert_int_equal(t.origin, key.reverse ? 90 - 67 : 7);
        assert_int_equal(t.extent, 60);
        for (int32_t k = 0; k < 60; k++) {
            bool down = key.mirror != key.reverse;
            assert_int_equal(t.start[k], down ? 59 - k : k);
            assert_int_equal(t.length[k], 1);
            assert_int_equal(weights(&t, k)[0], 1 << FDL_WEIGHT_BITS);
        }
        fdl_axis_fini(&t);
    }
}

/* A window has the entries of the whole, a mirrored one in reverse. */
TEST(windows_and_mirrors_are_parts_of_the_whole)
{
    struct fdl_axis whole = prepare(333, 200, 0, 200, false);
    struct fdl_axis part = prepare(333, 200, 50, 60, false);
    struct fdl_axis mirror = prepare(333, 200, 50, 60, true);
    for (int32_t i = 0; i < 60; i++) {
        int32_t j = 59 - i;
        assert_int_equal(whole.start[50 + i] + whole.origin,
                         part.start[i] + part.origin);
        assert_int_equal(part.start[i], mirror.start[j]);
        for (int32_t k = 0; k < part.length[i]; k++) {
            assert_int_equal(weights(&whole, 50 + i)[k], weights(&part, i)[k]);
            assert_int_equal(weights(&mirror, j)[k], weights(&part, i)[k]);
        }
    }
    assert_true(part.extent < whole.extent);
    fdl_axis_fini(&whole);
    fdl_axis_fini(&part);
    fdl_axis_fini(&mirror);
}

TEST(tables_are_kept_and_remade)
{
    struct fdl_axis t = prepare(300, 224, 0, 224, false);
    const int32_t marked = 12345;
    t.weight[0] = marked;
    struct fdl_axis_key key = t.key;
    assert_int_equal(fdl_axis_prepare(&t, &key), FEEDLINE_OK);
    assert_int_equal(t.weight[0], marked);
    key.mirror = true;
    assert_int_equal(fdl_axis_prepare(&t, &key), FEEDLINE_OK);
    assert_int_not_equal(t.weight[0], marked);
    fdl_axis_fini(&t);
}

/* The weights of the published algorithm for 4 samples to 2. */
TEST(known_weights)
{
    struct fdl_axis t = prepare(4, 2, 0, 2, false);
    /* centre 1, support 2: taps 0..2 at -0.25, 0.25, 0.75 of the triangle */
    static const double want[] = {0.75 / 1.75, 0.75 / 1.75, 0.25 / 1.75};
    assert_int_equal(t.length[0], 3);
    for (int k = 0; k < 3; k++)
        assert_int_equal(weights(&t, 0)[k],
                         (int32_t)(want[k] * (1 << 22) + 0.5));
    fdl_axis_fini(&t);
}

/* torch's have 14 bits where one is 1, more where all are smaller, those of a
 * window too; the kernels take them as 22. */
TEST(weights_of_tensors_have_fewer_bits)
{
    struct fdl_axis_key key = {
        .in = 4, .out = 2, .first = 1, .count = 1, .tensor = true};
    struct fdl_axis t = prepare_key(key); /* of 16 bits: 1/7, 3/7, 3/7 */
    assert_int_equal(weights(&t, 0)[0], (int32_t)(1 / 7.0 * 65536 + 0.5) * 64);
    fdl_axis_fini(&t);
    key = (struct fdl_axis_key){
        .in = 3, .out = 7, .first = 2, .count = 1, .tensor = true};
    t = prepare_key(key); /* the middle one of the seven is 1: 14 bits */
    assert_int_equal(weights(&t, 0)[0], (int32_t)(3 / 7.0 * 16384 + 0.5) * 256);
    assert_int_equal(weights(&t, 0)[1], (int32_t)(4 / 7.0 * 16384 + 0.5) * 256);
    fdl_axis_fini(&t);
}

static void affine_of(struct fdl_affine *a, bool normalize,
                      enum fdl_rounding rounding)
{
    struct fdl_norm norm = {.on = normalize,
                            .mean = {0.485f, 0.456f, 0.406f, 0},
                            .std = {0.229f, 0.224f, 0.225f, 1}};
    fdl_affine_init(a, &norm, rounding);
}

/* The floats of an output of three planes, each of all bytes. */
static void finish_ramps(const struct fdl_affine *affine, int level, float *out)
{
    uint8_t ramp[256];
    for (int x = 0; x < 256; x++)
        ramp[x] = (uint8_t)x;
    const uint8_t *planes[3] = {ramp, ramp, ramp};
    struct fdl_output_format f = {256, 1, 3, FEEDLINE_F32, false};
    fdl_finish_choose(fdl_kernels[level].finish, &f)(planes, affine, &f, 0,
                                                     out);
}

/* All bytes, all channels, all levels, against float32 arithmetic as
 * ToTensor and Normalize do it. */
TEST(floats_are_those_of_torch)
{
    static const float mean[] = {0.485f, 0.456f, 0.406f};
    static const float std[] = {0.229f, 0.224f, 0.225f};
    for (int level = 0; level <= (int)fdl_cpu_level(); level++) {
        for (int normalize = 0; normalize < 2; normalize++) {
            struct fdl_affine affine;
            static float out[3 * 256];
            affine_of(&affine, normalize != 0, FDL_ROUNDING_ONCE);
            finish_ramps(&affine, level, out);
            for (int i = 0; i < 3 * 256; i++) {
                int c = i / 256;
                float want = (float)(i % 256) / 255.0f;
                if (normalize)
                    want = (want - mean[c]) / std[c];
                assert_true(fabsf(out[i] - want) <= 1e-6f);
            }
        }
    }
}

/* Rounded after each step, as torch's operations are. */
static float in_steps(const struct fdl_norm *norm, enum fdl_rounding rounding,
                      int c, int byte)
{
    volatile float y = (float)byte;
    if (rounding == FDL_ROUNDING_DIVIDE)
        y = y / 255.0f;
    else
        y = y * (float)(1.0 / 255.0);
    if (norm->on) {
        y = y - norm->mean[c];
        y = y / norm->std[c];
    }
    return y;
}

/* A plan with numbers of a common size, or of any that Normalize may have. */
static void draw_norm(struct fdl_norm *norm, struct dice *d)
{
    norm->on = dice_below(d, 8) != 0;
    for (int c = 0; c < 3; c++) {
        double mean = dice_between(d, 0, 1);
        double std = dice_between(d, 0, 1);
        int power = (int)dice_below(d, 80) - 40;
        bool common = dice_below(d, 4) != 0;
        norm->mean[c] = (float)(common ? mean : ldexp(mean - 0.5, power));
        norm->std[c] = (float)(common ? std + 1e-6 : ldexp(std + 1e-6, -power));
    }
}

/* To the bit: all bytes, all levels, any mean and std. */
TEST(steps_round_as_torch_does)
{
    struct dice dice = {test_seed()};
    for (int round = 0; round < 400; round++) {
        struct fdl_norm norm = {.mean = {0.485f, 0.456f, 0.406f},
                                .std = {0.229f, 0.224f, 0.225f, 1},
                                .on = round == 1};
        if (round > 1)
            draw_norm(&norm, &dice);
        for (int r = FDL_ROUNDING_DIVIDE; r <= FDL_ROUNDING_MULTIPLY; r++) {
            struct fdl_affine affine;
            fdl_affine_init(&affine, &norm, (enum fdl_rounding)r);
            if (round < 2) /* the usual ones take no table */
                assert_true(affine.way != FDL_AFFINE_TABLE);
            for (int level = 0; level <= (int)fdl_cpu_level(); level++) {
                static float out[3 * 256];
                finish_ramps(&affine, level, out);
                for (int i = 0; i < 3 * 256; i++) {
                    float want =
                        in_steps(&norm, (enum fdl_rounding)r, i / 256, i % 256);
                    assert_memory_equal(&out[i], &want, sizeof(want));
                }
            }
        }
    }
}

/* Where products and remainders do not divide, the table does. */
TEST(what_steps_cannot_is_looked_up)
{
    struct fdl_norm norm = {
        .on = true, .mean = {0, 0.5f, 0.5f}, .std = {1e-6f, 1e-39f, 3e38f, 1}};
    struct fdl_affine affine;
    fdl_affine_init(&affine, &norm, FDL_ROUNDING_DIVIDE);
    assert_int_equal(affine.way, FDL_AFFINE_TABLE);
    for (int level = 0; level <= (int)fdl_cpu_level(); level++) {
        static float out[3 * 256];
        finish_ramps(&affine, level, out);
        for (int i = 0; i < 3 * 256; i++) {
            float want = in_steps(&norm, FDL_ROUNDING_DIVIDE, i / 256, i % 256);
            assert_memory_equal(&out[i], &want, sizeof(want));
        }
    }
}

/* Element i of an output, as bits. */
static uint32_t bits_at(const void *out, int32_t dtype, size_t i)
{
    uint32_t bits = 0;
    size_t bytes = fdl_dtype_bytes(dtype);
    memcpy(&bits, (const uint8_t *)out + i * bytes, bytes);
    return bits;
}

/* One row of `f` at a level, element by element, from the tables. */
static void check_row(const struct fdl_output_format *f, int level,
                      enum fdl_rounding rounding)
{
    uint8_t bytes[FDL_CHANNELS_MAX][FDL_PLANE_ALIGN * 2];
    const uint8_t *planes[FDL_CHANNELS_MAX];
    float out[FDL_CHANNELS_MAX * 80 * 2];
    static struct fdl_affine a;
    affine_of(&a, true, rounding);
    for (size_t c = 0; c < FDL_CHANNELS_MAX; c++) {
        planes[c] = bytes[c];
        for (size_t x = 0; x < sizeof(bytes[c]); x++)
            bytes[c][x] = (uint8_t)(x * 7 + c * 41);
    }
    fdl_finish_choose(fdl_kernels[level].finish, f)(planes, &a, f, 1, out);
    for (int32_t c = 0; c < f->channels; c++) {
        for (int32_t x = 0; x < f->width; x++) {
            int32_t i = f->nhwc ? (f->width + x) * f->channels + c
                                : (c * f->height + 1) * f->width + x;
            uint8_t byte = bytes[c][x];
            uint32_t want = byte;
            if (f->dtype == FEEDLINE_F16)
                want = a.f16[c][byte];
            else if (f->dtype == FEEDLINE_BF16)
                want = a.bf16[c][byte];
            else if (f->dtype == FEEDLINE_F32)
                memcpy(&want, &a.table[c][byte], sizeof(want));
            assert_int_equal(bits_at(out, f->dtype, (size_t)i), want);
        }
    }
}

static float mixed(float x, float y)
{
    volatile float a = x * 0.3f, b = y * 0.7f;
    return a + b;
}

/* MixUp of rows before the last pass, and behind it, to the bit. */
static void check_mixed_row(const struct fdl_output_format *f, int level,
                            enum fdl_rounding rounding)
{
    const struct fdl_kernels *k = &fdl_kernels[level];
    uint8_t bytes[2][FDL_PLANE_ALIGN * 2];
    const uint8_t *x[FDL_CHANNELS_MAX], *y[FDL_CHANNELS_MAX];
    struct fdl_finish_mix m = {.y = y, .own = 0.3f, .other = 0.7f};
    static float plain[2][FDL_CHANNELS_MAX * 80], want[FDL_CHANNELS_MAX * 80];
    static float out[FDL_CHANNELS_MAX * 80];
    static struct fdl_affine a;
    size_t n = (size_t)(f->width * f->channels);
    affine_of(&a, true, rounding);
    for (size_t i = 0; i < sizeof(bytes[0]); i++) {
        bytes[0][i] = (uint8_t)(i * 37);
        bytes[1][i] = (uint8_t)(i * 91 + 5);
    }
    for (int c = 0; c < FDL_CHANNELS_MAX; c++) {
        x[c] = bytes[0] + c;
        y[c] = bytes[1] + c;
    }
    fdl_finish_choose(&fdl_finish_c, f)(x, &a, f, 0, plain[0]);
    fdl_finish_choose(&fdl_finish_c, f)(y, &a, f, 0, plain[1]);
    for (size_t i = 0; i < n; i++)
        want[i] = mixed(plain[0][i], plain[1][i]);
    k->finish->mix(x, &m, &a, f, 0, out);
    assert_memory_equal(out, want, n * sizeof(*out));
    k->mix->floats(out, plain[0], plain[1], n, m.own, m.other);
    assert_memory_equal(out, want, n * sizeof(*out));
    k->mix->bytes((uint8_t *)out, x[0], y[0], (size_t)f->width, m.own, m.other);
    for (int32_t i = 0; i < f->width; i++)
        assert_int_equal(((const uint8_t *)out)[i],
                         (uint8_t)rintf(mixed(x[0][i], y[0][i])));
}

TEST(rows_are_mixed_as_after_the_last_pass)
{
    for (int i = 0; i < 2 * (FDL_ROUNDING_MULTIPLY + 1); i++)
        for (int level = 0; level <= (int)fdl_cpu_level(); level++)
            for (int32_t channels = 1; channels <= FDL_CHANNELS_MAX; channels++)
                for (int32_t width = 1; width <= 80; width += 3) {
                    struct fdl_output_format f = {width, 1, channels,
                                                  FEEDLINE_F32, i % 2 != 0};
                    check_mixed_row(&f, level, (enum fdl_rounding)(i / 2));
                }
}

TEST(rows_have_any_number_of_channels)
{
    static const int32_t dtypes[] = {FEEDLINE_U8, FEEDLINE_F16, FEEDLINE_BF16,
                                     FEEDLINE_F32};
    for (int level = 0; level <= (int)fdl_cpu_level(); level++) {
        for (int32_t channels = 1; channels <= FDL_CHANNELS_MAX; channels++) {
            for (size_t d = 0; d < FDL_COUNT_OF(dtypes); d++) {
                for (int32_t width = 1; width <= 80; width++) {
                    struct fdl_output_format f = {width, 2, channels, dtypes[d],
                                                  false};
                    for (int r = 0; r <= FDL_ROUNDING_MULTIPLY; r++) {
                        f.nhwc = false;
                        check_row(&f, level, (enum fdl_rounding)r);
                        f.nhwc = true;
                        check_row(&f, level, (enum fdl_rounding)r);
                    }
                }
            }
        }
    }
}

TEST(halves_are_rounded_to_even)
{
    static const struct {
        float x;
        uint16_t f16, bf16;
    } known[] = {
        {0.0f, 0x0000, 0x0000},
        {-0.0f, 0x8000, 0x8000},
        {1.0f, 0x3c00, 0x3f80},
        {-2.5f, 0xc100, 0xc020},
        {0x1.002p0f, 0x3c00, 0x3f80},    /* a tie, to the even one below */
        {0x1.006p0f, 0x3c02, 0x3f80},    /* and the even one above */
        {0x1.002002p0f, 0x3c01, 0x3f80}, /* just above the tie */
        {0x1.01p0f, 0x3c04, 0x3f80},     /* a tie of bf16 */
        {0x1.03p0f, 0x3c0c, 0x3f82},
        {0x1.ffffp0f, 0x4000, 0x4000}, /* carries into the exponent */
        {65504.0f, 0x7bff, 0x4780},    /* the largest f16 */
        {65519.99f, 0x7bff, 0x4780},
        {65520.0f, 0x7c00, 0x4780}, /* infinite */
        {-1e9f, 0xfc00, 0xce6e},
        {0x1p-14f, 0x0400, 0x3880}, /* the least normal f16 */
        {0x1.ff8p-15f, 0x03ff, 0x3880},
        {0x1.ffcp-15f, 0x0400, 0x3880}, /* the largest subnormal */
        {0x1p-24f, 0x0001, 0x3380},
        {0x1p-25f, 0x0000, 0x3300}, /* a tie, to zero */
        {0x1.8p-25f, 0x0001, 0x3340},
        {-0x1.8p-24f, 0x8002, 0xb3c0},
        {0x1p-126f, 0x0000, 0x0080},
        {0x1.fffffep127f, 0x7c00, 0x7f80},
        {INFINITY, 0x7c00, 0x7f80},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(known); i++) {
        assert_int_equal(fdl_f16_of(known[i].x), known[i].f16);
        assert_int_equal(fdl_bf16_of(known[i].x), known[i].bf16);
    }
    assert_true((fdl_f16_of(NAN) & 0x7fff) > 0x7c00);
    assert_true((fdl_bf16_of(NAN) & 0x7fff) > 0x7f80);
}

TEST_MAIN("decode_resample")
