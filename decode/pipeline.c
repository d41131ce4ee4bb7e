/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pipeline is a short array of operations with their parsed options. Whatever
 * can be known without an image is refused when the operation is added; what is
 * left to fdl_pipeline_draw is arithmetic on the size of one image.
 */
#include "decode/pipeline.h"

#include "base/compiler.h"
#include "base/status.h"
#include "decode/custom.h"
#include "decode/kernels/alpha.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct step {
    const struct fdl_op *op;
    struct fdl_options options;
};

struct fdl_pipeline {
    uint32_t n;
    uint32_t recipe_end; /* steps of the recipe before its normalize; 0: it has
                            none */
    struct step steps[FDL_PIPELINE_OPS];
    uint32_t n_customs;
    struct fdl_custom *customs[FDL_CUSTOM_MAX];
};

struct recipe {
    const char *name;
    struct {
        const char *op, *args;
    } steps[3];
};

static const struct recipe recipes[] = {
    {"none", {{NULL, NULL}}},
    {"train",
     {{"random_resized_crop", NULL},
      {"horizontal_flip", NULL},
      {"normalize", NULL}}},
    {"eval",
     {{"resize", "size=256"}, {"center_crop", NULL}, {"normalize", NULL}}},
    {"train_u8", {{"random_resized_crop", NULL}, {"horizontal_flip", NULL}}},
    {"eval_u8", {{"resize", "size=256"}, {"center_crop", NULL}}},
};

static int32_t create_empty(struct fdl_pipeline **out)
{
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return fdl_fail_memory(sizeof(**out), "a pipeline");
    return FEEDLINE_OK;
}

static const struct recipe *find_recipe(const char *name)
{
    for (size_t i = 0; i < FDL_COUNT_OF(recipes); i++) {
        if (strcmp(recipes[i].name, name) == 0)
            return &recipes[i];
    }
    return NULL;
}

int32_t fdl_pipeline_create(const char *recipe, struct fdl_pipeline **out)
{
    *out = NULL;
    const struct recipe *r = find_recipe(recipe ? recipe : "none");
    if (!r)
        return fdl_fail(FEEDLINE_ENOENT,
                        "there is no recipe '%s'; there are train, eval, "
                        "train_u8, eval_u8 and none",
                        recipe);
    struct fdl_pipeline *p;
    int32_t status = create_empty(&p);
    for (size_t i = 0; i < FDL_COUNT_OF(r->steps) && !status; i++) {
        if (r->steps[i].op)
            status = fdl_pipeline_add(p, r->steps[i].op, r->steps[i].args);
    }
    if (!status && p->n && p->steps[p->n - 1].op->normalizes)
        p->recipe_end = p->n - 1;
    if (status) {
        fdl_pipeline_destroy(p);
        return status;
    }
    *out = p;
    return FEEDLINE_OK;
}

int32_t fdl_pipeline_copy(const struct fdl_pipeline *p,
                          struct fdl_pipeline **out)
{
    *out = NULL;
    struct fdl_pipeline *copy;
    int32_t status = create_empty(&copy);
    for (uint32_t i = 0; !status && i < p->n_customs; i++)
        copy->customs[copy->n_customs++] = fdl_custom_ref(p->customs[i]);
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
    free(p);
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

/* Where `op` is inserted: at the end, but an operation on pixels goes before
 * the normalize of a recipe, for whoever names a recipe did not choose to
 * normalise first. */
static uint32_t place_of(const struct fdl_pipeline *p, const struct fdl_op *op)
{
    bool before = p->recipe_end && op->pixels && !op->normalizes;
    return before ? p->recipe_end : p->n;
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

static uint32_t steps_of(const struct step *step)
{
    return step->op->steps ? step->op->steps(&step->options) : 1;
}

static int32_t check_steps(const struct fdl_pipeline *p,
                           const struct step *step)
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
                   const struct step *step)
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
    uint32_t place = place_of(p, op);
    status = check_order(p, place, op);
    if (status)
        return status;

    struct step step = {.op = op};
    status =
        fdl_options_init(&step.options, op->name, op->options, op->n_options);
    if (status)
        return status;
    status = fdl_options_set_args(&step.options, args);
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
    for (uint32_t i = 0; i < p->n; i++) {
        fdl_json_begin_object(j, NULL);
        fdl_json_string(j, "op", p->steps[i].op->name);
        fdl_options_json(&p->steps[i].options, j);
        fdl_json_end_object(j);
    }
    fdl_json_end_array(j);
}

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

/* Writes the plan of one sample; its notes are set. */
static int32_t write_plan(const struct fdl_pipeline *p, uint64_t seed,
                          struct fdl_plan *plan)
{
    uint64_t sample = fdl_rng_copy(plan->sample, plan->copy);
    for (uint32_t i = 0; i < p->n; i++) {
        struct fdl_rng rng;
        fdl_rng_init(&rng, seed, plan->epoch, sample, i);
        const struct step *step = &p->steps[i];
        plan->op = step->op;
        plan->place = i;
        fdl_note_op(plan, step->op->name);
        int32_t status = check_sample_order(step->op, plan);
        if (!status)
            status = step->op->plan(&step->options, &rng, plan);
        if (status)
            return status;
        fdl_note_op_end(plan);
    }
    return FEEDLINE_OK;
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
    plan->epoch = key->epoch;
    plan->sample = key->sample;
    plan->copy = key->copy;
    plan->view = key->view;
    plan->alpha = FDL_HAS_ALPHA(key->channels);
    plan->notes = notes;
    int32_t status = write_plan(p, key->seed, plan);
    plan->notes = NULL;
    return status;
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
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->steps[i].op->output_size)
            p->steps[i].op->output_size(&p->steps[i].options, &w, &h);
    }
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
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->steps[i].op->views && op)
            *op = p->steps[i].op->name;
        if (p->steps[i].op->views)
            return p->steps[i].op->views;
    }
    return 1;
}

int32_t fdl_pipeline_check_channels(const struct fdl_pipeline *p,
                                    int32_t channels)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const struct step *step = &p->steps[i];
        if (!step->op->check_channels)
            continue;
        int32_t status = step->op->check_channels(&step->options, channels);
        if (status)
            return status;
    }
    return FEEDLINE_OK;
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
        const struct step *step = &p->steps[i];
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
        if (p->steps[i].op->finished)
            return p->steps[i].op->name;
    }
    return NULL;
}
