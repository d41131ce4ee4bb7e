/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that are not zero, and where their pixels are, go to the kernel:
 * row by row, in their order, which the last bit of a sum depends on. */
#include "decode/plan/cv_filter_step.h"

#include "base/status.h"
#include "decode/kernels/levels.h"
#include "decode/plan/cv_rows.h"

struct filter {
    const float *kernel;
    int32_t width, height;
    enum fdl_cv_border border;
    bool rest;
};

#define SIDE FDL_CV_FILTER_SIDE

/* Elements of the kernel that count. */
struct elements {
    float weight[SIDE * SIDE];
    uint8_t row[SIDE * SIDE], column[SIDE * SIDE];
    int32_t n;
    bool rest; /* see in_vectors */
};

/* margin: of the rows that they are taken from, in the middle of which is the
 * kernel. */
static void find_elements(const struct filter *s, int32_t margin,
                          struct elements *e)
{
    e->n = 0;
    e->rest = s->rest;
    for (int32_t y = 0; y < s->height; y++) {
        for (int32_t x = 0; x < s->width; x++) {
            float w = s->kernel[y * s->width + x];
            if (w == 0)
                continue;
            e->weight[e->n] = w;
            e->row[e->n] = (uint8_t)(margin - s->height / 2 + y);
            e->column[e->n] = (uint8_t)(margin - s->width / 2 + x);
            e->n++;
        }
    }
}

/* Pixels of a channel in vectors of four interleaved elements. */
static size_t in_vectors(const struct fdl_image *image, int32_t channel)
{
    size_t channels = (size_t)image->channels, c = (size_t)channel;
    size_t end = (size_t)image->width * channels / 4 * 4;
    return end > c ? (end - c + channels - 1) / channels : 0;
}

static void filter_plane(const struct elements *e, struct fdl_cv_rows *r,
                         int32_t channel, const struct fdl_image *out)
{
    size_t n = (size_t)out->width;
    size_t rest = e->rest ? in_vectors(out, channel) : n;
    const struct fdl_cv_blur_kernels *k = fdl_kernels[fdl_cpu_level()].cv_blur;
    fdl_cv_rows_channel(r, channel);
    for (int32_t y = 0; y < out->height; y++) {
        const uint8_t *rows[SIDE], *taps[SIDE * SIDE];
        fdl_cv_rows_at(r, y, rows);
        for (int32_t i = 0; i < e->n; i++)
            taps[i] = rows[e->row[i]] + e->column[i];
        uint8_t *to = fdl_image_row(out, channel, y);
        k->filter(taps, e->weight, e->n, n, to);
        fdl_cv_filter_rest(taps, e->weight, e->n, rest, n, to);
    }
}

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct filter s;
    struct elements e;
    struct fdl_cv_rows r;
    struct fdl_image out;
    fdl_step_values(step, &s, sizeof(s));
    int32_t margin = (s.width > s.height ? s.width : s.height) / 2;
    find_elements(&s, margin, &e);
    int32_t status = fdl_cv_rows_begin(&r, c, margin, s.border);
    if (!status)
        status = fdl_canvas_spare(c, c->image.width, c->image.height, &out);
    if (status)
        return status;
    for (int32_t i = 0; i < c->image.channels; i++)
        filter_plane(&e, &r, i, &out);
    fdl_canvas_swap(c, &out);
    return FEEDLINE_OK;
}

static const struct fdl_step_kind kind = {.run = run};

void fdl_plan_cv_filter(struct fdl_plan *plan, const float *kernel,
                        int32_t width, int32_t height,
                        enum fdl_cv_border border, bool rest)
{
    struct filter s = {.kernel = kernel,
                       .width = width,
                       .height = height,
                       .border = border,
                       .rest = rest};
    fdl_plan_add(plan, &kind, &s, sizeof(s));
}
