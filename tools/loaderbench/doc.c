/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/doc.h"

#include "tools/loaderbench/tool.h"

#include <math.h>
#include <stdlib.h>
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

/* NAN for what is no number, and for one that no measuring gives, which
 * would overflow. */
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

int64_t doc_int(const json_t *doc, const char *path)
{
    return json_integer_value(doc_at(doc, path));
}

const char *doc_text(const json_t *doc, const char *path)
{
    const char *text = json_string_value(doc_at(doc, path));
    return text ? text : "";
}

double *doc_values(const json_t *list, const char *path, size_t *n)
{
    double *x = malloc((json_array_size(list) + 1) * sizeof(*x));
    *n = 0;
    for (size_t i = 0; x && i < json_array_size(list); i++) {
        x[*n] = doc_number(json_array_get(list, i), path);
        if (!isnan(x[*n]))
            ++*n;
    }
    return x;
}

double doc_median(const json_t *list, const char *path)
{
    size_t n;
    double *x = doc_values(list, path, &n);
    double median = x && n ? tool_median(x, n) : (double)NAN;
    free(x);
    return median;
}

double doc_noise(const json_t *list, const char *path)
{
    size_t n;
    double *x = doc_values(list, path, &n);
    double median = x && n > 1 ? tool_median(x, n) : 0;
    double noise = median > 0 ? (x[n - 1] - x[0]) / 2 / median : (double)NAN;
    free(x);
    return noise;
}

json_t *doc_known(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *doc_string(const char *text)
{
    json_t *string = text ? json_string(text) : NULL;
    return string ? string : json_null();
}

json_t *doc_mutable(const json_t *object)
{
    json_t *same;
    memcpy(&same, &object, sizeof(same));
    return same;
}
