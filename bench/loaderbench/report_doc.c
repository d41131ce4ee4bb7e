/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/loaderbench/report_doc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const json_t *doc_at(const json_t *doc, const char *path)
{
    while (doc && *path) {
        char key[64];
        size_t n = strcspn(path, ".");
        if (n >= sizeof(key))
            return NULL;
        memcpy(key, path, n);
        key[n] = '\0';
        doc = json_object_get(doc, key);
        path += n + (path[n] == '.');
    }
    return doc;
}

/* NAN for what is no number, and for one that no measuring gives, with which
 * the arithmetic of a drawing would run over. */
static double number_of(const json_t *value)
{
    double x = json_number_value(value);
    return json_is_number(value) && fabs(x) < 1e100 ? x : (double)NAN;
}

double doc_number(const json_t *doc, const char *path)
{
    return number_of(doc_at(doc, path));
}

double doc_or_0(const json_t *doc, const char *path)
{
    double x = doc_number(doc, path);
    return isnan(x) ? 0 : x;
}

const char *doc_text(const json_t *doc, const char *path)
{
    const char *text = json_string_value(doc_at(doc, path));
    return text ? text : "";
}

double doc_time(const json_t *doc, const char *name)
{
    static const struct {
        const char *suffix;
        double seconds;
    } units[] = {{"seconds", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        char key[64];
        snprintf(key, sizeof(key), "%s_%s", name, units[i].suffix);
        const json_t *value = json_object_get(doc, key);
        if (json_is_number(value))
            return number_of(value) * units[i].seconds;
    }
    return (double)NAN;
}

json_t *doc_mutable(const json_t *object)
{
    json_t *same;
    memcpy(&same, &object, sizeof(same));
    return same;
}
