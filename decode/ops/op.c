/* SPDX-License-Identifier: Apache-2.0 */
/* The list of built-in operations, and what several of them share. */
#include "decode/ops/op.h"

#include "base/closest.h"
#include "base/compiler.h"
#include "base/status.h"
#include "decode/kernels/alpha.h"

#include <inttypes.h>
#include <string.h>

#define ROW(name) &fdl_op_##name,
static const struct fdl_op *const ops[] = {FDL_OPS(ROW)};

const struct fdl_op *fdl_op_at(uint32_t index)
{
    return index < FDL_COUNT_OF(ops) ? ops[index] : NULL;
}

int32_t fdl_op_refuse_alpha(const struct fdl_options *o, int32_t channels)
{
    if (!FDL_HAS_ALPHA(channels))
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "%s is for images without alpha, and channels=%" PRId32
                    " has it; use 1 or 3",
                    o->scope, channels);
}

int32_t fdl_op_check_numbers(const struct fdl_options *o, uint32_t row,
                             int32_t channels)
{
    int32_t n = (int32_t)fdl_option_value(o, row)->n_doubles;
    if (n == 1 || n == channels || (n == 3 && channels == 1))
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "%s: %s has %" PRId32 " numbers, but channels=%" PRId32
                    "; give 1 or %" PRId32,
                    o->scope, o->table[row].name, n, channels, channels);
}

int32_t fdl_op_find(const char *name, const struct fdl_op **out)
{
    struct fdl_closest closest = {.typed = name};
    for (size_t i = 0; i < FDL_COUNT_OF(ops); i++) {
        if (strcmp(ops[i]->name, name) == 0) {
            *out = ops[i];
            return FEEDLINE_OK;
        }
        fdl_closest_offer(&closest, ops[i]->name);
    }
    if (closest.name)
        return fdl_fail(FEEDLINE_ENOENT,
                        "there is no operation '%s'; the closest is '%s'", name,
                        closest.name);
    return fdl_fail(FEEDLINE_ENOENT, "there is no operation '%s'", name);
}

void fdl_op_fixed_size(const struct fdl_options *o, int32_t *width,
                       int32_t *height)
{
    *width = (int32_t)fdl_option_int(o, 0);
    *height = (int32_t)fdl_option_int(o, 1);
}
