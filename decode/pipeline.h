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
#include "decode/geometry.h"

#include <stdbool.h>
#include <stdint.h>

/* Largest side: asked for in an option, and of what a resize may come to. */
#define FDL_OP_SIZE_MAX 65500
#define FDL_OP_SIDE_MAX 1000000

/* Most operations in one pipeline. */
#define FDL_PIPELINE_OPS 32

/* What happens to the pixels of one sample. */
struct fdl_plan {
    struct fdl_geometry geometry;
    bool normalize; /* (pixel / 255 - mean) / std, else pixel / 255 for f32 */
    float mean[4], std[4]; /* per output channel */
};

struct fdl_op {
    const char *name; /* torchvision's, in lower_snake */
    const char *help; /* one line */
    bool resamples;   /* one pass can do one of these */
    bool normalizes;  /* pixels are no longer 0 to 1: nothing resamples after */
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

/* ENOENT; the errors of the arguments; EINVAL for a second resampling, or one
 * after normalize; ERANGE above FDL_PIPELINE_OPS. p is as before on error. */
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

/* Output size if it is the same for every image; image_width and image_height
 * are 0 where images differ. EINVAL if it is not fixed, naming what to add. */
int32_t fdl_pipeline_output_size(const struct fdl_pipeline *p,
                                 int32_t image_width, int32_t image_height,
                                 int32_t *width, int32_t *height);

/* Whether any operation normalises (which needs f32 output). */
bool fdl_pipeline_normalizes(const struct fdl_pipeline *p);

#endif
