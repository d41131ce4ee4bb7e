/* SPDX-License-Identifier: Apache-2.0 */
/* What is the same at every level, and plain C. */
#define TARGET

#include "base/memory.h"
#include "decode/kernels/cv_resize_loops.h"

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
    size_t columns = x->covers ? pitch_of(x->in) * sizeof(int32_t) : 0;
    return fdl_mul_size(pitch_of(x->count), rows, &bytes) &&
                   fdl_add_size(bytes, columns, &bytes)
               ? bytes
               : 0;
}

/* ---- Plain C ------------------------------------------------------------ */

static void pick_c(const uint8_t *in, const struct fdl_cv_axis *x, uint8_t *out)
{
    const int32_t *at = x->at;
    size_t n = (size_t)x->count;
    for (size_t i = 0; i < n; i++)
        out[i] = in[at[i]];
}

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
    .pick = pick_c,
    .across = across_c,
    .down = down_c,
    .halve = halve_c,
    CV_COVER_LOOPS,
};

/* ---- Few pixels --------------------------------------------------------- */

static void pick(const struct fdl_cv_resize_kernels *k,
                 const struct fdl_cv_resize_job *job, int32_t c)
{
    for (int32_t y = 0; y < job->y->count; y++)
        k->pick(fdl_image_row(job->in, c, job->y->at[y]), job->x,
                fdl_image_row(job->out, c, y));
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

/* The last row that a pixel covers is often the first one of the next. */
static void cover(const struct fdl_cv_resize_kernels *k,
                  const struct fdl_cv_resize_job *job, int32_t c)
{
    const struct fdl_cv_axis *x = job->x, *y = job->y;
    size_t n = (size_t)x->count;
    float *line = (float *)(void *)job->scratch,
          *total = line + pitch_of(x->count);
    int32_t summed = -1;
    for (int32_t i = 0; i < y->count; i++) {
        memset(total, 0, n * sizeof(*total));
        for (int32_t t = 0; t < y->n[i]; t++) {
            int32_t row = y->at[i] + t;
            if (row != summed)
                k->cover(fdl_image_row(job->in, c, row), x, line);
            summed = row;
            k->add(line, y->area[(size_t)t * y->pitch + (size_t)i], n, total);
        }
        k->round(total, n, fdl_image_row(job->out, c, i));
    }
}

/* Sums of the columns that pixels [first, count) of row i cover. */
static const int32_t *count_columns(const struct fdl_cv_resize_kernels *k,
                                    const struct fdl_cv_resize_job *job,
                                    int32_t c, int32_t i, int32_t first)
{
    const struct fdl_cv_axis *x = job->x, *y = job->y;
    int32_t *sums = (int32_t *)(void *)job->scratch, last = x->count - 1;
    int32_t from = x->at[first], end = x->at[last] + x->n[last];
    size_t n = (size_t)(end - from);
    memset(sums, 0, n * sizeof(*sums));
    for (int32_t t = 0; t < y->n[i]; t++)
        k->count(fdl_image_row(job->in, c, y->at[i] + t) + from, n, sums);
    return sums;
}

/* Those; at the ends, of the pixels that there are. */
static void cover_rest(const struct fdl_cv_resize_kernels *k,
                       const struct fdl_cv_resize_job *job, int32_t c,
                       int32_t i, int32_t first, uint8_t *to)
{
    const struct fdl_cv_axis *x = job->x, *y = job->y;
    int32_t all = x->whole * y->whole;
    float part = 1.0F / (float)all, mean;
    if (first == x->count)
        return;
    const int32_t *sums = count_columns(k, job, c, i, first);
    for (int32_t p = first; p < x->count; p++) {
        int32_t n = x->n[p] * y->n[i], total = 0;
        for (int32_t t = 0; t < x->n[p]; t++)
            total += *sums++;
        mean = n == all ? (float)total * part : (float)total / (float)n;
        k->round(&mean, 1, to + p);
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
        cover_rest(k, job, c, i, done, to);
    }
}

void fdl_cv_resize(const struct fdl_cv_resize_kernels *k,
                   const struct fdl_cv_resize_job *job)
{
    for (int32_t c = 0; c < job->in->channels; c++) {
        if (job->y->taps == 1)
            pick(k, job, c);
        else if (job->y->taps > 0)
            sum(k, job, c);
        else if (job->x->whole > 0 && job->y->whole > 0)
            cover_whole(k, job, c);
        else
            cover(k, job, c);
    }
}
