/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sim/sheet.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void sheet_init(struct sheet *s, size_t columns)
{
    memset(s, 0, sizeof(*s));
    s->columns = columns;
}

void sheet_fini(struct sheet *s)
{
    free(s->cells);
    memset(s, 0, sizeof(*s));
}

void sheet_add(struct sheet *s, const char *fmt, ...)
{
    if (s->filled % s->columns == 0) {
        size_t all = s->filled + s->columns;
        char(*more)[SHEET_CELL] = realloc(s->cells, all * SHEET_CELL);
        if (!more) {
            s->failed = true;
            return;
        }
        s->cells = more;
        memset(more + s->filled, 0, s->columns * SHEET_CELL);
    }
    va_list args;
    va_start(args, fmt);
    vsnprintf(s->cells[s->filled], SHEET_CELL, fmt, args);
    va_end(args);
    s->filled++;
}

static size_t n_rows(const struct sheet *s)
{
    return s->failed ? 0 : s->filled / s->columns;
}

static const char *cell(const struct sheet *s, size_t row, size_t column)
{
    return s->cells[row * s->columns + column];
}

/* Letters, not bytes: UTF-8. */
static size_t letters(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static size_t widest(const struct sheet *s, size_t column)
{
    size_t most = 1;
    for (size_t r = 0; r < n_rows(s); r++) {
        size_t n = letters(cell(s, r, column));
        most = n > most ? n : most;
    }
    return most;
}

static void fill(FILE *f, size_t n, int c)
{
    while (n-- > 0)
        fputc(c, f);
}

void sheet_text(const struct sheet *s, FILE *f)
{
    fputc('\n', f);
    for (size_t r = 0; r < n_rows(s); r++) {
        for (size_t c = 0; c < s->columns; c++) {
            const char *text = cell(s, r, c);
            size_t blanks = widest(s, c) - letters(text);
            if (c)
                fill(f, 2 + blanks, ' ');
            fputs(text, f);
            if (!c)
                fill(f, blanks, ' ');
        }
        fputc('\n', f);
    }
}

void sheet_markdown(const struct sheet *s, FILE *f)
{
    for (size_t r = 0; r < n_rows(s); r++) {
        for (size_t c = 0; c < s->columns; c++)
            fprintf(f, "| %s ", cell(s, r, c));
        fputs("|\n", f);
        for (size_t c = 0; r == 0 && c < s->columns; c++)
            fputs(c ? "|---:" : "|---", f);
        if (r == 0)
            fputs("|\n", f);
    }
    fputc('\n', f);
}
