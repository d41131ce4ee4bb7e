/* SPDX-License-Identifier: Apache-2.0 */
/* Blurs of every level against plain C: short lines, tails, every radius that
 * has a kernel, kernels of one tap to many. */
#include "decode/kernels/levels.h"
#include "decode/pixels/image.h"
#include "tests/decode/make_jpeg.h"
#include "tests/decode/rig.h"

#define TURNS   400
#define LONGEST 130
#define ROOM    (LONGEST + 2 * MARGIN + FDL_PLANE_ALIGN)
#define MARGIN  40
#define ROWS    (2 * MARGIN + 1)

struct lines {
    uint8_t in[ROWS][ROOM];
    const uint8_t *row[ROWS];
    float weight[MARGIN + 1];
    float sums[2][ROOM];
    uint8_t out[2][ROOM]; /* of plain C, of the level */
};

static void check_box(const struct fdl_gauss_kernels *k, struct lines *l,
                      uint64_t *state)
{
    size_t n = (size_t)make_within(state, 1, LONGEST);
    struct fdl_box_weights box = {.radius = (uint32_t)make_within(state, 0, 1)};
    uint32_t most = (1u << 24) / (2 * box.radius + 1);
    box.whole = (uint32_t)make_within(state, (int32_t)most / 3, (int32_t)most);
    box.part = ((1u << 24) - (2 * box.radius + 1) * box.whole) / 2;
    memset(l->out, 0, sizeof(l->out));
    fdl_kernels[FDL_CPU_C].gauss->near(l->row, n, &box, l->out[0]);
    k->near(l->row, n, &box, l->out[1]);
    if (memcmp(l->out[0], l->out[1], ROOM) != 0)
        fail_msg("a box of radius %u over %zu pixels differs", box.radius, n);
}

static void check_taps(const struct fdl_gauss_kernels *k, struct lines *l,
                       uint64_t *state)
{
    const struct fdl_gauss_kernels *plain = fdl_kernels[FDL_CPU_C].gauss;
    size_t n = (size_t)make_within(state, 1, LONGEST);
    struct fdl_taps t = {l->weight, make_within(state, 1, MARGIN + 1)};
    for (int32_t d = 0; d < t.n; d++)
        l->weight[d] =
            (float)make_within(state, 1, 999) / 1000.0f / (float)(2 * t.n);
    memset(l->sums, 0, sizeof(l->sums));
    memset(l->out, 0, sizeof(l->out));
    plain->columns(l->row, &t, n, l->sums[0]);
    k->columns(l->row, &t, n, l->sums[1]);
    bool same = memcmp(l->sums[0], l->sums[1], n * sizeof(float)) == 0;
    plain->columns(l->row, &t, ROOM - FDL_PLANE_ALIGN, l->sums[0]);
    plain->row(l->sums[0] + MARGIN, &t, n, l->out[0]);
    k->row(l->sums[0] + MARGIN, &t, n, l->out[1]);
    same = same && memcmp(l->out[0], l->out[1], ROOM) == 0;
    if (!same)
        fail_msg("%d taps over %zu pixels differ", (int)t.n, n);
}

static void check_level(const struct fdl_gauss_kernels *k, uint64_t state)
{
    static struct lines l;
    for (int i = 0; i < TURNS; i++) {
        for (size_t y = 0; y < ROWS; y++) {
            l.row[y] = l.in[y];
            for (size_t x = 0; x < ROOM; x++)
                l.in[y][x] = (uint8_t)make_random(&state);
        }
        if (i % 7 == 0)
            memset(l.in, 255, sizeof(l.in));
        check_box(k, &l, &state);
        check_taps(k, &l, &state);
    }
}

TEST(levels_give_the_bytes_of_plain_c)
{
    uint64_t seed = test_seed();
    for (int level = FDL_CPU_AVX2; level <= (int)fdl_cpu_level(); level++)
        check_level(fdl_kernels[level].gauss, seed);
}

TEST_MAIN("decode_gauss")
