/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels with OpenCV's arithmetic, of every level against plain C: noise of
 * every length of tail. That it is OpenCV's, opencv_parity.py says. */
#include "decode/kernels/levels.h"
#include "tests/decode/make_jpeg.h"
#include "tests/decode/rig.h"

#define SIDE_MAX 99
#define PIXELS   (SIDE_MAX * SIDE_MAX)
#define ROUNDS   400

static void fill(uint64_t *state, uint8_t *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)make_random(state);
}

/* ---- Colours ------------------------------------------------------------ */

struct planes {
    uint8_t p[3][PIXELS];
};

/* In place, from the last plane to the first if `turned`. */
static void convert(const struct fdl_cv_colour_kernels *k, int how, bool turned,
                    size_t width, size_t height, struct planes *on)
{
    struct fdl_cv_planes p = {.width = width, .height = height};
    for (int32_t i = 0; i < 3; i++) {
        p.in[i] = on->p[i];
        p.out[i] = on->p[turned ? 2 - i : i];
    }
    k->convert[how](&p);
}

static void check_colours(const struct fdl_kernels *k, uint64_t *state)
{
    static struct planes want, got;
    size_t width = (size_t)make_within(state, 1, SIDE_MAX);
    size_t height = (size_t)make_within(state, 1, SIDE_MAX / 9);
    bool turned = make_within(state, 0, 1) != 0;
    int how = (int)make_within(state, 0, FDL_CV_COLOURS - 1);
    fill(state, want.p[0], sizeof(want.p));
    for (size_t i = 0; i < PIXELS; i += 3) /* grays, or nearly */
        want.p[1][i] = (uint8_t)((want.p[2][i] = want.p[0][i]) + i / 3 % 2);
    got = want;
    convert(fdl_kernels[FDL_CPU_C].cv_colour, how, turned, width, height,
            &want);
    convert(k->cv_colour, how, turned, width, height, &got);
    if (memcmp(&want, &got, sizeof(want)) != 0)
        fail_msg("conversion %d of %zux%zu pixels differs", how, width, height);
}

TEST(levels_convert_colours_alike)
{
    uint64_t seed = test_seed();
    for (int level = FDL_CPU_AVX2; level <= (int)fdl_cpu_level(); level++) {
        uint64_t state = seed;
        for (int i = 0; i < ROUNDS; i++)
            check_colours(&fdl_kernels[level], &state);
    }
}

/* ---- Colours of floats -------------------------------------------------- */

static void convert_floats(const struct fdl_cv_colour_kernels *k, bool to_hsv,
                           size_t width, size_t height, bool planes, float *on)
{
    struct fdl_cv_float_rows f = {
        .step = planes ? 1 : 3, .width = width, .height = height};
    for (size_t i = 0; i < 3; i++)
        f.in[i] = f.out[i] = on + (planes ? i * width * height : i);
    if (to_hsv)
        k->floats_to_hsv(&f);
    else
        k->floats_from_hsv(&f);
}

static void check_floats(const struct fdl_kernels *k, uint64_t *state)
{
    static float want[3 * PIXELS], got[3 * PIXELS];
    size_t width = (size_t)make_within(state, 1, SIDE_MAX);
    size_t height = (size_t)make_within(state, 1, SIDE_MAX / 9);
    size_t n = 3 * width * height;
    bool to_hsv = make_within(state, 0, 1) != 0;
    bool planes = make_within(state, 0, 1) != 0;
    for (size_t i = 0; i < n; i++)
        want[i] = (float)make_within(state, 0, 5000) / 13.0F - 20.0F;
    memcpy(got, want, n * sizeof(*got));
    convert_floats(fdl_kernels[FDL_CPU_C].cv_colour, to_hsv, width, height,
                   planes, want);
    convert_floats(k->cv_colour, to_hsv, width, height, planes, got);
    if (memcmp(want, got, n * sizeof(*got)) != 0)
        fail_msg("floats of %zux%zu pixels differ", width, height);
}

TEST(levels_convert_floats_alike)
{
    uint64_t seed = test_seed();
    for (int level = FDL_CPU_AVX2; level <= (int)fdl_cpu_level(); level++) {
        uint64_t state = seed;
        for (int i = 0; i < ROUNDS; i++)
            check_floats(&fdl_kernels[level], &state);
    }
}

#define ELEVEN 33 /* elements: a vector of OpenCV's, and what is left */

/* clang-format off */
/* What OpenCV 4.10 and 5.0 make of the pixels below, with AVX2; and of that
 * with half of the saturation. */
static const float in_hsv[ELEVEN] = {
    0x1.a40000p+7F, 0x1.0f0f10p+0F, 0x1.d38000p+7F, 0x0.0p+0F, 0x0.0p+0F,
    0x1.2c0000p+5F, 0x1.87566cp+6F, 0x1.d8d8d8p-1F, 0x1.a90000p+7F,
    0x1.87566cp+6F, 0x1.7cf782p-1F, 0x1.07c000p+8F, 0x1.422a66p+8F,
    0x1.06b15cp+0F, 0x1.7e8000p+7F, 0x1.422a66p+8F, 0x1.9e59bcp-1F,
    0x1.e50000p+7F, 0x1.422a66p+8F, 0x1.560f40p-1F, 0x1.25c000p+8F,
    0x1.a40000p+7F, 0x1.d1070cp-1F, 0x1.108000p+8F, 0x1.87566cp+6F,
    0x1.f66666p-1F, 0x1.900000p+7F, 0x1.680000p+7F, 0x1.f85bb4p-2F,
    0x1.f68000p+7F, 0x1.422a64p+8F, 0x1.19101cp+0F, 0x1.658000p+7F};
static const float back_in_rgb[ELEVEN] = {
    0x1.b7fffep+6F, 0x1.57bffcp+7F, 0x1.d38000p+7F, 0x1.2c0000p+5F,
    0x1.2c0000p+5F, 0x1.2c0000p+5F, 0x1.2d3ffep+7F, 0x1.a90000p+7F,
    0x1.c98000p+6F, 0x1.93bffep+7F, 0x1.07c000p+8F, 0x1.4b4000p+7F,
    0x1.7e8000p+7F, 0x1.748000p+6F, 0x1.35fffap+7F, 0x1.e50000p+7F,
    0x1.20c000p+7F, 0x1.9c7ffap+7F, 0x1.25c000p+8F, 0x1.874000p+7F,
    0x1.017ffep+8F, 0x1.298000p+7F, 0x1.a53ffcp+7F, 0x1.108000p+8F,
    0x1.143ffep+7F, 0x1.900000p+7F, 0x1.977ffep+6F, 0x1.7ac000p+7F,
    0x1.f67ffep+7F, 0x1.f68000p+7F, 0x1.658000p+7F, 0x1.428000p+6F,
    0x1.1d0000p+7F};
/* clang-format on */

static void expect_floats(const float *got, const float *want, int level)
{
    for (size_t i = 0; i < ELEVEN; i++) {
        if (got[i] != want[i])
            fail_msg("level %d, value %zu: %a for %a", level, i, (double)got[i],
                     (double)want[i]);
    }
}

TEST(floats_become_those_of_opencv)
{
    for (int level = 0; level <= (int)fdl_cpu_level(); level++) {
        const struct fdl_cv_colour_kernels *k = fdl_kernels[level].cv_colour;
        float pixels[ELEVEN];
        for (int i = 0; i < ELEVEN; i++)
            pixels[i] = (float)((i * 99 + 5) % 256) * 1.25F - 20.0F;
        pixels[4] = pixels[5] = pixels[3];
        pixels[29] = pixels[28];
        convert_floats(k, true, ELEVEN / 3, 1, false, pixels);
        expect_floats(pixels, in_hsv, level);
        for (size_t i = 1; i < ELEVEN; i += 3)
            pixels[i] *= 0.5F;
        convert_floats(k, false, ELEVEN / 3, 1, false, pixels);
        expect_floats(pixels, back_in_rgb, level);
    }
}

/* ---- Blurs -------------------------------------------------------------- */

#define KERNEL 31 /* rows, and elements of one, at most */
#define LINE   (3 * FDL_CV_BOX_BLOCK)
#define ROOM   (LINE + FDL_CV_BOX_BLOCK + FDL_CV_MEDIAN_MORE + KERNEL)
#define WHOLE  256 /* of weights */

struct blur {
    uint8_t rows[KERNEL][ROOM];
    uint16_t sums[ROOM];
    const uint8_t *row[KERNEL];
    uint16_t weight[KERNEL];
    float factor[KERNEL];
    int32_t taps;
    size_t n;
};

struct blurred {
    uint16_t sums[ROOM];
    uint8_t row[ROOM], box[ROOM], filter[ROOM], median[ROOM];
};

/* Sums that are as large as weights allow, and tails of every length. */
static void draw_blur(struct blur *b, uint64_t *state)
{
    b->n = (size_t)make_within(state, 1, LINE);
    b->taps = 2 * (int32_t)make_within(state, 0, KERNEL / 2) + 1;
    int32_t left = WHOLE, half = b->taps / 2;
    for (int32_t t = 0; t < half; t++) {
        int32_t w = (int32_t)make_within(state, 0, left / half);
        b->weight[t] = b->weight[b->taps - 1 - t] = (uint16_t)(w / 2);
        left -= w / 2 * 2;
    }
    b->weight[half] = (uint16_t)left;
    fill(state, b->rows[0], sizeof(b->rows));
    for (size_t i = 0; i < ROOM; i++)
        b->sums[i] = (uint16_t)make_within(state, 0, 255 * b->taps);
    for (int32_t t = 0; t < KERNEL; t++) {
        b->row[t] = b->rows[t];
        b->factor[t] = (float)make_within(state, -999, 999) / 1000;
    }
}

static void blur(const struct fdl_cv_blur_kernels *k, const struct blur *b,
                 struct blurred *out)
{
    int32_t side = b->taps % 3 * 2 + 3;
    memset(out, 0, sizeof(*out));
    k->columns(b->row, b->weight, b->taps, b->n, out->sums);
    k->row(b->sums, b->weight, b->taps, b->n, out->row);
    k->box(b->sums, b->taps, b->taps * b->taps, b->n, out->box);
    k->filter(b->row, b->factor, b->taps, b->n, out->filter);
    k->median(b->row, side, b->n, out->median);
    memset(out->sums + b->n, 0, (ROOM - b->n) * sizeof(*out->sums));
    k->slide(out->sums, b->rows[1], b->rows[0], b->n);
}

static void check_blurs(const struct fdl_kernels *k, uint64_t *state)
{
    static struct blur b;
    static struct blurred want, got;
    draw_blur(&b, state);
    blur(fdl_kernels[FDL_CPU_C].cv_blur, &b, &want);
    blur(k->cv_blur, &b, &got);
    if (memcmp(&want, &got, sizeof(want)) != 0)
        fail_msg("%zu pixels, %d taps: %s", b.n, b.taps,
                 memcmp(want.sums, got.sums, sizeof(want.sums)) ? "columns"
                 : memcmp(want.row, got.row, ROOM)              ? "row"
                 : memcmp(want.box, got.box, ROOM)              ? "box"
                 : memcmp(want.filter, got.filter, ROOM)        ? "filter"
                                                                : "median");
}

TEST(levels_blur_alike)
{
    uint64_t seed = test_seed();
    for (int level = FDL_CPU_AVX2; level <= (int)fdl_cpu_level(); level++) {
        uint64_t state = seed;
        for (int i = 0; i < ROUNDS / 4; i++)
            check_blurs(&fdl_kernels[level], &state);
    }
}

/* ---- CLAHE -------------------------------------------------------------- */

static void check_mixing(const struct fdl_kernels *k, uint64_t *state)
{
    const struct fdl_cv_equalize_kernels *c =
        fdl_kernels[FDL_CPU_C].cv_equalize;
    uint8_t tables[4][FDL_CV_VALUES], want[SIDE_MAX], got[SIDE_MAX];
    const uint8_t *const four[4] = {tables[0], tables[1], tables[2], tables[3]};
    uint32_t joined[2][FDL_CV_VALUES];
    float part[SIDE_MAX];
    size_t n = (size_t)make_within(state, 1, SIDE_MAX);
    fill(state, tables[0], sizeof(tables));
    fill(state, want, sizeof(want));
    memcpy(got, want, sizeof(got));
    for (size_t i = 0; i < SIDE_MAX; i++)
        part[i] = (float)make_within(state, 0, 99) / 100;
    c->join(four, joined[0]);
    k->cv_equalize->join(four, joined[1]);
    assert_memory_equal(joined[0], joined[1], sizeof(joined[0]));
    c->mix(joined[0], part, part[0], n, want);
    k->cv_equalize->mix(joined[0], part, part[0], n, got);
    if (memcmp(want, got, sizeof(want)) != 0)
        fail_msg("%zu pixels between tables differ", n);
}

TEST(levels_mix_tables_alike)
{
    uint64_t seed = test_seed();
    for (int level = FDL_CPU_AVX2; level <= (int)fdl_cpu_level(); level++) {
        uint64_t state = seed;
        for (int i = 0; i < ROUNDS; i++)
            check_mixing(&fdl_kernels[level], &state);
    }
}

/* ---- Resizing ----------------------------------------------------------- */

struct resized {
    float cover[SIDE_MAX], total[SIDE_MAX];
    int32_t count[SIDE_MAX];
    uint8_t rounded[SIDE_MAX], down[SIDE_MAX];
};

static void resize(const struct fdl_cv_resize_kernels *k,
                   const struct fdl_cv_axis *x, const uint8_t *row,
                   const int32_t *const *rows, struct resized *out)
{
    int16_t weight[FDL_CV_TAPS_MAX] = {-9, 90, -400, 1300, 1400, -400, 80, -13};
    size_t n = (size_t)x->count;
    memset(out, 0, sizeof(*out));
    k->cover(row, x, out->cover);
    k->add(out->cover, 0.7F, n, out->total);
    k->add(out->cover, 0.4F, n, out->total);
    k->count(row, n, out->count);
    k->count(row + 1, n, out->count);
    k->round(out->total, n, out->rounded);
    k->down(rows, weight, FDL_CV_TAPS_MAX, n, out->down);
}

/* One pixel each, of up to three times as many; often within 16 bytes. */
static void check_picking(const struct fdl_kernels *k, const uint8_t *row,
                          int32_t count, uint64_t *state)
{
    static _Alignas(64) uint8_t memory[1 << 13];
    uint8_t want[SIDE_MAX], got[SIDE_MAX];
    int32_t in = (int32_t)make_within(state, 1, 3 * count);
    struct fdl_cv_axis x;
    struct fdl_cv_axis_key key = {.in = in,
                                  .out = count,
                                  .scale = (double)count / in,
                                  .filter = FDL_CV_NEAREST,
                                  .across = true,
                                  .count = count};
    assert_true(fdl_cv_axis_bytes(&key) <= sizeof(memory));
    fdl_cv_axis_make(&x, &key, memory);
    fdl_kernels[FDL_CPU_C].cv_resize->pick(row, &x, want);
    k->cv_resize->pick(row, &x, got);
    if (memcmp(want, got, (size_t)count) != 0)
        fail_msg("%d picked of %d differ", count, in);
}

static void check_resizing(const struct fdl_kernels *k, uint64_t *state)
{
    static _Alignas(64) uint8_t memory[1 << 17];
    static struct resized want, got;
    uint8_t row[10 * SIDE_MAX];
    int32_t rows[FDL_CV_TAPS_MAX][SIDE_MAX];
    const int32_t *lines[FDL_CV_TAPS_MAX];
    struct fdl_cv_axis x;
    int32_t count = (int32_t)make_within(state, 1, SIDE_MAX);
    int32_t in = (int32_t)make_within(state, count, 9 * count);
    struct fdl_cv_axis_key key = {.in = in,
                                  .out = count,
                                  .scale = (double)count / in,
                                  .filter = FDL_CV_AREA,
                                  .covers = true,
                                  .count = count};
    assert_true(fdl_cv_axis_bytes(&key) <= sizeof(memory));
    fdl_cv_axis_make(&x, &key, memory);
    fill(state, row, sizeof(row));
    for (int32_t t = 0; t < FDL_CV_TAPS_MAX; t++) {
        lines[t] = rows[t];
        for (size_t i = 0; i < SIDE_MAX; i++)
            rows[t][i] = (int32_t)make_within(state, 0, 255 * FDL_CV_ONE);
    }
    check_picking(k, row, count, state);
    resize(fdl_kernels[FDL_CPU_C].cv_resize, &x, row, lines, &want);
    resize(k->cv_resize, &x, row, lines, &got);
    if (memcmp(&want, &got, sizeof(want)) != 0)
        fail_msg("%d of %d pixels differ", count, in);
}

TEST(levels_resize_alike)
{
    uint64_t seed = test_seed();
    for (int level = FDL_CPU_AVX2; level <= (int)fdl_cpu_level(); level++) {
        uint64_t state = seed;
        for (int i = 0; i < ROUNDS; i++)
            check_resizing(&fdl_kernels[level], &state);
    }
}

/* ---- Warps -------------------------------------------------------------- */

static double make_real(uint64_t *state, double most)
{
    return most * (double)(make_within(state, 0, 2000) - 1000) / 1000;
}

/* Often inside, or far outside, of both versions. */
static void make_warp(struct fdl_cv_warp *w, float *maps, uint64_t *state)
{
    bool fixed = make_within(state, 0, 1) != 0;
    int32_t last = fixed ? FDL_CV_MIX_16 : FDL_CV_MIX_4;
    *w = (struct fdl_cv_warp){
        .kind = (enum fdl_cv_warp_kind)make_within(state, 0, FDL_CV_REMAP),
        .width = (int32_t)make_within(state, 1, SIDE_MAX),
        .height = (int32_t)make_within(state, 1, 9),
        .between = (enum fdl_cv_between)make_within(state, 0, last),
        .floats = !fixed,
        .border = (enum fdl_cv_border)make_within(state, 0, FDL_CV_BORDERS - 1),
        .maps = maps};
    fill(state, w->fill, sizeof(w->fill));
    for (size_t i = 0; i < 6; i++)
        w->m[i] = make_real(state, i % 3 == 2 ? SIDE_MAX : 1.5);
    w->m[6] = make_real(state, 0.01);
    w->m[7] = make_real(state, 0.01);
    w->m[8] = 1;
    for (int32_t i = 0; i < 2 * w->width * w->height; i++)
        maps[i] = (float)make_real(state, SIDE_MAX);
}

static void check_warps(const struct fdl_kernels *k, uint64_t *state)
{
    static _Alignas(64) uint8_t scratch[1 << 17];
    static uint8_t from[4 * PIXELS + FDL_PLANE_ALIGN];
    static uint8_t want[4 * PIXELS], got[4 * PIXELS];
    static float maps[2 * PIXELS];
    const struct fdl_kernels *plain = &fdl_kernels[FDL_CPU_C];
    struct fdl_cv_warp w;
    struct fdl_image in = {.data = from, .channels = 3}, out = in;
    make_warp(&w, maps, state);
    if (make_within(state, 0, 3) == 0)
        in.channels = out.channels = (int32_t)make_within(state, 1, 4);
    in.width = (int32_t)make_within(state, 1, SIDE_MAX);
    in.height = (int32_t)make_within(state, 1, SIDE_MAX);
    in.plane = (size_t)in.width * (size_t)in.height;
    out.width = w.width;
    out.height = w.height;
    out.plane = (size_t)w.width * (size_t)w.height;
    fill(state, from, sizeof(from));
    assert_in_range(fdl_cv_warp_scratch(k->cv_laid, &w, &in), 1,
                    sizeof(scratch));
    out.data = want;
    fdl_cv_warp(plain->cv_warp, plain->cv_laid, &w, &in, &out, scratch);
    out.data = got;
    fdl_cv_warp(k->cv_warp, k->cv_laid, &w, &in, &out, scratch);
    if (memcmp(want, got, out.plane * (size_t)out.channels) != 0)
        fail_msg("warp %d of version %d, method %d, border %d: %dx%dx%d to "
                 "%dx%d differs",
                 w.kind, w.floats ? 5 : 4, w.between, w.border, in.width,
                 in.height, in.channels, w.width, w.height);
}

TEST(levels_warp_alike)
{
    uint64_t seed = test_seed();
    for (int level = FDL_CPU_AVX2; level <= (int)fdl_cpu_level(); level++) {
        uint64_t state = seed;
        for (int i = 0; i < 4 * ROUNDS; i++)
            check_warps(&fdl_kernels[level], &state);
    }
}

TEST_MAIN("decode_cv")
