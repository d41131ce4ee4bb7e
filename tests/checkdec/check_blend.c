/* SPDX-License-Identifier: Apache-2.0 */
/* Colour kernels of one level against plain C: every length of tail, factors on
 * both sides of 0 and 1, extremes that clip. */
#include "base/compiler.h"
#include "checkdec.h"
#include "decode/kernels/blend.h"
#include "decode/kernels/levels.h"
#include "decode/pixels/image.h"
#include "make_jpeg.h"

#include <stdio.h>
#include <string.h>

#define LONGEST 300
#define ROUNDS  8 /* for one of the others: these are short */

struct lines {
    uint8_t in[3][LONGEST + 1];
    uint8_t c[LONGEST + 1], other[LONGEST + 1];
};

static bool same(const struct lines *l, const char *what, size_t n,
                 float factor)
{
    if (memcmp(l->c, l->other, sizeof(l->c)) == 0)
        return true;
    printf("%s of %zu bytes by %g differs\n", what, n, (double)factor);
    return false;
}

static bool check_hue(const struct fdl_blend_kernels *c,
                      const struct fdl_blend_kernels *k, struct lines *l,
                      size_t n, uint8_t shift)
{
    struct lines other = *l;
    c->hue(l->in[0], l->in[1], l->in[2], n, shift);
    k->hue(other.in[0], other.in[1], other.in[2], n, shift);
    if (memcmp(l->in, other.in, sizeof(l->in)) == 0)
        return true;
    printf("hue of %zu pixels shifted by %d differs\n", n, shift);
    return false;
}

static bool check_cut(const struct fdl_blend_kernels *c,
                      const struct fdl_blend_kernels *k, struct lines *l,
                      size_t n, uint64_t *state)
{
    struct fdl_cut cut = {.at = (uint8_t)make_random(state),
                          .add = (uint8_t)make_random(state),
                          .flip = pick(state, 0, 1) ? 255 : 0,
                          .mask = (uint8_t)make_random(state)};
    if (pick(state, 0, 3) == 0)
        cut.at = 0;
    memcpy(l->c, l->in[0], sizeof(l->c));
    memcpy(l->other, l->in[0], sizeof(l->c));
    c->cut(l->c, n, &cut);
    k->cut(l->other, n, &cut);
    return same(l, "cut", n, cut.at);
}

static bool check_table(const struct fdl_blend_kernels *c,
                        const struct fdl_blend_kernels *k, struct lines *l,
                        size_t n, uint64_t *state)
{
    uint8_t table[256], want[2], got[2];
    for (size_t i = 0; i < sizeof(table); i++)
        table[i] = (uint8_t)make_random(state);
    c->range(l->in[0], n + 1, &want[0], &want[1]);
    k->range(l->in[0], n + 1, &got[0], &got[1]);
    if (memcmp(want, got, sizeof(want)) != 0) {
        printf("range of %zu bytes differs\n", n + 1);
        return false;
    }
    memcpy(l->c, l->in[0], sizeof(l->c));
    memcpy(l->other, l->in[0], sizeof(l->c));
    c->lookup(l->c, n, table);
    k->lookup(l->other, n, table);
    return same(l, "lookup", n, 0);
}

static bool check_smooth(const struct fdl_blend_kernels *c,
                         const struct fdl_blend_kernels *k,
                         const struct lines *l, uint64_t *state)
{
    uint8_t want[LONGEST + 1 + FDL_PLANE_ALIGN] = {0};
    uint8_t got[LONGEST + 1 + FDL_PLANE_ALIGN] = {0};
    size_t n = (size_t)pick(state, 3, LONGEST - FDL_PLANE_ALIGN);
    c->smooth(l->in[0], l->in[1], l->in[2], n, want);
    k->smooth(l->in[0], l->in[1], l->in[2], n, got);
    if (memcmp(want, got, n) == 0)
        return true;
    printf("smooth of %zu pixels differs\n", n);
    return false;
}

static bool check_torch(const struct fdl_blend_kernels *c,
                        const struct fdl_blend_kernels *k, struct lines *l,
                        size_t n, float factor, uint64_t *state)
{
    struct fdl_torch_blend blend = {.part = (float)pick(state, 0, 1),
                                    .scale = factor,
                                    .alpha = (float)(1.0 - factor)};
    struct lines other = *l;
    float shift = (float)pick(state, -128, 128) / 256.0F;
    memcpy(l->c, l->in[0], sizeof(l->c));
    memcpy(l->other, l->in[0], sizeof(l->c));
    c->torch_line(l->c, l->in[1], n, &blend);
    k->torch_line(l->other, l->in[1], n, &blend);
    if (!same(l, "blend of tensors", n, factor))
        return false;
    c->torch_luma(l->in[0], l->in[1], l->in[2], n, l->c);
    k->torch_luma(l->in[0], l->in[1], l->in[2], n, l->other);
    if (!same(l, "luma of tensors", n, factor))
        return false;
    c->torch_hue(l->in[0], l->in[1], l->in[2], n, shift);
    k->torch_hue(other.in[0], other.in[1], other.in[2], n, shift);
    if (memcmp(l->in, other.in, sizeof(l->in)) == 0)
        return true;
    printf("hue of %zu pixels of tensors by %g differs\n", n, (double)shift);
    return false;
}

static bool check_one(const struct fdl_blend_kernels *k, uint64_t *state)
{
    static const float factors[] = {0,    0.25F, 0.9999F, 1,   1.0001F,
                                    1.5F, 9,     1000,    1e6F};
    const struct fdl_blend_kernels *c = fdl_kernels[FDL_CPU_C].blend;
    struct lines l;
    size_t n = (size_t)pick(state, 0, LONGEST);
    float factor = factors[pick(state, 0, FDL_COUNT_OF(factors) - 1)];
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
    if (!same(&l, "blend with a constant", n, factor))
        return false;
    c->line(l.c, l.in[1], n, factor);
    k->line(l.other, l.in[1], n, factor);
    if (!same(&l, "blend with a line", n, factor))
        return false;
    c->luma(l.in[0], l.in[1], l.in[2], n, l.c);
    k->luma(l.in[0], l.in[1], l.in[2], n, l.other);
    if (!same(&l, "luma", n, factor))
        return false;
    if (c->sum(l.in[0], n) != k->sum(l.in[0], n)) {
        printf("sum of %zu bytes differs\n", n);
        return false;
    }
    return check_cut(c, k, &l, n, state) && check_table(c, k, &l, n, state) &&
           check_smooth(c, k, &l, state) &&
           check_hue(c, k, &l, n, (uint8_t)make_random(state)) &&
           check_torch(c, k, &l, n, factor, state);
}

bool check_blend(enum fdl_cpu_level level, uint64_t seed, int rounds)
{
    const struct fdl_blend_kernels *k = fdl_kernels[level].blend;
    uint64_t state = seed;
    for (int i = 0; i < rounds * ROUNDS; i++) {
        if (!check_one(k, &state))
            return false;
    }
    return true;
}
