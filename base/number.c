/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doubles as text. strtod and printf do the arithmetic; this file keeps their
 * two surprises out: the decimal point of the program's locale, and the other
 * things that strtod takes for numbers ("nan", "infinity", "0x1p3", " 1").
 *
 * uselocale changes the locale of the calling thread only and costs a few
 * nanoseconds, so no number is patched after the fact.
 */
#include "base/number.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_once_t locale_once = PTHREAD_ONCE_INIT;
static locale_t c_locale;

static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* The locale to go back to. */
static locale_t enter_c_locale(void)
{
    pthread_once(&locale_once, make_locale);
    return uselocale(c_locale);
}

static const char *skip_digits(const char *s)
{
    while (*s >= '0' && *s <= '9')
        s++;
    return s;
}

/* The end of the number at `s`, NULL if there is none. */
static const char *scan_double(const char *s)
{
    if (*s == '+' || *s == '-')
        s++;
    const char *whole = s;
    s = skip_digits(s);
    bool digits = s > whole;
    if (*s == '.') {
        const char *fraction = s + 1;
        s = skip_digits(fraction);
        digits = digits || s > fraction;
    }
    if (!digits)
        return NULL;
    if (*s == 'e' || *s == 'E') {
        const char *exponent = s + 1;
        if (*exponent == '+' || *exponent == '-')
            exponent++;
        const char *end = skip_digits(exponent);
        if (end > exponent)
            s = end;
    }
    return s;
}

bool fdl_parse_double(const char *text, const char **end, double *out)
{
    const char *stop = scan_double(text);
    if (!stop)
        return false;

    char *strtod_end;
    locale_t before = enter_c_locale();
    double value = strtod(text, &strtod_end);
    uselocale(before);
    if (strtod_end != stop) /* it goes on after the 0 of "0x1" only */
        value = 0.0;
    *end = stop;
    *out = value;
    return true;
}

void fdl_format_double(char buf[FDL_DOUBLE_BYTES], double value)
{
    locale_t before = enter_c_locale();
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buf, FDL_DOUBLE_BYTES, "%.*g", digits, value);
        double back = strtod(buf, NULL);
        if (!(back < value) && !(back > value)) /* equal, or not a number */
            break;
    }
    uselocale(before);
}
