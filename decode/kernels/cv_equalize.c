/* SPDX-License-Identifier: Apache-2.0 */
/* Counts become tables in float, and tables are mixed in float: this file is
 * compiled without contraction. */
#include "decode/kernels/cv_equalize.h"

#include "base/compiler.h"
#include "decode/kernels/cv_border.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define VALUES 256

static uint8_t to_byte(float v)
{
    return (uint8_t)FDL_MAX(FDL_MIN(lrintf(v), 255), 0);
}

void fdl_cv_equalize(uint8_t *plane, size_t n)
{
    uint32_t count[VALUES] = {0}, sum = 0;
    uint8_t table[VALUES];
    for (size_t i = 0; i < n; i++)
        count[plane[i]]++;
    int32_t first = 0;
    while (count[first] == 0)
        first++;
    if (count[first] == n) /* they are all the same, and stay */
        return;
    float part = 255.0F / (float)(n - count[first]);
    table[first] = 0;
    for (int32_t v = first + 1; v < VALUES; v++) {
        sum += count[v];
        table[v] = to_byte((float)sum * part);
    }
    for (size_t i = 0; i < n; i++)
        plane[i] = table[plane[i]];
}

/* ---- Tiles -------------------------------------------------------------- */

/* Where a column of the image is among the tiles: the tables before and behind
 * it, and how much the latter counts. */
struct between {
    int32_t before, behind;
    float part;
};

struct clahe {
    const struct fdl_cv_clahe *s;
    uint8_t *plane;
    int32_t width, height;
    int32_t tile_width, tile_height;
    uint8_t *tables; /* of each tile, row by row */
    struct between *columns;
};

size_t fdl_cv_clahe_scratch(const struct fdl_cv_clahe *s, int32_t width)
{
    size_t tiles = (size_t)s->tiles_x * (size_t)s->tiles_y;
    return tiles * VALUES + (size_t)width * sizeof(struct between);
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
    memset(count, 0, VALUES * sizeof(*count));
    for (int32_t y = top; y < top + c->tile_height; y++) {
        int32_t at = fdl_cv_source(FDL_CV_REFLECT_101, y, c->height);
        const uint8_t *row = c->plane + (size_t)at * (size_t)c->width;
        int32_t end = left + c->tile_width, x = left;
        for (; x < FDL_MIN(end, c->width); x++)
            count[row[x]]++;
        for (; x < end; x++)
            count[row[fdl_cv_source(FDL_CV_REFLECT_101, x, c->width)]]++;
    }
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

static void mix_row(const struct clahe *c, int32_t y)
{
    struct between row = place_of(y, c->tile_height, c->s->tiles_y);
    size_t tables = (size_t)c->s->tiles_x * VALUES;
    const uint8_t *above = c->tables + (size_t)row.before * tables;
    const uint8_t *below = c->tables + (size_t)row.behind * tables;
    uint8_t *to = c->plane + (size_t)y * (size_t)c->width;
    float rest_y = 1.0F - row.part;
    for (int32_t x = 0; x < c->width; x++) {
        const struct between *at = &c->columns[x];
        size_t left = (size_t)at->before * VALUES + to[x];
        size_t right = (size_t)at->behind * VALUES + to[x];
        float rest_x = 1.0F - at->part;
        float high = above[left] * rest_x + above[right] * at->part;
        float low = below[left] * rest_x + below[right] * at->part;
        to[x] = to_byte(high * rest_y + low * row.part);
    }
}

void fdl_cv_clahe(const struct fdl_cv_clahe *s, uint8_t *plane, int32_t width,
                  int32_t height, uint8_t *scratch)
{
    struct clahe c = {.s = s,
                      .plane = plane,
                      .width = width,
                      .height = height,
                      .columns = (struct between *)(void *)scratch};
    c.tables = scratch + (size_t)width * sizeof(*c.columns);
    set_tile_size(&c);
    for (int32_t y = 0; y < s->tiles_y; y++) {
        for (int32_t x = 0; x < s->tiles_x; x++)
            make_table(&c, x, y);
    }
    for (int32_t x = 0; x < width; x++)
        c.columns[x] = place_of(x, c.tile_width, s->tiles_x);
    for (int32_t y = 0; y < height; y++)
        mix_row(&c, y);
}
