/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pipeline: operations in order, each with checked arguments, and what they
 * come to for one sample: a plan. A plan depends on (seed, epoch, sample,
 * image size) only.
 *
 * An operation is one file, decode/op_*.c, that exports one struct fdl_op, and
 * one line of the list in decode/op.c.
 */
#ifndef FDL_DECODE_PIPELINE_H
#define FDL_DECODE_PIPELINE_H

#include "base/json.h"
#include "base/option.h"
#include "base/philox.h"
#include "decode/plan.h"

#include <feedline/feedline.h>

#include <stdbool.h>
#include <stdint.h>

/* Largest side that an option may ask for. */
#define FDL_OP_SIZE_MAX 65500

/* Most custom operations in one pipeline. */
#define FDL_CUSTOM_MAX 8

struct fdl_op {
    const char *name; /* torchvision's, in lower_snake */
    const char *help; /* one line */
    bool resamples;   /* one pass can do one of these */
    bool pixels;     /* works on the resampled image: nothing resamples after */
    bool normalizes; /* pixels are no longer 0 to 1: neither does after */
    bool finished;   /* works on the finished sample: only these after */
    const struct fdl_option *options;
    uint32_t n_options;

    /* Arguments that depend on each other; NULL: nothing to check. */
    int32_t (*check)(const struct fdl_options *o);

    /* Adds to plan. rng is keyed by the sample and this operation's place. */
    int32_t (*plan)(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan);

    /* Size of what comes in -> size of what goes out, 0 where it depends on
     * the image; NULL: unchanged. */
    void (*output_size)(const struct fdl_options *o, int32_t *width,
                        int32_t *height);
};

/* The built-in operations; NULL past the end. */
const struct fdl_op *fdl_op_at(uint32_t index);

/* ENOENT, with the closest name. */
int32_t fdl_op_find(const char *name, const struct fdl_op **out);

struct fdl_pipeline;

/* recipe: "train", "eval", "none" or NULL. ENOENT. */
int32_t fdl_pipeline_create(const char *recipe, struct fdl_pipeline **out);
int32_t fdl_pipeline_copy(const struct fdl_pipeline *p,
                          struct fdl_pipeline **out);
void fdl_pipeline_destroy(struct fdl_pipeline *p);

/* Makes def's name known to fdl_pipeline_add on p. EINVAL: the name is not
 * lower_snake, or is that of another operation; ERANGE above FDL_CUSTOM_MAX. */
int32_t fdl_pipeline_register(struct fdl_pipeline *p,
                              const struct feedline_op_def *def);

/* Registered operations, in order. A name lives as long as p. */
uint32_t fdl_pipeline_custom_count(const struct fdl_pipeline *p);
const char *fdl_pipeline_custom_name(const struct fdl_pipeline *p,
                                     uint32_t index);

/* ENOENT; the errors of the arguments; EINVAL for a second resampling, or one
 * after normalize or after an operation on pixels; ERANGE above
 * FDL_PIPELINE_OPS. p is as before on error. */
int32_t fdl_pipeline_add(struct fdl_pipeline *p, const char *op,
                         const char *args);
void fdl_pipeline_json(const struct fdl_pipeline *p, const char *key,
                       struct fdl_json *j);

/* Any thread, allocates nothing. EINVAL if the operations do not fit an image
 * of that size (a centre crop larger than the image pads in torchvision; here
 * it is refused, and the detail says so). */
int32_t fdl_pipeline_plan(const struct fdl_pipeline *p, uint64_t seed,
                          uint64_t epoch, uint64_t sample, int32_t width,
                          int32_t height, struct fdl_plan *out);

/* Every operation with the values drawn for that sample, as an array into the
 * open object of j. */
int32_t fdl_pipeline_draw_json(const struct fdl_pipeline *p, uint64_t seed,
                               uint64_t epoch, uint64_t sample, int32_t width,
                               int32_t height, const char *key,
                               struct fdl_json *j);

/* Output size if it is the same for every image; image_width and image_height
 * are 0 where images differ. EINVAL if it is not fixed, naming what to add. */
int32_t fdl_pipeline_output_size(const struct fdl_pipeline *p,
                                 int32_t image_width, int32_t image_height,
                                 int32_t *width, int32_t *height);

/* Whether any operation normalises (which needs f32 output). */
bool fdl_pipeline_normalizes(const struct fdl_pipeline *p);

#endif
