/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pipeline: operations in order, each with checked arguments; for one sample
 * they result in a plan, which depends on (seed, epoch, sample, copy, image
 * size) only. Operations are in ops/op.h.
 *
 * Views are several images of one sample. Either one operation makes them
 * (five_crop): they have one size and share all draws. Or the pipeline consists
 * of chains, pipelines of their own that each make some of the views, with
 * their own sizes and draws.
 */
#ifndef FDL_DECODE_PIPELINE_H
#define FDL_DECODE_PIPELINE_H

#include "base/json.h"
#include "decode/kernels/finish.h"
#include "decode/plan/mix.h"
#include "decode/plan/plan.h"

#include <feedline/custom_op.h>
#include <feedline/views.h>

#include <stdbool.h>
#include <stdint.h>

struct fdl_pipeline;

/* The public handle. */
struct feedline_pipeline {
    uint32_t fork_generation;
    struct fdl_pipeline *pipeline;
};

/* Names what is drawn: sample < FDL_SAMPLES_MAX, copy < FDL_COPY_NUMBERS. */
struct fdl_draw_key {
    uint64_t seed, epoch, sample;
    uint32_t copy;
    int32_t view; /* of fdl_pipeline_views, or FDL_EVERY_VIEW, which chains do
                     not take */
    uint32_t as_view; /* without chains: drawn as that view of chains is */
    int32_t channels;
    struct fdl_mask_rule mask;   /* on: of the sample's mask, in place of it */
    struct fdl_objects *objects; /* move as the image does; NULL: none */
};

int32_t fdl_pipeline_create_empty(struct fdl_pipeline **out);

/* Of a recipe in recipes.c; NULL: empty. ENOENT. */
int32_t fdl_pipeline_create(const char *recipe, struct fdl_pipeline **out);

/* All that was added so far is a recipe: operations on pixels that are added
 * later go before its normalize, if it has one. */
void fdl_pipeline_end_recipe(struct fdl_pipeline *p);

int32_t fdl_pipeline_copy(const struct fdl_pipeline *p,
                          struct fdl_pipeline **out);
void fdl_pipeline_destroy(struct fdl_pipeline *p);

/* Makes def's name known to fdl_pipeline_add on p. EINVAL: the name is not
 * lower_snake, or is that of another operation; ERANGE above FDL_CUSTOM_MAX. */
int32_t fdl_pipeline_register(struct fdl_pipeline *p,
                              const struct feedline_op_def *def);

/* Registered operations, in order. Name, and label for people, live as long as
 * p. */
uint32_t fdl_pipeline_custom_count(const struct fdl_pipeline *p);
const char *fdl_pipeline_custom_name(const struct fdl_pipeline *p,
                                     uint32_t index);
const char *fdl_pipeline_custom_label(const struct fdl_pipeline *p,
                                      uint32_t index);

/* At the end; operations on pixels, and all that decide about others with their
 * members (nesting.h), go before the normalize of a recipe. ENOENT; the errors
 * of the arguments; EINVAL for a second resampling, or one after normalize or
 * after an operation on pixels, for a second one that makes views, and for a
 * member that does more than change or move pixels; ERANGE above
 * FDL_PIPELINE_OPS or FDL_PLAN_STEPS. p is as before on error. */
int32_t fdl_pipeline_add(struct fdl_pipeline *p, const char *op,
                         const char *args);

/* `count` more views, each made by a copy of `chain`. EINVAL: p has operations,
 * or chain makes views itself or has operations of the program's; ERANGE above
 * FEEDLINE_VIEWS_MAX. p is as before on error. */
int32_t fdl_pipeline_add_views(struct fdl_pipeline *p,
                               const struct fdl_pipeline *chain,
                               uint32_t count);

/* What makes view `view`: one of the chains, or p where it has none. */
const struct fdl_pipeline *fdl_pipeline_chain(const struct fdl_pipeline *p,
                                              uint32_t view);
bool fdl_pipeline_has_chains(const struct fdl_pipeline *p);

/* What follows is about one chain where there are any, but for draws and views.
 */

void fdl_pipeline_json(const struct fdl_pipeline *p, const char *key,
                       struct fdl_json *j);

/* Any thread, allocates nothing. EINVAL if the operations do not fit an image
 * of that size: a random crop larger than it; a resampling after a border that
 * a centre crop adds. EINVAL here and below if members are missing. */
int32_t fdl_pipeline_draw(const struct fdl_pipeline *p,
                          const struct fdl_draw_key *key, int32_t width,
                          int32_t height, struct fdl_plan *out);

/* The same behind what `plan` was told before, which has no steps and resampled
 * nothing. The plan is undefined on error. */
int32_t fdl_pipeline_draw_behind(const struct fdl_pipeline *p,
                                 const struct fdl_draw_key *key,
                                 struct fdl_plan *plan);

/* Every operation with the values drawn for that sample, as an array into the
 * open object of j. */
int32_t fdl_pipeline_draw_json(const struct fdl_pipeline *p,
                               const struct fdl_draw_key *key, int32_t width,
                               int32_t height, const char *name,
                               struct fdl_json *j);

/* Images that each sample comes as; *op: the name of the operation that makes
 * them, or "add_views"; untouched if there is one image. op may be NULL. */
uint32_t fdl_pipeline_views(const struct fdl_pipeline *p, const char **op);

/* What it does to batches; false: nothing. */
bool fdl_pipeline_mix(const struct fdl_pipeline *p, struct fdl_mix *out);

/* Output size if it is the same for every image; image_width and image_height
 * are 0 where images differ. EINVAL if it is not fixed, naming what to add. */
int32_t fdl_pipeline_output_size(const struct fdl_pipeline *p,
                                 int32_t image_width, int32_t image_height,
                                 int32_t *width, int32_t *height);

/* EINVAL: an operation or its arguments do not fit so many channels. */
int32_t fdl_pipeline_check_channels(const struct fdl_pipeline *p,
                                    int32_t channels);

/* EINVAL: p does what targets that move with their image, which are called
 * `targets`, cannot follow. */
int32_t fdl_pipeline_check_targets(const struct fdl_pipeline *p,
                                   const char *targets);

/* EINVAL: p does what a mask, resampled by that rule, cannot follow. */
int32_t fdl_pipeline_check_mask(const struct fdl_pipeline *p,
                                enum fdl_nearest nearest);

/* Whether any operation normalises (which needs f32 output). */
bool fdl_pipeline_normalizes(const struct fdl_pipeline *p);

/* For a device that finishes bytes: what the last pass makes of them, which is
 * the same for every sample. The errors of fdl_pipeline_check_channels. */
int32_t fdl_pipeline_affine(const struct fdl_pipeline *p, int32_t channels,
                            enum fdl_rounding rounding,
                            struct fdl_affine *affine);

/* Name of the first operation that is about objects; NULL: there is none. */
const char *fdl_pipeline_objects_op(const struct fdl_pipeline *p);

/* Name of the first operation that works on a finished sample, so that it must
 * be finished where that runs; NULL: there is none. */
const char *fdl_pipeline_late_op(const struct fdl_pipeline *p);

/* Finished steps of a sample, at most. */
uint32_t fdl_pipeline_late_steps(const struct fdl_pipeline *p);

#endif
