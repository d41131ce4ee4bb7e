/* SPDX-License-Identifier: Apache-2.0 */
/* The list of built-in operations. */
#include "decode/ops/op.h"

#include "base/closest.h"
#include "base/compiler.h"
#include "base/status.h"

#include <string.h>

#define ROW(name) &fdl_op_##name,
static const struct fdl_op *const ops[] = {FDL_OPS(ROW)};

const struct fdl_op *fdl_op_at(uint32_t index)
{
    return index < FDL_COUNT_OF(ops) ? ops[index] : NULL;
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
