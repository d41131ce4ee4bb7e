/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pipeline does to one sample, with every random value drawn:
 *
 *     geometry             folded, fused with decoding and resampling
 *     pixel steps          on the small image that comes out, in order
 *     normalise            in the last pass
 *     finished steps       on the sample in its final place and form
 *
 * Operations write a plan through the functions below. A crop, flip or window
 * is folded into the geometry wherever that gives the same pixels, even after
 * pixel steps, and so is the first resampling before any; elsewhere they become
 * steps of their own. A plan without steps is
 * rendered row by row straight to its destination.
 */
#ifndef FDL_DECODE_PLAN_H
#define FDL_DECODE_PLAN_H

#include "base/json.h"
#include "base/philox.h"
#include "decode/pixels/geometry.h"
#include "decode/plan/frame.h"
#include "decode/plan/object_moves.h"
#include "decode/plan/resize.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Largest side of an image on the way. */
#define FDL_OP_SIDE_MAX 1000000

/* Most operations in one pipeline, and most steps that they can add. */
#define FDL_PIPELINE_OPS 32
#define FDL_PLAN_STEPS   64

struct fdl_op; /* ops/op.h */

/* In place of a view's number: all of them, in turn. */
#define FDL_EVERY_VIEW (-1)

/* A mask of the image is planned like the image, from the same draws, and only
 * moved: colours stay, and what is between pixels is the nearest of them. */
struct fdl_mask_rule {
    bool on; /* a mask is planned */
    enum fdl_nearest nearest;
    uint8_t fill; /* of its borders */
};

struct fdl_plan {
    struct fdl_geometry geometry;
    int32_t width, height; /* of what the pixel steps produce */
    int32_t channels;      /* that are decoded; 0: those of the output */

    struct fdl_norm norm; /* of floats */
    bool rounds;          /* them as follows, whatever option rounding says */
    enum fdl_rounding rounding;
    const void *lookup;    /* in their place: for each channel a table of what
                              bytes become; NULL: none */
    uint32_t lookup_bytes; /* of an element in it */

    /* Of the operation that writes now. */
    const struct fdl_op *op;
    uint32_t place;
    uint64_t epoch, sample;
    uint32_t copy;
    bool alpha;  /* of images with it */
    bool tensor; /* resamples as torch does uint8 tensors, not as Pillow */
    struct fdl_mask_rule mask;
    int32_t view;           /* that is planned, or FDL_EVERY_VIEW */
    struct fdl_json *notes; /* drawn values for people; NULL: nobody asks */
    struct fdl_objects *objects; /* that move along; NULL: nobody asks */

    uint32_t n_views;       /* that are rendered: 1, or with FDL_EVERY_VIEW */
    uint32_t view_step;     /* the first step that is done for each of them */
    uint32_t n_pixel_steps; /* the first of them */
    uint32_t n_steps;
    struct fdl_step steps[FDL_PLAN_STEPS];
};

void fdl_plan_init(struct fdl_plan *plan, int32_t width, int32_t height);

/* Size of what the plan produces now. */
int32_t fdl_plan_width(const struct fdl_plan *plan);
int32_t fdl_plan_height(const struct fdl_plan *plan);

/* What follows moves objects, too. */
void fdl_plan_resize(struct fdl_plan *plan, int32_t width, int32_t height,
                     enum fdl_filter filter);

/* Only the part of the image that the spans say becomes that; pixels round it
 * count, too, as in Pillow's resize with a box. Objects stay. */
void fdl_plan_resize_part(struct fdl_plan *plan, int32_t width, int32_t height,
                          enum fdl_filter filter, const struct fdl_span *x,
                          const struct fdl_span *y);

/* Keep only `box`, which is inside. */
void fdl_plan_crop(struct fdl_plan *plan, struct fdl_box box);

/* Keep only `box`, which may reach over the edges: `padding` and `fill` say
 * what is there. ERANGE above FDL_OP_SIDE_MAX. */
int32_t fdl_plan_window(struct fdl_plan *plan, struct fdl_box box,
                        enum fdl_padding padding, const uint8_t fill[4]);

void fdl_plan_flip(struct fdl_plan *plan);
void fdl_plan_flip_vertical(struct fdl_plan *plan);

/* Continues with `n` views of this size, each made by `kind` from the same
 * image, in a step with a copy of `values` (fdl_canvas.view says which). Only
 * with FDL_EVERY_VIEW, and once. */
void fdl_plan_views(struct fdl_plan *plan, uint32_t n, int32_t width,
                    int32_t height, const struct fdl_step_kind *kind,
                    const void *values, size_t bytes);

/* Behind the last operation on a mask: what they said of its colours goes. */
void fdl_plan_end_mask(struct fdl_plan *plan);

/* Adds a step with a copy of its drawn values; the size stays. Nothing where a
 * mask is planned, and it does not move pixels. */
void fdl_plan_add(struct fdl_plan *plan, const struct fdl_step_kind *kind,
                  const void *values, size_t bytes);

/* What was drawn, for fdl_pipeline_draw_json. */
void fdl_note_int(const struct fdl_plan *plan, const char *key, int64_t value);
void fdl_note_double(const struct fdl_plan *plan, const char *key,
                     double value);
void fdl_note_bool(const struct fdl_plan *plan, const char *key, bool value);
void fdl_note_string(const struct fdl_plan *plan, const char *key,
                     const char *value);
void fdl_note_box(const struct fdl_plan *plan, const struct fdl_box *box);

/* What an operation of several drew: a list of objects, each {"op": name, and
 * what is noted until its end}. */
void fdl_note_list(const struct fdl_plan *plan, const char *key);
void fdl_note_list_end(const struct fdl_plan *plan);
void fdl_note_op(const struct fdl_plan *plan, const char *name);
void fdl_note_op_end(const struct fdl_plan *plan);

#endif
