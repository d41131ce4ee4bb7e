/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts become tables in float, and tables are mixed in float: this file is
 * compiled without contraction. Between the middles of four tiles the same four
 * tables are mixed: those of such a cell are joined to one.
 */
#include "decode/kernels/cv_equalize.h"

#define TARGET

#include "decode/kernels/cv_border.h"
#include "decode/kernels/cv_equalize_loops.h"

#include <math.h>
#include <stdbool.h>

#define VALUES FDL_CV_VALUES

const struct fdl_cv_equalize_kernels fdl_cv_equalize_c = {
    .join = join_loop,
    .mix = mix_loop,
};

static uint8_t to_byte(float v)
{
    return (uint8_t)FDL_MAX(FDL_MIN(lrintf(v), 255), 0);
}

/* ---- Counting ----------------------------------------------------------- */

/* Pixels in turn: with one count for each value, one would wait for another of
 * the same value. */
#define TURNS 4

struct counts {
    uint32_t of[TURNS][VALUES];
};

static void count_row(struct counts *c, const uint8_t *row, size_t n)
{
    size_t i = 0;
    for (; i + TURNS <= n; i += TURNS) {
        for (size_t t = 0; t < TURNS; t++)
            c->of[t][row[i + t]]++;
    }
    for (; i < n; i++)
        c->of[0][row[i]]++;
}

static void add_turns(const struct counts *c, int32_t count[VALUES])
{
    for (size_t v = 0; v < VALUES; v++)
        count[v] =
            (int32_t)(c->of[0][v] + c->of[1][v] + c->of[2][v] + c->of[3][v]);
}

void fdl_cv_equalize(uint8_t *plane, size_t n)
{
    struct counts c = {{{0}}};
    int32_t count[VALUES], sum = 0, first = 0;
    uint8_t table[VALUES];
    count_row(&c, plane, n);
    add_turns(&c, count);
    while (count[first] == 0)
        first++;
    size_t least = (size_t)count[first];
    if (least == n) /* they are all the same, and stay */
        return;
    float part = 255.0F / (float)(n - least);
    table[first] = 0;
    for (int32_t v = first + 1; v < VALUES; v++) {
        sum += count[v];
        table[v] = to_byte((float)sum * part);
    }
    for (size_t i = 0; i < n; i++)
        plane[i] = table[plane[i]];
}

/* ---- Tiles -------------------------------------------------------------- */

/* Where a row or column of the image is among the tiles: the tables before and
 * behind it, and how much the latter counts. */
struct between {
    int32_t before, behind;
    float part;
};

/* Columns [x, end) are between the same tables. */
struct cell {
    int32_t x, end, before, behind;
    uint32_t joined[VALUES];
};

struct clahe {
    const struct fdl_cv_equalize_kernels *kernels;
    const struct fdl_cv_clahe *s;
    uint8_t *plane;
    int32_t width, height;
    int32_t tile_width, tile_height;
    int32_t n_cells;
    struct cell *cells; /* of a row of them */
    uint8_t *tables;    /* of each tile, row by row */
    float *parts;       /* of each column */
};

size_t fdl_cv_clahe_scratch(const struct fdl_cv_clahe *s, int32_t width)
{
    size_t tiles = (size_t)s->tiles_x * (size_t)s->tiles_y;
    return ((size_t)s->tiles_x + 1) * sizeof(struct cell) + tiles * VALUES +
           (size_t)width * sizeof(float);
}

/* If one side is not whole tiles, both grow, by at least one column. */
static void set_tile_size(struct clahe *c)
{
    int32_t x = c->s->tiles_x, y = c->s->tiles_y;
    bool whole = c->width % x == 0 && c->height % y == 0;
    c->tile_width = c->width / x + (whole ? 0 : 1);
    c->tile_height = c->height / y + (whole ? 0 : 1);
}

static void count_tile(const struct clahe *c, int32_t left, int32_t top,
                       int32_t count[VALUES])
{
    struct counts counts = {{{0}}};
    int32_t end = left + c->tile_width;
    int32_t inside = FDL_MIN(end, c->width) - FDL_MIN(left, c->width);
    for (int32_t y = top; y < top + c->tile_height; y++) {
        int32_t at = fdl_cv_source(FDL_CV_REFLECT_101, y, c->height);
        const uint8_t *row = c->plane + (size_t)at * (size_t)c->width;
        count_row(&counts, row + left, (size_t)inside);
        for (int32_t x = left + inside; x < end; x++)
            counts.of[0][row[fdl_cv_source(FDL_CV_REFLECT_101, x, c->width)]]++;
    }
    add_turns(&counts, count);
}

/* What is above the limit is spread over all values: what is left of that, over
 * some that are as far apart as possible. */
static void clip_counts(int32_t count[VALUES], int32_t limit)
{
    int32_t above = 0;
    for (int32_t v = 0; v < VALUES; v++) {
        above += FDL_MAX(count[v] - limit, 0);
        count[v] = FDL_MIN(count[v], limit);
    }
    int32_t each = above / VALUES, rest = above % VALUES;
    for (int32_t v = 0; v < VALUES; v++)
        count[v] += each;
    int32_t step = rest > 0 ? FDL_MAX(VALUES / rest, 1) : 1;
    for (int32_t v = 0; v < VALUES && rest > 0; v += step, rest--)
        count[v]++;
}

static void make_table(const struct clahe *c, int32_t x, int32_t y)
{
    int32_t count[VALUES], sum = 0, n = c->tile_width * c->tile_height;
    uint8_t *table = c->tables + (size_t)(y * c->s->tiles_x + x) * VALUES;
    count_tile(c, x * c->tile_width, y * c->tile_height, count);
    if (c->s->clip > 0) {
        double limit = FDL_MIN(c->s->clip * n / VALUES, INT32_MAX);
        clip_counts(count, FDL_MAX((int32_t)limit, 1));
    }
    float part = 255.0F / (float)n;
    for (int32_t v = 0; v < VALUES; v++) {
        sum += count[v];
        table[v] = to_byte((float)sum * part);
    }
}

static struct between place_of(int32_t at, int32_t size, int32_t tiles)
{
    float v = (float)at * (1.0F / (float)size) - 0.5F;
    int32_t before = (int32_t)floorf(v);
    return (struct between){.before = FDL_MAX(before, 0),
                            .behind = FDL_MIN(before + 1, tiles - 1),
                            .part = v - (float)before};
}

static void set_cells(struct clahe *c)
{
    int32_t n = 0;
    for (int32_t x = 0; x < c->width; x++) {
        struct between at = place_of(x, c->tile_width, c->s->tiles_x);
        bool same = n > 0 && c->cells[n - 1].before == at.before &&
                    c->cells[n - 1].behind == at.behind;
        if (!same)
            c->cells[n++] =
                (struct cell){.x = x, .before = at.before, .behind = at.behind};
        c->cells[n - 1].end = x + 1;
        c->parts[x] = at.part;
    }
    c->n_cells = n;
}

static void join_tables(const struct clahe *c, const struct between *row)
{
    size_t tables = (size_t)c->s->tiles_x * VALUES;
    const uint8_t *above = c->tables + (size_t)row->before * tables;
    const uint8_t *below = c->tables + (size_t)row->behind * tables;
    for (int32_t i = 0; i < c->n_cells; i++) {
        struct cell *cell = &c->cells[i];
        size_t left = (size_t)cell->before * VALUES;
        size_t right = (size_t)cell->behind * VALUES;
        const uint8_t *const four[4] = {above + left, above + right,
                                        below + left, below + right};
        c->kernels->join(four, cell->joined);
    }
}

static void mix_rows(const struct clahe *c)
{
    struct between last = {.before = -1};
    for (int32_t y = 0; y < c->height; y++) {
        struct between row = place_of(y, c->tile_height, c->s->tiles_y);
        uint8_t *to = c->plane + (size_t)y * (size_t)c->width;
        if (row.before != last.before || row.behind != last.behind)
            join_tables(c, &row);
        last = row;
        for (int32_t i = 0; i < c->n_cells; i++) {
            const struct cell *cell = &c->cells[i];
            c->kernels->mix(cell->joined, c->parts + cell->x, row.part,
                            (size_t)(cell->end - cell->x), to + cell->x);
        }
    }
}

void fdl_cv_clahe(const struct fdl_cv_equalize_kernels *k,
                  const struct fdl_cv_clahe *s, uint8_t *plane, int32_t width,
                  int32_t height, uint8_t *scratch)
{
    struct clahe c = {.kernels = k,
                      .s = s,
                      .plane = plane,
                      .width = width,
                      .height = height,
                      .cells = (struct cell *)(void *)scratch};
    c.parts = (float *)(void *)(c.cells + s->tiles_x + 1);
    c.tables = (uint8_t *)(c.parts + width);
    set_tile_size(&c);
    set_cells(&c);
    for (int32_t y = 0; y < s->tiles_y; y++) {
        for (int32_t x = 0; x < s->tiles_x; x++)
            make_table(&c, x, y);
    }
    mix_rows(&c);
}
