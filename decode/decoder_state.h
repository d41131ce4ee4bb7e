/* SPDX-License-Identifier: Apache-2.0 */
/* What a decoder holds: for decoder.c, which opens, and render_sample.c. */
#ifndef FDL_DECODE_DECODER_STATE_H
#define FDL_DECODE_DECODER_STATE_H

#include "decode/decoder.h"
#include "decode/formats/exif.h"
#include "decode/formats/format.h"
#include "decode/formats/format_set.h"
#include "decode/formats/limits.h"
#include "decode/isolate/isolate_source.h"
#include "decode/kept.h"
#include "decode/kernels/finish.h"
#include "decode/kernels/resample.h"
#include "decode/pixels/scratch.h"
#include "decode/plan/canvas.h"

#include <stddef.h>
#include <stdint.h>

/* In place of rows of a source: puts pixels into the image of the canvas, or
 * gives it lines. */
struct fdl_drawing {
    void (*draw)(const struct fdl_drawing *drawing, const struct fdl_plan *plan,
                 struct fdl_canvas *canvas);
    const void *arg;
};

struct fdl_decoder {
    struct fdl_decode_limits limits;
    struct fdl_deadline deadline;    /* of the open image */
    struct fdl_format_set formats;   /* either these */
    struct fdl_isolated *isolated;   /* or, not NULL, another process's */
    const struct fdl_format *source; /* of the open image; NULL: none */
    void *source_self;
    struct fdl_image_info info; /* as stored */
    struct fdl_turn turn;       /* from there to upright */

    struct fdl_axis horizontal, vertical;
    struct fdl_axis beside; /* horizontal, packed for alpha */
    struct fdl_norm norm;   /* that affine was made for */
    struct fdl_affine affine;
    enum fdl_rounding rounding; /* and that */
    bool affine_valid;
    struct fdl_scratch strip, ring, line, taps;
    struct fdl_scratch column, upright; /* of images stored on their side */
    struct fdl_scratch alpha;           /* of one row of the source */
    struct fdl_scratch opaque;          /* one row of 255 */
    struct fdl_canvas canvas;           /* of plans with pixel steps */
    struct fdl_kept kept;               /* of images with several renders */
    const struct fdl_drawing *drawing;  /* NULL, or gives the whole image that
                                           steps work on, as planes */
};

/* The open image as it comes out: upright, if that was asked for. */
void fdl_decoder_info(const struct fdl_decoder *d, struct fdl_image_info *info);

/* After an open: from here to its end an image with a palette has one channel,
 * of indices. NULL: it has no palette, and is as it was. */
const struct fdl_palette *fdl_decoder_indices(struct fdl_decoder *d);

#endif
