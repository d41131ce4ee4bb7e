/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of operations in which some decide about those that follow:
 *
 *     random_apply p=0.8 count=2      members: random_choice with both of its
 *     random_choice count=2           own, and hue
 *     brightness factor=0.5
 *     contrast factor=2
 *     hue factor=0.1
 *
 * An operation that decides is followed by its members, each with members of
 * its own. The list stays flat: an operation's draws come from its place in it,
 * whatever is decided about others.
 */
#ifndef FDL_DECODE_NESTING_H
#define FDL_DECODE_NESTING_H

#include "decode/ops/op.h"

#include <stdint.h>

struct fdl_placed_op {
    const struct fdl_op *op;
    struct fdl_options options;
};

struct fdl_op_list {
    const struct fdl_placed_op *ops;
    uint32_t n;
};

/* The innermost operation that lacks members; NULL: none does. *missing:
 * how many are still to follow, of all of them together. */
const struct fdl_op *fdl_nesting_open(struct fdl_op_list l, uint32_t *missing);

/* Writes the plan of one sample; the draws of the list have places from
 * first_place on. */
int32_t fdl_nesting_plan(struct fdl_op_list l, uint64_t seed,
                         uint32_t first_place, struct fdl_plan *plan);

/* Size of what goes in -> size of what comes out, 0 where it is not fixed. */
void fdl_nesting_size(struct fdl_op_list l, int32_t *width, int32_t *height);

#endif
