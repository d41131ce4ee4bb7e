/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums along rows are kept for as long as another row of the result takes them:
 * row y of the image is in slot y % height. What a border takes from elsewhere
 * is less than half of the kernel away and still there; where the image is so
 * low that it goes there and back, all of its rows are. The last slot has
 * zeros.
 */
#include "decode/plan/cv_sep_step.h"

#include "base/compiler.h"
#include "base/memory.h"
#include "base/status.h"
#include "decode/kernels/levels.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SIDE FDL_CV_SEP_SIDE

struct sums {
    const struct fdl_cv_sep *s;
    const struct fdl_cv_float_kernels *kernels;
    const struct fdl_image *image;
    int32_t channel;
    int32_t end;   /* of the rows that are or were kept */
    uint8_t *line; /* a row between its margins */
    float *slots;
    size_t pitch;                    /* of a slot, floats */
    size_t fused_across, fused_down; /* pixels of a row, from the first on */
};

/* ---- Kernels ------------------------------------------------------------ */

/* As OpenCV finds it. */
static bool is_fixed_point(const float *kernel, int32_t n)
{
    double sum = 0, most = 10.0 * (double)FLT_EPSILON * 256;
    bool parts = true, whole = true;
    for (int32_t i = 0; i < n; i++) {
        double part = (double)kernel[i] * 256;
        parts = parts && kernel[i] >= 0 && kernel[i] == kernel[n - 1 - i] &&
                fabs(part - rint(part)) <= most;
        whole = whole && kernel[i] == rintf(kernel[i]);
        sum += (double)kernel[i];
    }
    return parts && !whole &&
           fabs(sum - 1) <= (double)FLT_EPSILON * (fabs(sum) + 1);
}

bool fdl_cv_sep_is_in_float(const struct fdl_cv_sep *s)
{
    const float *down = s->kernel + s->width;
    for (int32_t i = 0; i < s->height / 2; i++) {
        if (down[i] != down[s->height - 1 - i])
            return false;
    }
    return !is_fixed_point(s->kernel, s->width) ||
           !is_fixed_point(down, s->height);
}

/* ---- Sums --------------------------------------------------------------- */

static float *slot_of(const struct sums *p, int32_t y)
{
    return p->slots + (size_t)(y % p->s->height) * p->pitch;
}

static void keep(struct sums *p, int32_t y)
{
    int32_t n = p->image->width, margin = p->s->width / 2;
    const uint8_t *from = fdl_image_row(p->image, p->channel, y);
    memcpy(p->line, from, (size_t)n);
    for (int32_t d = 1; d <= margin; d++) {
        int32_t before = fdl_cv_source(p->s->border, -d, n);
        int32_t behind = fdl_cv_source(p->s->border, n - 1 + d, n);
        p->line[-d] = before < 0 ? 0 : from[before];
        p->line[n - 1 + d] = behind < 0 ? 0 : from[behind];
    }
    const uint8_t *line = p->line - margin;
    float *to = slot_of(p, y);
    p->kernels->across(line, p->s->kernel, p->s->width, (size_t)n, to);
    fdl_cv_across_rest(line, p->s->kernel, p->s->width, p->fused_across,
                       (size_t)n, to);
}

static void sum_plane(struct sums *p, const struct fdl_image *out)
{
    const struct fdl_cv_sep *s = p->s;
    size_t n = (size_t)out->width;
    const float *down = s->kernel + s->width;
    const float *zeros = p->slots + (size_t)s->height * p->pitch;
    p->end = 0;
    for (int32_t y = 0; y < out->height; y++) {
        const float *rows[SIDE];
        uint8_t *to = fdl_image_row(out, p->channel, y);
        for (; p->end < FDL_MIN(y + s->height / 2 + 1, out->height); p->end++)
            keep(p, p->end);
        for (int32_t i = 0; i < s->height; i++) {
            int32_t at =
                fdl_cv_source(s->border, y + i - s->height / 2, out->height);
            rows[i] = at < 0 ? zeros : slot_of(p, at);
        }
        p->kernels->down(rows, down, s->height, n, to);
        fdl_cv_down_rest(rows, down, s->height, p->fused_down, n, to);
    }
}

/* Memory, and places in it. */
static int32_t prepare(struct sums *p, struct fdl_canvas *c)
{
    size_t width = (size_t)c->image.width, bytes;
    size_t line = fdl_plane_bytes(c->image.width + SIDE) + 2 * FDL_CV_BLOCK;
    uint8_t *memory;
    p->pitch = fdl_plane_bytes(c->image.width) + FDL_CV_BLOCK;
    if (!fdl_mul_size(p->pitch * sizeof(float), (size_t)p->s->height + 1,
                      &bytes) ||
        !fdl_add_size(bytes, line, &bytes))
        return fdl_fail_memory(UINT64_MAX, "scratch of an operation");
    int32_t status = fdl_canvas_scratch(c, FDL_SCRATCH_STEP, bytes, &memory);
    if (status)
        return status;
    p->line = memory + FDL_CV_BLOCK;
    p->slots = (float *)(void *)(memory + line);
    memset(p->slots + (size_t)p->s->height * p->pitch, 0,
           p->pitch * sizeof(float));
    memset(p->line + width, 0, line - FDL_CV_BLOCK - width);
    return FEEDLINE_OK;
}

/* ---- The step ----------------------------------------------------------- */

/* Interleaved elements that OpenCV 5 has vectors of, and fuses. */
#define ACROSS 32
#define DOWN   4

static size_t in_vectors(const struct fdl_image *image, int32_t channel,
                         size_t vector)
{
    size_t channels = (size_t)image->channels, c = (size_t)channel;
    size_t end = (size_t)image->width * channels / vector * vector;
    return end > c ? (end - c + channels - 1) / channels : 0;
}

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct fdl_cv_sep s;
    struct fdl_image out;
    fdl_step_values(step, &s, sizeof(s));
    struct sums p = {.s = &s,
                     .kernels = fdl_kernels[fdl_cpu_level()].cv_floats,
                     .image = &c->image};
    int32_t status = prepare(&p, c);
    if (!status)
        status = fdl_canvas_spare(c, c->image.width, c->image.height, &out);
    if (status)
        return status;
    for (p.channel = 0; p.channel < out.channels; p.channel++) {
        p.fused_across = p.fused_down = (size_t)out.width;
        if (s.rest) {
            p.fused_across = in_vectors(&out, p.channel, ACROSS);
            p.fused_down = in_vectors(&out, p.channel, DOWN);
        }
        sum_plane(&p, &out);
    }
    fdl_canvas_swap(c, &out);
    return FEEDLINE_OK;
}

static const struct fdl_step_kind kind = {.run = run};

void fdl_plan_cv_sep(struct fdl_plan *plan, const struct fdl_cv_sep *s)
{
    fdl_plan_add(plan, &kind, s, sizeof(*s));
}
