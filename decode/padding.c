/* SPDX-License-Identifier: Apache-2.0 */
/* Borders as options say them. */
#include "decode/padding.h"

#include "base/compiler.h"

static bool are_whole(const struct fdl_option_value *v)
{
    for (uint32_t i = 0; i < v->n_doubles; i++) {
        if (v->doubles[i] != (double)(int32_t)v->doubles[i])
            return false;
    }
    return true;
}

int32_t fdl_padding_check(const struct fdl_options *o, uint32_t row)
{
    const struct fdl_option_value *v = fdl_option_value(o, row);
    if (v->n_doubles == 3 || !are_whole(v))
        return fdl_fail(FEEDLINE_EINVAL, "%s: %s takes 1, 2 or 4 whole numbers",
                        o->scope, o->table[row].name);
    return FEEDLINE_OK;
}

int32_t fdl_fill_check(const struct fdl_options *o, uint32_t row)
{
    const struct fdl_option_value *v = fdl_option_value(o, row);
    if (v->n_doubles > 4 || !are_whole(v))
        return fdl_fail(FEEDLINE_EINVAL, "%s: %s takes 1 to 4 whole numbers",
                        o->scope, o->table[row].name);
    return FEEDLINE_OK;
}

struct fdl_margins fdl_padding_margins(const struct fdl_options *o,
                                       uint32_t row)
{
    const struct fdl_option_value *v = fdl_option_value(o, row);
    int32_t side[4];
    for (uint32_t i = 0; i < 4; i++)
        side[i] = (int32_t)v->doubles[i % v->n_doubles];
    return (struct fdl_margins){side[0], side[1], side[2], side[3]};
}

void fdl_padding_grow(const struct fdl_margins *m, struct fdl_box *box)
{
    box->x -= m->left;
    box->y -= m->top;
    box->width += m->left + m->right;
    box->height += m->top + m->bottom;
}

void fdl_fill_of(const struct fdl_options *o, uint32_t row, uint8_t fill[4])
{
    const struct fdl_option_value *v = fdl_option_value(o, row);
    for (uint32_t c = 0; c < 4; c++)
        fill[c] = (uint8_t)v->doubles[FDL_MIN(c, v->n_doubles - 1)];
}
