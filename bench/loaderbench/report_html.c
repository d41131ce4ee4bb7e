/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/loaderbench/report_html.h"

#include "bench/loaderbench/report_doc.h"
#include "bench/loaderbench/tool.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define REPLACEMENT "&#xfffd;"
#define THIN_SPACE  "\xe2\x80\xaf" /* narrow, does not break */

/* Bytes of the character at s, 0 if there is none. RFC 3629, section 4: the
 * second byte has a narrower range after some leads. */
static size_t character_bytes(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    size_t bytes = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    unsigned low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
    unsigned high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < bytes; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return bytes;
}

static const char *escape_of(unsigned char c)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return c == 0x7f || (c < 0x20 && c != '\n' && c != '\t') ? REPLACEMENT
                                                                 : NULL;
    }
}

/* C1 controls, which HTML does not allow either, and what turns the direction
 * of text: a path must not look like another one. */
static bool is_control(const unsigned char *s, size_t bytes)
{
    if (bytes == 2)
        return s[0] == 0xc2 && s[1] < 0xa0;
    if (bytes != 3 || s[0] != 0xe2)
        return false;
    return (s[1] == 0x80 &&
            (s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xaa && s[2] <= 0xae))) ||
           (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
}

void html_text(FILE *f, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    while (*s) {
        size_t bytes = character_bytes(s);
        const char *escape = bytes == 1 ? escape_of(*s) : NULL;
        if (bytes == 0 || is_control(s, bytes))
            escape = REPLACEMENT;
        if (escape)
            fputs(escape, f);
        else
            fwrite(s, 1, bytes, f);
        s += bytes ? bytes : 1;
    }
}

static const struct {
    const char *suffix;
    enum html_form form;
} units[] = {{"_bytes", HTML_BYTES},
             {"_seconds", HTML_SECONDS},
             {"_fraction", HTML_PERCENT}};
#define N_UNITS (sizeof(units) / sizeof(*units))

/* Which of them the key ends in; N_UNITS: none. */
static size_t unit_of(const char *key)
{
    size_t n = strlen(key);
    for (size_t i = 0; i < N_UNITS; i++) {
        size_t k = strlen(units[i].suffix);
        if (n > k && strcmp(key + n - k, units[i].suffix) == 0)
            return i;
    }
    return N_UNITS;
}

enum html_form html_form_of(const char *key)
{
    size_t unit = unit_of(key);
    return unit < N_UNITS ? units[unit].form : HTML_NUMBER;
}

void html_words(FILE *f, const char *key)
{
    char words[128];
    size_t unit = unit_of(key);
    snprintf(words, sizeof(words), "%s", key);
    if (unit < N_UNITS && strlen(words) == strlen(key))
        words[strlen(key) - strlen(units[unit].suffix)] = '\0';
    for (char *p = words; *p; p++)
        if (*p == '_')
            *p = ' ';
    html_text(f, words);
}

/* Thousands apart, as far as there are whole ones. */
static void group(const char *digits, char out[HTML_SHOWN])
{
    size_t n = strspn(digits + (*digits == '-'), "0123456789"), used = 0;
    n += *digits == '-';
    for (size_t i = 0; digits[i] && used + 5 < HTML_SHOWN; i++) {
        size_t left = n - i;
        if (i > (*digits == '-') && i < n && left % 3 == 0 && n > 4) {
            memcpy(out + used, THIN_SPACE, 3);
            used += 3;
        }
        out[used++] = digits[i];
    }
    out[used] = '\0';
}

static void show_number(double x, char out[HTML_SHOWN])
{
    char digits[HTML_SHOWN];
    double size = fabs(x);
    if (size >= 100 || x == floor(x))
        snprintf(digits, sizeof(digits), "%.0f", x);
    else
        snprintf(digits, sizeof(digits), size >= 10 ? "%.1f" : "%.3g", x);
    group(digits, out);
}

static void show_seconds(double x, char out[HTML_SHOWN])
{
    double size = fabs(x);
    if (size >= 100 || x == floor(x))
        snprintf(out, HTML_SHOWN, "%.0f s", x);
    else if (size >= 1)
        snprintf(out, HTML_SHOWN, size >= 10 ? "%.1f s" : "%.2f s", x);
    else if (size >= 1e-3)
        snprintf(out, HTML_SHOWN, "%.3g ms", x * 1e3);
    else
        snprintf(out, HTML_SHOWN, "%.3g µs", x * 1e6);
}

static void show_bytes(double x, char out[HTML_SHOWN])
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    while (fabs(x) >= 1024 && unit < 4) {
        x /= 1024;
        unit++;
    }
    snprintf(out, HTML_SHOWN,
             fabs(x) >= 100 || unit == 0 ? "%.0f %s" : "%.1f %s", x,
             names[unit]);
}

void html_shown(double value, enum html_form form, char out[HTML_SHOWN])
{
    if (!isfinite(value) || fabs(value) >= 1e18) {
        snprintf(out, HTML_SHOWN, "–");
        return;
    }
    switch (form) {
    case HTML_COUNT:
    case HTML_NUMBER:
        show_number(value, out);
        return;
    case HTML_PERCENT:
        snprintf(out, HTML_SHOWN, "%.1f %%", 100 * value);
        return;
    case HTML_GAIN:
        tool_gain(value, out);
        return;
    case HTML_SECONDS:
        show_seconds(value, out);
        return;
    case HTML_BYTES:
        show_bytes(value, out);
        return;
    }
}

void html_value(FILE *f, const char *key, double value, enum html_form form)
{
    char shown[HTML_SHOWN];
    html_shown(value, form, shown);
    if (!isfinite(value)) {
        fputs(shown, f);
        return;
    }
    fprintf(f, "<data value=\"%.9g\"", value);
    if (key)
        fprintf(f, " data-key=\"%s\"", key);
    fprintf(f, ">%s</data>", shown);
}

#define ANY_ITEMS 64 /* of a list that is shown in one line */

static void any_nested(FILE *f, const json_t *value, int depth);

static void any_members(FILE *f, const json_t *value, int depth)
{
    const char *between = "";
    json_t *object = doc_mutable(value);
    for (void *i = json_object_iter(object); i;
         i = json_object_iter_next(object, i)) {
        const char *key = json_object_iter_key(i);
        const json_t *member = json_object_iter_value(i);
        fputs(between, f);
        html_words(f, key);
        fputs("&nbsp;", f);
        if (json_is_number(member))
            html_value(f, NULL, json_number_value(member), html_form_of(key));
        else
            any_nested(f, member, depth + 1);
        between = ", ";
    }
}

static void any_nested(FILE *f, const json_t *value, int depth)
{
    size_t n = json_array_size(value);
    if (depth > 4) {
        fputs("…", f);
    } else if (json_is_string(value)) {
        html_text(f, json_string_value(value));
    } else if (json_is_number(value)) {
        html_value(f, NULL, json_number_value(value), HTML_NUMBER);
    } else if (json_is_boolean(value)) {
        fputs(json_is_true(value) ? "yes" : "no", f);
    } else if (json_is_object(value)) {
        any_members(f, value, depth);
    } else if (json_is_array(value)) {
        for (size_t i = 0; i < n && i < ANY_ITEMS; i++) {
            fputs(i ? ", " : "", f);
            any_nested(f, json_array_get(value, i), depth + 1);
        }
        if (n > ANY_ITEMS)
            fprintf(f, ", and %zu more", n - ANY_ITEMS);
        if (n == 0)
            fputs("none", f);
    } else {
        fputs("–", f);
    }
}

void html_any(FILE *f, const json_t *value)
{
    any_nested(f, value, 0);
}

void html_section(FILE *f, const char *title)
{
    fprintf(f, "<section>\n<h2>%s</h2>\n", title);
}

void html_section_end(FILE *f)
{
    fputs("</section>\n", f);
}

void html_table(FILE *f, const char *label, const char *columns)
{
    fprintf(f,
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
            "aria-label=\"%s\">\n<table>\n<thead><tr>",
            label);
    while (*columns) {
        bool number = *columns == '#';
        columns += number;
        size_t n = strcspn(columns, "|");
        fprintf(f, "<th scope=\"col\"%s>%.*s</th>",
                number ? " class=\"n\"" : "", (int)n, columns);
        columns += n + (columns[n] == '|');
    }
    fputs("</tr></thead>\n<tbody>\n", f);
}

void html_table_end(FILE *f)
{
    fputs("</tbody>\n</table>\n</div>\n", f);
}

void html_cell(FILE *f, double value, enum html_form form)
{
    fputs("<td class=\"n\">", f);
    html_value(f, NULL, value, form);
    fputs("</td>", f);
}

void html_text_cell(FILE *f, const char *text)
{
    fputs("<td>", f);
    html_text(f, text);
    fputs("</td>", f);
}
