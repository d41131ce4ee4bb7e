/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From text to value, the only place where that happens.
 *
 * Numbers are read by hand and not by strtoll, which skips blanks, takes "010"
 * for eight and has no suffixes. Whatever is refused is refused with an example
 * of what would be taken, because the reader of that line is about to type it.
 */
#include "base/option_parse.h"

#include "base/memory.h"
#include "base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_TEXT_BYTES 40

struct suffix {
    const char *text;
    int64_t scale;
};

/* Largest last: bounds in messages are written with the largest that divides
 * them, and the first spelling of it. */
static const struct suffix size_suffixes[] = {
    {"", 1},
    {"b", 1},
    {"k", INT64_C(1) << 10},
    {"kb", INT64_C(1) << 10},
    {"kib", INT64_C(1) << 10},
    {"m", INT64_C(1) << 20},
    {"mb", INT64_C(1) << 20},
    {"mib", INT64_C(1) << 20},
    {"g", INT64_C(1) << 30},
    {"gb", INT64_C(1) << 30},
    {"gib", INT64_C(1) << 30},
    {"t", INT64_C(1) << 40},
    {"tb", INT64_C(1) << 40},
    {"tib", INT64_C(1) << 40},
};
static const struct suffix time_suffixes[] = {
    {"ns", 1},
    {"us", 1000},
    {"ms", 1000000},
    {"s", 1000000000},
    {"m", INT64_C(60) * 1000000000},
    {"h", INT64_C(3600) * 1000000000},
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

static bool allows_auto(const struct fdl_option *row)
{
    bool is_number = row->type == FEEDLINE_T_INT ||
                     row->type == FEEDLINE_T_SIZE ||
                     row->type == FEEDLINE_T_TIME;
    return is_number && (row->flags & FEEDLINE_OPT_AUTO);
}

static int64_t count_choices(const char *choices)
{
    int64_t n = 1;
    for (; *choices; choices++)
        n += *choices == '|';
    return n;
}

/* ---- Messages ----------------------------------------------------------- */

static void write_scaled(char buf[NUMBER_TEXT_BYTES], int64_t value,
                         const struct suffix *suffixes, size_t n)
{
    const struct suffix *best = &suffixes[0];
    for (size_t i = 1; i < n; i++) {
        if (suffixes[i].scale > best->scale && value % suffixes[i].scale == 0)
            best = &suffixes[i];
    }
    snprintf(buf, NUMBER_TEXT_BYTES, "%" PRId64 "%s", value / best->scale,
             value == 0 ? "" : best->text);
}

static void write_number(char buf[NUMBER_TEXT_BYTES],
                         const struct fdl_option *row, int64_t value)
{
    if (row->type == FEEDLINE_T_SIZE)
        write_scaled(buf, value, size_suffixes, FDL_COUNT_OF(size_suffixes));
    else if (row->type == FEEDLINE_T_TIME)
        write_scaled(buf, value, time_suffixes, FDL_COUNT_OF(time_suffixes));
    else
        snprintf(buf, NUMBER_TEXT_BYTES, "%" PRId64, value);
}

/* low or high "": no bound on that side. */
static int32_t fail_range(const struct fdl_option *row, const char *text,
                          const char *low, const char *high)
{
    const char *before = *low && *high ? "" : *low ? "at least " : "at most ";
    const char *between = *low && *high ? " to " : "";
    const char *unit = row->type == FEEDLINE_T_TIME ? "" : row->unit;
    return fdl_fail(FEEDLINE_ERANGE, "%s=%s is out of range: %s%s%s%s%s%s%s%s",
                    row->name, text, before, low, between, high,
                    unit && *unit ? " " : "", unit ? unit : "",
                    row->type == FEEDLINE_T_DOUBLES ? ", each" : "",
                    allows_auto(row) ? ", or auto" : "");
}

static void get_bounds(const struct fdl_option *row, int64_t *min, int64_t *max)
{
    bool is_place =
        row->type == FEEDLINE_T_BOOL || row->type == FEEDLINE_T_ENUM;
    *min = is_place ? 0 : row->min;
    *max = is_place ? 1 : row->max;
    if (row->choices)
        *max = count_choices(row->choices) - 1;
}

static bool in_range(const struct fdl_option *row, int64_t value)
{
    int64_t min, max;
    get_bounds(row, &min, &max);
    return (value == 0 && allows_auto(row)) || (value >= min && value <= max);
}

static int32_t fail_number_range(const struct fdl_option *row, const char *text)
{
    char low[NUMBER_TEXT_BYTES] = "", high[NUMBER_TEXT_BYTES] = "";
    int64_t min, max;
    get_bounds(row, &min, &max);
    if (min > INT64_MIN)
        write_number(low, row, min);
    if (max < INT64_MAX || !*low)
        write_number(high, row, max);
    return fail_range(row, text, low, high);
}

static int32_t fail_double_range(const struct fdl_option *row, const char *text)
{
    char low[NUMBER_TEXT_BYTES] = "", high[NUMBER_TEXT_BYTES] = "";
    if (isfinite(row->double_min))
        fdl_format_double(low, row->double_min);
    if (isfinite(row->double_max) || !*low)
        fdl_format_double(high, row->double_max);
    return fail_range(row, text, low, high);
}

static int32_t fail_syntax(const struct fdl_option *row, const char *text,
                           const char *expected)
{
    return fdl_fail(FEEDLINE_EINVAL, "%s='%s' is not %s%s", row->name, text,
                    expected, allows_auto(row) ? ", or auto" : "");
}

/* ---- Whole numbers ------------------------------------------------------ */

/* A number before its range is known. */
struct scan {
    const char *rest; /* what follows it */
    uint64_t magnitude;
    bool negative;
    bool overflow;
};

static int digit_value(char c)
{
    char l = lower(c);
    if (c >= '0' && c <= '9')
        return c - '0';
    return l >= 'a' && l <= 'f' ? l - 'a' + 10 : 99;
}

static void scan_sign(struct scan *s)
{
    s->negative = *s->rest == '-';
    if (*s->rest == '-' || *s->rest == '+')
        s->rest++;
}

/* false: no digit. */
static bool scan_digits(struct scan *s, unsigned base)
{
    const char *first = s->rest;
    for (;; s->rest++) {
        unsigned digit = (unsigned)digit_value(*s->rest);
        if (digit >= base)
            return s->rest > first;
        if (s->magnitude > (UINT64_MAX - digit) / base)
            s->overflow = true;
        else
            s->magnitude = s->magnitude * base + digit;
    }
}

static bool signed_value(const struct scan *s, int64_t *out)
{
    uint64_t limit = (uint64_t)INT64_MAX + (s->negative ? 1 : 0);
    if (s->overflow || s->magnitude > limit)
        return false;
    /* Two's complement: C11 has no other way to write -2^63. */
    uint64_t bits = s->negative ? 0 - s->magnitude : s->magnitude;
    memcpy(out, &bits, sizeof(bits));
    return true;
}

static int32_t finish_number(const struct fdl_option *row, const char *text,
                             const struct scan *s, int64_t *out)
{
    int64_t value;
    if (!signed_value(s, &value) || !in_range(row, value))
        return fail_number_range(row, text);
    *out = value;
    return FEEDLINE_OK;
}

static int32_t parse_int(const struct fdl_option *row, const char *text,
                         int64_t *out)
{
    struct scan s = {.rest = text};
    scan_sign(&s);
    bool hexadecimal = s.rest[0] == '0' && lower(s.rest[1]) == 'x';
    if (hexadecimal)
        s.rest += 2;
    if (!scan_digits(&s, hexadecimal ? 16 : 10) || *s.rest)
        return fail_syntax(row, text, "a whole number, such as 64 or 0x40");
    return finish_number(row, text, &s, out);
}

/* ---- Numbers with a unit ------------------------------------------------ */

/* Adds the digits at `fraction`, a part of `scale`. A scale is below 2^53, so
 * the sum is off by far less than the half that rounding forgives. */
static void add_fraction(struct scan *s, const char *fraction, int64_t scale)
{
    double unit = (double)scale, sum = 0.0;
    for (; *fraction >= '0' && *fraction <= '9'; fraction++) {
        unit /= 10;
        sum += unit * (*fraction - '0');
    }
    uint64_t part = (uint64_t)(sum + 0.5);
    if (s->magnitude > UINT64_MAX - part)
        s->overflow = true;
    else
        s->magnitude += part;
}

static void multiply(struct scan *s, int64_t scale)
{
    if (s->magnitude > UINT64_MAX / (uint64_t)scale)
        s->overflow = true;
    else
        s->magnitude *= (uint64_t)scale;
}

/* The scale of a suffix, 0 if there is no such suffix. */
static int64_t find_scale(const char *text, const struct suffix *suffixes,
                          size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (same_word(text, suffixes[i].text))
            return suffixes[i].scale;
    }
    return 0;
}

/* Sign, digits, point, digits. *fraction: those behind the point, NULL if there
 * is no point. */
static bool scan_decimal(struct scan *s, const char **fraction)
{
    scan_sign(s);
    bool digits = scan_digits(s, 10);
    *fraction = NULL;
    if (*s->rest == '.') {
        *fraction = ++s->rest;
        s->rest += strspn(s->rest, "0123456789");
        digits = digits || s->rest > *fraction;
    }
    return digits;
}

static int32_t parse_size(const struct fdl_option *row, const char *text,
                          int64_t *out)
{
    struct scan s = {.rest = text};
    const char *fraction;
    int64_t scale = 0;
    if (scan_decimal(&s, &fraction))
        scale = find_scale(s.rest, size_suffixes, FDL_COUNT_OF(size_suffixes));
    if (scale == 0 || (scale == 1 && fraction))
        return fail_syntax(row, text, "a size, such as 4096, 64k, 1.5m or 2g");
    multiply(&s, scale);
    if (fraction)
        add_fraction(&s, fraction, scale);
    return finish_number(row, text, &s, out);
}

static int32_t parse_time(const struct fdl_option *row, const char *text,
                          int64_t *out)
{
    struct scan s = {.rest = text};
    const char *fraction;
    int64_t scale = 0;
    bool digits = scan_decimal(&s, &fraction);
    bool is_zero = s.magnitude == 0 && !s.overflow && !fraction;
    if (digits && !*s.rest && !is_zero)
        return fail_syntax(row, text,
                           "a time: it needs a unit, one of ns us ms s m h");
    if (digits && !*s.rest)
        scale = 1;
    else if (digits)
        scale = find_scale(s.rest, time_suffixes, FDL_COUNT_OF(time_suffixes));
    if (scale == 0 || (scale == 1 && fraction))
        return fail_syntax(row, text, "a time, such as 250us, 10ms or 1.5s");
    multiply(&s, scale);
    if (fraction)
        add_fraction(&s, fraction, scale);
    return finish_number(row, text, &s, out);
}

/* ---- The other types ---------------------------------------------------- */

static bool in_double_range(const struct fdl_option *row, double value)
{
    return isfinite(value) && value >= row->double_min &&
           value <= row->double_max;
}

static int32_t parse_double(const struct fdl_option *row, const char *text,
                            struct fdl_option_value *out)
{
    const char *end;
    double value;
    if (!fdl_parse_double(text, &end, &value) || *end)
        return fail_syntax(row, text, "a number, such as 0.5");
    if (!in_double_range(row, value))
        return fail_double_range(row, text);
    out->doubles[0] = value;
    out->n_doubles = 1;
    return FEEDLINE_OK;
}

static int32_t parse_doubles(const struct fdl_option *row, const char *text,
                             struct fdl_option_value *out)
{
    static const char expected[] = "one to 16 numbers, such as 0.08:1";
    const char *s = text;
    for (uint32_t n = 0; n < FDL_OPTION_DOUBLES; n++) {
        double value;
        if (!fdl_parse_double(s, &s, &value))
            break;
        if (*s && *s != ',' && *s != ':')
            break;
        if (!in_double_range(row, value))
            return fail_double_range(row, text);
        out->doubles[n] = value;
        out->n_doubles = n + 1;
        if (!*s)
            return FEEDLINE_OK;
        s++;
        s += strspn(s, " \t"); /* "0.1, 0.2", as one writes lists */
    }
    return fail_syntax(row, text, expected);
}

size_t fdl_option_choice_at(const char *choices, int64_t index,
                            const char **out)
{
    for (; index > 0; index--) {
        choices += strcspn(choices, "|");
        if (!*choices)
            return 0;
        choices++;
    }
    *out = choices;
    return strcspn(choices, "|");
}

static int32_t parse_enum(const struct fdl_option *row, const char *text,
                          int64_t *out)
{
    const char *choice;
    size_t length;
    for (int64_t i = 0;
         (length = fdl_option_choice_at(row->choices, i, &choice)) > 0; i++) {
        if (strlen(text) == length && memcmp(text, choice, length) == 0) {
            *out = i;
            return FEEDLINE_OK;
        }
    }
    return fdl_fail(FEEDLINE_EINVAL, "%s='%s' is not one of %s", row->name,
                    text, row->choices);
}

static int32_t parse_bool(const struct fdl_option *row, const char *text,
                          int64_t *out)
{
    static const char *const words[] = {"false", "true", "no", "yes",
                                        "off",   "on",   "0",  "1"};
    for (size_t i = 0; i < FDL_COUNT_OF(words); i++) {
        if (same_word(text, words[i])) {
            *out = (int64_t)(i % 2);
            return FEEDLINE_OK;
        }
    }
    if (row->choices)
        return parse_enum(row, text, out);
    return fail_syntax(row, text, "one of true, false, yes, no, on, off, 1, 0");
}

static int32_t parse_string(const struct fdl_option *row, const char *text,
                            char **out)
{
    char *copy = fdl_strdup(text);
    if (!copy)
        return fdl_fail_memory(strlen(text) + 1, row->name);
    *out = copy;
    return FEEDLINE_OK;
}

/* ---- Entry points ------------------------------------------------------- */

int32_t fdl_option_parse(const struct fdl_option *row, const char *text,
                         struct fdl_option_value *out)
{
    *out = (struct fdl_option_value){0};
    if (allows_auto(row) && same_word(text, "auto"))
        return FEEDLINE_OK;

    switch (row->type) {
    case FEEDLINE_T_INT:
        return parse_int(row, text, &out->number);
    case FEEDLINE_T_SIZE:
        return parse_size(row, text, &out->number);
    case FEEDLINE_T_TIME:
        return parse_time(row, text, &out->number);
    case FEEDLINE_T_DOUBLE:
        return parse_double(row, text, out);
    case FEEDLINE_T_BOOL:
        return parse_bool(row, text, &out->number);
    case FEEDLINE_T_ENUM:
        return parse_enum(row, text, &out->number);
    case FEEDLINE_T_STRING:
        return parse_string(row, text, &out->text);
    case FEEDLINE_T_DOUBLES:
        return parse_doubles(row, text, out);
    }
    return fdl_fail(FEEDLINE_EINVAL, "%s: option type %" PRId32 " is unknown",
                    row->name, row->type);
}

int32_t fdl_option_check_number(const struct fdl_option *row, int64_t value)
{
    if (in_range(row, value))
        return FEEDLINE_OK;
    char text[NUMBER_TEXT_BYTES];
    snprintf(text, sizeof(text), "%" PRId64, value);
    return fail_number_range(row, text);
}

/* The closing quote of the text that starts behind an opening one. */
static char *find_quote(char *s)
{
    for (; *s && *s != '"'; s++) {
        if (*s == '\\' && (s[1] == '"' || s[1] == '\\'))
            s++;
    }
    return *s ? s : NULL;
}

char *fdl_option_unquote(char *s)
{
    char *end = find_quote(s + 1);
    if (!end)
        return NULL;

    char *to = s;
    for (s++; s < end; s++) {
        if (*s == '\\' && (s[1] == '"' || s[1] == '\\'))
            s++;
        *to++ = *s;
    }
    *to = '\0';
    return end + 1;
}
