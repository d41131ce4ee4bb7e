/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/plan/mix.h"

#include "base/compiler.h"
#include "base/philox.h"

#include <math.h>

/* ---- Draws -------------------------------------------------------------- */

/* Of the beta distribution with both parameters `a`: Cheng's algorithm BA
 * ("Generating beta variates with nonintegral shape parameters", 1978), with
 * logarithms, as its powers overflow for small a. */
static double draw_beta(struct fdl_rng *rng, double a)
{
    double slope = a > 1 ? 1 / sqrt(a) : 1 / a;
    for (;;) {
        double u = 1 - fdl_rng_uniform(rng), w = 1 - fdl_rng_uniform(rng);
        double v = slope * (log(u) - log1p(-u));
        double rest = v > 0 ? v + log1p(exp(-v)) : log1p(exp(v));
        if (!isfinite(v)) /* u is 1 */
            continue;
        double fit = 2 * a * (M_LN2 - rest) + (a + 1 / slope) * v - 2 * M_LN2;
        if (fit >= 2 * log(u) + log(w))
            return 1 / (1 + exp(-v));
    }
}

/* A window of size 2 * half (torchvision), or size (timm), around a point of
 * the side; what is outside is cut off. */
static void draw_span(struct fdl_rng *rng, const struct fdl_mix *m, double part,
                      int32_t side, int32_t span[2])
{
    int32_t at = (int32_t)fdl_rng_below(rng, (uint32_t)side);
    int32_t before = (int32_t)(0.5 * part * side), after = before;
    if (m->like == FDL_MIX_TIMM) {
        int32_t size = (int32_t)(side * part);
        before = size / 2;
        after = (size + 1) / 2;
    }
    span[0] = FDL_MAX(at - before, 0);
    span[1] = FDL_MIN(at + after, side);
}

/* Of a size between two parts of the side, wholly inside. */
static void draw_span_between(struct fdl_rng *rng, const struct fdl_mix *m,
                              int32_t side, int32_t span[2])
{
    int32_t low = (int32_t)(side * m->cutmix_min);
    int32_t high = (int32_t)(side * m->cutmix_max);
    int32_t size = low + (int32_t)fdl_rng_below(rng, (uint32_t)(high - low));
    span[0] = (int32_t)fdl_rng_below(rng, (uint32_t)(side - size + 1));
    span[1] = span[0] + size;
}

static void draw_box(struct fdl_rng *rng, const struct fdl_mix *m,
                     int32_t width, int32_t height,
                     struct feedline_image_mix *out)
{
    int32_t x[2], y[2];
    bool between = m->cutmix_max > 0;
    double part = sqrt(1 - out->share);
    if (between) {
        draw_span_between(rng, m, height, y);
        draw_span_between(rng, m, width, x);
    } else {
        draw_span(rng, m, part, width, x);
        draw_span(rng, m, part, height, y);
    }
    out->box[0] = x[0];
    out->box[1] = y[0];
    out->box[2] = x[1];
    out->box[3] = y[1];
    if (m->correct_lam || between || m->like == FDL_MIX_TORCHVISION)
        out->share = 1 - (double)((int64_t)(x[1] - x[0]) * (y[1] - y[0])) /
                             ((double)width * height);
}

static bool cuts(const struct fdl_mix *m, struct fdl_rng *rng)
{
    bool may_cut = m->cutmix_alpha > 0 || m->cutmix_max > 0;
    if (may_cut && m->mixup_alpha > 0)
        return fdl_rng_uniform(rng) < m->switch_prob;
    return may_cut;
}

/* All but the partner. timm has shares of single images in float32. */
static struct feedline_image_mix draw_one(const struct fdl_mix *m,
                                          const struct fdl_mix_key *key,
                                          uint32_t image, int32_t width,
                                          int32_t height)
{
    struct feedline_image_mix out = {.share = 1};
    struct fdl_rng rng;
    fdl_rng_init(&rng, key->seed, key->epoch, key->place + image * key->step,
                 FDL_PLACE_MIX);
    if (!(fdl_rng_uniform(&rng) < m->p))
        return out;
    bool cut = cuts(m, &rng);
    double alpha = !cut                ? m->mixup_alpha
                   : m->cutmix_max > 0 ? 1
                                       : m->cutmix_alpha;
    bool single = m->mode != FDL_MIX_BATCH;
    out.share = draw_beta(&rng, alpha);
    out.share = single ? (float)out.share : out.share;
    if (out.share >= 1)
        return out;
    out.kind = cut ? FEEDLINE_CUTMIX : FEEDLINE_MIXUP;
    if (cut)
        draw_box(&rng, m, width, height, &out);
    out.share = single ? (float)out.share : out.share;
    return out;
}

/* The image whose draws image i has. */
static uint32_t drawn_for(const struct fdl_mix *m, uint32_t i, uint32_t count)
{
    if (m->mode == FDL_MIX_BATCH)
        return 0;
    return m->mode == FDL_MIX_PAIR ? FDL_MIN(i, count - 1 - i) : i;
}

static uint32_t partner(const struct fdl_mix *m, uint32_t i, uint32_t count)
{
    return m->like == FDL_MIX_TIMM ? count - 1 - i : (i + count - 1) % count;
}

uint32_t fdl_mix_partner_of(const struct fdl_mix *m, uint32_t image,
                            uint32_t count)
{
    return m->like == FDL_MIX_TIMM ? count - 1 - image : (image + 1) % count;
}

struct feedline_image_mix fdl_mix_draw(const struct fdl_mix *m,
                                       const struct fdl_mix_batch *b,
                                       uint32_t image)
{
    struct feedline_image_mix out = {.share = 1};
    uint32_t with = partner(m, image, b->count);
    /* The middle of an odd batch has no partner; timm refuses those. */
    if (m->like != FDL_MIX_TIMM || with != image)
        out = draw_one(m, &b->key, drawn_for(m, image, b->count), b->width,
                       b->height);
    out.partner = (int32_t)with;
    return out;
}

/* ---- Targets ------------------------------------------------------------ */

void fdl_mix_target(const struct fdl_mix *m,
                    const struct feedline_image_mix *mix, int64_t own,
                    int64_t other, float *target)
{
    double low = m->label_smoothing / m->num_classes;
    float off = (float)low, on = (float)(1 - m->label_smoothing + low);
    float mine = (float)mix->share, its = (float)(1 - mix->share);
    float rest = off * mine + off * its;
    for (uint32_t k = 0; k < m->num_classes; k++)
        target[k] = rest;
    target[other] = off * mine + on * its;
    target[own] = on * mine + (own == other ? on : off) * its;
}
