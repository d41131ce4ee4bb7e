/* SPDX-License-Identifier: Apache-2.0 */
#include "store/dates.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
static const char days[] = "SunMonTueWedThuFriSat";

/* Years that are not four digits are no dates of a server. */
static void parts_of(int64_t time, struct tm *out)
{
    const int64_t last = INT64_C(253402300799);
    time_t t = (time_t)(time < 0 ? 0 : time > last ? last : time);
    gmtime_r(&t, out);
}

void fdl_date_basic(int64_t time, char out[FDL_DATE_BASIC])
{
    struct tm t;
    parts_of(time, &t);
    snprintf(out, FDL_DATE_BASIC, "%04u%02u%02uT%02u%02u%02uZ",
             ((unsigned)t.tm_year + 1900) % 10000,
             ((unsigned)t.tm_mon + 1) % 100, (unsigned)t.tm_mday % 100,
             (unsigned)t.tm_hour % 100, (unsigned)t.tm_min % 100,
             (unsigned)t.tm_sec % 100);
}

void fdl_date_http(int64_t time, char out[FDL_DATE_HTTP])
{
    struct tm t;
    parts_of(time, &t);
    snprintf(out, FDL_DATE_HTTP, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT",
             days + 3 * t.tm_wday, (unsigned)t.tm_mday % 100,
             months + 3 * t.tm_mon, ((unsigned)t.tm_year + 1900) % 10000,
             (unsigned)t.tm_hour % 100, (unsigned)t.tm_min % 100,
             (unsigned)t.tm_sec % 100);
}

/* sscanf's numbers may have signs and blanks; these are digits. */
static bool digits(const char **at, int n, int *out)
{
    *out = 0;
    for (; n > 0; n--, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        *out = *out * 10 + (**at - '0');
    }
    return true;
}

static bool mark(const char **at, char c)
{
    return *(*at)++ == c;
}

static bool clock_of(const char **at, struct tm *t)
{
    return digits(at, 2, &t->tm_hour) && mark(at, ':') &&
           digits(at, 2, &t->tm_min) && mark(at, ':') &&
           digits(at, 2, &t->tm_sec);
}

static bool time_of(struct tm *t, int64_t *out)
{
    if (t->tm_mon < 0 || t->tm_mon > 11 || t->tm_mday < 1 || t->tm_mday > 31 ||
        t->tm_hour > 23 || t->tm_min > 59 || t->tm_sec > 60 ||
        t->tm_year < 1970 || t->tm_year > 9999)
        return false;
    t->tm_year -= 1900;
    *out = timegm(t);
    return true;
}

static bool month_of(const char **at, struct tm *t)
{
    for (t->tm_mon = 0; t->tm_mon < 12; t->tm_mon++) {
        if (strncmp(*at, months + 3 * (size_t)t->tm_mon, 3) == 0) {
            *at += 3;
            return true;
        }
    }
    return false;
}

bool fdl_date_parse_http(const char *text, int64_t *out)
{
    struct tm t = {0};
    const char *at = text;
    if (strnlen(text, FDL_DATE_HTTP) < FDL_DATE_HTTP - 1)
        return false;
    at += 3; /* the day of the week follows from the date */
    return mark(&at, ',') && mark(&at, ' ') && digits(&at, 2, &t.tm_mday) &&
           mark(&at, ' ') && month_of(&at, &t) && mark(&at, ' ') &&
           digits(&at, 4, &t.tm_year) && mark(&at, ' ') && clock_of(&at, &t) &&
           strcmp(at, " GMT") == 0 && time_of(&t, out);
}

bool fdl_date_parse_iso(const char *text, int64_t *out)
{
    struct tm t = {0};
    const char *at = text;
    int hours = 0, minutes = 0;
    int64_t time;
    if (!digits(&at, 4, &t.tm_year) || !mark(&at, '-') ||
        !digits(&at, 2, &t.tm_mon) || !mark(&at, '-') ||
        !digits(&at, 2, &t.tm_mday) || !mark(&at, 'T') || !clock_of(&at, &t))
        return false;
    t.tm_mon--;
    if (*at == '.')
        at += 1 + strspn(at + 1, "0123456789");
    char zone = *at++;
    if (zone == '+' || zone == '-') {
        if (!digits(&at, 2, &hours) || !mark(&at, ':') ||
            !digits(&at, 2, &minutes))
            return false;
    } else if (zone != 'Z') {
        return false;
    }
    if (*at || !time_of(&t, &time))
        return false;
    int64_t ahead = 3600 * (int64_t)hours + 60 * (int64_t)minutes;
    *out = zone == '-' ? time + ahead : time - ahead;
    return true;
}
