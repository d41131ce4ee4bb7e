/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a list of operations as the tree that it is. */
#include "decode/nesting.h"

#include "base/compiler.h"
#include "base/status.h"

/* Place behind operation i and its members, which may be behind the end. */
static uint32_t end_of(struct fdl_op_list l, uint32_t i)
{
    uint32_t members =
        i < l.n ? fdl_op_members(l.ops[i].op, &l.ops[i].options) : 0;
    for (i++; members > 0; members--)
        i = end_of(l, i);
    return i;
}

const struct fdl_op *fdl_nesting_open(struct fdl_op_list l, uint32_t *missing)
{
    const struct fdl_op *open = NULL;
    *missing = 0;
    for (uint32_t i = 0; i < l.n; i++) {
        uint32_t end = end_of(l, i);
        if (end > l.n)
            open = l.ops[i].op;
        *missing = FDL_MAX(*missing, end > l.n ? end - l.n : 0);
    }
    return open;
}

static uint32_t member(struct fdl_op_list l, uint32_t i, uint32_t k)
{
    for (i++; k > 0; k--)
        i = end_of(l, i);
    return i;
}

/* ---- Planning ----------------------------------------------------------- */

struct run {
    struct fdl_op_list list;
    uint64_t seed, sample;
    uint32_t first_place;
    struct fdl_plan *plan;
};

/* What fdl_pipeline_add could not see: a crop that adds a border here. */
static int32_t check_sample_order(const struct fdl_op *op,
                                  const struct fdl_plan *plan)
{
    if (!op->resamples || plan->n_steps == 0)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "%s: an earlier operation pads this small image, and a "
                    "padded image cannot be resampled; put %s first",
                    op->name, op->name);
}

static int32_t plan_one(const struct run *r, uint32_t i);

static int32_t plan_members(const struct run *r, uint32_t i,
                            struct fdl_rng *rng)
{
    const struct fdl_placed_op *gate = &r->list.ops[i];
    uint32_t chosen[FDL_PIPELINE_OPS];
    int32_t status = FEEDLINE_OK;
    uint32_t n = gate->op->choose(&gate->options, rng, r->plan, chosen);
    fdl_note_list(r->plan, "operations");
    for (uint32_t k = 0; k < n && !status; k++)
        status = plan_one(r, member(r->list, i, chosen[k]));
    fdl_note_list_end(r->plan);
    return status;
}

static int32_t plan_one(const struct run *r, uint32_t i)
{
    const struct fdl_placed_op *o = &r->list.ops[i];
    struct fdl_plan *plan = r->plan;
    struct fdl_rng rng;
    plan->op = o->op;
    plan->place = r->first_place + i;
    fdl_rng_init(&rng, r->seed, plan->epoch, r->sample, plan->place);
    fdl_note_op(plan, o->op->name);
    int32_t status = check_sample_order(o->op, plan);
    if (!status && o->op->choose)
        status = plan_members(r, i, &rng);
    else if (!status)
        status = o->op->plan(&o->options, &rng, plan);
    if (!status)
        fdl_note_op_end(plan);
    return status;
}

int32_t fdl_nesting_plan(struct fdl_op_list l, uint64_t seed,
                         uint32_t first_place, struct fdl_plan *plan)
{
    struct run r = {l, seed, fdl_rng_copy(plan->sample, plan->copy),
                    first_place, plan};
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; i < l.n && !status; i = end_of(l, i))
        status = plan_one(&r, i);
    return status;
}

/* ---- Sizes -------------------------------------------------------------- */

struct size {
    int32_t width, height;
};

static struct size same(struct size a, struct size b)
{
    bool equal = a.width == b.width && a.height == b.height;
    return equal ? a : (struct size){0, 0};
}

static struct size size_after(struct fdl_op_list l, uint32_t i,
                              struct size from);

/* Of one member or another; in any order, where none changes it. */
static struct size size_of_any(struct fdl_op_list l, uint32_t i,
                               struct size from)
{
    const struct fdl_placed_op *gate = &l.ops[i];
    uint32_t n = fdl_op_members(gate->op, &gate->options);
    struct size to = gate->op->decides == FDL_DECIDES_ORDER
                         ? from
                         : size_after(l, i + 1, from);
    for (uint32_t k = 0; k < n; k++)
        to = same(to, size_after(l, member(l, i, k), from));
    return to;
}

static struct size size_of_all(struct fdl_op_list l, uint32_t i,
                               struct size from)
{
    const struct fdl_placed_op *gate = &l.ops[i];
    uint32_t n = fdl_op_members(gate->op, &gate->options);
    struct size to = from;
    for (uint32_t k = 0; k < n; k++)
        to = size_after(l, member(l, i, k), to);
    bool always = fdl_option_double(&gate->options, FDL_GATE_P) >= 1;
    return always ? to : same(from, to);
}

static struct size size_after(struct fdl_op_list l, uint32_t i,
                              struct size from)
{
    const struct fdl_placed_op *o = &l.ops[i];
    if (o->op->decides == FDL_DECIDES_WHETHER)
        return size_of_all(l, i, from);
    if (o->op->decides)
        return size_of_any(l, i, from);
    if (o->op->output_size)
        o->op->output_size(&o->options, &from.width, &from.height);
    return from;
}

void fdl_nesting_size(struct fdl_op_list l, int32_t *width, int32_t *height)
{
    struct size size = {*width, *height};
    for (uint32_t i = 0; i < l.n; i = end_of(l, i))
        size = size_after(l, i, size);
    *width = size.width;
    *height = size.height;
}
