/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resampling and the last pass of every level against plain C, on sizes that
 * have tails: one pixel,
 * widths around multiples of 8, 16 and 32, large reductions and enlargements,
 * windows, mirrored tables, every filter, boxes that begin inside a sample, one
 * and three channels, every output format.
 */
#include "decode/kernels/finish.h"
#include "decode/kernels/levels.h"
#include "decode/kernels/resample.h"
#include "tests/decode/make_jpeg.h"
#include "tests/decode/rig.h"

#include <inttypes.h>

#define ROUNDS 400

static void fill_random(uint8_t *data, size_t n, uint64_t *state)
{
    int kind =
        make_within(state, 0, 3); /* extremes show rounding and clipping */
    for (size_t i = 0; i < n; i++) {
        uint64_t r = make_random(state);
        data[i] = (uint8_t)(kind == 0 ? 255 : kind == 1 ? 255 * (r & 1) : r);
    }
}

static int32_t pick_size(uint64_t *state)
{
    switch (make_within(state, 0, 5)) {
    case 0:
        return make_within(state, 1, 4);
    case 1:
        return 32 * make_within(state, 1, 8) + make_within(state, -1, 1);
    case 2:
        return make_within(state, 500, 4000);
    default:
        return make_within(state, 1, 500);
    }
}

static struct fdl_axis_key pick_key(uint64_t *state)
{
    struct fdl_axis_key key = {.in = pick_size(state)};
    key.out = make_within(state, 0, 5) == 0 ? key.in : pick_size(state);
    key.count =
        make_within(state, 0, 2) ? key.out : make_within(state, 1, key.out);
    key.first = make_within(state, 0, key.out - key.count);
    key.mirror = make_within(state, 0, 1) != 0;
    key.filter = (enum fdl_filter)make_within(state, 0, FDL_FILTERS - 1);
    key.tensor = make_within(state, 0, 2) == 0;
    if (make_within(state, 0, 2) == 0) {
        key.from = make_within(state, 0, 7) / 8.0;
        key.span = key.in - key.from - make_within(state, 0, 1) / 16.0;
    }
    return key;
}

/* The first `width` bytes of each plane. */
static void assert_same(const uint8_t *want, const uint8_t *got, size_t width,
                        size_t plane, const struct fdl_axis_key *key,
                        int32_t channels, const char *what)
{
    for (size_t c = 0; c < (size_t)channels; c++) {
        if (memcmp(want + c * plane, got + c * plane, width) != 0)
            fail_msg("%s: filter %d, %" PRId32 " (%g from %g) to %" PRId32
                     ", %" PRId32 " from %" PRId32 "%s, channel %zu of %" PRId32
                     " differs",
                     what, (int)key->filter, key->in, key->span, key->from,
                     key->out, key->count, key->first,
                     key->mirror ? " mirrored" : "", c, channels);
    }
}

static void check_horizontal(const struct fdl_resample_kernels *k,
                             uint64_t *state)
{
    const struct fdl_resample_kernels *c = fdl_kernels[FDL_CPU_C].resample;
    struct fdl_axis axis = {0};
    struct fdl_axis_key key = pick_key(state);
    int32_t channels = make_within(state, 0, 2) ? 3 : 1;
    assert_int_equal(fdl_axis_prepare(&axis, &key), FEEDLINE_OK);
    assert_int_equal(fdl_axis_pack(&axis, &k->horizontal_packing, channels),
                     FEEDLINE_OK);
    size_t bytes =
        (size_t)(axis.extent + axis.taps + FDL_TAP_BLOCK) * (size_t)channels +
        FDL_ROW_SLACK;
    size_t plane = fdl_plane_bytes(key.count);
    uint8_t *row = rig_alloc(bytes);
    uint8_t *want = rig_alloc(plane * (size_t)channels);
    uint8_t *got = rig_alloc(plane * (size_t)channels);
    fill_random(row, bytes, state);
    c->horizontal(&axis, row, channels, want, plane);
    k->horizontal(&axis, row, channels, got, plane);
    assert_same(want, got, (size_t)key.count, plane, &key, channels,
                "horizontal");
    free(row);
    free(want);
    free(got);
    fdl_axis_fini(&axis);
}

static void check_vertical(const struct fdl_resample_kernels *k,
                           uint64_t *state)
{
    const struct fdl_resample_kernels *c = fdl_kernels[FDL_CPU_C].resample;
    struct fdl_axis axis = {0};
    struct fdl_axis_key key = pick_key(state);
    assert_int_equal(fdl_axis_prepare(&axis, &key), FEEDLINE_OK);
    assert_int_equal(fdl_axis_pack(&axis, &k->vertical_packing, 3),
                     FEEDLINE_OK);
    size_t n = (size_t)make_within(state, 1, 6) * FDL_PLANE_ALIGN;
    size_t taps = (size_t)axis.taps;
    uint8_t *rows = rig_alloc(taps * n);
    const uint8_t **row = rig_alloc(taps * sizeof(*row));
    uint8_t *want = rig_alloc(n), *got = rig_alloc(n);
    fill_random(rows, taps * n, state);
    for (size_t t = 0; t < taps; t++)
        row[t] = rows + t * n;
    int32_t i = make_within(state, 0, key.count - 1);
    c->vertical(&axis, i, row, want, n);
    k->vertical(&axis, i, row, got, n);
    assert_same(want, got, n, n, &key, 1, "vertical");
    free(rows);
    free(row);
    free(want);
    free(got);
    fdl_axis_fini(&axis);
}

static int32_t pick_dtype(uint64_t *state)
{
    static const int32_t dtypes[] = {FEEDLINE_U8, FEEDLINE_F16, FEEDLINE_BF16,
                                     FEEDLINE_F32};
    return dtypes[make_within(state, 0, 3)];
}

static void check_finish(const struct fdl_finish_kernels *k, uint64_t *state)
{
    struct fdl_output_format f = {
        .width = make_within(state, 1, 150),
        .height = make_within(state, 0, 63) ? make_within(state, 1, 5) : 900,
        .channels = make_within(state, 0, 1)
                        ? 3
                        : make_within(state, 1, FDL_CHANNELS_MAX),
        .dtype = pick_dtype(state),
        .nhwc = make_within(state, 0, 1) != 0,
    };
    struct fdl_norm norm = {
        .on = make_within(state, 0, 1) != 0,
        .mean = {0.485f, 0.456f, 0.406f, 0.5f},
        .std = {0.229f, 0.224f, 0.225f, 0.25f},
    };
    if (make_within(state, 0, 3) ==
        0) { /* beyond the range of f16, and below */
        norm.std[0] = 1e-6f;
        norm.std[1] = 1e5f;
        norm.std[2] = 3e7f;
    }
    struct fdl_affine affine;
    fdl_affine_init(&affine, &norm,
                    (enum fdl_rounding)make_within(state, 0, 2));
    size_t plane = fdl_plane_bytes(f.width), bytes = fdl_output_bytes(&f);
    uint8_t *data = rig_alloc(plane * FDL_CHANNELS_MAX);
    fill_random(data, plane * FDL_CHANNELS_MAX, state);
    size_t step = make_within(state, 0, 3) ? plane : 0;
    const uint8_t *planes[] = {data, data + step, data + 2 * step,
                               data + 3 * step};
    uint8_t *want = rig_alloc(bytes), *got = rig_alloc(bytes);
    memset(want, 7, bytes); /* rows that are not written stay equal too */
    memset(got, 7, bytes);
    int32_t row = make_within(state, 0, f.height - 1);
    fdl_finish_choose(fdl_kernels[FDL_CPU_C].finish, &f)(planes, &affine, &f,
                                                         row, want);
    fdl_finish_choose(k, &f)(planes, &affine, &f, row, got);
    if (memcmp(want, got, bytes) != 0)
        fail_msg("finish: %" PRId32 "x%" PRId32 "x%" PRId32 " dtype %" PRId32
                 " nhwc %d row %" PRId32 " differs",
                 f.channels, f.height, f.width, f.dtype, f.nhwc, row);
    memset(got, 7, bytes);
    fdl_finish_choose_last(k, &f)(planes, &affine, &f, row, got);
    fdl_finish_end();
    assert_memory_equal(want, got, bytes);
    free(data);
    free(want);
    free(got);
}

/* Tables of noise, so that no byte of an element is like another. */
static void check_lookup(const struct fdl_lookup_kernels *k, uint64_t *state)
{
    static _Alignas(FDL_PLANE_ALIGN) uint8_t want[1 << 21], got[1 << 21];
    static struct fdl_affine affine;
    static uint8_t tables[FDL_CHANNELS_MAX * 256 * 8];
    uint32_t element = 1u << make_within(state, 0, 3);
    bool large = make_within(state, 0, 3) == 0;
    struct fdl_output_format f = {
        .width = make_within(state, 1, large ? 100 : 300),
        .height = large ? 400 : make_within(state, 1, 50),
        .channels = make_within(state, 0, 1)
                        ? 3
                        : make_within(state, 1, FDL_CHANNELS_MAX),
        .nhwc = make_within(state, 0, 1) != 0,
    };
    size_t plane = fdl_plane_bytes(f.width);
    size_t bytes = (size_t)f.width * (size_t)f.height * (size_t)f.channels;
    bytes = (bytes + FDL_PLANE_ALIGN) * element;
    uint8_t *data = rig_alloc(plane * FDL_CHANNELS_MAX);
    const uint8_t *planes[] = {data, data + plane, data + 2 * plane,
                               data + 3 * plane};
    assert_true(bytes <= sizeof(want));
    for (size_t i = 0; i < sizeof(tables); i++)
        tables[i] = (uint8_t)make_random(state);
    fill_random(data, plane * FDL_CHANNELS_MAX, state);
    memset(want, 7, bytes);
    memset(got, 7, bytes);
    int32_t row = make_within(state, 0, f.height - 1);
    size_t at = element * (size_t)make_within(state, 0, 2);
    fdl_finish_set_lookup(k, &f, tables, element, &affine);
    fdl_finish_lookup_c(element, f.nhwc)(planes, &affine, &f, row, want + at);
    fdl_finish_lookup(k, &f, element)(planes, &affine, &f, row, got + at);
    fdl_finish_end();
    if (memcmp(want, got, bytes) != 0)
        fail_msg("tables: %" PRId32 "x%" PRId32 "x%" PRId32 " of %" PRIu32
                 " bytes, nhwc %d, row %" PRId32 " differs",
                 f.channels, f.height, f.width, element, f.nhwc, row);
    free(data);
}

TEST(levels_give_the_bytes_of_plain_c)
{
    uint64_t seed = test_seed();
    for (int level = FDL_CPU_AVX2; level <= (int)fdl_cpu_level(); level++) {
        uint64_t state = seed;
        for (int i = 0; i < ROUNDS; i++) {
            check_horizontal(fdl_kernels[level].resample, &state);
            check_vertical(fdl_kernels[level].resample, &state);
            for (int n = 0; n < 4; n++)
                check_finish(fdl_kernels[level].finish, &state);
            check_lookup(fdl_kernels[level].lookup, &state);
        }
    }
}

TEST_MAIN("decode_passes")
