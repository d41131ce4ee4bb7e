/* SPDX-License-Identifier: Apache-2.0 */
/* mix.h has the order of things. */
#include "decode/plan/mix.h"

#include "base/compiler.h"
#include "base/philox.h"
#include "decode/kernels/mix_runs.h"

#include <math.h>
#include <string.h>

/* A strip has so much of the batch, so that few of them keep all workers busy,
 * and at least so much of a plane, so that memory is read in long runs. */
#define STRIP_BYTES ((uint64_t)2 << 20)
#define RUN_BYTES   8192u

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

void fdl_mix_draw(const struct fdl_mix *m, const struct fdl_mix_key *key,
                  uint32_t count, int32_t width, int32_t height,
                  struct feedline_image_mix *out)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = drawn_for(m, i, count);
        out[i] = from < i ? out[from] : draw_one(m, key, from, width, height);
        out[i].partner =
            (int32_t)(m->like == FDL_MIX_TIMM ? count - 1 - i
                                              : (i + count - 1) % count);
    }
    /* The middle of an odd batch has no partner; timm refuses those. */
    if (m->like == FDL_MIX_TIMM && count % 2 == 1)
        out[count / 2] = (struct feedline_image_mix){
            .share = 1, .partner = (int32_t)(count / 2)};
}

/* ---- Targets ------------------------------------------------------------ */

void fdl_mix_targets(const struct fdl_mix *m,
                     const struct feedline_image_mix *mixes,
                     const int64_t *labels, uint32_t count, float *targets)
{
    double low = m->label_smoothing / m->num_classes;
    float off = (float)low, on = (float)(1 - m->label_smoothing + low);
    for (uint32_t i = 0; i < count; i++) {
        float *row = targets + (size_t)i * m->num_classes;
        float own = (float)mixes[i].share, other = (float)(1 - mixes[i].share);
        float rest = off * own + off * other;
        int64_t mine = labels[i], its = labels[mixes[i].partner];
        for (uint32_t k = 0; k < m->num_classes; k++)
            row[k] = rest;
        row[its] = off * own + on * other;
        row[mine] = on * own + (mine == its ? on : off) * other;
    }
}

/* ---- Pixels ------------------------------------------------------------- */

/* Some rows of a plane, or of all planes where they are interleaved. */
struct run {
    uint64_t at, bytes, row_bytes; /* of an image */
    int32_t y, rows;
    uint64_t pixel_bytes;
};

static uint64_t row_bytes(const struct fdl_output_format *f)
{
    uint64_t planes = f->nhwc ? (uint64_t)f->channels : 1;
    return (uint64_t)f->width * planes * fdl_dtype_bytes(f->dtype);
}

static uint32_t strip_rows(const struct fdl_mix_batch *b)
{
    const struct fdl_output_format *f = b->format;
    uint64_t rows = FDL_MAX(
        STRIP_BYTES / (b->count * fdl_output_bytes(f) / (uint64_t)f->height),
        RUN_BYTES / row_bytes(f));
    return (uint32_t)FDL_MIN(FDL_MAX(rows, UINT64_C(1)), (uint64_t)f->height);
}

uint32_t fdl_mix_strips(const struct fdl_mix_batch *b)
{
    bool any = false;
    for (uint32_t i = 0; i < b->count && !any; i++)
        any = b->mixes[i].kind != FEEDLINE_MIX_NONE;
    uint32_t rows = strip_rows(b);
    return any ? ((uint32_t)b->format->height + rows - 1) / rows : 0;
}

static void cut(const struct run *r, const int32_t box[4], uint8_t *x,
                const uint8_t *y)
{
    int32_t end = FDL_MIN(box[3], r->y + r->rows);
    uint64_t left = (uint64_t)box[0] * r->pixel_bytes;
    uint64_t bytes = (uint64_t)(box[2] - box[0]) * r->pixel_bytes;
    for (int32_t row = FDL_MAX(box[1], r->y); row < end; row++) {
        uint64_t at = (uint64_t)(row - r->y) * r->row_bytes + left;
        memcpy(x + at, y + at, bytes);
    }
}

/* The run x of image i gets its part of y, the same run of the partner. */
static void combine(const struct fdl_mix_batch *b, const struct run *r,
                    uint32_t i, const uint8_t *y)
{
    const struct feedline_image_mix *m = &b->mixes[i];
    uint8_t *x = b->images + i * fdl_output_bytes(b->format) + r->at;
    float own = (float)m->share, other = (float)(1 - m->share);
    if (m->kind == FEEDLINE_CUTMIX)
        cut(r, m->box, x, y);
    else if (m->kind == FEEDLINE_MIXUP && b->format->dtype == FEEDLINE_U8)
        fdl_mix_bytes(x, y, r->bytes, own, other);
    else if (m->kind == FEEDLINE_MIXUP)
        fdl_mix_floats((float *)(void *)x, (const float *)(const void *)y,
                       r->bytes / sizeof(float), own, other);
}

/* With its partner, or with what the partner was: `kept`. */
static void mix_ring(const struct fdl_mix_batch *b, const struct run *r)
{
    uint64_t image = fdl_output_bytes(b->format);
    uint8_t *kept = b->spare + r->at, *at = b->images + r->at;
    memcpy(kept, at + (b->count - 1) * image, r->bytes);
    for (uint32_t i = b->count - 1; i > 0; i--)
        combine(b, r, i, at + (i - 1) * image);
    combine(b, r, 0, kept);
}

static void mix_pairs(const struct fdl_mix_batch *b, const struct run *r)
{
    uint64_t image = fdl_output_bytes(b->format);
    uint8_t *kept = b->spare + r->at, *at = b->images + r->at;
    for (uint32_t i = 0; i < b->count / 2; i++) {
        uint32_t j = b->count - 1 - i;
        memcpy(kept, at + i * image, r->bytes);
        combine(b, r, i, at + j * image);
        combine(b, r, j, kept);
    }
}

void fdl_mix_strip(const struct fdl_mix_batch *b, uint32_t strip)
{
    const struct fdl_output_format *f = b->format;
    int32_t rows = (int32_t)strip_rows(b);
    struct run r = {.row_bytes = row_bytes(f), .y = (int32_t)strip * rows};
    r.rows = FDL_MIN(rows, f->height - r.y);
    r.bytes = (uint64_t)r.rows * r.row_bytes;
    r.pixel_bytes = r.row_bytes / (uint64_t)f->width;
    for (int32_t c = 0; c < (f->nhwc ? 1 : f->channels); c++) {
        r.at = (uint64_t)(c * f->height + r.y) * r.row_bytes;
        if (b->like == FDL_MIX_TIMM)
            mix_pairs(b, &r);
        else
            mix_ring(b, &r);
    }
}
