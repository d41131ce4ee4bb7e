/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels cost. Times are the least of several runs, since whatever else a
 * machine does only ever adds. */
#include "base/clock.h"
#include "base/compiler.h"
#include "checkdec.h"
#include "decode/kernels/blend.h"
#include "decode/kernels/finish.h"
#include "decode/kernels/levels.h"
#include "decode/kernels/map.h"
#include "decode/kernels/resample.h"
#include "make_jpeg.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 224
#define RUNS 40

struct work {
    enum fdl_cpu_level level;
    struct fdl_axis axis;
    struct fdl_axis_key key;
    struct fdl_affine affine;
    struct fdl_output_format format;
    uint8_t *rows; /* input: SIDE rows */
    size_t stride;
    uint8_t *out;
};

static int64_t fastest(void (*run)(struct work *w), struct work *w)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < RUNS; i++) {
        int64_t start = fdl_now_ns();
        run(w);
        best = FDL_MIN(best, fdl_now_ns() - start);
    }
    return best;
}

static void make_table(struct work *w, const struct fdl_packing *packing)
{
    fdl_axis_fini(&w->axis);
    if (fdl_axis_prepare(&w->axis, &w->key) ||
        fdl_axis_pack(&w->axis, packing, 3))
        abort();
}

static void run_table(struct work *w)
{
    w->axis.key.in = 0; /* forget it, keep the memory */
    if (fdl_axis_prepare(&w->axis, &w->key) ||
        fdl_axis_pack(&w->axis,
                      &fdl_kernels[w->level].resample->horizontal_packing, 3))
        abort();
}

static void run_horizontal(struct work *w)
{
    for (size_t y = 0; y < SIDE; y++)
        fdl_kernels[w->level].resample->horizontal(
            &w->axis, w->rows + y * w->stride, 3, w->out, 256);
}

static void run_vertical(struct work *w)
{
    const uint8_t *rows[16];
    for (int32_t y = 0; y < SIDE; y++) {
        for (int32_t t = 0; t < w->axis.length[y]; t++)
            rows[t] = w->rows + (size_t)(w->axis.start[y] + t) % 4 * w->stride;
        fdl_kernels[w->level].resample->vertical(&w->axis, y, rows, w->out,
                                                 768);
    }
}

static void run_finish(struct work *w)
{
    const uint8_t *planes[3] = {w->rows, w->rows + 256, w->rows + 512};
    fdl_finish_fn finish =
        fdl_finish_choose(fdl_kernels[w->level].finish, &w->format);
    for (int32_t y = 0; y < SIDE; y++)
        finish(planes, &w->affine, &w->format, y, w->out);
}

static void run_hue(struct work *w)
{
    size_t plane = SIDE * SIDE;
    fdl_kernels[w->level].blend->hue(w->rows, w->rows + plane,
                                     w->rows + 2 * plane, plane, 20);
}

static void run_cut(struct work *w)
{
    fdl_kernels[w->level].blend->cut(
        w->rows, 3 * SIDE * SIDE,
        &(struct fdl_cut){.at = 128, .flip = 255, .mask = 255});
}

static void run_lookup(struct work *w)
{
    uint8_t table[256];
    for (uint32_t i = 0; i < 256; i++)
        table[i] = (uint8_t)(i + 1);
    fdl_kernels[w->level].blend->lookup(w->rows, 3 * SIDE * SIDE, table);
}

static void run_histogram(struct work *w)
{
    uint32_t out[256];
    for (size_t i = 0; i < 3; i++)
        fdl_histogram(w->rows + i * SIDE * SIDE, SIDE * SIDE, out);
}

static void run_smooth(struct work *w)
{
    for (size_t y = 1; y + 1 < 3 * SIDE; y++) {
        const uint8_t *row = w->rows + y * SIDE;
        fdl_kernels[w->level].blend->smooth(row - SIDE, row, row + SIDE, SIDE,
                                            w->out);
    }
}

static void run_rotation(struct work *w)
{
    struct fdl_image in = {w->rows, SIDE, SIDE, 3, SIDE * SIDE}, out = in;
    out.data = w->out;
    struct fdl_map_job job = {
        .in = &in,
        .out = &out,
        .a = {0.98, 0.2, -20, -0.2, 0.98, 25},
        .scratch = w->out + SIDE * SIDE * 4,
    };
    fdl_kernels[w->level].map->bilinear(&job);
}

static void bench_level(enum fdl_cpu_level level)
{
    static const int32_t inputs[] = {150, 224, 310, 450, 900};
    static const struct {
        const char *name;
        int32_t dtype;
    } dtypes[] = {{"u8", FEEDLINE_U8},
                  {"f16", FEEDLINE_F16},
                  {"bf16", FEEDLINE_BF16},
                  {"f32", FEEDLINE_F32}};
    static const struct {
        const char *name;
        void (*run)(struct work *);
    } others[] = {{"hue", run_hue},
                  {"rotation", run_rotation},
                  {"cut", run_cut},
                  {"lookup", run_lookup},
                  {"histogram", run_histogram},
                  {"smooth", run_smooth}};
    struct work w = {.level = level, .stride = 4096};
    struct fdl_norm norm = {
        .on = true, .mean = {0.5f, 0.5f, 0.5f}, .std = {0.2f, 0.2f, 0.2f}};
    fdl_affine_init(&w.affine, &norm, FDL_ROUNDING_ONCE);
    w.rows = must_alloc(w.stride * SIDE);
    w.out = must_alloc(SIDE * SIDE * 3 * sizeof(float));
    memset(w.rows, 99, w.stride * SIDE);
    memset(w.out, 0, SIDE * SIDE * 3 * sizeof(float));
    for (size_t i = 0; i < FDL_COUNT_OF(inputs); i++) {
        w.key =
            (struct fdl_axis_key){.in = inputs[i], .out = SIDE, .count = SIDE};
        const struct fdl_resample_kernels *k = fdl_kernels[level].resample;
        make_table(&w, &k->horizontal_packing);
        int64_t table = fastest(run_table, &w);
        int64_t horizontal = fastest(run_horizontal, &w);
        make_table(&w, &k->vertical_packing);
        int64_t vertical = fastest(run_vertical, &w);
        printf("%-8s %4" PRId32 " -> 224  %8.1f %12.1f %12.1f\n",
               fdl_cpu_level_name(level), inputs[i], (double)table / 1e3,
               (double)horizontal / 1e3, (double)vertical / 1e3);
    }
    for (int i = 0; i < 8; i++) {
        w.format = (struct fdl_output_format){SIDE, SIDE, 3,
                                              dtypes[i / 2].dtype, i & 1};
        printf("%-8s finish %-4s %s %8.1f\n", fdl_cpu_level_name(level),
               dtypes[i / 2].name, i & 1 ? "NHWC" : "NCHW",
               (double)fastest(run_finish, &w) / 1e3);
    }
    uint64_t state = 1;
    for (size_t i = 0; i < w.stride * SIDE; i++)
        w.rows[i] = (uint8_t)make_random(&state);
    for (size_t i = 0; i < FDL_COUNT_OF(others); i++)
        printf("%-8s %-16s %8.1f\n", fdl_cpu_level_name(level), others[i].name,
               (double)fastest(others[i].run, &w) / 1e3);
    fdl_axis_fini(&w.axis);
    free(w.rows);
    free(w.out);
}

void bench_kernels(void)
{
    printf("us for 224 rows of 224 pixels, 3 channels\n"
           "level      in    out     table   horizontal     vertical\n");
    for (int level = FDL_CPU_C; level <= (int)fdl_cpu_level(); level++)
        bench_level((enum fdl_cpu_level)level);
}
