/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Until there is a table, each operation is carried out as it comes: with
 * vectors that is cheaper. From then on nothing touches the pixels but the
 * table of all that follows. Their histogram is made once, if at all: that of
 * what the table makes of them follows from it.
 */
#include "decode/plan/point.h"

#include "base/compiler.h"
#include "base/status.h"
#include "decode/kernels/alpha.h"
#include "decode/kernels/tone.h"

#include <math.h>

/* Of neighbours in one step. */
#define POINTS 8

struct point_step {
    uint32_t n;
    uint8_t which[POINTS]; /* enum fdl_point */
    double argument[POINTS];
};

/* A plane on its way. */
struct tone {
    const struct fdl_blend_kernels *kernels;
    uint8_t *x;
    size_t n;
    bool pending; /* the pixels wait for the table */
    bool counted; /* the histogram is that of what the table makes */
    uint8_t table[256];
    uint32_t histogram[256];
};

static bool needs_histogram(enum fdl_point which)
{
    return which == FDL_POINT_AUTOCONTRAST || which == FDL_POINT_EQUALIZE ||
           which == FDL_POINT_AUTOCONTRAST_TENSOR;
}

/* ---- Tables ------------------------------------------------------------- */

static void identity(uint8_t table[256])
{
    for (uint32_t i = 0; i < 256; i++)
        table[i] = (uint8_t)i;
}

/* The first value that occurs, and the last. */
static void range_of(const uint32_t histogram[256], int32_t *low, int32_t *high)
{
    *low = 0;
    *high = 255;
    while (*low < 255 && histogram[*low] == 0)
        ++*low;
    while (*high > 0 && histogram[*high] == 0)
        --*high;
}

/* In double, and cut off, as Pillow does it. */
static void autocontrast(int32_t low, int32_t high, uint8_t table[256])
{
    if (high <= low)
        return;
    double scale = 255.0 / (high - low), offset = -low * scale;
    for (int32_t i = 0; i < 256; i++) {
        double product = i * scale;
        int32_t y = (int32_t)(product + offset);
        table[i] = (uint8_t)FDL_MIN(FDL_MAX(y, 0), 255);
    }
}

/* In float; what is above 255 or below 0 does not occur. */
static void autocontrast_tensor(int32_t low, int32_t high, uint8_t table[256])
{
    float scale = (float)(high - low) * (float)(1.0 / 255.0);
    for (int32_t i = low; i <= high && low < high; i++)
        table[i] = (uint8_t)FDL_MIN((float)(i - low) / scale, 255.0F);
}

static void equalize(const uint32_t histogram[256], uint8_t table[256])
{
    int32_t low, high;
    uint64_t n = 0;
    range_of(histogram, &low, &high);
    for (int32_t i = low; i < high; i++)
        n += histogram[i];
    uint64_t step = n / 255; /* 0 too where there is one value alone */
    if (step == 0)
        return;
    n = step / 2;
    for (int32_t i = 0; i < 256; i++) {
        table[i] = (uint8_t)FDL_MIN(n / step, 255);
        n += histogram[i];
    }
}

/* ---- Operations --------------------------------------------------------- */

/* false: it would change nothing. */
static bool cut_of(enum fdl_point which, double argument, struct fdl_cut *out)
{
    *out = (struct fdl_cut){.mask = 255};
    if (which == FDL_POINT_INVERT) {
        out->flip = 255;
        return true;
    }
    if (which == FDL_POINT_POSTERIZE) {
        double bits = FDL_MIN(FDL_MAX(argument, 0), 8);
        out->mask = (uint8_t)(0xff00u >> (uint32_t)bits);
        return out->mask != 255;
    }
    if (which == FDL_POINT_SOLARIZE) {
        if (argument > 255)
            return false;
        out->at = (uint8_t)FDL_MAX(ceil(argument), 0);
        out->flip = 255;
        return true;
    }
    out->at = 128;
    out->add = (uint8_t)FDL_MIN(FDL_MAX(argument, 0), 255);
    return out->add > 0;
}

/* Those that need no histogram. */
static void apply(const struct fdl_blend_kernels *kernels, uint8_t *x, size_t n,
                  enum fdl_point which, double argument)
{
    struct fdl_cut cut;
    if (which == FDL_POINT_BRIGHTNESS)
        kernels->constant(x, n, 0, (float)argument);
    else if (cut_of(which, argument, &cut))
        kernels->cut(x, n, &cut);
}

static void pass_histogram(struct tone *t, const uint8_t table[256])
{
    uint32_t histogram[256] = {0};
    for (size_t i = 0; i < 256; i++)
        histogram[table[i]] += t->histogram[i];
    memcpy(t->histogram, histogram, sizeof(histogram));
}

static void count(struct tone *t)
{
    if (!t->counted)
        fdl_histogram(t->x, t->n, t->histogram);
    if (!t->counted && t->pending)
        pass_histogram(t, t->table);
    t->counted = true;
}

/* The table of an operation that needs to know the pixels. */
static void make_table(struct tone *t, enum fdl_point which, uint8_t next[256])
{
    int32_t low, high;
    if (which == FDL_POINT_EQUALIZE) {
        count(t);
        equalize(t->histogram, next);
        return;
    }
    if (t->pending) {
        count(t);
        range_of(t->histogram, &low, &high);
    } else { /* no histogram, if it is not needed later */
        uint8_t least, most;
        t->kernels->range(t->x, t->n, &least, &most);
        low = least;
        high = most;
    }
    if (which == FDL_POINT_AUTOCONTRAST)
        autocontrast(low, high, next);
    else
        autocontrast_tensor(low, high, next);
}

static void add(struct tone *t, enum fdl_point which, double argument)
{
    uint8_t next[256];
    if (!needs_histogram(which) && !t->pending) {
        apply(t->kernels, t->x, t->n, which, argument);
        return;
    }
    identity(next);
    if (needs_histogram(which))
        make_table(t, which, next);
    else
        apply(t->kernels, next, sizeof(next), which, argument);
    if (!t->pending)
        identity(t->table);
    if (t->counted)
        pass_histogram(t, next);
    t->kernels->lookup(t->table, sizeof(t->table), next);
    t->pending = true;
}

/* ---- The step ----------------------------------------------------------- */

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct point_step p;
    fdl_step_values(step, &p, sizeof(p));
    for (int32_t i = 0; i < FDL_COLOURS(c->image.channels); i++) {
        struct tone t = {.kernels = c->kernels,
                         .x = fdl_image_row(&c->image, i, 0),
                         .n = c->image.plane};
        for (uint32_t k = 0; k < p.n; k++)
            add(&t, (enum fdl_point)p.which[k], p.argument[k]);
        if (t.pending)
            t.kernels->lookup(t.x, t.n, t.table);
    }
    return FEEDLINE_OK;
}

static const struct fdl_step_kind pointwise = {
    .commutes = FDL_WITH_FLIP | FDL_WITH_CROP,
    .run = run,
};

/* The histogram is of the whole image, whichever way round. */
static const struct fdl_step_kind with_histogram = {
    .commutes = FDL_WITH_FLIP,
    .run = run,
};

/* The last step if this can join it. What was folded into the geometry since
 * then passes the whole step, and so goes before it. */
static struct fdl_step *neighbour_of(struct fdl_plan *plan)
{
    struct point_step p;
    if (plan->n_steps == 0)
        return NULL;
    struct fdl_step *last = &plan->steps[plan->n_steps - 1];
    if (last->kind != &pointwise && last->kind != &with_histogram)
        return NULL;
    fdl_step_values(last, &p, sizeof(p));
    return p.n < POINTS ? last : NULL;
}

void fdl_plan_point(struct fdl_plan *plan, enum fdl_point which,
                    double argument)
{
    struct fdl_step *last = neighbour_of(plan);
    struct point_step p = {0};
    struct fdl_cut cut;
    bool histogram = needs_histogram(which);
    if (!histogram && which != FDL_POINT_BRIGHTNESS &&
        !cut_of(which, argument, &cut))
        return;
    if (last)
        fdl_step_values(last, &p, sizeof(p));
    p.which[p.n] = (uint8_t)which;
    p.argument[p.n++] = argument;
    if (!last)
        fdl_plan_add(plan, histogram ? &with_histogram : &pointwise, &p,
                     sizeof(p));
    else
        memcpy(last->values, &p, sizeof(p));
    if (last && histogram)
        last->kind = &with_histogram;
}

/* ---- Tables of others --------------------------------------------------- */

static void look_up(const struct fdl_step *step, struct fdl_canvas *c,
                    int32_t y, int32_t n)
{
    const uint8_t *tables;
    fdl_step_values(step, &tables, sizeof(tables));
    size_t bytes = (size_t)c->image.width * (size_t)n;
    for (int32_t i = 0; i < c->image.channels; i++, tables += 256)
        c->kernels->lookup(fdl_image_row(&c->image, i, y), bytes, tables);
}

static const struct fdl_step_kind tables_kind = {
    .commutes = FDL_WITH_FLIP | FDL_WITH_CROP,
    .rows = look_up,
};

void fdl_plan_tables(struct fdl_plan *plan, const uint8_t *tables)
{
    fdl_plan_add(plan, &tables_kind, &tables, sizeof(tables));
}
