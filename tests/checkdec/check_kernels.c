/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of one level against plain C, on sizes that have tails: one pixel,
 * widths around multiples of 8, 16 and 32, large reductions and enlargements,
 * windows, mirrored tables, every filter, boxes that begin inside a sample, one
 * and three channels, every output format.
 */
#include "base/compiler.h"
#include "checkdec.h"
#include "decode/kernels/finish.h"
#include "decode/kernels/levels.h"
#include "decode/kernels/resample.h"
#include "make_jpeg.h"

#include <feedline/feedline.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill_random(uint8_t *data, size_t n, uint64_t *state)
{
    int kind = pick(state, 0, 3); /* extremes show rounding and clipping */
    for (size_t i = 0; i < n; i++) {
        uint64_t r = make_random(state);
        data[i] = (uint8_t)(kind == 0 ? 255 : kind == 1 ? 255 * (r & 1) : r);
    }
}

static int32_t pick_size(uint64_t *state)
{
    switch (pick(state, 0, 5)) {
    case 0:
        return pick(state, 1, 4);
    case 1:
        return 32 * pick(state, 1, 8) + pick(state, -1, 1);
    case 2:
        return pick(state, 500, 4000);
    default:
        return pick(state, 1, 500);
    }
}

static struct fdl_axis_key pick_key(uint64_t *state)
{
    struct fdl_axis_key key = {.in = pick_size(state)};
    key.out = pick(state, 0, 5) == 0 ? key.in : pick_size(state);
    key.count = pick(state, 0, 2) ? key.out : pick(state, 1, key.out);
    key.first = pick(state, 0, key.out - key.count);
    key.mirror = pick(state, 0, 1) != 0;
    key.filter = (enum fdl_filter)pick(state, 0, FDL_FILTERS - 1);
    key.tensor = pick(state, 0, 2) == 0;
    if (pick(state, 0, 2) == 0) {
        key.from = pick(state, 0, 7) / 8.0;
        key.span = key.in - key.from - pick(state, 0, 1) / 16.0;
    }
    return key;
}

static bool report(const char *what, const struct fdl_axis_key *key,
                   int32_t channels, size_t at)
{
    printf("%s: filter %d, %" PRId32 " (%g from %g) to %" PRId32 ", %" PRId32
           " from %" PRId32 "%s, channels %" PRId32 ": byte %zu differs\n",
           what, (int)key->filter, key->in, key->span, key->from, key->out,
           key->count, key->first, key->mirror ? " mirrored" : "", channels,
           at);
    return false;
}

/* First place where the first `width` bytes of the planes differ; SIZE_MAX. */
static size_t compare_planes(const uint8_t *a, const uint8_t *b, size_t width,
                             size_t plane, size_t channels)
{
    for (size_t c = 0; c < channels; c++) {
        for (size_t x = 0; x < width; x++) {
            if (a[c * plane + x] != b[c * plane + x])
                return c * plane + x;
        }
    }
    return SIZE_MAX;
}

static bool check_horizontal(const struct fdl_resample_kernels *k,
                             uint64_t *state)
{
    const struct fdl_resample_kernels *c = fdl_kernels[FDL_CPU_C].resample;
    struct fdl_axis axis = {0};
    struct fdl_axis_key key = pick_key(state);
    int32_t channels = pick(state, 0, 2) ? 3 : 1;
    if (fdl_axis_prepare(&axis, &key) ||
        fdl_axis_pack(&axis, &k->horizontal_packing, channels))
        abort();
    size_t bytes =
        (size_t)(axis.extent + axis.taps + FDL_TAP_BLOCK) * (size_t)channels +
        FDL_ROW_SLACK;
    size_t plane = fdl_plane_bytes(key.count);
    uint8_t *row = must_alloc(bytes);
    uint8_t *want = must_alloc(plane * (size_t)channels);
    uint8_t *got = must_alloc(plane * (size_t)channels);
    fill_random(row, bytes, state);
    c->horizontal(&axis, row, channels, want, plane);
    k->horizontal(&axis, row, channels, got, plane);
    size_t at =
        compare_planes(want, got, (size_t)key.count, plane, (size_t)channels);
    free(row);
    free(want);
    free(got);
    fdl_axis_fini(&axis);
    return at == SIZE_MAX || report("horizontal", &key, channels, at);
}

static bool check_vertical(const struct fdl_resample_kernels *k,
                           uint64_t *state)
{
    const struct fdl_resample_kernels *c = fdl_kernels[FDL_CPU_C].resample;
    struct fdl_axis axis = {0};
    struct fdl_axis_key key = pick_key(state);
    if (fdl_axis_prepare(&axis, &key) ||
        fdl_axis_pack(&axis, &k->vertical_packing, 3))
        abort();
    size_t n = (size_t)pick(state, 1, 6) * FDL_PLANE_ALIGN;
    size_t taps = (size_t)axis.taps;
    uint8_t *rows = must_alloc(taps * n);
    const uint8_t **row = must_alloc(taps * sizeof(*row));
    uint8_t *want = must_alloc(n), *got = must_alloc(n);
    fill_random(rows, taps * n, state);
    for (size_t t = 0; t < taps; t++)
        row[t] = rows + t * n;
    int32_t i = pick(state, 0, key.count - 1);
    c->vertical(&axis, i, row, want, n);
    k->vertical(&axis, i, row, got, n);
    size_t at = compare_planes(want, got, n, n, 1);
    free(rows);
    free(row);
    free(want);
    free(got);
    fdl_axis_fini(&axis);
    return at == SIZE_MAX || report("vertical", &key, 1, at);
}

static int32_t pick_dtype(uint64_t *state)
{
    static const int32_t dtypes[] = {FEEDLINE_U8, FEEDLINE_F16, FEEDLINE_BF16,
                                     FEEDLINE_F32};
    return dtypes[pick(state, 0, 3)];
}

static bool check_finish(const struct fdl_finish_kernels *k, uint64_t *state)
{
    struct fdl_output_format f = {
        .width = pick(state, 1, 150),
        .height = pick(state, 1, 5),
        .channels = pick(state, 0, 1) ? 3 : pick(state, 1, FDL_CHANNELS_MAX),
        .dtype = pick_dtype(state),
        .nhwc = pick(state, 0, 1) != 0,
    };
    struct fdl_norm norm = {
        .on = pick(state, 0, 1) != 0,
        .mean = {0.485f, 0.456f, 0.406f, 0.5f},
        .std = {0.229f, 0.224f, 0.225f, 0.25f},
    };
    if (pick(state, 0, 3) == 0) { /* beyond the range of f16, and below */
        norm.std[0] = 1e-6f;
        norm.std[1] = 1e5f;
        norm.std[2] = 3e7f;
    }
    struct fdl_affine affine;
    fdl_affine_init(&affine, &norm, (enum fdl_rounding)pick(state, 0, 2));
    size_t plane = fdl_plane_bytes(f.width), bytes = fdl_output_bytes(&f);
    uint8_t *data = must_alloc(plane * FDL_CHANNELS_MAX);
    fill_random(data, plane * FDL_CHANNELS_MAX, state);
    size_t step = pick(state, 0, 3) ? plane : 0;
    const uint8_t *planes[] = {data, data + step, data + 2 * step,
                               data + 3 * step};
    uint8_t *want = must_alloc(bytes), *got = must_alloc(bytes);
    memset(want, 7, bytes); /* rows that are not written stay equal too */
    memset(got, 7, bytes);
    int32_t row = pick(state, 0, f.height - 1);
    fdl_finish_choose(fdl_kernels[FDL_CPU_C].finish, &f)(planes, &affine, &f,
                                                         row, want);
    fdl_finish_choose(k, &f)(planes, &affine, &f, row, got);
    bool same = memcmp(want, got, bytes) == 0;
    if (!same)
        printf("finish: %" PRId32 "x%" PRId32 "x%" PRId32 " dtype %" PRId32
               " nhwc %d row %" PRId32 " differs\n",
               f.channels, f.height, f.width, f.dtype, f.nhwc, row);
    free(data);
    free(want);
    free(got);
    return same;
}

bool check_kernels(enum fdl_cpu_level level, uint64_t seed, int rounds)
{
    const struct fdl_resample_kernels *resample = fdl_kernels[level].resample;
    const struct fdl_finish_kernels *finish = fdl_kernels[level].finish;
    uint64_t state = seed;
    for (int i = 0; i < rounds; i++) {
        if (!check_horizontal(resample, &state) ||
            !check_vertical(resample, &state) ||
            !check_finish(finish, &state) || !check_finish(finish, &state) ||
            !check_finish(finish, &state) || !check_finish(finish, &state))
            return false;
    }
    return true;
}
