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

TEST_MAIN("decode_cv")
