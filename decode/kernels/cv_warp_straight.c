/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line has two pixels of the border on each side, as far as it is looked at:
 * what is beyond it is between two of them. Lines that were mixed along x stay
 * until those two rows further on take their places: where an image is
 * enlarged, several rows of the result are between the same two.
 */
#include "decode/kernels/cv_warp_straight.h"

#include "base/compiler.h"
#include "base/memory.h"
#include "decode/kernels/cv_warp_job.h"

#include <string.h>

#define BEYOND 2  /* pixels of the border */
#define SLACK  64 /* bytes that kernels may read behind a line */
#define LINES  2  /* mixed ones */
#define NONE   INT32_MIN

struct straight {
    const struct fdl_cv_straight_kernels *k;
    const struct fdl_cv_warp_kernels *all;
    const struct fdl_cv_warp *w;
    const struct fdl_cv_lines *lines;
    struct fdl_cv_columns x;
    int32_t first, extent; /* of a line: its pixels, from this one on */
    uint8_t *line[FDL_CHANNELS_MAX];
    union fdl_cv_number *mixed[LINES][FDL_CHANNELS_MAX];
    int32_t held[LINES];    /* which rows these are */
    struct fdl_cv_warp one; /* the map of one column: where a row comes from */
    struct fdl_cv_warp_job row;
};

const struct fdl_cv_straight_kernels fdl_cv_straight_c = {0};

bool fdl_cv_warp_is_straight(const struct fdl_cv_straight_kernels *k,
                             const struct fdl_cv_warp *w)
{
    return k->across && w->kind == FDL_CV_AFFINE &&
           w->between == FDL_CV_MIX_4 && w->border == FDL_CV_CONSTANT &&
           w->m[1] == 0 && w->m[3] == 0;
}

/* ---- Memory ------------------------------------------------------------- */

static size_t in_lines(size_t bytes)
{
    return (bytes + FDL_CACHE_LINE - 1) & ~(size_t)(FDL_CACHE_LINE - 1);
}

static size_t columns_of(const struct fdl_cv_warp *w)
{
    return ((size_t)w->width + FDL_CV_GROUP - 1) & ~(size_t)(FDL_CV_GROUP - 1);
}

static size_t line_bytes(const struct fdl_cv_lines *lines)
{
    return in_lines((size_t)lines->width + 2 * BEYOND + SLACK);
}

/* Arrays as long as a row: two of columns, and the mixed lines. */
static size_t arrays_of(const struct fdl_cv_lines *lines)
{
    return 2 + LINES * (size_t)lines->channels;
}

/* Of the job that finds a row. */
static size_t row_bytes(const struct straight *s)
{
    return in_lines(fdl_cv_warp_job_bytes(&s->one));
}

size_t fdl_cv_straight_scratch(const struct fdl_cv_warp *w,
                               const struct fdl_cv_lines *lines)
{
    struct straight s = {.one = *w};
    s.one.width = 1;
    size_t job = fdl_cv_warp_job_bytes(w), arrays, bytes;
    if (job == 0 ||
        !fdl_mul_size(columns_of(w),
                      arrays_of(lines) * sizeof(union fdl_cv_number), &arrays))
        return 0;
    bytes = line_bytes(lines) * (size_t)lines->channels + row_bytes(&s);
    if (!fdl_add_size(bytes, arrays, &bytes) ||
        !fdl_add_size(bytes, in_lines(job), &bytes))
        return 0;
    return bytes;
}

/* ---- Columns ------------------------------------------------------------ */

/* What kernels make of it. */
static union fdl_cv_number number_of(const struct fdl_cv_points *p, bool floats,
                                     int32_t i)
{
    union fdl_cv_number number;
    if (floats)
        number.real = p->part_x.real[i];
    else
        number.whole =
            FDL_CV_PARTS - p->part_x.whole[i] + p->part_x.whole[i] * (1 << 16);
    return number;
}

static void set_reach(struct fdl_cv_columns *x)
{
    for (int32_t i = 0; i < x->n; i += FDL_CV_GROUP) {
        int32_t begin = x->at[i], end = x->at[i + FDL_CV_GROUP - 1];
        int32_t reach = FDL_MAX(begin, end) - FDL_MIN(begin, end) + 2;
        x->reach = FDL_MAX(x->reach, reach);
    }
}

/* They go one way, so those at the ends of a group are the ends. */
static void find_columns(struct straight *s, const struct fdl_cv_points *p,
                         int32_t *at, union fdl_cv_number *part)
{
    int32_t n = s->w->width, end = (int32_t)columns_of(s->w);
    int32_t low = INT32_MAX, high = INT32_MIN;
    for (int32_t i = 0; i < end; i++) {
        int32_t from = FDL_MIN(i, n - 1);
        at[i] = FDL_MIN(FDL_MAX(p->x[from], -BEYOND), s->lines->width);
        part[i] = number_of(p, s->w->floats, from);
        low = FDL_MIN(low, at[i]);
        high = FDL_MAX(high, at[i]);
    }
    for (int32_t i = 0; i < end; i++)
        at[i] -= low;
    s->first = low;
    s->extent = high - low + 2;
    s->x = (struct fdl_cv_columns){
        .at = at, .part = part, .n = n, .floats = s->w->floats};
    set_reach(&s->x);
}

/* ---- Lines -------------------------------------------------------------- */

static void mix_line(const struct straight *s, int32_t row, uint32_t slot)
{
    const struct fdl_cv_lines *lines = s->lines;
    uint8_t *to[FDL_CHANNELS_MAX];
    int32_t begin = FDL_MAX(s->first, 0);
    int32_t end = FDL_MIN(s->first + s->extent, lines->width);
    for (int32_t c = 0; c < lines->channels; c++)
        to[c] = s->line[c] + (begin - s->first);
    if (begin < end)
        lines->get(lines, row, begin, end - begin, to);
    for (int32_t c = 0; c < lines->channels; c++)
        s->k->across(&s->x, s->line[c], s->mixed[slot][c]);
}

/* Of the border alone. */
static void mix_border(const struct straight *s, uint32_t slot)
{
    for (int32_t c = 0; c < s->lines->channels; c++) {
        union fdl_cv_number number, *to = s->mixed[slot][c];
        if (s->w->floats)
            number.real = (float)s->w->fill[c];
        else
            number.whole = s->w->fill[c] * FDL_CV_PARTS;
        for (int32_t i = 0; i < s->w->width; i++)
            to[i] = number;
    }
}

static bool is_outside(const struct straight *s, int32_t row)
{
    return row < 0 || row >= s->lines->height;
}

/* Neighbours have different places. */
static void hold(struct straight *s, const int32_t rows[2], uint32_t slots[2])
{
    for (int32_t i = 0; i < 2; i++) {
        uint32_t slot = slots[i] = (uint32_t)rows[i] % LINES;
        if (s->held[slot] == rows[i])
            continue;
        s->held[slot] = rows[i];
        if (is_outside(s, rows[i]))
            mix_border(s, slot);
        else
            mix_line(s, rows[i], slot);
    }
}

static void fill_row(const struct straight *s, const struct fdl_image *out,
                     int32_t y)
{
    for (int32_t c = 0; c < out->channels; c++)
        memset(fdl_image_row(out, c, y), s->w->fill[c], (size_t)out->width);
}

static void make_row(struct straight *s, const struct fdl_image *out, int32_t y)
{
    const struct fdl_cv_points *p = &s->row.p;
    union fdl_cv_number part;
    uint32_t slot[2];
    s->all->find(&s->row, y);
    int32_t last = s->lines->height, at = FDL_MIN(p->y[0], last);
    int32_t rows[2] = {FDL_MAX(at, -1), FDL_MIN(FDL_MAX(at + 1, -1), last)};
    if (rows[0] == rows[1]) { /* far outside */
        fill_row(s, out, y);
        return;
    }
    if (s->w->floats)
        part.real = p->part_y.real[0];
    else
        part.whole = p->part_y.whole[0];
    hold(s, rows, slot);
    for (int32_t c = 0; c < out->channels; c++)
        s->k->down(&s->x, s->mixed[slot[0]][c], s->mixed[slot[1]][c], part,
                   fdl_image_row(out, c, y));
}

/* ---- All of it ---------------------------------------------------------- */

/* Lays out the arrays; what is left of the memory is of the job of columns. */
static uint8_t *begin(struct straight *s, uint8_t *memory, int32_t **at,
                      union fdl_cv_number **part)
{
    size_t n = columns_of(s->w);
    for (int32_t c = 0; c < s->lines->channels; c++) {
        s->line[c] = memory;
        memset(memory, s->w->fill[c], line_bytes(s->lines));
        memory += line_bytes(s->lines);
    }
    union fdl_cv_number *numbers = (union fdl_cv_number *)(void *)memory;
    *part = numbers;
    *at = (int32_t *)(void *)(numbers + n);
    numbers += 2 * n;
    for (uint32_t slot = 0; slot < LINES; slot++) {
        s->held[slot] = NONE;
        for (int32_t c = 0; c < s->lines->channels; c++, numbers += n)
            s->mixed[slot][c] = numbers;
    }
    memory = (uint8_t *)numbers;
    fdl_cv_warp_job_begin(&s->row, memory);
    return memory + row_bytes(s);
}

void fdl_cv_warp_straight(const struct fdl_cv_straight_kernels *k,
                          const struct fdl_cv_warp_kernels *all,
                          const struct fdl_cv_warp *w,
                          const struct fdl_cv_lines *lines,
                          const struct fdl_image *out, uint8_t *scratch)
{
    struct fdl_image in = {.width = lines->width, .height = lines->height};
    struct straight s = {.k = k, .all = all, .w = w, .lines = lines, .one = *w};
    struct fdl_cv_warp_job columns = {.w = w, .in = &in, .out = out};
    union fdl_cv_number *part;
    int32_t *at;
    s.one.width = 1;
    s.row = (struct fdl_cv_warp_job){.w = &s.one, .in = &in, .out = out};
    fdl_cv_warp_job_begin(&columns, begin(&s, scratch, &at, &part));
    all->find(&columns, 0);
    find_columns(&s, &columns.p, at, part);
    for (int32_t y = 0; y < w->height; y++)
        make_row(&s, out, y);
}

static void get_line(const struct fdl_cv_lines *lines, int32_t y, int32_t x,
                     int32_t n, uint8_t *const to[])
{
    const struct fdl_image *image = lines->arg;
    for (int32_t c = 0; c < image->channels; c++)
        memcpy(to[c], fdl_image_row(image, c, y) + x, (size_t)n);
}

struct fdl_cv_lines fdl_cv_lines_of(const struct fdl_image *image)
{
    return (struct fdl_cv_lines){.get = get_line,
                                 .width = image->width,
                                 .height = image->height,
                                 .channels = image->channels,
                                 .arg = image};
}
