/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that the program brings: a run function with its name, which
 * becomes an operation of one pipeline and of its copies. Reference-counted;
 * any thread.
 */
#ifndef FDL_DECODE_CUSTOM_H
#define FDL_DECODE_CUSTOM_H

#include "base/philox.h"
#include "decode/ops/op.h"

#include <feedline/custom_op.h>

struct feedline_rng { /* what a run function draws from */
    struct fdl_rng rng;
};

struct fdl_custom;

/* As feedline_op_waited. */
void fdl_custom_waited(const struct feedline_op_call *call, int64_t ns);

/* index: of its costs. EINVAL: the definition is not complete; EABI. */
int32_t fdl_custom_create(const struct feedline_op_def *def, uint32_t index,
                          struct fdl_custom **out);
struct fdl_custom *fdl_custom_ref(struct fdl_custom *custom);
void fdl_custom_unref(struct fdl_custom *custom);

/* Both live as long as the custom operation. */
const struct fdl_op *fdl_custom_op(const struct fdl_custom *custom);
const char *fdl_custom_label(const struct fdl_custom *custom);

#endif
