/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image between resampling and the last pass, and scratch memory for pixel
 * steps. It is small (150 KB for 224 x 224 RGB) and stays in its worker's
 * second-level cache.
 */
#ifndef FDL_DECODE_CANVAS_H
#define FDL_DECODE_CANVAS_H

#include "decode/kernels/blend.h"
#include "decode/kernels/resample.h"
#include "decode/pixels/image.h"
#include "decode/pixels/scratch.h"
#include "decode/plan/render_cost.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fdl_cv_lines; /* kernels/cv_warp_straight.h */

enum fdl_canvas_scratch {
    FDL_SCRATCH_STEP,
    FDL_SCRATCH_CUSTOM,
    FDL_SCRATCH_BRANCHES,
    FDL_SCRATCHES
};

struct fdl_canvas {
    struct fdl_image image;           /* steps work on this */
    const struct fdl_cv_lines *lines; /* NULL, or the first step takes these
                                         in place of the image, which is not
                                         there */
    const struct fdl_blend_kernels *kernels;
    struct fdl_render_cost *cost; /* custom operations add theirs */
    _Atomic uint32_t *step;       /* see fdl_decoder_tell; NULL: nobody asks */
    struct fdl_scratch images[2]; /* in turn */
    struct fdl_scratch apart;     /* the image that views are made from */
    struct fdl_scratch scratch[FDL_SCRATCHES];
    uint32_t turn; /* the one of images that has image */
    struct fdl_image kept;
    uint32_t view; /* that steps work on, from 0 */

    struct fdl_axis horizontal, vertical; /* of steps that resample */
    bool columns_first;                   /* as in fdl_decode_limits */
};

/* An image of that size and undefined content to begin with. ENOMEM. */
int32_t fdl_canvas_begin(struct fdl_canvas *c, int32_t width, int32_t height,
                         int32_t channels);

/* Views: keep the image as it is now, and go back to it for each of them. The
 * first step that follows must leave its pixels alone. */
void fdl_canvas_keep(struct fdl_canvas *c);
void fdl_canvas_begin_view(struct fdl_canvas *c, uint32_t view);
void fdl_canvas_fini(struct fdl_canvas *c);

/* Says what is being done now. */
void fdl_canvas_tell(const struct fdl_canvas *c, uint32_t step);
uint64_t fdl_canvas_memory(const struct fdl_canvas *c);

/* For steps: a second image, of as many channels or of others, and making it
 * the image; other memory, aligned to a cache line, valid until the next call
 * for the same. */
int32_t fdl_canvas_spare(struct fdl_canvas *c, int32_t width, int32_t height,
                         struct fdl_image *out);
int32_t fdl_canvas_spare_of(struct fdl_canvas *c, int32_t width, int32_t height,
                            int32_t channels, struct fdl_image *out);
void fdl_canvas_swap(struct fdl_canvas *c, const struct fdl_image *image);
int32_t fdl_canvas_scratch(struct fdl_canvas *c, enum fdl_canvas_scratch which,
                           size_t bytes, uint8_t **out);

/* Colours with alpha: multiplied by it, and divided again (kernels/alpha.h). */
void fdl_canvas_multiply(const struct fdl_image *image);
void fdl_canvas_divide(const struct fdl_image *image);

/* The luma of three colours, Pillow's or torch's; out may be one of them. */
void fdl_canvas_luma(const struct fdl_canvas *c, bool tensor, uint8_t *out);

#endif
