/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of weights, and the numbers of the last pass. Kernels are compared
 * with each other by checkdec, and with Pillow by pillow_parity.
 */
#include "base/status.h"
#include "decode/finish.h"
#include "decode/resample.h"
#include "test.h"

#include <math.h>

static struct fdl_axis prepare(int32_t in, int32_t out, int32_t first,
                               int32_t count, bool mirror)
{
    struct fdl_axis axis = {0};
    struct fdl_axis_key key = {in, out, first, count, mirror};
    assert_int_equal(fdl_axis_prepare(&axis, &key), FEEDLINE_OK);
    return axis;
}

static const int32_t *weights(const struct fdl_axis *a, int32_t i)
{
    return a->weight + (size_t)i * (size_t)a->stride;
}

/* Taps stay inside, weights add up to one, the box touches what it says. */
static void tables_are_sound(void **state)
{
    (void)state;
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

static void identity_has_one_tap(void **state)
{
    (void)state;
    struct fdl_axis t = prepare(100, 100, 20, 50, false);
    assert_int_equal(t.taps, 1);
    assert_int_equal(t.origin, 20);
    assert_int_equal(t.extent, 50);
    assert_int_equal(weights(&t, 0)[0], 1 << 22);
    fdl_axis_fini(&t);
}

/* A window has the entries of the whole, a mirrored one in reverse. */
static void windows_and_mirrors_are_parts_of_the_whole(void **state)
{
    (void)state;
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

static void tables_are_kept_and_remade(void **state)
{
    (void)state;
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
static void known_weights(void **state)
{
    (void)state;
    struct fdl_axis t = prepare(4, 2, 0, 2, false);
    /* centre 1, support 2: taps 0..2 at -0.25, 0.25, 0.75 of the triangle */
    static const double want[] = {0.75 / 1.75, 0.75 / 1.75, 0.25 / 1.75};
    assert_int_equal(t.length[0], 3);
    for (int k = 0; k < 3; k++)
        assert_int_equal(weights(&t, 0)[k],
                         (int32_t)(want[k] * (1 << 22) + 0.5));
    fdl_axis_fini(&t);
}

static void affine_of(struct fdl_affine *a, bool normalize)
{
    struct fdl_plan plan = {.normalize = normalize,
                            .mean = {0.485f, 0.456f, 0.406f, 0},
                            .std = {0.229f, 0.224f, 0.225f, 1}};
    fdl_affine_init(a, &plan);
}

/* All bytes, all channels, all levels, against float32 arithmetic as
 * ToTensor and Normalize do it. */
static void floats_are_those_of_torch(void **state)
{
    (void)state;
    static const float mean[] = {0.485f, 0.456f, 0.406f};
    static const float std[] = {0.229f, 0.224f, 0.225f};
    uint8_t ramp[256];
    for (int x = 0; x < 256; x++)
        ramp[x] = (uint8_t)x;
    const uint8_t *planes[3] = {ramp, ramp, ramp};
    struct fdl_output_format f = {256, 1, 3, FEEDLINE_F32, false};
    for (int level = 0; level <= (int)fdl_cpu_level(); level++) {
        for (int normalize = 0; normalize < 2; normalize++) {
            struct fdl_affine affine;
            static float out[3 * 256];
            affine_of(&affine, normalize != 0);
            fdl_finish_choose(fdl_finish_kernels((enum fdl_cpu_level)level),
                              &f)(planes, &affine, &f, 0, out);
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

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(tables_are_sound),
    cmocka_unit_test(identity_has_one_tap),
    cmocka_unit_test(windows_and_mirrors_are_parts_of_the_whole),
    cmocka_unit_test(tables_are_kept_and_remade),
    cmocka_unit_test(known_weights),
    cmocka_unit_test(floats_are_those_of_torch),
};

TEST_MAIN("decode_resample", cases)
