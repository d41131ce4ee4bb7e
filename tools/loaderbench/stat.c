/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers by the table of statistics; see stat.h. */
#include "tools/loaderbench/stat.h"

#include <math.h>
#include <string.h>

bool stat_row(const char *part, uint32_t index, struct feedline_stat_info *row)
{
    *row = (struct feedline_stat_info){.struct_size = sizeof(*row)};
    return feedline_stat_get_info(part, index, row) == FEEDLINE_OK;
}

static json_t *value_json(const struct feedline_stat_info *row, const void *in)
{
    double x;
    if (row->type == FEEDLINE_STAT_TEXT) {
        const char *text;
        memcpy(&text, (const char *)in + row->offset, sizeof(text));
        return text ? json_string(text) : json_null();
    }
    x = feedline_stat_value(row, in);
    if (isnan(x))
        return json_null();
    if (row->type == FEEDLINE_STAT_DOUBLE || row->over || row->scale > 1 ||
        x >= 0x1p63)
        return json_real(x);
    return json_integer((json_int_t)x);
}

void stat_json(json_t *to, const char *part, const void *in, uint32_t without)
{
    struct feedline_stat_info row;
    for (uint32_t i = 0; stat_row(part, i, &row); i++) {
        const char *dot = strchr(row.name, '.');
        json_t *object = to;
        if (row.flags & without)
            continue;
        if (dot) {
            size_t n = (size_t)(dot - row.name);
            object = json_object_getn(to, row.name, n);
            if (!object) {
                object = json_object();
                json_object_setn_new(to, row.name, n, object);
            }
        }
        json_object_set_new(object, dot ? dot + 1 : row.name,
                            value_json(&row, in));
    }
}
