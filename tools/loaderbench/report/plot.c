/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/report/plot.h"

#include "tools/loaderbench/tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH      64 /* of what is drawn on, at most */
#define AXIS       12 /* columns before it, and one behind */
#define HEIGHT_MAX 24
#define MARK       PLOT_LINES /* behind the lines */

enum what { NOTHING, DOT, POINT };

struct cell {
    unsigned char what, line;
};

struct canvas {
    struct cell cells[HEIGHT_MAX][WIDTH];
    int width, height;
    double left, right, top; /* of the values; the bottom is 0 */
};

/* ---- What the terminal can ---------------------------------------------- */

/* The tool never sets a locale; what the user set tells what is shown well. */
static bool has_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strstr(value, "UTF-8") || strstr(value, "utf8") ||
                   strstr(value, "UTF8") || strstr(value, "utf-8");
    }
    return false;
}

static const char *marker(size_t line)
{
    static const char *const plain[] = {"o", "x", "+", "*", "#",
                                        "%", "@", "&", "K"};
    static const char *const utf8[] = {"●", "▲", "■", "◆", "○",
                                       "△", "□", "◇", "◉"};
    return has_utf8() ? utf8[line] : plain[line];
}

/* Of what stays until it changes, which has no markers. */
static const char *step(size_t line)
{
    static const char *const plain[] = {"#", ".", "=", "-"};
    static const char *const utf8[] = {"▪", "·", "▫", "-"};
    return has_utf8() ? utf8[line % 4] : plain[line % 4];
}

static const char *colour(size_t line)
{
    static const char *const codes[] = {"\033[36m", "\033[33m", "\033[32m",
                                        "\033[35m", "\033[34m", "\033[31m",
                                        "\033[37m", "\033[96m", "\033[1m"};
    return tool_colour(codes[line]);
}

/* ---- Drawing ------------------------------------------------------------ */

static int column_of(const struct canvas *c, double x)
{
    double span = c->right - c->left;
    double part = span > 0 ? (x - c->left) / span : 0;
    return (int)lround(part * (c->width - 1));
}

static int row_of(const struct canvas *c, double y)
{
    double part = c->top > 0 ? y / c->top : 0;
    if (part < 0 || isnan(part))
        part = 0;
    if (part > 1)
        part = 1;
    return c->height - 1 - (int)lround(part * (c->height - 1));
}

static void put(struct canvas *c, int column, int row, enum what what,
                size_t line)
{
    if (column < 0 || column >= c->width || row < 0 || row >= c->height)
        return;
    struct cell *cell = &c->cells[row][column];
    if (what < (enum what)cell->what)
        return;
    cell->what = (unsigned char)what;
    cell->line = (unsigned char)line;
}

static void put_dots(struct canvas *c, size_t line, double x0, double y0,
                     double x1, double y1)
{
    int a = column_of(c, x0), b = column_of(c, x1);
    int from = row_of(c, y0), to = row_of(c, y1);
    int steps = abs(b - a) > abs(to - from) ? abs(b - a) : abs(to - from);
    for (int i = 0; i <= steps; i++) {
        double part = steps ? (double)i / steps : 0;
        put(c, (int)lround(a + part * (b - a)),
            row_of(c, y0 + part * (y1 - y0)), DOT, line);
    }
}

static void draw(struct canvas *c, const struct plot_line *l, size_t line)
{
    for (size_t i = 0; i < l->n; i++) {
        if (i && l->steps) {
            put_dots(c, line, l->x[i - 1], l->y[i - 1], l->x[i], l->y[i - 1]);
            put_dots(c, line, l->x[i], l->y[i - 1], l->x[i], l->y[i]);
        } else if (i) {
            put_dots(c, line, l->x[i - 1], l->y[i - 1], l->x[i], l->y[i]);
        }
        if (!l->steps)
            put(c, column_of(c, l->x[i]), row_of(c, l->y[i]), POINT, line);
    }
}

static bool find_range(struct canvas *c, const struct plot *p)
{
    bool any = false;
    for (size_t i = 0; i < p->n_lines; i++)
        for (size_t k = 0; k < p->lines[i].n; k++) {
            double x = p->lines[i].x[k], y = p->lines[i].y[k];
            c->left = any ? fmin(c->left, x) : x;
            c->right = any ? fmax(c->right, x) : x;
            c->top = fmax(any ? c->top : 0, y);
            any = true;
        }
    return any;
}

/* ---- Printing ----------------------------------------------------------- */

static const char *glyph(const struct cell *cell, const struct plot *p)
{
    if (cell->what == POINT)
        return marker(cell->line);
    if (p->lines[cell->line].steps)
        return step(cell->line);
    return has_utf8() ? "·" : ".";
}

static void print_rows(const struct canvas *c, const struct plot *p)
{
    const char *bar = has_utf8() ? "│" : "|";
    for (int row = 0; row < c->height; row++) {
        double value = c->top * (c->height - 1 - row) / (c->height - 1);
        bool labelled = row % 3 == 0 || row == c->height - 1;
        if (labelled)
            printf(value >= 100 || value <= 0 ? "%9.0f %s" : "%9.3g %s", value,
                   bar);
        else
            printf("%9s %s", "", bar);
        int last = c->width - 1;
        while (last >= 0 && c->cells[row][last].what == NOTHING)
            last--;
        for (int i = 0; i <= last; i++) {
            const struct cell *cell = &c->cells[row][i];
            if (cell->what == NOTHING)
                putchar(' ');
            else
                printf("%s%s%s", colour(cell->line), glyph(cell, p),
                       tool_colour("\033[0m"));
        }
        putchar('\n');
    }
}

/* A tick whose words would touch those before it goes without. */
static void print_axis(const struct canvas *c, const struct plot *p)
{
    const char *corner = has_utf8() ? "└" : "+", *line = has_utf8() ? "─" : "-";
    char words[WIDTH + 32];
    int used = 0;
    printf("%9s %s", "", corner);
    for (int i = 0; i < c->width; i++)
        fputs(line, stdout);
    memset(words, ' ', sizeof(words));
    for (size_t i = 0; i < p->n_ticks; i++) {
        int n = (int)strlen(p->ticks[i].text);
        int at = column_of(c, p->ticks[i].x) - n / 2;
        at = at + n > c->width ? c->width - n : at;
        at = at < 0 ? 0 : at;
        if (used && at <= used)
            continue;
        memcpy(words + at, p->ticks[i].text, (size_t)n);
        used = at + n;
    }
    printf("\n%11s%.*s\n%11s%s\n", "", used, words, "",
           p->x_words ? p->x_words : "");
}

static void print_legend(const struct plot *p, size_t n_lines)
{
    printf("%10s", "");
    for (size_t i = 0; i < n_lines; i++)
        printf(" %s%s%s %s ", colour(i),
               p->lines[i].steps ? step(i) : marker(i), tool_colour("\033[0m"),
               p->lines[i].label);
    if (!isnan(p->mark_x))
        printf(" %s%s%s %s", colour(MARK), marker(MARK), tool_colour("\033[0m"),
               p->mark_words);
    if (n_lines < p->n_lines)
        printf(" (%zu more lines are not shown)", p->n_lines - n_lines);
    putchar('\n');
}

void plot_print(const struct plot *p)
{
    struct canvas c = {.width = tool_columns() - AXIS,
                       .height = p->height ? p->height : PLOT_HEIGHT};
    c.width = c.width > WIDTH       ? WIDTH
              : c.width < WIDTH / 8 ? WIDTH / 8
                                    : c.width;
    size_t n = p->n_lines < PLOT_LINES ? p->n_lines : PLOT_LINES;
    if (c.height > HEIGHT_MAX || !find_range(&c, p))
        return;
    for (size_t i = n; i-- > 0;)
        draw(&c, &p->lines[i], i);
    if (!isnan(p->mark_x))
        put(&c, column_of(&c, p->mark_x), row_of(&c, p->mark_y), POINT, MARK);
    printf("%s\n", p->title);
    print_rows(&c, p);
    print_axis(&c, p);
    if (n > 1 || !isnan(p->mark_x) || !strstr(p->title, p->lines[0].label))
        print_legend(p, n);
}
