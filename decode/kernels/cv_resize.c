/* SPDX-License-Identifier: Apache-2.0 */
/* What is the same at every level, and plain C. */
#include "decode/kernels/cv_resize.h"

#include "base/compiler.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define LINE_ALIGN 16 /* elements */

static size_t pitch_of(int32_t count)
{
    return ((size_t)count + LINE_ALIGN - 1) & ~(size_t)(LINE_ALIGN - 1);
}

size_t fdl_cv_resize_scratch(const struct fdl_cv_axis_key *x)
{
    size_t rows = FDL_CV_ROWS * sizeof(int32_t), bytes;
    return fdl_mul_size(pitch_of(x->count), rows, &bytes) ? bytes : 0;
}

/* ---- Plain C ------------------------------------------------------------ */

static void across_c(const uint8_t *in, const struct fdl_cv_axis *x,
                     int32_t *out)
{
    const int32_t *at = x->at;
    const int16_t *w = x->weight;
    for (int32_t i = 0; i < x->count; i++, at += x->taps, w += x->taps) {
        int32_t sum = 0;
        for (int32_t t = 0; t < x->taps; t++)
            sum += in[at[t]] * w[t];
        out[i] = sum;
    }
}

static uint8_t to_byte(int32_t v)
{
    return (uint8_t)FDL_MAX(FDL_MIN(v, 255), 0);
}

static void down_2(const int32_t *const *rows, const int16_t *w, size_t n,
                   uint8_t *out)
{
    for (size_t i = 0; i < n; i++) {
        int32_t above = (w[0] * (rows[0][i] >> 4)) >> 16;
        int32_t below = (w[1] * (rows[1][i] >> 4)) >> 16;
        out[i] = to_byte((above + below + 2) >> 2);
    }
}

/* Rounded half up. */
static void down_8(const int32_t *const *rows, const int16_t *w, size_t n,
                   uint8_t *out)
{
    for (size_t i = 0; i < n; i++) {
        int32_t sum = FDL_CV_ONE * FDL_CV_ONE / 2;
        for (int32_t t = 0; t < FDL_CV_TAPS_MAX; t++)
            sum += rows[t][i] * w[t];
        out[i] = to_byte(sum >> 22);
    }
}

static void down_c(const int32_t *const *rows, const int16_t *w, int32_t taps,
                   size_t n, uint8_t *out)
{
    if (taps == 2)
        down_2(rows, w, n, out);
    else
        down_8(rows, w, n, out);
}

static void halve_c(const uint8_t *above, const uint8_t *below, size_t n,
                    uint8_t *out)
{
    for (size_t i = 0; i < n; i++) {
        int32_t sum = above[2 * i] + above[2 * i + 1];
        sum += below[2 * i] + below[2 * i + 1];
        out[i] = (uint8_t)((sum + 2) >> 2);
    }
}

const struct fdl_cv_resize_kernels fdl_cv_resize_c = {
    .across = across_c,
    .down = down_c,
    .halve = halve_c,
};

/* ---- Few pixels --------------------------------------------------------- */

static void pick(const struct fdl_cv_resize_job *job, int32_t c)
{
    for (int32_t y = 0; y < job->y->count; y++) {
        const uint8_t *from = fdl_image_row(job->in, c, job->y->at[y]);
        uint8_t *to = fdl_image_row(job->out, c, y);
        for (int32_t x = 0; x < job->x->count; x++)
            to[x] = from[job->x->at[x]];
    }
}

/* Rows of the image, summed, that the last row of the result took. */
struct kept_rows {
    int32_t *line[FDL_CV_ROWS];
    int32_t row[FDL_CV_ROWS]; /* of the image; -1: none */
};

static const int32_t *summed(const struct fdl_cv_resize_kernels *k,
                             const struct fdl_cv_resize_job *job, int32_t c,
                             int32_t row, struct kept_rows *kept)
{
    int32_t slot = row % FDL_CV_ROWS;
    if (kept->row[slot] != row) {
        k->across(fdl_image_row(job->in, c, row), job->x, kept->line[slot]);
        kept->row[slot] = row;
    }
    return kept->line[slot];
}

static void sum(const struct fdl_cv_resize_kernels *k,
                const struct fdl_cv_resize_job *job, int32_t c)
{
    const struct fdl_cv_axis *y = job->y;
    struct kept_rows kept;
    size_t n = (size_t)job->x->count;
    for (size_t i = 0; i < FDL_CV_ROWS; i++) {
        kept.line[i] =
            (int32_t *)(void *)job->scratch + i * pitch_of(job->x->count);
        kept.row[i] = -1;
    }
    for (int32_t i = 0; i < y->count; i++) {
        const int32_t *rows[FDL_CV_TAPS_MAX];
        const int16_t *w = y->weight + (size_t)i * (size_t)y->taps;
        uint8_t *to = fdl_image_row(job->out, c, i);
        for (int32_t t = 0; t < y->taps; t++)
            rows[t] = summed(k, job, c, y->at[i * y->taps + t], &kept);
        k->down(rows, w, y->taps, n, to);
    }
}

/* ---- Areas -------------------------------------------------------------- */

static void cover_row(const uint8_t *in, const struct fdl_cv_axis *x,
                      float *out)
{
    for (int32_t i = 0; i < x->count; i++) {
        const uint8_t *from = in + x->at[i];
        const float *w = x->area + (size_t)i * (size_t)x->most;
        float total = 0;
        for (int32_t t = 0; t < x->n[i]; t++) {
            float product = (float)from[t] * w[t];
            total += product;
        }
        out[i] = total;
    }
}

static void cover(const struct fdl_cv_resize_job *job, int32_t c)
{
    const struct fdl_cv_axis *x = job->x, *y = job->y;
    float *line = (float *)(void *)job->scratch,
          *total = line + pitch_of(x->count);
    for (int32_t i = 0; i < y->count; i++) {
        uint8_t *to = fdl_image_row(job->out, c, i);
        const float *w = y->area + (size_t)i * (size_t)y->most;
        memset(total, 0, (size_t)x->count * sizeof(*total));
        for (int32_t t = 0; t < y->n[i]; t++) {
            cover_row(fdl_image_row(job->in, c, y->at[i] + t), x, line);
            for (int32_t p = 0; p < x->count; p++) {
                float product = line[p] * w[t];
                total[p] += product;
            }
        }
        for (int32_t p = 0; p < x->count; p++)
            to[p] = to_byte((int32_t)lrintf(total[p]));
    }
}

/* Sums of whole pixels; those that there are, at the ends. */
struct block {
    const struct fdl_image *image;
    int32_t c, x, y, width, height;
};

static int32_t sum_block(const struct block *b)
{
    int32_t total = 0;
    for (int32_t y = 0; y < b->height; y++) {
        const uint8_t *row = fdl_image_row(b->image, b->c, b->y + y) + b->x;
        for (int32_t x = 0; x < b->width; x++)
            total += row[x];
    }
    return total;
}

/* Pixels [first, count) of row i. */
static void cover_rest(const struct fdl_cv_resize_job *job, int32_t c,
                       int32_t i, int32_t first, uint8_t *to)
{
    const struct fdl_cv_axis *x = job->x, *y = job->y;
    int32_t all = x->whole * y->whole;
    float part = 1.0F / (float)all;
    for (int32_t p = first; p < x->count; p++) {
        struct block b = {job->in, c, x->at[p], y->at[i], x->n[p], y->n[i]};
        int32_t n = b.width * b.height;
        float sum = (float)sum_block(&b);
        to[p] =
            to_byte((int32_t)lrintf(n == all ? sum * part : sum / (float)n));
    }
}

static void cover_whole(const struct fdl_cv_resize_kernels *k,
                        const struct fdl_cv_resize_job *job, int32_t c)
{
    const struct fdl_cv_axis *x = job->x, *y = job->y;
    /* OpenCV has vectors for means of four, which it rounds half up. */
    bool halves = x->whole == 2 && y->whole == 2 && job->in->channels != 2;
    int32_t full = x->n[x->count - 1] == 2 ? x->count : x->count - 1;
    for (int32_t i = 0; i < y->count; i++) {
        uint8_t *to = fdl_image_row(job->out, c, i);
        int32_t done = halves && y->n[i] == 2 ? full : 0;
        const uint8_t *above = fdl_image_row(job->in, c, y->at[i]) + x->at[0];
        if (done > 0)
            k->halve(above, above + job->in->width, (size_t)done, to);
        cover_rest(job, c, i, done, to);
    }
}

void fdl_cv_resize(const struct fdl_cv_resize_kernels *k,
                   const struct fdl_cv_resize_job *job)
{
    for (int32_t c = 0; c < job->in->channels; c++) {
        if (job->y->taps == 1)
            pick(job, c);
        else if (job->y->taps > 0)
            sum(k, job, c);
        else if (job->x->whole > 0 && job->y->whole > 0)
            cover_whole(k, job, c);
        else
            cover(job, c);
    }
}
