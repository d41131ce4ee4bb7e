/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of stages; see stats_table.h. Cells are made first and columns are
 * as wide as their widest cell, so that it fits a terminal as long as it can.
 *
 *     Name               Items  Busy s  Busy %  Starved %  ...
 *     -----------------  -----  ------  ------  ---------
 *     read                 960    1.20   12.00      88.00
 *     consume              120    8.00   80.00      20.00
 *     consume/forward      120    2.10       -          -
 */
#include "loader/report/stats_table.h"

#include "base/status.h"
#include "loader/watch/phases.h"
#include "loader/watch/stats.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELL_BYTES 48
#define ROWS_MAX   (FDL_STAGES_MAX + 64u)

enum column {
    NAME = 0,
    ITEMS,
    BUSY_S,
    BUSY_PART,
    STARVED,
    BLOCKED,
    LOCKED,
    MEAN,
    P50,
    P90,
    P99,
    MAX,
    BYTES,
    N_COLUMNS
};

/* key: what sort_by calls it; NULL: not sorted by. */
static const struct {
    const char *title, *key;
} columns[N_COLUMNS] = {
    [NAME] = {"Name", "name"},       [ITEMS] = {"Items", "items"},
    [BUSY_S] = {"Busy s", "busy"},   [BUSY_PART] = {"Busy %", NULL},
    [STARVED] = {"Starved %", NULL}, [BLOCKED] = {"Blocked %", NULL},
    [LOCKED] = {"Lock %", NULL},     [MEAN] = {"Mean", "mean"},
    [P50] = {"p50", "p50"},          [P90] = {"p90", "p90"},
    [P99] = {"p99", "p99"},          [MAX] = {"Max", "max"},
    [BYTES] = {"Bytes/s", "bytes"},
};

struct row {
    char cell[N_COLUMNS][CELL_BYTES];
    double value[N_COLUMNS]; /* to sort by; -1: none */
    uint32_t place;          /* in the order of the path */
};

static void put_count(struct row *r, enum column c, uint64_t n)
{
    r->value[c] = (double)n;
    snprintf(r->cell[c], CELL_BYTES, "%" PRIu64, n);
}

static void put_time(struct row *r, enum column c, double ns)
{
    r->value[c] = ns;
    if (ns < 1e3)
        snprintf(r->cell[c], CELL_BYTES, "%.0fns", ns);
    else if (ns < 1e6)
        snprintf(r->cell[c], CELL_BYTES, "%.3fus", ns / 1e3);
    else if (ns < 1e9)
        snprintf(r->cell[c], CELL_BYTES, "%.3fms", ns / 1e6);
    else
        snprintf(r->cell[c], CELL_BYTES, "%.3fs", ns / 1e9);
}

static void put_seconds(struct row *r, enum column c, uint64_t ns)
{
    r->value[c] = (double)ns;
    snprintf(r->cell[c], CELL_BYTES, "%.3f", (double)ns / 1e9);
}

static void put_part(struct row *r, enum column c, uint64_t part,
                     uint64_t whole)
{
    if (whole)
        snprintf(r->cell[c], CELL_BYTES, "%.2f",
                 100 * (double)part / (double)whole);
}

static void put_rate(struct row *r, enum column c, uint64_t bytes,
                     uint64_t wall_ns)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    double rate = wall_ns ? (double)bytes * 1e9 / (double)wall_ns : 0;
    uint32_t unit = 0;
    if (bytes == 0)
        return;
    for (r->value[c] = rate; rate >= 1000 && unit < 4; unit++)
        rate /= 1000;
    snprintf(r->cell[c], CELL_BYTES, "%.1f %s", rate, units[unit]);
}

static void begin_row(struct row *r, uint32_t place, const char *prefix,
                      const char *name)
{
    for (uint32_t c = 0; c < N_COLUMNS; c++) {
        strcpy(r->cell[c], "-");
        r->value[c] = -1;
    }
    r->place = place;
    snprintf(r->cell[NAME], CELL_BYTES, "%s%s", prefix, name);
}

static void add_stage(struct fdl_watch *watch, uint32_t stage, uint64_t wall_ns,
                      struct row *r)
{
    struct feedline_stage_stats s;
    fdl_stats_stage(watch, stage, &s);
    uint64_t sum = s.busy_ns + s.starved_ns + s.blocked_ns;
    begin_row(r, stage, "", fdl_stats_stage_name(watch, stage));
    put_count(r, ITEMS, s.items);
    put_seconds(r, BUSY_S, s.busy_ns);
    put_part(r, BUSY_PART, s.busy_ns, sum);
    put_part(r, STARVED, s.starved_ns, sum);
    put_part(r, BLOCKED, s.blocked_ns, sum);
    if (s.lock_ns > 0) {
        put_part(r, LOCKED, s.lock_ns, sum);
        r->value[LOCKED] = (double)s.lock_ns;
    }
    put_rate(r, BYTES, s.bytes, wall_ns);
    if (s.items == 0)
        return;
    put_time(r, MEAN, (double)s.busy_ns / (double)s.items);
    put_time(r, P50, (double)s.p50_ns);
    put_time(r, P90, (double)s.p90_ns);
    put_time(r, P99, (double)s.p99_ns);
    put_time(r, MAX, (double)s.max_ns);
}

/* Phases stand under what they are parts of; their time is their own. */
static void add_phase(const struct feedline_phase_stats *p, uint32_t place,
                      uint64_t user_ns, struct row *r)
{
    begin_row(r, place, "consume/", p->name);
    put_count(r, ITEMS, p->count);
    put_seconds(r, BUSY_S, p->self_ns);
    put_part(r, BUSY_PART, p->self_ns, user_ns);
    if (p->count == 0)
        return;
    put_time(r, MEAN, (double)p->total_ns / (double)p->count);
    put_time(r, MAX, (double)p->max_ns);
}

/* ---- Order -------------------------------------------------------------- */

/* qsort has no argument for its comparison. One thread sorts its own rows. */
struct order {
    struct row *row;
    enum column by;
};

static int compare(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    double u = x->row->value[x->by], v = y->row->value[y->by];
    int names =
        x->by == NAME ? strcmp(x->row->cell[NAME], y->row->cell[NAME]) : 0;
    if (names)
        return names;
    if (u != v)
        return u < v ? 1 : -1;
    return x->row->place < y->row->place ? -1 : x->row->place > y->row->place;
}

/* *by: N_COLUMNS for the order of the path. */
static int32_t find_column(const char *sort_by, enum column *by)
{
    *by = N_COLUMNS;
    if (!sort_by)
        return FEEDLINE_OK;
    for (uint32_t c = 0; c < N_COLUMNS; c++) {
        if (columns[c].key && strcmp(columns[c].key, sort_by) == 0) {
            *by = (enum column)c;
            return FEEDLINE_OK;
        }
    }
    return fdl_fail(FEEDLINE_EINVAL,
                    "a table is not sorted by '%s', but by busy, items, bytes, "
                    "mean, p50, p90, p99, max or name",
                    sort_by);
}

/* ---- Lines -------------------------------------------------------------- */

/* Few programs have a lock to wait for; the others keep their width. */
static bool has_column(const struct order *rows, uint32_t n, uint32_t c)
{
    bool has = c != LOCKED;
    for (uint32_t k = 0; k < n && !has; k++)
        has = rows[k].row->value[c] > 0;
    return has;
}

static void add_line(struct fdl_text *out, const struct order *rows, uint32_t n,
                     uint32_t i)
{
    for (uint32_t c = 0; c < N_COLUMNS; c++) {
        if (!has_column(rows, n, c))
            continue;
        int width = (int)strlen(columns[c].title);
        for (uint32_t k = 0; k < n; k++)
            width = FDL_MAX(width, (int)strlen(rows[k].row->cell[c]));
        const char *cell = i == 0   ? columns[c].title
                           : i == 1 ? "" /* a line of dashes */
                                    : rows[i - 2].row->cell[c];
        const char *gap = c ? "  " : "";
        if (i == 1) {
            fdl_text_add(out, "%s", gap);
            for (int k = 0; k < width; k++)
                fdl_text_add(out, "-");
        } else if (c == NAME) {
            fdl_text_add(out, "%-*s", width, cell);
        } else {
            fdl_text_add(out, "%s%*s", gap, width, cell);
        }
    }
    fdl_text_add(out, "\n");
}

static void add_sums(const struct feedline_stats *s, struct fdl_text *out)
{
    double wall = (double)s->wall_ns;
    double part = wall > 0 ? 100 / wall : 0;
    fdl_text_add(out,
                 "Wall %.3f s = consumer %.3f s (%.2f %%) + waited %.3f s "
                 "(%.2f %%) + calls %.3f s (%.2f %%); %" PRIu64
                 " batches, %" PRIu64 " samples\n",
                 wall / 1e9, (double)s->user_ns / 1e9,
                 (double)s->user_ns * part, (double)s->wait_ns / 1e9,
                 (double)s->wait_ns * part, (double)s->api_ns / 1e9,
                 (double)s->api_ns * part, s->batches, s->samples);
    if (s->mixing > 0)
        fdl_text_add(out,
                     "shuffle=block: labels of a batch vary %.2f times as much "
                     "as with a full shuffle\n",
                     s->mixing);
}

int32_t fdl_stats_table(struct fdl_watch *watch, const char *sort_by,
                        uint32_t row_limit, struct fdl_text *out)
{
    struct feedline_stats s;
    struct feedline_phase_stats phase;
    enum column by;
    int32_t status = find_column(sort_by, &by);
    if (status < 0)
        return status;
    struct row *rows = calloc(ROWS_MAX, sizeof(*rows));
    struct order *order = calloc(ROWS_MAX, sizeof(*order));
    if (!rows || !order) {
        free(order);
        free(rows);
        return fdl_fail_memory(ROWS_MAX * sizeof(*rows), "a table");
    }
    fdl_stats_get(watch, &s);
    uint32_t n = 0, place = 0;
    for (; n < fdl_stats_stage_count(watch); n++)
        add_stage(watch, n, s.wall_ns, &rows[n]);
    while (n < ROWS_MAX && fdl_phases_get(watch, place, &phase) == FEEDLINE_OK)
        add_phase(&phase, FDL_STAGES_MAX + place++, s.user_ns, &rows[n++]);
    fdl_clear_error();
    for (uint32_t i = 0; i < n; i++)
        order[i] = (struct order){.row = &rows[i], .by = by};
    if (by != N_COLUMNS)
        qsort(order, n, sizeof(*order), compare);
    uint32_t shown = row_limit && row_limit < n ? row_limit : n;
    for (uint32_t i = 0; i < shown + 2; i++)
        add_line(out, order, shown, i);
    if (shown < n)
        fdl_text_add(out, "%" PRIu32 " more rows\n", n - shown);
    add_sums(&s, out);
    free(order);
    free(rows);
    return FEEDLINE_OK;
}
