/* SPDX-License-Identifier: Apache-2.0 */
/* Colour kernels of every level against plain C: every length of tail, factors
 * on both sides of 0 and 1, extremes that clip. */
#include "decode/kernels/blend.h"
#include "decode/kernels/levels.h"
#include "decode/pixels/image.h"
#include "tests/decode/make_jpeg.h"
#include "tests/decode/rig.h"

#define LONGEST 300
#define ROUNDS  3200

struct lines {
    uint8_t in[3][LONGEST + 1];
    uint8_t c[LONGEST + 1], other[LONGEST + 1];
};

static void assert_same(const void *want, const void *got, size_t bytes,
                        const char *what, size_t n, double factor)
{
    if (memcmp(want, got, bytes) != 0)
        fail_msg("%s of %zu pixels by %g differs", what, n, factor);
}

static void assert_same_line(const struct lines *l, const char *what, size_t n,
                             double factor)
{
    assert_same(l->c, l->other, sizeof(l->c), what, n, factor);
}

static void check_hue(const struct fdl_blend_kernels *c,
                      const struct fdl_blend_kernels *k, struct lines *l,
                      size_t n, uint8_t shift)
{
    struct lines other = *l;
    c->hue(l->in[0], l->in[1], l->in[2], n, shift);
    k->hue(other.in[0], other.in[1], other.in[2], n, shift);
    assert_same(l->in, other.in, sizeof(l->in), "hue", n, shift);
}

static void check_cut(const struct fdl_blend_kernels *c,
                      const struct fdl_blend_kernels *k, struct lines *l,
                      size_t n, uint64_t *state)
{
    struct fdl_cut cut = {.at = (uint8_t)make_random(state),
                          .add = (uint8_t)make_random(state),
                          .flip = make_within(state, 0, 1) ? 255 : 0,
                          .mask = (uint8_t)make_random(state)};
    if (make_within(state, 0, 3) == 0)
        cut.at = 0;
    memcpy(l->c, l->in[0], sizeof(l->c));
    memcpy(l->other, l->in[0], sizeof(l->c));
    c->cut(l->c, n, &cut);
    k->cut(l->other, n, &cut);
    assert_same_line(l, "cut", n, cut.at);
}

static void check_table(const struct fdl_blend_kernels *c,
                        const struct fdl_blend_kernels *k, struct lines *l,
                        size_t n, uint64_t *state)
{
    uint8_t table[256], want[2], got[2];
    for (size_t i = 0; i < sizeof(table); i++)
        table[i] = (uint8_t)make_random(state);
    c->range(l->in[0], n + 1, &want[0], &want[1]);
    k->range(l->in[0], n + 1, &got[0], &got[1]);
    assert_same(want, got, sizeof(want), "range", n + 1, 0);
    memcpy(l->c, l->in[0], sizeof(l->c));
    memcpy(l->other, l->in[0], sizeof(l->c));
    c->lookup(l->c, n, table);
    k->lookup(l->other, n, table);
    assert_same_line(l, "lookup", n, 0);
}

static void check_smooth(const struct fdl_blend_kernels *c,
                         const struct fdl_blend_kernels *k,
                         const struct lines *l, uint64_t *state)
{
    uint8_t want[LONGEST + 1 + FDL_PLANE_ALIGN] = {0};
    uint8_t got[LONGEST + 1 + FDL_PLANE_ALIGN] = {0};
    size_t n = (size_t)make_within(state, 3, LONGEST - FDL_PLANE_ALIGN);
    c->smooth(l->in[0], l->in[1], l->in[2], n, want);
    k->smooth(l->in[0], l->in[1], l->in[2], n, got);
    assert_same(want, got, n, "smooth", n, 0);
}

static void check_torch(const struct fdl_blend_kernels *c,
                        const struct fdl_blend_kernels *k, struct lines *l,
                        size_t n, float factor, uint64_t *state)
{
    struct fdl_torch_blend blend = {.part = (float)make_within(state, 0, 1),
                                    .scale = factor,
                                    .alpha = (float)(1.0 - factor)};
    struct lines other = *l;
    float shift = (float)make_within(state, -128, 128) / 256.0F;
    memcpy(l->c, l->in[0], sizeof(l->c));
    memcpy(l->other, l->in[0], sizeof(l->c));
    c->torch_line(l->c, l->in[1], n, &blend);
    k->torch_line(l->other, l->in[1], n, &blend);
    assert_same_line(l, "blend of tensors", n, factor);
    c->torch_luma(l->in[0], l->in[1], l->in[2], n, l->c);
    k->torch_luma(l->in[0], l->in[1], l->in[2], n, l->other);
    assert_same_line(l, "luma of tensors", n, factor);
    c->torch_hue(l->in[0], l->in[1], l->in[2], n, shift);
    k->torch_hue(other.in[0], other.in[1], other.in[2], n, shift);
    assert_same(l->in, other.in, sizeof(l->in), "hue of tensors", n, shift);
}

static void check_level(const struct fdl_blend_kernels *k, uint64_t *state)
{
    static const float factors[] = {0,    0.25F, 0.9999F, 1,   1.0001F,
                                    1.5F, 9,     1000,    1e6F};
    const struct fdl_blend_kernels *c = fdl_kernels[FDL_CPU_C].blend;
    struct lines l;
    size_t n = (size_t)make_within(state, 0, LONGEST);
    float factor = factors[make_within(state, 0, FDL_COUNT_OF(factors) - 1)];
    for (size_t i = 0; i <= LONGEST; i++) {
        for (size_t p = 0; p < FDL_COUNT_OF(l.in); p++)
            l.in[p][i] = (uint8_t)make_random(state);
        if (i % 3 == 0) /* two channels alike, or nearly */
            l.in[2][i] = (uint8_t)(l.in[1][i] + i / 3 % 2);
    }
    memcpy(l.c, l.in[0], sizeof(l.c));
    memcpy(l.other, l.in[0], sizeof(l.c));

    uint8_t base = l.in[1][0];
    c->constant(l.c, n, base, factor);
    k->constant(l.other, n, base, factor);
    assert_same_line(&l, "blend with a constant", n, factor);
    c->line(l.c, l.in[1], n, factor);
    k->line(l.other, l.in[1], n, factor);
    assert_same_line(&l, "blend with a line", n, factor);
    c->luma(l.in[0], l.in[1], l.in[2], n, l.c);
    k->luma(l.in[0], l.in[1], l.in[2], n, l.other);
    assert_same_line(&l, "luma", n, factor);
    assert_int_equal(c->sum(l.in[0], n), k->sum(l.in[0], n));
    check_cut(c, k, &l, n, state);
    check_table(c, k, &l, n, state);
    check_smooth(c, k, &l, state);
    check_hue(c, k, &l, n, (uint8_t)make_random(state));
    check_torch(c, k, &l, n, factor, state);
}

TEST(levels_give_the_bytes_of_plain_c)
{
    uint64_t seed = test_seed();
    for (int level = FDL_CPU_AVX2; level <= (int)fdl_cpu_level(); level++) {
        uint64_t state = seed;
        for (int i = 0; i < ROUNDS; i++)
            check_level(fdl_kernels[level].blend, &state);
    }
}

TEST_MAIN("decode_blend")
