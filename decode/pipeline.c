/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pipeline is a short array of operations with their parsed options. Whatever
 * can be known without an image is refused when the operation is added; what is
 * left to fdl_pipeline_draw is arithmetic on the size of one image.
 */
#include "decode/pipeline.h"

#include "base/status.h"
#include "decode/custom.h"
#include "decode/kernels/alpha.h"
#include "decode/nesting.h"
#include "decode/ops/shared_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Chains have their draws in places of their own, view by view; those of the
 * first are where they would be without views. */
#define PLACES_OF_VIEW 512u

struct chain {
    struct fdl_pipeline *pipeline;
    uint32_t views;
};

struct fdl_pipeline {
    uint32_t n_views; /* of all chains */
    uint32_t n_chains;
    struct chain *chains; /* [n_chains]; then there are no steps */
    uint32_t n;
    uint32_t recipe_end; /* steps of the recipe before its normalize; 0: it has
                            none */
    struct fdl_placed_op steps[FDL_PIPELINE_OPS];
    uint32_t n_customs;
    struct fdl_custom *customs[FDL_CUSTOM_MAX];
};

int32_t fdl_pipeline_create_empty(struct fdl_pipeline **out)
{
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return fdl_fail_memory(sizeof(**out), "a pipeline");
    return FEEDLINE_OK;
}

void fdl_pipeline_end_recipe(struct fdl_pipeline *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->steps[i].op->normalizes)
            p->recipe_end = i;
    }
}

int32_t fdl_pipeline_copy(const struct fdl_pipeline *p,
                          struct fdl_pipeline **out)
{
    *out = NULL;
    struct fdl_pipeline *copy;
    int32_t status = fdl_pipeline_create_empty(&copy);
    for (uint32_t i = 0; !status && i < p->n_customs; i++)
        copy->customs[copy->n_customs++] = fdl_custom_ref(p->customs[i]);
    for (uint32_t i = 0; !status && i < p->n_chains; i++)
        status = fdl_pipeline_add_views(copy, p->chains[i].pipeline,
                                        p->chains[i].views);
    if (!status)
        copy->recipe_end = p->recipe_end;
    for (uint32_t i = 0; !status && i < p->n; i++) {
        status =
            fdl_options_copy(&copy->steps[i].options, &p->steps[i].options);
        if (!status) {
            copy->steps[i].op = p->steps[i].op;
            copy->n++;
        }
    }
    if (status) {
        fdl_pipeline_destroy(copy);
        return status;
    }
    *out = copy;
    return FEEDLINE_OK;
}

void fdl_pipeline_destroy(struct fdl_pipeline *p)
{
    if (!p)
        return;
    for (uint32_t i = 0; i < p->n; i++)
        fdl_options_fini(&p->steps[i].options);
    for (uint32_t i = 0; i < p->n_customs; i++)
        fdl_custom_unref(p->customs[i]);
    for (uint32_t i = 0; i < p->n_chains; i++)
        fdl_pipeline_destroy(p->chains[i].pipeline);
    free(p->chains);
    free(p);
}

/* ---- Chains ------------------------------------------------------------- */

static int32_t check_chain(const struct fdl_pipeline *p,
                           const struct fdl_pipeline *chain, uint32_t count)
{
    const char *op = NULL;
    if (p->n > 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "a pipeline of views has no operations of its own; put "
                        "%s into each chain",
                        p->steps[0].op->name);
    if (fdl_pipeline_views(chain, &op) > 1 || op)
        return fdl_fail(FEEDLINE_EINVAL,
                        "a chain makes one view, and %s makes several", op);
    if (chain->n_customs > 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "a chain of a view has no operations of the "
                        "program's, and this one has %s",
                        fdl_custom_op(chain->customs[0])->name);
    if (count == 0 || count > FEEDLINE_VIEWS_MAX - p->n_views)
        return fdl_fail(FEEDLINE_ERANGE,
                        "%" PRIu32 " views after %" PRIu32
                        "; a sample has 1 to %d",
                        count, p->n_views, FEEDLINE_VIEWS_MAX);
    return FEEDLINE_OK;
}

int32_t fdl_pipeline_add_views(struct fdl_pipeline *p,
                               const struct fdl_pipeline *chain, uint32_t count)
{
    struct fdl_pipeline *own;
    int32_t status = check_chain(p, chain, count);
    if (status)
        return status;
    size_t bytes = (p->n_chains + 1) * sizeof(*p->chains);
    struct chain *chains = realloc(p->chains, bytes);
    if (!chains)
        return fdl_fail_memory(bytes, "the views of a pipeline");
    p->chains = chains;
    status = fdl_pipeline_copy(chain, &own);
    if (status)
        return status;
    chains[p->n_chains++] = (struct chain){own, count};
    p->n_views += count;
    return FEEDLINE_OK;
}

const struct fdl_pipeline *fdl_pipeline_chain(const struct fdl_pipeline *p,
                                              uint32_t view)
{
    if (p->n_chains == 0)
        return p;
    fdl_assert(view < p->n_views);
    const struct chain *chain = p->chains;
    for (uint32_t end = chain->views; view >= end; end += chain->views)
        chain++;
    return chain->pipeline;
}

bool fdl_pipeline_has_chains(const struct fdl_pipeline *p)
{
    return p->n_chains > 0;
}

/* ---- Custom operations -------------------------------------------------- */

static const struct fdl_op *find_custom(const struct fdl_pipeline *p,
                                        const char *name)
{
    for (uint32_t i = 0; i < p->n_customs; i++) {
        const struct fdl_op *op = fdl_custom_op(p->customs[i]);
        if (strcmp(op->name, name) == 0)
            return op;
    }
    return NULL;
}

static bool is_known(const struct fdl_pipeline *p, const char *name)
{
    for (uint32_t i = 0; fdl_op_at(i); i++) {
        if (strcmp(fdl_op_at(i)->name, name) == 0)
            return true;
    }
    return find_custom(p, name) != NULL;
}

int32_t fdl_pipeline_register(struct fdl_pipeline *p,
                              const struct feedline_op_def *def)
{
    struct fdl_custom *custom;
    if (p->n_customs == FDL_CUSTOM_MAX)
        return fdl_fail(FEEDLINE_ERANGE,
                        "a pipeline has at most %d custom operations",
                        FDL_CUSTOM_MAX);
    int32_t status = fdl_custom_create(def, p->n_customs, &custom);
    if (status)
        return status;
    const char *name = fdl_custom_op(custom)->name;
    if (is_known(p, name)) {
        status = fdl_fail(FEEDLINE_EINVAL, "there is an operation '%s' already",
                          name);
        fdl_custom_unref(custom);
        return status;
    }
    p->customs[p->n_customs++] = custom;
    return FEEDLINE_OK;
}

uint32_t fdl_pipeline_custom_count(const struct fdl_pipeline *p)
{
    return p->n_customs;
}

const char *fdl_pipeline_custom_name(const struct fdl_pipeline *p,
                                     uint32_t index)
{
    fdl_assert(index < p->n_customs);
    return fdl_custom_op(p->customs[index])->name;
}

const char *fdl_pipeline_custom_label(const struct fdl_pipeline *p,
                                      uint32_t index)
{
    fdl_assert(index < p->n_customs);
    return fdl_custom_label(p->customs[index]);
}

/* ---- Building ----------------------------------------------------------- */

/* The operation that lacks members, which are inserted behind it, before the
 * normalize of a recipe; NULL: there is none. */
static const struct fdl_op *open_op(const struct fdl_pipeline *p,
                                    uint32_t *missing)
{
    uint32_t n = p->recipe_end ? p->recipe_end : p->n;
    return fdl_nesting_open((struct fdl_op_list){p->steps, n}, missing);
}

static int32_t check_complete(const struct fdl_pipeline *p)
{
    uint32_t missing;
    const struct fdl_op *open = open_op(p, &missing);
    if (!open)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "operations missing after %s: %" PRIu32
                    "; add them, or lower its count",
                    open->name, missing);
}

static int32_t check_member(const struct fdl_op *open, const struct fdl_op *op)
{
    if (!op->resamples && !op->normalizes && !op->finished && !op->views)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "%s after %s, which applies to the operations that "
                    "follow: these may only change or move pixels; put %s "
                    "elsewhere",
                    op->name, open->name, op->name);
}

/* Where `op` is inserted: at the end, but an operation on pixels goes before
 * the normalize of a recipe, for whoever names a recipe did not choose to
 * normalise first. */
static uint32_t place_of(const struct fdl_pipeline *p, const struct fdl_op *op,
                         bool is_member)
{
    bool before = is_member || op->decides || (op->pixels && !op->normalizes);
    return p->recipe_end && before ? p->recipe_end : p->n;
}

/* Whether `op` may follow the first `end` operations. */
static int32_t check_order(const struct fdl_pipeline *p, uint32_t end,
                           const struct fdl_op *op)
{
    if (p->n == FDL_PIPELINE_OPS)
        return fdl_fail(FEEDLINE_ERANGE,
                        "%s: a pipeline has at most %d operations", op->name,
                        FDL_PIPELINE_OPS);
    for (uint32_t i = 0; i < end; i++) {
        const struct fdl_op *before = p->steps[i].op;
        if (before->mixes)
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s after %s: batches are mixed last, so %s goes "
                            "before",
                            op->name, before->name, op->name);
        if (before->finished && !op->finished)
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s after %s: finished samples are changed last, "
                            "so %s goes before",
                            op->name, before->name, op->name);
        if (before->views && op->views)
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s after %s: a pipeline makes views once",
                            op->name, before->name);
        if (!op->resamples && !op->pixels)
            continue;
        if (op->resamples && before->resamples)
            return fdl_fail(FEEDLINE_EINVAL,
                            "two resamplings cannot be folded into one pass: "
                            "%s after %s",
                            op->name, before->name);
        if (op->resamples && before->pixels)
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s after %s: images are resampled while they are "
                            "decoded, so %s goes before",
                            op->name, before->name, op->name);
        if (before->normalizes)
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s after %s: pixels are normalised last, so %s "
                            "goes before",
                            op->name, before->name, op->name);
    }
    return FEEDLINE_OK;
}

static uint32_t steps_of(const struct fdl_placed_op *step)
{
    if (step->op->decides)
        return 0;
    return step->op->steps ? step->op->steps(&step->options) : 1;
}

static int32_t check_steps(const struct fdl_pipeline *p,
                           const struct fdl_placed_op *step)
{
    uint32_t n = steps_of(step);
    for (uint32_t i = 0; i < p->n; i++)
        n += steps_of(&p->steps[i]);
    if (n <= FDL_PLAN_STEPS)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ERANGE,
                    "%s: the operations of a pipeline may change an image in "
                    "%d steps at most, and these in %" PRIu32,
                    step->op->name, FDL_PLAN_STEPS, n);
}

static void insert(struct fdl_pipeline *p, uint32_t place,
                   const struct fdl_placed_op *step)
{
    memmove(&p->steps[place + 1], &p->steps[place],
            (p->n - place) * sizeof(p->steps[0]));
    p->steps[place] = *step;
    p->n++;
    if (place < p->n - 1)
        p->recipe_end++;
}

int32_t fdl_pipeline_add(struct fdl_pipeline *p, const char *name,
                         const char *args)
{
    const struct fdl_op *op = find_custom(p, name);
    int32_t status = op ? FEEDLINE_OK : fdl_op_find(name, &op);
    if (status)
        return status;
    if (p->n_chains > 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: this pipeline consists of views; add it to their "
                        "chains",
                        name);
    uint32_t missing;
    const struct fdl_op *open = open_op(p, &missing);
    uint32_t place = place_of(p, op, open != NULL);
    status = open ? check_member(open, op) : FEEDLINE_OK;
    if (!status)
        status = check_order(p, place, op);
    if (status)
        return status;

    struct fdl_placed_op step = {.op = op};
    status =
        fdl_options_init(&step.options, op->name, op->options, op->n_options);
    if (status)
        return status;
    status = fdl_options_set_args(&step.options, args);
    if (!status)
        status = fdl_options_check(&step.options);
    if (!status && op->check)
        status = op->check(&step.options);
    if (!status)
        status = check_steps(p, &step);
    if (status) {
        fdl_options_fini(&step.options);
        return status;
    }
    insert(p, place, &step);
    return FEEDLINE_OK;
}

void fdl_pipeline_json(const struct fdl_pipeline *p, const char *key,
                       struct fdl_json *j)
{
    fdl_json_begin_array(j, key);
    for (uint32_t i = 0; i < p->n_chains; i++) {
        fdl_json_begin_object(j, NULL);
        fdl_json_int(j, "views", p->chains[i].views);
        fdl_pipeline_json(p->chains[i].pipeline, "pipeline", j);
        fdl_json_end_object(j);
    }
    for (uint32_t i = 0; i < p->n; i++) {
        fdl_json_begin_object(j, NULL);
        fdl_json_string(j, "op", p->steps[i].op->name);
        fdl_options_json(&p->steps[i].options, j);
        fdl_json_end_object(j);
    }
    fdl_json_end_array(j);
}

static int32_t plan_behind(const struct fdl_pipeline *p,
                           const struct fdl_draw_key *key,
                           struct fdl_json *notes, struct fdl_plan *plan)
{
    uint32_t chain = key->as_view;
    int32_t view = key->view;
    if (p->n_chains > 0) {
        fdl_assert(view >= 0);
        chain = (uint32_t)view;
        p = fdl_pipeline_chain(p, chain);
        view = FDL_EVERY_VIEW;
    }
    int32_t status = check_complete(p);
    if (status)
        return status;
    plan->epoch = key->epoch;
    plan->sample = key->sample;
    plan->copy = key->copy;
    plan->view = view;
    plan->alpha = FDL_HAS_ALPHA(key->channels);
    plan->mask = key->mask;
    plan->notes = notes;
    plan->objects = key->objects;
    status = fdl_nesting_plan((struct fdl_op_list){p->steps, p->n}, key->seed,
                              chain * PLACES_OF_VIEW, plan);
    if (plan->mask.on)
        fdl_plan_end_mask(plan);
    plan->notes = NULL;
    plan->objects = NULL;
    return status;
}

static int32_t plan_into(const struct fdl_pipeline *p,
                         const struct fdl_draw_key *key, int32_t width,
                         int32_t height, struct fdl_json *notes,
                         struct fdl_plan *plan)
{
    if (width <= 0 || height <= 0)
        return fdl_fail(FEEDLINE_EINVAL, "an image of %dx%d has no pixels",
                        (int)width, (int)height);
    fdl_plan_init(plan, width, height);
    return plan_behind(p, key, notes, plan);
}

int32_t fdl_pipeline_draw_behind(const struct fdl_pipeline *p,
                                 const struct fdl_draw_key *key,
                                 struct fdl_plan *plan)
{
    fdl_assert(plan->n_steps == 0);
    return plan_behind(p, key, NULL, plan);
}

int32_t fdl_pipeline_draw(const struct fdl_pipeline *p,
                          const struct fdl_draw_key *key, int32_t width,
                          int32_t height, struct fdl_plan *out)
{
    struct fdl_plan plan;
    int32_t status = plan_into(p, key, width, height, NULL, &plan);
    if (!status) {
        memcpy(out, &plan, offsetof(struct fdl_plan, steps));
        memcpy(out->steps, plan.steps, plan.n_steps * sizeof(plan.steps[0]));
    }
    return status;
}

int32_t fdl_pipeline_draw_json(const struct fdl_pipeline *p,
                               const struct fdl_draw_key *key, int32_t width,
                               int32_t height, const char *name,
                               struct fdl_json *j)
{
    struct fdl_plan plan;
    fdl_json_begin_array(j, name);
    int32_t status = plan_into(p, key, width, height, j, &plan);
    if (!status)
        fdl_json_end_array(j);
    return status;
}

int32_t fdl_pipeline_output_size(const struct fdl_pipeline *p,
                                 int32_t image_width, int32_t image_height,
                                 int32_t *width, int32_t *height)
{
    int32_t w = image_width, h = image_height;
    int32_t status = check_complete(p);
    if (status)
        return status;
    fdl_nesting_size((struct fdl_op_list){p->steps, p->n}, &w, &h);
    if (w <= 0 || h <= 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "images of different sizes cannot form a batch: add "
                        "random_resized_crop, center_crop, or resize with "
                        "width and height");
    *width = w;
    *height = h;
    return FEEDLINE_OK;
}

uint32_t fdl_pipeline_views(const struct fdl_pipeline *p, const char **op)
{
    if (p->n_chains > 0 && op)
        *op = "add_views";
    if (p->n_chains > 0)
        return p->n_views;
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->steps[i].op->views && op)
            *op = p->steps[i].op->name;
        if (p->steps[i].op->views)
            return p->steps[i].op->views;
    }
    return 1;
}

bool fdl_pipeline_mix(const struct fdl_pipeline *p, struct fdl_mix *out)
{
    if (p->n == 0 || !p->steps[p->n - 1].op->mixes)
        return false;
    fdl_options_fill(&p->steps[p->n - 1].options, out);
    return true;
}

int32_t fdl_pipeline_check_channels(const struct fdl_pipeline *p,
                                    int32_t channels)
{
    int32_t status = check_complete(p);
    for (uint32_t i = 0; i < p->n && !status; i++) {
        const struct fdl_placed_op *step = &p->steps[i];
        if (step->op->check_channels)
            status = step->op->check_channels(&step->options, channels);
        if (!status)
            status = fdl_op_check_numbers(&step->options, channels);
    }
    return status;
}

int32_t fdl_pipeline_check_targets(const struct fdl_pipeline *p,
                                   const char *targets)
{
    const char *op = NULL;
    if (fdl_pipeline_views(p, &op) > 1 || op)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s makes several images of a sample, and its %s "
                        "cannot follow",
                        op, targets);
    for (uint32_t i = 0; i < p->n; i++) {
        const struct fdl_op *o = p->steps[i].op;
        if (find_custom(p, o->name))
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s is the program's, and %s could not follow it; "
                            "do it after the loader",
                            o->name, targets);
        if (o->mixes)
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s mixes images, and their %s cannot follow",
                            o->name, targets);
    }
    return FEEDLINE_OK;
}

int32_t fdl_pipeline_check_mask(const struct fdl_pipeline *p,
                                enum fdl_nearest nearest)
{
    int32_t status = fdl_pipeline_check_targets(p, "masks");
    for (uint32_t i = 0; i < p->n && status == FEEDLINE_OK; i++) {
        const struct fdl_op *o = p->steps[i].op;
        if (o->maps && nearest == FDL_NEAREST_TORCH)
            status = fdl_fail(FEEDLINE_EINVAL,
                              "%s maps masks as Pillow does: it needs "
                              "mask_nearest=pillow",
                              o->name);
    }
    return status;
}

bool fdl_pipeline_normalizes(const struct fdl_pipeline *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->steps[i].op->normalizes)
            return true;
    }
    return false;
}

/* Operations that normalise draw nothing, and write the same into the plan of
 * every image. */
static int32_t plan_normalization(const struct fdl_pipeline *p,
                                  struct fdl_plan *plan)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const struct fdl_placed_op *step = &p->steps[i];
        if (!step->op->normalizes)
            continue;
        int32_t status = step->op->plan(&step->options, NULL, plan);
        if (status)
            return status;
    }
    return FEEDLINE_OK;
}

int32_t fdl_pipeline_affine(const struct fdl_pipeline *p, int32_t channels,
                            enum fdl_rounding rounding,
                            struct fdl_affine *affine)
{
    fdl_assert(channels >= 1 && channels <= FDL_CHANNELS_MAX);
    struct fdl_plan plan;
    int32_t status = fdl_pipeline_check_channels(p, channels);
    if (status)
        return status;
    fdl_plan_init(&plan, 1, 1);
    status = plan_normalization(p, &plan);
    if (status)
        return status;
    fdl_affine_init(affine, &plan.norm, rounding);
    return FEEDLINE_OK;
}

const char *fdl_pipeline_late_op(const struct fdl_pipeline *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->steps[i].op->finished && !p->steps[i].op->mixes)
            return p->steps[i].op->name;
    }
    return NULL;
}

uint32_t fdl_pipeline_late_steps(const struct fdl_pipeline *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->steps[i].op->finished && !p->steps[i].op->mixes)
            n += steps_of(&p->steps[i]);
    return n;
}

const char *fdl_pipeline_objects_op(const struct fdl_pipeline *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->steps[i].op->objects)
            return p->steps[i].op->name;
    }
    return NULL;
}
